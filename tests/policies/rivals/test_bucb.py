"""BUCB: bounds and a trace that can be checked by hand, then pull by pull against the naive reference."""

import math
import random
from collections import Counter
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import REWARDS, SEEDS, STEPS, TURNOVER, Jobs, Together, assert_same_run, events, story
from reference_bsh import Brackets
from reference_bucb import Optimist
from reference_stream import Stream

import boxthirding as b3
from boxthirding.errors import InvalidInput
from boxthirding.lab import Gaussian, captions
from boxthirding.policies.rivals.brackets import OPENED
from boxthirding.policies.rivals.bucb import BracketingUCB, deviation
from boxthirding.policies.roster import WITHDRAWN
from boxthirding.policies.structures.tournament import player
from boxthirding.rng import TIES, spawn
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=100, derandomize=True, deadline=None)

SIGMAS = st.sampled_from([0.0, 0.05, 0.5, 1.0])
DELTAS = st.sampled_from([0.1, 0.3678, 0.001])


def pair(policy, n_arms, seed, capacity):
    live = Jobs(policy, n_arms, seed, capacity)
    return live, Brackets(n_arms, Stream(live.ties()), partial(Optimist, policy.sigma, policy.delta))


@EXAMPLES
@given(
    n_arms=st.integers(1, 40),
    capacity=st.integers(1, 40),
    pulls=st.integers(1, 400),
    sigma=SIGMAS,
    delta=DELTAS,
    rewards=st.sampled_from(sorted(REWARDS)),
    seed=SEEDS,
)
def test_every_pull_and_recommendation_is_that_of_the_reference(n_arms, capacity, pulls, sigma, delta, rewards, seed):
    live, reference = pair(BracketingUCB(sigma, delta), n_arms, seed, capacity)
    assert_same_run(live, reference, pulls, rewards, seed)


@EXAMPLES
@given(n_arms=st.integers(1, 20), steps=STEPS, turnover=TURNOVER, sigma=SIGMAS, seed=SEEDS)
def test_any_order_of_events_is_that_of_the_reference(n_arms, steps, turnover, sigma, seed):
    both = Together(*pair(BracketingUCB(sigma), n_arms, seed, capacity=1))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)
        assert_trees_are_sound(both.live.state)


def assert_trees_are_sound(state):
    """The winner of every tree is the slot with the largest value; withdrawn slots have none."""
    for b in range(int(state.scalars[OPENED])):
        first, stop = int(state.brackets.start[b]), int(state.brackets.start[b + 1])
        for winner, values in (state.boldest, state.safest):
            largest = max(range(first, stop), key=lambda slot: (values[slot], state.luck[slot]))
            assert player(winner, first, stop, 1) == largest
            gone = [slot for slot in range(first, stop) if state.brackets.entrant[slot] == WITHDRAWN]
            assert all(values[slot] == -math.inf for slot in gone)


def pulled(live, quality, pulls):
    """Ask and tell; return the arms."""
    arms = []
    for _ in range(pulls):
        job, arm, _ = live.ask()
        live.tell(job, 1, quality[arm])
        arms.append(arm)
    return arms


@pytest.mark.parametrize(
    ("n", "doubt", "expected"),
    [
        # ln 10 = 2.302585, ln ln 10 = 0.834032: 2.302585 + 3 · 0.834032 = 4.804682, and √(2 · 4.804682) = 3.099897
        (1, 0.1, 3.099897),
        (2, 0.1, 2.191958),  # ln(e · 2/2) = 1: the last term begins here
        (8, 0.1, 1.235850),  # ln(4 e) = 2.386294, 1.5 ln of that = 1.304613: √(2 · 6.109295 / 8)
    ],
)
def test_the_width_can_be_checked_by_hand(n, doubt, expected):
    assert deviation(1.0, n, doubt) == pytest.approx(expected, abs=2e-6)
    assert deviation(0.5, n, doubt) == deviation(1.0, n, doubt) / 2
    assert deviation(0.0, n, doubt) == 0.0


def test_two_arms_by_hand():
    # Both are pulled, then the larger mean + U(n, 0.1): 1 + 3.0999, against 0 + 3.0999; then 1 + 2.1920 against 3.0999,
    # 1 + U(3) = 1 + 1.8593 against 3.0999, and 0 + 2.1920 against 2.8593.
    live = Jobs(BracketingUCB(sigma=1.0), 2)
    assert pulled(live, [0.0, 1.0], 3) == [0, 1, 1]
    assert pulled(live, [0.0, 1.0], 1) == [1]
    assert pulled(live, [0.0, 1.0], 2) == [0, 1]
    assert live.recommend() == 1
    assert live.ranking() == [1, 0]


def test_the_recommendation_is_the_largest_lower_bound_and_needs_more_certainty_in_later_brackets():
    # In bracket r of n arms the bound is mean - U(n, 0.1 / (n r²)): with equal means and pulls, the first bracket's.
    live = Jobs(BracketingUCB(sigma=1.0), 100)
    for _ in range(20):
        pulled(live, [1.0] * 100, 1)
        state = live.state
        slots = range(int(state.brackets.start[live.at(OPENED)]))
        bounds = {}
        for slot in slots:
            if state.pulls[slot]:
                r = 1 + sum(slot >= int(start) for start in state.brackets.start[1 : live.at(OPENED)])
                size = int(state.brackets.start[r] - state.brackets.start[r - 1])
                bounds[slot] = 1.0 - deviation(1.0, int(state.pulls[slot]), 0.1 / (size * r**2))
        best = {
            int(state.brackets.number[state.brackets.entrant[slot]])
            for slot in bounds
            if bounds[slot] == max(bounds.values())
        }
        assert live.recommend() in best
        assert all(slot < 2 for slot in bounds if bounds[slot] == max(bounds.values()))


