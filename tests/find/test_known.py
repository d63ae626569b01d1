"""`find_best` with results that are known already, and with examples that run out."""

import itertools
import random
import threading
from collections import Counter

import pytest
from stories import QUIET, score

from boxthirding import open_study
from boxthirding.errors import CannotAmend, InvalidInput, UnknownLabel
from boxthirding.find import Examples, find_best
from boxthirding.study.events import Observed, Told

MEANS = {"ann": 0.1, "bob": 0.9, "cid": 0.5}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


# Results that are known


@pytest.mark.parametrize(
    ("known", "pulls"),
    [
        ({"ann": 0.1, "cid": 0.5}, 2),
        ({"ann": [0.1, 0.1, 0.1], "cid": 0.5}, 4),
        ([("ann", 0.1), ("cid", 0.5), ("cid", 0.5)], 3),
        ((pair for pair in [("ann", 0.1)]), 1),
        ({}, 0),
    ],
)
def test_known_results_count_and_are_not_paid_for(known, pulls):
    calls = []
    found = find_best(list(MEANS), lambda arm: calls.append(arm) or MEANS[arm], budget=20, known=known, **QUIET)
    assert (len(calls), found.spending.pulls, found.stopped) == (20, 20, "budget")
    assert (found.session.pulls, found.session.spent) == (20 + pulls, 20)
    assert found.best == "bob"


def test_a_known_result_can_be_the_answer_before_its_arm_is_pulled():
    known = {arm: [arm] * 9 for arm in (3, 999)}
    found = find_best(1000, lambda arm: min(arm, 5), budget=1, known=known, policy="us", **QUIET)
    assert (found.label, found.recommendation.pulls) == (999, 9)


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_known_arms_come_first_and_their_rewards_are_taken_as_they_are(direction):
    known = {77: [0.5] * 3, 5: [0.25] * 3}
    found = find_best(1000, lambda _: 0.4, budget=1, known=known, policy="us", direction=direction, **QUIET)
    assert [arm.label for arm in found.session.arms(count=2, order="tried")] == [77, 5]
    assert found.label == {"maximize": 77, "minimize": 5}[direction]
    assert "in the race" not in repr(found)  # that is exact for arms in random order only


@pytest.mark.parametrize("place", ["run.db", "memory:known"])
def test_a_study_takes_known_results_once(place):
    known = {"ann": [0.1, 0.2], "cid": 0.5}
    for budget in (10, 20, 20):
        found = find_best(list(MEANS), MEANS.get, budget=budget, known=known, study=(place, "once"), **QUIET)
        assert (found.session.pulls, found.session.spent) == (budget + 3, budget)
    more = {"ann": [0.1, 0.2, 0.3], "bob": [0.9], "cid": 0.5}
    found = find_best(list(MEANS), MEANS.get, budget=20, known=more, study=(place, "once"), **QUIET)
    assert found.session.pulls == 25  # two that it did not have
    with open_study(place, "once") as study:
        results = [row for entry in study.events() if isinstance(entry.event, Observed) for row in entry.event.results]
    assert sorted(results) == [(name, reward, None) for name, reward in
                               [("ann", 0.1), ("ann", 0.2), ("ann", 0.3), ("bob", 0.9), ("cid", 0.5)]]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"known": {"zoe": 1.0}}, {"known": {"ann": 1.0}}),
        ({"known": {"ann": 1.0}, "policy": "sh:budget=10"}, {"known": {"ann": 1.0}, "policy": "chase"}),
        ({"known": {"ann": float("nan")}}, {"known": {"ann": 1.0}}),
        ({"known": {"ann": 1.0}, "examples": [1, 2]}, {"known": {"ann": 1.0}}),
        ({"known": {"ann": {5: 1.0}}, "examples": [1, 2]}, {"known": {"ann": {1: 1.0}}, "examples": [1, 2], "seed": 4}),
    ],
)
def test_known_results_that_are_refused_make_no_study(wrong, right):
    def call(**options):
        return find_best(list(MEANS), lambda arm, *_: MEANS[arm], budget=3, study="run.db", **options, **QUIET)

    with pytest.raises(InvalidInput):
        call(**wrong)
    assert call(**right).session.pulls == 4


@pytest.mark.parametrize("study", [None, "run.db"])
def test_a_policy_that_cannot_take_them_is_to_be_another_one(study):
    with pytest.raises(CannotAmend) as refused:
        find_best(list(MEANS), MEANS.get, budget=10, known={"ann": 1.0}, policy="sh", study=study, **QUIET)
    assert str(refused.value).endswith("choose a policy that can, such as chase: use('chase') continues with it")


