"""What SQLite and PostgreSQL share: the tables, how old tables are migrated, and the queries of a journal."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from typing import Any, Final, Protocol

from boxthirding.errors import JournalBroken, UnreadableData
from boxthirding.study.codec import RESTORE

# Migrations: statement k makes version k + 1 of the tables from version k; version 0 is a database without them.
SQLITE: Final[Sequence[str]] = (
    """
    CREATE TABLE boxthirding_studies (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE boxthirding_events (
        study INTEGER NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (study, seq)
    ) WITHOUT ROWID;
    CREATE TABLE boxthirding_snapshots (
        study INTEGER NOT NULL, seq INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (study, seq)
    );
    """,
)

POSTGRES: Final[Sequence[str]] = (
    """
    CREATE TABLE boxthirding_studies (
        id BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name TEXT NOT NULL UNIQUE
    );
    CREATE TABLE boxthirding_events (
        study BIGINT NOT NULL, seq BIGINT NOT NULL, event TEXT NOT NULL, PRIMARY KEY (study, seq)
    );
    CREATE TABLE boxthirding_snapshots (
        study BIGINT NOT NULL, seq BIGINT NOT NULL, data BYTEA NOT NULL, PRIMARY KEY (study, seq)
    );
    """,
)

VERSION_TABLE: Final = "CREATE TABLE IF NOT EXISTS boxthirding_schema (version INTEGER NOT NULL)"

FROM_BACKUP: Final = "restore it from a backup"
TRY_AGAIN: Final = "nothing is lost, try again"
CLOSED: Final = "the study was closed here"


def missing(place: str, version: int, migrations: Sequence[str]) -> Sequence[str]:
    """Return the migrations that tables of a version need; refuse tables that are newer than this package."""
    if version > len(migrations):
        raise UnreadableData(
            f"{place} has tables of version {version}, but this version of boxthirding knows them up to "
            f"{len(migrations)}: open it with a newer version"
        )
    return migrations[version:]


def migrate(place: str, version: int, migrations: Sequence[str], run: Callable[[str], object]) -> None:
    """Bring the tables up to date with statements that `run` executes, all in one transaction of the caller."""
    steps = missing(place, version, migrations)
    for step in steps:
        for statement in filter(str.strip, step.split(";")):
            run(statement)
    if steps:
        run("DELETE FROM boxthirding_schema")
        run(f"INSERT INTO boxthirding_schema (version) VALUES ({len(migrations)})")  # noqa: S608  # our own number


class SqlConnection(Protocol):
    """A connection to a database. Statements mark their values with question marks."""

    place: str  # the database as messages name it

    def version(self) -> int:
        """Return the version of the tables, 0 where there are none."""

    def fetch(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query."""

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Execute a statement in the current transaction; return how many rows it changed, where that is known."""

    def change(self, statement: str, values: Sequence[object] = ()) -> int:
        """Execute a statement in a transaction of its own; return how many rows it changed."""

    def writing(self, study: str) -> AbstractContextManager[object]:
        """Hold the write lock of a study; commit at the end, roll back if something was raised."""

    def close(self) -> None:
        """Close the connection."""


class SqlShelf:
    """The studies of one database."""

    def __init__(self, connect: Callable[[bool], SqlConnection]) -> None:
        self._connect = connect

    def names(self) -> list[str]:
        """Return the names of the studies there are; nothing is made where there are none."""
        with closing(self._connect(False)) as connection:  # noqa: FBT003  # without making tables
            query = "SELECT name FROM boxthirding_studies ORDER BY name"  # by its index, whose damage would show
            rows = connection.fetch(query) if connection.version() else []
            if not all(type(name) is str for (name,) in rows):
                raise UnreadableData(f"{connection.place} is damaged: a study has no name", advice=FROM_BACKUP)
        return sorted(name for (name,) in rows)  # whatever the collation of the database

    def delete(self, name: str) -> bool:
        """Delete a study; return whether there was one."""
        if name not in self.names():
            return False
        with closing(self._connect(True)) as connection, connection.writing(name):  # noqa: FBT003  # with tables
            for table in ("events", "snapshots"):
                study = "(SELECT id FROM boxthirding_studies WHERE name = ?)"
                connection.run(f"DELETE FROM boxthirding_{table} WHERE study = {study}", (name,))  # noqa: S608  # ours
            connection.run("DELETE FROM boxthirding_studies WHERE name = ?", (name,))
        return True


class SqlJournal:
    """One study's journal in a database."""

    def __init__(self, connection: SqlConnection, name: str) -> None:
        self._connection, self._name = connection, name
        self._study: int | None = None  # its number in the database, once that is known
        self._is_new = False  # whether the current transaction has made the study: its number may be rolled back

    def writing(self) -> AbstractContextManager[Any]:
        """Hold the write lock; commit at the end, roll back if something was raised."""
        self._is_new = False
        return self._connection.writing(self._name)

    def read(self, after: int, limit: int) -> list[str]:
        """Return up to `limit` texts after a number."""
        query = "SELECT seq, event FROM boxthirding_events WHERE study = ? AND seq > ? ORDER BY seq LIMIT ?"
        study = self._number()
        rows = self._connection.fetch(query, (study, after, limit))
        if not rows and self._study is not None:  # it may have been deleted, and another made under its name
            self._study = None
            study = self._number()
            rows = self._connection.fetch(query, (study, after, limit))
        if not rows:
            if after == 0 and study is not None:  # a study is made with its first event
                raise JournalBroken(f"{self._connection.place} lacks all events of {self._name!r}", advice=FROM_BACKUP)
            return []
        if rows[0][0] != after + 1:
            raise JournalBroken(
                f"{self._connection.place} lacks events of {self._name!r} after number {after}", advice=RESTORE
            )
        if rows[-1][0] != after + len(rows):  # the others come with the next page, which begins after the gap
            rows = [row for number, row in enumerate(rows, after + 1) if row[0] == number]
        return [text if type(text) is str else str(text) for _, text in rows]

    def append(self, after: int, texts: Sequence[str]) -> None:
        """Write texts after a number."""
        if after == 0:
            self._connection.run("INSERT INTO boxthirding_studies (name) VALUES (?)", (self._name,))
            self._study, self._is_new = None, True
        self._insert(self._number(), after, texts)

    def _insert(self, study: int | None, after: int, texts: Sequence[str]) -> None:
        """Write texts after the last one; refuse, if that has another number."""
        raise NotImplementedError

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Keep a snapshot, and the one before it."""
        study = self._number()
        self._connection.run(
            "INSERT INTO boxthirding_snapshots (study, seq, data) VALUES (?, ?, ?) "
            "ON CONFLICT (study, seq) DO UPDATE SET data = excluded.data",
            (study, seq, snapshot),
        )
        for old in self.snapshots()[2:]:
            self._connection.run("DELETE FROM boxthirding_snapshots WHERE study = ? AND seq = ?", (study, old))

    def snapshots(self) -> list[int]:
        """Return the numbers of the snapshots, the latest first."""
        query = "SELECT seq FROM boxthirding_snapshots WHERE study = ? ORDER BY seq DESC"
        return [seq for (seq,) in self._connection.fetch(query, (self._number(),)) if type(seq) is int]

    def snapshot(self, seq: int) -> bytes:
        """Return a snapshot; empty, if it is not there or damaged."""
        query = "SELECT data FROM boxthirding_snapshots WHERE study = ? AND seq = ?"
        rows = self._connection.fetch(query, (self._number(), seq))
        return rows[0][0] if rows and type(rows[0][0]) is bytes else b""

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _number(self) -> int | None:
        """Return the study's number in the database; None, if it is not there."""
        if self._study is not None:
            return self._study
        rows = self._connection.fetch("SELECT id FROM boxthirding_studies WHERE name = ?", (self._name,))
        number = rows[0][0] if rows else None
        if number is not None and type(number) is not int:
            raise UnreadableData(
                f"{self._connection.place} is damaged: study {self._name!r} has the number {number!r}",
                advice=FROM_BACKUP,
            )
        if not self._is_new:
            self._study = number
        return number
