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


class Row(NamedTuple):
    """A moment, with the arm's number."""

    results: int
    arm: int
    mean: float
    tried: int
    at: float | None


class History:
    """The moments that are kept: at most 900 for 100,000 results, and seventy more for twice as many."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.due = 1
        """How many results there are when the next moment is to be kept, though the answer be the same."""
        self.since: Row | None = None
        """The moment at which the present answer became that."""

    def is_news(self, results: int, arm: int, mean: float) -> bool:
        """Tell whether an answer is another one than the last, or has another mean, or a while has passed."""
        if results >= self.due:
            return True
        last = self.rows[-1]
        return last.arm != arm or last.mean != mean

    def keep(self, row: Row) -> None:
        """Keep a moment, in the place of the last one if that is close to the one before it."""
        if self.since is None or self.since.arm != row.arm:
            self.since = row
        if self.rows and (self.rows[-1].results == row.results or self._is_close()):
            self.rows.pop()
        self.rows.append(row)
        self.due = row.results + max(1, row.results // (_APART if self._is_close() else _PAUSE))  # a close one may go

    def save(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        return {"rows": self.rows, "due": self.due, "since": self.since}

    def load(self, saved: dict[str, Any]) -> None:
        """Go on from what was saved."""
        self.rows = [Row(*row) for row in saved["rows"]]
        self.due = saved["due"]
        self.since = None if saved["since"] is None else Row(*saved["since"])

    def _is_close(self) -> bool:
        """Tell whether the last moment is so close to the one before it that the next may stand in its place."""
        if len(self.rows) < 2:  # noqa: PLR2004  # a last one and the one before
            return False
        before, last = self.rows[-2].results, self.rows[-1].results
        return last - before < last // _APART
