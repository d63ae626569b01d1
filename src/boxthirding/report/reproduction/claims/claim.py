"""What a claim of the paper is here: what it says, how it is decided, and what came out."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from boxthirding.report.reproduction.estimates import Estimate

if TYPE_CHECKING:
    from collections.abc import Callable

    from boxthirding.report.reproduction.evidence import Evidence


class Verdict(Enum):
    """Whether a claim holds, in plain words."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"

    @property
    def of_many(self) -> str:
        """Return the verdict on several claims.

        >>> Verdict.FAILS.of_many, Verdict.IN_PART.of_many
        ('do not hold', 'hold in part')
        """
        return self.value.replace("holds", "hold").replace("does", "do")


@dataclass(frozen=True)
class Measurement:
    """One number that a claim is decided by."""

    what: str
    estimate: Estimate
    unit: str = ""


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
