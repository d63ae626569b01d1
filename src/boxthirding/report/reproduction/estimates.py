"""Numbers with their standard errors, and when two of them differ clearly."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from boxthirding.types import Floats

CLEARLY: Final = 3.0
"""Two estimates differ clearly when they are so many combined standard errors apart."""


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

    @classmethod
    def share(cls, hits: int, of: int) -> "Estimate":
        """Return a share; its error is that of one hit more, so that 0 of many is not taken for certain."""
        smoothed = (hits + 1) / (of + 2)
        return cls(hits / of, math.sqrt(smoothed * (1 - smoothed) / of))

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
