"""How fast results come in, and how long each took, in memory that does not grow with them."""

from bisect import bisect_right
from typing import Any, Final, NamedTuple

from boxthirding.study.events import Event, Told

EDGES: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 64.0)
"""Seconds at which the bins of response times begin; the last one has no end."""

_MINUTE: Final = 60
_KEPT: Final = 1440  # minutes with results whose number is kept
_BARS: Final = 96  # of a picture, at most
_WIDTHS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440)  # minutes of a bar, as people count them


class Bars(NamedTuple):
    """Results by time: bars of equal width."""

    start: int
    """When the first bar begins, in seconds since 1970."""
    minutes: int
    """The width of a bar."""
    counts: tuple[int, ...]


class Pace:
    """Results by minute, and by the seconds that they took."""

    def __init__(self) -> None:
        self._minutes: dict[int, int] = {}
        self.seconds = [0] * len(EDGES)
        """Results by bin of `EDGES`, of those that say how long they took."""

    def add(self, event: Event) -> None:
        """Take in an event; only results matter."""
        if not isinstance(event, Told):
            return
        minute = int(event.at // _MINUTE)
        self._minutes[minute] = self._minutes.get(minute, 0) + 1
        if len(self._minutes) > _KEPT:
            del self._minutes[min(self._minutes)]
        seconds = (event.details or {}).get("seconds")
        if isinstance(seconds, int | float) and seconds >= 0:
            self.seconds[bisect_right(EDGES, seconds) - 1] += 1

    def save(self) -> list[Any]:
        """Return everything as plain values."""
        return [list(self._minutes.items()), self.seconds]

    def load(self, saved: list[Any]) -> None:
        """Go on from what was saved."""
        minutes, seconds = saved
        if len(seconds) != len(EDGES):
            raise ValueError(f"there are {len(seconds)} bins, but must be {len(EDGES)}")
        self._minutes, self.seconds = dict(minutes), seconds

    def minutes(self) -> list[tuple[int, int]]:
        """Return the latest minutes with results, counted from 1970, and how many results each had."""
        return sorted(self._minutes.items())

    def bars(self) -> Bars:
        """Return results by time in at most 96 bars, gaps included."""
        if not self._minutes:
            return Bars(0, 1, ())
        first, last = min(self._minutes), max(self._minutes)
        width = next((width for width in _WIDTHS if last // width - first // width < _BARS), _WIDTHS[-1])
        while last // width - first // width >= _BARS:
            width *= 2
        counts = [0] * (last // width - first // width + 1)
        for minute, count in self._minutes.items():
            counts[minute // width - first // width] += count
        return Bars(first // width * width * _MINUTE, width, tuple(counts))

    def median_seconds(self) -> float | None:
        """Return about the median response time: where half of them lie, within a bin of `EDGES`."""
        half = sum(self.seconds) / 2
        below = 0
        for place, count in enumerate(self.seconds):
            if count and below + count >= half:
                end = EDGES[place + 1] if place + 1 < len(EDGES) else 2 * EDGES[place]
                return EDGES[place] + (half - below) / count * (end - EDGES[place])
            below += count
        return None
