"""Successive Rejects: plans that can be checked by hand, then job by job against the naive reference."""

import random

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from jobs import REWARDS, SEEDS, STEPS, TURNOVER, Jobs, events
from reference_stream import Stream
from reference_successive_rejects import SuccessiveRejectsReference, reached_of
from rounds_together import RoundsTogether

from boxthirding.errors import InvalidInput
from boxthirding.policies.rivals.successive_rejects import SuccessiveRejects
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=150, derandomize=True, deadline=None)


def pair(n_arms, budget, seed, capacity=1):
    live = Jobs(SuccessiveRejects(budget), n_arms, seed, capacity)
    return live, SuccessiveRejectsReference(n_arms, budget, Stream(live.ties()))


@pytest.mark.parametrize(
    ("n_arms", "budget", "plan", "spent"),
    [
        (1, 7, ([7], [1]), 7),
        (2, 3, ([1], [2]), 2),  # loḡ2 = 1, n_1 = ⌈1/2⌉
        (2, 100, ([49], [2]), 98),  # as in the paper: with two arms it is uniform
        # loḡ3 = 4/3: n_1 = ⌈9/4⌉, n_2 = ⌈27/8⌉
        (3, 12, ([3, 1], [3, 2]), 11),
        # loḡ4 = 19/12: n_1 = ⌈96·12/(19·4)⌉ = ⌈15.2⌉, n_2 = ⌈20.2⌉, n_3 = ⌈30.3⌉
        (4, 100, ([16, 5, 10], [4, 3, 2]), 99),
        # A whole number is not rounded up: 38·12/(19·4) = 6, 38·12/(19·3) = 8, 38·12/(19·2) = 12
        (4, 42, ([6, 2, 4], [4, 3, 2]), 38),
        (4, 5, ([1], [4]), 4),  # phases without a pull are none
        (4, 8, ([1, 1], [4, 2]), 6),  # n = 1, 1, 2: after the first phase the two worst go
    ],
)
def test_plans_that_can_be_checked_by_hand(n_arms, budget, plan, spent):
    assert SuccessiveRejects(budget).plan(n_arms) == plan
    assert sum(pulls * arms for pulls, arms in zip(*plan, strict=True)) == spent <= budget


@EXAMPLES
@given(n_arms=st.integers(2, 150), budget=st.integers(3, 5_000))
@example(n_arms=4, budget=42)
def test_plans_are_those_of_the_reference_and_keep_the_budget(n_arms, budget):
    assume(budget > n_arms)
    pulls, sizes = SuccessiveRejects(budget).plan(n_arms)
    reached = reached_of(n_arms, budget)
    assert sum(pulls) == reached[-1]
    assert [sum(pulls[: phase + 1]) for phase in range(len(pulls))] == sorted(set(reached) - {0})
    assert sizes == [n_arms + 1 - reached.index(n) for n in sorted(set(reached) - {0})]
    assert sum(n * arms for n, arms in zip(pulls, sizes, strict=True)) <= budget


@EXAMPLES
@given(n_arms=st.integers(1, 30), budget=st.integers(1, 300), rewards=st.sampled_from(sorted(REWARDS)), seed=SEEDS)
def test_every_job_and_recommendation_is_that_of_the_reference(n_arms, budget, rewards, seed):
    assume(budget > n_arms or n_arms == 1)
    rng = random.Random(seed)
    live, reference = pair(n_arms, budget, seed)
    assert live.recommend() is None
    pulls = 0
    while (job := live.ask()) is not None:
        assert job == reference.ask()
        total = sum(REWARDS[rewards](rng) for _ in range(job[2]))
        live.tell(job[0], job[2], total)
        reference.tell(job[0], job[2], total)
        pulls += job[2]
        assert live.recommend() == reference.recommend()
        assert live.ranking()[0] == live.recommend()
    assert reference.ask() is None
    assert pulls <= budget
    assert live.ties() == (*reference.ties.x, *reference.ties.y)


@EXAMPLES
@given(n_arms=st.integers(1, 20), extra=st.integers(1, 200), steps=STEPS, turnover=TURNOVER, seed=SEEDS)
def test_any_order_of_events_is_that_of_the_reference(n_arms, extra, steps, turnover, seed):
    both = RoundsTogether(*pair(n_arms, n_arms + extra, seed))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)
    assert both.live.ties() == (*both.reference.ties.x, *both.reference.ties.y)


def test_every_phase_drops_the_worst_by_all_of_its_pulls():
    live = Jobs(SuccessiveRejects(42), 4)  # 6 pulls of four arms, 2 of three, 4 of two
    for total in (30.0, 18.0, 24.0, 12.0):
        job, _, times = live.ask()
        assert times == 6
        live.tell(job, times, total)
    assert live.recommend() == 0
    assert [live.ask() for _ in range(4)] == [(0, 0, 2), (2, 2, 2), (1, 1, 2), None]
    live.tell(0, 2, -20.0)  # 10 in all: the worst now
    live.tell(2, 2, -1.0)  # 23
    live.tell(1, 2, 2.0)  # 20
    assert live.recommend() == 2
    assert [live.ask() for _ in range(3)] == [(2, 2, 4), (1, 1, 4), None]
    live.tell(2, 4, 0.0)
    assert live.recommend() == 2
    live.tell(1, 4, 3.5)
    assert live.recommend() == 1
    assert live.ranking() == [1, 2, 0, 3]  # those dropped, too: the last one first
    assert live.ask() is None


def test_a_withdrawn_arm_takes_the_place_of_one_that_would_be_rejected():
    live = Jobs(SuccessiveRejects(42), 4)
    for arm in range(4):
        live.ask()
        if arm != 2:
            live.tell(arm, 6, float(arm))
    live.drop(2)
    assert [live.ask() for _ in range(4)] == [(3, 3, 2), (1, 1, 2), (0, 0, 2), None]


def test_reset_starts_the_same_run_again():
    live = Jobs(SuccessiveRejects(200), 20)
    ties = live.state.ties.copy()

    def play():
        jobs = []
        while (job := live.ask()) is not None:
            live.tell(job[0], job[2], float(job[1] % 3))
            jobs.append((job, live.recommend()))
        return jobs

    first = play()
    live.begin(ties)
    assert live.recommend() is None
    assert play() == first
    live.begin(ties)
    live.drop(live.ask()[1])
    live.begin(ties)
    assert play() == first


@pytest.mark.parametrize(("n_arms", "budget"), [(2, 1), (2, 2), (128, 10), (128, 128)])
def test_a_budget_that_is_too_small_for_the_arms_is_refused_before_anything_starts(n_arms, budget):
    with pytest.raises(InvalidInput) as refused:
        SuccessiveRejects(budget).new(n_arms, 0, 1)
    assert all(word in str(refused.value) for word in (f"budget is {budget}", f"{n_arms} arms", "b3 or sh"))
    SuccessiveRejects(n_arms + 1).new(n_arms, 0, 1)
    SuccessiveRejects(1).new(1, 0, 1)


@pytest.mark.parametrize(("budget", "words"), [(0, ["budget is 0", "at least 1"]), (2.5, ["2.5", "whole number"])])
def test_a_wrong_budget_is_refused_with_the_value_and_the_rule(budget, words):
    with pytest.raises(InvalidInput) as refused:
        SuccessiveRejects(budget)
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize("n_arms", [0, -1, 2.5])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        SuccessiveRejects(budget=10).new(n_arms, 0, 8)


class TestSuccessiveRejectsKeepsTheContract(PolicyContract):
    policy = SuccessiveRejects(budget=1)
