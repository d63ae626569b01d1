"""Growth roots and costs by level."""

import math
from decimal import Decimal, localcontext

import pytest

from boxthirding.errors import InvalidInput
from boxthirding.schedules import GEOMETRIC_GROWTH, LINEAR_GROWTH, Schedule, growth_root


def root(excess):
    """Return the double nearest to a root in (1, 2) of an increasing function, by bisection to fifty digits."""
    with localcontext() as context:
        context.prec = 60
        low, high = Decimal(1), Decimal(2)
        for _ in range(180):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) < 0 else (low, middle)
        return float(low)


def test_the_roots_are_right_to_double_precision():
    # SPEC S1 gives 1.7281632013323829, the double just below the one nearest to the root, 1.72816320133238316.
    assert GEOMETRIC_GROWTH == 1.7281632013323829
    assert root(lambda r: r + r * r.sqrt() - 4) == pytest.approx(GEOMETRIC_GROWTH, rel=0, abs=2**-52)
    assert root(lambda r: 2 * r * r.sqrt() - r - 2) == LINEAR_GROWTH
    assert round(LINEAR_GROWTH, 3) == 1.434


@pytest.mark.parametrize(("kind", "growth"), [("geometric", GEOMETRIC_GROWTH), ("linear", LINEAR_GROWTH)])
def test_the_roots_can_be_computed(kind, growth):
    assert math.isclose(growth_root(kind), growth, rel_tol=4e-16)


@pytest.mark.parametrize(
    ("schedule", "costs"),
    [
        (Schedule(), [1, 2, 3, 6, 9, 16, 27, 47, 80, 138, 238, 411, 710]),
        (Schedule(growth=1.728), [1, 2, 3, 6, 9, 16, 27, 47, 80, 138, 238, 411, 709]),  # a rounded root shows
        (Schedule(growth=1.7), [1, 2, 3, 5, 9, 15, 25, 42]),
        (Schedule(growth=2), [1, 2, 4, 8, 16, 32, 64]),
        (Schedule(growth=1.5, effort=4), [4, 6, 9, 14, 21]),  # whole products stay
        (Schedule(effort=0.1), [1, 1, 1, 1, 1, 2, 3, 5, 8]),
        (Schedule(effort=10), [10, 18, 30, 52]),
        (Schedule("linear"), [1, 3, 7, 12, 22, 37]),  # 1, 2.87, 6.17, 11.79, 21.13, 36.36
        (Schedule("linear", growth=2), [1, 4, 12, 32]),
        (Schedule((1, 4, 9)), [1, 4, 9, 16, 27]),  # goes on by the growth: 15.55, 26.88
        (Schedule((1, 4, 9), growth=2), [1, 4, 9, 18, 36]),
        (Schedule((1.5, 2.5), growth=2, effort=2), [3, 5, 10, 20]),
        (Schedule([0.2], growth=2), [1, 1, 1, 2, 4]),
    ],
)
def test_costs_by_level(schedule, costs):
    assert schedule.costs(len(costs)).tolist() == costs
    assert [schedule.cost(level) for level in range(len(costs))] == costs


def test_a_product_that_is_whole_but_for_rounding_stays_whole():
    assert 100.0 * 1.1 > 110
    assert Schedule((100.0,), effort=1.1).cost(0) == 110


def test_costs_far_beyond_any_budget_stay_integers():
    costs = Schedule(growth=2, effort=1e9).costs(64).tolist()
    assert costs == sorted(costs)
    assert costs[-1] == 2**53


def test_levels_far_beyond_any_run_have_a_cost():
    assert Schedule(effort=1e-300).cost(5_000) == 2**53


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "cubic"}, ["'cubic'", "geometric, linear"]),
        ({"kind": ()}, ["empty"]),
        ({"kind": (1, 0)}, ["0", "level 1", "above 0"]),
        ({"kind": (1, math.inf)}, ["inf", "level 1"]),
        ({"kind": (1, math.nan)}, ["nan", "level 1"]),
        ({"kind": (1, "2")}, ["'2'", "level 1"]),
        ({"kind": (True,)}, ["True", "level 0"]),
        ({"growth": 1}, ["growth is 1", "(1, 2]"]),
        ({"growth": 2.0000001}, ["2.0000001", "(1, 2]"]),
        ({"growth": math.nan}, ["nan", "(1, 2]"]),
        ({"growth": "2"}, ["growth is 2", "(1, 2]"]),
        ({"growth": True}, ["True", "(1, 2]"]),
        ({"effort": 0}, ["effort is 0", "above 0"]),
        ({"effort": -1.0}, ["-1.0", "above 0"]),
        ({"effort": math.inf}, ["inf", "finite"]),
        ({"effort": math.nan}, ["nan", "finite"]),
        ({"effort": None}, ["None", "finite"]),
    ],
)
def test_a_wrong_schedule_is_refused_with_the_value_and_the_rule(arguments, words):
    with pytest.raises(InvalidInput) as refused:
        Schedule(**arguments)
    assert [word for word in words if word not in str(refused.value)] == []
