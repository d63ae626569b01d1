"""The tournament tree against the plain maximum."""

import random
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding.policies.structures.tournament import play_all, play_first, player, replay
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
    values, winner = np.full(players, -np.inf), np.full(players, 77)
    luck = np.array(random.Random(seed).sample(range(1, 2**32), players))
    for first, stop in pairwise(bounds):
        play_all(winner, first, stop, values, luck)
    for place, value in changes:
        changed = place % players
        values[changed] = value
        tree = np.searchsorted(bounds, changed, side="right") - 1
        replay(winner, bounds[tree], bounds[tree + 1], changed, values, luck)
        for first, stop in pairwise(bounds):
            largest = max(range(first, stop), key=lambda one: (values[one], luck[one]))
            assert player(winner, first, stop, 1) == largest


@EXAMPLES
@given(
    players=st.integers(1, 20),
    changes=st.lists(st.tuples(st.integers(0, 19), st.sampled_from([-np.inf, 0.0, 0.5, 1.0])), max_size=60),
    seed=st.integers(0, 2**32),
)
def test_players_may_come_one_by_one(players, changes, seed):
    values, winner = np.full(players, -np.inf), np.full(players, NONE)
    luck = np.array(random.Random(seed).sample(range(1, 2**32), players))
    for place, value in changes:
        changed = place % players
        values[changed] = value
        replay(winner, 0, players, changed, values, luck)
        if values.max() > -np.inf:
            assert player(winner, 0, players, 1) == max(range(players), key=lambda one: (values[one], luck[one]))


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
    some, whole = np.full(first + players, 77), np.full(first + players, 77)
    play_all(some, first, first + players, all_values, luck)
    changed = values[:players]
    all_values[first : first + len(changed)] = changed
    play_first(some, first, first + players, len(changed), all_values, luck)
    play_all(whole, first, first + players, all_values, luck)
    assert some.tolist() == whole.tolist()


def test_nobody_wins_before_anybody_has_played():
    assert player(np.full(5, NONE), 0, 5, 1) == NONE


def test_five_players_by_hand():
    # Leaves 5 … 9 are players 10 … 14: node 4 plays 13 against 14, node 3 plays 11 against 12, node 2 that of node 4
    # against 10, node 1 the two.
    winner, luck = np.full(15, 77), np.arange(15)
    values = np.zeros(15)
    values[10:] = 3.0, 5.0, 1.0, 4.0, 2.0
    play_all(winner, 10, 15, values, luck)
    assert winner[11:].tolist() == [11, 13, 11, 13]
    values[11] = 3.0
    replay(winner, 10, 15, 11, values, luck)
    assert winner[11:].tolist() == [13, 13, 11, 13]
    values[13] = 3.0  # three of them share the lead, and 13 has most luck
    replay(winner, 10, 15, 13, values, luck)
    assert player(winner, 10, 15, 1) == 13


def test_a_single_player_wins_without_a_game():
    winner = np.full(4, 77)
    play_all(winner, 2, 3, np.zeros(4), np.arange(4))
    replay(winner, 2, 3, 2, np.zeros(4), np.arange(4))
    assert player(winner, 2, 3, 1) == 2
    assert winner.tolist() == [77] * 4
