"""Checks of the numbers in the statements, and exact exponents.

Exponents are computed as fractions and rounded once, so that no square underflows or overflows on the way.
"""

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from boxthirding._checks import is_number
from boxthirding.errors import InvalidInput


def growth_below_2(value: float) -> float:
    """Return a growth in (1, 2), or raise: at 2 the budget of n arms is no longer of the order of n."""
    if not (is_number(value) and 1 < value < 2):  # noqa: PLR2004  # the rule itself
        raise InvalidInput(f"growth is {value!r}, but must lie in (1, 2)")
    return float(value)


def several(name: str, values: Iterable[Any]) -> list[Any]:
    """Return the values of an iterable as a list, or raise."""
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
    """Return a bound on a probability, at most 1."""
    return min(1.0, chance)
