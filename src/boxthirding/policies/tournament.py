"""A tournament tree: who has the largest value, known again in O(log n) when one value changes.

The n players are first … first + n - 1. Node 1 is the root, node k has the children 2k and 2k + 1, and player i is the
leaf n + i - first; whatever n is, all leaves are below the root. Only inner nodes are stored, node k at first + k in
`winner`, so that trees share an array as their players share the values.
"""

from boxthirding._compile import kernel
from boxthirding.types import Floats, Ints


@kernel
def play_all(winner: Ints, first: int, stop: int, values: Floats, luck: Ints) -> None:
    """Play every game; players are first … stop - 1."""
    for node in range(stop - first - 1, 0, -1):
        play(winner, first, stop, node, values, luck)


@kernel
def replay(winner: Ints, first: int, stop: int, changed: int, values: Floats, luck: Ints) -> None:
    """Play again the games of a player whose value has changed; players are first … stop - 1."""
    node = (stop - first + changed - first) // 2
    while node >= 1:
        play(winner, first, stop, node, values, luck)
        node //= 2


@kernel
def play(winner: Ints, first: int, stop: int, node: int, values: Floats, luck: Ints) -> None:
    """Play the game of one node."""
    one = player(winner, first, stop, 2 * node)
    two = player(winner, first, stop, 2 * node + 1)
    winner[first + node] = two if beats(values, luck, two, one) else one


@kernel
def player(winner: Ints, first: int, stop: int, node: int) -> int:
    """Return who comes out of a node; out of node 1 comes the one with the largest value."""
    return winner[first + node] if node < stop - first else node + 2 * first - stop


@kernel
def beats(values: Floats, luck: Ints, one: int, other: int) -> bool:
    """Tell whether a player has the larger value, luck deciding between equals."""
    return values[one] > values[other] or (values[one] == values[other] and luck[one] > luck[other])
