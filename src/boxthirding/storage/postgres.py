"""Journals in a PostgreSQL database: an advisory lock for each study, one short transaction for each decision."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from boxthirding.errors import StudyUnavailable
from boxthirding.storage.postgres_connection import PostgresConnection, key_of
from boxthirding.storage.server_records import Records, SqlRecords
from boxthirding.storage.sql import SqlJournal, SqlShelf

# For a session that holds names: it may be idle for ever, and ends 90 seconds after its machine is gone.
STAY: Final = (
    "set_config('tcp_keepalives_idle', '30', false), set_config('tcp_keepalives_interval', '10', false), "
    "set_config('tcp_keepalives_count', '6', false), CASE WHEN current_setting('idle_session_timeout', true) > '' "
    "THEN set_config('idle_session_timeout', '0', false) END"  # unknown before PostgreSQL 14
)


class PostgresShelf(SqlShelf):
    """The studies of one database."""

    def __init__(self, url: str, durability: str = "normal") -> None:
        super().__init__(lambda makes_tables: PostgresConnection(url, durability, makes_tables=makes_tables))
        self._url, self._durability = url, durability

    def journal(self, name: str) -> "PostgresJournal":
        """Return the journal of a study, empty if there is none."""
        return PostgresJournal(self._url, name, self._durability)

    def records(self) -> Records:
        """Return what a server keeps in the database."""
        return SqlRecords(PostgresConnection(self._url, self._durability), "DOUBLE PRECISION", "BYTEA")


class PostgresJournal(SqlJournal):
    """One study's journal in a PostgreSQL database."""

    def __init__(self, url: str, name: str, durability: str = "normal") -> None:
        super().__init__(PostgresConnection(url, durability), name)
        self._url = url

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the study's lock; commit at the end, roll back if something was raised."""
        try:
            with super().writing():
                yield
        except BaseException:
            self._study = None  # it may be another one by now
            raise

    def _insert(self, study: int | None, after: int, texts: Sequence[str]) -> None:
        self._connection.run(
            "INSERT INTO boxthirding_events (study, seq, event) "
            "SELECT ?, CASE WHEN last = ? THEN last + place END, event "  # null, which is refused, if others have added
            "FROM unnest(?::text[]) WITH ORDINALITY AS new (event, place), "
            "(SELECT coalesce(max(seq), 0) AS last FROM boxthirding_events WHERE study = ?) AS there",
            (study, after, list(texts), study),
        )

    def names(self) -> "PostgresNames":
        """Return the names of the workers on the study."""
        return PostgresNames(self._url, self._name)


class PostgresNames:
    """The names of workers on one study, as advisory locks of a session that does nothing else.

    The server releases them when the session ends, on whichever machine its process was. A pooler that lends one
    session to many clients breaks that: give the URL of the server itself.
    """

    def __init__(self, url: str, study: str) -> None:
        self._connection = PostgresConnection(url, "normal", makes_tables=False)
        tables = self._connection.fetch("SELECT to_regclass('boxthirding_studies')::oid")[0][0]
        self._study = f"boxthirding names of {tables} {study}"

    def acquire(self, name: str) -> bool:
        """Take a name that is free; try once more on a new connection, if the one we had was cut."""
        try:
            return self._try(name)
        except StudyUnavailable:
            return self._try(name)

    def release(self) -> None:
        """Release all names."""
        self._connection.unlock()  # the server may take its time to see that a session has ended
        self._connection.close()

    def _try(self, name: str) -> bool:
        """Lock a name; a session may lock what it has locked already."""
        key = key_of(f"{self._study}\0{name}")
        return bool(self._connection.fetch(f"SELECT {STAY}, pg_try_advisory_lock(?)", (key,))[0][-1])
