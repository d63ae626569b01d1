"""New pulls for the arms that look best: means that owe nothing to selection, with intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from boxthirding._text import counted, writer
from boxthirding.find.intervals import CONFIDENCE, MeanInterval, ScoreNoise, spread_of
from boxthirding.find.summary import dataframe, format_arms, row
from boxthirding.session import Ticket
from boxthirding.types import Label

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Confirmed:
    """An arm with new, independent results."""

    label: Label
    mean: float | None
    """Of the fresh pulls only."""
    low: float | None
    high: float | None
    pulls: int
    difference: MeanInterval | None
    """The arm less the best one of the search, example by example; None without examples, and for that one itself."""
    arm: Any
    """The arm as it was given."""


@dataclass(frozen=True, repr=False)
class Confirmation:
    """The best arms of a search, evaluated again; in the order of the search, so that selection biases no mean."""

    arms: tuple[Confirmed, ...]
    failures: int
    """Evaluations that failed and are left out."""
    seen: int
    """How many pulls of each arm may be on examples that the search has seen: there were no others."""

    def unpaired(self) -> "Confirmation":
        """Return the same without a comparison pull by pull, for pulls that have nothing in common."""
        return Confirmation(tuple([replace(arm, difference=None) for arm in self.arms]), self.failures, 0)

    def to_dataframe(self) -> "pd.DataFrame":
        """Return a pandas DataFrame with a row for each arm.

        Its columns are `label`, `mean`, `low`, `high` and `pulls`, with examples also `difference`, `difference_low`
        and `difference_high`; arms that are not their labels have columns as in `Found.to_dataframe`.
        """
        is_paired = any(arm.difference is not None for arm in self.arms)
        table = []
        for arm in self.arms:
            measured = {name: getattr(arm, name) for name in ("mean", "low", "high", "pulls")}
            if is_paired:
                names = ("difference", "difference_low", "difference_high")
                measured |= zip(names, arm.difference or MeanInterval(None, None, None), strict=True)
            table.append(row(arm.label, arm.arm, measured))
        return dataframe(table)

    def __repr__(self) -> str:
        head = f"Confirmed with fresh pulls, {100 * CONFIDENCE:g} % intervals, in the order of the search:"
        return "\n".join([head, *self.lines(format_arms((arm.label, arm.arm) for arm in self.arms))])

    def lines(self, names: Sequence[str]) -> list[str]:
        """Return a line for each arm, under these names, and one for each thing to know about them."""
        lines, width = [], max(map(len, names))
        write = writer(end for arm in self.arms for end in (arm.mean, arm.low, arm.high))
        less = writer(end for arm in self.arms for end in arm.difference or ())
        for name, arm in zip(names, self.arms, strict=True):
            line = f"  {name:{width}}  {_format_interval(MeanInterval(arm.mean, arm.low, arm.high), write)}"
            line += f", {counted(arm.pulls, 'pull')}"
            if arm.difference is not None:
                line += f"; less the first {_format_interval(arm.difference, less)}"
            lines.append(line)
        if self.failures:
            lines.append(
                f"  {counted(self.failures, 'evaluation')} failed and {'is' if self.failures == 1 else 'are'} left out"
            )
        if self.seen:
            lines.append(
                f"  {counted(self.seen, 'pull')} of each arm may be on examples of the search: there were no others"
            )
        return lines


class FreshPulls:
    """Tickets for a few arms, the same number of pulls for each, pull by pull: what a search asks when it confirms."""

    def __init__(self, arms: Sequence[tuple[Label, Any]], pulls: Sequence[int], before: ScoreNoise) -> None:
        self._arms, self._pulls, self._before = arms, pulls, before  # `before`: of the scores of the search
        self._total = len(pulls) * len(arms)
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
        """Return False: nothing limits fresh pulls."""
        return False

    def reason_to_wait(self, *, room: bool) -> str:  # noqa: ARG002  # as in TicketSource
        """Return an empty string: no one else has any of the pulls."""
        return ""

    def confirmation(self, *, paired: bool, failures: int, seen: int) -> Confirmation:
        """Return what has come in."""
        labels = [label for label, _ in self._arms]
        scores = {label: [*rewards.values()] for label, rewards in zip(labels, self.rewards, strict=True)}
        noise = ScoreNoise(spread_of(scores, self._before.spread), self._before.scale)
        differences = self._differences(noise) if paired else {}
        arms = [
            Confirmed(label, *noise.interval(noise.spread.arms[label]), len(scores[label]), differences.get(label), arm)
            for label, arm in self._arms
        ]
        return Confirmation(tuple(arms), failures, seen)

    def _differences(self, noise: ScoreNoise) -> dict[Label, MeanInterval]:
        """Return by label how far each arm is above the first on the examples that both have seen."""
        best, *others = self.rewards
        both = {
            label: [rewards[pull] - best[pull] for pull in rewards if pull in best]
            for (label, _), rewards in zip(self._arms[1:], others, strict=True)
        }
        spread = spread_of(both)
        if spread.squares == 0 and 0 in (spread.answers or ()):  # an arm agrees with the first: as noisy as scores
            spread = spread._replace(squares=noise.spread.squares, freedom=noise.spread.freedom)
        less = noise.of_differences(spread)
        return {label: less.interval(scores) for label, scores in less.spread.arms.items()}

    def _ticket(self, number: int) -> Ticket:
        pull, arm = divmod(number, len(self._arms))
        label, payload = self._arms[arm]
        return Ticket(number, arm, label, self._pulls[pull], payload)


def _format_interval(estimate: MeanInterval, write: Callable[[float], str]) -> str:
    if estimate.mean is None:
        return "no result"
    if estimate.low is None or estimate.high is None:
        return write(estimate.mean)
    return f"{write(estimate.mean)} ({write(estimate.low)} to {write(estimate.high)})"
