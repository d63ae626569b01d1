"""Locks on files of their own, which end when their holder lets go or its process ends, and not before.

The usual locks of files are dropped as soon as the process closes any descriptor of the file, and a function that reads
every file of a folder does that. A lock by `flock` belongs to one opening of the file.
"""

import errno
import importlib
import os
import struct
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_SHARED_BYTES = 0x40000002  # where the 510 bytes begin on which SQLite locks a file
_HELD = (errno.EAGAIN, errno.EACCES)  # how a lock says that another has it
_SHORTEST, _LONGEST = 0.0002, 0.02  # seconds between two attempts

try:
    _fcntl: Any = importlib.import_module("fcntl")
    _ALONE, _SHARED = _fcntl.LOCK_EX | _fcntl.LOCK_NB, _fcntl.LOCK_SH | _fcntl.LOCK_NB
except ImportError:  # where there are no such locks
    _fcntl = None


class FileLock:
    """A file that is locked while it is held. It is made when need be; it crosses no fork.

    One that is shared has any number of holders at a time, or one that has it alone.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: int | None = None
        self._mark: tuple[int, int] = (0, 0)
        _everywhere.add(self)

    def try_take(self, mode: int, *, shared: bool = False) -> bool:
        """Take the lock if it is free, on a file that users of this mode may open; raise OSError where none can be."""
        while True:
            is_new = False
            if self._file is None:
                self._file, is_new = _opened(self.path, mode)
                if self._file is None:
                    return False  # another user's
                found = os.fstat(self._file)
                self._mark = (found.st_dev, found.st_ino)
            if not self._locked(is_new=is_new, shared=shared):
                return False
            if not self.is_gone():
                if is_new:
                    _let_in(self._file, mode)
                return True
            self.close()  # removed by the one who had it, after we opened it: the next one is made anew

    def take(self, mode: int, timeout: float, *, shared: bool = False) -> bool:
        """Take the lock, waiting for it; tell whether it was free in time."""
        if self.try_take(mode, shared=shared):
            return True
        end, pause = time.monotonic() + timeout, _SHORTEST
        while time.monotonic() < end:
            time.sleep(pause)
            if self.try_take(mode, shared=shared):
                return True
            pause = min(1.5 * pause, _LONGEST)
        return False

    def take_again(self, *, shared: bool = False) -> bool:
        """Take the lock at once if it is free, and do not look whether the file is still the one of its name."""
        if self._file is None:
            return False
        try:
            _fcntl.flock(self._file, _SHARED if shared else _ALONE)
        except OSError:  # it is held, or cannot be had: `take` tells which
            return False
        return True

    def let_go(self) -> None:
        """Let go of the lock, and keep the file open."""
        if self._file is not None:
            _fcntl.flock(self._file, _fcntl.LOCK_UN)

    def is_gone(self) -> bool:
        """Tell whether the open file has lost its name for certain: there is none of that name, or another."""
        if self._file is None:
            return True
        try:
            found = os.stat(self.path)  # noqa: PTH116  # a path object takes as long again
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return (found.st_dev, found.st_ino) != self._mark

    def remove(self) -> None:
        """Let go of the lock and of its file, while the lock is ours."""
        if self._file is not None and not self.is_gone():
            with suppress(OSError):  # where an open file cannot be removed
                os.unlink(self.path)  # noqa: PTH108
        self.close()

    def close(self) -> None:
        """Let go of the lock, and leave its file."""
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError):
                os.close(file)

    def __del__(self) -> None:
        self.close()

    def _locked(self, *, is_new: bool, shared: bool) -> bool:
        if _fcntl is None:
            self._give_up(is_new=is_new)
            raise OSError("there are no such locks here")
        try:
            _fcntl.flock(self._file, _SHARED if shared else _ALONE)
        except OSError as problem:
            if problem.errno in _HELD:
                return False
            self._give_up(is_new=is_new)
            raise
        return True

    def _give_up(self, *, is_new: bool) -> None:
        self.close()
        if is_new:
            with suppress(OSError):
                os.unlink(self.path)  # noqa: PTH108


@contextmanager
def keeping_sidecars(path: str) -> Iterator[None]:
    """Keep SQLite from taking itself for the last that has a file open, and from removing what lies beside it.

    A lock of another kind on the bytes that SQLite shares, where there is one; only while no connection is in use.
    """
    kind = getattr(_fcntl, "F_OFD_SETLK", None)
    if kind is None:
        yield
        return
    file = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):
            _fcntl.fcntl(file, kind, struct.pack("hhqqi4x", _fcntl.F_RDLCK, os.SEEK_SET, _SHARED_BYTES, 510, 0))
        yield
    finally:
        os.close(file)


_everywhere: "weakref.WeakSet[FileLock]" = weakref.WeakSet()


def _leave_all() -> None:
    """Close the files in a process just forked: with them a lock would outlive the process that it is of."""
    for lock in list(_everywhere):
        lock.close()


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(after_in_child=_leave_all)


def _opened(path: str, mode: int) -> tuple[int | None, bool]:
    """Open a file, and say whether it was made for that; None, if it belongs to another user and may not be opened."""
    flags = getattr(os, "O_NOFOLLOW", 0)
    while True:
        with suppress(FileExistsError):
            return os.open(path, flags | os.O_RDWR | os.O_CREAT | os.O_EXCL, mode), True
        for access in (os.O_RDWR, os.O_RDONLY):
            try:
                return os.open(path, flags | access), False
            except FileNotFoundError:  # removed meanwhile
                break
            except OSError:
                continue
        else:
            return None, False


def _let_in(file: int, mode: int) -> None:
    """Let every user who may write the database take the lock after us, as SQLite does with its own files."""
    with suppress(OSError, AttributeError):  # it is another user's; or there are no such permissions
        os.fchmod(file, mode)
