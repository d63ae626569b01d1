"""The end of what a program prints, in memory that does not grow with it."""

import threading
from contextlib import suppress
from typing import IO, Final

KEPT: Final = 65_536
"""Bytes that are kept."""

_BLOCK: Final = 65_536  # bytes that are read at once


class Tail(threading.Thread):
    """Reads a pipe in a thread of its own until it ends, and keeps the end of it.

    So a program never waits for us, and we need not wait for what it has started and left with its pipe.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._end = b""
        self.start()

    def run(self) -> None:
        """Read to the end."""
        with self._pipe, suppress(OSError):
            while block := self._pipe.read(_BLOCK):
                self._end = (self._end + block)[-KEPT - 1 :]  # one more tells whether there were more

    def text(self) -> str:
        """Return what is there: whole lines, without the rest of one whose beginning is gone."""
        end = self._end
        if len(end) > KEPT:
            end = end.partition(b"\n")[2]
        return end.decode("utf-8", "replace")

    @property
    def is_cut(self) -> bool:
        """Whether there was more than is kept."""
        return len(self._end) > KEPT
