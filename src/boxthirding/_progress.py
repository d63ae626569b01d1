"""What `progress=` means wherever it is an argument: nothing, a line on stderr, or a function of yours."""

import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from boxthirding.errors import InvalidInput
from boxthirding.types import Progress

EVERY: Final = 30.0
"""Seconds between two lines where there is no terminal; the first comes after as many."""

_PAUSE: Final = 0.1  # seconds between two updates of a line on a terminal
_MINUTE: Final = 60
_HOUR: Final = 3600


def listener(*, progress: bool | Callable[[Progress], None]) -> Callable[[Progress], None] | None:
    """Return the function that hears of progress; None, if nobody wants to.

    >>> listener(progress=False) is None, listener(progress=print) is print
    (True, True)
    """
    if isinstance(progress, bool):
        return Line() if progress and sys.stderr is not None else None  # a program without a console has none
    if not callable(progress):
        raise InvalidInput(f"progress is {progress!r}, but must be True, False or a function that takes a Progress")
    return progress


class Line:
    """A line on stderr: on a terminal one that is kept up to date, elsewhere a new one now and then."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._next = 0.0 if self._live else time.monotonic() + EVERY

    def __call__(self, progress: Progress) -> None:
        """Say how far it is, if it is time."""
        ended = progress.done == progress.total
        if time.monotonic() < self._next and not (self._live and ended):
            return
        self._next = time.monotonic() + (_PAUSE if self._live else EVERY)
        if not self._live:
            sys.stderr.write(f"{in_words(progress)}\n")
        elif ended:
            sys.stderr.write("\r\x1b[K")
        else:
            sys.stderr.write(f"\r{fitted(progress, shutil.get_terminal_size().columns - 1)}\x1b[K")
        sys.stderr.flush()


def in_words(progress: Progress) -> str:
    """Return how far something is as a person would say it.

    >>> in_words(Progress(3, 4, "pulls", seconds=6.0, seconds_left=2.0, note="b3"))
    'b3: 75 % done, about 2 s left'
    >>> in_words(Progress(3, None, "pulls", seconds=6.0, seconds_left=None))
    '3 pulls done'
    """
    note = f"{progress.note}: " if progress.note else ""
    share = progress.share
    done = f"{progress.done:,.0f} {progress.unit} done" if share is None else f"{100 * share:.0f} % done"
    left = "" if progress.seconds_left is None else f", {left_in_words(progress.seconds_left)}"
    return f"{note}{done}{left}"


def fitted(progress: Progress, width: int) -> str:
    """Return how far something is in one line of a screen; a note that has no room is cut off at its end.

    >>> fitted(Progress(3, 4, "pulls", seconds=6.0, seconds_left=2.0, note="a note that is long"), 40)
    '75 % done, about 2 s left; a note that i'
    """
    text = in_words(progress)
    if len(text) <= width or not progress.note:
        return text[:width]
    return f"{in_words(replace(progress, note=''))}; {progress.note}"[:width]


def left_in_words(seconds: float) -> str:
    """Return a time to wait as a person would say it.

    >>> left_in_words(0.1), left_in_words(100), left_in_words(9_000)
    ('about 1 s left', 'about 2 min left', 'about 2.5 h left')
    """
    if seconds < _MINUTE:
        return f"about {max(1, round(seconds))} s left"
    if seconds < _HOUR:
        return f"about {round(seconds / _MINUTE)} min left"
    return f"about {seconds / _HOUR:.1f} h left"
