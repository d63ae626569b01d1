"""Probabilities, against counting and exact fractions."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding.errors import InvalidInput
from boxthirding.theory import non_inclusion

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