def test_nothing_is_recommended_before_the_first_result_and_arms_in_flight_are_not_asked_for_twice():
    live = Jobs(BracketingUCB(sigma=1.0), 2)
    assert [live.ask() for _ in range(3)] == [(0, 0, 1), (1, 1, 1), None]
    assert live.recommend() is None
    live.tell(1, 1, -5.0)
    assert live.recommend() == 1
    assert [live.ask() for _ in range(3)] == [(1, 1, 1)] * 3  # it alone has a mean; pulls in flight count in n
    live.tell(0, 1, -5.0)
    assert live.ask()[1] == 0  # the same mean, fewer pulls
    live.drop(0)
    live.drop(1)
    assert live.ask() is None
    assert live.recommend() is None
    live.add()
    assert live.ask() == (0, 2, 1)  # the brackets begin anew


def test_brackets_grow_by_one_arm_at_a_time_when_arms_are_added_one_by_one():
    live = Jobs(BracketingUCB(sigma=1.0), 1)
    sizes = []
    for _ in range(5_000):
        job, _, _ = live.ask()
        live.tell(job, 1, 0.0)
        if live.at(OPENED) > len(sizes):
            sizes.append(
                int(live.state.brackets.start[live.at(OPENED)] - live.state.brackets.start[live.at(OPENED) - 1])
            )
            live.add()
    assert sizes == list(range(1, 11))  # the last one opens at t = 9 · 2⁹ = 4,608


def test_equals_are_recommended_alike():
    # Two arms with one result each, equal: of 3,000 runs a fair share is within 4.9 standard deviations, but for a
    # false-alarm rate of 1e-6.
    runs, first = 3_000, 0
    live = Jobs(BracketingUCB(sigma=1.0), 2)
    for ties in spawn(11, 0, runs)[:, TIES]:
        live.begin(ties)
        pulled(live, [1.0] * 2, 2)
        first += live.recommend() == 0
    assert abs(first - runs / 2) <= 4.9 * (runs / 4) ** 0.5


def test_equals_are_pulled_alike():
    # Named at random, each of three equal arms has its share of the 20th pull. False-alarm rate: 1e-6.
    runs, found = 2_000, Counter()
    live = Jobs(BracketingUCB(sigma=0.5), 3)
    rng = random.Random(3)
    for ties in spawn(12, 0, runs)[:, TIES]:
        live.begin(ties)
        names = rng.sample(range(3), 3)
        found[names[pulled(live, [1.0] * 3, 20)[-1]]] += 1
    assert all(abs(found[arm] - runs / 3) <= 5.1 * (runs * 2 / 9) ** 0.5 for arm in range(3))


def test_room_changes_no_decision_and_reset_starts_the_same_run_again():
    runs = [Jobs(BracketingUCB(sigma=0.5), 60, capacity=capacity) for capacity in (1, 60)]
    ties = runs[0].state.ties.copy()
    first, second = (story(live, 400, seed=1) for live in runs)
    assert first == second
    for live in runs:
        live.begin(ties)
        assert live.recommend() is None
        assert story(live, 400, seed=1) == first


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"sigma": -0.1}, ["sigma is -0.1", "at least 0"]),
        ({"sigma": float("nan")}, ["sigma is nan", "at least 0"]),
        ({"sigma": "loud"}, ["sigma is 'loud'", "number"]),
        ({"sigma": 1.0, "delta": 0.0}, ["delta is 0.0", "(0, 1/e)"]),
        ({"sigma": 1.0, "delta": -0.1}, ["delta is -0.1", "(0, 1/e)"]),
        ({"sigma": 1.0, "delta": 1 / math.e}, ["delta is 0.3678", "(0, 1/e)"]),
        ({"sigma": 1.0, "delta": 0.5}, ["delta is 0.5", "(0, 1/e)"]),
        ({"sigma": 1.0, "delta": float("nan")}, ["delta is nan", "(0, 1/e)"]),
        ({"sigma": 1.0, "delta": None}, ["delta is None", "(0, 1/e)"]),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_value_and_the_rule(wrong, words):
    with pytest.raises(InvalidInput) as refused:
        BracketingUCB(**wrong)
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize("n_arms", [0, -1, 2.5])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        BracketingUCB(sigma=1.0).new(n_arms, 0, 8)


@pytest.mark.parametrize(
    ("arms", "budget", "sigma", "replicates", "regret", "tolerance"),
    [
        (128, 896, 0.25, 4_000, 0.061, 0.0061),
        pytest.param(1_024, 10_240, 0.25, 2_000, 0.048, 0.0048, marks=pytest.mark.soak),
    ],
)
def test_the_regret_on_the_captions_is_the_known_one(arms, budget, sigma, replicates, regret, tolerance):
    policy = BracketingUCB(sigma)
    run = b3.simulate(captions(arms), Gaussian(sigma), policy, budget=budget, replicates=replicates, seed=1)
    assert abs(run.regret[:, -1].mean() - regret) <= tolerance


class TestBracketingUCBKeepsTheContract(PolicyContract):
    policy = BracketingUCB(sigma=0.5)
