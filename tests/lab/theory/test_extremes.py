"""Arguments of any size and kind: what can be said is said, the rest is refused by name, and nothing else is raised."""

import inspect
import math

import numpy as np
import pytest
from theory_functions import FUNCTIONS

from boxthirding import BoxThirding, Uniform
from boxthirding.errors import InvalidInput
from boxthirding.lab.theory import bounds, complexity, sizes
from boxthirding.lab.theory.candidate_sets import CandidateSet

USUAL = {
    "alpha": 0.7,
    "arms": 30,
    "block": 3,
    "budget": 50,
    "candidates": 20,
    "checkpoints": [5],
    "constant": 1.0,
    "delta": 0.1,
    "effort": 1.0,
    "eps": 0.2,
    "eta": 1.0,
    "gap": 0.2,
    "good": 5,
    "growth": 1.5,
    "h2": 10.0,
    "levels": 4,
    "means": [0.9, 0.5, 0.1],
    "n_arms": 100,
    "policy": BoxThirding(),
    "pulls": 50,
    "schedule": "geometric",
    "shares": [0.5, 0.5],
    "sigma": 1.0,
    "values": [1.0, 2.0],
}
WHOLE = {"arms", "block", "budget", "candidates", "good", "levels", "n_arms", "pulls"}
REAL = {"alpha", "constant", "delta", "effort", "eps", "eta", "gap", "growth", "h2", "sigma"}
SEVERAL = {"checkpoints", "means", "shares", "values"}
SIZES = [5e-324, 1e-320, 1e-200, 1e-160, 0.5, 1.5, 1e100, 1e155, 1e300, 1.7e308, 2**53]
NOTHING = ["x", None, True, [], math.nan, 10**400]


def functions():
    """Yield each function of the theory with arguments that it takes."""
    for name, function in FUNCTIONS.items():
        usual = {key: USUAL[key] for key in inspect.signature(function).parameters}
        if name == "combined_order":
            usual["policy"] = "bsh"
        if name == "summed_halving_bound":
            usual["pulls"] = [3, 4]
        yield pytest.param(function, usual, id=name)


def numbers(answer):
    """Everything that an answer consists of, as floats."""
    parts = answer if isinstance(answer, list) else [answer]
    return np.ravel([part.size if isinstance(part, CandidateSet) else part for part in parts]).astype(float)


@pytest.mark.parametrize(("function", "usual"), list(functions()))
def test_reals_of_every_size_give_an_answer_or_are_out_of_range(function, usual):
    for name in REAL & usual.keys():
        for size in SIZES:
            for other in REAL & usual.keys() - {name}:
                for beside in (usual[other], 1e-200, 1e300):
                    try:
                        answer = function(**usual | {name: size, other: beside})
                    except InvalidInput:
                        continue
                    assert not np.isnan(numbers(answer)).any()


@pytest.mark.parametrize(("function", "usual"), list(functions()))
def test_what_is_no_number_is_refused_by_name(function, usual):
    taken = {"growth": None, "checkpoints": []}  # None is the default, and no checkpoint has no answer
    for name in (WHOLE | REAL | SEVERAL) & usual.keys():
        for value in NOTHING:
            if name in taken and value == taken[name]:
                continue
            with pytest.raises(InvalidInput):
                function(**usual | {name: value})


@pytest.mark.parametrize(("function", "usual"), list(functions()))
def test_whole_numbers_of_numpy_are_taken(function, usual):
    integers = {name: np.int64(usual[name]) for name in WHOLE & usual.keys() if isinstance(usual[name], int)}
    assert np.array_equal(numbers(function(**usual | integers)), numbers(function(**usual)))


@pytest.mark.parametrize("schedule", ["geometric", "linear", "polynomial"])
def test_eta_is_checked_whatever_the_schedule(schedule):
    for eta in (0, -1.0, math.nan, math.inf, "x", None):
        with pytest.raises(InvalidInput, match="eta is"):
            bounds.level_shares(3, schedule=schedule, eta=eta)


def test_shares_that_need_no_growth_have_limits():
    assert bounds.level_shares(3, schedule="polynomial", eta=5e-324) == [0.0, 0.0, 0.0]  # ζ(1) is infinite
    assert bounds.level_shares(3, schedule="polynomial", eta=1e300) == [1.0, 0.0, 0.0]
    assert bounds.level_shares(1, schedule="polynomial", eta=3.0) == [pytest.approx(6 / math.pi**2)]  # ζ(2) = π²/6


@pytest.mark.parametrize("shares", [[math.nan, 0.5], [-0.1, 0.5], [0.6, 0.5], ["x", 0.5], [True, 0.0], [10**400, 0]])
def test_shares_must_be_parts_of_a_whole(shares):
    with pytest.raises(InvalidInput, match=r"the shares are .*, but must be numbers, none negative"):
        bounds.summed_halving_bound(0.5, [3, 4], shares)


@pytest.mark.parametrize("means", [["0.5", "0.1"], [["a"]], [[1.0], [1.0, 2.0]], [True, False], [1j], [10**400, 0]])
def test_means_must_be_numbers(means):
    for function in (
        complexity.complexity_h1,
        complexity.complexity_h2,
        lambda means: complexity.good_arms(means, 0.1),
    ):
        with pytest.raises(InvalidInput, match="the means must be finite numbers"):
            function(means)


