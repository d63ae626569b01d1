"""From simulated runs to figures: an expectation, and a band for what is not known."""

import math
from typing import Final

import numpy as np

from boxthirding.types import Floats

NINE_IN_TEN: Final = 0.9
_EDGE: Final = 1.2815515594457831  # a normal number lies within ± this in 8 of 10 cases
_WIDEST: Final = 5.99  # below 6 whatever rounding does


def mean_and_doubt(values: Floats) -> tuple[float, float]:
    """Return the mean of runs, [D, R], and the standard deviation of what it is under the belief that is true.

    Runs under one belief scatter by chance, which is no doubt about their mean: only what sets the beliefs apart
    beyond it counts, and the chance that is left in the overall mean.
    """
    there = values[:, ~np.isnan(values[0])]
    draws, runs = there.shape
    means = there.mean(axis=1)
    within = float(there.var(axis=1, ddof=1).mean()) / runs if runs > 1 else 0.0
    between = float(means.var(ddof=1)) if draws > 1 else 0.0
    doubt = max(0.0, between - within) + max(between, within) / draws
    return float(means.mean()), math.sqrt(doubt)


def sizes(values: Floats) -> list[tuple[float, float]]:
    """Return the mean of runs and its doubt at each budget, [D, R, S].

    Doubt relative to the mean rises with the budget, but for chance, and is made to: with few runs it is the least
    certain figure of all.
    """
    pairs = [mean_and_doubt(values[:, :, place]) for place in range(values.shape[2])]
    relative = rising(np.array([(doubt / mean) ** 2 if mean > 0 else 0.0 for mean, doubt in pairs]))
    return [(mean, mean * math.sqrt(share)) for (mean, _), share in zip(pairs, relative.tolist(), strict=True)]


def band_of_size(mean: float, doubt: float) -> tuple[float, float]:
    """Return the middle 80 % of what a quantity above 0 may be, as if its logarithm were normal.

    The upper end is at most 6 times the lower one: beyond that a band says nothing, and its ends are the least certain.

    >>> [round(edge, 2) for edge in band_of_size(1.0, 0.5)]
    [0.49, 1.64]
    """
    if mean <= 0:
        return 0.0, 0.0
    width = min(math.sqrt(math.log1p((doubt / mean) ** 2)), math.log(_WIDEST) / (2 * _EDGE))
    middle = mean * math.exp(-(width**2) / 2)
    return middle * math.exp(-_EDGE * width), middle * math.exp(_EDGE * width)


def band_of_chance(chance: float, doubt: float) -> tuple[float, float]:
    """Return the middle 80 % of what a chance may be.

    >>> band_of_chance(0.9, 0.5)[1]
    1.0
    """
    return max(0.0, chance - _EDGE * doubt), min(1.0, chance + _EDGE * doubt)


def rising(values: Floats) -> Floats:
    """Return the rising numbers nearest to some that should rise, but for chance (pool adjacent violators).

    >>> rising(np.array([1.0, 3.0, 2.0, 4.0])).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    blocks: list[tuple[float, int]] = []
    for value in values.tolist():
        mean, size = value, 1
        while blocks and blocks[-1][0] > mean:
            before, length = blocks.pop()
            mean, size = (mean * size + before * length) / (size + length), size + length
        blocks.append((mean, size))
    return np.concatenate([np.full(size, mean) for mean, size in blocks])
