"""Journals in an SQLite file: the write-ahead log lets others read while one writes, and a commit costs one append."""

import hashlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from boxthirding.errors import JournalBroken, StudyUnavailable
from boxthirding.storage.server_records import Records, SqlRecords
from boxthirding.storage.sql import FROM_BACKUP, SqlJournal, SqlShelf
from boxthirding.storage.sqlite_connection import PATIENCE, SqliteConnection
from boxthirding.storage.sqlite_errors import is_there
from boxthirding.storage.sqlite_locks import FileLock
from boxthirding.study.journal import CONTINUE


class SqliteShelf(SqlShelf):
    """The studies of one file."""

    def __init__(self, path: str, durability: str = "normal", timeout: float = PATIENCE) -> None:
        super().__init__(
            lambda makes_tables: SqliteConnection(path, "", durability, timeout, makes_tables=makes_tables)
        )
        self._path, self._durability, self._timeout = path, durability, timeout

    def names(self) -> list[str]:
        """Return the names of the studies there are; nothing is made where there are none."""
        return super().names() if is_there(self._path) else []

    def journal(self, name: str) -> "SqliteJournal":
        """Return the journal of a study, empty if there is none."""
        return SqliteJournal(self._path, name, self._durability, self._timeout)

    def records(self) -> Records:
        """Return what a server keeps in the file."""
        return SqlRecords(self._connect(True), "REAL", "BLOB")  # noqa: FBT003  # with tables


class SqliteJournal(SqlJournal):
    """One study's journal in an SQLite file."""

    _connection: SqliteConnection

    def __init__(self, path: str, name: str, durability: str = "normal", timeout: float = PATIENCE) -> None:
        super().__init__(SqliteConnection(path, name, durability, timeout), name)
        self._path = path

    def read(self, after: int, limit: int) -> list[str]:
        """Return up to `limit` texts after a number."""
        last = self._connection.last_event()
        if last is not None and last[:2] == (self._study, after + 1):
            return [last[2]]
        texts = super().read(after, limit)
        if texts and len(texts) < limit:
            self._connection.remember((self._number(), after + len(texts), texts[-1]))
        return texts

    def _insert(self, study: int | None, after: int, texts: Sequence[str]) -> None:
        query = "SELECT max(seq) FROM boxthirding_events WHERE study = ?"
        last = self._connection.fetch(query, (study,))[0][0] or 0
        if last and not after:
            raise JournalBroken(f"{self._path} is damaged: it has events of an unlisted study", advice=FROM_BACKUP)
        if last != after:
            self._study = None
            raise StudyUnavailable(
                f"event {after + 1} of {self._name!r} cannot be written, because {self._path} has {last}: something "
                "else has changed or restored it",
                advice=CONTINUE,
                transient=True,
            )
        self._connection.insert_events(study, after, texts)

    def names(self) -> "FileNames":
        """Return the names of the workers on the study."""
        return FileNames(self._path, self._name)


class FileNames:
    """The names of workers on one study of a file, each a locked file beside it while it is taken.

    The files belong to the database, wherever it is mounted and however its path is written: a process of another
    container, or one that starts after a crash of the whole machine, finds the locks of the dead free.
    """

    def __init__(self, path: str, study: str) -> None:
        self._path, self._study = Path(path).resolve(), study
        self._locks: dict[str, FileLock] = {}  # ours, by name

    def acquire(self, name: str) -> bool:
        """Take a name that no running worker has; raise OSError where files cannot be made or locked."""
        with _mutex:
            mode = self._mode()
            lock = self._locks.pop(name, None)
            if lock is not None:
                if not lock.is_gone():
                    self._locks[name] = lock
                    return True
                lock.close()  # it was removed, so others may have made another
            digest = hashlib.blake2b(f"{self._study}\0{name}".encode(), digest_size=6).hexdigest()
            lock = FileLock(str(self._path.with_name(f"{self._path.name}-worker-{digest}")))
            if not lock.try_acquire(mode):
                lock.close()
                return False
            self._locks[name] = lock
            return True

    def release(self) -> None:
        """Release all names."""
        with _mutex:
            while self._locks:
                self._locks.popitem()[1].remove()

    def _mode(self) -> int:
        """Return the permissions of the database; while it cannot be found, nothing is known about names."""
        try:
            return self._path.stat().st_mode & 0o666
        except OSError as problem:
            raise StudyUnavailable(
                f"{self._path} cannot be found ({problem.strerror or problem})",
                advice="nothing is lost: put it back and try again, or open the study where it is now",
                transient=True,
            ) from problem


_mutex = threading.RLock()  # reentrant: a study that is garbage may be closed in the middle of anything


def _replace_mutex() -> None:
    """Replace the mutex in a forked process: a thread of the parent may hold it."""
    global _mutex  # noqa: PLW0603  # there is one for the whole process
    _mutex = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_mutex)
