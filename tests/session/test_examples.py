"""Examples that run out: a pair of arm and example is evaluated once, ever, and a complete arm is known exactly."""

import pickle
import random
import statistics

import pytest
from asking import pull, refused

from boxthirding import Session
from boxthirding.errors import InvalidInput
from boxthirding.session import amendments
from boxthirding.session.amendments import KnownResult

POLICIES = ["b3", "b3:reuse=pool", "b3:reuse=topup", "chase", "us", "prose:sigma=0.5", "asha", "dsh", "bsh"]


def reward(ticket):
    """Return a reward that follows from arm and example alone; larger labels are better."""
    return ticket.label / 8 + (ticket.pull * 7 % 11) / 64


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("at_once", [1, 7, 64])
def test_five_arms_and_ten_examples_are_at_most_fifty_pulls(policy, at_once):
    session = Session(5, policy, examples=10)
    pairs = []
    for _ in range(300):
        tickets = session.ask(at_once)
        for ticket in reversed(tickets):
            pairs.append((ticket.label, ticket.pull))
            session.tell(ticket, reward(ticket))
    assert len(pairs) == len(set(pairs)) <= 50
    assert all(0 <= example < 10 for _, example in pairs)
    assert session.view().status == "known"
    assert session.ask() == []
    assert session.recommend().label == 4


def test_it_is_known_when_every_arm_is_complete():
    session = Session(2, "us", examples=3)
    for _ in range(5):
        pull(session, 1, reward)
        assert session.view().status == "open"
    pull(session, 1, reward)
    assert session.view().status == "known"
    assert session.ask(9) == []
    assert session.view().pulls == 6


def test_or_when_the_policy_has_asked_for_nothing_else_for_as_many_pulls_as_were_paid():
    session = Session(50, "prose:sigma=0.01", examples=4)
    while tickets := session.ask():
        session.tell(tickets[0], float(tickets[0].label == 7))
    assert session.view().status == "known"
    assert session.spent < 200  # most were not worth all of their examples
    assert session.recommend()[:3] == (7, 1.0, 4)


AMENDABLE = ["b3", "b3:reuse=pool", "b3:reuse=topup", "chase", "us", "prose:sigma=0.5", "asha"]


def could_be_best(scores, told, examples):
    """Return the arms that are not complete, and not two standard errors below the best one that is."""
    results = {arm: [scores[arm][pull] for pull in pulls] for arm, pulls in told.items()}
    repeats = sum(len(of) - 1 for of in results.values())
    squares = sum(sum((score - statistics.fmean(of)) ** 2 for score in of) for of in results.values())
    complete = [statistics.fmean(of) for of in results.values() if len(of) == examples]
    if not repeats or not complete:
        return []
    deviation = (squares / repeats) ** 0.5
    return [
        arm
        for arm, of in results.items()
        if len(of) < examples
        and statistics.fmean(of) + 2 * deviation * (1 / len(of) - 1 / examples) ** 0.5 > max(complete)
    ]


@pytest.mark.parametrize("policy", AMENDABLE)
@pytest.mark.parametrize("at_once", [1, 5])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_it_is_not_known_while_another_arm_may_be_as_good(policy, at_once, direction):
    sign = 1 if direction == "maximize" else -1
    for seed in range(8):
        rng = random.Random(seed)
        scores = [[centre + rng.gauss(0, 1) for _ in range(5)] for centre in [rng.gauss(0, 1) for _ in range(8)]]
        session = Session(8, policy, examples=5, seed=seed, direction=direction)
        told = {}
        while tickets := session.ask(at_once):
            for ticket in tickets:
                told.setdefault(ticket.label, []).append(ticket.pull)
                session.tell(ticket, sign * scores[ticket.label][ticket.pull])
        assert session.view().status == "known"
        assert not could_be_best(scores, told, 5)
        assert all(len(pulls) == len({*pulls}) for pulls in told.values())


@pytest.mark.parametrize("policy", ["chase"])
def test_few_examples_seldom_mislead(policy):
    misled = 0
    for seed in range(60):
        rng = random.Random(seed)
        scores = [[centre + rng.gauss(0, 2) for _ in range(5)] for centre in [rng.gauss(0, 1) for _ in range(8)]]
        session = Session(8, policy, examples=5, seed=seed)
        while tickets := session.ask():
            session.tell(tickets[0], scores[tickets[0].label][tickets[0].pull])
        means = [statistics.fmean(of) for of in scores]
        misled += means[session.recommend().label] < max(means)
    assert misled <= 3  # two standard errors; the seeds are fixed, so chance has no part


