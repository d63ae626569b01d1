"""Journals in a PostgreSQL database: an advisory lock for each study, one short transaction for each decision."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from boxthirding.errors import InvalidInput, JournalBroken, MissingExtra, StudyUnavailable
from boxthirding.storage.schema import POSTGRES, VERSION_TABLE, migrate, missing

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise MissingExtra("a study on PostgreSQL", "psycopg", "postgres") from None

T = TypeVar("T")

SYNCHRONOUS_COMMIT: Final = {"normal": "local", "full": "on"}
"""When a commit is done: in the server's log on disk, and with "full" also where its synchronous standbys keep it.

"off" would be faster and is not offered: a server that is killed would lose results that were acknowledged.
"""

PATIENCE: Final = 60
"""Seconds to wait for a lock, and after which the server ends the transaction of a client that has gone silent."""


class PostgresShelf:
    """The studies of one database."""

    def __init__(self, url: str, durability: str = "normal") -> None:
        self._url, self._durability = url, durability

    def names(self) -> list[str]:
        """Return the names of the studies there are; nothing is made where there are none."""
        line = Line(self._url, self._durability, makes_tables=False)
        try:
            query = 'SELECT name FROM boxthirding_studies ORDER BY name COLLATE "C"'
            return [name for (name,) in line.fetch(query)] if line.version() else []
        finally:
            line.close()

    def journal(self, name: str) -> "PostgresJournal":
        """Return the journal of a study, empty if there is none."""
        return PostgresJournal(self._url, name, self._durability)


class Line:
    """A connection that is made when it is needed, and again after it broke."""

    def __init__(self, url: str, durability: str, *, makes_tables: bool = True) -> None:
        self._url, self._durability, self._makes_tables = url, durability, makes_tables
        self.place = _place(url)
        self._pid = os.getpid()
        self._connection: psycopg.Connection[Any] | None = None
        self._is_closed = False
        self.fetch("SELECT 1")

    def fetch(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query."""
        return self._said(lambda connection: connection.execute(query, values).fetchall())

    def run(self, statement: str, values: Sequence[object] | None = None) -> None:
        """Carry out a statement; without values it may be several, in one go."""
        self._said(lambda connection: connection.execute(statement, values))

    @contextmanager
    def transaction(self, key: int) -> Iterator[None]:
        """Hold the advisory lock of a key; commit at the end, roll back if something was raised.

        In a pipeline nothing waits for an answer but what needs one: two round trips are left, one to lock and read,
        one to append and commit.
        """
        try:
            with self._said(lambda connection: connection.pipeline()):
                self.run("BEGIN")
                self.run("SELECT pg_advisory_xact_lock(%s)", (key,))
                yield
                self.run("COMMIT")
        except psycopg.Error as error:  # what a statement did is known when the pipeline ends
            self._roll_back()
            raise self._unavailable(error) from error
        except BaseException:
            self._roll_back()
            raise

    def close(self) -> None:
        """Close the connection for good."""
        self._is_closed = True
        if self._pid == os.getpid():
            self._drop()

    def _said(self, act: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Do something with the connection, and say what an error means for a study."""
        try:
            return act(self._usable())
        except psycopg.Error as error:
            raise self._unavailable(error) from error

    def _unavailable(self, error: psycopg.Error) -> StudyUnavailable:
        if self._connection is not None and self._connection.closed:
            self._drop()
        return StudyUnavailable(f"{self.place}: {_sentence(error)}; nothing is lost, try again")

    def _usable(self) -> psycopg.Connection[Any]:
        if self._pid != os.getpid():
            raise StudyUnavailable(
                f"{self.place} was connected to in process {self._pid} and is used in {os.getpid()}: "
                "open the study in each process"
            )
        if self._is_closed:
            raise StudyUnavailable("the study was disconnected here: open it again")
        if self._connection is None:
            self._connection = psycopg.connect(self._url, autocommit=True, prepare_threshold=1)
            try:
                self._set_up()
            except BaseException:
                self._drop()
                raise
        return self._connection

    def _set_up(self) -> None:
        """Say how safe a commit is to be, and make the tables or bring them up to date."""
        self.run(
            f"SET synchronous_commit = {SYNCHRONOUS_COMMIT[self._durability]}; "
            f"SET lock_timeout = '{PATIENCE}s'; SET idle_in_transaction_session_timeout = '{PATIENCE}s'"
        )
        if missing(self.place, self.version(), POSTGRES) and self._makes_tables:
            with self.transaction(_key("boxthirding schema")):
                self.run(VERSION_TABLE)
                migrate(self.place, self.version(), POSTGRES, self.run)

    def version(self) -> int:
        """Return the version of the tables, 0 where there are none."""
        if self.fetch("SELECT to_regclass('boxthirding_schema')")[0][0] is None:
            return 0
        rows = self.fetch("SELECT version FROM boxthirding_schema")
        return int(rows[0][0]) if rows else 0

    def _roll_back(self) -> None:
        """Leave a transaction that failed; if that fails too, the server will."""
        if self._connection is not None:
            try:
                self._connection.execute("ROLLBACK")
            except psycopg.Error:
                self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


class PostgresJournal:
    """One study's journal in a PostgreSQL database."""

    def __init__(self, url: str, name: str, durability: str = "normal") -> None:
        self._line = Line(url, durability)
        self._name = name
        self._lock = _key(f"boxthirding study {name}")
        self._study: int | None = None  # the study's number in the database, once it is there

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the study's lock; commit at the end, roll back if something was raised."""
        try:
            with self._line.transaction(self._lock):
                yield
        except BaseException:
            self._study = None  # it may have been made in this very transaction
            raise

    def read(self, after: int, limit: int) -> list[str]:
        """Return up to `limit` texts after a number."""
        rows = self._line.fetch(
            "SELECT seq, event FROM boxthirding_events WHERE study = %s AND seq > %s ORDER BY seq LIMIT %s",
            (self._number(), after, limit),
        )
        if rows and (rows[0][0], rows[-1][0]) != (after + 1, after + len(rows)):
            raise JournalBroken(f"events are missing from {self._line.place} after number {after} of {self._name!r}")
        return [text for _, text in rows]

    def append(self, after: int, texts: Sequence[str]) -> None:
        """Write texts after a number."""
        if after == 0:
            self._line.run("INSERT INTO boxthirding_studies (name) VALUES (%s)", (self._name,))
        self._line.run(
            "INSERT INTO boxthirding_events (study, seq, event) "
            "SELECT %s, %s + place, event FROM unnest(%s::text[]) WITH ORDINALITY AS new (event, place)",
            (self._number(), after, list(texts)),
        )

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Keep a snapshot, and the one before it."""
        study = self._number()
        self._line.run(
            "INSERT INTO boxthirding_snapshots (study, seq, data) VALUES (%s, %s, %s) "
            "ON CONFLICT (study, seq) DO UPDATE SET data = excluded.data",
            (study, seq, snapshot),
        )
        for old in self.snapshots()[2:]:
            self._line.run("DELETE FROM boxthirding_snapshots WHERE study = %s AND seq = %s", (study, old))

    def snapshots(self) -> list[int]:
        """Return the numbers of the snapshots, the latest first."""
        rows = self._line.fetch(
            "SELECT seq FROM boxthirding_snapshots WHERE study = %s ORDER BY seq DESC", (self._number(),)
        )
        return [int(seq) for (seq,) in rows]

    def snapshot(self, seq: int) -> bytes:
        """Return a snapshot."""
        rows = self._line.fetch(
            "SELECT data FROM boxthirding_snapshots WHERE study = %s AND seq = %s", (self._number(), seq)
        )
        return bytes(rows[0][0]) if rows else b""

    def close(self) -> None:
        """Close the connection."""
        self._line.close()

    def _number(self) -> int | None:
        if self._study is None:
            rows = self._line.fetch("SELECT id FROM boxthirding_studies WHERE name = %s", (self._name,))
            self._study = int(rows[0][0]) if rows else None
        return self._study


def _key(text: str) -> int:
    """Return the number of an advisory lock; two that share one only wait for each other."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def _place(url: str) -> str:
    """Name a database without its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        raise InvalidInput(
            "url begins like one of PostgreSQL, but must be postgresql://USER@HOST:PORT/DATABASE"
        ) from None
    host = parts.get("host") or "this machine"
    return f"PostgreSQL database {parts.get('dbname') or 'of its user'} at {host}"


def _sentence(error: psycopg.Error) -> str:
    """Return what the server says in one line."""
    return " ".join(str(error).split()) or type(error).__name__
