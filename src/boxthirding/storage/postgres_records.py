"""What a server keeps in a PostgreSQL database, beside the journals."""

import threading

from boxthirding.storage.postgres_connection import Line, key_of
from boxthirding.storage.records import Record
from boxthirding.storage.schema import POSTGRES_RECORDS


class PostgresRecords:
    """Records in a PostgreSQL database, over one connection."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._lock = threading.Lock()
        with self._lock, line.transaction(key_of("boxthirding schema")):
            line.run(POSTGRES_RECORDS)

    def get(self, kind: str, key: str) -> Record | None:
        """Return a record."""
        rows = self._rows("SELECT id, at, data FROM boxthirding_records WHERE kind = %s AND id = %s", kind, key)
        return rows[0] if rows else None

    def put(self, kind: str, record: Record) -> None:
        """Write a record."""
        self._rows(
            "INSERT INTO boxthirding_records (kind, id, at, data) VALUES (%s, %s, %s, %s) ON CONFLICT (kind, id) "
            "DO UPDATE SET at = excluded.at, data = excluded.data RETURNING id, at, data",
            *(kind, *record),
        )

    def put_new(self, kind: str, record: Record) -> bool:
        """Write a record unless there is one."""
        query = (
            "INSERT INTO boxthirding_records (kind, id, at, data) VALUES (%s, %s, %s, %s) "
            "ON CONFLICT (kind, id) DO NOTHING RETURNING id, at, data"
        )
        return bool(self._rows(query, kind, *record))

    def delete(self, kind: str, key: str) -> bool:
        """Delete a record."""
        query = "DELETE FROM boxthirding_records WHERE kind = %s AND id = %s RETURNING id, at, data"
        return bool(self._rows(query, kind, key))

    def all(self, kind: str) -> list[Record]:
        """Return the records of a kind."""
        return self._rows("SELECT id, at, data FROM boxthirding_records WHERE kind = %s ORDER BY at, id", kind)

    def ids(self, kind: str) -> set[str]:
        """Return the ids of the records of a kind."""
        with self._lock:
            return {key for (key,) in self._line.fetch("SELECT id FROM boxthirding_records WHERE kind = %s", (kind,))}

    def count(self, kind: str) -> int:
        """Return how many records of a kind there are."""
        with self._lock:
            return int(self._line.fetch("SELECT count(*) FROM boxthirding_records WHERE kind = %s", (kind,))[0][0])

    def expire(self, kind: str, before: float) -> None:
        """Delete old records."""
        with self._lock:
            self._line.run("DELETE FROM boxthirding_records WHERE kind = %s AND at < %s", (kind, before))

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._line.close()

    def _rows(self, query: str, *values: object) -> list[Record]:
        with self._lock:
            return [Record(key, at, bytes(data)) for key, at, data in self._line.fetch(query, values)]
