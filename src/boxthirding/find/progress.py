"""How a run says how far it is: on a display, or to a function of the caller's."""

import threading
import time
from collections.abc import Callable
from typing import Final

from boxthirding._progress import listener
from boxthirding._text import written
from boxthirding.find.budget import Account
from boxthirding.find.displays import Display, display
from boxthirding.find.interrupts import say_at_once
from boxthirding.find.words import measured, named
from boxthirding.session import Glance
from boxthirding.types import Progress

_TICK: Final = 0.5  # seconds after which the clock on a display moves by itself


def progress_of(account: Account, latest: Glance) -> Progress:
    """Return how far a run is, in the unit of its budget."""
    limits, seconds = account.limits, account.seconds
    done = {"pulls": account.pulls + account.elsewhere, "cost": account.cost, "seconds": seconds}[limits.unit]
    here = {"pulls": account.pulls, "cost": account.cost, "seconds": 0.0}[limits.unit]
    left = None
    if here > 0:  # by the pace at the last result; from there the clock counts down
        left = (limits.limit - done) * account.latest / here - (seconds - account.latest)
    if limits.seconds is not None:
        rest = max(0.0, limits.seconds - seconds)
        left = rest if left is None else min(left, rest)
    best = latest.recommendation
    note = "" if best is None else f"best so far {named(best.label)}, {measured(written(best.mean), best.pulls)}"
    return Progress(done, limits.limit, limits.unit, seconds, None if left is None else max(0.0, left), note)


class Reporter:
    """Says what happens in a run, if that is wanted.

    `progress` is a bool, or a function that is called with a `Progress` after each result: then nothing is shown.
    """

    def __init__(self, progress: bool | Callable[[Progress], None]) -> None:  # noqa: FBT001  # as in find_best
        self._function = None if isinstance(progress, bool) else listener(progress=progress)
        self._display: Display | None = display() if progress is True else None
        self._last = ""
        self._soon = ""  # to be said at the next tick
        self._next = 0.0  # when the bar may move again
        self._over = threading.Event()
        self._ticker: threading.Thread | None = None
        self._lock = threading.Lock()  # a forecast, and the clock, come from threads of their own

    @property
    def is_wanted(self) -> bool:
        """Whether sentences are shown."""
        return self._display is not None

    def say(self, *lines: str) -> None:
        """Show sentences."""
        with self._lock:
            if self._display is not None and not self._over.is_set() and lines:
                self._display.say(*lines)

    def say_once(self, line: str) -> None:
        """Show a sentence, unless it is empty or was the last of these."""
        if line and line != self._last:
            self.say(line)
        self._last = line

    def say_at_once(self, line: str) -> None:
        """Show a sentence without waiting for anything, as a signal handler must."""
        if self._ticker is not None and self._ticker.is_alive():
            self._soon = line
        else:
            say_at_once(line)

    def watch(self, look: Callable[[], Progress]) -> None:
        """Let the clock go on from now on, also while nothing comes in."""

        def tick() -> None:
            while not self._over.wait(_TICK):
                self._draw(look())
                line, self._soon = self._soon, ""
                if line:
                    self.say(line)

        self._draw(look())
        self._ticker = threading.Thread(target=tick, name="progress", daemon=True)
        self._ticker.start()

    def update(self, account: Account, latest: Glance) -> None:
        """Say how far the run is after a result."""
        if self._function is not None:
            self._function(progress_of(account, latest))
        elif self._display is not None and time.monotonic() >= self._next:
            self._draw(progress_of(account, latest))

    def end(self, progress: Progress, *lines: str) -> None:
        """Show the last sentences; nothing follows them."""
        self._stop()
        with self._lock:
            if self._display is not None:
                self._display.close(progress)
                self._display.say(*lines)
            self._display = None

    def close(self) -> None:
        """Show nothing more, wherever the run has ended."""
        self._stop()
        with self._lock:
            if self._display is not None:
                self._display.close(None)
            self._display = None

    def _draw(self, progress: Progress) -> None:
        with self._lock:
            if self._display is not None and not self._over.is_set():
                self._next = time.monotonic() + self._display.pause
                self._display.draw(progress)

    def _stop(self) -> None:
        self._over.set()
        if self._ticker is not None:
            self._ticker.join()
            self._ticker = None
