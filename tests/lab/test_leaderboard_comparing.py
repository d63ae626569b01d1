"""Paired ratios: worked by hand, against a brute-force bootstrap, and by how often their intervals are right."""

import math

import numpy as np
import pytest

from boxthirding.lab.leaderboard.board import ADDED, Ratio, paired


def dependent(seed, replicates=400, cells=6):
    """Return regrets of two policies that share the luck of a replicate, and in all cells."""
    draw = np.random.default_rng(seed)
    luck = draw.gamma(2.0, 0.02, (replicates, 1))
    scale = np.linspace(0.5, 2.0, cells)
    ours = scale * (luck + draw.gamma(2.0, 0.01, (replicates, cells)))
    theirs = 1.3 * scale * (luck + draw.gamma(2.0, 0.01, (replicates, cells)))
    return ours, theirs


def log_ratio(ours, theirs):
    return float(np.mean(np.log((ours.mean(axis=0) + ADDED) / (theirs.mean(axis=0) + ADDED))))


def test_a_thousandth_is_added_to_both_means():
    assert paired(np.array([[0.1], [0.098]]), np.array([[0.05], [0.048]])).value == pytest.approx(2)


def test_several_cells_give_the_geometric_mean():
    ours, theirs = np.tile([[0.019, 0.079]], (5, 1)), np.tile([[0.009, 0.009]], (5, 1))
    assert paired(ours, theirs).value == pytest.approx(math.sqrt(2 * 8))


def test_the_error_is_that_of_a_brute_force_bootstrap_over_replicates():
    ours, theirs = dependent(1)
    draw = np.random.default_rng(2)
    resampled = (draw.integers(0, len(ours), len(ours)) for _ in range(4_000))
    logs = np.array([log_ratio(ours[rows], theirs[rows]) for rows in resampled])
    ratio = paired(ours, theirs)
    assert math.log(ratio.value) == pytest.approx(log_ratio(ours, theirs))
    assert ratio.log_error == pytest.approx(logs.std(), rel=0.04)  # 4,000 resamples know it to 1.1 %
    for level in (0.95, 0.99):
        bounds = np.quantile(np.exp(logs), [(1 - level) / 2, (1 + level) / 2])
        assert ratio.interval(level) == pytest.approx(tuple(bounds), rel=0.01)


def test_pairs_that_are_torn_apart_have_a_larger_error():
    ours, theirs = dependent(3)
    torn = np.random.default_rng(4).permutation(theirs)
    assert paired(ours, torn).log_error > 1.5 * paired(ours, theirs).log_error


def test_cells_that_depend_on_each_other_do_not_count_as_many():
    ours, theirs = dependent(5, cells=1)
    one, copied = paired(ours, theirs), paired(np.tile(ours, 9), np.tile(theirs, 9))
    assert copied.value == pytest.approx(one.value)
    assert copied.log_error == pytest.approx(one.log_error)


def test_intervals_hold_the_truth_as_often_as_they_say():
    mean = 2.0 * 0.02 + 2.0 * 0.01  # of the two gammas, in units of a cell's scale
    truth = np.mean([math.log((mean * one + ADDED) / (1.3 * mean * one + ADDED)) for one in np.linspace(0.5, 2.0, 3)])
    held = {0.95: 0, 0.99: 0}
    for seed in range(1_000):
        ratio = paired(*dependent(seed, replicates=100, cells=3))
        for level in held:
            low, high = ratio.interval(level)
            held[level] += math.log(low) <= truth <= math.log(high)
    assert 925 <= held[0.95] <= 970  # 3.6 and 2.9 standard deviations from 950
    assert 975 <= held[0.99] <= 999


def test_a_policy_beside_itself_is_exactly_as_good():
    ours, _ = dependent(6)
    assert paired(ours, ours) == Ratio(1.0, 0.0)
    assert paired(np.zeros((4, 2)), np.zeros((4, 2))) == Ratio(1.0, 0.0)


def test_the_wider_the_level_the_wider_the_interval():
    low, high = Ratio(2.0, 0.1).interval(0.99)
    assert low < Ratio(2.0, 0.1).interval(0.95)[0] < 2 < Ratio(2.0, 0.1).interval(0.95)[1] < high
    assert low * high == pytest.approx(4)
