"""New pulls for the arms that look best: means that owe nothing to selection, with intervals."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from boxthirding._text import counted, writer
from boxthirding.find.words import arm_in_words
from boxthirding.session import Ticket
from boxthirding.types import Label

CONFIDENCE: Final = 0.95
_ENOUGH = 2  # values, below which there is no interval
_LARGE = 2_000  # degrees of freedom; beyond, the quantile changes in its fourth digit only


class Interval(NamedTuple):
    """An estimate and the interval around it; without enough values the ends are None."""

    mean: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Confirmed:
    """An arm measured afresh."""

    label: Label
    mean: float | None
    """Of the fresh pulls only."""
    low: float | None
    high: float | None
    pulls: int
    difference: Interval | None
    """The arm less the best one of the search, example by example; None without examples, and for that one itself."""
    arm: Any
    """The arm as it was given."""


@dataclass(frozen=True, repr=False)
class Confirmation:
    """The best arms of a search, measured afresh: in the order of the search, so that no mean is a selected one."""

    arms: tuple[Confirmed, ...]
    failures: int
    """Evaluations that failed and are left out."""
    seen: int
    """How many of the examples each arm was measured on may have been seen in the search: there were no others."""

    def __repr__(self) -> str:
        names = [arm_in_words(arm.label, arm.arm) for arm in self.arms]
        width = max(map(len, names))
        lines = [f"Confirmed with fresh pulls, {100 * CONFIDENCE:g} % intervals, in the order of the search:"]
        write = writer(end for arm in self.arms for end in (arm.mean, arm.low, arm.high))
        less = writer(end for arm in self.arms for end in arm.difference or ())
        for name, arm in zip(names, self.arms, strict=True):
            line = f"  {name:{width}}  {_shown(Interval(arm.mean, arm.low, arm.high), write)}"
            line += f", {counted(arm.pulls, 'pull')}"
            if arm.difference is not None:
                line += f"; less the first {_shown(arm.difference, less)}"
            lines.append(line)
        if self.failures:
            lines.append(
                f"  {counted(self.failures, 'evaluation')} failed and {'is' if self.failures == 1 else 'are'} left out"
            )
        if self.seen:
            lines.append(
                f"  {counted(self.seen, 'example')} of each arm may have been seen in the search: there were no others"
            )
        return "\n".join(lines)


class FreshPulls:
    """Tickets for a few arms, the same number of pulls for each, pull by pull: what a search asks when it confirms."""

    def __init__(self, arms: Sequence[tuple[Label, Any]], first: int, pulls: int) -> None:
        self._arms, self._first = arms, first
        self._total = pulls * len(arms)
        self._issued = 0
        self.rewards: list[dict[int, float]] = [{} for _ in arms]  # by arm, by pull

    def ask(self, n: int = 1) -> list[Ticket]:
        """Return up to n tickets."""
        begin, self._issued = self._issued, min(self._total, self._issued + n)
        return [self._ticket(number) for number in range(begin, self._issued)]

    def tell(self, ticket: int | Ticket, reward: float) -> None:
        """Keep a reward."""
        pull, arm = divmod(ticket.id if isinstance(ticket, Ticket) else ticket, len(self._arms))
        self.rewards[arm][pull] = reward

    def fail(self, ticket: int | Ticket) -> None:
        """Leave the pull out."""

    def is_known(self) -> bool:
        """Return False: fresh pulls are of no limited kind."""
        return False

    def confirmation(self, *, paired: bool, failures: int, seen: int) -> Confirmation:
        """Return what has come in."""
        best = self.rewards[0]
        arms = []
        for number, (label, arm) in enumerate(self._arms):
            rewards = self.rewards[number]
            both = [rewards[pull] - best[pull] for pull in rewards if pull in best]
            difference = interval(both) if paired and number > 0 else None
            arms.append(Confirmed(label, *interval(list(rewards.values())), len(rewards), difference, arm))
        return Confirmation(tuple(arms), failures, seen)

    def _ticket(self, number: int) -> Ticket:
        pull, arm = divmod(number, len(self._arms))
        label, payload = self._arms[arm]
        return Ticket(number, arm, label, self._first + pull, payload)


def interval(values: Sequence[float]) -> Interval:
    """Return the mean and Student's interval around it."""
    n = len(values)
    if n == 0:
        return Interval(None, None, None)
    mean = math.fsum(values) / n
    if n < _ENOUGH:
        return Interval(mean, None, None)
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    half = student(n - 1) * math.sqrt(variance / n)
    return Interval(mean, mean - half, mean + half)


@lru_cache(maxsize=4096)
def student(freedom: int) -> float:
    """Return the two-sided quantile of Student's t at the confidence level, by bisection.

    >>> round(student(1), 3), round(student(9), 3)
    (12.706, 2.262)
    """
    freedom = min(freedom, _LARGE)
    low, high = 0.0, math.pi / 2  # of the angle whose tangent is t/√n
    while (angle := (low + high) / 2) not in (low, high):
        low, high = (angle, high) if _within(angle, freedom) < CONFIDENCE else (low, angle)
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """Return the chance that |t| is at most √n tan(angle): a finite sum (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    cosine, odd = math.cos(angle), freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


def _shown(estimate: Interval, write: Callable[[float], str]) -> str:
    if estimate.mean is None:
        return "no result"
    if estimate.low is None or estimate.high is None:
        return write(estimate.mean)
    return f"{write(estimate.mean)} ({write(estimate.low)} to {write(estimate.high)})"