def test_withdrawn_arms_are_out_of_the_question():
    for seed in range(20):
        rng = random.Random(seed)
        session = Session(8, "chase", examples=5, seed=seed)
        told = []
        while tickets := session.ask():
            told.append(tickets[0].label)
            session.tell(tickets[0], rng.gauss(tickets[0].label == 3, 1))
            if len(told) == 10:
                gone = next(arm for arm in range(8) if 0 < told.count(arm) < 5)
                session.withdraw(gone)
        assert gone not in told[10:]
        assert session.view().status == "known"


def test_one_unlucky_example_does_not_end_an_arm():
    session = Session(2, "chase", examples=10)
    scores = {0: [0.3, 0.8] * 5, 1: [0.2] + [0.8] * 9}  # by example
    while tickets := session.ask():
        session.tell(tickets[0], scores[tickets[0].label][tickets[0].pull])
    assert session.recommend()[:3] == (1, pytest.approx(0.74), 10)


def test_a_policy_that_cannot_be_amended_ends_by_itself():
    session = Session(5, "bsh", examples=3)
    while tickets := session.ask():
        session.tell(tickets[0], reward(tickets[0]))
    assert session.view().status == "known"


def test_withdrawn_arms_need_not_be_complete():
    session = Session(3, "us", examples=1)
    tickets = session.ask(2)
    for ticket in tickets:
        session.tell(ticket, 0.5)
    assert session.view().status == "open"
    session.withdraw(({0, 1, 2} - {ticket.label for ticket in tickets}).pop())
    assert session.view().status == "known"


def test_added_arms_make_it_open_again():
    session = Session(["a"], "us", examples=1)
    pull(session, 1)
    assert session.view().status == "known"
    session.add(["b"])
    assert session.view().status == "open"
    assert session.ask(9)[0].label == "b"


def test_a_complete_arm_is_answered_free():
    session = Session(["a", "b", "c"], "b3", examples=2)
    pull(session, 3, lambda ticket: {"a": 0.75, "b": 0.5, "c": 0.25}[ticket.label])
    (ticket,) = session.ask()  # its lift has two pulls, of which one example is left
    assert (ticket.label, ticket.pull) == ("a", 1)
    assert session.recommend().level == 0
    session.tell(ticket, 0.25)
    assert session.recommend()[:3] == ("a", 0.5, 2)
    assert session.recommend().level == 1  # the other pull was answered with the mean of both
    assert session.spent == 4


def test_what_is_owed_waits_for_the_open_tickets_of_the_arm():
    session = Session(["a", "b", "c"], "b3:effort=4", examples=3)  # a job has four pulls
    first, second, third, *others = session.ask(9)
    assert {first.label, second.label, third.label} == {first.label}
    session.tell(second, 0.25)
    session.tell(first, 0.25)
    assert session.boxes() == []
    session.tell(third, 0.25)  # and with it the fourth is answered
    (box,) = session.boxes()
    assert box.arms == ((first.label, 0.25, 4),)
    assert session.spent == 3
    assert len(others) == 6


def test_what_is_owed_of_an_arm_that_is_withdrawn_is_forgotten():
    session = Session(["a", "b", "c"], "b3:effort=4", examples=3)  # a job has four pulls
    (ticket,) = session.ask()
    assert session._core.examples.owed
    session.withdraw(ticket.label)
    assert not session._core.examples.owed
    again = pickle.loads(pickle.dumps(session))  # noqa: S301  # our own
    assert again.ask(3) == session.ask(3)


def test_a_ticket_that_was_released_is_the_same_example():
    session = Session(["a"], "us", examples=2)
    tickets = session.ask(9)
    assert [ticket.pull for ticket in tickets] == [0, 1]
    session.release(tickets[0])
    assert session.ask(9) == [tickets[0]]
    session.fail(tickets[1])
    assert session.ask(9) == [tickets[1]]


