"""What turns out to be wrong: a reward is corrected, a holder excluded and included again, nothing is run again."""

import random

import pytest
from asking import pull, refused
from sums import check_sums

from boxthirding import Session
from boxthirding.errors import ArmWithdrawn, TicketRefused, UnknownTicket

OVER_ALL = ["chase", "us", "prose:sigma=0.5"]
AMENDED = [*OVER_ALL, "b3", "b3:reuse=pool", "b3:reuse=topup", "asha"]


def sums(session):
    return {arm.label: (arm.pulls, arm.mean) for arm in session.arms()}


def two_raters(policy, good="c", **settings):
    """Return a session in which ann is careful and bob is not; rewards are exact."""
    session = Session(["a", "b", "c", "d"], policy, **settings)
    careless = [True] * 40 + [False] * 80
    random.Random(3).shuffle(careless)
    for is_careless in careless:
        holder = "bob" if is_careless else "ann"
        for ticket in session.ask(holder=holder):
            right = 0.75 if ticket.label == good else 0.25
            session.tell(ticket, 1.0 - right if holder == "bob" else right)
    return session


class TestCorrect:
    @pytest.mark.parametrize("policy", AMENDED)
    @pytest.mark.parametrize("sign", [1, -1])
    def test_the_answer_is_right_at_once(self, policy, sign):
        session = Session(["a", "b"], policy, direction="maximize" if sign > 0 else "minimize")
        tickets = {}
        for _ in range(2):
            for ticket in session.ask():
                tickets[ticket.label] = ticket
                session.tell(ticket, sign * (50.0 if ticket.label == "a" else 0.5))
        assert session.recommend().label == "a"
        session.correct(tickets["a"], sign * 0.25)
        assert session.recommend()[:2] == ("b", sign * 0.5)
        assert session.why("a").mean == sign * 0.25
        assert (session.pulls, session.spent) == (2, 2)

    def test_by_id_and_again_and_back(self):
        session = Session(["a", "b"], "us")
        pull(session, 4)
        before = sums(session)
        session.correct(0, 0.75)
        session.correct(0, 0.25)
        session.correct(0, 0.5)
        assert sums(session) == before

    @pytest.mark.parametrize("policy", AMENDED)
    def test_a_result_of_a_job_that_is_still_open(self, policy):
        session = Session(["a", "b", "c"], policy)
        pull(session, 40)
        session.ask(1)
        tickets = session.ask(12)
        for ticket in tickets[:6]:
            session.tell(ticket, 0.0)
        for ticket in tickets[:6]:
            session.correct(ticket, 0.5)
        for ticket in session.held():
            session.tell(ticket, 0.5)
        assert {mean for _, mean in sums(session).values()} == {0.5}
        assert {arm.mean for box in session.boxes() for arm in box.arms} <= {0.5}

    def test_what_cannot_be_corrected(self):
        session = Session(["a", "b", "c"], "us")
        told, void, is_open = session.ask(3)
        session.tell(told, 0.5)
        session.withdraw(void.label)
        words = f"ticket {is_open.id} has no result yet, so there is nothing to correct: tell it"
        refused(session, lambda: session.correct(is_open, 0.5), words, TicketRefused)
        refused(session, lambda: session.correct(void, 0.5), "is void", ArmWithdrawn)
        refused(session, lambda: session.correct(99, 0.5), "99 was not issued", UnknownTicket)
        refused(session, lambda: session.correct(told, float("nan")), "the reward is nan")
        stranger = Session(["a", "b", "c"], "us").ask()[0]
        refused(session, lambda: session.correct(stranger, 0.5), "not of this session", UnknownTicket)

    def test_of_an_arm_that_was_withdrawn_later(self):
        session = Session(["a", "b"], "us")
        pull(session, 4)
        label = session.recommend().label
        ticket = session.results(label)[-1].ticket
        session.withdraw(label)
        session.correct(ticket, 0.75)
        assert session.why(label).mean == 0.625
        assert session.recommend().label != label


