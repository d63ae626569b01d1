"""Random streams in plain int64 arithmetic, the same to the last bit interpreted and compiled.

The generator is MRG32k3a (L'Ecuyer 1999, "Good parameters and implementations for combined multiple recursive random
number generators"), period 2**191. A stream is its six integers; products stay below 2**53, so nothing overflows and no
unsigned type is needed. Streams start at hashed points; that two of them overlap is too unlikely to guard against.
"""

from typing import Final

import numpy as np

from boxthirding._checks import whole
from boxthirding._compile import kernel
from boxthirding.types import Ints

TIES: Final = 0
"""The one stream of a rule: ties, and everything else that it draws."""
ORDER: Final = 1
"""The stream of the random order in which the caller's arms get their numbers."""
REWARDS: Final = 2
"""The stream of simulated rewards."""
LATENCY: Final = 3
"""The stream of how long simulated workers take."""
EXAMPLES: Final = LATENCY
"""The stream that decides which examples arms see, in a session: that has no simulated workers."""

_PURPOSES = 4
_M1: Final = 4294967087
_M2: Final = 4294944443
_UNIT: Final = 1.0 / 4294967088.0  # 1 / (m1 + 1)
_WIDE: Final = 1 << 16  # from here on an integer takes two draws, so that its bias stays below 2**-37


def spawn(seed: int, first: int, count: int) -> Ints:
    """Return the streams of replicates first … first + count - 1, [count, 4, 6] by purpose.

    Replicate k's streams depend on the seed and on k alone.
    """
    root = np.random.SeedSequence(whole("seed", seed, least=0)).generate_state(2, np.uint64)
    lanes = _PURPOSES * 6
    counter = np.arange(first * lanes, (first + count) * lanes, dtype=np.uint64)
    words = _mixed(_mixed(counter + root[0]) ^ root[1]).reshape(count, _PURPOSES, 6)
    modulus = np.array([_M1, _M1, _M1, _M2, _M2, _M2], np.uint64)
    return (words % (modulus - np.uint64(1)) + np.uint64(1)).astype(np.int64)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Scramble 64-bit words one by one (the SplitMix64 finaliser of Steele, Lea, Flood 2014)."""
    words = words * np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


@kernel
def advance(stream: Ints) -> int:
    """Return the stream's next integer, uniform on 1 … m1."""
    p1 = (1403580 * int(stream[1]) - 810728 * int(stream[0])) % _M1
    stream[0] = stream[1]
    stream[1] = stream[2]
    stream[2] = p1
    p2 = (527612 * int(stream[5]) - 1370589 * int(stream[3])) % _M2
    stream[3] = stream[4]
    stream[4] = stream[5]
    stream[5] = p2
    z = p1 - p2
    return z if z > 0 else z + _M1


@kernel
def uniform(stream: Ints) -> float:
    """Return a number uniform on (0, 1), in steps of 2**-32."""
    return advance(stream) * _UNIT


@kernel
def below(stream: Ints, n: int) -> int:
    """Return an integer uniform on 0 … n - 1."""
    u = (advance(stream) - 1) / _M1
    if n > _WIDE:
        u = (u * _M1 + uniform(stream)) / _M1
    return min(int(u * n), n - 1)


@kernel
def shuffle(stream: Ints, items: Ints, start: int, stop: int) -> None:
    """Shuffle items[start:stop] in place (Fisher and Yates)."""
    for last in range(stop - 1, start, -1):
        other = start + below(stream, last - start + 1)
        items[last], items[other] = items[other], items[last]
