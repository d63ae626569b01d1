"""Outliers are excluded; what is rare, far away or noisy and honest is not."""

import random

import numpy as np
import pytest

from boxthirding import _compile
from boxthirding.lab import Table, captions, simulate
from boxthirding.policies import Chase
from boxthirding.policies.chase_final import SIGMA, VARIANCE
from boxthirding.policies.noise import SHARE, outlier_value, usual_variance
from boxthirding.policies.roster import KNOWN
from boxthirding.policies.rule_runner import LiveState
from boxthirding.types import NONE, WAIT


def played(reward, arms=500, pulls=3_000, seed=0, policy=Chase()):  # noqa: B008  # it is frozen
    """Return a state that was told so many rewards, reward(rng, arm) each."""
    state, rng = LiveState(policy, arms, seed), random.Random(seed)
    while pulls > 0:
        job, arm, times = state.ask()
        if job == WAIT:
            break
        rewards = [reward(rng, arm) for _ in range(times)]
        state.tell(job, times, sum(rewards), sum(reward * reward for reward in rewards))
        pulls -= times
    return state


def mean(arm):
    return 37 * arm % 500 / 500


def n_outliers(state):
    return state.policy.n_outliers(state.arrays)


@pytest.mark.parametrize("off", [100.0, -100.0, 1e6])  # beside 1e9 the sum of a job loses what the others were
def test_what_is_learned_is_what_is_learned_without_them(off):
    count = 0

    def now_and_then(rng, arm):
        nonlocal count
        is_outlier = rng.random() < 0.002
        count += is_outlier
        return mean(arm) + rng.gauss(0.0, 0.3) + off * is_outlier

    state = played(now_and_then)
    assert count > 2
    assert count - 2 <= n_outliers(state) <= count  # a low first result may stay the only one of its arm
    assert state.arrays.facts[SIGMA] == pytest.approx(0.3, rel=0.1)
    assert mean(state.recommend()) > 0.9
    assert sum(times for times, _ in state.policy.outliers(state.arrays).values()) == n_outliers(state)


def test_the_outlier_is_told_with_its_arm():
    state = played(lambda rng, arm: mean(arm) + rng.gauss(0.0, 0.3), pulls=500)
    job, arm, times = state.ask()
    while times > 1:
        state.tell(job, times, times * mean(arm), times * mean(arm) ** 2)
        job, arm, times = state.ask()
    before = state.arrays.arms.pulls[arm], state.arrays.arms.total[arm]
    assert before[0] > 0
    state.tell(job, 1, 55.5, 55.5**2)
    assert state.policy.outliers(state.arrays) == {arm: (1, pytest.approx(55.5))}
    assert (state.arrays.arms.pulls[arm], state.arrays.arms.total[arm]) == pytest.approx(before)


@pytest.mark.parametrize("seed", range(3))
def test_an_arm_that_is_far_above_all_others_wins(seed):
    state = played(lambda rng, arm: 100.0 * (arm == 77) + rng.gauss(0.0, 0.3), seed=seed)
    assert (state.recommend(), n_outliers(state)) == (77, 0)


def test_a_single_result_that_is_too_high_is_repeated_before_it_is_believed():
    state = played(lambda rng, arm: mean(arm) + rng.gauss(0.0, 0.3), pulls=500)
    while True:
        job, arm, times = state.ask()
        if state.arrays.arms.pulls[arm] == 0:
            break
        state.tell(job, times, times * mean(arm), times * mean(arm) ** 2)
    state.tell(job, times, times * 40.0, times * 1600.0)
    assert (state.recommend(), state.arrays.arms.pulls[arm], n_outliers(state)) == (arm, 1, 0)
    again, same, one = state.ask()
    assert (same, one) == (arm, 1)
    state.tell(again, 1, 0.25, 0.0625)
    assert n_outliers(state) == 1
    assert state.recommend() != arm
    assert state.arrays.arms.total[arm] + state.arrays.facts[0] == pytest.approx(0.25)


