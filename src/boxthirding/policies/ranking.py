"""Ranking arms, best first, with ties broken at random: never by number, and never by what the sort happens to do."""

from boxthirding._compile import kernel
from boxthirding.streams import shuffle
from boxthirding.types import Floats, Ints


@kernel
def rank(items: Ints, start: int, stop: int, values: Floats, scratch: Ints, ties: Ints) -> None:
    """Order items[start:stop] by values[item], largest first: shuffled, then sorted stably (S13).

    The sort merges runs of 1, 2, 4, …; `scratch` is as long as `items`. (Kernels allocate nothing, so that compiled
    ones need no reference counts.)
    """
    shuffle(ties, items, start, stop)
    width = 1
    while width < stop - start:
        for left in range(start, stop, 2 * width):
            merge(items, left, min(left + width, stop), min(left + 2 * width, stop), values, scratch)
        for i in range(start, stop):
            items[i] = scratch[i]
        width *= 2


@kernel
def merge(items: Ints, left: int, middle: int, right: int, values: Floats, scratch: Ints) -> None:
    """Merge items[left:middle] and items[middle:right] into scratch[left:right]."""
    one, two = left, middle
    for place in range(left, right):
        if one < middle and (two >= right or values[items[one]] >= values[items[two]]):
            scratch[place] = items[one]
            one += 1
        else:
            scratch[place] = items[two]
            two += 1
