"""Say to a server that workers live, every few seconds, from a thread of its own."""

import threading
from contextlib import suppress
from typing import Final

from boxthirding.client.connection import Connection
from boxthirding.errors import BoxThirdingError

_BEATS: Final = 4  # in the time after which a silent worker is taken for ended
_LAST: Final = 1.0  # seconds to try for when there is no more to say


class Heart:
    """The names of workers in this process, while they live."""

    def __init__(self, connection: Connection, path: str) -> None:
        self._connection, self._path = connection, path
        self._names: list[str] = []
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()  # a study that is garbage is closed in the middle of anything

    def add(self, name: str) -> None:
        """Say that a worker lives, now and from now on."""
        said = self._connection.call("POST", self._path, {"alive": [name]}).value
        with self._lock:
            self._names.append(name)
            if self._thread is None:
                pause = said["seconds"] / _BEATS
                self._thread = threading.Thread(target=self._beat, args=(pause,), daemon=True, name="boxthirding-heart")
                self._thread.start()

    def stop(self) -> None:
        """Say that the workers have ended."""
        self._end.set()
        with self._lock:
            names, self._names = self._names, []
        if names:
            with suppress(BoxThirdingError):  # else the server finds out by itself
                self._connection.call("POST", self._path, {"ended": names}, timeout=_LAST)

    def _beat(self, pause: float) -> None:
        while not self._end.wait(pause):
            with self._lock:
                names = list(self._names)
            with suppress(BoxThirdingError):  # the calls of the study say what is wrong
                self._connection.call("POST", self._path, {"alive": names}, timeout=pause)
