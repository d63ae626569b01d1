"""The noise of a pull, learned from repeats: against the two-pass definition in exact arithmetic."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding.policies.noise import NOISE, REPEATS, learn, sigma, too_few_repeats

EXAMPLES = settings(max_examples=200, derandomize=True, deadline=None)

rewards = st.integers(-4096, 4096).map(lambda number: number / 1024)
jobs = st.lists(st.tuples(st.integers(0, 4), st.lists(rewards, min_size=1, max_size=9)), max_size=25)


def learned(jobs):
    """Tell every job's sums, as a rule does; return the noise and each arm's rewards."""
    noise, told = np.zeros(NOISE), {}
    for arm, job in jobs:
        before = told.setdefault(arm, [])
        learn(noise, len(before), sum(before), len(job), sum(job), sum(reward * reward for reward in job))
        before += job
    return noise, told


def pooled(told):
    """Return the pooled variance within arms and the repeats, exactly."""
    within, repeats = Fraction(0), 0
    for job in told.values():
        mean = sum(map(Fraction, job)) / len(job)
        within += sum((Fraction(reward) - mean) ** 2 for reward in job)
        repeats += len(job) - 1
    return (within / repeats if repeats else Fraction(0)), repeats


@EXAMPLES
@given(jobs=jobs)
def test_sigma_is_the_pooled_standard_deviation_within_arms(jobs):
    noise, told = learned(jobs)
    variance, repeats = pooled(told)
    assert noise[REPEATS] == repeats
    assert sigma(noise) == pytest.approx(math.sqrt(variance), rel=1e-12, abs=1e-7)


@EXAMPLES
@given(jobs=jobs, cut=st.integers(1, 8))
def test_how_pulls_are_cut_into_jobs_does_not_matter(jobs, cut):
    whole, _ = learned(jobs)
    pieces = [(arm, job[i : i + cut]) for arm, job in jobs for i in range(0, len(job), cut)]
    parts, _ = learned(pieces)
    assert parts[REPEATS] == whole[REPEATS]
    assert sigma(parts) == pytest.approx(sigma(whole), rel=1e-12, abs=1e-7)


def test_arms_that_differ_are_no_noise():
    noise, _ = learned([(arm, [float(arm)] * times) for arm in range(20) for times in (1, 3, 2)])
    assert noise[REPEATS] == 20 * 5
    assert sigma(noise) == 0.0


def test_there_is_no_noise_before_the_first_repeat():
    noise, _ = learned([(arm, [2.0**arm]) for arm in range(50)])
    assert sigma(noise) == 0.0


@pytest.mark.parametrize("factor", [2.0**-40, 0.5, 1024.0, 2.0**60])
def test_the_unit_of_the_rewards_is_the_unit_of_sigma(factor):
    rng = random.Random(1)
    told = [(rng.randrange(5), [rng.gauss(0.0, 1.0) for _ in range(rng.randint(1, 4))]) for _ in range(60)]
    one, _ = learned(told)
    other, _ = learned([(arm, [factor * reward for reward in job]) for arm, job in told])
    assert sigma(other) == factor * sigma(one)


def test_many_pulls_find_the_true_noise():
    # 9,000 repeats: the standard error of σ is σ/√18,000, a seventh of the tolerance, so a false alarm is one in 10^11.
    rng = random.Random(2)
    noise, _ = learned([(arm, [rng.gauss(10.0 * arm, 0.3) for _ in range(10)]) for arm in range(1_000)])
    assert sigma(noise) == pytest.approx(0.3, rel=0.052)


@pytest.mark.parametrize("reward", [0.1, 1 / 3, 0.7, 1e-9, 12345.678])
def test_an_arm_that_always_gives_the_same_has_no_noise(reward):
    noise, _ = learned([(0, [reward])] * 30)
    assert sigma(noise) == 0.0


@pytest.mark.parametrize(("told", "repeats"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 2), (1_023, 8), (1_024, 9)])
def test_one_repeat_is_due_by_4_pulls_and_one_more_whenever_they_double(told, repeats):
    noise = np.zeros(NOISE)
    due = 0
    while too_few_repeats(noise, told, 0):
        noise[REPEATS] += 1
        due += 1
    assert due == repeats


def test_repeats_in_flight_count():
    noise = np.zeros(NOISE)
    noise[REPEATS] = 3
    assert too_few_repeats(noise, 256, 3)
    assert not too_few_repeats(noise, 256, 4)


def test_any_number_of_repeats_is_enough_for_any_number_of_pulls():
    noise = np.zeros(NOISE)
    noise[REPEATS] = 1e9  # told >> this would not do
    assert not too_few_repeats(noise, 2**40, 0)
