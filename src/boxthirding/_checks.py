"""Checks of single values, each with an error that gives the value and the rule."""

import math
import numbers
import operator
import sys
from collections.abc import Collection
from typing import Any, Final

import numpy as np

from boxthirding.errors import InvalidInput

MOST: Final = 2**53  # the largest whole number that is exact as a float too

LARGEST_REWARD: Final = 1e150  # so that squares of rewards stay finite

LARGEST_FLOAT: Final = sys.float_info.max  # what is larger is infinite as a float


def whole(name: str, value: object, least: int) -> int:
    """Return a whole number that is at least `least`, or refuse it by name."""
    if type(value) is int and least <= value <= MOST:
        return value
    if isinstance(value, bool):
        raise InvalidInput(f"{name} is {value}, but must be a whole number")
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # the point is to find out
    except TypeError:
        way_out = f": write {value:.0f}" if isinstance(value, float) and value.is_integer() else ""
        raise InvalidInput(f"{name} is {value!r}, but must be a whole number{way_out}") from None
    if number < least:
        raise InvalidInput(f"{name} is {number}, but must be at least {least}")
    if number > MOST:
        raise InvalidInput(f"{name} is {number}, but must be at most 2**53")
    return number


def not_negative(name: str, value: object) -> None:
    """Raise unless the value is a finite number of at least 0."""
    if not (is_finite(value) and value >= 0):  # type: ignore[operator]  # it is a number
        raise InvalidInput(f"{name} is {value!r}, but must be a finite number of at least 0")


def positive(name: str, value: float) -> float:
    """Return a finite number above 0, or refuse it by name."""
    if not (is_finite(value) and value > 0):
        raise InvalidInput(f"{name} is {value!r}, but must be a finite number above 0")
    return float(value)


def fraction(name: str, value: float) -> float:
    """Return a number strictly between 0 and 1, or refuse it by name."""
    if not (is_number(value) and 0 < value < 1):
        raise InvalidInput(f"{name} is {value!r}, but must lie in (0, 1)")
    return float(value)


def one_of(name: str, value: object, known: Collection[object]) -> None:
    """Raise unless the value is one of `values`."""
    if value not in known:
        raise InvalidInput(f"{name} is {value!r}, but must be one of {', '.join(map(str, known))}")


def served_name(name: str) -> str:
    """Return the name of a study on a server, or raise if the path of an address cannot have it."""
    if name in (".", "..") or not name.strip() or "/" in name:
        rule = "on a server it must not be blank, . or .., and not have a slash"
        raise InvalidInput(f"the name of the study is {name!r}, but {rule}: choose another")
    return name


def is_number(value: object) -> bool:
    """Return whether a value is a real number; True and False are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def is_finite(value: object) -> bool:
    """Return whether a value is a real number that a float can hold, which an int of 400 digits is not."""
    try:
        return is_number(value) and math.isfinite(value)  # type: ignore[arg-type]  # it is a number
    except OverflowError:
        return False


def parse_number(text: str) -> float:
    """Return the number that a text is; a ValueError if it is none.

    Python also reads `1_000`, which other programs do not take for a number: it is likelier to be a slip.

    >>> parse_number(" 2.5 ")
    2.5
    """
    if "_" in text:
        raise ValueError(text)
    return float(text)


def is_numeric(text: str) -> bool:
    """Return whether a text is a finite number with a decimal point, or without any."""
    try:
        return math.isfinite(parse_number(text))
    except ValueError:
        return False


def as_reward(reward: object) -> float:
    """Return a reward as a float, or refuse it by its type or size."""
    value = reward if type(reward) is float else _as_float(reward)
    if not -LARGEST_REWARD < value < LARGEST_REWARD:  # false for NaN too
        raise InvalidInput(f"the reward is {reward!r}, but must be a finite number below 1e150 in size")
    return value


def single_number(value: Any) -> float | None:
    """Return what is one real number as a float, or None if it is something else.

    An array or tensor without dimensions is one, and so is anything else that Python's `float` takes, but for texts.

    >>> single_number(np.array(0.5)), single_number(np.array([0.5])), single_number("0.5")
    (0.5, None, None)
    """
    if not isinstance(value, numbers.Real):
        if not hasattr(type(value), "__float__") or tuple(getattr(value, "shape", ())) != ():
            return None
        if isinstance(value, np.generic | np.ndarray) and value.dtype.kind not in _REAL:
            return None
    try:
        return float(value)
    except OverflowError:  # an integer beyond every float
        return math.inf
    except (TypeError, ValueError):
        return None


def _as_float(reward: object) -> float:
    value = single_number(reward)
    if value is None:
        raise InvalidInput(f"the reward is {reward!r}, a {type(reward).__name__}, but must be a number")
    return value


_REAL: Final = "biuf"  # the kinds of NumPy's real numbers
