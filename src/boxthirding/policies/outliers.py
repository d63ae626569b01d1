"""Results that are wildly off, found by the sums of their arm: one of them explains nearly all of its squares.

Sums cannot tell two such results apart, so an arm is looked at whenever results come in. What noise is usual is learned
from most arms, each with the same weight: an arm with wild results is pulled often. Rewards that are rare and honest,
such as one success in a thousand tries, must count, so nothing is judged where most arms show no noise at all.
"""

import math
from typing import Final, Protocol

from boxthirding._compile import kernel
from boxthirding.policies.noise import Noise, spread
from boxthirding.types import Ints

FAR: Final = 20.0  # standard deviations of a pull that are never noise
UNLIKE: Final = 10.0  # an arm's variance may be so many times that of all arms
ENOUGH: Final = 8  # arms with repeats that tell what noise is
SHARE: Final = 8  # at most one arm in so many is wild, and one result in so many of an arm, or its first


class Judged(Noise, Protocol):
    """A rule's own state, if it has this field too."""

    @property
    def aside(self) -> Ints:
        """[K] how many results of each arm were set aside, ever."""


@kernel
def may_be_wild(state: Judged, arm: int) -> bool:
    """Tell whether one more result of an arm may be set aside."""
    return state.pulls[arm] > max(1, SHARE * state.aside[arm])


@kernel
def is_wild(squares: float, times: int, variance: float) -> bool:
    """Tell whether the squares that `times` results have added cannot be noise of this variance."""
    return squares > (FAR * FAR + UNLIKE * times) * variance


@kernel
def usual_variance(state: Noise, arms: int) -> float:
    """Return a variance that the results of seven arms in eight do not exceed, to a factor of 2.

    0, while few arms have been pulled twice, and where results of most of them never differ.
    """
    low = math.inf
    high = 0.0
    repeated = 0
    noisy = 0
    for arm in range(arms):
        if state.pulls[arm] > 1:
            repeated += 1
            its = spread(state, arm, state.pulls[arm]) / (state.pulls[arm] - 1)
            if its > 0.0:
                noisy += 1
                low = min(low, its)
                high = max(high, its)
    if repeated < ENOUGH or 2 * noisy <= repeated:
        return 0.0
    while high > 2.0 * low:
        between = math.sqrt(low) * math.sqrt(high)
        above = 0
        for arm in range(arms):
            if state.pulls[arm] > 1 and spread(state, arm, state.pulls[arm]) > between * (state.pulls[arm] - 1):
                above += 1
        if SHARE * above <= repeated:
            high = between
        else:
            low = between
    return high


@kernel
def stray(mean: float, pulls: int, squares: float, expected: float) -> float:
    """Return the one result that adds so many squares to an arm, on the side of its mean where none is expected."""
    apart = math.sqrt(squares * (pulls - 1) / pulls)  # from the mean with it; squares are d² (n - 1) / n
    return mean + apart if mean > expected else mean - apart
