"""Journals in an SQLite file: the write-ahead log lets others read while one writes, and a commit costs one append."""

import os
from collections.abc import Sequence
from contextlib import closing

from boxthirding.errors import JournalBroken, StudyUnavailable, UnreadableData
from boxthirding.storage.sqlite_errors import FROM_BACKUP, is_there, translated
from boxthirding.storage.sqlite_file import PATIENCE, SqliteFile, connect
from boxthirding.storage.sqlite_records import SqliteRecords
from boxthirding.storage.sqlite_transactions import Writing
from boxthirding.storage.worker_locks import FileNames
from boxthirding.study.codec import RESTORE


class SqliteShelf:
    """The studies of one file."""

    def __init__(self, path: str, durability: str = "normal", timeout: float = PATIENCE) -> None:
        self._path, self._durability, self._timeout = path, durability, timeout

    def names(self) -> list[str]:
        """Return the names of the studies there are; nothing is made where there are none."""
        if not is_there(self._path):
            return []
        with closing(SqliteFile(self._path, self._timeout)) as file, translated(self._path), file.reading(""):
            query = "SELECT name FROM boxthirding_studies ORDER BY name"
            names = [name for (name,) in file.connection.execute(query).fetchall()] if file.version() else []
        if not all(type(name) is str for name in names):
            raise UnreadableData(f"{self._path} has a study without a name: it is damaged", advice=FROM_BACKUP)
        return names

    def journal(self, name: str) -> "SqliteJournal":
        """Return the journal of a study, empty if there is none."""
        return SqliteJournal(self._path, name, self._durability, self._timeout)

    def delete(self, name: str) -> bool:
        """Delete a study."""
        if name not in self.names():
            return False
        with closing(connect(self._path, self._durability, self._timeout)) as file, Writing(file, name):
            run = file.connection.execute
            row = run("SELECT id FROM boxthirding_studies WHERE name = ?", (name,)).fetchone()
            for table in ("events", "snapshots"):
                query = f"DELETE FROM boxthirding_{table} WHERE study = ?"  # noqa: S608  # a name of ours
                run(query, row or (None,))
            return run("DELETE FROM boxthirding_studies WHERE name = ?", (name,)).rowcount > 0

    def records(self) -> SqliteRecords:
        """Return what a server keeps in the file."""
        return SqliteRecords(self._path, self._durability, self._timeout)


