"""Bands: what sets beliefs apart counts, what sets runs apart does not."""

import numpy as np
import pytest

from boxthirding.planning.outcomes import band_of_chance, band_of_size, mean_and_doubt, rising, sizes


def test_runs_that_scatter_by_chance_leave_little_doubt():
    values = np.random.default_rng(1).normal(5, 1, (20, 50))
    mean, doubt = mean_and_doubt(values)
    assert mean == pytest.approx(5, abs=0.1)
    assert doubt < 0.1


def test_beliefs_that_differ_leave_as_much_doubt_as_they_differ():
    random = np.random.default_rng(2)
    values = random.normal(5, 1, (400, 1)) + random.normal(0, 3, (400, 10))
    mean, doubt = mean_and_doubt(values)
    assert mean == pytest.approx(5, abs=0.2)
    assert doubt == pytest.approx(1, abs=0.2)


def test_runs_that_ended_before_do_not_count():
    values = np.array([[1.0, 2.0, np.nan], [3.0, 4.0, np.nan]])
    assert mean_and_doubt(values) == mean_and_doubt(values[:, :2])


def test_doubt_does_not_vanish_by_chance_at_a_larger_budget():
    random = np.random.default_rng(6)
    values = random.lognormal(0, 0.5, (20, 1, 2)) * random.lognormal(0, 0.1, (20, 10, 2))
    values[:, :, 1] = random.lognormal(0, 0.1, (20, 10))
    (first, doubt), (second, later) = sizes(values)
    assert later / second == pytest.approx(doubt / first)
    assert later > 5 * mean_and_doubt(values[:, :, 1])[1]
    assert sizes(values)[0][1] < mean_and_doubt(values[:, :, 0])[1]  # the two are pooled


def test_one_run_is_enough_for_a_figure():
    assert mean_and_doubt(np.array([[3.0]])) == (3.0, 0.0)


def test_a_band_surrounds_its_mean_and_says_something():
    for doubt in (0.01, 0.3, 1.0, 30.0):
        low, high = band_of_size(1.0, doubt)
        assert 0 < low < 1 < high
        assert high / low <= 6 + 1e-9
    assert band_of_size(0.0, 0.0) == (0.0, 0.0)


def test_the_band_of_a_size_has_eight_in_ten_of_a_lognormal_quantity():
    sizes = np.random.default_rng(3).lognormal(0, 0.4, 100_000)
    low, high = band_of_size(sizes.mean(), sizes.std())
    assert np.mean((low <= sizes) & (sizes <= high)) == pytest.approx(0.8, abs=0.01)


def test_a_chance_stays_one():
    assert band_of_chance(0.5, 10.0) == (0.0, 1.0)
    assert band_of_chance(0.5, 0.1) == pytest.approx((0.37, 0.63), abs=0.01)


def test_what_should_rise_is_made_to():
    values = np.random.default_rng(4).random(50)
    found = rising(values)
    assert (np.diff(found) >= 0).all()
    assert found.mean() == pytest.approx(values.mean())
    assert rising(found).tolist() == pytest.approx(found.tolist())
