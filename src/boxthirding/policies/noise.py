"""How noisy a pull is, learned from arms that were pulled more than once: the pooled variance within arms.

Every arm has its own sums, counted from its first reward, so that a result can be taken out again and arms that are far
apart do not drown a small noise.

Outliers are found by these sums: one of them explains nearly all squares of its arm. Sums cannot
tell two such results apart, so an arm is looked at whenever results come in. What noise is usual is learned from most
arms, each with the same weight: an arm with outliers is pulled often. Rewards that are rare and honest, such as one
success in a thousand tries, must count, so nothing is judged where most arms show no noise at all.
"""

import math
from typing import Final, NamedTuple

from boxthirding._compile import kernel
from boxthirding.types import Floats, Ints

_REPEATS: Final = 60  # there will never be too few
_ROUNDING: Final = 2.0**-52  # of a sum, for each of its terms
_SPLIT: Final = 2.0**41 + 1.0  # leaves 12 bits of a float, so that squares of what is counted from it stay exact

FAR: Final = 20.0  # standard deviations of a pull that are never noise
UNLIKE: Final = 10.0  # an arm's variance may be at most ten times that of all arms
ENOUGH: Final = 8  # arms with repeats that tell what noise is
SHARE: Final = 8  # at most one arm in eight has an outlier, and one result in eight of an arm is one, or its first


class Noise(NamedTuple):
    """K arms of room."""

    base: Floats  # [K] what an arm's rewards are counted from
    apart: Floats  # [K] their distances from it, summed
    around: Floats  # [K] the squares of these distances, summed
    reach: Floats  # [K] the largest number that was added to or taken out of that sum: what is far smaller is rounding
    repeats: Ints  # [1] results of arms that had one before


@kernel
def learn(noise: Noise, arm: int, pulls: int, times: int, total: float, squares: float) -> None:
    """Add rewards of an arm with `pulls` results, given by their sums; negative sums remove rewards."""
    noise.repeats[0] += max(0, pulls + times - 1) - max(0, pulls - 1)
    if pulls == 0:
        noise.base[arm] = total if times == 1 else shortened(total / times)
        noise.apart[arm] = 0.0
        noise.around[arm] = 0.0
        noise.reach[arm] = 0.0
        if times == 1:
            return
    base = noise.base[arm]
    apart = total - times * base
    if times == 1 or times == -1:
        if abs(apart) <= (pulls + 1) * _ROUNDING * abs(total):  # the rewards were rounded, and that is no noise
            apart = 0.0
        squares = times * apart * apart
    else:
        noise.reach[arm] = max(noise.reach[arm], abs(squares))
        squares -= base * (2.0 * total - times * base)
    if times <= 0:
        noise.reach[arm] = max(noise.reach[arm], noise.around[arm])
    noise.apart[arm] += apart
    noise.around[arm] += squares


@kernel
def sigma(noise: Noise, pulls: Ints, arms: int) -> float:
    """Return the standard deviation of a pull of the first arms, which have these pulls; 0 while none has two."""
    within = 0.0
    for arm in range(arms):
        n = pulls[arm]
        if n > 1:
            within += spread(noise, arm, n)
    return math.sqrt(within / noise.repeats[0]) if noise.repeats[0] > 0 else 0.0


@kernel
def spread(noise: Noise, arm: int, pulls: int) -> float:
    """Return the sum of squared deviations of an arm's rewards from their mean, or 0 if it is only rounding error."""
    around = noise.around[arm]
    found = around - noise.apart[arm] * noise.apart[arm] / pulls
    return found if found > 4.0 * _ROUNDING * pulls * max(around, noise.reach[arm]) else 0.0


@kernel
def squares_of(noise: Noise, arm: int, pulls: int) -> float:
    """Return the sum of the squares of an arm's rewards."""
    base = noise.base[arm]
    return noise.around[arm] + base * (2.0 * noise.apart[arm] + pulls * base)


@kernel
def shortened(value: float) -> float:
    """Return a number to three or four decimal digits."""
    scaled = value * _SPLIT
    return scaled - (scaled - value)


@kernel
def too_few_repeats(repeats: int, told: int, in_flight: int) -> bool:
    """Return whether `told` pulls ask for one more repeat: one by 4 pulls, two by 8, three by 16, and so on."""
    repeats += in_flight
    return repeats < _REPEATS and told >> (repeats + 2) > 0


@kernel
def is_outlier(squares: float, times: int, variance: float) -> bool:
    """Return whether the squares that `times` results have added cannot be noise of this variance."""
    return squares > (FAR * FAR + UNLIKE * times) * variance


@kernel
def usual_variance(noise: Noise, pulls: Ints, arms: int) -> float:
    """Return a variance that the results of seven arms in eight do not exceed, to a factor of 2.

    0, while few arms have been pulled twice, and where results of most of them never differ.
    """
    low = math.inf
    high = 0.0
    repeated = 0
    noisy = 0
    for arm in range(arms):
        if pulls[arm] > 1:
            repeated += 1
            its = spread(noise, arm, pulls[arm]) / (pulls[arm] - 1)
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
            if pulls[arm] > 1 and spread(noise, arm, pulls[arm]) > between * (pulls[arm] - 1):
                above += 1
        if SHARE * above <= repeated:
            high = between
        else:
            low = between
    return high


@kernel
def outlier_value(mean: float, pulls: int, squares: float, expected: float) -> float:
    """Return the one result that adds this sum of squares to an arm, on the side of its mean away from `expected`."""
    apart = math.sqrt(squares * (pulls - 1) / pulls)  # from the mean with it; squares are d² (n - 1) / n
    return mean + apart if mean > expected else mean - apart
