"""Locks beside an SQLite file, and whether the files of SQLite beside it were deleted.

A POSIX lock of a file is dropped as soon as its process closes any descriptor of the file, and a function that reads
every file of a folder does that. A lock by `flock` belongs to one descriptor, and ends with it or with the process.
"""

import errno
import importlib
import os
import struct
import time
import weakref
from contextlib import suppress
from typing import Any, Final

_SHARED_BYTES: Final = 0x40000002  # where the 510 bytes begin that SQLite locks to share a file
_HELD: Final = (errno.EAGAIN, errno.EACCES)  # how a lock says that another has it
_SHORTEST, _LONGEST = 0.0002, 0.02  # seconds between two attempts

_LATE: Final = 100_000_000  # nanoseconds after which a change of a folder has another time than the one before
_SECOND: Final = 1_000_000_000  # nanoseconds: some file systems have times in whole seconds
_NEVER: Final = 0

try:
    _fcntl: Any = importlib.import_module("fcntl")
    _EXCLUSIVE, _SHARED = _fcntl.LOCK_EX | _fcntl.LOCK_NB, _fcntl.LOCK_SH | _fcntl.LOCK_NB
except ImportError:  # where there are no such locks
    _fcntl = None


class FileLock:
    """A lock on a file, which is made when need be; it does not survive a fork.

    It is held exclusively, or shared by any number of holders.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: int | None = None
        self._mark: tuple[int, int] = (0, 0)
        _locks.add(self)

    def try_acquire(self, mode: int, *, shared: bool = False) -> bool:
        """Take the lock if it is free; raise OSError where there can be none. A new file gets `mode`."""
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
                if is_new:  # users who may write the database may lock it, as with SQLite's own files
                    with suppress(OSError, AttributeError):  # another user's file; no such permissions here
                        os.fchmod(self._file, mode)
                return True
            self.close()  # its holder removed it after we had opened it

    def acquire(self, mode: int, timeout: float, *, shared: bool = False) -> bool:
        """Take the lock, waiting for it; tell whether it was free in time."""
        end, pause = time.monotonic() + timeout, _SHORTEST
        while not self.try_acquire(mode, shared=shared):
            if time.monotonic() >= end:
                return False
            time.sleep(pause)
            pause = min(1.5 * pause, _LONGEST)
        return True

    def reacquire(self, *, shared: bool = False) -> bool:
        """Take the lock if it is free, without a check that its file still has its name."""
        if self._file is None:
            return False
        try:
            _fcntl.flock(self._file, _SHARED if shared else _EXCLUSIVE)
        except OSError:  # it is held, or cannot be had: `acquire` tells which
            return False
        return True

    def release(self) -> None:
        """Release the lock, and keep its file open."""
        if self._file is not None:
            try:
                _fcntl.flock(self._file, _fcntl.LOCK_UN)
            except OSError:  # locks fail here by now
                self.close()

    def is_gone(self) -> bool:
        """Return whether the file was certainly deleted or replaced."""
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
        """Release the lock and remove its file, while the lock is held."""
        if self._file is not None and not self.is_gone():
            with suppress(OSError):  # where an open file cannot be removed
                os.unlink(self.path)  # noqa: PTH108
        self.close()

    def close(self) -> None:
        """Release the lock, and leave its file."""
        if self._file is not None:
            with suppress(OSError):  # else a process that was forked just now would hold it
                _fcntl.flock(self._file, _fcntl.LOCK_UN)
            self.abandon()

    def abandon(self) -> None:
        """Close the file, and leave the lock to another process that has it open."""
        if self._file is not None:
            file, self._file = self._file, None
            with suppress(OSError):
                os.close(file)

    def __del__(self) -> None:
        self.close()

    def _locked(self, *, is_new: bool, shared: bool) -> bool:
        try:
            _fcntl.flock(self._file, _SHARED if shared else _EXCLUSIVE)
        except OSError as problem:
            if problem.errno in _HELD:
                return False
            self.close()
            if is_new:
                with suppress(OSError):
                    os.unlink(self.path)  # noqa: PTH108
            raise
        return True


def _opened(path: str, mode: int) -> tuple[int | None, bool]:
    """Open a file, and tell whether it is new; None, if it belongs to another user and may not be opened."""
    if _fcntl is None:
        raise OSError("there are no such locks here")
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


def share(path: str) -> int | None:
    """Open a database and lock the bytes that SQLite shares: while that is open, no other process deletes the log.

    The lock is of another kind than those of SQLite, and stays with a process that is forked. None, where there is no
    such kind.
    """
    kind = getattr(_fcntl, "F_OFD_SETLK", None)
    if kind is None:
        return None
    file = os.open(path, os.O_RDONLY)
    with suppress(OSError):
        _fcntl.fcntl(file, kind, struct.pack("hhqqi4x", _fcntl.F_RDLCK, os.SEEK_SET, _SHARED_BYTES, 510, 0))
    return file


class Sidecars:
    """The log (`-wal`) and the index (`-shm`) of an SQLite file: what is written to a deleted log is lost."""

    def __init__(self, real: str) -> None:
        self.paths = [f"{real}-wal", f"{real}-shm"]
        try:
            self._folder: int | None = os.open(os.path.dirname(real), os.O_RDONLY)  # noqa: PTH120
        except OSError:  # then the files are looked at each time
            self._folder = None
        self._noted: list[tuple[int, int] | None] = []
        self._calm = _NEVER  # the time of the folder's last change, if everything was in its place after it
        self._changed = _NEVER  # the time of the folder's last change, when the files were last looked at
        self._looked = 0  # when that was

    def note(self) -> None:
        """Take the files that are there now for those that belong to the database."""
        self._noted, self._calm = [*map(_mark_of, self.paths)], _NEVER

    def are_unchanged(self) -> bool:
        """Return whether nothing in the folder was made, removed or renamed since everything was in its place."""
        return self._folder is not None and os.fstat(self._folder).st_ctime_ns == self._calm

    def are_there(self) -> bool:
        """Return whether the files that were noted are still there; one that was made since is noted now."""
        self._looked = time.time_ns()
        self._changed = _NEVER if self._folder is None else os.fstat(self._folder).st_ctime_ns
        marks = [*map(_mark_of, self.paths)]
        if None in self._noted:
            self._noted = [noted or mark for noted, mark in zip(self._noted, marks, strict=True)]
        return marks == self._noted

    def settle(self) -> None:
        """Record that everything was in its place, so that the files need no look until the folder's time changes."""
        is_late = self._looked - self._changed > _LATE and self._changed % _SECOND
        self._calm = self._changed if is_late else _NEVER

    def close(self) -> None:
        """Close the folder."""
        if self._folder is not None:
            folder, self._folder = self._folder, None
            os.close(folder)

    def __del__(self) -> None:
        self.close()


def _mark_of(path: str) -> tuple[int, int] | None:
    """Return what tells a file from any other of its name; None, if there is none."""
    try:
        found = os.stat(path)  # noqa: PTH116  # a path object takes as long again
    except OSError:
        return None
    return (found.st_dev, found.st_ino)


_locks: "weakref.WeakSet[FileLock]" = weakref.WeakSet()


def _close_all() -> None:
    """Close the files in a forked process, where the locks would outlive the parent."""
    for lock in list(_locks):
        lock.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_all)
