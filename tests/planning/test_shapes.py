"""The family of shapes: standardised, of the skew that it is named by, and monotone."""

import numpy as np
import pytest

from boxthirding.planning.shapes import PLAUSIBLE, bent, good_above_ordinary, nodes

Z = np.random.default_rng(1).standard_normal(200_000)


@pytest.mark.parametrize("skew", PLAUSIBLE)
def test_a_shape_has_mean_0_deviation_1_and_its_skew(skew):
    values = bent(Z, skew)
    assert values.mean() == pytest.approx(0, abs=0.01)
    assert values.std() == pytest.approx(1, abs=0.01)
    assert (values**3).mean() == pytest.approx(skew, abs=0.1)


@pytest.mark.parametrize("skew", PLAUSIBLE)
def test_a_shape_keeps_the_order_of_its_arms(skew):
    z = np.linspace(-2.5, 5, 100)
    assert (np.diff(bent(z, skew)) >= 0).all()


def test_the_more_skewed_the_further_the_best_stand_out():
    tops = [float(bent(np.array([3.5]), skew)[0]) for skew in sorted(PLAUSIBLE)]
    assert tops == sorted(tops)
    assert tops[0] < 2.5
    assert tops[-1] > 5


def test_a_good_arm_of_a_normal_shape_is_128_hundredths_above_an_ordinary_one():
    assert good_above_ordinary(0.0) == pytest.approx(1.2816, abs=0.001)


def test_sums_over_nodes_are_normal_integrals():
    z, weights = nodes()
    assert [float(weights @ z**k) for k in (0, 1, 2, 4)] == pytest.approx([1, 0, 1, 3], abs=0.01)
