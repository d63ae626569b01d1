"""Names in the folder of a database: locks of the operating system, which end with the process that has them."""

import hashlib
import os
import threading
from pathlib import Path

from boxthirding.errors import StudyUnavailable
from boxthirding.storage.sqlite_locks import FileLock

_mutex = threading.RLock()  # again by the same thread: a study that is garbage is closed in the middle of anything


def _renew_mutex() -> None:
    """Have a lock that is free, in a process just forked: a thread that is not in it may have held the old one."""
    global _mutex  # noqa: PLW0603  # there is one for the whole process
    _mutex = threading.RLock()


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_renew_mutex)


class FileNames:
    """The names of workers on one study of a file, each a locked file beside it while it is taken.

    The files belong to the database, wherever it is mounted and however its path is written: a process of another
    container, or one that starts after a crash of the whole machine, finds the locks of the dead free.
    """

    def __init__(self, path: str, study: str) -> None:
        self._path, self._study = Path(path).resolve(), study
        self._locks: dict[str, FileLock] = {}  # ours, by name

    def take(self, name: str) -> bool:
        """Take a name that no running worker has; raise OSError where files cannot be made or locked."""
        with _mutex:
            mode = self._mode()
            lock = self._locks.pop(name, None)
            if lock is not None:
                if not lock.is_gone():
                    self._locks[name] = lock
                    return True
                lock.close()  # it was removed, so others may have made it anew
            lock = FileLock(self._file_of(name))
            if not lock.try_take(mode):
                lock.close()
                return False
            self._locks[name] = lock
            return True

    def release(self) -> None:
        """Give all names back."""
        with _mutex:
            while self._locks:
                self._locks.popitem()[1].remove()

    def _mode(self) -> int:
        """Return who may read and write the database; while it cannot be found, nothing can be said about names."""
        try:
            return self._path.stat().st_mode & 0o666
        except OSError as problem:
            raise StudyUnavailable(
                f"{self._path} cannot be found ({problem.strerror or problem})",
                advice="nothing is lost: put it back and try again, or open the study where it is now",
                transient=True,
            ) from problem

    def _file_of(self, name: str) -> str:
        digest = hashlib.blake2b(f"{self._study}\0{name}".encode(), digest_size=6).hexdigest()
        return str(self._path.with_name(f"{self._path.name}-worker-{digest}"))
