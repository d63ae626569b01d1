"""Records: what a server keeps beside the journals of a place, such as keys, rating links and pictures."""

import threading
from typing import Any, Final, NamedTuple, Protocol

from boxthirding.storage.sql import SqlConnection


class StoredRecord(NamedTuple):
    """Bytes under a kind and an id."""

    id: str
    at: float  # seconds since 1970, as its writer says
    data: bytes


class Records(Protocol):
    """Records by kind and id; used by any number of threads. Every call is a transaction of its own."""

    def get(self, kind: str, key: str) -> StoredRecord | None:
        """Return a record; None, if there is none."""

    def put(self, kind: str, record: StoredRecord) -> None:
        """Write a record, in the place of one that is there."""

    def put_new(self, kind: str, record: StoredRecord) -> bool:
        """Write a record unless there is one; return whether it was written."""

    def delete(self, kind: str, key: str) -> bool:
        """Delete a record; return whether there was one: of several callers, one is told so."""

    def all(self, kind: str) -> list[StoredRecord]:
        """Return the records of a kind, the earliest first."""

    def ids(self, kind: str) -> set[str]:
        """Return the ids of the records of a kind, without reading what the records hold."""

    def count(self, kind: str) -> int:
        """Return how many records of a kind there are."""

    def expire(self, kind: str, before: float) -> None:
        """Delete the records of a kind that were written before a moment."""

    def close(self) -> None:
        """Close the place."""


PICTURE: Final = "picture"  # the kind of the records that are pictures

_INSERT: Final = "INSERT INTO boxthirding_records (kind, id, at, data) VALUES (?, ?, ?, ?) ON CONFLICT (kind, id) "


class SqlRecords:
    """Records in a database, over one connection."""

    def __init__(self, connection: SqlConnection, real: str, blob: str) -> None:
        """Make the table, if need be: a place that only has studies has none. The types are those of the database."""
        self._connection = connection
        self._lock = threading.Lock()
        try:
            with connection.writing("of the server"):  # what errors call it by
                connection.run(
                    "CREATE TABLE IF NOT EXISTS boxthirding_records (kind TEXT NOT NULL, id TEXT NOT NULL, "
                    f"at {real} NOT NULL, data {blob} NOT NULL, PRIMARY KEY (kind, id))"
                )
        except BaseException:
            connection.close()
            raise

    def get(self, kind: str, key: str) -> StoredRecord | None:
        """Return a record."""
        found = self._fetch("SELECT id, at, data FROM boxthirding_records WHERE kind = ? AND id = ?", kind, key)
        return StoredRecord(*found[0]) if found else None

    def put(self, kind: str, record: StoredRecord) -> None:
        """Write a record."""
        self._change(f"{_INSERT} DO UPDATE SET at = excluded.at, data = excluded.data", kind, *record)

    def put_new(self, kind: str, record: StoredRecord) -> bool:
        """Write a record unless there is one."""
        return self._change(f"{_INSERT} DO NOTHING", kind, *record) > 0

    def delete(self, kind: str, key: str) -> bool:
        """Delete a record."""
        return self._change("DELETE FROM boxthirding_records WHERE kind = ? AND id = ?", kind, key) > 0

    def all(self, kind: str) -> list[StoredRecord]:
        """Return the records of a kind."""
        query = "SELECT id, at, data FROM boxthirding_records WHERE kind = ? ORDER BY at, id"
        return [StoredRecord(*row) for row in self._fetch(query, kind)]

    def ids(self, kind: str) -> set[str]:
        """Return the ids of the records of a kind."""
        return {key for (key,) in self._fetch("SELECT id FROM boxthirding_records WHERE kind = ?", kind)}

    def count(self, kind: str) -> int:
        """Return how many records of a kind there are."""
        return int(self._fetch("SELECT count(*) FROM boxthirding_records WHERE kind = ?", kind)[0][0])

    def expire(self, kind: str, before: float) -> None:
        """Delete old records."""
        self._change("DELETE FROM boxthirding_records WHERE kind = ? AND at < ?", kind, before)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()

    def _fetch(self, query: str, *values: object) -> list[Any]:
        with self._lock:
            return self._connection.fetch(query, values)

    def _change(self, statement: str, *values: object) -> int:
        with self._lock:
            return self._connection.change(statement, values)


def picture_of(records: Records, key: str) -> tuple[str, bytes] | None:
    """Return the kind and the bytes of a picture; None, if it is not there."""
    record = records.get(PICTURE, key)
    kind = None if record is None else type_of(record.data)
    return None if record is None or kind is None else (kind, record.data)


def type_of(data: bytes) -> str | None:
    """Return what kind of picture bytes are, by how they begin; None for everything else, SVG too.

    >>> type_of(b"GIF89a......"), type_of(b"<svg xmlns=''></svg>")
    ('image/gif', None)
    """
    if len(data) < 12:  # noqa: PLR2004  # bytes of the longest beginning
        return None
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return None
