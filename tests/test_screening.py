"""Probabilities, against counting and exact fractions."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding.errors import InvalidInput
from boxthirding.screening import is_data_poor, non_inclusion, non_inclusion_bound

SMALL = [(n_arms, good, size) for n_arms in (1, 4, 6) for good in range(n_arms + 1) for size in range(n_arms + 1)]


@pytest.mark.parametrize(("n_arms", "good", "candidates"), SMALL)
def test_non_inclusion_by_counting_all_sets(n_arms, good, candidates):
    sets = list(itertools.combinations(range(n_arms), candidates))
    missed = sum(all(arm >= good for arm in chosen) for chosen in sets)
    assert non_inclusion(n_arms, good, candidates) == pytest.approx(missed / len(sets), rel=1e-14, abs=0)


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 6_000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(0, n))))
def test_non_inclusion_is_hypergeometric(case):
    n_arms, good, candidates = case
    exact = Fraction(math.comb(n_arms - good, candidates), math.comb(n_arms, candidates))
    assert non_inclusion(n_arms, good, candidates) == pytest.approx(float(exact), rel=1e-11, abs=1e-300)
    assert non_inclusion(n_arms, candidates, good) == non_inclusion(n_arms, good, candidates)


def test_the_boundary_case():
    assert non_inclusion(10, 4, 7) == 0.0
    assert non_inclusion(10, 4, 6) == pytest.approx(1 / math.comb(10, 6))
    assert non_inclusion(10, 0, 10) == 1.0
    assert non_inclusion(10, 10, 0) == 1.0


@pytest.mark.parametrize("wrong", [(0, 0, 0), (5, 6, 1), (5, 1, 6), (5, -1, 1), (5, 1, -1), (5.5, 1, 1), (5, 1.5, 1)])
def test_what_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidInput):
        non_inclusion(*wrong)


@pytest.mark.parametrize(("n_arms", "good", "candidates"), SMALL)
def test_the_bound_bounds_and_is_zero_exactly_where_nothing_can_be_missed(n_arms, good, candidates):
    exact = non_inclusion(n_arms, good, candidates)
    assert exact <= non_inclusion_bound(n_arms, good, candidates) + 1e-15
    assert (non_inclusion_bound(n_arms, good, candidates) == 0) == (good + candidates > n_arms) == (exact == 0)


def test_the_bound_by_hand():
    assert non_inclusion_bound(100, 5, 20) == pytest.approx(math.exp(-1))
    assert non_inclusion_bound(4, 2, 2) == 0.25  # (2/4)²; exactly it is 1/6
    assert non_inclusion(4, 2, 2) == pytest.approx(1 / 6)


def test_more_candidates_and_more_good_arms_miss_less():
    by_size = [non_inclusion_bound(100, 7, size) for size in range(101)]
    by_good = [non_inclusion_bound(100, good, 30) for good in range(101)]
    assert by_size == sorted(by_size, reverse=True)
    assert by_good == sorted(by_good, reverse=True)


def test_data_poor_is_where_all_good_arms_can_be_missed():
    for n_arms, good, size in SMALL:
        assert is_data_poor(n_arms, good, size) == (non_inclusion(n_arms, good, size) > 0)


@pytest.mark.parametrize("wrong", [(10, 11, 1), (10, 1, 11), (10, 1, -1), (0, 0, 0)])
def test_a_data_poor_condition_that_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidInput):
        is_data_poor(*wrong)