class SqliteJournal:
    """One study's journal in an SQLite file."""

    def __init__(self, path: str, name: str, durability: str = "normal", timeout: float = PATIENCE) -> None:
        self._path, self._name = path, name
        self._pid = os.getpid()
        self._file = connect(path, durability, timeout)
        self._is_closed = False
        self._study: int | None = None  # the study's number in the file, once it is there
        self._end: int | None = None  # how many events there are, as the transaction under way has seen

    def writing(self) -> Writing:
        """Hold the file's write lock; commit at the end, roll back if something was raised."""
        self._usable()
        self._end = None
        return Writing(self._file, self._name)

    def read(self, after: int, limit: int) -> list[str]:
        """Return up to `limit` texts after a number."""
        file = self._usable()
        with translated(self._path), file.reading(self._name):
            study = self._number()
            rows = file.connection.execute(
                "SELECT seq, event FROM boxthirding_events WHERE study = ? AND seq >= ? ORDER BY seq LIMIT ?",
                (study, after, limit + 1),
            ).fetchall()
            if rows:
                file.see(study, *rows[-1])
        follows = not after or (rows and rows[0][0] == after)  # else it was restored from a backup, or is damaged
        rows = rows[1:] if after and follows else rows[:limit]
        self._end = after + len(rows) if follows and len(rows) < limit and file.under_way is not None else None
        if not rows:
            if after == 0 and study is not None:
                self._refuse_empty()
            return []
        if rows[0][0] != after + 1:
            raise JournalBroken(
                f"events are missing from {self._path} after number {after} of {self._name!r}", advice=RESTORE
            )
        if rows[-1][0] != after + len(rows):  # the others come with the next page, which begins after the gap
            rows = [row for number, row in enumerate(rows, after + 1) if row[0] == number]
        return [text if type(text) is str else str(text) for _, text in rows]

    def append(self, after: int, texts: Sequence[str]) -> None:
        """Write texts after a number."""
        file = self._usable()
        with translated(self._path):
            if after == 0:
                file.connection.execute("INSERT INTO boxthirding_studies (name) VALUES (?)", (self._name,))
            study = self._number()
            if self._end != after or after == 0:
                self._check_end(study, after)
            file.write(study, after, texts)
            self._end = None

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Keep a snapshot, and the one before it."""
        file = self._usable()
        with translated(self._path):
            study = self._number()
            file.connection.execute(
                "INSERT OR REPLACE INTO boxthirding_snapshots (study, seq, data) VALUES (?, ?, ?)",
                (study, seq, snapshot),
            )
            for old in self.snapshots()[2:]:
                file.connection.execute("DELETE FROM boxthirding_snapshots WHERE study = ? AND seq = ?", (study, old))

    def snapshots(self) -> list[int]:
        """Return the numbers of the snapshots, the latest first."""
        file = self._usable()
        with translated(self._path), file.reading(self._name):
            rows = file.connection.execute(
                "SELECT seq FROM boxthirding_snapshots WHERE study = ? ORDER BY seq DESC", (self._number(),)
            ).fetchall()
        return [seq for (seq,) in rows if type(seq) is int]

    def snapshot(self, seq: int) -> bytes:
        """Return a snapshot."""
        file = self._usable()
        with translated(self._path), file.reading(self._name):
            rows = file.connection.execute(
                "SELECT data FROM boxthirding_snapshots WHERE study = ? AND seq = ?", (self._number(), seq)
            ).fetchall()
        return rows[0][0] if rows and type(rows[0][0]) is bytes else b""

    def names(self) -> FileNames:
        """Return the names of the workers on the study."""
        return FileNames(self._path, self._name)

    def close(self) -> None:
        """Close the file."""
        self._is_closed = True
        self._file.close()

    def _number(self) -> int | None:
        if self._study is None:
            connection = self._file.connection
            row = connection.execute("SELECT id FROM boxthirding_studies WHERE name = ?", (self._name,)).fetchone()
            if row is not None and type(row[0]) is not int:
                raise UnreadableData(
                    f"{self._path} has study {self._name!r} under number {row[0]!r}, which is none: it is damaged",
                    advice=FROM_BACKUP,
                )
            if connection.in_transaction:
                return None if row is None else row[0]  # it may have been made in this very one, and be rolled back
            self._study = None if row is None else row[0]
        return self._study

    def _check_end(self, study: int | None, after: int) -> None:
        """Refuse to write where the journal does not end."""
        query = "SELECT max(seq) FROM boxthirding_events WHERE study = ?"
        last = self._file.connection.execute(query, (study,)).fetchone()[0] or 0
        if last and not after:
            raise JournalBroken(
                f"{self._path} has events of a study that it does not list: it is damaged", advice=FROM_BACKUP
            )
        if last != after:
            self._study = None
            raise StudyUnavailable(
                f"event {after + 1} of {self._name!r} cannot be written, because {self._path} has {last}: something "
                "else has changed or restored it",
                advice="try again, and the study continues from what is there",
                transient=True,
            )

    def _refuse_empty(self) -> None:
        """Refuse a study that is there and has no events: it was made with its first one."""
        raise JournalBroken(
            f"study {self._name!r} is in {self._path}, but all its events are missing", advice=FROM_BACKUP
        )

    def _usable(self) -> SqliteFile:
        """Return the file, unless it came here from another process, which SQLite forbids."""
        if self._pid != os.getpid():
            raise StudyUnavailable(
                f"study {self._name!r} was opened in process {self._pid} and is used in {os.getpid()}",
                advice="open it in each process",
            )
        if self._is_closed:
            raise StudyUnavailable("the study was closed here", advice="open it again")
        return self._file
