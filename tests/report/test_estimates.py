import math

import numpy as np
import pytest

from boxthirding.report.reproduction.estimates import CLEARLY, Estimate


def test_a_mean_has_the_standard_error_of_its_values():
    found = Estimate.of(np.array([1.0, 2.0, 3.0, 4.0]))
    assert found.value == 2.5
    assert found.error == pytest.approx(math.sqrt(5 / 3) / 2)
    assert Estimate.of(np.array([7.0])) == Estimate(7.0, 0.0)


def test_a_share_of_none_is_not_taken_for_certain():
    found = Estimate.share(0, 100)
    assert found.value == 0
    assert 0.005 < found.error < 0.015
    assert Estimate.share(50, 100).error == pytest.approx(0.05, rel=0.01)


def test_two_estimates_differ_clearly_beyond_three_combined_standard_errors():
    low = Estimate(0.0, 0.3)
    assert not Estimate(CLEARLY * 0.5 - 1e-9, 0.4).clearly_above(low)
    assert Estimate(CLEARLY * 0.5 + 1e-9, 0.4).clearly_above(low)
    assert not low.clearly_above(Estimate(9.0, 0.4))


def test_exact_numbers_are_equal_or_infinitely_far_apart():
    assert Estimate(1.0).apart(Estimate(1.0)) == 0
    assert Estimate(1.0).apart(Estimate(2.0)) == -math.inf


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.04901, 0.00042), "0.0490 ± 0.0004"),
        (Estimate(0.0), "0"),
        (Estimate(5.7999), "5.8"),
        (Estimate(31_992), "31,992"),
    ],
)
def test_a_number_is_written_as_a_reader_wants_it(estimate, text):
    assert str(estimate) == text
