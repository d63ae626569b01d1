"""Names for processes that work on a study by themselves: each is one living process's, and says whether it lives."""

import os
import socket
import threading
from contextlib import suppress

from boxthirding.session.tickets import WORKER, is_worker
from boxthirding.study.journal import Journal, Names

_MOST = 1000  # processes of one study at a time


class Workers:
    """The names that this process has taken of a study's."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._names: Names | None = None
        self._ours: set[str] = set()
        self._taking = threading.Lock()

    def new(self) -> str:
        """Take the first name that is free; where none can be had, one that no other process takes for dead."""
        with suppress(OSError), self._taking:  # each of our threads wants one of its own
            for name in (f"{WORKER}{number}" for number in range(_MOST)):
                if name not in self._ours and self.has_ended(name):
                    self._ours.add(name)
                    return name
        return f"{WORKER}alone-{os.urandom(8).hex()}"

    def take(self, name: str) -> bool:
        """Take a name, unless another process has it; return whether it is ours."""
        if not self.has_ended(name):
            return False
        self._ours.add(name)
        return True

    def has_ended(self, name: str) -> bool:
        """Tell whether a process of that name has ended: then the name is ours until `let_go`, or we end."""
        if self._names is None:
            self._names = self._journal.names()
        with suppress(OSError):
            return self._names.take(name)
        return False

    def is_ours(self, name: str) -> bool:
        """Tell whether a name is one of ours, and still is: it may be lost while the database is unreachable."""
        return name in self._ours and (not is_worker(name) or self.has_ended(name))

    def let_go(self) -> None:
        """Give all names back."""
        if self._names is not None:
            self._names.release()
            self._names = None
        self._ours.clear()


def unique_name() -> str:
    """Return a holder's name that no other has."""
    return f"{socket.gethostname()[:100]}-{os.getpid()}-{os.urandom(4).hex()}"
