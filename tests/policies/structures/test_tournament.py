"""The tournament tree against the plain maximum."""

import random
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding.policies.structures.tournament import (
    Tournament,
    best,
    clear,
    play_all,
    play_first,
    player,
    replay,
    set_value,
)
from boxthirding.types import NONE

EXAMPLES = settings(max_examples=200, derandomize=True, deadline=None)


@EXAMPLES
@given(
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=4),
    changes=st.lists(st.tuples(st.integers(0, 79), st.sampled_from([-np.inf, 0.0, 0.5, 1.0])), max_size=60),
    seed=st.integers(0, 2**32),
)
def test_the_winner_of_every_tree_is_its_largest_whatever_changes(sizes, changes, seed):
    bounds = np.cumsum([0, *sizes])
    players = int(bounds[-1])
    tree = Tournament(np.full(players, 77), np.full(players, -np.inf))
    luck = np.array(random.Random(seed).sample(range(1, 2**32), players))
    for first, stop in pairwise(bounds):
        play_all(tree, first, stop, luck)
    for place, value in changes:
        changed = place % players
        tree.value[changed] = value
        which = np.searchsorted(bounds, changed, side="right") - 1
        replay(tree, bounds[which], bounds[which + 1], changed, luck)
        for first, stop in pairwise(bounds):
            largest = max(range(first, stop), key=lambda one: (tree.value[one], luck[one]))
            assert player(tree.winner, first, stop, 1) == largest


@EXAMPLES
@given(
    players=st.integers(1, 20),
    changes=st.lists(st.tuples(st.integers(0, 19), st.sampled_from([-np.inf, 0.0, 0.5, 1.0])), max_size=60),
    seed=st.integers(0, 2**32),
)
def test_players_may_come_one_by_one(players, changes, seed):
    tree = Tournament(np.full(players, 77), np.full(players, 77.0))
    clear(tree)
    assert best(tree) == NONE
    luck = np.array(random.Random(seed).sample(range(1, 2**32), players))
    for place, value in changes:
        set_value(tree, luck, place % players, value)
        expected = max(range(players), key=lambda one: (tree.value[one], luck[one]))
        assert best(tree) == (expected if tree.value[expected] > -np.inf else NONE)


@EXAMPLES
@given(
    players=st.integers(1, 40),
    values=st.lists(st.sampled_from([-np.inf, 0.0, 0.5, 1.0]), min_size=1, max_size=40),
    seed=st.integers(0, 2**32),
)
def test_the_first_players_may_all_change_at_once(players, values, seed):
    first = 3
    rng = random.Random(seed)
    luck = np.array(rng.sample(range(1, 2**32), first + players))
    all_values = np.array([rng.choice((-np.inf, 0.0, 0.5)) for _ in range(first + players)])
    some, whole = (Tournament(np.full(first + players, 77), all_values) for _ in range(2))
    play_all(some, first, first + players, luck)
    changed = values[:players]
    all_values[first : first + len(changed)] = changed
    play_first(some, first, first + players, len(changed), luck)
    play_all(whole, first, first + players, luck)
    assert some.winner.tolist() == whole.winner.tolist()


def test_nobody_wins_before_anybody_has_played():
    assert player(np.full(5, NONE), 0, 5, 1) == NONE


def test_five_players_by_hand():
    # Leaves 5 … 9 are players 10 … 14: node 4 plays 13 against 14, node 3 plays 11 against 12, node 2 that of node 4
    # against 10, node 1 the two.
    tree, luck = Tournament(np.full(15, 77), np.zeros(15)), np.arange(15)
    tree.value[10:] = 3.0, 5.0, 1.0, 4.0, 2.0
    play_all(tree, 10, 15, luck)
    assert tree.winner[11:].tolist() == [11, 13, 11, 13]
    tree.value[11] = 3.0
    replay(tree, 10, 15, 11, luck)
    assert tree.winner[11:].tolist() == [13, 13, 11, 13]
    tree.value[13] = 3.0  # three of them share the lead, and 13 has most luck
    replay(tree, 10, 15, 13, luck)
    assert player(tree.winner, 10, 15, 1) == 13


def test_a_single_player_wins_without_a_game():
    tree = Tournament(np.full(4, 77), np.zeros(4))
    play_all(tree, 2, 3, np.arange(4))
    replay(tree, 2, 3, 2, np.arange(4))
    assert player(tree.winner, 2, 3, 1) == 2
    assert tree.winner.tolist() == [77] * 4
