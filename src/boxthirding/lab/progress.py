"""What a sweep reports to its watchers, and how long it will still take."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from boxthirding import _compile
from boxthirding._progress import COMPILING
from boxthirding.types import Progress

if TYPE_CHECKING:
    from boxthirding.lab.runs import Run
    from boxthirding.lab.settings import Setting


class Watcher:
    """Hears of each setting of a sweep as it goes on; override what you want to hear. This one does nothing."""

    def found(self, setting: "Setting", replicates: int, seconds: float) -> None:
        """Hear of replicates that were saved before; they took so many seconds then."""

    def began(self, setting: "Setting") -> None:
        """Hear that a setting is next: its code is compiled now, if it must be."""

    def ended(self, setting: "Setting", replicates: int, seconds: float) -> None:
        """Hear of replicates that have just ended, and been saved."""

    def complete(self, setting: "Setting", run: "Run") -> None:
        """Hear that a setting has all its replicates."""


class Forecast(Watcher):
    """Says how much of a sweep is done and how long the rest will take.

    The work of a replicate is its budget. A policy's speed is what was measured of it, or before that, of the others;
    what runs side by side is seen in the clock, which stands still while code is compiled, before the first replicates
    of a setting.
    """

    def __init__(self, settings: "Iterable[Setting]", clock: Callable[[], float] = time.monotonic) -> None:
        self._left = {setting: setting.replicates for setting in settings}
        self._total = self._work_left()
        self._work: defaultdict[str, float] = defaultdict(float)  # by policy: pulls done
        self._seconds: defaultdict[str, float] = defaultdict(float)  # by policy: what they took
        self._clock = clock
        self._since: float | None = None  # when the clock last began to run; it stands still while code is compiled
        self._elapsed = 0.0  # seconds that it ran before
        self._busy = 0.0  # seconds of what has ended meanwhile

    @property
    def share(self) -> float:
        """How much of the work is done, from 0 to 1."""
        return 1.0 - self._work_left() / self._total if self._total else 1.0

    def progress(self, seconds: float, note: str = "") -> Progress:
        """Return how far the sweep is, in pulls."""
        return Progress(self._total - self._work_left(), self._total, "pulls", seconds, self.seconds_left(), note)

    def seconds_left(self) -> float | None:
        """Return how long the rest will take; nothing, while no replicate has ended."""
        if not self._work:
            return None
        usual = sum(self._seconds.values()) / sum(self._work.values())
        left = 0.0
        for setting, replicates in self._left.items():
            name = _name(setting)
            speed = self._seconds[name] / self._work[name] if name in self._work else usual
            left += replicates * setting.budget * speed
        return left * self._running() / self._busy if self._busy else left

    def found(self, setting: "Setting", replicates: int, seconds: float) -> None:
        """Count replicates that were saved before."""
        self._count(setting, replicates, seconds)

    def began(self, setting: "Setting") -> None:  # noqa: ARG002  # whichever it is, it may be compiled
        """Stop the clock until the first replicates have ended."""
        self._elapsed, self._since = self._running(), None

    def ended(self, setting: "Setting", replicates: int, seconds: float) -> None:
        """Count replicates that have just ended; the first after compiling only start the clock."""
        self._count(setting, replicates, seconds)
        if self._since is None:
            self._since = self._clock()
        else:
            self._busy += seconds

    def _count(self, setting: "Setting", replicates: int, seconds: float) -> None:
        self._left[setting] -= replicates
        self._work[_name(setting)] += replicates * setting.budget
        self._seconds[_name(setting)] += seconds

    def _running(self) -> float:
        """Return for how many seconds the clock has run."""
        return self._elapsed + (self._clock() - self._since if self._since is not None else 0.0)

    def _work_left(self) -> int:
        return sum(setting.budget * replicates for setting, replicates in self._left.items())


class Reporter(Forecast):
    """Tells a function how far a sweep is, whenever something begins or ends."""

    def __init__(
        self,
        settings: "Sequence[Setting]",
        tell: Callable[[Progress], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(settings, clock)
        self._tell = tell
        self._start = clock()
        many = len(settings)
        self._labels = {one: f"{one.policy} ({k} of {many})" for k, one in enumerate(settings, start=1)}

    def found(self, setting: "Setting", replicates: int, seconds: float) -> None:
        """Tell of replicates that were saved before."""
        super().found(setting, replicates, seconds)
        self._report(self._labels[setting])

    def began(self, setting: "Setting") -> None:
        """Tell that this may take a moment."""
        super().began(setting)
        label = self._labels[setting]
        note = f"{label}: {COMPILING}" if _compile.available() else label
        self._tell(replace(self.progress(self._clock() - self._start, note), seconds_left=None))

    def ended(self, setting: "Setting", replicates: int, seconds: float) -> None:
        """Tell of replicates that have just ended."""
        super().ended(setting, replicates, seconds)
        self._report(self._labels[setting])

    def _report(self, note: str) -> None:
        self._tell(self.progress(self._clock() - self._start, note))


def _name(setting: "Setting") -> str:
    return setting.spec.partition(":")[0]