@pytest.mark.parametrize("study", [None, "run.db"])
@pytest.mark.parametrize(
    ("known", "said"),
    [
        (5, "known results are 5, but must be a mapping"),
        ([5], "a known result is 5, but must be a pair"),
        ("ab", "known results are 'ab', but must be a mapping"),
        ([(1, 2, 3)], r"a known result is \(1, 2, 3\), but must be a pair"),
        ([([1], {0: 1.0})], r"a known result is of \[1\], but a label must be"),
        ([("ann", {0: 1.0}), ("ann", {0: 2.0})], "example 0 of 'ann' is known twice"),
    ],
)
def test_known_results_with_examples_are_checked(study, known, said):
    with pytest.raises(InvalidInput, match=said):
        find_best(list(MEANS), score, budget=3, examples=[1, 2], known=known, study=study, **QUIET)


def test_pairs_of_the_same_label_are_taken_together():
    known = [("ann", {0: 1.0}), ("bob", {1: 3.0}), ("ann", {1: 5.0})]
    found = find_best(list(MEANS), lambda arm, _: MEANS[arm], budget=1, examples=[1, 2, 3], known=known, **QUIET)
    arms = {arm.label: (arm.pulls, arm.mean) for arm in found.session.arms()}
    assert (arms["ann"][0], found.session.pulls) == (2 + (arms["ann"][0] - 2), 4)
    assert arms["ann"][1] == pytest.approx(3.0 if arms["ann"][0] == 2 else (6.0 + MEANS["ann"]) / 3)


@pytest.mark.parametrize("study", [None, "run.db"])
def test_with_examples_a_known_result_names_its_example_by_its_index(study):
    examples = [f"example {i}" for i in range(10)]
    calls = []

    def evaluate(arm, example):
        calls.append((arm, example))
        return arm

    known = {2: {0: 2.0, 7: 2.0}, 4: {3: 4.0}}
    for _ in range(2):
        found = find_best(5, evaluate, budget=200, examples=examples, known=known, study=study, seed=3, **QUIET)
        if study is None:
            break
    assert found.stopped == "known"
    assert len(calls) == len(set(calls)) == found.session.spent
    assert not set(calls) & {(2, "example 0"), (2, "example 7"), (4, "example 3")}
    assert found.session.pulls == found.session.spent + 3
    assert found.best == 4


def test_the_seed_of_the_study_decides_which_pull_an_example_is():
    calls = []

    def evaluate(arm, example):
        calls.append((arm, example))
        return arm

    options = {"examples": [f"example {i}" for i in range(10)], "policy": "us", "study": "run.db", **QUIET}
    find_best(5, evaluate, budget=1, seed=3, **options)
    known = {arm: {index: float(arm) for index in (0, 1, 2, 7)} for arm in range(5) if arm != calls[0][0]}
    found = find_best(5, evaluate, budget=200, known=known, **options)
    assert found.stopped == "known"
    assert len(calls) == len(set(calls)) == 50 - 4 * 4
    assert not set(calls) & {(arm, f"example {index}") for arm in known for index in known[arm]}


def test_where_examples_are_repeated_a_known_result_is_one_of_any_of_them():
    examples = Examples(range(10), repeat=True)
    known = {2: {0: 2.0, 7: 2.0}, 4: 4.0, 3: [3.0, 3.0]}
    found = find_best(5, lambda arm, _: arm, budget=60, examples=examples, known=known, **QUIET)
    assert (found.session.pulls, found.session.spent) == (65, 60)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"known": {"zoe": 1.0}}, UnknownLabel, "'zoe' does not exist"),
        ({"known": {"ann": "high"}}, InvalidInput, "the reward is 'high'"),
        ({"known": {"ann": float("nan")}}, InvalidInput, "the reward is nan"),
        ({"known": ["ann"]}, InvalidInput, "a known result is 'ann', but must be a pair"),
        ({"known": 5}, InvalidInput, "known results are 5, but must be a mapping"),
        ({"known": {"ann": 1.0}, "policy": "sh"}, CannotAmend, "policy sh cannot take known results"),
        ({"known": {"ann": 1.0}, "examples": [1, 2]}, InvalidInput, r"of 'ann' is 1.0 and names no example, but must"),
        ({"known": [("ann", 1.0)], "examples": [1, 2]}, InvalidInput, r"of 'ann' is 1.0 and names no example"),
        (
            {"known": {"ann": {2: 1.0}}, "examples": [1, 2]},
            InvalidInput,
            "index of an example is 2, but must be 0 to 1",
        ),
        ({"known": {"ann": {0: 1.0}}}, InvalidInput, "pull is 0, but there are no examples"),
    ],
)
@pytest.mark.parametrize("study", [None, "run.db"])
def test_bad_known_results_are_refused_before_anything_runs(options, error, message, study):
    with pytest.raises(error, match=message):
        find_best(list(MEANS), lambda *_: pytest.fail("evaluated"), budget=9, study=study, **options, **QUIET)


# Examples that run out


class Pairs:
    """An evaluate that keeps the pairs it was called with."""

    def __init__(self):
        self.calls, self._lock = [], threading.Lock()

    def __call__(self, arm, example):
        with self._lock:
            self.calls.append((arm, example))
        return score(arm, example)


