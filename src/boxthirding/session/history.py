"""What the answer was over time, thinned so that its memory stays small however long a run is."""

from typing import Any, Final, NamedTuple

from boxthirding.types import Label

_APART: Final = 100  # moments lie at least a hundredth of the results apart
_PAUSE: Final = 20  # one is due when there are a twentieth more results


class Moment(NamedTuple):
    """What the answer was at some moment."""

    results: int
    """Results by then, also those that do not count."""
    label: Label
    """The best arm then."""
    mean: float
    """Of that arm, then."""
    tried: int
    """Arms with a result by then."""
    at: float | None
    """When, in seconds since 1970; None in a session, which reads no clock for it."""


class History:
    """The moments that are kept: at most 900 for 100,000 results, and seventy more for twice as many."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self.due = 1
        """The number of results at which the next moment is kept, even if the answer is the same."""
        self.since: Moment | None = None
        """The moment at which the present answer became that."""

    def add(self, results: int, label: Label, mean: float, tried: int, at: float | None) -> None:
        """Keep a moment if its answer or mean differs from the last one's, or if one is due.

        It replaces the last one, if that is close to the one before it.
        """
        moments = self.moments
        if results < self.due and moments[-1].label == label and moments[-1].mean == mean:
            return
        moment = Moment(results, label, mean, tried, at)
        if self.since is None or self.since.label != label:
            self.since = moment
        if moments and (moments[-1].results == results or self._is_last_close()):
            moments.pop()
        moments.append(moment)
        self.due = results + max(1, results // (_APART if self._is_last_close() else _PAUSE))  # a close one may go

    def save(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        return {"moments": self.moments, "due": self.due, "since": self.since}

    def load(self, saved: dict[str, Any]) -> None:
        """Restore what was saved."""
        self.moments = [Moment(*moment) for moment in saved["moments"]]
        self.due = saved["due"]
        self.since = None if saved["since"] is None else Moment(*saved["since"])

    def _is_last_close(self) -> bool:
        """Return whether the last moment is so close to the one before it that the next may replace it."""
        if len(self.moments) < 2:  # noqa: PLR2004  # a last one and the one before
            return False
        before, last = self.moments[-2].results, self.moments[-1].results
        return last - before < last // _APART
