"""How true means may be distributed: a family of shapes, from a long lower tail to a long upper one.

A shape is a normal number z, bent: `bent(z, skew)` has mean 0, standard deviation 1 and about that skewness. It is the
cube by which Wilson and Hilferty (1931) come close to a gamma distribution: its tail is that of a normal for skew 0 and
of an exponential for skew 2. A negative skew is the mirror image, whose upper end is bounded.
"""

import math
from functools import lru_cache
from typing import Final

import numpy as np

from boxthirding.types import Floats

PLAUSIBLE: Final = {-1.0: 2, -0.5: 3, 0.0: 4, 0.5: 4, 1.0: 3, 1.5: 1}
"""Each skew that is thought possible, and how plausible it is before anything is known."""

ONE_IN_TEN: Final = 1.2815515594457831
"""The z that a tenth of all arms exceed."""

_REACH: Final = 4.5  # |z| of the outermost node
_NODES: Final = 91


@lru_cache(maxsize=1)
def nodes() -> tuple[Floats, Floats]:
    """Return places z and their weights: sums over them are integrals over a normal distribution."""
    z = np.linspace(-_REACH, _REACH, _NODES)
    weights = np.exp(-z * z / 2)
    return z, weights / weights.sum()


def bent(z: Floats, skew: float) -> Floats:
    """Return the means, in standard deviations from their average, that belong to normal numbers.

    >>> [round(float(mean), 2) for mean in bent(np.array([-3.0, 0.0, 3.0]), 1.0)]
    [-1.85, -0.17, 4.54]
    """
    centre, scale = _standard(skew)
    return (_cube(z, skew) - centre) / scale


def good_above_ordinary(skew: float) -> float:
    """Return how many standard deviations one of the best in ten is above the median."""
    ordinary, good = bent(np.array([0.0, ONE_IN_TEN]), skew).tolist()
    return float(good - ordinary)


@lru_cache(maxsize=32)
def _standard(skew: float) -> tuple[float, float]:
    z, weights = nodes()
    values = _cube(z, skew)
    centre = float(weights @ values)
    return centre, math.sqrt(float(weights @ (values - centre) ** 2))


def _cube(z: Floats, skew: float) -> Floats:
    if skew == 0:
        return z
    if skew < 0:
        return -_cube(-z, -skew)
    size = 4 / skew**2  # the shape parameter of the gamma distribution
    cube: Floats = np.maximum(0.0, 1 - 1 / (9 * size) + z / (3 * math.sqrt(size))) ** 3
    return cube
