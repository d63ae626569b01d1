"""Journals in an SQLite file: the write-ahead log lets others read while one writes, and a commit costs one append."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType

from boxthirding.errors import JournalBroken, StudyUnavailable
from boxthirding.storage.names import FileNames
from boxthirding.storage.sqlite_file import PATIENCE, SqliteFile, Transaction, connect, translated


class SqliteShelf:
    """The studies of one file."""

    def __init__(self, path: str, durability: str = "normal", timeout: float = PATIENCE) -> None:
        self._path, self._durability, self._timeout = path, durability, timeout

    def names(self) -> list[str]:
        """Return the names of the studies there are; nothing is made where there are none."""
        if not Path(self._path).exists():
            return []
        file = SqliteFile(self._path, self._timeout)
        with closing(file.connection) as connection, translated(self._path):
            query = "SELECT name FROM boxthirding_studies ORDER BY name"
            return [name for (name,) in connection.execute(query)] if file.version() else []

    def journal(self, name: str) -> "SqliteJournal":
        """Return the journal of a study, empty if there is none."""
        return SqliteJournal(self._path, name, self._durability, self._timeout)


class SqliteJournal:
    """One study's journal in an SQLite file."""

    def __init__(self, path: str, name: str, durability: str = "normal", timeout: float = PATIENCE) -> None:
        self._path, self._name = path, name
        self._pid = os.getpid()
        self._file = connect(path, durability, timeout)
        self._connection = self._file.connection
        self._is_closed = False
        self._study: int | None = None  # the study's number in the file, once it is there

    def writing(self) -> "_Writing":
        """Hold the file's write lock; commit at the end, roll back if something was raised."""
        self._usable()
        return _Writing(self._file, self._name)

    def read(self, after: int, limit: int) -> list[str]:
        """Return up to `limit` texts after a number."""
        connection = self._usable()
        self._file.check(self._name)
        with translated(self._path):
            rows = connection.execute(
                "SELECT seq, event FROM boxthirding_events WHERE study = ? AND seq > ? ORDER BY seq LIMIT ?",
                (self._number(), after, limit),
            ).fetchall()
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
            last = connection.execute("SELECT max(seq) FROM boxthirding_events WHERE study = ?", (study,)).fetchone()
            if (last[0] or 0) != after:
                self._study = None
                raise StudyUnavailable(
                    f"event {after + 1} of {self._name!r} cannot be written, because {self._path} has {last[0] or 0}: "
                    "something else has changed or restored it",
                    advice="try again, and the study continues from what is there",
                    transient=True,
                )
            connection.executemany(
                "INSERT INTO boxthirding_events (study, seq, event) VALUES (?, ?, ?)",
                [(study, seq, text) for seq, text in enumerate(texts, after + 1)],
            )

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Keep a snapshot, and the one before it."""
        connection = self._usable()
        with translated(self._path):
            study = self._number()
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

    def names(self) -> FileNames:
        """Return the names of the workers on the study."""
        return FileNames(self._path, self._name)

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
            number = None if row is None else int(row[0])
            if self._connection.in_transaction:
                return number  # it may have been made in this very one, which may yet be rolled back
            self._study = number
        return self._study

    def _usable(self) -> sqlite3.Connection:
        """Return the connection, unless it came here from another process, which SQLite forbids."""
        if self._pid != os.getpid():
            raise StudyUnavailable(
                f"study {self._name!r} was opened in process {self._pid} and is used in {os.getpid()}",
                advice="open it in each process",
            )
        if self._is_closed:
            raise StudyUnavailable("the study was closed here", advice="open it again")
        return self._connection


class _Writing(Transaction):
    """The write lock of a study's file."""

    def __init__(self, file: SqliteFile, name: str) -> None:
        super().__init__(file)
        self._name = name

    def __enter__(self) -> None:
        try:
            with translated(self._file.path):
                super().__enter__()
        except BaseException:
            self._roll_back()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with translated(self._file.path):
            super().__exit__(kind, error, trace)
        if error is None:
            self._file.check(self._name)  # if it was moved, what was committed may never be found
