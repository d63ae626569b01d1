"""How fast results come in, and how long each took, in memory that does not grow with them."""

from typing import Any, Final, NamedTuple

from boxthirding.study.events import Event, Told

_MINUTE: Final = 60
_KEPT: Final = 1440  # minutes with results whose number is kept
_BARS: Final = 96  # of a picture, at most
_WIDTHS: Final = (1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 1440)  # minutes of a bar, as people count them
_BIN: Final = 0.5  # seconds of a bin of response times
_BINS: Final = 240  # the last has no end
_LONGEST: Final = 1e9  # seconds, about 30 years
_TIMES: Final = 12  # bars of response times beside the last, which has no end
_FEWEST: Final = 3  # of them
_USUAL: Final = 0.95  # of the response times are in the bars before that
_TIME_WIDTHS: Final = (1, 2, 4, 10, 20)  # bins of a bar: half a second to ten


class Bars(NamedTuple):
    """Results by time: bars of equal width."""

    start: int  # when the first bar begins, in seconds since 1970
    minutes: int  # the width of a bar
    counts: tuple[int, ...]


class Times(NamedTuple):
    """Results by response time: bars of equal width, but for the last."""

    edges: tuple[float, ...]  # seconds at which each bar begins; the last one has no end
    counts: tuple[int, ...]


def seconds_of(event: Told) -> float | None:
    """Return how long a result took; None if its details, which may be any JSON, do not say."""
    seconds = (event.details or {}).get("seconds")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return float(seconds) if 0 <= seconds <= _LONGEST else None


class Pace:
    """Results by minute, and by the seconds that they took."""

    def __init__(self) -> None:
        self._minutes: dict[int, int] = {}
        self.seconds = [0] * _BINS  # results by half seconds, of those that say how long they took

    def add(self, event: Event) -> None:
        """Take in an event; only results matter."""
        if not isinstance(event, Told):
            return
        minute = int(event.at // _MINUTE)
        self._minutes[minute] = self._minutes.get(minute, 0) + 1
        if len(self._minutes) > _KEPT:
            del self._minutes[min(self._minutes)]
        seconds = seconds_of(event)
        if seconds is not None:
            self.seconds[int(min(seconds // _BIN, _BINS - 1))] += 1

    def save(self) -> list[Any]:
        """Return everything as plain values."""
        return [list(self._minutes.items()), self.seconds]

    def load(self, saved: list[Any]) -> None:
        """Go on from what was saved."""
        minutes, seconds = saved
        if len(seconds) != _BINS:
            raise ValueError(f"there are {len(seconds)} bins, but must be {_BINS}")
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

    def times(self) -> Times:
        """Return results by response time in at most 13 bars of equal width; the last has what took longer."""
        usual = self._below(_USUAL)
        if usual is None:
            return Times((), ())
        widths = (width for width in _TIME_WIDTHS if usual <= width * _BIN * _TIMES)
        width = next(widths, _TIME_WIDTHS[-1])
        longest = max(place for place, count in enumerate(self.seconds) if count)
        bars = min(_TIMES, max(_FEWEST, longest // width))
        counts = [sum(self.seconds[place * width : (place + 1) * width]) for place in range(bars)]
        edges = tuple([place * width * _BIN for place in range(bars + 1)])
        return Times(edges, (*counts, sum(self.seconds[bars * width :])))

    def median_seconds(self) -> float | None:
        """Return about the median response time: where half of them lie, within half a second."""
        return self._below(0.5)

    def _below(self, share: float) -> float | None:
        """Return about the seconds below which a share of the response times lies."""
        wanted, below = share * sum(self.seconds), 0
        for place, count in enumerate(self.seconds):
            if count and below + count >= wanted:
                return _BIN * (place + (wanted - below) / count)
            below += count
        return None
