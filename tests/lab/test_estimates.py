import math

import numpy as np
import pytest

from boxthirding.lab.paper.evidence import BY_CHANCE, CLEARLY, Estimate, Share, at_least


def test_a_mean_has_the_standard_error_of_its_values():
    found = Estimate.of(np.array([1.0, 2.0, 3.0, 4.0]))
    assert found.value == 2.5
    assert found.error == pytest.approx(math.sqrt(5 / 3) / 2)
    assert Estimate.of(np.array([7.0])) == Estimate(7.0, 0.0)


def test_a_share_of_none_is_not_taken_for_certain():
    found = Share(0, 100).estimate
    assert found.value == 0
    assert 0.005 < found.error < 0.015
    assert Share(50, 100).estimate.error == pytest.approx(0.05, rel=0.01)


def test_the_tail_of_a_binomial_law_is_that_of_a_slow_sum():
    for hits, of, chance in ((0, 5, 0.3), (3, 10, 0.2), (10, 10, 0.9), (40, 1_000, 0.02), (1, 1_000, 1e-6)):
        slow = sum(math.comb(of, k) * chance**k * (1 - chance) ** (of - k) for k in range(hits, of + 1))
        assert at_least(hits, of, chance) == pytest.approx(slow, rel=1e-9)


@pytest.mark.parametrize(
    ("hits", "of", "bound", "above"),
    [
        (5, 100, 5.5e-12, True),  # whatever the error of five of a hundred
        (1, 1_000, 5.5e-12, True),
        (1, 1_000, 1e-5, False),  # one in a hundred times
        (0, 100, 0.0, False),
        (1, 100, 0.0, True),
        (100, 100, 1.0, False),
        (65, 100, 0.5, False),
        (66, 100, 0.5, True),  # 3.2 standard errors
    ],
)
def test_a_share_is_clearly_above_a_bound_that_hardly_ever_gives_as_many(hits, of, bound, above):
    assert Share(hits, of).clearly_above(bound) is above
    assert Share(of - hits, of).clearly_below(1 - bound) is above


def test_a_share_beyond_a_bound_by_chance_is_rare():
    runs = np.random.default_rng(1).binomial(200, 0.1, 20_000)
    seen = sum(Share(int(hits), 200).clearly_above(0.1) for hits in range(201) for _ in range((runs == hits).sum()))
    assert seen / 20_000 < BY_CHANCE + 4 * math.sqrt(BY_CHANCE / 20_000)


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
