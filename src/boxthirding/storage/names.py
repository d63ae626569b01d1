"""Names in the folder of a database: locks of the operating system, which end with the process that has them."""

import errno
import hashlib
import importlib
import os
import threading
from contextlib import suppress
from pathlib import Path

from boxthirding.errors import StudyUnavailable

_HELD = (errno.EAGAIN, errno.EACCES)  # how a lock says that another process has it

_taken: set[tuple[int, Path]] = set()  # (process, file): a process is not stopped by locks of its own
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
        self._files: dict[Path, int] = {}  # ours: descriptors

    def take(self, name: str) -> bool:
        """Take a name that no running worker has; raise OSError where files cannot be made or locked."""
        path = self._file_of(name)
        with _mutex:
            mode = self._mode()
            if path in self._files:
                if not _is_gone(self._files[path], path):
                    return True
                self._let_go(path)  # it was removed, so others may have made it anew
            if (os.getpid(), path) in _taken:
                return False
            file = _locked(path, mode)
            if file is None:
                return False
            _taken.add((os.getpid(), path))
            self._files[path] = file
            return True

    def release(self) -> None:
        """Give all names back."""
        with _mutex:
            for path in list(self._files):
                if (os.getpid(), path) in _taken and _is_at(self._files[path], path):
                    with suppress(OSError):  # where an open file cannot be removed
                        path.unlink()  # while the lock is ours
                self._let_go(path)

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

    def _let_go(self, path: Path) -> None:
        os.close(self._files.pop(path))
        _taken.discard((os.getpid(), path))

    def _file_of(self, name: str) -> Path:
        digest = hashlib.blake2b(f"{self._study}\0{name}".encode(), digest_size=6).hexdigest()
        return self._path.with_name(f"{self._path.name}-worker-{digest}")


def _locked(path: Path, mode: int) -> int | None:
    """Open a file and lock it, for this process and not for those it forks; None, if another process has it."""
    while True:
        file, is_new = _opened(path, mode)
        if file is None:
            return None
        try:
            _lock(file)
        except OSError as problem:
            os.close(file)
            if problem.errno in _HELD:
                return None
            if is_new:
                path.unlink(missing_ok=True)
            raise
        if _is_at(file, path):
            _let_in(file, mode)
            return file
        os.close(file)  # removed by the process that had it, after we opened it: the next one is made anew


def _opened(path: Path, mode: int) -> tuple[int | None, bool]:
    """Open a file, and say whether it was made for that; None, if it belongs to another user and may not be opened."""
    flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
    while True:
        with suppress(FileExistsError):
            return os.open(path, flags | os.O_CREAT | os.O_EXCL, mode), True
        try:
            return os.open(path, flags), False
        except FileNotFoundError:  # removed meanwhile
            continue
        except OSError:
            return None, False


def _let_in(file: int, mode: int) -> None:
    """Let every user who may write the database take the name after us, as SQLite does with its own files."""
    with suppress(OSError, AttributeError):  # it is another user's; or there are no such permissions
        os.fchmod(file, mode)


def _is_at(file: int, path: Path) -> bool:
    """Tell whether an open file is still the one of that name."""
    with suppress(OSError):
        return os.path.samestat(os.fstat(file), path.stat())
    return False


def _is_gone(file: int, path: Path) -> bool:
    """Tell whether an open file has lost its name for certain: there is none of that name, or another."""
    try:
        return not os.path.samestat(os.fstat(file), path.stat())
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _lock(file: int) -> None:
    """Lock a file, or raise OSError."""
    try:
        fcntl = importlib.import_module("fcntl")
    except ImportError:
        raise OSError("there are no such locks here") from None
    fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
