"""Journals in a PostgreSQL database: an advisory lock for each study, one short transaction for each decision."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from boxthirding.errors import JournalBroken, StudyUnavailable
from boxthirding.storage.postgres_connection import Line, key_of
from boxthirding.storage.postgres_records import PostgresRecords
from boxthirding.storage.records import Records
from boxthirding.study.codec import RESTORE

STAY: Final = (
    "set_config('tcp_keepalives_idle', '30', false), set_config('tcp_keepalives_interval', '10', false), "
    "set_config('tcp_keepalives_count', '6', false), CASE WHEN current_setting('idle_session_timeout', true) > '' "
    "THEN set_config('idle_session_timeout', '0', false) END"  # unheard of before PostgreSQL 14
)
"""For a session that has names: idle for as long as it lives, missed after 90 seconds when its machine is gone."""


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
        return PostgresRecords(Line(self._url, self._durability))


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
