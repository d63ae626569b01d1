"""The family of shapes: standardised, of the skew that it is named by, and monotone."""

import math

import numpy as np
import pytest

from boxthirding.planning.shapes import PLAUSIBLE, Shape, bent, good_above_ordinary, nodes

Z = np.random.default_rng(1).standard_normal(200_000)


@pytest.mark.parametrize("shape", PLAUSIBLE)
def test_a_shape_has_mean_0_deviation_1_and_its_skew(shape):
    values = bent(Z, shape)
    assert values.mean() == pytest.approx(0, abs=0.01)
    assert values.std() == pytest.approx(1, abs=0.01)
    if math.isinf(shape.crowd):
        assert (values**3).mean() == pytest.approx(shape.skew, abs=0.1)


@pytest.mark.parametrize("shape", PLAUSIBLE)
def test_a_shape_keeps_the_order_of_its_arms(shape):
    z = np.linspace(-2.5, 5, 100)
    assert (np.diff(bent(z, shape)) >= 0).all()


def test_the_more_skewed_the_further_the_best_stand_out():
    tops = [float(bent(np.array([3.5]), shape)[0]) for shape in sorted(PLAUSIBLE) if shape == Shape(shape.skew)]
    assert tops == sorted(tops)
    assert tops[0] < 2.5
    assert tops[-1] > 5


def test_in_a_crowd_the_best_are_close_together_and_the_others_about_where_they_were():
    z = np.array([-1.0, 0.0, 1.0, 3.0, 3.5])
    alone, late, early = (bent(z, Shape(1.5, crowd)) for crowd in (math.inf, 2.0, 1.0))
    assert late[:3] == pytest.approx(alone[:3], abs=0.1)
    assert early[:3] == pytest.approx(alone[:3], abs=0.2)
    assert late[4] - late[3] < 0.5 * (alone[4] - alone[3])
    assert early[4] - early[3] < 0.5 * (late[4] - late[3])


def test_each_beginning_of_a_crowd_is_as_plausible_as_the_others():
    for skew in (0.5, 1.0, 1.5):
        found = {shape.crowd: weight for shape, weight in PLAUSIBLE.items() if shape.skew == skew and not shape.power}
        assert found.keys() == {math.inf, 2.0, 1.0}
        assert len(set(found.values())) == 1


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_means_below_an_end_are_as_far_from_it_as_a_power_of_the_share_of_better_arms(power):
    (shape,) = (shape for shape in PLAUSIBLE if shape.power == power)
    values = np.sort(bent(Z, shape))[::-1]
    end = bent(np.array([8.0]), shape)[0]
    tenth, half = end - values[[20_000, 100_000]]
    assert tenth / half == pytest.approx(0.2**power, rel=0.05)


def test_a_good_arm_of_a_normal_shape_is_128_hundredths_above_an_ordinary_one():
    assert good_above_ordinary(Shape(0.0)) == pytest.approx(1.2816, abs=0.001)


def test_sums_over_nodes_are_normal_integrals():
    z, weights = nodes()
    assert [float(weights @ z**k) for k in (0, 1, 2, 4)] == pytest.approx([1, 0, 1, 3], abs=0.01)
