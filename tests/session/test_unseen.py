"""A rater sees an arm once: `ask(unseen=True)`."""

import random

import pytest
from asking import pull

from boxthirding import Session
from boxthirding.session import core

AMENDED = ["b3", "b3:reuse=pool", "b3:reuse=topup", "chase", "us", "prose:sigma=0.5", "asha"]
OTHERS = ["dsh", "bsh", "bucb:sigma=0.5"]


@pytest.mark.parametrize("policy", AMENDED)
@pytest.mark.parametrize("told", [True, False])
def test_fifty_arms_and_one_rater(policy, told):
    session = Session(50, policy)
    seen = []
    for _ in range(50):
        (ticket,) = session.ask(holder="ann", unseen=True)
        seen.append(ticket.label)
        if told:
            session.tell(ticket, ticket.label / 64)
    assert sorted(seen) == list(range(50))
    before = session._core.jobs.begun
    assert session.ask(holder="ann", unseen=True) == []
    assert session._core.jobs.begun == before  # at once: the rule is not even asked


@pytest.mark.parametrize("policy", [*AMENDED, *OTHERS])
def test_no_arm_twice_to_anybody_who_asks_so(policy):
    session = Session(40, policy, seed=2)
    handed = {f"rater {i}": set() for i in range(12)}
    for _ in range(60):
        for rater, seen in handed.items():
            for ticket in session.ask(2, holder=rater, unseen=True):
                assert ticket.label not in seen
                seen.add(ticket.label)
                session.tell(ticket, ticket.label / 64, holder=rater)
    assert session.pulls >= 40


def test_wanted_pulls_that_one_may_not_have_stay_for_others():
    session = Session(["a", "b", "c", "d", "e", "f"], "b3")
    for _ in range(3):
        (ticket,) = session.ask(holder="ann", unseen=True)
        session.tell(ticket, 0.5)
    (ticket,) = session.ask(holder="ann", unseen=True)  # the rule wanted two pulls of the best of three
    assert session.view().queued == 2
    lifted, again = session.ask(2, holder="bob")
    assert session.view().queued == 0
    assert lifted.label == again.label != ticket.label
    assert [lifted.pull, again.pull] == [1, 2]


def test_of_two_free_tickets_of_an_arm_a_rater_gets_one():
    session = Session(["a", "b"], "b3:effort=5")
    first, second = session.ask(2, holder="bob")
    assert first.label == second.label
    session.release(first, second)
    labels = [ticket.label for ticket in session.ask(2, holder="ann", unseen=True)]
    assert sorted(labels) == ["a", "b"]


def test_one_rater_has_one_pull_of_a_job_and_another_the_next():
    session = Session(["a", "b", "c"], "b3:effort=5")
    (first,) = session.ask(holder="ann", unseen=True)
    (second,) = session.ask(holder="bob", unseen=True)
    assert (first.label, first.pull, second.label, second.pull) == (first.label, 0, first.label, 1)
    assert session.ask(holder="ann", unseen=True)[0].label != first.label


def test_the_job_at_hand_is_first_and_then_the_one_that_waited_longest():
    session = Session(["a", "b", "c"], "b3:effort=3")
    labels = [session.ask(holder="ann", unseen=True)[0].label for _ in range(3)]
    assert [session.ask(holder="bob", unseen=True)[0].label for _ in range(3)] == [labels[2], *labels[:2]]


def test_what_was_skipped_or_released_counts_as_handed():
    session = Session(["a", "b"], "us")
    (ticket,) = session.ask(holder="ann", unseen=True)
    session.release(ticket)
    (other,) = session.ask(holder="ann", unseen=True)
    assert other.label != ticket.label
    assert session.ask(holder="ann", unseen=True) == []
    assert session.ask(holder="bob", unseen=True) == [ticket]


@pytest.mark.parametrize("ended", ["told", "open", "released", "given on", "told by another", "told late"])
def test_what_was_handed_before_anybody_asked_so(ended):
    session = Session(["a", "b", "c", "d"], "us")
    (ticket,) = session.ask(holder="ann")
    if ended in ("released", "given on", "told by another", "told late"):
        session.release(ticket)
    if ended in ("given on", "told by another", "told late"):
        session.ask(holder="bob")
    if ended in ("told", "told by another"):
        session.tell(ticket, 0.5)
    if ended == "told late":
        session.tell(ticket, 0.5, holder="ann")
        session.tell(ticket, 0.5, holder="bob")
    given = session.ask(9, holder="ann", unseen=True)
    assert sorted(other.label for other in given) == sorted(set("abcd") - {ticket.label})


def test_withdrawn_arms_do_not_count_as_left():
    session = Session(["a", "b", "c"], "us")
    first, second = session.ask(2, holder="ann", unseen=True)
    session.withdraw(first.label)
    (third,) = session.ask(9, holder="ann", unseen=True)
    session.withdraw(third.label)
    assert session.ask(9, holder="ann", unseen=True) == []
    session.add(["d"])
    assert [ticket.label for ticket in session.ask(9, holder="ann", unseen=True)] == ["d"]
    assert second.label in session.why(second.label).label


