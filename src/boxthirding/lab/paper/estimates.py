"""Numbers with their standard errors, shares of runs, and when two of them differ clearly."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from boxthirding.types import Floats

CLEARLY: Final = 3.0
"""Two estimates differ clearly when they are so many combined standard errors apart."""

BY_CHANCE: Final = 0.00135
"""A share is clearly above or below a chance when that gives one as far off less often: as beyond three errors."""


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error, which is 0 for one that was computed exactly.

    >>> Estimate(0.5, 0.03).apart(Estimate(0.3, 0.04))
    4.0
    """

    value: float
    error: float = 0.0

    @classmethod
    def of(cls, values: Floats) -> "Estimate":
        """Return the mean of independent values."""
        spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
        return cls(float(np.mean(values)), spread / math.sqrt(len(values)))

    def apart(self, other: "Estimate") -> float:
        """Return the difference from another estimate in combined standard errors."""
        difference = self.value - other.value
        error = math.hypot(self.error, other.error)
        if error == 0:
            return math.copysign(math.inf, difference) if difference else 0.0
        return difference / error

    def clearly_above(self, other: "Estimate") -> bool:
        """Tell whether this is higher than another by more than chance explains."""
        return self.apart(other) > CLEARLY

    def __str__(self) -> str:
        """Write the number and its error to four decimals, as in the paper's tables.

        >>> str(Estimate(0.0487, 0.0004)), str(Estimate(3.0)), str(Estimate(0.5))
        ('0.0487 ± 0.0004', '3', '0.5')
        """
        if self.error:
            return f"{self.value:.4f} ± {self.error:.4f}"
        return f"{self.value:,.4g}" if abs(self.value) < 1e4 else f"{self.value:,.0f}"  # noqa: PLR2004  # no exponents


@dataclass(frozen=True)
class Share:
    """In how many of so many runs something happened.

    >>> Share(5, 100).clearly_above(1e-12), Share(0, 100).clearly_above(1e-12)
    (True, False)
    """

    hits: int
    of: int

    @property
    def estimate(self) -> Estimate:
        """The share; its error is that of one hit more, so that 0 of many is not taken for certain."""
        smoothed = (self.hits + 1) / (self.of + 2)
        return Estimate(self.hits / self.of, math.sqrt(smoothed * (1 - smoothed) / self.of))

    def clearly_above(self, chance: float) -> bool:
        """Tell whether so many hits or more hardly ever come if each run has at most this chance.

        The error of the share itself would not do: where hits should be next to impossible, a few are far too many.
        """
        return at_least(self.hits, self.of, chance) < BY_CHANCE

    def clearly_below(self, chance: float) -> bool:
        """Tell whether so many hits or fewer hardly ever come if each run has at least this chance."""
        return at_least(self.of - self.hits, self.of, 1 - chance) < BY_CHANCE


def at_least(hits: int, of: int, chance: float) -> float:
    """Return the exact probability of so many hits or more (the tail of a binomial law).

    >>> round(at_least(2, 3, 0.5), 12), at_least(0, 3, 0.0), at_least(1, 3, 0.0), at_least(3, 3, 1.0)
    (0.5, 1.0, 0.0, 1.0)
    """
    if hits <= 0 or chance >= 1:
        return 1.0
    if chance <= 0:
        return 0.0
    hit, miss, ways = math.log(chance), math.log1p(-chance), math.lgamma(of + 1)
    logs = (
        ways - math.lgamma(k + 1) - math.lgamma(of - k + 1) + k * hit + (of - k) * miss for k in range(hits, of + 1)
    )
    return min(1.0, math.fsum(map(math.exp, logs)))
