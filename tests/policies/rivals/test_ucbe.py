"""UCB-E: phases and choices that can be checked by hand, then pull by pull against the naive reference."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from jobs import REWARDS, SEEDS, STEPS, TURNOVER, Jobs, Together, assert_same_run, events, story, told
from reference_stream import Stream
from reference_ucbe import UcbeReference, phase_starts

import boxthirding as b3
from boxthirding.errors import InvalidInput
from boxthirding.lab import Gaussian, captions, from_csv
from boxthirding.policies.base_policy import arrays_of
from boxthirding.policies.rivals.ucbe import ASKED, LARGEST, UCBE, oracle_hardness, renew_indices
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=150, derandomize=True, deadline=None)

CONTEST = Path(__file__).resolve().parents[3].parent / "shared" / "data" / "nyccc" / "893.csv"

EXPLORATION = st.one_of(
    st.just("adaptive"),
    st.tuples(st.just("oracle"), st.sampled_from([0.5, 40.0, math.inf])),
    st.sampled_from([0, 0.3, 2, 50.0]),
)


def pair(n_arms, budget, exploration, seed, capacity=1):
    """An oracle is given with its hardness."""
    if isinstance(exploration, tuple):
        policy = UCBE(budget, "oracle", hardness=exploration[1])
        exploration = max(0.0, 25 / 36 * (budget - n_arms) / exploration[1])
    else:
        policy = UCBE(budget, exploration)
    live = Jobs(policy, n_arms, seed, capacity)
    return live, UcbeReference(n_arms, budget, exploration, Stream(live.ties()))


@pytest.mark.parametrize(
    ("n_arms", "budget", "phases"),
    [
        # n_k = ⌈(n - K) / (loḡK (K + 1 - k))⌉ and t_k = n_1 + … + n_{k-1} + (K - k + 1) n_k
        (1, 9, {0: 0}),
        (2, 100, {0: 0, 1: 98}),  # n_1 = 49
        (3, 12, {0: 0, 1: 9, 2: 11}),  # n = 3, 4
        (4, 42, {0: 0, 1: 24, 2: 30, 3: 38}),  # n = 6, 8, 12
        (4, 5, {0: 0, 3: 4}),  # n = 1, 1, 1: all three phases begin when everybody has a pull, the last one counts
        (4, 8, {0: 0, 2: 4, 3: 6}),  # n = 1, 1, 2
        (4, 3, {3: 0}),  # not even a pull each
    ],
)
def test_phases_that_can_be_checked_by_hand(n_arms, budget, phases):
    begin, k = UCBE(budget).phases(n_arms).tolist()
    assert dict(zip(k, begin, strict=True)) == phases


@EXAMPLES
@given(n_arms=st.integers(1, 150), budget=st.integers(1, 5_000))
@example(n_arms=4, budget=42)
def test_phases_are_those_of_the_reference(n_arms, budget):
    begin, k = UCBE(budget).phases(n_arms).tolist()
    expected = {start: k for k, start in enumerate(phase_starts(n_arms, budget))}  # the last one counts
    assert max(expected) < budget
    assert dict(zip(begin, k, strict=True)) == expected


@settings(max_examples=250, derandomize=True, deadline=None)
@given(
    n_arms=st.integers(1, 30),
    budget=st.integers(1, 300),
    exploration=EXPLORATION,
    rewards=st.sampled_from(sorted(REWARDS)),
    capacity=st.integers(1, 40),
    seed=SEEDS,
)
def test_every_pull_and_recommendation_is_that_of_the_reference(n_arms, budget, exploration, rewards, capacity, seed):
    assert_same_run(*pair(n_arms, budget, exploration, seed, capacity), budget, rewards, seed)


@EXAMPLES
@given(
    n_arms=st.integers(1, 20),
    budget=st.integers(1, 300),
    exploration=EXPLORATION,
    steps=STEPS,
    turnover=TURNOVER,
    seed=SEEDS,
)
def test_any_order_of_events_is_that_of_the_reference(n_arms, budget, exploration, steps, turnover, seed):
    both = Together(*pair(n_arms, budget, exploration, seed))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)
        if both.reference.asked == budget:
            break
    assert both.live.ties() == (*both.reference.ties.x, *both.reference.ties.y)


def test_a_fixed_exploration_by_hand():
    live = Jobs(UCBE(20, 1.0), 3)
    assert told(live, 1.0, 0.5, 0.0) == [0, 1, 2]
    # 1 + 1 against 0.5 + 1; ½ + √½ = 1.207 against 1.5; 0.75 + √½ = 1.457 against 1.207 and 0 + 1
    assert told(live, 0.0, 1.0, 0.0) == [0, 1, 1]
    # ½ + √⅓ = 1.077 against 1.207; ⅓ + √⅓ = 0.911 against 1.077 and 1; ⅜ + ½ = 0.875 against 1
    assert told(live, 0.0, 0.0, 1.0) == [0, 1, 2]
    assert live.recommend() == 2  # the mean is ½, the others' ⅓ and ⅜


def test_without_exploration_it_is_greedy():
    live = Jobs(UCBE(20, 0), 3)
    # arm 1 has the means 0.9, 0.85, 0.6, then 0.475, below arm 2's 0.5
    assert told(live, 0.2, 0.9, 0.5, 0.8, 0.1, 0.1, 0.5) == [0, 1, 2, 1, 1, 1, 2]


def test_a_pull_in_flight_counts_in_n_and_not_in_the_mean():
    live = Jobs(UCBE(20, 1.0), 2)
    assert told(live, 1.0, 0.8) == [0, 1]
    # 1 + 1 against 0.8 + 1; 1 + √½ = 1.707 against 1.8; 1.707 against 0.8 + √½; 1 + √⅓ = 1.577 against 1.507
    assert [live.ask()[1] for _ in range(4)] == [0, 1, 0, 0]


def test_it_waits_only_while_no_arm_has_a_result():
    live = Jobs(UCBE(20, 1.0), 2)
    assert [live.ask() for _ in range(3)] == [(0, 0, 1), (1, 1, 1), None]
    live.tell(1, 1, 0.0)
    assert [live.ask() for _ in range(2)] == [(1, 1, 1), (1, 1, 1)]
    live.drop(1)
    assert live.ask() is None
    assert live.recommend() is None
    live.add()
    assert live.ask() == (2, 2, 1)


def exploration_after(live, rewards):
    told(live, *rewards)
    live.ask()
    return float(live.state.exploration[0])


def test_the_adaptive_exploration_by_hand():
    # n_1 … n_3 = 1, 1, 2: until everybody has a pull a = T/K, then phase 2 counts the two largest gaps, phase 3 three.
    live = Jobs(UCBE(8), 4)
    # gaps 0, 0.25, 0.5, 1: 3/0.25 = 12 and 4/1 = 4
    assert exploration_after(live, [0.0, 0.5, 1.0, 0.75]) == 8 / 12
    live.tell(2, 1, 1.0)  # the fifth pull: 1 + √⅔ against 0.75 + √⅔
    assert told(live, 0.625) == [2]  # the sixth: 1 + √⅓ = 1.577 against 0.75 + √⅔ = 1.566
    # Its mean is 0.875; gaps 0, 0.125, 0.375, 0.875: 2/(1/64) = 128
    assert exploration_after(live, []) == 8 / 128
    live = Jobs(UCBE(42), 4)
    assert exploration_after(live, [0.0, 0.5, 1.0, 0.75]) == 42 / 4  # phase 0


@pytest.mark.parametrize("gap", [0.0, 5e-324, 1e-200])
@pytest.mark.parametrize("others", [[], [-1.0], [-1.0] * 50])
def test_a_tied_best_arm_leaves_nothing_to_explore(gap, others):
    rewards = [0.0, gap, *others]
    live = Jobs(UCBE(len(rewards) + 1), len(rewards))  # the last phase, of all gaps, begins when everybody has a pull
    assert exploration_after(live, rewards) == 0.0


@pytest.mark.parametrize("budget", [10**11, 2**53])
@pytest.mark.parametrize("exploration", ["adaptive", ("oracle", 40.0), 1.0])
def test_memory_grows_with_the_arms_met_and_not_with_the_budget(budget, exploration):
    live, reference = pair(5, budget, exploration, seed=0)
    assert_same_run(live, reference, 100, "continuous", seed=1)
    assert sum(array.nbytes for array in arrays_of(live.state).values()) < 10_000


@pytest.mark.parametrize("pulls", [14, 15, 16, 40, 300])
def test_a_new_exploration_reaches_every_arm_however_many_pulls_it_has(pulls):
    # 15 arms: a square root is kept for each n while the largest n is below 15, and none from there on.
    live = Jobs(UCBE(400), 15)
    told(live, *range(15))
    state = live.state
    state.n[0], state.scalars[LARGEST], state.exploration[0] = pulls, pulls, 7.0
    renew_indices(state)
    assert state.boldest.value.tolist() == [arm + math.sqrt(7.0 / n) for arm, n in enumerate(state.n.tolist())]


def test_an_exploration_beyond_floats_asks_for_no_withdrawn_arm():
    for policy in (UCBE(10**6, "oracle", hardness=1e-310), UCBE(2**53)):
        live = Jobs(policy, 3)
        told(live, 1.0, 9e149, -9e149)
        live.state.scalars[ASKED] = policy.budget - 1
        live.drop(1)
        assert {live.ask()[1] for _ in range(20)} == {0, 2}


def test_the_oracle():
    assert oracle_hardness(np.array([0.5, 1.0, 0.0])) == 4 + 4 + 1
    assert oracle_hardness(np.array([0.5, 1.0, 1.0])) == math.inf
    assert oracle_hardness(np.array([0.5])) == math.inf
    assert oracle_hardness(np.array([1e-200, 0.0])) == math.inf
    assert UCBE(39, "oracle", hardness=9.0).new(3, 0, 8).exploration[0] == pytest.approx(25 / 9)
    assert UCBE(2, "oracle", hardness=9.0).new(3, 0, 8).exploration[0] == 0.0
    assert UCBE(39, "oracle", hardness=math.inf).new(3, 0, 8).exploration[0] == 0.0


@pytest.mark.parametrize("exploration", ["adaptive", ("oracle", 3.0), 1.0])
def test_with_fewer_pulls_than_arms_it_pulls_each_once(exploration):
    live, _ = pair(100, 10, exploration, seed=0)
    assert told(live, *(-float(abs(arm - 4)) for arm in range(10))) == list(range(10))
    assert live.recommend() == 4


@pytest.mark.parametrize("exploration", ["adaptive", ("oracle", 3.0), 1.0])
def test_reset_starts_the_same_run_again(exploration):
    live, _ = pair(11, 200, exploration, seed=0)
    ties = live.state.ties.copy()
    first = story(live, 200, seed=1)
    live.begin(ties)
    assert live.recommend() is None
    assert story(live, 200, seed=1) == first
    live.drop(3)
    live.begin(ties)
    assert story(live, 200, seed=1) == first


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"budget": 0}, ["budget is 0", "at least 1"]),
        ({"budget": 2.5}, ["2.5", "whole number"]),
        ({"budget": True}, ["budget is True", "whole number"]),
        ({"budget": 9, "exploration": "bold"}, ["'bold'", "adaptive, oracle or a number"]),
        ({"budget": 9, "exploration": -1.0}, ["-1.0", "at least 0"]),
        ({"budget": 9, "exploration": math.inf}, ["inf", "finite"]),
        ({"budget": 9, "exploration": math.nan}, ["nan", "finite"]),
        ({"budget": 9, "exploration": None}, ["None", "number"]),
        ({"budget": 9, "exploration": 10**400}, ["exploration is 1000", "finite"]),
        ({"budget": 9, "exploration": True}, ["True", "number"]),
        ({"budget": 9, "exploration": "oracle"}, ["hardness is None", "H₁"]),
        ({"budget": 9, "exploration": "oracle", "hardness": 0.0}, ["hardness is 0.0", "H₁"]),
        ({"budget": 9, "exploration": "oracle", "hardness": -2}, ["hardness is -2", "H₁"]),
        ({"budget": 9, "exploration": "oracle", "hardness": math.nan}, ["hardness is nan", "H₁"]),
        ({"budget": 9, "exploration": "oracle", "hardness": "9"}, ["hardness is '9'", "H₁"]),
        ({"budget": 9, "exploration": "oracle", "hardness": 10**400}, ["hardness is 1000", "H₁"]),
        ({"budget": 9, "hardness": 9.0}, ["hardness is 9.0", "exploration=oracle"]),
        ({"budget": 9, "exploration": 2.0, "hardness": 9.0}, ["hardness is 9.0", "exploration=oracle"]),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_value_and_the_rule(wrong, words):
    with pytest.raises(InvalidInput) as refused:
        UCBE(**wrong)
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize("n_arms", [0, -1, 2.5])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        UCBE(budget=10).new(n_arms, 0, 8)


def regret(instance, budget, replicates):
    policy = UCBE(budget, "oracle", hardness=oracle_hardness(instance.means))
    run = b3.simulate(instance, Gaussian(0.25), policy, budget=budget, replicates=replicates, seed=1)
    return run.regret[:, -1].mean()


def test_with_the_oracle_the_regret_on_few_captions_is_the_one_known():
    assert regret(captions(128), 896, 4_000) == pytest.approx(0.032, rel=0.1)


@pytest.mark.skipif(not CONTEST.exists(), reason="the contest's own file is not here")
def test_with_the_oracle_the_regret_on_the_contest_is_the_one_known():
    assert regret(from_csv(CONTEST, 1_024), 10_240, 400) == pytest.approx(0.004, abs=0.0012)


class TestUCBEKeepsTheContract(PolicyContract):
    policy = UCBE(budget=1)


class TestUCBEWithFixedExplorationKeepsTheContract(PolicyContract):
    policy = UCBE(budget=1, exploration=0.5)
