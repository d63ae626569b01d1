"""The means in order against a plain sort, change by change."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding.policies.rivals.ucbe import RANKED, UCBE, rank_again, reset, set_mean
from boxthirding.policies.structures.sorting import sort

EXAMPLES = settings(max_examples=200, derandomize=True, deadline=None)

ROOM = 12


def empty(room=ROOM):
    """Nobody has a mean, and the arrays hold what an earlier run left in them."""
    standing = UCBE(100, 1.0).new(room, 0, room)
    standing.n[:] = 1
    standing.scalars[1:] = 7
    for name in ("ranked", "before", "scratch", "moved", "has_moved"):
        getattr(standing, name)[:] = 1
    reset(standing)
    return standing


def change(standing, arm, mean):
    set_mean(standing, arm, mean)


def ranked(standing):
    rank_again(standing)
    return standing.ranked[: standing.scalars[RANKED]].tolist()


@EXAMPLES
@given(
    changes=st.lists(
        st.one_of(
            st.none(),  # somebody wants to know
            st.tuples(st.integers(0, ROOM - 1), st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.5, 1.0, 2.0])),
        ),
        max_size=60,
    )
)
def test_whatever_changes_the_means_are_in_order(changes):
    standing = empty()
    for one in [*changes, None]:
        if one is None:
            expected = sorted(standing.leader.value[standing.leader.value > -np.inf], reverse=True)
            assert ranked(standing) == expected
            assert ranked(standing) == expected  # asking again is no news
        else:
            change(standing, *one)


def test_four_arms_by_hand():
    standing = empty(4)
    for arm, mean in enumerate([0.5, 1.0, 0.0, 0.5]):
        change(standing, arm, mean)
    assert ranked(standing) == [1.0, 0.5, 0.5, 0.0]
    change(standing, 1, 0.75)
    change(standing, 1, 0.25)  # twice before anybody asks
    change(standing, 3, -np.inf)
    assert ranked(standing) == [0.5, 0.25, 0.0]
    change(standing, 0, -np.inf)
    change(standing, 0, 2.0)  # away and back
    assert ranked(standing) == [2.0, 0.25, 0.0]


def test_a_reset_forgets_what_was_listed_and_what_has_moved():
    standing = empty(2)
    change(standing, 0, 1.0)
    assert ranked(standing) == [1.0]
    change(standing, 0, 3.0)
    reset(standing)
    assert ranked(standing) == []
    change(standing, 0, 2.0)
    assert ranked(standing) == [2.0]


@pytest.mark.parametrize("length", [0, 1, 2, 3, 7, 8, 9, 100])
def test_sort_orders_the_front_and_leaves_the_rest(length):
    rng = random.Random(length)
    values = np.array([rng.choice((0.0, 0.5, 1.0, rng.random())) for _ in range(length)] + [9.0])
    items = np.arange(length + 1)
    expected = sorted(values[:length], reverse=True)
    sort(items, 0, length, values, np.zeros(length + 1, np.int64))
    assert values[items].tolist() == [*expected, 9.0]
    assert all(one < two for one, two in itertools.pairwise(items) if values[one] == values[two])
