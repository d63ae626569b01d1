"""The treap against a sorted list, operation by operation."""

import random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees import depth, in_order

from boxthirding.policies.structures.treap import (
    build,
    champion_among,
    first,
    insert,
    keeps_place,
    refresh_path,
    remove,
)
from boxthirding.types import NONE

EXAMPLES = settings(max_examples=150, derandomize=True, deadline=None)


def planted(room, trees=1, seed=0):
    """Return empty trees; luck is drawn for everybody, without doubles."""
    tree = SimpleNamespace(root=np.full(trees, NONE), lower=np.zeros(room), upper=np.zeros(room))
    for name in ("left", "right", "parent", "weight", "champion"):
        setattr(tree, name, np.zeros(room, np.int64))
    tree.luck = np.array(random.Random(seed).sample(range(1, 2**32 - 208), room))
    return tree


def ranked(tree, arms):
    return sorted(arms, key=lambda arm: (tree.lower[arm], tree.luck[arm]), reverse=True)


def best(tree, arms):
    return max(arms, key=lambda arm: (tree.upper[arm], tree.luck[arm]), default=NONE)


operations = st.lists(
    st.tuples(st.sampled_from(["put", "put", "change", "raise"]), st.integers(0, 29), st.integers(0, 4)), max_size=60
)


@EXAMPLES
@given(operations=operations, seed=st.integers(0, 2**32))
def test_any_operations_leave_two_sound_trees_with_the_right_answers(operations, seed):
    tree = planted(30, trees=2, seed=seed)
    members = [set(), set()]
    for operation, arm, value in operations:
        which = arm % 2
        if operation == "put" and arm not in members[which]:
            insert(tree, which, arm, value / 2, (value * 7 + arm) % 5 / 2)
            members[which].add(arm)
        elif operation == "raise" and arm in members[which]:
            tree.upper[arm] = value
            refresh_path(tree, arm)
        elif arm in members[which]:
            remove(tree, which, arm)
            members[which].remove(arm)
        for i in (0, 1):
            order = ranked(tree, members[i])
            assert in_order(tree, i) == order
            assert first(tree, i) == (order or [NONE])[0]
            for k in (0, 1, value, len(order), 99):
                assert champion_among(tree, i, k) == best(tree, order[:k])


@EXAMPLES
@given(values=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=40), seed=st.integers(0, 2**32))
def test_a_tree_that_is_built_at_once_is_that_of_one_insertion_after_the_other(values, seed):
    built, grown = planted(40, trees=2, seed=seed), planted(40, trees=2, seed=seed)
    chain = NONE
    for arm, (lower, upper) in enumerate(values):
        insert(grown, 1, arm, lower, upper)
        built.lower[arm], built.upper[arm], built.right[arm] = lower, upper, chain
        chain = arm
    build(built, 1, chain)
    assert in_order(built, 1) == in_order(grown, 1) == ranked(built, range(len(values)))
    assert built.root.tolist() == grown.root.tolist()  # two treaps with the same keys and priorities are the same


@EXAMPLES
@given(changes=st.lists(st.tuples(st.integers(0, 11), st.integers(0, 9)), max_size=20), seed=st.integers(0, 2**32))
def test_an_upper_that_rises_or_falls_is_known_all_the_way_up(changes, seed):
    tree = planted(12, seed=seed)
    for arm in range(12):
        insert(tree, 0, arm, arm * 5 % 12, arm % 7)
    for arm, upper in changes:
        tree.upper[arm] = upper
        refresh_path(tree, arm)
        assert len(in_order(tree)) == 12


@EXAMPLES
@given(keys=st.lists(st.integers(0, 9), min_size=1, max_size=12), other=st.integers(-1, 10), seed=st.integers(0, 2**32))
def test_an_arm_keeps_its_place_if_nobody_overtakes_it_or_is_overtaken(keys, other, seed):
    tree = planted(12, seed=seed)
    for arm, key in enumerate(keys):
        insert(tree, 0, arm, key, 0.0)
    for arm, key in enumerate(keys):
        before = ranked(tree, range(len(keys)))
        stays = keeps_place(tree, arm, other)
        tree.lower[arm] = other
        assert stays == (ranked(tree, range(len(keys))) == before)
        tree.lower[arm] = key


def test_three_nodes_by_hand():
    tree = planted(3)
    tree.luck[:] = 5, 9, 7
    insert(tree, 0, 0, 1.0, 4.0)
    insert(tree, 0, 1, 2.0, 3.0)
    insert(tree, 0, 2, 1.0, 3.0)  # as large a key as node 0, and more luck: before it
    assert in_order(tree) == [1, 2, 0]
    assert [champion_among(tree, 0, k) for k in range(5)] == [NONE, 1, 1, 0, 0]
    remove(tree, 0, 1)
    assert [champion_among(tree, 0, k) for k in range(3)] == [NONE, 2, 0]
    remove(tree, 0, 2)
    remove(tree, 0, 0)
    assert first(tree, 0) == NONE


@pytest.mark.parametrize("keys", [1, 2, 2_000])
def test_the_tree_stays_flat_also_when_keys_are_equal(keys):
    # A random search tree of 2,000 nodes is about 25 deep. Equal keys go by luck, so the heap must go by something else
    tree = planted(2_000)
    for arm in range(2_000):
        insert(tree, 0, arm, float(arm * 733 % keys), 0.0)
    assert depth(tree, int(tree.root[0])) <= 50
