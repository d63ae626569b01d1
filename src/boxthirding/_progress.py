"""The argument `progress=` of all functions: no progress, a bar on stderr, or a function of the caller."""

import os
import shutil
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from boxthirding.errors import InvalidInput
from boxthirding.types import Progress

if TYPE_CHECKING:
    from tqdm import tqdm

EVERY: Final = 30.0  # seconds between two lines (and before the first) if there is no terminal

COMPILING: Final = "compiling (first run only)"
"""How a note ends while code is compiled: it takes an unknown time, so no share and no time left are shown."""

_PAUSE: Final = 0.1  # seconds between two updates of a bar
_SHARE: Final = "{l_bar}{bar}| {n_fmt}/{total_fmt} {unit} [{elapsed}{postfix}]"  # what tqdm draws
_NO_SHARE: Final = "[{elapsed}{postfix}]"
_MINUTE: Final = 60
_HOUR: Final = 3600


def listener(*, progress: bool | Callable[[Progress], None]) -> Callable[[Progress], None] | None:
    """Return the function to call with progress, or None for `progress=False`.

    >>> listener(progress=False) is None, listener(progress=print) is print
    (True, True)
    """
    if isinstance(progress, bool):
        return Bar() if progress and sys.stderr is not None else None  # a program without a console has no stderr
    if not callable(progress):
        raise InvalidInput(f"progress is {progress!r}, but must be True, False or a function that takes a Progress")
    return progress


class Bar:
    """A bar on stderr, drawn by tqdm; where stderr is no terminal, a line every 30 seconds.

    Parameters
    ----------
    prints : bool, default False
        Show above the bar what the program prints on a terminal, until `close`.

    """

    def __init__(self, *, prints: bool = False) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._prints = prints
        self._tqdm: tqdm[Any] | None = None  # imported and made when it is first drawn
        self._streams: dict[str, Any] = {}  # those of `sys` that were replaced
        self.next = 0.0 if self._is_terminal else time.monotonic() + EVERY  # when it may be drawn again

    def __call__(self, progress: Progress) -> None:
        """Draw the bar or write a line, if it is time; at the end a bar is removed."""
        has_ended = progress.done == progress.total
        is_due = time.monotonic() >= self.next
        if not is_due and not (self._is_terminal and (has_ended or _is_compiling(progress))):
            return
        self.next = time.monotonic() + (_PAUSE if self._is_terminal else EVERY)
        if not self._is_terminal:
            self.say(in_words(progress))
        elif has_ended:
            self.close()
        else:
            bar = self._tqdm or self._open(progress)
            bar.ncols = shutil.get_terminal_size().columns - 1  # it may have changed
            bar.bar_format = _NO_SHARE if _is_compiling(progress) else _SHARE
            bar.n, bar.total = round(progress.done, 2), progress.total
            bar.set_postfix_str(", ".join(filter(None, [left_in_words(progress), progress.note])), refresh=False)
            bar.refresh()

    def say(self, *lines: str) -> None:
        """Write lines, above the bar if it shows what is printed."""
        sys.stderr.write("".join(f"{line}\n" for line in lines))
        sys.stderr.flush()

    def close(self) -> None:
        """Remove the bar."""
        if self._tqdm is not None:
            self._tqdm.close()
            self._tqdm = None
        for name, stream in self._streams.items():
            getattr(sys, name).end()
            setattr(sys, name, stream)
        self._streams = {}

    def _open(self, progress: Progress) -> "tqdm[Any]":
        """Return a new bar."""
        from tqdm import tqdm  # noqa: PLC0415  # most programs show no bar

        self._tqdm = bar = tqdm(
            total=progress.total,
            unit=progress.unit,
            bar_format=_NO_SHARE if _is_compiling(progress) else _SHARE,
            leave=False,
            ncols=shutil.get_terminal_size().columns - 1,  # tqdm shows nothing on a terminal of unknown size
            nrows=2,
            file=sys.stderr,
        )
        for name in ("stdout", "stderr") if self._prints else ():
            stream = getattr(sys, name)
            if stream is not None and stream.isatty():
                self._streams[name] = stream
                setattr(sys, name, _AboveBar(stream, bar))
        return bar


class _AboveBar:
    """A stream whose lines appear above a bar."""

    def __init__(self, stream: Any, bar: "tqdm[Any]") -> None:
        self._stream, self._bar, self._process = stream, bar, os.getpid()
        self._line = ""  # what was written since the last end of a line

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the lines that are complete."""
        if os.getpid() != self._process:  # a fork, where the lock may be held forever
            return int(self._stream.write(text))
        with self._bar.get_lock():
            lines, end, self._line = f"{self._line}{text}".rpartition("\n")
            if end:
                with self._bar.external_write_mode(file=self._bar.fp):
                    self._stream.write(lines + end)
                    self._stream.flush()
        return len(text)

    def end(self) -> None:
        """Write the rest."""
        self._stream.write(self._line)
        self._stream.flush()


def in_words(progress: Progress) -> str:
    """Return how far something is as a person would say it.

    >>> in_words(Progress(3, 4_000, "pulls", seconds=6.0, seconds_left=2.0, note="b3"))
    '0 %, 3 of 4,000 pulls, 0:00:06 elapsed, about 2 s left; b3'
    >>> in_words(Progress(3, None, "pulls", seconds=75.0, seconds_left=None))
    '3 pulls, 0:01:15 elapsed'
    >>> in_words(Progress(0, 4_000, "pulls", seconds=6.0, seconds_left=None, note=f"b3: {COMPILING}"))
    '0:00:06 elapsed; b3: compiling (first run only)'
    """
    elapsed = f"{timedelta(seconds=int(progress.seconds))} elapsed"
    if _is_compiling(progress):
        return f"{elapsed}; {progress.note}"
    share = "" if progress.share is None else f"{100 * progress.share:.0f} %"
    total = "" if progress.total is None else f" of {progress.total:,.10g}"
    words = ", ".join(
        filter(
            None, [share, f"{round(progress.done, 2):,.10g}{total} {progress.unit}", elapsed, left_in_words(progress)]
        )
    )
    return f"{words}; {progress.note}" if progress.note else words


def _is_compiling(progress: Progress) -> bool:
    return progress.note.endswith(COMPILING)


def left_in_words(progress: Progress) -> str:
    """Return how long the rest may take; empty, if that is not known or nothing is left.

    >>> [left_in_words(Progress(1, 4, "pulls", 1.0, seconds)) for seconds in (0.1, 100, 9_000, None)]
    ['about 1 s left', 'about 2 min left', 'about 2.5 h left', '']
    """
    seconds = progress.seconds_left
    if seconds is None or progress.done == progress.total or _is_compiling(progress):
        return ""
    if seconds < _MINUTE:
        return f"about {max(1, round(seconds))} s left"
    if seconds < _HOUR:
        return f"about {round(seconds / _MINUTE)} min left"
    return f"about {seconds / _HOUR:.1f} h left"
