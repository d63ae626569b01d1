"""A connection to a PostgreSQL server: opened when it is needed, reopened after it broke; its errors translated."""

import hashlib
import os
import re
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final, TypeVar

from boxthirding.errors import BoxThirdingError, InvalidInput, MissingExtra, StudyUnavailable, UnreadableData
from boxthirding.storage.sql import CLOSED, FROM_BACKUP, POSTGRES, TRY_AGAIN, VERSION_TABLE, migrate, missing
from boxthirding.study.journal import CONTINUE

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict, make_conninfo
except ImportError:
    raise MissingExtra("a study on PostgreSQL", "psycopg", "postgres") from None

T = TypeVar("T")

SYNCHRONOUS_COMMIT: Final = {"normal": "local", "full": "on"}
"""A commit waits until it is in the server's log on disk, and with "full" until synchronous standbys have it, too.

"off" would be faster, but a server that is killed would lose results that were acknowledged.
"""

PATIENCE: Final = 60
"""Seconds to wait for a lock, and after which the server ends the transaction of a client that has gone silent."""


# Connection options that notice a silent server, where the URL does not set them.
NOTICE: Final = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,  # milliseconds, the others are in seconds
}


_NO_NUMBER: Final = "23502"  # not null: an event that would not follow the last one has no number
_DAMAGE: Final = ("42P01", "42703")  # a table or a column is not there
_PASSING: Final = ("08", "23505", "25P03", "40", "53", "55P03", "57")  # cut, overtaken, full, busy, going down
# Advice by the code of an error, where trying again does not help.
_WAYS: Final = {
    "22P05": "give the study a name in letters that the database has, or use a database in the encoding UTF8",
    "25006": "it is read-only here, so the study can be looked at and not changed: connect to the server that is "
    "written, or as a user who may write",
    "42501": "grant the user USAGE and CREATE on the schema, and SELECT, INSERT, UPDATE and DELETE on the tables that "
    "begin with boxthirding_",
}

# Advice by the code with which a server refuses a connection for now.
_NOT_YET: Final = {
    "57P03": "the server is starting up or shutting down: try again in a moment",
    "53300": "the server has as many connections as it allows: close some, raise max_connections, or try again",
}


class PostgresConnection:
    """A connection that is opened when it is needed, and reopened after it broke."""

    def __init__(self, url: str, durability: str, *, makes_tables: bool = True) -> None:
        self._url, self._durability, self._makes_tables = url, durability, makes_tables
        self.place = _place(url)
        self._pid = os.getpid()
        self._connection: psycopg.Connection[Any] | None = None
        self._transaction: psycopg.Connection[Any] | None = None  # the connection of the current transaction
        self._is_closed = False
        self._was_there = False  # whether the server has ever answered
        _connections.add(self)
        self._wait_for_answer()

    def fetch(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query."""
        return self._call(lambda connection: connection.execute(query.replace("?", "%s"), values).fetchall())

    def run(self, statement: str, values: Sequence[object] | None = None) -> int:
        """Execute a statement; without values it may be several. Return how many rows it changed."""
        return self._call(lambda connection: connection.execute(statement.replace("?", "%s"), values).rowcount)

    change = run  # outside of a transaction each statement is one

    def writing(self, study: str) -> AbstractContextManager[None]:
        """Hold the write lock of a study in a transaction."""
        return self.transaction(key_of(f"boxthirding study {study}"))

    def _wait_for_answer(self) -> None:
        """Connect for the first time; wait for a server that refuses connections for now."""
        end, pause = time.monotonic() + PATIENCE, 0.1
        may_pass = False
        while True:
            try:
                self.fetch("SELECT 1")
            except StudyUnavailable as refused:
                may_pass = may_pass or refused.transient  # a server that restarts is unreachable for a moment
                if not may_pass or time.monotonic() + pause > end:
                    raise
            else:
                return
            time.sleep(pause)
            pause = min(2 * pause, 2.0)

    @contextmanager
    def transaction(self, key: int) -> Iterator[None]:
        """Hold the advisory lock of a key; commit at the end, roll back if something was raised.

        In a pipeline only a statement whose rows are fetched waits for the server: two round trips are left, one to
        lock and read, one to append and commit.
        """
        if self._transaction is not None:
            self._drop()  # an interrupt has left it open: it ends with its connection
        connection = self._call(lambda connection: connection)
        self._transaction = connection
        trouble: BaseException | None = None
        try:
            with self._call(lambda connection: connection.pipeline()):
                try:
                    self.run("BEGIN ISOLATION LEVEL READ COMMITTED")  # what is read is what the last holder left
                    self.run("SELECT pg_advisory_xact_lock(?)", (key,))
                    yield
                    self.run("COMMIT")
                except BaseException as error:  # noqa: BLE001  # raised below: the pipeline would log it
                    trouble = error
        except psycopg.Error as error:  # errors of statements are raised when the pipeline ends
            if trouble is None:
                trouble = self._translated(error)
                trouble.__cause__ = error
        except BaseException as error:  # noqa: BLE001  # raised below; an interrupted pipeline ends with an IndexError
            trouble = trouble or error
        finally:
            if self._transaction is connection:
                self._transaction = None
        if trouble is not None:
            self._roll_back(connection, is_interrupted=not isinstance(trouble, Exception))
            raise trouble

    def unlock(self) -> None:
        """Release the advisory locks of the session, if there is one."""
        if self._connection is not None:
            with suppress(StudyUnavailable):
                self.run("SELECT pg_advisory_unlock_all()")

    def close(self) -> None:
        """Close the connection; it is not opened again."""
        self._is_closed = True
        if self._pid == os.getpid():
            self._drop()

    def abandon(self) -> None:
        """Close the socket in a forked process: it would keep the parent's session open after its end."""
        if self._connection is not None:
            with suppress(psycopg.Error, OSError):
                os.close(self._connection.fileno())

    def _call(self, act: Callable[[psycopg.Connection[Any]], T]) -> T:
        """Use the connection, and translate the errors of psycopg."""
        try:
            return act(self._usable())
        except psycopg.Error as error:
            raise self._translated(error) from error

    def _translated(self, error: psycopg.Error) -> BoxThirdingError:
        """Return an error of the server as one of this package, with advice."""
        if self._connection is not None and self._connection.closed:
            self._drop()
        said, state = f"{self.place}: {_sentence(error)}", error.sqlstate or ""
        if state == _NO_NUMBER:
            return StudyUnavailable(
                f"{self.place}: the study does not end where it did, because something else has changed or restored it",
                advice=CONTINUE,
                transient=True,
            )
        if state in _DAMAGE:
            return UnreadableData(f"{said}; it is damaged, or something else has changed it", advice=FROM_BACKUP)
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
            return StudyUnavailable(said, advice=TRY_AGAIN, transient=True)
        return StudyUnavailable(said)

    def _usable(self) -> psycopg.Connection[Any]:
        if self._pid != os.getpid():
            raise StudyUnavailable(
                f"{self.place} was connected to in process {self._pid} and is used in {os.getpid()}",
                advice="open the study in each process",
            )
        if self._is_closed:
            raise StudyUnavailable(CLOSED, advice="open it again")
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
        """Set the durability of commits, and make the tables or bring them up to date."""
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

    def _roll_back(self, connection: psycopg.Connection[Any], *, is_interrupted: bool) -> None:
        """Roll back a failed transaction, unless its connection is gone, with which the server rolls it back."""
        if self._connection is not connection:
            return
        try:
            if is_interrupted:  # the state of the connection is unknown
                self._drop()
            else:
                connection.execute("ROLLBACK")
        except psycopg.Error:
            self._drop()

    def _drop(self) -> None:
        self._transaction = None
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None


_connections: "weakref.WeakSet[PostgresConnection]" = weakref.WeakSet()


def _abandon_all() -> None:
    for connection in list(_connections):
        connection.abandon()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon_all)