@pytest.mark.parametrize("policy", ["chase", "b3", "us", "sh", "prose:sigma=0.3", "asha"])
@pytest.mark.parametrize("workers", [1, 8])
def test_a_pair_of_arm_and_example_is_evaluated_once(policy, workers):
    evaluate = Pairs()
    found = find_best(5, evaluate, budget=200, examples=range(10), workers=workers, policy=policy, **QUIET)
    assert len(evaluate.calls) == len(set(evaluate.calls)) == found.spending.pulls <= 50
    assert found.stopped in ("known", "finished")
    assert "every example that matters has been evaluated" in repr(found) or found.stopped == "finished"
    assert found.session.open == 0


def test_uniform_sampling_knows_everything_in_the_end():
    evaluate = Pairs()
    found = find_best(5, evaluate, budget=200, examples=range(10), policy="us", **QUIET)
    assert (len(evaluate.calls), found.stopped) == (50, "known")
    means = [sum(score(arm, example) for example in range(10)) / 10 for arm in range(5)]
    assert found.best == means.index(max(means))
    assert found.recommendation.mean == pytest.approx(max(means))


@pytest.mark.parametrize("workers", [1, 8])
@pytest.mark.parametrize("first", [20, 200])
def test_a_study_evaluates_no_pair_twice_over_two_calls(workers, first):
    evaluate = Pairs()
    for budget in (first, 200):
        found = find_best(5, evaluate, budget=budget, examples=range(10), workers=workers, study="run.db", **QUIET)
    assert len(evaluate.calls) == len(set(evaluate.calls)) <= 50
    assert (found.stopped, found.session.spent, found.session.open) == ("known", len(evaluate.calls), 0)


@pytest.mark.parametrize("study", [None, "run.db"])
def test_examples_may_be_repeated(study):
    evaluate = Pairs()
    examples = Examples(range(10), repeat=True)
    found = find_best(5, evaluate, budget=200, examples=examples, study=study, **QUIET)
    assert (len(evaluate.calls), found.stopped) == (200, "budget")
    assert max(Counter(evaluate.calls).values()) > 1


def test_a_pair_that_fails_is_tried_again_and_the_rest_is_still_evaluated_once():
    told, calls = [], itertools.count(1)

    def evaluate(arm, example):
        if next(calls) % 7 == 0:
            raise OSError
        told.append((arm, example))
        return score(arm, example)

    found = find_best(5, evaluate, budget=200, examples=range(10), policy="us", on_error="withdraw", workers=3, **QUIET)
    assert (len(told), len(set(told)), found.stopped) == (50, 50, "known")
    assert found.spending.failures > 0


def test_more_arms_than_can_be_tried_do_not_run_out():
    evaluate = Pairs()
    found = find_best(10_000, evaluate, budget=300, examples=range(10), **QUIET)
    assert (len(set(evaluate.calls)), found.stopped) == (300, "budget")


def test_a_run_that_ends_early_as_all_is_known_says_how_it_would_go_on():
    def judge(arm, example):  # noisy by itself
        return random.Random(f"{min(arm, 3)} {example}").random()

    def said(examples, budget, **study):
        return repr(find_best(5, judge, budget=budget, examples=examples, **study, **QUIET))

    known = said(range(20), 3_000)
    assert "every example that matters has been evaluated.\n" in known
    once = "An arm sees each example once; if scores are noisy even on the same example"
    assert known.endswith(f"\n  {once}, Examples(…, repeat=True) would go on.")
    for budget in (3_000, 4_000):  # a study keeps its setting, and refuses the call with another one
        known = said(range(20), budget, study="run.db")
        assert known.endswith(f"{once}, a new study with Examples(…, repeat=True) would go on.")
    with pytest.raises(InvalidInput, match="the study has 20 examples that run out"):
        said(Examples(range(20), repeat=True), 3_000, study="run.db")
    assert "3,000 of 3,000" in said(Examples(range(20), repeat=True), 3_000, study="new.db")
    assert "repeat" not in said(range(20), 30)
    assert "3,000 of 3,000" in said(Examples(range(20), repeat=True), 3_000)


def test_a_study_of_other_examples_is_refused():
    find_best(5, score, budget=20, examples=range(10), study="run.db", **QUIET)
    with pytest.raises(InvalidInput, match="example 10 is 10, which is none of those that the study was made with"):
        find_best(5, lambda *_: pytest.fail("evaluated"), budget=20, examples=range(11), study="run.db", **QUIET)


@pytest.mark.parametrize("examples", [None, Examples(range(10), repeat=True)])
def test_a_study_whose_examples_run_out_is_refused_without_them(examples):
    made = find_best(5, score, budget=20, examples=range(10), study="run.db", **QUIET)
    with pytest.raises(
        InvalidInput, match=r"the study has 10 examples that run out, but (none|10 that may be repeated) are given"
    ):
        find_best(5, lambda *_: pytest.fail("evaluated"), budget=40, examples=examples, study="run.db", **QUIET)
    with open_study("run.db") as study:
        assert sum(isinstance(entry.event, Told) for entry in study.events()) == made.session.spent
