"""How true means may be distributed: a family of shapes, from a long lower tail to a long upper one.

A shape is a normal number z, bent: `bent(z, shape)` has mean 0, standard deviation 1 and about the shape's skewness. It
is the cube by which Wilson and Hilferty (1931) come close to a gamma distribution: its tail is that of a normal for
skew 0 and of an exponential for skew 2. A negative skew is the mirror image, whose upper end is bounded. A long upper
tail may also be a crowd below an end, as on a scale that has one: then the best are close together. Or all means lie
below an end, and their distance from it is a power of a uniform number: power 1 is the uniform distribution.
"""

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from boxthirding.types import Floats

_CROWDS: Final = (math.inf, 2.0, 1.0)  # where crowds may begin, each as plausible as the other


class Shape(NamedTuple):
    """A shape, whatever its centre and its width."""

    skew: float
    crowd: float = math.inf
    """Where the upper tail begins to be a crowd, in standard deviations above the average; infinite: nowhere."""
    power: float = 0.0  # by which means approach an end, the share of better arms to this power; 0: there is none


# Each shape that is thought possible, and how plausible it is before anything is known.
PLAUSIBLE: Final = {
    Shape(-1.0): 2,
    Shape(-0.5): 3,
    Shape(0.0): 4,
    **{Shape(0.5, crowd): 2 for crowd in _CROWDS},
    **{Shape(1.0, crowd): 2 for crowd in _CROWDS},
    **{Shape(1.5, crowd): 1 for crowd in _CROWDS},
    Shape(0.57, power=0.5): 1,
    Shape(0.0, power=1.0): 2,
    Shape(-0.64, power=2.0): 1,
}

ONE_IN_TEN: Final = 1.2815515594457831  # the z that a normal number exceeds once in ten, as a tenth of all arms do

_ROOM: Final = 1.5  # how far a crowd reaches, in units of how far above the average it begins
_REACH: Final = 4.5  # |z| of the outermost node
_NODES: Final = 91
_erfc: Final = np.vectorize(math.erfc, otypes=[float])


@lru_cache(maxsize=1)
def nodes() -> tuple[Floats, Floats]:
    """Return places z and their weights: sums over them are integrals over a normal distribution."""
    z = np.linspace(-_REACH, _REACH, _NODES)
    weights = np.exp(-z * z / 2)
    return z, weights / weights.sum()


def bent(z: Floats, shape: Shape) -> Floats:
    """Return the means, in standard deviations from their average, that belong to normal numbers.

    >>> [round(float(mean), 2) for mean in bent(np.array([-3.0, 0.0, 3.0]), Shape(1.0))]
    [-1.79, -0.16, 4.38]
    """
    centre, scale = _standard(shape)
    return (_raw(z, shape) - centre) / scale


def good_above_ordinary(shape: Shape) -> float:
    """Return how many standard deviations one of the best in ten is above the median."""
    ordinary, good = bent(np.array([0.0, ONE_IN_TEN]), shape).tolist()
    return float(good - ordinary)


@lru_cache(maxsize=32)
def _standard(shape: Shape) -> tuple[float, float]:
    """Return the mean and the standard deviation of a shape as `_raw` gives it."""
    z, weights = nodes()
    values = _raw(z, shape)
    centre = float(weights @ values)
    return centre, math.sqrt(float(weights @ (values - centre) ** 2))


def _raw(z: Floats, shape: Shape) -> Floats:
    if shape.power:
        ended: Floats = -((_erfc(z / math.sqrt(2)) / 2) ** shape.power)
        return ended
    if math.isinf(shape.crowd):
        return _cube(z, shape.skew)
    values, room = bent(z, Shape(shape.skew)), _ROOM * shape.crowd
    above = np.maximum(0.0, values - shape.crowd)
    crowded: Floats = np.minimum(values, shape.crowd) + room * -np.expm1(-above / room)
    return crowded


def _cube(z: Floats, skew: float) -> Floats:
    if skew == 0:
        return z
    if skew < 0:
        return -_cube(-z, -skew)
    size = 4 / skew**2  # the shape parameter of the gamma distribution
    cube: Floats = np.maximum(0.0, 1 - 1 / (9 * size) + z / (3 * math.sqrt(size))) ** 3
    return cube