class TestExclude:
    @pytest.mark.parametrize("policy", AMENDED)
    @pytest.mark.parametrize("direction", ["maximize", "minimize"])
    def test_the_answer_is_that_of_the_others_at_once(self, policy, direction):
        session = two_raters(policy, direction=direction)
        told = session.exclude("bob")
        assert told == 40
        assert session.spent == 120
        assert session.pulls == 80
        means = {label: mean for label, (_, mean) in sums(session).items()}
        assert means.items() <= {"a": 0.25, "b": 0.25, "c": 0.75, "d": 0.25}.items()
        assert session.view().excluded == ("bob",)
        if policy in OVER_ALL:
            assert session.recommend().mean == (max if direction == "maximize" else min)(means.values())

    @pytest.mark.parametrize("policy", AMENDED)
    def test_excluded_and_included_again_gives_the_same_sums(self, policy):
        session = two_raters(policy)
        before, answer = sums(session), session.recommend()
        session.exclude("bob")
        assert session.include("bob") == 40
        assert sums(session) == before
        assert session.recommend()[:3] == answer[:3]
        assert session.view().excluded == ()

    def test_to_the_last_bit_whatever_the_rewards(self):
        rng = random.Random(1)
        session = Session(20, "us")
        for step in range(400):
            for ticket in session.ask(holder=f"rater {step % 7}"):
                session.tell(ticket, rng.random() * 10.0 ** rng.randrange(-8, 9))
        before = sums(session)
        for rater in (3, 5):
            session.exclude(f"rater {rater}")
        for rater in (3, 5):
            session.include(f"rater {rater}")
        assert sums(session) == before

    def test_later_results_do_not_count_and_the_pull_is_wanted_again(self):
        session = Session(["a", "b", "c"], "b3")
        pull(session, 1)
        (ticket,) = session.ask(holder="bob")
        session.tell(ticket, 0.9)
        (again,) = session.ask(holder="bob")
        session.exclude("bob")
        assert session.why(ticket.label).pulls == 0
        session.tell(again, 0.9)
        assert (session.pulls, session.spent, session.view().queued) == (1, 3, 1)
        (wanted,) = session.ask(holder="ann")
        assert (wanted.label, wanted.pull) == (again.label, 1)
        session.tell(wanted, 0.4)
        assert session.why(again.label).mean == 0.4

    def test_included_again_those_results_count_too(self):
        session = Session(["a", "b", "c"], "b3:reuse=pool")
        (first,) = session.ask(holder="bob")
        session.tell(first, 0.25)
        session.exclude("bob")
        (ticket,) = session.ask(holder="bob")
        session.tell(ticket, 0.75)
        (wanted,) = session.ask(holder="ann")
        assert wanted.label == ticket.label
        session.tell(wanted, 0.25)
        session.include("bob")
        assert (session.pulls, session.why(ticket.label).mean) == (3, 0.5)
        assert {(arm.label, arm.pulls, arm.mean) for box in session.boxes() for arm in box.arms} == {
            (first.label, 1, 0.25),
            (ticket.label, 2, 0.5),
        }

    def test_when_nobody_is_left_there_is_no_answer(self):
        session = Session(5)
        pull(session, 20)
        session.exclude("session")
        assert (session.recommend(), session.top(3), session.arms(), session.pulls) == (None, [], [], 0)
        session.tell(session.ask(holder="ann")[0], 0.5, holder="ann")
        assert session.recommend().mean == 0.5

    def test_a_corrected_result_of_one_who_is_excluded_counts_corrected_when_included(self):
        session = Session(["a"], "us")
        (ticket,) = session.ask(holder="bob")
        session.tell(ticket, 0.9)
        session.exclude("bob")
        session.correct(ticket, 0.5)
        assert session.recommend() is None
        session.include("bob")
        assert session.recommend()[:3] == ("a", 0.5, 1)

    def test_known_results_stay(self):
        session = Session(["a", "b"], "us", known={"a": 0.5})
        pull(session, 5)
        session.exclude("session")
        assert sums(session) == {"a": (1, 0.5)}

    def test_who_cannot_be_excluded_or_included(self):
        session = Session(5)
        session.ask(holder="cid")
        session.tell(session.ask(holder="ann")[0], 0.5)
        words = "'bob' has told no result, so there is nothing to exclude: holders who have are 'ann'"
        refused(session, lambda: session.exclude("bob"), words)
        refused(session, lambda: session.exclude("cid"), "'cid' has told no result")
        for wrong in ("", None, 5, ["ann"]):
            refused(session, lambda it=wrong: session.exclude(it), "has told no result")
            refused(session, lambda it=wrong: session.include(it), "is not excluded: excluded holders are none")
        refused(session, lambda: session.exclude("x" * 10_000), "has told no result")
        refused(session, lambda: session.include("x" * 10_000), "is not excluded")
        session.exclude("ann")
        refused(session, lambda: session.exclude("ann"), r"'ann' is excluded already: include it")
        refused(session, lambda: session.include("bob"), "excluded holders are 'ann'")