def test_an_iterator_gives_more():
    session = Session(iter(range(30)), "b3")
    labels = [session.ask(holder="ann", unseen=True)[0].label for _ in range(30)]
    assert sorted(labels) == list(range(30))
    assert session.ask(holder="ann", unseen=True) == []


@pytest.mark.parametrize("policy", AMENDED)
def test_every_rater_of_a_small_contest_has_arms_to_the_end_of_its_sitting(policy):
    """90 arms, 40 raters with 25 ratings each, of whom nearly all hold a ticket at any time."""
    session, order = Session(90, policy, seed=3), random.Random(3)
    left, held = {f"rater {i}": 25 for i in range(40)}, {}
    handed = {rater: [] for rater in left}
    while left:
        for rater in order.sample(sorted(left), len(left)):
            if rater not in held:
                (held[rater],) = session.ask(holder=rater, unseen=True)
                handed[rater].append(held[rater].label)
        for rater in order.sample(sorted(held), min(len(held), 5)):
            ticket = held.pop(rater)
            session.tell(ticket, float(order.random() < ticket.label / 100), holder=rater)
            left[rater] -= 1
            if not left[rater]:
                del left[rater]
        assert len(session._core.jobs.queued) <= 1_024 + 64
    assert all(len(set(labels)) == len(labels) == 25 for labels in handed.values())
    assert session.pulls == 1_000


def wanting_one(policy="chase", arms=20):
    """Return a session whose rule wants one arm and no other for a good while, and that arm, which ann has seen."""
    session, coins = Session(arms, policy, seed=1), random.Random(1)
    pull(session, 1_500, lambda ticket: float(coins.random() < (0.9 if ticket.label == 3 else 0.3)))
    (ticket,) = session.ask(holder="ann")
    return session, ticket.label


def test_after_64_jobs_in_a_row_that_it_may_not_have_it_gets_the_best_arm_that_it_has_not_seen():
    session, wanted = wanting_one()
    before, first, second = session._core.jobs.begun, *session.top(2)
    assert first.label == wanted
    (ticket,) = session.ask(holder="ann", unseen=True)
    assert session._core.jobs.begun - before == 64
    assert (ticket.label, ticket.pull) == (second.label, second.pulls)
    session.tell(ticket, 1.0)  # amended: the rule knows of it at once
    now = session.top(2)[1]
    assert (now.label, now.pulls) == (second.label, second.pulls + 1)
    assert now.mean == pytest.approx((second.mean * second.pulls + 1.0) / now.pulls)


def test_no_more_jobs_are_put_aside_when_1_024_wait_for_others():
    session, wanted = wanting_one()
    for turn in range(1, 20):
        (ticket,) = session.ask(holder="ann", unseen=True)
        session.tell(ticket, 0.0)
        assert len(session._core.jobs.queued) == min(64 * turn, 1_024)
    assert session.ask(holder="ann", unseen=True) == []
    waiting = session.view().queued
    assert {ticket.label for ticket in session.ask(waiting, holder="bob")} == {wanted}


def test_a_rater_who_has_seen_all_that_was_tried_gets_an_arm_that_was_not(monkeypatch):
    monkeypatch.setattr(core, "MOST_WAITING", 16)
    session = Session(200, "b3", seed=1)
    labels = []
    for _ in range(150):
        (ticket,) = session.ask(holder="ann", unseen=True)
        session.tell(ticket, 0.5)
        labels.append(ticket.label)
    more = session.ask(49, holder="ann", unseen=True)
    assert len(session._core.jobs.queued) == 16
    assert session.view().screening is not None  # they were drawn at random, as by the rule
    assert len({*labels, *[ticket.label for ticket in more]}) == 199
    session.withdraw(more[-1].label)  # an arm that the rule has not met
    assert len(session.ask(9, holder="ann", unseen=True)) == 1


def test_a_policy_that_cannot_amend_has_none_for_now():
    session, _ = wanting_one("dsh", arms=6)
    assert session.ask(holder="ann", unseen=True) == []


@pytest.mark.parametrize("policy", [*AMENDED, *OTHERS])
def test_to_ask_again_and_again_makes_no_more_jobs(policy):
    session = Session(40, policy, seed=2)
    pull(session, 200, lambda ticket: ticket.label / 64)
    for rater in ("ann", "bob"):
        session.ask(30, holder=rater)
    while session.ask(holder="ann", unseen=True) or session.ask(holder="bob", unseen=True):
        pass
    before = session._core.jobs.begun
    for _ in range(100):
        assert session.ask(holder="ann", unseen=True) == session.ask(holder="bob", unseen=True) == []
    assert session._core.jobs.begun == before
    wanted = session.view().queued
    assert len(session.ask(wanted + 1, holder="cid")) >= wanted  # whoever may have them is given them


def test_a_rule_that_waits_is_not_asked_again_before_something_has_happened(monkeypatch):
    session = Session(["a", "b"], "b3")
    tickets = session.ask(9)
    asked, live = [], session._core.rule.live
    monkeypatch.setattr(live, "ask", lambda: asked.append(1) or type(live).ask(live))
    assert session.ask() == []
    assert len(session.ask(9, holder="ann", unseen=True)) == 2  # tickets that no job asked for
    assert not asked
    session.tell(tickets[0], 0.5)
    session.ask()
    assert asked
