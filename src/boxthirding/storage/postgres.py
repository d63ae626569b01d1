"""Journals in a PostgreSQL database: an advisory lock for each study, one short transaction for each decision."""

import hashlib
import os
import re
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from boxthirding.errors import (
    BoxThirdingError,
    InvalidInput,
    JournalBroken,
    MissingExtra,
    StudyUnavailable,
    UnreadableData,
)
from boxthirding.storage.records import Records
from boxthirding.storage.schema import POSTGRES, VERSION_TABLE, migrate, missing
from boxthirding.study.codec import RESTORE

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError:
    raise MissingExtra("a study on PostgreSQL", "psycopg", "postgres") from None

T = TypeVar("T")

SYNCHRONOUS_COMMIT: Final = {"normal": "local", "full": "on"}
"""When a commit is done: in the server's log on disk, and with "full" also where its synchronous standbys keep it.

"off" would be faster and is not offered: a server that is killed would lose results that were acknowledged.
"""

PATIENCE: Final = 60
"""Seconds to wait for a lock, and after which the server ends the transaction of a client that has gone silent."""


NOTICE: Final = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds, the others are in seconds
}
"""How a server that has gone silent is noticed, where the URL does not say otherwise."""


STAY: Final = (
    "set_config('tcp_keepalives_idle', '30', false), set_config('tcp_keepalives_interval', '10', false), "
    "set_config('tcp_keepalives_count', '6', false), CASE WHEN current_setting('idle_session_timeout', true) > '' "
    "THEN set_config('idle_session_timeout', '0', false) END"  # unheard of before PostgreSQL 14
)
"""For a session that has names: idle for as long as it lives, missed after 90 seconds when its machine is gone."""


_NO_NUMBER: Final = "23502"  # what an event gets that would not follow the last one
_DAMAGE: Final = ("42P01", "42703")  # a table or a column is not there
_PASSING: Final = ("08", "23505", "25P03", "40", "53", "55P03", "57")  # cut, overtaken, full, busy, going down
_WAYS: Final = {
    "22P05": "give the study a name in letters that the database has, or use a database in the encoding UTF8",
    "25006": "it is read-only here, so the study can be looked at and not changed: connect to the server that is "
    "written, or as a user who may write",
    "42501": "grant the user USAGE and CREATE on the schema, and SELECT, INSERT, UPDATE and DELETE on the tables that "
    "begin with boxthirding_",
}
"""What to do where trying again does not help, by the code of the error."""

_NOT_YET: Final = {
    "57P03": "the server is starting up or shutting down: try again in a moment",
    "53300": "the server has as many connections as it allows: close some, raise max_connections, or try again",
}
"""What to do about a server that refuses to be connected to and may not refuse the next time."""


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

    def delete(self, name: str) -> bool:
        """Delete a study."""
        if name not in self.names():
            return False
        line = Line(self._url, self._durability)
        try:
            with line.transaction(key_of(f"boxthirding study {name}")):
                number = "(SELECT id FROM boxthirding_studies WHERE name = %s)"
                for table in ("events", "snapshots"):
                    line.run(f"DELETE FROM boxthirding_{table} WHERE study = {number}", (name,))  # noqa: S608  # ours
                line.run("DELETE FROM boxthirding_studies WHERE name = %s", (name,))
        finally:
            line.close()
        return True

    def records(self) -> Records:
        """Return what a server keeps in the database."""
        from boxthirding.storage.postgres_records import PostgresRecords  # noqa: PLC0415  # which stands on this file

        return PostgresRecords(Line(self._url, self._durability))


