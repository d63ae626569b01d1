"""ASHA: a trace that can be checked by hand, then job by job against the naive reference."""

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import REWARDS, SEEDS, STEPS, TURNOVER, Jobs, Together, assert_same_run, events, story
from reference_asha import AshaReference
from reference_stream import Stream
from trees import in_order

import boxthirding as b3
from boxthirding.errors import InvalidInput
from boxthirding.lab import Gaussian, captions
from boxthirding.policies.rivals.asha import TOP, Asha
from boxthirding.rng import TIES, spawn
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=100, derandomize=True, deadline=None)

GROWTHS = {None: 1.7281632013323829, 1.2: 1.2, 2.0: 2.0}


def pair(growth, n_arms, seed, capacity):
    live = Jobs(Asha(growth), n_arms, seed, capacity)
    factor = GROWTHS[growth]
    return live, AshaReference(n_arms, lambda rung: math.ceil(factor**rung - 1e-12), Stream(live.ties()))


@EXAMPLES
@given(
    n_arms=st.integers(1, 40),
    capacity=st.integers(1, 40),
    pulls=st.integers(1, 400),
    growth=st.sampled_from(list(GROWTHS)),
    rewards=st.sampled_from(sorted(REWARDS)),
    seed=SEEDS,
)
def test_every_job_and_recommendation_is_that_of_the_reference(n_arms, capacity, pulls, growth, rewards, seed):
    assert_same_run(*pair(growth, n_arms, seed, capacity), pulls, rewards, seed)


@EXAMPLES
@given(n_arms=st.integers(1, 8), steps=STEPS, turnover=TURNOVER, seed=SEEDS)
def test_any_order_of_events_is_that_of_the_reference(n_arms, steps, turnover, seed):
    both = Together(*pair(None, n_arms, seed, capacity=1))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)
        state = both.live.state
        for rung in range(both.live.at(TOP) + 1):
            assert [state.stays.arm[stay] for stay in in_order(state.rungs, rung)] == both.reference.ranked(rung)


def test_a_run_that_can_be_checked_by_hand():
    # Arm i gives i every time; rungs cost 1, 2, 3, 6.
    live = Jobs(Asha(), 4)
    jobs = []
    for _ in range(12):
        job, arm, times = live.ask()
        jobs.append((arm, times))
        live.tell(job, times, float(arm * times))
    assert jobs == [
        *[(0, 1), (1, 1), (1, 2)],  # the better half of two
        *[(2, 1), (2, 2), (2, 3)],  # the best of three, then of two
        *[(3, 1), (3, 2), (3, 3), (3, 6)],
        (0, 2),  # no half has anybody, no arm is new: the lowest rung's last
        (1, 3),  # and then the next rung's best
    ]
    assert live.recommend() == 3
    assert live.ranking() == [3, 2, 1, 0]


def test_the_recommendation_is_the_best_of_the_top_rung_whatever_is_below():
    live = Jobs(Asha(), 3)
    assert live.recommend() is None
    for reward in (0.0, 5.0, -9.0):  # arm 1 is better, and disappoints at rung 1
        job, arm, times = live.ask()
        live.tell(job, times, reward)
        assert live.recommend() == arm or reward == 0.0
    assert live.recommend() == 1
    live.drop(1)
    assert live.recommend() == 0
    live.drop(0)
    assert live.recommend() is None


def test_a_job_counts_when_its_last_pull_is_in_and_an_arm_in_flight_counts_as_promoted():
    live = Jobs(Asha(), 2)
    for reward in (0.0, 1.0):
        live.tell(*live.ask()[::2], reward)
    job, arm, times = live.ask()
    assert (arm, times) == (1, 2)
    live.tell(job, 1, 50.0)
    assert live.ranking() == [1, 0]
    assert live.ask()[1:] == (0, 2)  # out of turn: nobody else is left
    assert live.ask() is None
    live.tell(job, 1, -52.0)
    assert live.ranking() == [1, 0]
    assert live.recommend() == 1
    assert live.ask()[1:] == (1, 3)


@pytest.mark.parametrize("met", [2, 4])
def test_equals_are_promoted_alike(met):
    # All rewards are equal. Of two arms one goes on; then of two at rung 1. Of 3,000 runs a fair share is within 4.9
    # standard deviations, but for a false-alarm rate of 1e-6.
    runs, found = 3_000, Counter()
    live = Jobs(Asha(), 8)
    for ties in spawn(6, 0, runs)[:, TIES]:
        live.begin(ties)
        jobs = [live.ask() for _ in range(met)]
        for job, _, times in jobs:
            live.tell(job, times, times)
        found[live.ask()[1]] += 1
    assert sorted(found) == list(range(met))
    share = 1 / met
    assert all(abs(count - runs * share) <= 5.1 * (runs * share * (1 - share)) ** 0.5 for count in found.values())


def test_room_changes_no_decision_and_reset_starts_the_same_run_again():
    runs = [Jobs(Asha(), 150, capacity=capacity) for capacity in (1, 150)]  # with little room, it is made eight times
    ties = runs[0].state.ties.copy()
    first, second = (story(live, 400, seed=1) for live in runs)
    assert first == second
    for live in runs:
        live.begin(ties)
        assert live.recommend() is None
        assert story(live, 400, seed=1) == first


def test_one_arm_alone_climbs_beyond_the_rungs_there_is_room_for():
    live = Jobs(Asha(growth=1.05), 1)
    costs = []
    for _ in range(60):
        job, _, times = live.ask()
        costs.append(times)
        live.tell(job, times, 1.0)
    assert costs == [math.ceil(1.05**rung - 1e-12) for rung in range(60)]
    assert live.recommend() == 0


@pytest.mark.parametrize("growth", [1.0, 2.1, 0.0, -1.5, float("nan"), "fast", True])
def test_a_wrong_growth_is_refused_with_the_value_and_the_rule(growth):
    with pytest.raises(InvalidInput) as refused:
        Asha(growth)
    assert f"growth is {growth}" in str(refused.value)
    assert "(1, 2]" in str(refused.value)


@pytest.mark.parametrize("n_arms", [0, -1, 2.5])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        Asha().new(n_arms, 0, 8)


@pytest.mark.parametrize(
    ("arms", "budget", "sigma", "replicates", "regret", "tolerance"),
    [
        (None, 10_000, 0.5, 1_000, 0.055, 0.005),
        (None, 10_000, 0.25, 1_000, 0.041, 0.004),
        (128, 896, 0.25, 4_000, 0.043, 0.0043),
        pytest.param(1_024, 10_240, 0.25, 2_000, 0.015, 0.0015, marks=pytest.mark.soak),
    ],
)
def test_the_regret_on_the_captions_is_the_known_one(arms, budget, sigma, replicates, regret, tolerance):
    run = b3.simulate(captions(arms), Gaussian(sigma), Asha(), budget=budget, replicates=replicates, seed=1)
    assert abs(run.regret[:, -1].mean() - regret) <= tolerance


class TestAshaKeepsTheContract(PolicyContract):
    policy = Asha()


class TestAshaThatDoublesKeepsTheContract(PolicyContract):
    policy = Asha(growth=2.0)
