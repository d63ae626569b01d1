"""EB-TCε: leaders and challengers that can be checked by hand, then pull by pull against the naive reference."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import REWARDS, SEEDS, STEPS, TURNOVER, Jobs, Together, assert_same_run, events, story, told
from reference_ebtc import EbtcReference
from reference_stream import Stream

from boxthirding.errors import InvalidInput
from boxthirding.policies.rivals.ebtc import EBTC, NO_CHALLENGER, fewer
from boxthirding.policies.rivals.subsets import FIRST_LEVELS
from boxthirding.policies.structures.tournament import best
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=80, derandomize=True, deadline=None)

POLICIES = st.builds(
    EBTC,
    epsilon=st.sampled_from([0.001, 0.1, 2.0]),
    beta=st.sampled_from([0.5, 0.2, 0.9]),
    subset=st.sampled_from(sorted(FIRST_LEVELS)),
)


def pair(policy, n_arms, seed, capacity=1):
    live = Jobs(policy, n_arms, seed, capacity)
    return live, EbtcReference(n_arms, policy.epsilon, policy.beta, policy.subset, Stream(live.ties()))


def test_defaults_are_those_that_are_documented():
    assert (EBTC().epsilon, EBTC().beta) == (0.1, 0.5)


@EXAMPLES
@given(
    policy=POLICIES,
    n_arms=st.integers(1, 40),
    pulls=st.integers(1, 300),
    rewards=st.sampled_from(sorted(REWARDS)),
    capacity=st.integers(1, 40),
    seed=SEEDS,
)
def test_every_pull_and_recommendation_is_that_of_the_reference(policy, n_arms, pulls, rewards, capacity, seed):
    assert_same_run(*pair(policy, n_arms, seed, capacity), pulls, rewards, seed)


@EXAMPLES
@given(policy=POLICIES, n_arms=st.integers(1, 20), steps=STEPS, turnover=TURNOVER, seed=SEEDS)
def test_any_order_of_events_is_that_of_the_reference(policy, n_arms, steps, turnover, seed):
    both = Together(*pair(policy, n_arms, seed))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)
        assert_trees_are_sound(both.live.state)
    assert both.live.ties() == (*both.reference.ties.x, *both.reference.ties.y)


def assert_trees_are_sound(state):
    """Every node has the largest mean and the fewest pulls of the arms below it."""
    for node in range(1, len(state.n)):
        assert state.fewest[node] == fewer(state, node)
    has_result = state.n < NO_CHALLENGER
    assert (has_result == (state.leader.value > -math.inf)).all()
    if has_result.any():
        assert state.leader.value[best(state.leader)] == np.max(state.leader.value)


def test_a_leader_gets_half_of_the_pulls_and_its_challengers_the_rest():
    live = Jobs(EBTC(epsilon=1.0), 3)
    assert told(live, 0.0, 3.0, 2.0) == [0, 1, 2]
    # The leader is 1. N ≤ L/2: 0 ≤ ½, 1 ≤ 1, then 2 > 1.5: a challenger, of 2 with (1 + 1) / √(⅓ + 1) = 1.73 and 0 with
    # (3 + 1) / √(⅓ + 1).
    assert told(live, 3.0, 3.0, 2.0) == [1, 1, 2]
    # 2 ≤ 2, then 3 > 2.5: 2 costs 2 / √(¼ + ½) = 2.31, 0 costs 4 / √(¼ + 1) = 3.58
    assert told(live, 3.0, 2.0) == [1, 2]
    assert live.recommend() == 1


def test_many_pulls_make_a_challenger_dear():
    live = Jobs(EBTC(epsilon=0.5), 3)
    told(live, 0.0, 1.0, 0.9)
    for _ in range(40):
        job, arm, times = live.ask()
        live.tell(job, times, (0.0, 1.0, 0.9)[arm])
    costs = {
        arm: (1 - mean + 0.5) / math.sqrt(1 / live.state.n[1] + 1 / live.state.n[arm])
        for arm, mean in ((0, 0.0), (2, 0.9))
    }
    assert live.state.n[0] > 1
    assert costs[0] == pytest.approx(costs[2], rel=0.25)  # they are kept alike


def test_an_arm_alone_is_its_own_challenger():
    assert told(Jobs(EBTC(), 1), *[1.0] * 6) == [0] * 6


def test_a_pull_in_flight_counts_in_n_and_not_in_the_mean():
    live = Jobs(EBTC(epsilon=1.0), 3)
    told(live, 1.0, 0.5, 0.4)
    # The leader 0 twice; then the challenger 1: 1.5 / √(⅓ + 1) against 1.6 / √(⅓ + 1); the leader; then 2, for 1 has
    # two pulls: 1.5 / √(¼ + ½) = 1.73 against 1.6 / √(¼ + 1) = 1.43
    assert [live.ask()[1] for _ in range(5)] == [0, 0, 1, 0, 2]


def test_it_waits_only_while_no_arm_has_a_result():
    live = Jobs(EBTC(), 2)
    assert [live.ask() for _ in range(3)] == [(0, 0, 1), (1, 1, 1), None]
    live.tell(1, 1, 0.0)
    assert [live.ask() for _ in range(2)] == [(1, 1, 1), (1, 1, 1)]
    live.drop(1)
    assert live.ask() is None
    assert live.recommend() is None
    live.add()
    assert live.ask() == (2, 2, 1)


@pytest.mark.parametrize("subset", sorted(FIRST_LEVELS))
def test_reset_starts_the_same_run_again(subset):
    live = Jobs(EBTC(subset=subset), 30, seed=0)
    ties = live.state.ties.copy()
    first = story(live, 200, seed=1)
    live.drop(3)
    live.begin(ties)
    assert live.recommend() is None
    assert story(live, 200, seed=1) == first


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"epsilon": 0.0}, ["epsilon is 0.0", "above 0"]),
        ({"epsilon": math.inf}, ["epsilon is inf", "finite"]),
        ({"beta": 1.0}, ["beta is 1.0", "(0, 1)"]),
        ({"beta": "half"}, ["beta is 'half'", "(0, 1)"]),
        ({"subset": "half"}, ["subset is 'half'", "all, doubling"]),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_value_and_the_rule(wrong, words):
    with pytest.raises(InvalidInput) as refused:
        EBTC(**wrong)
    assert all(word in str(refused.value) for word in words)


class TestEBTCKeepsTheContract(PolicyContract):
    policy = EBTC()


class TestEBTCOnASubsetKeepsTheContract(PolicyContract):
    policy = EBTC(subset="doubling")