class Line:
    """A connection that is made when it is needed, and again after it broke."""

    def __init__(self, url: str, durability: str, *, makes_tables: bool = True) -> None:
        self._url, self._durability, self._makes_tables = url, durability, makes_tables
        self.place = _place(url)
        self._pid = os.getpid()
        self._connection: psycopg.Connection[Any] | None = None
        self._under_way: psycopg.Connection[Any] | None = None  # that of the transaction that has begun
        self._is_closed = False
        self._was_there = False  # whether the server has ever answered
        _lines.add(self)
        self._wait_for_answer()

    def fetch(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query."""
        return self._said(lambda connection: connection.execute(query, values).fetchall())

    def _wait_for_answer(self) -> None:
        """Connect for the first time, with patience for a server that refuses and may not refuse the next time."""
        end, pause = time.monotonic() + PATIENCE, 0.1
        may_pass = False
        while True:
            try:
                self.fetch("SELECT 1")
            except StudyUnavailable as refused:
                may_pass = may_pass or refused.transient  # one that restarts is also unreachable for a while
                if not may_pass or time.monotonic() + pause > end:
                    raise
            else:
                return
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    def run(self, statement: str, values: Sequence[object] | None = None) -> None:
        """Carry out a statement; without values it may be several, in one go."""
        self._said(lambda connection: connection.execute(statement, values))

    @contextmanager
    def transaction(self, key: int) -> Iterator[None]:
        """Hold the advisory lock of a key; commit at the end, roll back if something was raised.

        In a pipeline nothing waits for an answer but what needs one: two round trips are left, one to lock and read,
        one to append and commit.
        """
        if self._under_way is not None:
            self._drop()  # an interrupt has left a transaction open, which ends with its connection
        connection = self._said(lambda connection: connection)
        self._under_way = connection
        trouble: BaseException | None = None
        try:
            with self._said(lambda connection: connection.pipeline()):
                try:
                    self.run("BEGIN ISOLATION LEVEL READ COMMITTED")  # what is read is what the last holder left
                    self.run("SELECT pg_advisory_xact_lock(%s)", (key,))
                    yield
                    self.run("COMMIT")
                except BaseException as error:  # noqa: BLE001  # raised below: a pipeline that sees it logs its own
                    trouble = error
        except psycopg.Error as error:  # what a statement did is known when the pipeline ends
            if trouble is None:
                self._roll_back(connection)
                raise self._meaning(error) from error
        except BaseException:
            self._roll_back(connection)
            raise
        finally:
            if self._under_way is connection:
                self._under_way = None
        if trouble is not None:
            self._roll_back(connection)
            raise trouble

    def unlock(self) -> None:
        """Let go of the advisory locks of the session, if there is one."""
        if self._connection is not None:
            with suppress(StudyUnavailable):
                self.run("SELECT pg_advisory_unlock_all()")

    def close(self) -> None:
        """Close the connection for good."""
        self._is_closed = True
        if self._pid == os.getpid():
            self._drop()

    def leave(self) -> None:
        """Close the socket in a process that was forked: with it the session would outlive the process it is of."""
        if self._connection is not None:
            with suppress(psycopg.Error, OSError):
                os.close(self._connection.fileno())

    def _said(self, act: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Do something with the connection, and say what an error means for a study."""
        try:
            return act(self._usable())
        except psycopg.Error as error:
            raise self._meaning(error) from error

    def _meaning(self, error: psycopg.Error) -> BoxThirdingError:
        """Say what an error of the server means for a study, and what to do."""
        if self._connection is not None and self._connection.closed:
            self._drop()
        said, state = f"{self.place}: {_sentence(error)}", error.sqlstate or ""
        if state == _NO_NUMBER:
            return StudyUnavailable(
                f"{self.place}: the study does not end where it did, because something else has changed or restored it",
                advice="try again, and it continues from what is there",
                transient=True,
            )
        if state in _DAMAGE:
            return UnreadableData(
                f"{said}; it is damaged, or something else has changed it", advice="restore it from a backup"
            )
        if state in _WAYS:
            return StudyUnavailable(said, advice=_WAYS[state])
        if not (state or self._was_there):
            state = _refusal(self._url)
            if state in _NOT_YET:
                return StudyUnavailable(said, advice=_NOT_YET[state], transient=True)
            return StudyUnavailable(
                said, advice="is the server running, and are host, port, user, password and database right?"
            )
        if not state or state.startswith(_PASSING):
            return StudyUnavailable(said, advice="nothing is lost, try again", transient=True)
        return StudyUnavailable(said)

    def _usable(self) -> psycopg.Connection[Any]:
        if self._pid != os.getpid():
            raise StudyUnavailable(
                f"{self.place} was connected to in process {self._pid} and is used in {os.getpid()}",
                advice="open the study in each process",
            )
        if self._is_closed:
            raise StudyUnavailable("the study was closed here", advice="open it again")
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url,
                autocommit=True,
                prepare_threshold=1,
                client_encoding="UTF8",  # whatever the server, the URL or the environment prefers
                **_unless_given(self._url),
            )
            try:
                self._set_up()
            except BaseException:
                self._drop()
                raise
            self._was_there = True
        return self._connection

    def _set_up(self) -> None:
        """Say how safe a commit is to be, and make the tables or bring them up to date."""
        self.run(
            f"SET synchronous_commit = {SYNCHRONOUS_COMMIT[self._durability]}; "
            f"SET lock_timeout = '{PATIENCE}s'; SET idle_in_transaction_session_timeout = '{PATIENCE}s'"
        )
        if missing(self.place, self.version(), POSTGRES) and self._makes_tables:
            with self.transaction(key_of("boxthirding schema")):
                self.run(VERSION_TABLE)
                migrate(self.place, self.version(), POSTGRES, self.run)

    def version(self) -> int:
        """Return the version of the tables, 0 where there are none."""
        if self.fetch("SELECT to_regclass('boxthirding_schema')")[0][0] is None:
            return 0
        rows = self.fetch("SELECT version FROM boxthirding_schema")
        return int(rows[0][0]) if rows else 0

    def _roll_back(self, connection: psycopg.Connection[Any]) -> None:
        """Leave a transaction that failed, unless its connection is gone; if that fails too, the server will."""
        if self._connection is connection:
            try:
                connection.execute("ROLLBACK")
            except psycopg.Error:
                self._drop()

    def _drop(self) -> None:
        self._under_way = None
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


_lines: "weakref.WeakSet[Line]" = weakref.WeakSet()


