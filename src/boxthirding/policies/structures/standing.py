"""All means in order, largest first, brought up to date when they are read: cheap when few have changed."""

import math
from typing import Final, Protocol

from boxthirding._compile import kernel
from boxthirding.types import Floats, Ints

RANKED: Final = 0  # means in `ranked`
MOVED: Final = 1  # arms in `moved`
GONE: Final = 2  # of them, how many had a mean
COUNTS: Final = 3


class Standing(Protocol):
    """A rule's own state, if it has these fields."""

    @property
    def mean(self) -> Floats:
        """[K] The means, -∞ for an arm without one."""

    @property
    def counts(self) -> Ints:
        """[COUNTS] RANKED, MOVED and GONE."""

    @property
    def ranked(self) -> Floats:
        """[K] The means, largest first, as they were the last time."""

    @property
    def moved(self) -> Ints:
        """[K] The arms whose means have changed since."""

    @property
    def has_moved(self) -> Ints:
        """[K] 1 for each of them."""

    @property
    def changes(self) -> Floats:
        """[K] The means that they had; then, while they are put in order, those that they have."""

    @property
    def scratch(self) -> Floats:
        """[K] Room for sorting."""


@kernel
def clear(standing: Standing) -> None:
    """Forget every arm."""
    standing.counts[:] = 0
    standing.has_moved[:] = 0


@kernel
def before_change(standing: Standing, arm: int) -> None:
    """Note that an arm is about to get another mean, its first one, or none any more."""
    counts = standing.counts
    if standing.has_moved[arm] == 0:
        standing.has_moved[arm] = 1
        standing.moved[counts[MOVED]] = arm
        counts[MOVED] += 1
        if standing.mean[arm] > -math.inf:
            standing.changes[counts[GONE]] = standing.mean[arm]
            counts[GONE] += 1


@kernel
def bring_up_to_date(standing: Standing) -> int:
    """Put every mean in its place in `ranked`; return how many there are."""
    strike_out(standing)
    write_in(standing)
    return standing.counts[RANKED]


@kernel
def strike_out(standing: Standing) -> None:
    """Take out the means that the arms had before they moved."""
    counts, ranked, gone = standing.counts, standing.ranked, standing.changes
    sort(gone, counts[GONE], standing.scratch)
    struck = 0
    for i in range(counts[RANKED]):
        if struck < counts[GONE] and ranked[i] == gone[struck]:
            struck += 1
        else:
            ranked[i - struck] = ranked[i]
    counts[RANKED] -= struck
    counts[GONE] = 0


@kernel
def write_in(standing: Standing) -> None:
    """Put in the means that the arms have now."""
    counts, ranked, new = standing.counts, standing.ranked, standing.changes
    came = 0
    for i in range(counts[MOVED]):
        arm = standing.moved[i]
        standing.has_moved[arm] = 0
        if standing.mean[arm] > -math.inf:
            new[came] = standing.mean[arm]
            came += 1
    sort(new, came, standing.scratch)
    above = counts[RANKED]
    for waiting in range(came, 0, -1):  # the smallest first: those below it make way for all that are waiting
        while above > 0 and ranked[above - 1] < new[waiting - 1]:
            ranked[above - 1 + waiting] = ranked[above - 1]
            above -= 1
        ranked[above - 1 + waiting] = new[waiting - 1]
    counts[RANKED] += came
    counts[MOVED] = 0


@kernel
def sort(values: Floats, stop: int, scratch: Floats) -> None:
    """Order values[:stop], largest first: runs of 1, 2, 4, … are merged."""
    width = 1
    while width < stop:
        for left in range(0, stop, 2 * width):
            merge(values, left, min(left + width, stop), min(left + 2 * width, stop), scratch)
        for i in range(stop):
            values[i] = scratch[i]
        width *= 2


@kernel
def merge(values: Floats, left: int, middle: int, right: int, scratch: Floats) -> None:
    """Merge values[left:middle] and values[middle:right] into scratch[left:right]."""
    one, two = left, middle
    for place in range(left, right):
        if two == right or (one < middle and values[one] >= values[two]):
            scratch[place] = values[one]
            one += 1
        else:
            scratch[place] = values[two]
            two += 1
