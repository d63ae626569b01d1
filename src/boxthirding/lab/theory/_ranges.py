"""The real numbers that the statements speak of: checks, each with an error that gives the value and the rule.

Exponents are worked out exactly and rounded once, so that no square on the way is 0 or too large for a float.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from boxthirding._checks import is_finite, is_number
from boxthirding.errors import InvalidInput


def fraction(name: str, value: float) -> float:
    """Return a number strictly between 0 and 1, or refuse it by name."""
    if not (is_number(value) and 0 < value < 1):
        raise InvalidInput(f"{name} is {value!r}, but must lie in (0, 1)")
    return float(value)


def positive(name: str, value: float) -> float:
    """Return a finite number above 0, or refuse it by name."""
    if not (is_finite(value) and value > 0):
        raise InvalidInput(f"{name} is {value!r}, but must be a finite number above 0")
    return float(value)


def growth_below_2(value: float) -> float:
    """Return a growth in (1, 2), or refuse it: at 2 the budget of n arms is no longer of the order of n."""
    if not (is_number(value) and 1 < value < 2):  # noqa: PLR2004  # the rule itself
        raise InvalidInput(f"growth is {value!r}, but must lie in (1, 2)")
    return float(value)


def several(name: str, values: Iterable[Any]) -> list[Any]:
    """Return values as a list, or refuse by name what is not several."""
    try:
        return list(values)
    except TypeError:
        raise InvalidInput(f"{name} is {values!r}, but must be a sequence of numbers") from None


def signal(gap: float, sigma: float) -> Fraction:
    """Return (gap / σ)², exactly."""
    return (Fraction(gap) / Fraction(sigma)) ** 2


def nearest(value: Fraction) -> float:
    """Return the nearest float, ∞ beyond the largest."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def decay(exponent: Fraction) -> float:
    """Return exp(-x)."""
    return math.exp(-nearest(exponent))


def capped(chance: float) -> float:
    """Return a bound on a probability, 1 where it says nothing."""
    return min(1.0, chance)