class TestKnownExamples:
    def test_they_are_not_handed_out(self):
        session = Session(["a", "b"], "us", examples=4, known={"a": {0: 0.5, 2: 0.25}})
        session.observe("b", 0.75, pull=1)
        pairs = {(ticket.label, ticket.pull) for ticket in session.ask(99)}
        assert pairs == {("a", 1), ("a", 3), ("b", 0), ("b", 2), ("b", 3)}

    @pytest.mark.parametrize("policy", [policy for policy in POLICIES if policy not in ("dsh", "bsh")])
    def test_when_all_are_known_nothing_is_asked(self, policy):
        known = {label: dict.fromkeys(range(3), label / 8) for label in range(4)}
        session = Session(4, policy, examples=3, known=known)
        assert session.view().status == "known"
        assert session.ask() == []
        assert session.recommend()[:3] == (3, 0.375, 3)
        assert session.spent == 0

    def test_the_last_one_may_be_known_while_another_is_open(self):
        session = Session(["a"], "us", examples=2)
        (ticket,) = session.ask()
        session.observe("a", 0.5, pull=1)
        assert session.view().status == "open"
        session.tell(ticket, 0.25)
        assert session.view().status == "known"

    def test_it_must_be_named_and_not_be_there(self):
        session = Session(["a", "b"], "us", examples=4, known={"a": {2: 0.5}})
        session.ask()
        label = session.held()[0].label
        refused(session, lambda: session.observe("a", 0.5), r"'a' names no example, but must: give its pull, 0 to 3")
        refused(session, lambda: session.observe_all({"a": [0.5]}), "names no example")
        refused(session, lambda: session.observe_all([("a", 0.5)]), "names no example")
        refused(session, lambda: session.observe("a", 0.5, pull=2), "pull 2 of 'a' is told or handed out already")
        refused(session, lambda: session.observe(label, 0.5, pull=0), "pull 0 of .* is told or handed out already")
        for wrong in (4, -1, 1.5, "1", True):
            refused(session, lambda it=wrong: session.observe("b", 0.5, pull=it), "pull is ")
        twice = [("b", {1: 0.5}), ("a", {1: 0.5, 2: 0.5})]
        refused(session, lambda: session.observe_all(dict(twice)), "pull 2 of 'a' is told")

    def test_a_pull_that_stands_there_twice(self):
        session = Session(5, "us", examples=4)
        rows = [KnownResult(3, 0.5, 1), KnownResult(3, 0.5, 1)]
        refused(
            session,
            lambda: amendments.observe_all(session._core, rows),
            "pull 1 of 3 stands in the known results twice",
        )


class TestExcluded:
    def test_an_example_is_not_evaluated_again(self):
        session = Session(["a"], "us", examples=3)
        for ticket in session.ask(3, holder="bob"):
            session.tell(ticket, 0.9)
        session.exclude("bob")
        assert session.ask() == []
        assert session.recommend() is None
        assert session.view().status == "known"

    def test_another_example_takes_its_place_while_there_is_one(self):
        session = Session(["a", "b"], "b3:reuse=pool", examples=3, known={"a": {1: 0.5}})
        session.tell(session.ask(holder="bob")[0], 0.9)
        session.exclude("bob")
        pairs = []
        for _ in range(40):
            for ticket in session.ask(3, holder="bob"):
                pairs.append((ticket.label, ticket.pull))
                session.tell(ticket, 0.9)
        assert len(pairs) == len(set(pairs))
        assert all(example < 3 for _, example in pairs)

    def test_what_was_owed_is_answered_when_results_count_again(self):
        session = Session(["a", "b", "c"], "b3:effort=2", examples=1)  # a job has two pulls, of which one is answered
        (first,) = session.ask(holder="bob")
        (second,) = session.ask(holder="bob")
        session.tell(first, 0.25)
        session.exclude("bob")
        session.tell(second, 0.5)  # the only example of its arm, and it does not count
        assert second.label not in {arm.label for box in session.boxes() for arm in box.arms}
        session.include("bob")
        assert second.label in {arm.label for box in session.boxes() for arm in box.arms}
        assert session.recommend()[:2] == (second.label, 0.5)

    def test_a_correction_lets_the_policy_think_again(self):
        session = Session(20, "prose:sigma=0.01", examples=4)
        first = None
        while tickets := session.ask():
            first = first or tickets[0]
            session.tell(tickets[0], float(tickets[0].label == 7))
        assert session.view().status == "known"
        told = session.spent
        best = [row for row in range(told) if session._core.ledger.result(row).arm == session._core.labels.find(7)]
        for row in best:
            session.correct(session._core.ledger.result(row).ticket, -1.0)
        assert session.view().status == "open"
        assert session.ask() != []


def test_the_number_of_examples_is_checked():
    for wrong in (0, -1, 1.5, "3", True):
        with pytest.raises(InvalidInput, match="the number of examples is"):
            Session(3, examples=wrong)
