"""A proxy before a PostgreSQL server that loses what the server says of a commit."""

import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

COMMITTED = b"COMMIT\0"
"""What a server says of a commit that has happened."""


class Cutting:
    """Passes everything on, until it is armed: then it closes the connection in place of the next word of a commit."""

    def __init__(self, folder):
        self._there = str(Path(folder) / ".s.PGSQL.5432")
        self._folder = tempfile.TemporaryDirectory(prefix="boxthirding-cutting-")
        self.cuts = 0
        self._left, self._is_open = 0, True
        self._connections = []
        self._door = socket.socket(socket.AF_UNIX)
        self._door.bind(str(Path(self._folder.name) / ".s.PGSQL.5432"))
        self._door.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def folder(self):
        return self._folder.name

    def arm(self, times=1, *, closes=False):
        """Lose the word of the next commits; with `closes`, accept no connection after the last of them."""
        self._left, self._closes = times, closes

    def reopen(self):
        self._is_open = True

    def close(self):
        self._door.close()
        for one in self._connections:
            _end(one)
        self._folder.cleanup()

    def _accept(self):
        with suppress(OSError):
            while True:
                client, _ = self._door.accept()
                if not self._is_open:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._there)
                self._connections += [client, server]
                threading.Thread(target=self._pass, args=(client, server, False), daemon=True).start()
                threading.Thread(target=self._pass, args=(server, client, True), daemon=True).start()

    def _pass(self, source, target, is_answer):
        with suppress(OSError):
            while data := source.recv(65_536):
                if is_answer and self._left and COMMITTED in data:
                    self._left -= 1
                    self.cuts += 1
                    self._is_open = self._is_open and not (self._closes and not self._left)
                    break
                target.sendall(data)
        _end(source)
        _end(target)


def _end(one):
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
