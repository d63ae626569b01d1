"""Checks of single values."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from boxthirding._checks import MOST, as_reward, not_negative, single_number, whole
from boxthirding.errors import InvalidInput


@pytest.mark.parametrize("value", [0, 7, np.int64(7), np.uint8(7), MOST])
def test_whole_numbers_are_returned_as_plain_ones(value):
    found = whole("k", value, least=0)
    assert (type(found), found) == (int, value)


@pytest.mark.parametrize("value", [True, False, np.True_, 1.5, "1", None, math.nan, math.inf])
def test_what_is_no_whole_number_is_refused(value):
    with pytest.raises(InvalidInput, match=r"^k is .*, but must be a whole number$"):
        whole("k", value, least=0)


@pytest.mark.parametrize(("value", "written"), [(1.0, "1"), (1e3, "1000"), (np.float64(2), "2")])
def test_a_float_that_is_whole_is_refused_with_what_to_write(value, written):
    with pytest.raises(InvalidInput, match=f"^k is .*, but must be a whole number: write {written}$"):
        whole("k", value, least=0)


@pytest.mark.parametrize(("value", "rule"), [(0, "at least 1"), (MOST + 1, r"at most 2\*\*53")])
def test_whole_numbers_have_limits(value, rule):
    with pytest.raises(InvalidInput, match=f"^k is {value}, but must be {rule}$"):
        whole("k", value, least=1)


@pytest.mark.parametrize("value", [-1, -5e-324, math.inf, math.nan, True, "1", None, 10**400])
def test_what_is_no_finite_number_of_at_least_0_is_refused(value):
    with pytest.raises(InvalidInput, match=r"^x is .*, but must be a finite number of at least 0$"):
        not_negative("x", value)


@pytest.mark.parametrize("value", [0, 0.0, 5e-324, 10**300, 1.7e308, np.float32(1)])
def test_finite_numbers_of_at_least_0_pass(value):
    not_negative("x", value)


class Odd:
    def __float__(self):
        raise ValueError("not today")


@pytest.mark.parametrize(
    "value", [3, 0.5, True, np.float32(0.5), np.True_, np.array(2), Fraction(1, 2), Decimal("0.5")]
)
def test_a_single_number_is_what_float_takes(value):
    assert single_number(value) == float(value)
    assert as_reward(value) == float(value)


@pytest.mark.parametrize(
    "value", ["1", b"1", None, 1j, np.complex128(1), np.str_("1"), np.array("1"), np.array([1.0]), [1], Odd()]
)
def test_anything_else_is_none(value):
    assert single_number(value) is None
    with pytest.raises(InvalidInput, match=r"the reward is .*, but must be a number"):
        as_reward(value)