def key_of(text: str) -> int:
    """Return the number of an advisory lock; two keys with one number only wait for each other."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


def _place(url: str) -> str:
    """Return the name of a database, without its password."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.Error:
        raise InvalidInput("url begins like PostgreSQL's, but must be postgresql://USER@HOST:PORT/DATABASE") from None
    host = parts.get("host") or "this machine"
    return f"PostgreSQL database {parts.get('dbname') or 'of its user'} at {host}"


def _unless_given(url: str) -> dict[str, Any]:
    """Return the options of NOTICE that neither the URL nor the environment sets."""
    said = {*conninfo_to_dict(url), *(["connect_timeout"] if "PGCONNECT_TIMEOUT" in os.environ else [])}
    return {option: value for option, value in NOTICE.items() if option not in said}


def _refusal(url: str) -> str:
    """Return the code with which a server refuses a connection; empty, if it cannot be learned.

    libpq does not give the code of a connection that failed, so the code is read from the trace of another attempt.
    """
    options = make_conninfo(url, connect_timeout=_SOON).encode()
    answer = psycopg.pq.PGconn.ping(options)
    if answer == psycopg.pq.Ping.REJECT:
        return "57P03"
    if answer != psycopg.pq.Ping.OK:
        return ""
    with tempfile.TemporaryFile() as trace, suppress(psycopg.Error, OSError):
        connection = psycopg.pq.PGconn.connect_start(options)
        connection.trace(trace.fileno())
        end = time.monotonic() + _SOON
        while (state := connection.connect_poll()) not in _DONE and time.monotonic() < end:
            time.sleep(0.01)
        connection.untrace()
        connection.finish()
        if state == psycopg.pq.PollingStatus.OK:  # by now it accepts: a connection has ended since
            return "53300"
        trace.seek(0)
        code = re.search(rb'\tErrorResponse\t.* C "(\w{5})"', trace.read())
        return "" if code is None else code[1].decode()
    return ""


_SOON: Final = 3  # seconds
_DONE: Final = (psycopg.pq.PollingStatus.OK, psycopg.pq.PollingStatus.FAILED)


def _sentence(error: psycopg.Error) -> str:
    """Return the message of the server in one line."""
    return " ".join(str(error).split()) or type(error).__name__
