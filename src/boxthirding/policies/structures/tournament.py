"""A tournament tree: who has the largest value, known again in O(log n) when one value changes.

The n players are first … first + n - 1. Node 1 is the root, node k has the children 2k and 2k + 1, and player i is the
leaf n + i - first; whatever n is, all leaves are below the root. Only inner nodes are stored, node k at first + k in
`winner`, so that trees share an array as their players share the values. A node is NONE until one below it plays.
"""

from boxthirding._compile import kernel
from boxthirding.types import NONE, Floats, Ints


@kernel
def play_all(winner: Ints, first: int, stop: int, values: Floats, luck: Ints) -> None:
    """Play every game; players are first … stop - 1."""
    for node in range(stop - first - 1, 0, -1):
        play(winner, first, stop, node, values, luck)


@kernel
def play_first(winner: Ints, first: int, stop: int, players: int, values: Floats, luck: Ints) -> None:
    """Play the games of the first `players` players, the only ones whose values have changed."""
    low = stop - first
    high = low + players - 1
    while low > 1:
        low //= 2
        high //= 2
        for node in range(high, low - 1, -1):
            play(winner, first, stop, node, values, luck)


@kernel
def play(winner: Ints, first: int, stop: int, node: int, values: Floats, luck: Ints) -> None:
    """Play one game, between those who come out of the two nodes below."""
    one = player(winner, first, stop, 2 * node)
    two = player(winner, first, stop, 2 * node + 1)
    winner[first + node] = two if beats(values, luck, two, one) else one


@kernel
def replay(winner: Ints, first: int, stop: int, changed: int, values: Floats, luck: Ints) -> None:
    """Play the games of a player whose value is the only one that has changed; players are first … stop - 1."""
    node = stop - first + changed - first
    leader = changed
    while node > 1:
        rival = player(winner, first, stop, node ^ 1)
        leader = rival if rival > NONE and beats(values, luck, rival, leader) else leader
        node //= 2
        if winner[first + node] == leader != changed:  # it lost here before, too: nothing above changes
            return
        winner[first + node] = leader


@kernel
def player(winner: Ints, first: int, stop: int, node: int) -> int:
    """Return who comes out of a node, or NONE; out of node 1 comes the one with the largest value."""
    return winner[first + node] if node < stop - first else node + 2 * first - stop


@kernel
def runner_up(winner: Ints, first: int, stop: int, values: Floats, luck: Ints) -> int:
    """Return who would win without the winner, or NONE: the best of those that it has met."""
    best = NONE
    node = stop - first + player(winner, first, stop, 1) - first
    while node > 1:
        rival = player(winner, first, stop, node ^ 1)
        best = rival if best == NONE or (rival != NONE and beats(values, luck, rival, best)) else best
        node //= 2
    return best


@kernel
def beats(values: Floats, luck: Ints, one: int, other: int) -> bool:
    """Tell whether a player has the larger value, luck deciding between equals."""
    if values[one] == values[other]:  # rare, so it stands apart: what is left needs no branch when compiled
        return luck[one] > luck[other]
    return values[one] > values[other]
