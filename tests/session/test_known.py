"""Known results: not paid for, first in the order of arms, and the answer at once where a policy answers over all."""

import numpy as np
import pytest
from asking import pull, refused

from boxthirding import Session
from boxthirding.errors import CannotAmend, UnknownLabel
from boxthirding.session.amendments import listed

OVER_ALL = ["chase", "us", "prose:sigma=0.5"]
AMENDED = [*OVER_ALL, "b3", "b3:reuse=pool", "b3:reuse=topup", "asha"]


class TestForms:
    @pytest.mark.parametrize(
        "known",
        [
            {"b": [0.5, 1.0], "c": 0.25},
            {"b": (0.5, 1), "c": np.float32(0.25)},
            {"b": np.array([0.5, 1.0]), "c": np.array(0.25)},
            [("b", 0.5), ("b", 1.0), ("c", 0.25)],
            iter([["b", 0.5], ["b", 1.0], ["c", 0.25]]),
        ],
    )
    def test_a_mapping_to_rewards_or_lists_of_them_or_pairs(self, known):
        session = Session(["a", "b", "c"], known=known)
        assert {(arm.label, arm.mean, arm.pulls) for arm in session.arms()} == {("b", 0.75, 2), ("c", 0.25, 1)}

    @pytest.mark.parametrize("known", ["abc", b"abc", 5, 0.5, ["ab"], [("a", 1, 2)], [None], {"a": None}, {"a": "1"}])
    def test_anything_else_is_refused(self, known):
        session = Session(["a", "b"])
        refused(session, lambda: session.observe_all(known), "known result|the reward is")

    def test_one_by_one_with_their_pulls(self):
        assert [tuple(row) for row in listed({"a": {3: 0.5}, 7: 1})] == [("a", 0.5, 3), (7, 1.0, None)]


class TestOrder:
    @pytest.mark.parametrize("policy", AMENDED)
    def test_arms_with_known_results_come_before_all_unseen_ones(self, policy):
        session = Session(10_000, policy, seed=3, known={7_777: 0.1, 42: 0.2})
        assert session.payload(42) == 42
        tried = [arm.label for arm in session.arms(order="tried")]
        assert tried == [7_777, 42]
        pull(session, 50)
        assert [arm.label for arm in session.arms(order="tried")][:2] == [7_777, 42]

    def test_one_that_comes_later_is_next(self):
        session = Session(10_000, "us")
        first = session.ask()[0]
        session.observe(4_321, 0.5)
        session.tell(first, 0.5)
        pull(session, 10)
        assert session.arms(1, 1, order="tried")[0].label == 4_321

    def test_the_order_of_the_others_is_as_before(self):
        plain, warm = Session(1_000, "us", seed=5), Session(1_000, "us", seed=5)
        labels = [ticket.label for ticket in plain.ask(30)]
        warm.observe(labels[0], 0.5)  # would have been first anyway
        assert len({ticket.label for ticket in warm.ask(29)} & set(labels)) < 29  # its draw is not made
        assert sorted({ticket.label for ticket in Session(30, "us", known={7: 1.0}).ask(29)} | {7}) == list(range(30))


class TestNotPaidFor:
    def test_they_count_and_are_not_spent(self):
        session = Session(5, known={0: [1.0, 0.0], 3: 0.5})
        assert (session.pulls, session.spent, session.open) == (3, 0, 0)
        assert len(session.ask(9, limit=4)) == 4

    def test_a_lift_that_an_arm_has_the_pulls_for_is_free(self):
        # Three arms are introduced with a pull each; those of them that are known need none.
        session = Session(["a", "b", "c", "d"], "b3:reuse=topup", known={"a": 0.9, "b": 0.1, "c": 0.5})
        (ticket,) = session.ask()
        assert ticket.label == "a"  # its lift to level 1, with no pull before it
        assert ticket.pull == 1
        assert session.boxes()[0].level == 0

    def test_topped_up_lifts_pay_only_what_is_missing(self):
        known = {"a": [0.9] * 50, "b": [0.1] * 50, "c": [0.5] * 50}
        session = Session(["a", "b", "c"], "b3:reuse=topup", known=known)
        session.ask()
        assert session.recommend().level >= 2  # lifted and lifted again, for nothing

    def test_an_observed_pull_is_the_first_that_is_neither_told_nor_reserved(self):
        session = Session(["a"], "us")
        first, second = session.ask(2)
        session.observe("a", 0.5)
        (third,) = session.ask()
        assert [ticket.pull for ticket in (first, second, third)] == [0, 1, 3]
        ledger = session._core.ledger
        assert [ledger.result(row).pull for row in ledger.rows_of_arm(0)] == [2]


