"""A tournament tree: who has the largest value, known again in O(log n) when one value changes.

The n players are first … first + n - 1. Node 1 is the root, node k has the children 2k and 2k + 1, and player i is the
leaf n + i - first; whatever n is, all leaves are below the root. Only inner nodes are stored, node k at first + k in
`winner`, so that trees share the arrays. A node is NONE until one below it plays. Luck, drawn once for each player,
decides between equals; several tournaments of the same players share it.

The place of a node depends on how many players there are, so after a state has grown, its larger tournaments must be
played from the beginning: call `play_all` in the policy's `grown`.
"""

import math
from typing import NamedTuple

from boxthirding._compile import kernel
from boxthirding.types import NONE, Floats, Ints


class Tournament(NamedTuple):
    """K players, in one tree or in several."""

    winner: Ints  # [K] who comes out of each inner node, or NONE
    value: Floats  # [K] -∞ for a player that cannot win


@kernel
def clear(tree: Tournament) -> None:
    """Give every player the value -∞, so that none can win."""
    tree.winner[:] = NONE
    tree.value[:] = -math.inf


@kernel
def best(tree: Tournament) -> int:
    """Return who has the largest value of all players, or NONE if none can win."""
    arm = player(tree.winner, 0, len(tree.value), 1)
    return arm if arm > NONE and tree.value[arm] > -math.inf else NONE


@kernel
def set_value(tree: Tournament, luck: Ints, changed: int, value: float) -> None:
    """Update the value of a player in the only tree."""
    tree.value[changed] = value
    replay(tree, 0, len(tree.value), changed, luck)


@kernel
def play_all(tree: Tournament, first: int, stop: int, luck: Ints) -> None:
    """Play every game; players are first … stop - 1."""
    for node in range(stop - first - 1, 0, -1):
        play(tree, first, stop, node, luck)


@kernel
def play_first(tree: Tournament, first: int, stop: int, players: int, luck: Ints) -> None:
    """Play the games of the first `players` players, the only ones whose values have changed."""
    low = stop - first
    high = low + players - 1
    while low > 1:
        low //= 2
        high //= 2
        for node in range(high, low - 1, -1):
            play(tree, first, stop, node, luck)


@kernel
def play(tree: Tournament, first: int, stop: int, node: int, luck: Ints) -> None:
    """Play one game, between those who come out of the two nodes below."""
    one = player(tree.winner, first, stop, 2 * node)
    two = player(tree.winner, first, stop, 2 * node + 1)
    tree.winner[first + node] = two if beats(tree.value, luck, two, one) else one


@kernel
def replay(tree: Tournament, first: int, stop: int, changed: int, luck: Ints) -> None:
    """Play the games of a player whose value is the only one that has changed; players are first … stop - 1."""
    winner, value = tree.winner, tree.value
    node = stop - first + changed - first
    leader = changed
    while node > 1:
        rival = player(winner, first, stop, node ^ 1)
        leader = rival if rival > NONE and beats(value, luck, rival, leader) else leader
        node //= 2
        if winner[first + node] == leader != changed:  # it lost here before, too: nothing above changes
            return
        winner[first + node] = leader


@kernel
def player(winner: Ints, first: int, stop: int, node: int) -> int:
    """Return who comes out of a node, or NONE; out of node 1 comes the one with the largest value."""
    return winner[first + node] if node < stop - first else node + 2 * first - stop


@kernel
def runner_up(tree: Tournament, first: int, stop: int, luck: Ints) -> int:
    """Return who would win without the winner, or NONE: the best of those that it has met."""
    second = NONE
    node = stop - first + player(tree.winner, first, stop, 1) - first
    while node > 1:
        rival = player(tree.winner, first, stop, node ^ 1)
        if second == NONE or (rival != NONE and beats(tree.value, luck, rival, second)):
            second = rival
        node //= 2
    return second


@kernel
def beats(value: Floats, luck: Ints, one: int, other: int) -> bool:
    """Return whether a player has the larger value. Ties are broken at random."""
    if value[one] == value[other]:  # rare, so it stands apart: what is left needs no branch when compiled
        return luck[one] > luck[other]
    return value[one] > value[other]
