"""Complexities of instances, power-law gaps, regret and sample complexity, and the remedian."""

import math
from statistics import median

import numpy as np
import pytest

from boxthirding.errors import InvalidInput
from boxthirding.lab import equal, poly, square
from boxthirding.lab.theory.complexity import (
    CRITICAL_ALPHA,
    complexity_h1,
    complexity_h2,
    critical_budget,
    good_arms,
    lower_bound,
    power_gaps,
    power_good_arms,
    regret_bound,
    regret_order,
    sample_complexity,
)
from boxthirding.lab.theory.sizes import remedian


@pytest.mark.parametrize(("instance", "power", "alpha"), [(poly, 1, 0.5), (equal, 2, 1.0), (square, 4, 2.0)])
def test_the_papers_instances(instance, power, alpha):
    means = instance(5_513).means
    assert complexity_h2(means) == pytest.approx(2 * 5_513**power / 9, rel=1e-6)  # the paper's column is wrong
    assert complexity_h1(means) > complexity_h2(means)
    for eps in (0.1, 0.2):
        assert good_arms(means, eps) == math.ceil(5_513 * (eps / 3) ** (1 / alpha))


def test_complexities_by_hand():
    assert complexity_h1([0.25, 0.75, 0.5]) == 16 + 16 + 4
    assert complexity_h2([0.25, 0.75, 0.5]) == max(2 * 16, 3 * 4)
    assert complexity_h1([1.0, 1.0, 0.0]) == complexity_h2([1.0, 1.0, 0.0]) == math.inf
    assert complexity_h1([1.0]) == complexity_h2([1.0]) == 0.0


def test_h2_and_h1_agree_but_for_a_logarithm():
    means = np.random.default_rng(0).random(300)
    h1, h2 = complexity_h1(means), complexity_h2(means)
    assert h2 <= h1 <= (1 + math.log(2 * 300)) * h2


def test_a_gap_of_epsilon_is_not_below_it():
    assert good_arms([0.9, 0.8, 0.7], 0.1) == 1  # 0.9 - 0.8 is below 0.1 in floating point
    assert good_arms([0.9, 0.81, 0.8, 0.7], 0.2) == 3


def test_the_lower_bound_by_hand():
    assert lower_bound(100.0, 1_024, 2_000) == pytest.approx(math.exp(-2))
    assert lower_bound(100.0, 1_024, 2_000, constant=3) == pytest.approx(math.exp(-6))
    assert lower_bound(math.inf, 4, 10**9) == 1.0
    assert lower_bound(5.0, 2, 0) == 1.0


@pytest.mark.parametrize("alpha", [0.25, 0.5, 1.0, 2.0])
def test_power_gaps_have_the_good_arms_that_their_formula_says(alpha):
    gaps = power_gaps(400, alpha)
    assert (gaps[0], len(gaps)) == (0.0, 400)
    for eps in (0.03, 0.1, 0.33, 0.9):
        assert power_good_arms(400, alpha, eps) == good_arms(-gaps, eps)


@pytest.mark.parametrize("alpha", [0.25, 0.5, 1.0, 2.0])
def test_regret_is_the_integral_of_the_error(alpha):
    n_arms, pulls = 30, 100
    step = 1e-5
    eps = np.arange(step / 2, 10, step)
    found = regret_bound(n_arms, pulls, alpha)
    assert found.screening == pytest.approx(np.exp(-pulls * eps ** (1 / alpha)).sum() * step, rel=0.01)
    assert found.estimation == pytest.approx(np.exp(-pulls * eps**2 / n_arms).sum() * step, rel=0.01)
    assert found.total == found.screening + found.estimation
    assert regret_order(n_arms, pulls, alpha) == max(pulls**-alpha, math.sqrt(n_arms / pulls))


@pytest.mark.parametrize(("alpha", "turns"), [(0.2, True), (0.45, True), (CRITICAL_ALPHA, False), (1.0, False)])
def test_one_half_is_critical(alpha, turns):
    # remark D.2 has it the other way round: from one half on the term that depends on α is never the larger one
    turn = critical_budget(100, alpha)
    assert math.isfinite(turn) == turns
    for pulls in (10, 10**3, 10**9, 10**15):
        assert (pulls**-alpha > math.sqrt(100 / pulls)) == (pulls > turn)


def test_sample_complexity_makes_both_terms_small():
    n_arms, eps, delta = 100, 0.2, 0.1
    for alpha in (0.25, 0.5, 2.0):
        good = power_good_arms(n_arms, alpha, eps / 2)
        pulls = sample_complexity(n_arms, good, eps, delta)
        assert math.exp(-pulls * good / n_arms) + math.exp(-pulls * eps**2 / n_arms) <= delta + 1e-12
        assert pulls == pytest.approx(n_arms / eps**2 * math.log(20))  # the other term is never the larger one
    assert sample_complexity(n_arms, 1, eps, 0.01) > sample_complexity(n_arms, 1, eps, 0.1)
    assert sample_complexity(n_arms, 1, eps, 0.1, constant=2) == sample_complexity(n_arms, 1, eps, 0.1) / 2


def test_the_remedian_of_the_papers_blocks():
    blocks = [(1.4, 2.8, 3.9), (5.3, 4.1, 8.8), (6.1, 0.7, 4.8)]
    assert [median(block) for block in blocks] == [2.8, 5.3, 4.8]
    assert remedian([value for block in blocks for value in block]) == 4.8


def test_the_remedian_is_near_the_median_and_need_not_be_it():
    assert remedian([1, 2, 9, 3, 4, 8, 5, 6, 7]) == 4
    assert remedian([7.0]) == 7.0
    assert remedian([1, 2, 3, 10]) == 6.0  # the last block holds what is left
    assert remedian([5, 1, 4, 2, 3], block=5) == 3
    values = np.random.default_rng(1).normal(2, 1, 3**8).tolist()
    assert remedian(values) == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: good_arms([1, 2], 0), r"eps is 0, but must lie in \(0, 1\)"),
        (lambda: good_arms([], 0.1), "the means must be finite numbers"),
        (lambda: complexity_h2([1.0, math.nan]), "the means must be finite numbers"),
        (lambda: lower_bound(0, 5, 5), "h2 is 0, but must be above 0"),
        (lambda: lower_bound(1.0, 1, 5), "the number of arms is 1, but must be at least 2"),
        (lambda: power_gaps(5, 0), "alpha is 0, but must be a finite number above 0"),
        (lambda: sample_complexity(10, 11, 0.1, 0.1), "good is 11, but there are only 10 arms"),
        (lambda: sample_complexity(10, 1, 0.1, 1), r"delta is 1, but must lie in \(0, 1\)"),
        (lambda: remedian([]), "there is no value"),
        (lambda: remedian([1, math.nan]), "a value is nan, but must be a finite number"),
        (lambda: remedian([1, 2], block=1), "block is 1, but must be at least 2"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