@pytest.mark.parametrize(
    "reward",
    [
        *(lambda rng, _, p=p: float(rng.random() < p) for p in (0.1, 0.01, 0.001)),
        lambda rng, _: (rng.random() < 0.01) * rng.expovariate(0.02),
        lambda rng, arm: mean(arm) + rng.gauss(0.0, 0.3),
        lambda rng, arm: rng.gauss(0.0, 0.1 * (1 + arm % 30)),
        lambda _, arm: mean(arm) + 1e6 * (arm == 3),
        lambda rng, arm: (rng.random() - 0.5) * (arm == 0),
    ],
    ids=["1 in 10", "1 in 100", "1 in 1,000", "sales", "normal", "unlike arms", "no noise", "one noisy arm"],
)
def test_what_is_rare_or_noisy_and_honest_counts(reward):
    assert n_outliers(played(reward)) == 0


def test_of_an_arm_one_result_in_eight_at_most_is_excluded():
    state = played(lambda rng, arm: rng.gauss(0.0, 0.3) + 1_000.0 * (arm == 0) * (rng.random() < 0.5), arms=40)
    arrays = state.arrays
    assert arrays.n_outliers[0] > 1
    assert SHARE * (arrays.n_outliers[0] - 1) < arrays.arms.pulls[0]
    assert not arrays.n_outliers[1:].any()


def test_several_at_once_are_found_among_results_that_were_known():
    state, rng = LiveState(Chase(), 1_000, 0), random.Random(1)
    for arm in range(200):
        rewards = [mean(arm) + rng.gauss(0.0, 0.3) + 100.0 * (arm % 40 == 0 and k == 0) for k in range(3)]
        state.amend(arm, 3, sum(rewards), sum(reward * reward for reward in rewards))
    assert n_outliers(state) == 0
    state.amend(NONE, 0, 0.0, 0.0)
    assert [*state.policy.outliers(state.arrays)] == [0, 40, 80, 120, 160]
    assert state.arrays.facts[SIGMA] == pytest.approx(0.3, rel=0.1)
    assert 0.09 < usual_variance(state.arrays.noise, state.arrays.arms.pulls, int(state.arrays.scalars[KNOWN])) < 0.5


def test_nothing_is_judged_by_few_repeats():
    state, rng = LiveState(Chase(), 1_000, 0), random.Random(1)
    for arm in range(7):
        rewards = [rng.gauss(0.0, 0.3), rng.gauss(0.0, 0.3) + 100.0 * (arm == 2)]
        state.amend(arm, 2, sum(rewards), sum(reward * reward for reward in rewards))
    state.amend(NONE, 0, 0.0, 0.0)
    assert (n_outliers(state), state.arrays.facts[VARIANCE]) == (0, 0.0)


@pytest.mark.parametrize(("expected", "found"), [(0.5, 9.5), (9.0, 0.25)])
def test_of_two_results_the_one_where_none_is_expected_is_the_outlier(expected, found):
    a, b = 9.5, 0.25
    assert outlier_value((a + b) / 2, 2, (a - b) ** 2 / 2, expected) == pytest.approx(found)


@pytest.mark.skipif(not _compile.available(), reason="numba is not installed")
def test_interpreted_and_compiled_exclude_the_same_outliers():
    instance = captions(150)
    values = instance.means[:, None] + np.array([-0.5, -0.2, 0.0, 0.2, 0.5, 80.0])
    rewards = Table(values, np.tile([0.1, 0.2, 0.39, 0.2, 0.1, 0.01], (150, 1)))
    runs = [
        simulate(
            instance,
            rewards,
            Chase(),
            budget=600,
            checkpoints=range(20, 601, 20),
            replicates=3,
            seed=4,
            threads=1,
            compiled=compiled,
        )
        for compiled in (False, True)
    ]
    assert runs[0].recommended.tolist() == runs[1].recommended.tolist()
