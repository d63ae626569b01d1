"""Checks of the real numbers that the statements speak of, each with an error that gives the value and the rule."""

import math

from boxthirding._checks import is_number
from boxthirding.errors import InvalidInput


def fraction(name: str, value: float) -> float:
    """Return a number strictly between 0 and 1, or refuse it by name."""
    if not (is_number(value) and 0 < value < 1):
        raise InvalidInput(f"{name} is {value!r}, but must lie in (0, 1)")
    return float(value)


def positive(name: str, value: float) -> float:
    """Return a finite number above 0, or refuse it by name."""
    if not (is_number(value) and 0 < value < math.inf):
        raise InvalidInput(f"{name} is {value!r}, but must be a finite number above 0")
    return float(value)


def growth_below_2(value: float) -> float:
    """Return a growth in (1, 2), or refuse it: at 2 the budget of n arms is no longer of the order of n."""
    if not (is_number(value) and 1 < value < 2):  # noqa: PLR2004  # the rule itself
        raise InvalidInput(f"growth is {value!r}, but must lie in (1, 2)")
    return float(value)


def capped(chance: float) -> float:
    """Return a bound on a probability, 1 where it says nothing."""
    return min(1.0, chance)
