"""Workers that are reached over HTTP: each says every few seconds that it lives, and is taken for ended if it does not.

Processes that open the database themselves are known by locks beside it. The server holds the names of remote workers
in the same way, so that those processes leave their tickets alone while the server lives.
"""

import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from boxthirding.errors import InvalidInput
from boxthirding.session.tickets import is_worker
from boxthirding.study import Study

SECONDS: Final = 60.0  # how long a worker that says nothing is taken for alive


class RemoteWorkers:
    """When each remote worker of a study was last heard of; thread-safe."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._lock = threading.Lock()
        self._heard: dict[str, float] | None = None

    def hear(self, alive: Iterable[str], ended: Iterable[str], now: float) -> None:
        """Take note of workers that live, and of those that have ended."""
        with self._lock:
            heard = self._known(now)
            for name in alive:
                if name not in heard:
                    self._study.speak_for(name)
                heard[name] = now
            for name in ended:
                heard[name] = now - 2 * SECONDS

    def reclaim(self, now: float) -> int:
        """Release the tickets of workers that have ended, of processes here too; return how many."""
        with self._lock:
            heard, released = self._known(now), 0
            for name in [name for name, at in heard.items() if now - at > SECONDS]:
                del heard[name]
                with suppress(InvalidInput):  # it has none, or the study is finished
                    released += len(self._study.release(holder=name))
            return released + self._study.reclaim()

    def _known(self, now: float) -> dict[str, float]:
        """Return who was heard when; workers from before a restart of the server count as heard at its start."""
        if self._heard is None:
            holders = filter(is_worker, self._study.view().holders)
            self._heard = {name: now for name in holders if self._study.speak_for(name)}
        return self._heard
