"""Journals in an SQLite file: the write-ahead log lets others read while one writes, and a commit costs one append."""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from boxthirding.errors import JournalBroken, StudyUnavailable, UnreadableData
from boxthirding.storage.schema import SQLITE, VERSION_TABLE, migrate, missing

SYNCHRONOUS: Final = {"normal": "NORMAL", "full": "FULL"}
"""What survives in write-ahead logging: NORMAL a killed process, FULL a power cut, at one sync a commit."""

PATIENCE: Final = 60.0
"""Seconds to wait for a file that others have locked."""


class SqliteShelf:
    """The studies of one file."""

    def __init__(self, path: str, durability: str = "normal", timeout: float = PATIENCE) -> None:
        self._path, self._durability, self._timeout = path, durability, timeout

    def names(self) -> list[str]:
        """Return the names of the studies there are; nothing is made where there are none."""
        if not Path(self._path).exists():
            return []
        with translated(self._path), closing(sqlite3.connect(self._path, timeout=self._timeout)) as connection:
            version = _version(connection)
            missing(self._path, version, SQLITE)
            query = "SELECT name FROM boxthirding_studies ORDER BY name"
            return [name for (name,) in connection.execute(query)] if version else []

    def journal(self, name: str) -> "SqliteJournal":
        """Return the journal of a study, empty if there is none."""
        return SqliteJournal(self._path, name, self._durability, self._timeout)


class SqliteJournal:
    """One study's journal in an SQLite file."""

    def __init__(self, path: str, name: str, durability: str = "normal", timeout: float = PATIENCE) -> None:
        self._path, self._name = path, name
        self._pid = os.getpid()
        self._connection = connect(path, durability, timeout)
        self._is_closed = False
        self._study: int | None = None  # the study's number in the file, once it is there

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the file's write lock; commit at the end, roll back if something was raised."""
        connection = self._usable()
        with translated(self._path):
            connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with translated(self._path):
                connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # a disk that is full has rolled it back already
                connection.execute("ROLLBACK")
            self._study = None  # it may have been made in this very transaction
            raise

    def read(self, after: int, limit: int) -> list[str]:
        """Return up to `limit` texts after a number."""
        with translated(self._path):
            rows = (
                self._usable()
                .execute(
                    "SELECT seq, event FROM boxthirding_events WHERE study = ? AND seq > ? ORDER BY seq LIMIT ?",
                    (self._number(), after, limit),
                )
                .fetchall()
            )
        if rows and (rows[0][0], rows[-1][0]) != (after + 1, after + len(rows)):
            raise JournalBroken(f"events are missing from {self._path} after number {after} of {self._name!r}")
        return [text for _, text in rows]

    def append(self, after: int, texts: Sequence[str]) -> None:
        """Write texts after a number."""
        connection = self._usable()
        with translated(self._path):
            if after == 0:
                connection.execute("INSERT INTO boxthirding_studies (name) VALUES (?)", (self._name,))
            study = self._number()
            connection.executemany(
                "INSERT INTO boxthirding_events (study, seq, event) VALUES (?, ?, ?)",
                [(study, seq, text) for seq, text in enumerate(texts, after + 1)],
            )

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Keep a snapshot, and the one before it."""
        connection, study = self._usable(), self._number()
        with translated(self._path):
            connection.execute(
                "INSERT OR REPLACE INTO boxthirding_snapshots (study, seq, data) VALUES (?, ?, ?)",
                (study, seq, snapshot),
            )
            for old in self.snapshots()[2:]:
                connection.execute("DELETE FROM boxthirding_snapshots WHERE study = ? AND seq = ?", (study, old))

    def snapshots(self) -> list[int]:
        """Return the numbers of the snapshots, the latest first."""
        with translated(self._path):
            rows = self._usable().execute(
                "SELECT seq FROM boxthirding_snapshots WHERE study = ? ORDER BY seq DESC", (self._number(),)
            )
            return [seq for (seq,) in rows]

    def snapshot(self, seq: int) -> bytes:
        """Return a snapshot."""
        with translated(self._path):
            row = (
                self._usable()
                .execute("SELECT data FROM boxthirding_snapshots WHERE study = ? AND seq = ?", (self._number(), seq))
                .fetchone()
            )
        return b"" if row is None else bytes(row[0])

    def close(self) -> None:
        """Close the file."""
        self._is_closed = True
        if self._pid == os.getpid():
            self._connection.close()

    def _number(self) -> int | None:
        if self._study is None:
            row = self._connection.execute(
                "SELECT id FROM boxthirding_studies WHERE name = ?", (self._name,)
            ).fetchone()
            self._study = None if row is None else int(row[0])
        return self._study

    def _usable(self) -> sqlite3.Connection:
        """Return the connection, unless it came here from another process, which SQLite forbids."""
        if self._pid != os.getpid():
            raise StudyUnavailable(
                f"study {self._name!r} was opened in process {self._pid} and is used in {os.getpid()}: "
                "open it in each process"
            )
        if self._is_closed:
            raise StudyUnavailable("the study was disconnected here: open it again")
        return self._connection


def connect(path: str, durability: str, timeout: float) -> sqlite3.Connection:
    """Open a file, making it and its tables if need be."""
    with translated(path):
        connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        with translated(path):
            _set_up(connection, path, durability, timeout)
    except BaseException:
        connection.close()
        raise
    return connection


def _set_up(connection: sqlite3.Connection, path: str, durability: str, timeout: float) -> None:
    connection.execute(f"PRAGMA synchronous={SYNCHRONOUS[durability]}")
    connection.execute(f"PRAGMA fullfsync={int(durability == 'full')}")  # where a plain sync stops short of the disk
    if missing(path, _version(connection), SQLITE):
        _write_ahead(connection, timeout)
        connection.execute("BEGIN IMMEDIATE")
        try:
            connection.execute(VERSION_TABLE)
            migrate(path, _version(connection), SQLITE, connection.execute)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _write_ahead(connection: sqlite3.Connection, timeout: float) -> None:
    """Turn on write-ahead logging, which the file keeps; here SQLite does not wait for others who do the same."""
    end = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _version(connection: sqlite3.Connection) -> int:
    """Return the version of the tables, 0 where there are none."""
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'boxthirding_schema'").fetchone()
    row = connection.execute("SELECT version FROM boxthirding_schema").fetchone() if there else None
    return 0 if row is None else int(row[0])


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Say what an error of SQLite means for a study."""
    try:
        yield
    except sqlite3.Error as error:
        code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
        if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            raise UnreadableData(f"{path} is not an SQLite database, or is damaged: {error}") from error
        raise StudyUnavailable(f"{path}: {_REASONS.get(code, error)}; nothing is lost, try again") from error


_REASONS: Final = {
    sqlite3.SQLITE_BUSY: "the file is locked by another process, which did not let go of it in time",
    sqlite3.SQLITE_FULL: "the disk is full: make room",
    sqlite3.SQLITE_READONLY: "the file is read-only: choose another, or change its permissions",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened: is its folder there, and may you write in it?",
    sqlite3.SQLITE_IOERR: "the file cannot be written or read: is the disk full?",
}
