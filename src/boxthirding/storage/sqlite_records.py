"""What a server keeps in an SQLite file, beside the journals."""

import threading

from boxthirding.storage.records import Record
from boxthirding.storage.schema import SQLITE_RECORDS
from boxthirding.storage.sqlite_errors import translated
from boxthirding.storage.sqlite_file import PATIENCE, connect
from boxthirding.storage.sqlite_transactions import Writing

_NAME = "of the server"  # what errors call it by


class SqliteRecords:
    """Records in an SQLite file, over one connection."""

    def __init__(self, path: str, durability: str = "normal", timeout: float = PATIENCE) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._file = connect(path, durability, timeout)
        try:
            with self._lock, Writing(self._file, _NAME):
                self._file.connection.execute(SQLITE_RECORDS)
        except BaseException:
            self._file.close()
            raise

    def get(self, kind: str, key: str) -> Record | None:
        """Return a record."""
        rows = self._rows("SELECT id, at, data FROM boxthirding_records WHERE kind = ? AND id = ?", kind, key)
        return rows[0] if rows else None

    def put(self, kind: str, record: Record) -> None:
        """Write a record."""
        self._changed(
            "INSERT OR REPLACE INTO boxthirding_records (kind, id, at, data) VALUES (?, ?, ?, ?)", kind, *record
        )

    def put_new(self, kind: str, record: Record) -> bool:
        """Write a record unless there is one."""
        query = "INSERT OR IGNORE INTO boxthirding_records (kind, id, at, data) VALUES (?, ?, ?, ?)"
        return self._changed(query, kind, *record) > 0

    def delete(self, kind: str, key: str) -> bool:
        """Delete a record."""
        return self._changed("DELETE FROM boxthirding_records WHERE kind = ? AND id = ?", kind, key) > 0

    def all(self, kind: str) -> list[Record]:
        """Return the records of a kind."""
        return self._rows("SELECT id, at, data FROM boxthirding_records WHERE kind = ? ORDER BY at, id", kind)

    def ids(self, kind: str) -> set[str]:
        """Return the ids of the records of a kind."""
        with self._lock, translated(self._path), self._file.reading(_NAME):
            query = "SELECT id FROM boxthirding_records WHERE kind = ?"
            return {key for (key,) in self._file.connection.execute(query, (kind,))}

    def count(self, kind: str) -> int:
        """Return how many records of a kind there are."""
        with self._lock, translated(self._path), self._file.reading(_NAME):
            query = "SELECT count(*) FROM boxthirding_records WHERE kind = ?"
            return int(self._file.connection.execute(query, (kind,)).fetchone()[0])

    def expire(self, kind: str, before: float) -> None:
        """Delete old records."""
        self._changed("DELETE FROM boxthirding_records WHERE kind = ? AND at < ?", kind, before)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._file.close()

    def _rows(self, query: str, *values: object) -> list[Record]:
        with self._lock, translated(self._path), self._file.reading(_NAME):
            found = self._file.connection.execute(query, values).fetchall()
        return [Record(key, at, bytes(data)) for key, at, data in found]

    def _changed(self, query: str, *values: object) -> int:
        with self._lock, Writing(self._file, _NAME):
            return self._file.connection.execute(query, values).rowcount
