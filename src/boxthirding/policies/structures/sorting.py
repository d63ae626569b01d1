"""Ranking arms, best first, with ties broken at random: never by number, and never by what the sort happens to do."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from boxthirding._compile import kernel
from boxthirding.rng import shuffle
from boxthirding.types import Floats, Ints


@kernel
def rank(items: Ints, start: int, stop: int, values: Floats, scratch: Ints, ties: Ints) -> None:
    """Order items[start:stop] by values[item], largest first: shuffled, then sorted stably (S13)."""
    shuffle(ties, items, start, stop)
    sort(items, start, stop, values, scratch)


@kernel
def sort(items: Ints, start: int, stop: int, values: Floats, scratch: Ints) -> None:
    """Order items[start:stop] by values[item], largest first; equals stay in their order.

    Runs of 1, 2, 4, … are merged; `scratch` is as long as `items`. (Kernels allocate nothing, so that compiled ones
    need no reference counts.)
    """
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


_BLOCK: Final = 64


def _short_list(values: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Return places of values, those of the k largest among them.

    Of blocks of them, k have a maximum that is at least the k-th largest maximum: what is smaller is none of the k.
    """
    blocks = len(values) // _BLOCK
    if blocks <= k:
        return np.arange(len(values))
    largest = values[: blocks * _BLOCK].reshape(blocks, _BLOCK).max(axis=1)
    return np.flatnonzero(values >= np.partition(largest, blocks - k)[blocks - k])


def in_order(arms: Ints, *keys: NDArray[Any], k: int | None = None) -> list[int]:
    """Return arms by their keys, larger ones first, the first key counting most; with k, the k first, or a few more.

    Arms that are equal in all keys stay in the order in which they are given. The k first of many are picked out
    before anything is sorted.
    """
    there = np.arange(len(arms)) if k is None else _short_list(keys[0], k)
    if k is not None and len(there) > k:
        sure: list[NDArray[Any]] = []
        missing = k
        for key in keys:
            if len(there) <= missing:
                break
            values = key[there]
            last = np.partition(values, len(values) - missing)[len(values) - missing]
            sure.append(there[values > last])
            missing -= len(sure[-1])
            there = there[values == last]
        there = np.sort(np.concatenate([*sure, there]))
    order = np.lexsort(tuple(-key[there] for key in reversed(keys)))
    return [int(arm) for arm in arms[there[order]]]