@pytest.mark.parametrize("policy", ["b3", None, 3, Uniform()])
def test_the_bound_on_box_thirding_is_on_box_thirding(policy):
    with pytest.raises(InvalidInput, match="the statement needs b3"):
        bounds.box_thirding_bound(policy, 100, 50, 5, 0.2)


def all_bounds(eps, sigma):
    """Every bound that depends on ε and σ, where an arm is good and all could be returned."""
    return {
        "comparison": bounds.comparison_bound(eps, 10, sigma=sigma),
        "round": bounds.round_bound(eps, 10, sigma=sigma),
        "halving": bounds.halving_bound(eps, 10.0, sigma=sigma),
        "logarithmic": bounds.logarithmic_halving_bound(10, 1_000, eps, sigma=sigma),
        "summed": bounds.summed_halving_bound(eps, [10, 20], [0.5, 0.5], sigma=sigma),
        "uniform": bounds.uniform_bound(10, 1_000, 1, eps, sigma=sigma),
        "brackets": bounds.bracketing_bound(2, 31, 1, eps, sigma=sigma),
        "boxes": bounds.box_thirding_bound(BoxThirding(), 10, 1_000, 10, eps, sigma=sigma),
    }


@pytest.mark.parametrize("sigma", [1e-155, 1e-200, 1e-320])
def test_without_noise_no_bound_is_left(sigma):
    assert set(all_bounds(0.5, sigma).values()) == {0.0}


@pytest.mark.parametrize(("eps", "sigma"), [(1e-155, 1.0), (1e-200, 1.0), (1e-320, 1e300), (0.5, 1e300)])
def test_in_nothing_but_noise_every_bound_is_1(eps, sigma):
    assert set(all_bounds(eps, sigma).values()) == {1.0}


def test_only_the_ratio_of_gap_and_noise_counts_however_small_they_are():
    told = set()
    for sigma in (0.5, 0.25, 2.0**-5, 2.0**-9):
        usual = all_bounds(0.5, sigma)
        assert all_bounds(0.5 * 2.0**-900, sigma * 2.0**-900) == usual
        told |= {name for name, bound in usual.items() if 0 < bound < 1}
    assert told == usual.keys()


def test_effort_and_noise_make_up_for_each_other():
    assert bounds.halving_bound(0.5, 2.0**-1000, sigma=2.0**-510) == bounds.halving_bound(0.5, 1.0, sigma=2.0**-10)
    tiny = BoxThirding(effort=2.0**-1000)
    assert bounds.box_thirding_bound(tiny, 10, 1_000, 10, 0.5, sigma=2.0**-509) == bounds.box_thirding_bound(
        BoxThirding(), 10, 1_000, 10, 0.5, sigma=2.0**-9
    )


def test_a_constant_may_be_of_any_size():
    assert bounds.combined_order("b3", 10, 1_000, 1, 2.0**-500, constant=2.0**1000) == bounds.combined_order(
        "b3", 10, 1_000, 1, 0.5, constant=4.0
    )
    assert bounds.combined_order("us", 10, 1_000, 1, 1e-200, constant=1.0) == 1.0
    assert bounds.combined_order("us", 10, 1_000, 1, 0.5, constant=1e308) == 0.0
    assert complexity.lower_bound(1e-320, 2, 10) == 0.0
    assert complexity.lower_bound(1e300, 2, 10, constant=1e299) == pytest.approx(math.exp(-1))
    assert complexity.lower_bound(math.inf, 2, 10, constant=1e308) == 1.0


def test_complexities_beyond_floats_are_infinite():
    assert complexity.sample_complexity(100, 5, 1e-200, 0.1) == math.inf
    assert complexity.sample_complexity(100, 5, 1e-200, 0.1, constant=1e300) == pytest.approx(math.log(20) * 1e102)
    assert complexity.sample_complexity(100, 5, 0.1, 1e-320) == pytest.approx(1e4 * (math.log(2) + 320 * math.log(10)))
    assert complexity.complexity_h1([1e-200, 0.0]) == complexity.complexity_h2([1e-200, 0.0]) == math.inf
    assert complexity.complexity_h1([1e308, -1e308]) == complexity.complexity_h2([1e308, -1e308]) == 0.0
    assert sizes.candidate_bounds(500, effort=1e-320) == (math.inf, math.inf)
    low, high = sizes.candidate_bounds(500, effort=1e-300)
    assert low <= high < 1e303


def test_regret_is_found_by_logarithms():
    # Γ(171) 100^-170 is of the order 1e-33, while 100^-170 is no float
    assert complexity.regret_bound(1, 100, 170).screening == pytest.approx(math.factorial(170) / 100**170)
    assert complexity.regret_bound(1, 100, 1e300).screening == math.inf
    assert complexity.regret_bound(1, 100, 1.7e308).screening == math.inf
    assert complexity.regret_bound(1, 2**53, 1e300, constant=1e300).screening == 0.0
    assert complexity.regret_bound(1, 1, 2.0, constant=1e-200).screening == math.inf
    assert complexity.regret_bound(2**53, 1, 2.0, constant=5e-324).estimation == pytest.approx(
        math.sqrt(math.pi * 2**53) / math.sqrt(5e-324) / 2
    )


def test_a_remedian_is_of_finite_numbers():
    assert sizes.remedian(np.array([3.0, 1.0, 2.0])) == 2.0
    for value in (math.inf, -math.inf, 10**400, True):
        with pytest.raises(InvalidInput, match="but must be a finite number"):
            sizes.remedian([1.0, value])
