"""Names for those who work on a study on this machine: each is one process's at a time, and free when that has ended.

A lock of the operating system says which are taken, so a process that was killed gives its name back as well. Whoever
takes the name next is given the tickets that were left behind under it.
"""

import hashlib
import importlib
import os
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

_MOST = 1000  # processes of one study on one machine

_taken: set[Path] = set()  # in this process: its own locks would not stop it
_mutex = threading.Lock()


class Slots:
    """The numbered names of one study on this machine, and those that we have taken."""

    def __init__(self, url: str, study: str) -> None:
        user = getattr(os, "getuid", lambda: 0)()
        key = hashlib.sha256(f"{_whole(url)}\0{study}".encode()).hexdigest()[:16]
        self._files = f"boxthirding-{user}-{key}-"
        self._prefix = f"{socket.gethostname()}/{user}/"
        self._locks: dict[Path, int] = {}  # by file: its descriptor

    def take_first(self) -> str:
        """Take the first name that is free, and return it; where no lock can be had, one that nobody takes over."""
        number = next((number for number in range(_MOST) if self._take(number)), None)
        return f"{self._prefix}{os.urandom(8).hex() + '-alone' if number is None else number}"

    def take(self, name: str) -> bool:
        """Take a name if it is one of ours and nobody has it; return whether it was."""
        return self.is_here(name) and self._take(int(name.removeprefix(self._prefix)))

    def is_here(self, name: str) -> bool:
        """Tell whether a name is one of this machine's."""
        return name.startswith(self._prefix) and name.removeprefix(self._prefix).isdecimal()

    def release(self) -> None:
        """Give all names back."""
        with _mutex:
            for path, file in self._locks.items():
                with suppress(OSError):  # where an open file cannot be removed
                    path.unlink()  # while the lock is ours
                os.close(file)
                _taken.discard(path)
            self._locks.clear()

    def _take(self, number: int) -> bool:
        path = Path(tempfile.gettempdir()) / f"{self._files}{number}.lock"
        with _mutex:
            if path in _taken:
                return False
            file = _locked(path)
            if file is None:
                return False
            _taken.add(path)
            self._locks[path] = file
            return True


def _locked(path: Path) -> int | None:
    """Open a file and lock it, for this process and not for those it forks; None, if somebody else has it."""
    while True:
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError:  # it is another user's
            return None
        try:
            _lock(file)
            if os.path.samestat(os.fstat(file), path.stat()):
                return file
        except FileNotFoundError:  # removed by whoever had it, after we opened it: the next one is made anew
            pass
        except OSError:
            os.close(file)
            return None
        os.close(file)


def _lock(file: int) -> None:
    """Lock a file, or raise; where there are no such locks, trust the user."""
    with suppress(ImportError):
        fcntl = importlib.import_module("fcntl")
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _whole(url: str) -> str:
    """Return a URL so that two ways to write the path of one file are equal."""
    path = url.removeprefix("sqlite:///")
    return url if "://" in path or path.startswith("memory:") else str(Path(path).resolve())