class TestHugeNumbers:
    """Sums that a typing error was in are rounded, so they are made anew when it is mended."""

    def told(self, policy, off, pulls=200):
        """Return a session in which a few rewards are far too large, with the right ones of those."""
        session, rng, right = Session([f"a{i}" for i in range(20)], policy, seed=2), random.Random(3), {}
        for step in range(pulls):
            is_off = step % 25 == 7
            (ticket,) = session.ask(holder="bad" if is_off else "good")
            reward = int(ticket.label[1:]) / 20 + rng.gauss(0, 0.1)
            if is_off:
                right[ticket.id] = reward
            session.tell(ticket, off if is_off else reward)
        return session, right

    def check(self, session):
        """See that nothing is left of them, neither in the ledger nor in what the rule knows."""
        core = session._core
        rows = core.ledger.counting()
        for arm, pulls, total, _ in core.ledger.sums(rows):
            assert core.ledger.totals[arm] / pulls == pytest.approx(total / pulls, abs=1e-9)
            assert abs(total / pulls) < 2
        assert all(abs(arm.mean) < 2 for box in session.boxes() for arm in box.arms)
        for ticket in session.ask(60):  # what a rule keeps apart for an open job is right when that has ended
            session.tell(ticket, int(ticket.label[1:]) / 20)
        assert not core.rule.outliers.rounded
        check_sums(core)
        assert all(abs(arm.mean) < 2 for box in session.boxes() for arm in box.arms)

    @pytest.mark.parametrize("policy", AMENDED)
    @pytest.mark.parametrize("off", [1e9, -1e13, 1.7e18, 1e40])
    def test_a_correction_leaves_nothing_of_them(self, policy, off):
        session, right = self.told(policy, off)
        for ticket, reward in right.items():
            session.correct(ticket, reward)
        self.check(session)

    @pytest.mark.parametrize("policy", AMENDED)
    @pytest.mark.parametrize("off", [1e9, -1e13, 1.7e18, 1e40])
    def test_an_exclusion_leaves_nothing_of_them(self, policy, off):
        session, _ = self.told(policy, off)
        session.exclude("bad")
        session.include("bad")
        session.exclude("bad")
        self.check(session)

    @pytest.mark.parametrize("policy", AMENDED)
    def test_beside_known_results_the_mean_is_exact(self, policy):
        session = Session(["a", "b"], policy, known={"a": [0.8] * 3, "b": [0.5] * 3})
        (ticket,) = session.ask()
        session.tell(ticket, 1.7e18)
        session.correct(ticket, 0.8 if ticket.label == "a" else 0.5)
        assert {arm.label: round(arm.mean, 12) for arm in session.arms()} == {"a": 0.8, "b": 0.5}
        if policy in OVER_ALL:
            assert session.recommend().label == "a"

    @pytest.mark.parametrize("policy", ["chase", "us"])
    def test_the_answer_is_that_of_a_fresh_start(self, policy):
        session, _ = self.told(policy, 1e17)
        session.exclude("bad")
        answer = session.recommend().label
        session.use(policy)
        assert answer == session.recommend().label


