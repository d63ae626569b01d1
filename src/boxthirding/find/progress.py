"""How a run says how far it is: sentences and a line on stderr, or a function of the caller's."""

import sys
import threading
from collections.abc import Callable

from boxthirding._progress import Line, listener
from boxthirding.find.budget import Account
from boxthirding.find.words import measured, named
from boxthirding.session import Glance
from boxthirding.types import Progress


class Reporter:
    """Says what happens in a run, if that is wanted.

    `progress` is a bool, or a function that is called with a `Progress`: then nothing is printed.
    """

    def __init__(self, progress: bool | Callable[[Progress], None]) -> None:  # noqa: FBT001  # as in find_best
        self._tell = listener(progress=progress)
        self._line = self._tell if isinstance(self._tell, Line) else None
        self._last = ""
        self._is_over = False
        self._lock = threading.Lock()  # a forecast may come from a thread of its own

    @property
    def is_wanted(self) -> bool:
        """Whether sentences are printed."""
        return self._line is not None

    def say(self, *lines: str) -> None:
        """Print sentences."""
        with self._lock:
            if self._line is not None and not self._is_over and lines:
                clear = "\r\x1b[K" if sys.stderr.isatty() else ""
                sys.stderr.write(clear + "".join(f"{line}\n" for line in lines))
                sys.stderr.flush()

    def say_once(self, line: str) -> None:
        """Print a sentence, unless it is empty or was the last of these."""
        if line and line != self._last:
            self.say(line)
        self._last = line

    def update(self, account: Account, latest: Glance) -> None:
        """Say how far the run is."""
        if self._tell is None:
            return
        limits, seconds = account.limits, account.seconds
        done = {"pulls": account.pulls + account.elsewhere, "cost": account.cost, "seconds": seconds}[limits.unit]
        here = {"pulls": account.pulls, "cost": account.cost, "seconds": seconds}[limits.unit]
        left = (limits.limit - done) * seconds / here if here > 0 else None
        if limits.seconds is not None:
            rest = max(0.0, limits.seconds - seconds)
            left = rest if left is None else min(left, rest)
        best = latest.recommendation
        note = "" if best is None else f"best so far {named(best.label)}, {measured(best.mean, best.pulls)}"
        with self._lock:
            self._tell(
                Progress(done, limits.limit, limits.unit, seconds, None if left is None else max(0.0, left), note)
            )

    def end(self, *lines: str) -> None:
        """Print the last sentences; nothing follows them."""
        self.say(*lines)
        with self._lock:
            self._is_over = True
