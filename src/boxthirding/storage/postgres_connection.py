"""A connection to a PostgreSQL server: made when it is needed, and again after it broke; what its errors mean."""

import hashlib
import os
import re
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TypeVar

from boxthirding.errors import BoxThirdingError, InvalidInput, MissingExtra, StudyUnavailable, UnreadableData
from boxthirding.storage.schema import POSTGRES, VERSION_TABLE, migrate, missing

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