def _leave_all() -> None:
    for line in list(_lines):
        line.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all)


class PostgresJournal:
    """One study's journal in a PostgreSQL database."""

    def __init__(self, url: str, name: str, durability: str = "normal") -> None:
        self._line = Line(url, durability)
        self._url, self._name = url, name
        self._lock = key_of(f"boxthirding study {name}")
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
        if rows and rows[0][0] != after + 1:
            raise JournalBroken(
                f"events are missing from {self._line.place} after number {after} of {self._name!r}", advice=RESTORE
            )
        if rows and rows[-1][0] != after + len(rows):  # the others come with the next page, which begins after the gap
            rows = [row for number, row in enumerate(rows, after + 1) if row[0] == number]
        if not rows and after == 0 and self._study is not None:
            raise JournalBroken(
                f"study {self._name!r} is in {self._line.place}, but all its events are missing",
                advice="restore it from a backup",
            )
        return [text for _, text in rows]

    def append(self, after: int, texts: Sequence[str]) -> None:
        """Write texts after a number."""
        if after == 0:
            self._line.run("INSERT INTO boxthirding_studies (name) VALUES (%s)", (self._name,))
        study = self._number()
        self._line.run(
            "INSERT INTO boxthirding_events (study, seq, event) "
            "SELECT %s, CASE WHEN last = %s THEN last + place END, event "  # no number at all, if it is not free
            "FROM unnest(%s::text[]) WITH ORDINALITY AS new (event, place), "
            "(SELECT coalesce(max(seq), 0) AS last FROM boxthirding_events WHERE study = %s) AS there",
            (study, after, list(texts), study),
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

    def names(self) -> "PostgresNames":
        """Return the names of the workers on the study."""
        return PostgresNames(self._url, self._name)

    def close(self) -> None:
        """Close the connection."""
        self._line.close()

    def _number(self) -> int | None:
        if self._study is None:
            rows = self._line.fetch("SELECT id FROM boxthirding_studies WHERE name = %s", (self._name,))
            self._study = int(rows[0][0]) if rows else None
        return self._study


class PostgresNames:
    """The names of workers on one study, as advisory locks of a session that does nothing else.

    The server takes them back when the session ends, on whichever machine its process was. A pooler that lends one
    session to many clients takes that away: give the URL of the server itself.
    """

    def __init__(self, url: str, study: str) -> None:
        self._line = Line(url, "normal", makes_tables=False)
        tables = self._line.fetch("SELECT to_regclass('boxthirding_studies')::oid")[0][0]
        self._study = f"boxthirding names of {tables} {study}"

    def take(self, name: str) -> bool:
        """Take a name that is free; once more on a new connection, if the one we had was cut."""
        try:
            return self._try(name)
        except StudyUnavailable:
            return self._try(name)

    def release(self) -> None:
        """Give all names back."""
        self._line.unlock()  # the server may take its time to see that a session has ended
        self._line.close()

    def _try(self, name: str) -> bool:
        """Lock a name; a session may lock what it has locked already."""
        key = key_of(f"{self._study}\0{name}")
        return bool(self._line.fetch(f"SELECT {STAY}, pg_try_advisory_lock(%s)", (key,))[0][-1])


def key_of(text: str) -> int:
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


def _unless_given(url: str) -> dict[str, Any]:
    """Return how to notice a silent server, as far as neither the URL nor the environment says it."""
    said = {*conninfo_to_dict(url), *(["connect_timeout"] if "PGCONNECT_TIMEOUT" in os.environ else [])}
    return {option: value for option, value in NOTICE.items() if option not in said}


def _refusal(url: str) -> str:
    """Return the code with which a server refuses to be connected to; empty, if it cannot be had.

    Connections that fail have no code of their own, so the server is asked again, and what it says is listened to.
    """
    options = make_conninfo(url, connect_timeout=_SOON).encode()
    answer = psycopg.pq.PGconn.ping(options)
    if answer == psycopg.pq.Ping.REJECT:
        return "57P03"
    if answer != psycopg.pq.Ping.OK:
        return ""
    with tempfile.TemporaryFile() as heard, suppress(psycopg.Error, OSError):
        connection = psycopg.pq.PGconn.connect_start(options)
        connection.trace(heard.fileno())
        end = time.monotonic() + _SOON
        while (state := connection.connect_poll()) not in _DONE and time.monotonic() < end:
            time.sleep(0.01)
        connection.untrace()
        connection.finish()
        if state == psycopg.pq.PollingStatus.OK:  # it lets us in by now: one connection has ended since
            return "53300"
        heard.seek(0)
        code = re.search(rb'\tErrorResponse\t.* C "(\w{5})"', heard.read())
        return "" if code is None else code[1].decode()
    return ""


_SOON: Final = 3  # seconds
_DONE: Final = (psycopg.pq.PollingStatus.OK, psycopg.pq.PollingStatus.FAILED)


def _sentence(error: psycopg.Error) -> str:
    """Return what the server says in one line."""
    return " ".join(str(error).split()) or type(error).__name__