class TestTheMeanThatAnArmCompetesWith:
    """With `reuse="none"` a lift begins the mean anew: what was before it is changed in the ledger alone."""

    def boxed(self, session):
        return {arm.label: (arm.pulls, arm.mean) for box in session.boxes() for arm in box.arms}

    def lifted(self):
        session = Session(["a", "b", "c"], "b3")
        for _ in range(3):
            (ticket,) = session.ask(holder="first")
            session.tell(ticket, {"a": 0.75, "b": 0.5, "c": 0.25}[ticket.label])
        for ticket in session.ask(2, holder="second"):
            assert ticket.label == "a"
            session.tell(ticket, 0.5)
        return session

    def test_a_result_before_the_lift_is_no_part_of_it(self):
        session = self.lifted()
        assert self.boxed(session) == {"a": (2, 0.5), "b": (1, 0.5), "c": (1, 0.25)}
        session.exclude("first")
        assert self.boxed(session)["a"] == (2, 0.5)
        assert sums(session) == {"a": (2, 0.5)}

    def test_a_result_of_the_lift_is(self):
        session = self.lifted()
        session.exclude("second")
        assert "a" not in {label for label, (pulls, _) in self.boxed(session).items() if pulls}
        assert sums(session)["a"] == (1, 0.75)
        session.include("second")
        assert self.boxed(session)["a"] == (2, 0.5)

    def test_a_known_result_since_the_lift_is(self):
        session = self.lifted()
        session.observe("a", 0.125)
        assert self.boxed(session)["a"] == (3, 0.375)

    def test_results_that_were_there_when_a_policy_took_over_are_until_the_next_lift(self):
        session = Session(["a", "b", "c"], "us")
        for _ in range(3):
            (ticket,) = session.ask(holder="first")
            session.tell(ticket, {"a": 0.75, "b": 0.5, "c": 0.25}[ticket.label])
        session.use("b3:effort=2")  # two pulls at the first level, of which one is there
        for _ in range(3):
            (ticket,) = session.ask(holder="second")
            session.tell(ticket, 0.25)
        assert self.boxed(session) == {"a": (2, 0.5), "b": (2, 0.375), "c": (2, 0.25)}
        session.exclude("first")
        assert self.boxed(session) == {"a": (1, 0.25), "b": (1, 0.25), "c": (1, 0.25)}
        session.include("first")
        assert self.boxed(session) == {"a": (2, 0.5), "b": (2, 0.375), "c": (2, 0.25)}

    def test_and_no_longer_after_it_although_the_first_lift_was_free(self):
        session = Session(["a", "b", "c"], "us")
        for _ in range(3):
            (ticket,) = session.ask(holder="first")
            session.tell(ticket, {"a": 0.75, "b": 0.5, "c": 0.25}[ticket.label])
        late = [*session.ask(holder="first"), *session.ask(2, holder="first")]
        session.release(holder="first")
        session.use("b3")
        assert session.ask(3, holder="second") == late
        mine = next(ticket for ticket in late if ticket.label == "a")
        session.tell(mine, 0.0, holder="first")  # amended before the lift: it was in the mean of level 0
        tickets = session.ask(2, holder="second")
        assert [ticket.label for ticket in tickets] == ["b", "b"] or [ticket.label for ticket in tickets] == ["a", "a"]
        lifted = tickets[0].label
        for ticket in tickets:
            session.tell(ticket, 0.5, holder="second")
        assert self.boxed(session)[lifted] == (2, 0.5)
        session.exclude("first")
        assert self.boxed(session)[lifted] == (2, 0.5)


def test_an_arm_whose_every_result_is_excluded_while_its_job_is_open_is_not_the_answer():
    session = Session(["a", "b", "c"], "b3:effort=2", examples=1)
    first, second = session.ask(2, holder="bob")
    session.tell(first, 1.0)
    session.exclude("bob")
    session.tell(second, 1.0)
    assert session.recommend() is None
    assert session.top(3) == []
    assert session.view().recommendation is None
