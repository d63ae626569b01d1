"""Claims of the paper: what each says, how it is decided, and the verdict."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from typing import Final

from boxthirding.lab.paper.evidence import Estimate, Evidence

ENOUGH: Final = 20
"""The fewest replicates for a verdict on simulated results: with fewer, the standard errors are too uncertain."""


class Verdict(Enum):
    """Whether a claim holds."""

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
        """Format the number, a percentage with one decimal.

        >>> print(Measurement("a loss", Estimate(36.4212, 0.5231), "%"))
        36.4 ± 0.5 %
        """
        if self.unit == "%":
            return f"{self.estimate.value:.1f} ± {self.estimate.error:.1f} %"
        return f"{self.estimate} {self.unit}".rstrip()


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim, the reason, and the numbers behind it."""

    verdict: Verdict
    reason: str
    measured: tuple[Measurement, ...]


@dataclass(frozen=True)
class Claim:
    """One claim of the paper."""

    key: str
    title: str
    says: str  # the paper's statement, in other words
    where: str  # the sections of the paper that make it
    rule: str  # how it is decided
    decide: Callable[[Evidence], Finding]
    exact: bool = False  # whether it is decided without simulations, whatever the number of replicates

    def finding(self, evidence: Evidence) -> Finding:
        """Return the verdict, or "too few to say" if there are too few replicates for one."""
        found = self.decide(evidence)
        least = evidence.least_replicates
        if self.exact or least >= ENOUGH:
            return found
        reason = f"{least} replicates are too few for a verdict: it takes {ENOUGH}. What they give: {found.reason}"
        return replace(found, verdict=Verdict.TOO_FEW, reason=reason)


def claim(
    title: str, says: str, where: str, rule: str, *, exact: bool = False
) -> Callable[[Callable[[Evidence], Finding]], Claim]:
    """Make a claim of the function that decides it; the name of the function is its key."""
    return lambda decide: Claim(decide.__name__.replace("_", "-"), title, says, where, rule, decide, exact)


exact_claim: Final = partial(claim, exact=True)  # makes a claim that is decided without simulations


def verdict_of(parts: list[bool]) -> Verdict:
    """Return the verdict on a claim of several parts: it holds if all do, in part if some do.

    >>> verdict_of([True, False])
    <Verdict.IN_PART: 'holds in part'>
    """
    if all(parts):
        return Verdict.HOLDS
    return Verdict.IN_PART if any(parts) else Verdict.FAILS


def listed(names: list[str]) -> str:
    """Join names with commas and "and".

    >>> listed(["poly", "equal", "square"])
    'poly, equal and square'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