class TestTheAnswer:
    @pytest.mark.parametrize("policy", OVER_ALL)
    def test_where_a_policy_answers_over_all_arms_a_known_one_is_the_answer_at_once(self, policy):
        session = Session(100, policy, known={17: [0.75, 0.75], 4: [0.25, 0.25]})
        assert session.recommend()[:3] == (17, 0.75, 2)
        session.observe_all({4: [1.0] * 6})
        assert session.recommend()[:2] == (4, 0.8125)

    @pytest.mark.parametrize("policy", AMENDED)
    def test_there_is_an_answer_with_any_policy(self, policy):
        assert Session(100, policy, known={17: 0.75}).recommend()[:3] == (17, 0.75, 1)

    @pytest.mark.parametrize("policy", OVER_ALL)
    def test_the_least_when_less_is_better(self, policy):
        session = Session(100, policy, direction="minimize", known={17: [0.75] * 2, 4: [0.25] * 2})
        assert session.recommend()[:3] == (4, 0.25, 2)

    def test_screening_is_none_where_known_results_put_arms_first(self):
        session = Session(100, "b3")
        pull(session, 10)
        tried = session.recommend().label
        session.observe(tried, 0.5)  # it had its place already
        assert session.screening(0.1).candidates > 0
        session.observe(next(label for label in range(100) if session.why(label).place == "in the pool"), 0.5)
        assert session.screening(0.1) is None
        assert session.view().screening is None


class TestRefusals:
    def test_all_or_none(self):
        session = Session(["a", "b"], known={"a": 0.5})
        words = "label 'nobody' does not exist"
        refused(session, lambda: session.observe_all([("b", 0.5), ("nobody", 0.5)]), words, UnknownLabel)
        refused(session, lambda: session.observe_all([("b", 0.5), ("b", np.nan)]), "the reward is nan")

    @pytest.mark.parametrize("label", ["nobody", 0, None, True, 1.5, ["a"]])
    def test_an_unknown_label(self, label):
        session = Session(["a", "b"])
        refused(session, lambda: session.observe(label, 0.5), "does not exist", UnknownLabel)

    @pytest.mark.parametrize("reward", [np.nan, np.inf, "1", None, 1e200])
    def test_no_number(self, reward):
        session = Session(["a", "b"])
        refused(session, lambda: session.observe("a", reward), "the reward is .*but must be")

    @pytest.mark.parametrize("tried", [True, False])
    def test_a_withdrawn_arm(self, tried):
        session = Session(["a", "b"])
        if tried:
            session.ask(2)
        session.withdraw("a")
        refused(session, lambda: session.observe("a", 0.5), "label 'a' is withdrawn")
        refused(session, lambda: session.observe_all({"b": 0.5, "a": 0.5}), "label 'a' is withdrawn")

    def test_a_pull_without_examples(self):
        session = Session(["a", "b"])
        refused(session, lambda: session.observe("a", 0.5, pull=3), "pull is 3, but there are no examples")

    @pytest.mark.parametrize(
        "policy", ["sh:budget=50", "sr:budget=50", "dsh", "bsh", "bucb:sigma=0.5", "ucbe:budget=50"]
    )
    def test_a_policy_that_cannot(self, policy):
        session = Session(5, policy)
        pull(session, 1)
        words = r"cannot .*only knows the results of its own jobs.*use\('chase'\)"
        refused(session, lambda: session.observe(0, 0.5), words, CannotAmend)
        refused(session, lambda: session.observe_all({0: 0.5}), words, CannotAmend)
        refused(session, lambda: session.correct(0, 0.5), words, CannotAmend)
        refused(session, lambda: session.exclude("session"), words, CannotAmend)
        refused(session, lambda: session.use(policy), "cannot start from results", CannotAmend)
        with pytest.raises(CannotAmend):
            Session(5, policy, known={0: 0.5})
