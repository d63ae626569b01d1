"""Evidence for claims and figures: runs, the split of their errors, and estimates with standard errors."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from boxthirding.lab.error_split import ErrorSplit
from boxthirding.lab.paper.cases import Case
from boxthirding.lab.paper.exact_facts import ComputedFacts
from boxthirding.lab.results import Run
from boxthirding.lab.theory.complexity import good_arms
from boxthirding.types import Floats

CLEARLY: Final = 3.0  # two estimates differ clearly if they are further apart than this, in combined standard errors

BY_CHANCE: Final = 0.00135
"""A share differs clearly from a chance if that gives a share as far off less often, as for three standard errors."""

_SLACK = 1e-12  # a gap that is ε but for rounding is not above it


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
        """Return whether this is higher than another one by more than three combined standard errors."""
        return self.apart(other) > CLEARLY

    def __str__(self) -> str:
        """Format the number and its error with four decimals, as in the paper's tables.

        >>> str(Estimate(0.0487, 0.0004)), str(Estimate(3.0)), str(Estimate(0.5))
        ('0.0487 ± 0.0004', '3', '0.5')
        """
        if self.error:
            return f"{self.value:.4f} ± {self.error:.4f}"
        return f"{self.value:,.4g}" if abs(self.value) < 1e4 else f"{self.value:,.0f}"  # noqa: PLR2004  # no exponents


@dataclass(frozen=True)
class Share:
    """In how many runs something happened, of how many.

    >>> Share(5, 100).clearly_above(1e-12), Share(0, 100).clearly_above(1e-12)
    (True, False)
    """

    hits: int
    of: int

    @property
    def estimate(self) -> Estimate:
        """The share; its error is that of one more hit, so that 0 hits have an error."""
        smoothed = (self.hits + 1) / (self.of + 2)
        return Estimate(self.hits / self.of, math.sqrt(smoothed * (1 - smoothed) / self.of))

    def clearly_above(self, chance: float) -> bool:
        """Return whether as many hits or more are very unlikely if each run has at most this chance.

        The standard error would not do: where hits should be nearly impossible, a few are far too many.
        """
        return at_least(self.hits, self.of, chance) < BY_CHANCE

    def clearly_below(self, chance: float) -> bool:
        """Return whether as many hits or fewer are very unlikely if each run has at least this chance."""
        return at_least(self.of - self.hits, self.of, 1 - chance) < BY_CHANCE


def at_least(hits: int, of: int, chance: float) -> float:
    """Return the probability of at least this many hits, which are binomial.

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


@dataclass(frozen=True)
class Evidence:
    """Computed facts, the runs by case and SPEC, and the split of their errors by case, SPEC and ε."""

    facts: ComputedFacts
    cases: Mapping[str, Case]
    runs: Mapping[tuple[str, str], Run]
    splits: Mapping[tuple[str, str, float], ErrorSplit] = field(default_factory=dict)

    def title(self, case: str) -> str:
        """Return the title of a case."""
        return self.cases[case].title

    def pulls(self, case: str) -> list[int]:
        """Return the checkpoints of a case."""
        return [int(pulls) for pulls in self.runs[case, self.cases[case].policies[0]].checkpoints]

    @property
    def least_replicates(self) -> int:
        """The smallest number of replicates of a case."""
        return min(case.replicates for case in self.cases.values())

    def regrets(self, case: str, policy: str, pulls: int) -> Floats:
        """Return the regret of every replicate after a number of pulls, [R]."""
        run = self.runs[case, policy]
        return np.asarray(run.regret[:, int(np.flatnonzero(run.checkpoints == pulls)[0])])

    def regret(self, case: str, policy: str, pulls: int) -> Estimate:
        """Return the mean regret after a number of pulls."""
        return Estimate.of(self.regrets(case, policy, pulls))

    def good(self, case: str, eps: float) -> int:
        """Return how many arms of a case are ε-best."""
        return good_arms(self.cases[case].instance.means, eps)

    def failures(self, case: str, policy: str, pulls: int, eps: float) -> Share:
        """Return how often the recommended arm is more than ε from the best."""
        regrets = self.regrets(case, policy, pulls)
        return Share(int(np.count_nonzero(regrets > eps + _SLACK)), len(regrets))
