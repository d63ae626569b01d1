"""Regrets relative to those of another policy, paired replicate by replicate, with confidence intervals.

Replicate k meets the arms in the same order under every policy, and one run may be read in several cells. Both make
regrets depend on each other, so an interval looks at replicates as wholes: what each of them moves the result by, over
all cells and both policies, is one number, and the spread of these numbers is the error.
"""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from boxthirding.types import Floats

ADDED: Final = 0.001
"""Added to both regrets of a ratio: two policies that hardly ever err are alike, however small their regrets."""


@dataclass(frozen=True)
class Ratio:
    """A ratio of mean regrets, or the geometric mean of several, with the standard error of its logarithm.

    >>> low, high = Ratio(2.0, 0.1).interval(0.95)
    >>> round(low, 3), round(high, 3)
    (1.644, 2.433)
    """

    value: float
    log_error: float

    def interval(self, level: float) -> tuple[float, float]:
        """Return the confidence interval of this level."""
        reach = NormalDist().inv_cdf((1 + level) / 2) * self.log_error
        return self.value * math.exp(-reach), self.value * math.exp(reach)


def paired(regrets: Floats, reference: Floats) -> Ratio:
    """Return the geometric mean over cells of the ratio of mean regrets; both are [R replicates, C cells].

    The error is that of the delta method: replicate k moves the logarithm of a cell's ratio by a / A - b / B, where a
    and b are its regrets and A and B their means with `ADDED`.
    """
    ours, theirs = regrets.mean(axis=0) + ADDED, reference.mean(axis=0) + ADDED
    moved = (regrets / ours - reference / theirs).mean(axis=1)  # [R]
    value = math.exp(float(np.mean(np.log(ours / theirs))))
    return Ratio(value, float(np.std(moved, ddof=1)) / math.sqrt(len(moved)))
