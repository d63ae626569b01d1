"""The files beside an SQLite database that belong to it while it is open, and whether they are still the same.

Its log (`-wal`) has the latest results, its index (`-shm`) and our lock (`-lock`) say who may write. A process that
writes to a log that was deleted writes to nowhere.
"""

import os
import time
from typing import Final

ENDINGS: Final = ("-wal", "-shm")
_LATE: Final = 100_000_000  # nanoseconds after which a change of a folder has another time than the one before
_NEVER: Final = 0
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
        self._folder = _opened(os.path.dirname(real))  # noqa: PTH120
        self._noted: list[Mark] = []
        self._calm = _NEVER
        self._seen = _NEVER  # the folder's time when it was last looked through
        self._when = 0  # and the time of that

    def note(self) -> None:
        """Take what is there for what belongs to the file."""
        self._noted, self._calm = [*map(mark_of, self._paths)], _NEVER

    def is_calm(self) -> bool:
        """Tell whether nothing in the folder was made, removed or renamed since all was found in its place."""
        return self._folder is not None and os.fstat(self._folder).st_ctime_ns == self._calm

    def are_there(self) -> bool:
        """Tell whether the files are those that were noted."""
        self._when = time.time_ns()
        self._seen = _NEVER if self._folder is None else os.fstat(self._folder).st_ctime_ns
        return [*map(mark_of, self._paths)] == self._noted

    def settle(self) -> None:
        """After all was found in its place: the folder need not be looked through until its time changes."""
        is_late = self._when - self._seen > _LATE and self._seen % _WHOLE
        self._calm = self._seen if is_late else _NEVER

    @property
    def log_is_gone(self) -> bool:
        """Tell whether there was a log, and is none: then no process has opened the file since."""
        return bool(self._noted) and self._noted[0] is not None and mark_of(self._paths[0]) is None

    def close(self) -> None:
        """Let go of the folder."""
        if self._folder is not None:
            folder, self._folder = self._folder, None
            os.close(folder)

    def __del__(self) -> None:
        self.close()


def _opened(folder: str) -> int | None:
    """Open a folder, which makes it cheap to look at its time; None, where that is not possible."""
    try:
        return os.open(folder, os.O_RDONLY)
    except OSError:
        return None
