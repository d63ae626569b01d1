"""The bounds on Sequential Halving: by hand, against exact probabilities, and against simulation."""

import math

import numpy as np
import pytest

from boxthirding import simulate
from boxthirding.errors import InvalidInput
from boxthirding.lab import Gaussian, Instance
from boxthirding.lab.theory.bounds import (
    comparison_bound,
    growth_objective,
    halving_bound,
    halving_constant,
    halving_effort,
    level_shares,
    logarithmic_halving_bound,
    round_bound,
    summed_halving_bound,
)
from boxthirding.policies import SequentialHalving
from boxthirding.schedules import GEOMETRIC_GROWTH, LINEAR_GROWTH


@pytest.mark.parametrize("gap", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("pulls", [1, 5, 20])
@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_comparisons_of_gaussian_means(gap, pulls, sigma):
    exact = math.erfc(gap * math.sqrt(pulls) / (2 * sigma)) / 2  # the difference has variance 2σ²/n
    assert exact <= comparison_bound(gap, pulls, sigma=sigma)


def test_without_the_factor_4_the_chernoff_bound_is_false():
    gap, pulls = 1.0, 20
    assert math.exp(-(gap**2) * pulls) < math.erfc(gap * math.sqrt(pulls) / 2) / 2 < comparison_bound(gap, pulls)


def test_a_round_against_simulation():
    draw = np.random.default_rng(3)
    eps, pulls, arms = 0.9, 40, 8
    means = draw.normal(0, pulls**-0.5, (4_000, arms))
    means[:, 0] += eps  # the best arm, all others ε worse
    lost = np.mean((means[:, 1:] > means[:, :1]).sum(axis=1) >= arms / 2)
    assert lost <= round_bound(eps, pulls) < 0.1
    assert round_bound(0.45, 4 * pulls) == pytest.approx(round_bound(eps, pulls))  # ε² counts; the statement lacks it


def test_constants_by_hand():
    assert halving_constant(1.44) == pytest.approx((1 / 6) ** 4 / 8)
    assert halving_constant(1.44, "linear") == pytest.approx((1 / 6) ** 2 / 8)
    assert halving_bound(0.8, 100, growth=1.44, sigma=0.01) == pytest.approx(
        3 * (1 + (64 * 100**2 / 1296 / 8) ** -0.5) * math.exp(-64 * 100**2 / 1296 / 8)
    )
    assert halving_bound(0.01, 1) == 1.0


@pytest.mark.parametrize("schedule", ["geometric", "linear"])
def test_the_optimal_growth_maximises_the_exponent(schedule):
    best = GEOMETRIC_GROWTH if schedule == "geometric" else LINEAR_GROWTH
    grid = np.linspace(1.01, 1.99, 981)
    assert max(grid, key=lambda r: growth_objective(r, schedule)) == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("schedule", ["geometric", "linear", "polynomial"])
@pytest.mark.parametrize("eta", [0.5, 2.0])
def test_shares_sum_to_one_at_the_most(schedule, eta):
    total = sum(level_shares(3_000, schedule=schedule, eta=eta))
    assert total <= 1 + 1e-12
    assert total == pytest.approx(1, abs=1e-9 if schedule != "polynomial" else 0.4)


def test_the_polynomial_shares_divide_by_zeta():
    assert level_shares(2, schedule="polynomial", eta=3.0) == pytest.approx([6 / math.pi**2, 6 / math.pi**2 / 4])


@pytest.mark.parametrize("schedule", ["geometric", "linear"])
def test_the_closed_form_is_above_the_sum_it_comes_from(schedule):
    r = GEOMETRIC_GROWTH if schedule == "geometric" else LINEAR_GROWTH
    for effort in (100, 1_000, 4_000, 20_000):
        pulls = [math.ceil(effort * r**level * (level + 1 if schedule == "linear" else 1)) for level in range(12)]
        summed = summed_halving_bound(0.9, pulls, level_shares(12, schedule=schedule))
        assert summed <= halving_bound(0.9, effort, schedule=schedule) + 1e-15


@pytest.mark.parametrize("growth", [1.4, 1.7, 2.0])
@pytest.mark.parametrize("n_arms", [8, 64])
def test_the_effort_fits_its_budget(growth, n_arms):
    budget = 40 * n_arms
    effort = halving_effort(n_arms, budget, growth=growth)
    levels = range(n_arms.bit_length())
    assert effort > 0
    assert sum(n_arms / 2**level * math.ceil(effort * growth**level) for level in levels) <= budget


def test_the_effort_of_the_linear_schedule_fits_too():
    effort = halving_effort(64, 6_400, growth=1.4, schedule="linear")
    assert effort == pytest.approx(100 * 0.3**2 - 2)
    assert sum(64 / 2**level * math.ceil(effort * (level + 1) * 1.4**level) for level in range(7)) <= 6_400


def test_at_growth_2_the_effort_loses_a_logarithm():
    assert halving_effort(2**10, 2**20, growth=2) == pytest.approx((2**10 - 2) / 11)
    assert halving_effort(2**10, 2**20, growth=1.9) == pytest.approx(2**10 * 0.05 - 2)


def test_the_older_bound_grows_with_the_arms_at_the_same_pulls_by_arm_and_round():
    bounds = [logarithmic_halving_bound(2**k, 2**k * k * 200, 0.5) for k in (4, 8, 16)]
    assert bounds == sorted(bounds)
    assert bounds[1] == pytest.approx(3 * 8 * math.exp(-0.25 * 200 / 8))


@pytest.mark.parametrize("n_arms", [4, 8, 16])
def test_sequential_halving_against_simulation(n_arms):
    eps, sigma = 0.2, 0.12
    policy = SequentialHalving(60 * n_arms, mode="fit")
    instance = Instance("steps", np.concatenate([[1.0], np.full(n_arms - 1, 0.79)]))
    run = simulate(instance, Gaussian(sigma), policy, budget=60 * n_arms, replicates=300, seed=1, compiled=False)
    wrong = float(np.mean(run.regret[:, -1] > eps))
    pulls = policy.plan(n_arms)
    shares = [1 / len(pulls)] * len(pulls)
    assert wrong <= summed_halving_bound(eps, pulls, shares, sigma=sigma)
    assert wrong <= logarithmic_halving_bound(n_arms, 60 * n_arms, eps, sigma=sigma)
    assert wrong <= halving_bound(eps, pulls[0] - 1, sigma=sigma)


def test_the_bound_is_not_empty_and_holds_where_it_says_something():
    policy = SequentialHalving(30_000, mode="paper")
    effort = policy.plan(8)[0]
    bound = halving_bound(0.9, effort, sigma=0.3)
    assert 0.01 < bound < 0.2
    instance = Instance("steps", [1.0, *[0.05] * 7])
    run = simulate(instance, Gaussian(0.3), policy, budget=30_000, replicates=100, seed=2, compiled=False)
    assert np.mean(run.regret[:, -1] > 0.9) <= bound


def test_more_of_everything_helps():
    bounds = [halving_bound(0.5, effort, sigma=0.1) for effort in range(1, 2_000, 50)]
    assert bounds == sorted(bounds, reverse=True)
    bounds = [halving_bound(eps / 100, 500, sigma=0.1) for eps in range(1, 100)]
    assert bounds == sorted(bounds, reverse=True)
    bounds = [logarithmic_halving_bound(64, budget, 0.5, sigma=0.5) for budget in range(1, 10**5, 999)]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: round_bound(1.0, 5), r"eps is 1.0, but must lie in \(0, 1\)"),
        (lambda: round_bound(0.5, 0), "pulls is 0, but must be at least 1"),
        (lambda: comparison_bound(-1, 5), "gap is -1, but must be a finite number above 0"),
        (lambda: halving_bound(0.5, 5, sigma=0), "sigma is 0, but must be a finite number above 0"),
        (lambda: halving_bound(0.5, 5, schedule="cubic"), "schedule is 'cubic', but must be one of geometric, linear"),
        (lambda: halving_bound(0.5, 5, growth=2.5), r"growth is 2.5, but must lie in \(1, 2\]"),
        (lambda: halving_effort(8, 80, growth=2, schedule="linear"), r"must lie in \(1, 2\) for the schedule linear"),
        (lambda: summed_halving_bound(0.5, [1, 2], [0.5]), "there are 1 shares"),
        (lambda: summed_halving_bound(0.5, [1, 2], [0.5, 0.6]), "sum to at most 1"),
        (lambda: growth_objective(2), r"growth is 2, but must lie in \(1, 2\)"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
