"""The noise of a pull, learned from repeats: against the two-pass definition in exact arithmetic."""

import math
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding.policies.base_policy import zeros
from boxthirding.policies.noise import Noise, learn, sigma, too_few_repeats

EXAMPLES = settings(max_examples=200, derandomize=True, deadline=None)

rewards = st.integers(-4096, 4096).map(lambda number: number / 1024)
jobs = st.lists(st.tuples(st.integers(0, 4), st.lists(rewards, min_size=1, max_size=9)), max_size=25)


class Learned:
    """Arms whose results come and go, as a rule is told of them."""

    def __init__(self, arms=60):
        self.pulls = np.zeros(arms, np.int64)
        self.noise = zeros(Noise, arms, repeats=1)
        self.told = {}

    def add(self, arm, job):
        self._take(arm, len(job), sum(job), sum(reward * reward for reward in job))
        self.told.setdefault(arm, []).extend(job)

    def take_out(self, arm, job):
        self._take(arm, -len(job), -sum(job), -sum(reward * reward for reward in job))
        for reward in job:
            self.told[arm].remove(reward)

    def correct(self, arm, old, new):
        self._take(arm, 0, new - old, new * new - old * old)
        self.told[arm].remove(old)
        self.told[arm].append(new)

    def _take(self, arm, times, total, squares):
        learn(self.noise, arm, int(self.pulls[arm]), times, total, squares)
        self.pulls[arm] += times

    def sigma(self):
        return sigma(self.noise, self.pulls, len(self.pulls))

    @property
    def repeats(self):
        return int(self.noise.repeats[0])


def learned(jobs):
    """Tell every job's sums; return what was learned."""
    known = Learned()
    for arm, job in jobs:
        known.add(arm, job)
    return known


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
    known = learned(jobs)
    variance, repeats = pooled(known.told)
    assert known.repeats == repeats
    assert known.sigma() == pytest.approx(math.sqrt(variance), rel=1e-12, abs=1e-7)


@EXAMPLES
@given(jobs=jobs, cut=st.integers(1, 8))
def test_how_pulls_are_cut_into_jobs_does_not_matter(jobs, cut):
    whole = learned(jobs)
    pieces = [(arm, job[i : i + cut]) for arm, job in jobs for i in range(0, len(job), cut)]
    parts = learned(pieces)
    assert parts.repeats == whole.repeats
    assert parts.sigma() == pytest.approx(whole.sigma(), rel=1e-12, abs=1e-7)


def test_arms_that_differ_are_no_noise():
    known = learned([(arm, [float(arm)] * times) for arm in range(20) for times in (1, 3, 2)])
    assert known.repeats == 20 * 5
    assert known.sigma() == 0.0


def test_there_is_no_noise_before_the_first_repeat():
    known = learned([(arm, [2.0**arm]) for arm in range(50)])
    assert known.sigma() == 0.0


@pytest.mark.parametrize("factor", [2.0**-40, 0.5, 1024.0, 2.0**60])
def test_the_unit_of_the_rewards_is_the_unit_of_sigma(factor):
    rng = random.Random(1)
    told = [(rng.randrange(5), [rng.gauss(0.0, 1.0) for _ in range(rng.randint(1, 4))]) for _ in range(60)]
    one = learned(told)
    other = learned([(arm, [factor * reward for reward in job]) for arm, job in told])
    assert other.sigma() == factor * one.sigma()


def test_many_pulls_find_the_true_noise():
    # 9,000 repeats: the standard error of σ is σ/√18,000, a seventh of the tolerance, so a false alarm is one in 10^11.
    rng = random.Random(2)
    known = Learned(arms=1_000)
    for arm in range(1_000):
        known.add(arm, [rng.gauss(10.0 * arm, 0.3) for _ in range(10)])
    assert known.sigma() == pytest.approx(0.3, rel=0.052)


@pytest.mark.parametrize("reward", [0.1, 1 / 3, 0.7, 1e-9, 12345.678])
def test_an_arm_that_always_gives_the_same_has_no_noise(reward):
    known = learned([(0, [reward])] * 30)
    assert known.sigma() == 0.0


@pytest.mark.parametrize(("told", "repeats"), [(0, 0), (3, 0), (4, 1), (7, 1), (8, 2), (1_023, 8), (1_024, 9)])
def test_one_repeat_is_due_by_4_pulls_and_one_more_whenever_they_double(told, repeats):
    due = 0
    while too_few_repeats(due, told, 0):
        due += 1
    assert due == repeats


def test_repeats_in_flight_count():
    assert too_few_repeats(3, 256, 3)
    assert not too_few_repeats(3, 256, 4)


def test_any_number_of_repeats_is_enough_for_any_number_of_pulls():
    assert not too_few_repeats(10**9, 2**40, 0)  # told >> this would not do


@EXAMPLES
@given(jobs=jobs, data=st.data())
def test_what_is_taken_out_leaves_what_would_be_there_without_it(jobs, data):
    known = learned(jobs)
    for arm, told in known.told.items():
        gone = data.draw(st.lists(st.sampled_from(range(len(told))), unique=True))
        if gone:
            known.take_out(arm, [told[i] for i in gone])
    without = learned([(arm, told) for arm, told in known.told.items() if told])
    assert known.repeats == without.repeats
    assert known.sigma() == pytest.approx(without.sigma(), rel=1e-12, abs=1e-7)


@EXAMPLES
@given(jobs=jobs, extra=st.lists(st.tuples(st.integers(0, 4), rewards), max_size=10))
def test_what_was_added_and_taken_out_leaves_no_trace(jobs, extra):
    known, untouched = learned(jobs), learned(jobs)
    for arm, reward in extra:
        known.add(arm, [reward])
    for arm, reward in reversed(extra):
        known.take_out(arm, [reward])
    assert (known.sigma(), known.repeats) == (untouched.sigma(), untouched.repeats)


@EXAMPLES
@given(jobs=jobs.filter(bool), new=rewards)
def test_a_corrected_result_counts_as_if_it_had_been_right(jobs, new):
    known = learned(jobs)
    arm, job = jobs[0]
    known.correct(arm, job[0], new)
    variance, _ = pooled(known.told)
    assert known.sigma() == pytest.approx(math.sqrt(variance), rel=1e-12, abs=1e-7)


@pytest.mark.parametrize("seed", range(20))
def test_outliers_that_were_taken_out_leave_no_noise_behind(seed):
    rng = random.Random(seed)
    known = learned([(arm, [0.1 * arm]) for arm in range(9) for _ in range(5)])
    outliers = [rng.gauss(0.0, 10.0) for _ in range(6)]
    for outlier in outliers:
        known.add(4, [outlier])
    assert known.sigma() > 0.5
    for outlier in rng.sample(outliers, 6):
        known.take_out(4, [outlier])
    assert known.sigma() == 0.0  # though the sums are not what they were to the last bit


@pytest.mark.parametrize("reward", [0.1, 1 / 3, 12345.678])
def test_equal_results_that_come_as_one_sum_are_no_noise(reward):
    known = learned([(arm, [reward + arm] * times) for arm in range(5) for times in (7, 1, 3)])
    assert known.sigma() == 0.0


def test_arms_that_are_far_apart_do_not_hide_a_small_noise():
    rng = random.Random(3)
    known = Learned(arms=20)
    for arm in range(20):
        for _ in range(50):
            known.add(arm, [1e6 * arm + rng.choice([-1e-4, 1e-4])])
    assert known.sigma() == pytest.approx(1e-4, rel=0.05)
