"""What a claim of the paper is here: what it says, how it is decided, and what came out."""

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Final

from boxthirding.lab.paper.estimates import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from boxthirding.lab.paper.evidence import Evidence

ENOUGH: Final = 20
"""Replicates from which on a verdict on what was simulated is given: with fewer, its standard errors are guesses."""


class Verdict(Enum):
    """Whether a claim holds, in plain words."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    TOO_FEW = "too few to say"

    @property
    def of_many(self) -> str:
        """Return the verdict on several claims.

        >>> Verdict.FAILS.of_many, Verdict.IN_PART.of_many
        ('do not hold', 'hold in part')
        """
        if self is Verdict.TOO_FEW:
            return "have too few replicates to say"
        return str(self.value).replace("holds", "hold").replace("does", "do")


@dataclass(frozen=True)
class Measurement:
    """One number that a claim is decided by."""

    what: str
    estimate: Estimate
    unit: str = ""

    def __str__(self) -> str:
        """Write the number as a reader wants it: of a percentage, one decimal.

        >>> print(Measurement("a loss", Estimate(36.4212, 0.5231), "%"))
        36.4 ± 0.5 %
        """
        if self.unit == "%":
            return f"{self.estimate.value:.1f} ± {self.estimate.error:.1f} %"
        return f"{self.estimate} {self.unit}".rstrip()


@dataclass(frozen=True)
class Finding:
    """What came out: the verdict, why, and the numbers behind it."""

    verdict: Verdict
    reason: str
    measured: tuple[Measurement, ...]


@dataclass(frozen=True)
class Claim:
    """One claim of the paper."""

    key: str
    title: str
    says: str
    """What the paper says, in our words."""
    where: str
    rule: str
    """How it is decided."""
    decide: "Callable[[Evidence], Finding]"
    exact: bool = False
    """Whether it is decided by what was computed, whatever the number of replicates."""

    def finding(self, evidence: "Evidence") -> Finding:
        """Return what came out, but no verdict on simulations that are too few for one."""
        found = self.decide(evidence)
        least = evidence.least_replicates
        if self.exact or least >= ENOUGH:
            return found
        reason = f"{least} replicates are too few for a verdict: it takes {ENOUGH}. What they give: {found.reason}"
        return replace(found, verdict=Verdict.TOO_FEW, reason=reason)


def verdict_of(parts: list[bool]) -> Verdict:
    """Return the verdict on a claim of several parts: all of them, some, or none.

    >>> verdict_of([True, False])
    <Verdict.IN_PART: 'holds in part'>
    """
    if all(parts):
        return Verdict.HOLDS
    return Verdict.IN_PART if any(parts) else Verdict.FAILS


def listed(names: list[str]) -> str:
    """Return names as a sentence lists them.

    >>> listed(["poly", "equal", "square"])
    'poly, equal and square'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
