"""The files beside an SQLite database that belong to it while it is open: are they still those that they were?

Its log (`-wal`) has the latest results, its index (`-shm`) and our lock (`-lock`) say who may write. A process that
writes to a log that was deleted writes to nowhere.
"""

import os
import time
from typing import Final

ENDINGS: Final = ("-wal", "-shm")
_LATE: Final = 100_000_000  # nanoseconds after which a change of a folder has another time than the one before
_WHOLE: Final = 1_000_000_000  # nanoseconds: the times of some file systems are whole seconds

Mark = tuple[int, int] | None
"""What tells a file from any other of its name; None, if there is none."""


def mark_of(path: str) -> Mark:
    """Return what tells a file from any other."""
    try:
        found = os.stat(path)  # noqa: PTH116  # at every commit, and a path object takes as long again
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


class Sidecars:
    """The log and the index of a file, as they were when they were noted."""

    def __init__(self, real: str) -> None:
        self._paths = [real + ending for ending in ENDINGS]
        self._folder = os.path.dirname(real)  # noqa: PTH120
        self._noted: list[Mark] = []
        self._calm: tuple[int, int, int] | None = None
        self._seen: tuple[int, int, int] | None = None
        self._when = 0

    def note(self) -> None:
        """Take what is there for what belongs to the file."""
        self._noted, self._calm = [*map(mark_of, self._paths)], None

    def is_calm(self) -> bool:
        """Tell whether nothing in the folder was made, removed or renamed since all was found in its place."""
        return self._calm is not None and self._look() == self._calm

    def are_there(self) -> bool:
        """Tell whether the files are those that were noted."""
        self._when, self._seen = time.time_ns(), self._look()
        return [*map(mark_of, self._paths)] == self._noted

    def settle(self) -> None:
        """After all was found in its place: the folder need not be looked through until its time changes."""
        if self._seen is not None:
            changed = self._seen[2]
            is_late = self._when - changed > _LATE and changed % _WHOLE
            self._calm = self._seen if is_late else None

    @property
    def log_is_gone(self) -> bool:
        """Tell whether there was a log, and is none: then no process has opened the file since."""
        return bool(self._noted) and self._noted[0] is not None and mark_of(self._paths[0]) is None

    def _look(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self._folder)  # noqa: PTH116
        except OSError:
            return None
        return (found.st_dev, found.st_ino, found.st_mtime_ns)
