"""Checks of single values, each with an error that gives the value and the rule."""

import math
import operator
from typing import Final

import numpy as np

from boxthirding.errors import InvalidInput

MOST: Final = 2**53
"""The largest whole number that is exact as a float too."""


def whole(name: str, value: object, least: int) -> int:
    """Return a whole number that is at least `least`, or refuse it by name."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # the point is to find out
    except TypeError:
        raise InvalidInput(f"{name} is {value!r}, but must be a whole number") from None
    if number < least:
        raise InvalidInput(f"{name} is {number}, but must be at least {least}")
    if number > MOST:
        raise InvalidInput(f"{name} is {number}, but must be at most 2**53")
    return number


def not_negative(name: str, value: object) -> None:
    """Refuse by name what is not a finite number of at least 0."""
    if not (is_number(value) and 0 <= value < math.inf):  # type: ignore[operator]  # it is a number
        raise InvalidInput(f"{name} is {value!r}, but must be a finite number of at least 0")


def is_number(value: object) -> bool:
    """Tell whether a value is a real number; True and False are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
