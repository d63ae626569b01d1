"""What `progress=` means wherever it is an argument: nothing, a bar on stderr, or a function of yours."""

import shutil
import sys
import time
from collections.abc import Callable
from typing import Final

from boxthirding._text import written
from boxthirding.errors import InvalidInput
from boxthirding.types import Progress

EVERY: Final = 30.0
"""Seconds between two lines where there is no terminal; the first comes after as many."""

COMPILING: Final = "compiling (first run only)"
"""How a note ends while code is compiled, which is no part of what is counted, and of unknown length."""

CLEAR: Final = "\r\x1b[K"
"""What clears a line of a terminal."""

_PAUSE: Final = 0.1  # seconds between two updates of a line on a terminal
_BAR: Final = 20  # letters of a bar
_WIDE: Final = 100  # columns, below which it is half as long
_MINUTE: Final = 60
_HOUR: Final = 3600


def listener(*, progress: bool | Callable[[Progress], None]) -> Callable[[Progress], None] | None:
    """Return the function that is told of progress; None without one.

    >>> listener(progress=False) is None, listener(progress=print) is print
    (True, True)
    """
    if isinstance(progress, bool):
        return Line() if progress and sys.stderr is not None else None  # a program without a console has none
    if not callable(progress):
        raise InvalidInput(f"progress is {progress!r}, but must be True, False or a function that takes a Progress")
    return progress


class Line:
    """A bar in one line on stderr where that is a terminal; elsewhere a line of words now and then."""

    def __init__(self) -> None:
        self.is_live = sys.stderr.isatty()
        self._next = 0.0 if self.is_live else time.monotonic() + EVERY

    def __call__(self, progress: Progress) -> None:
        """Say how far it is, if it is time."""
        ended = progress.done == progress.total
        if time.monotonic() < self._next and not (self.is_live and ended):
            return
        self._next = time.monotonic() + (_PAUSE if self.is_live else EVERY)
        if not self.is_live:
            sys.stderr.write(f"{in_words(progress)}\n")
        elif ended:
            sys.stderr.write(CLEAR)
        else:
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r{fitted(progress, width, *_letters(sys.stderr.encoding))}\x1b[K")
        sys.stderr.flush()


def in_words(progress: Progress) -> str:
    """Return how far something is as a person would say it.

    >>> in_words(Progress(3, 4, "pulls", seconds=6.0, seconds_left=2.0, note="b3"))
    '75 % done, 6 s elapsed, about 2 s left; b3'
    >>> in_words(Progress(3, None, "pulls", seconds=6.0, seconds_left=None))
    '3 pulls done, 6 s elapsed'
    >>> in_words(Progress(0, 4, "pulls", seconds=6.0, seconds_left=None, note="b3: compiling (first run only)"))
    'b3: compiling (first run only), 6 s elapsed'
    """
    if is_compiling(progress):
        return f"{progress.note}, {clock(progress.seconds)} elapsed"
    share = progress.share
    done = f"{progress.done:,.0f} {progress.unit} done" if share is None else f"{100 * share:.0f} % done"
    words = ", ".join(filter(None, [done, f"{clock(progress.seconds)} elapsed", _left(progress)]))
    return f"{words}; {progress.note}" if progress.note else words


def fitted(progress: Progress, width: int, full: str = "━", empty: str = "─") -> str:
    """Return how far something is as a bar in one line of a screen; what has no room is cut off at its end.

    >>> fitted(Progress(3, 4, "pulls", seconds=6.0, seconds_left=2.0, note="best so far 7"), 68)
    ' 75 % ━━━━━━━━── 3 of 4 pulls, 6 s elapsed, about 2 s left; best so '
    """
    share = progress.share
    if share is None or is_compiling(progress):
        return in_words(progress)[:width]
    letters = _BAR if width >= _WIDE else _BAR // 2
    filled = round(letters * min(1.0, share))
    note = f"; {progress.note}" if progress.note else ""
    words = spoken(progress)
    return f"{100 * share:3.0f} % {full * filled}{empty * (letters - filled)} {words}{note}"[:width]


def is_compiling(progress: Progress) -> bool:
    """Tell whether code is being compiled, so that nothing moves for a while."""
    return progress.note.endswith(COMPILING)


def spoken(progress: Progress) -> str:
    """Return how much is done, since when, and how long the rest may take: what stands beside a bar."""
    return ", ".join(filter(None, [amount(progress), f"{clock(progress.seconds)} elapsed", _left(progress)]))


def amount(progress: Progress) -> str:
    """Return how much is done of how much; nothing for seconds, which the clock tells.

    >>> amount(Progress(860, 2_000, "pulls", 0.0, None)), amount(Progress(4.25, 10, "cost", 0.0, None))
    ('860 of 2,000 pulls', 'cost 4.25 of 10')
    """
    if progress.unit == "seconds":
        return ""
    total = "" if progress.total is None else f" of {progress.total:,.10g}"
    if progress.unit == "cost":
        return f"cost {written(progress.done)}{total}"
    return f"{progress.done:,.0f}{total} {progress.unit}"


def clock(seconds: float) -> str:
    """Return a time that has passed.

    >>> clock(6.4), clock(75), clock(3_725)
    ('6 s', '1:15', '1:02:05')
    """
    whole = int(seconds)
    minutes, rest = divmod(whole, _MINUTE)
    if minutes == 0:
        return f"{rest} s"
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _left(progress: Progress) -> str:
    """Return how long the rest may take; nothing, where that is not known, or there is no rest."""
    if progress.seconds_left is None or progress.done == progress.total:
        return ""
    return left_in_words(progress.seconds_left)


def _letters(encoding: str | None) -> tuple[str, str]:
    """Return what a bar is drawn with, where the terminal may know few letters."""
    return ("━", "─") if (encoding or "").lower().replace("-", "").startswith("utf") else ("#", ".")


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
