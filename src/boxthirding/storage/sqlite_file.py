"""An SQLite file: how it is opened, whether it is still where it was, and what its errors mean for a study."""

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.parse import quote

from boxthirding.errors import BoxThirdingError, StudyUnavailable, UnreadableData
from boxthirding.storage.schema import SQLITE, VERSION_TABLE, migrate, missing

SYNCHRONOUS: Final = {"normal": "NORMAL", "full": "FULL"}
"""What survives in write-ahead logging: NORMAL a killed process, FULL a power cut, at one sync a commit."""

PATIENCE: Final = 60.0
"""Seconds to wait for a file that others have locked."""


class SqliteFile:
    """A connection to a file that is there."""

    def __init__(self, path: str, timeout: float = PATIENCE) -> None:
        self.path = path
        self._where = str(Path(path).absolute())  # whatever the working folder becomes
        self._lies_still = False  # whether it is read without locks, because nothing can be written beside it
        with translated(path):
            self.connection = self._connected(timeout)
        self._mark = self._marked()
        self.under_way: Transaction | None = None

    def check(self, name: str) -> None:
        """Refuse a file that is not where it was: what is written to it now would be lost."""
        if self._marked() == self._mark:
            return
        if self._lies_still:
            raise StudyUnavailable(
                f"{self.path} was changed while it was read as read-only", advice=f"open study {name!r} again"
            )
        file = Path(self.path).name
        raise StudyUnavailable(
            f"{self.path} was moved or deleted while study {name!r} was open",
            advice=f"put it back, or open the study where it is now; {file}-wal and {file}-shm belong to it and have "
            "its latest results, so they must lie beside it, named as it is",
        )

    def version(self) -> int:
        """Return the version of the tables, 0 where there are none; refuse one that is newer than this package."""
        there = self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'boxthirding_schema'").fetchone()
        row = self.connection.execute("SELECT version FROM boxthirding_schema").fetchone() if there else None
        version = 0 if row is None else int(row[0])
        missing(self.path, version, SQLITE)
        return version

    def set_up(self, durability: str, timeout: float) -> None:
        """Say how safe a commit is to be, and make the tables or bring them up to date."""
        connection = self.connection
        connection.execute(f"PRAGMA synchronous={SYNCHRONOUS[durability]}")
        connection.execute(f"PRAGMA fullfsync={int(durability == 'full')}")  # where a plain sync stops short of a disk
        version = self.version()
        if missing(self.path, version, SQLITE):
            if version == 0:
                self._refuse_foreign()
            self._write_ahead(timeout)
            with Transaction(self):
                connection.execute(VERSION_TABLE)
                migrate(self.path, self.version(), SQLITE, connection.execute)

    def _connected(self, timeout: float) -> sqlite3.Connection:
        connection = _open(self.path, timeout)
        try:
            connection.execute("SELECT 1 FROM sqlite_master")  # only now is the file opened in earnest
        except BaseException as error:
            connection.close()
            if not (isinstance(error, sqlite3.OperationalError) and self._must_lie_still(error)):
                raise
            self._lies_still = True
            connection = _open(f"file:{quote(self._where)}?immutable=1", timeout, uri=True)
        return connection

    def _must_lie_still(self, error: sqlite3.Error) -> bool:
        """Tell whether a log cannot be made beside the file, which without one has everything."""
        file, log = Path(self._where), Path(f"{self._where}-wal")
        return (
            _code(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
            and file.is_file()
            and not (_may(file, os.W_OK) and _may(file.parent, os.W_OK))
            and not (log.exists() and log.stat().st_size)
        )

    def _marked(self) -> tuple[int, ...]:
        """Return what tells this file from any other; nothing, if there is none."""
        try:
            found = os.stat(self._where)  # noqa: PTH116  # at every commit, and a path object takes as long again
        except OSError:
            return ()
        mark = (found.st_dev, found.st_ino)
        return (*mark, found.st_size, found.st_mtime_ns, *self._marked_log()) if self._lies_still else mark

    def _marked_log(self) -> tuple[int, ...]:
        """Return what tells that something was written beside the file, which is not read as long as it lies still."""
        try:
            log = Path(f"{self._where}-wal").stat()
        except OSError:
            return ()
        return (log.st_size, log.st_mtime_ns)

    def _refuse_foreign(self) -> None:
        query = "SELECT name FROM sqlite_master WHERE name NOT GLOB 'boxthirding_*' AND name NOT GLOB 'sqlite_*'"
        other = self.connection.execute(query).fetchone()
        if other is not None:
            raise UnreadableData(
                f"{self.path} is an SQLite database of something else, with a table {other[0]!r}: name another file"
            )

    def _write_ahead(self, timeout: float) -> None:
        """Turn on write-ahead logging, which the file keeps; here SQLite does not wait for others who do the same."""
        end = time.monotonic() + timeout
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if _code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return


def connect(path: str, durability: str, timeout: float) -> SqliteFile:
    """Open a file, making it and its tables if need be."""
    file = SqliteFile(path, timeout)
    try:
        with translated(path):
            file.set_up(durability, timeout)
    except BaseException:
        file.connection.close()
        raise
    return file


class Transaction:
    """Holds the file's write lock; commits at the end, rolls back if something was raised, even while it was awaited.

    This is no generator: one that an interrupt keeps from its block ends when its memory is freed, which may be in the
    middle of another transaction.
    """

    def __init__(self, file: SqliteFile) -> None:
        self._file, self._connection = file, file.connection

    def __enter__(self) -> None:
        self._roll_back()  # what an interrupt has left open: only one at a time is begun here
        self._file.under_way = self
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._roll_back()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file.under_way is not self:  # another one has begun since, and rolled this one back
            if error is None:
                raise StudyUnavailable(
                    f"{self._file.path}: the transaction was broken off", advice=TRY_AGAIN, transient=True
                )
            return
        try:
            if error is None:
                self._connection.execute("COMMIT")
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:  # a disk that is full has rolled it back already
            self._connection.execute("ROLLBACK")
        self._file.under_way = None


class translated:  # noqa: N801  # used like a function; as a generator it would take four times as long
    """Say what an error of SQLite means for a study."""

    __slots__ = ("_path",)

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, sqlite3.Error):
            raise _meaning(self._path, error) from error


def _meaning(path: str, error: sqlite3.Error) -> BoxThirdingError:
    code = _code(error)
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return UnreadableData(f"{path} is not an SQLite database, or is damaged: {error}")
    if _is_damage(path, error):
        return UnreadableData(
            f"{path} is damaged, or something else has changed it: {error}", advice="restore it from a backup"
        )
    if code == sqlite3.SQLITE_CANTOPEN:
        return StudyUnavailable(f"{path} {_why_shut(Path(path))}")
    if code in _PASSING:
        problem, advice = _PASSING[code]
        return StudyUnavailable(f"{path}: {problem}", advice=advice, transient=True)
    if code == sqlite3.SQLITE_READONLY:
        return StudyUnavailable(
            f"{path}: the file or its folder is read-only, so the study can be looked at and not changed",
            advice="change the permissions, or copy it to where you may write",
        )
    return StudyUnavailable(f"{path}: {error}")


_TABLES: Final = (
    "SELECT version FROM boxthirding_schema LIMIT 0",
    "SELECT id, name FROM boxthirding_studies LIMIT 0",
    "SELECT study, seq, event FROM boxthirding_events LIMIT 0",
    "SELECT study, seq, data FROM boxthirding_snapshots LIMIT 0",
)
"""What can be read where the tables are as they were made."""

TRY_AGAIN: Final = "nothing is lost, try again"

_MAKE_ROOM: Final = "nothing is lost: make room, and try again"

_PASSING: Final = {
    sqlite3.SQLITE_BUSY: ("the file is locked by another process, which did not let go of it in time", TRY_AGAIN),
    sqlite3.SQLITE_FULL: ("the disk is full", _MAKE_ROOM),
    sqlite3.SQLITE_IOERR: ("the file cannot be written or read, perhaps because the disk is full", _MAKE_ROOM),
    sqlite3.SQLITE_CONSTRAINT: ("another process wrote the same number", TRY_AGAIN),
}
"""What may be over when the same call is made again, and what to do about it."""


def _is_damage(path: str, error: sqlite3.Error) -> bool:
    """Tell whether the tables are not as they were made.

    A statement that does not fit them has the code of any other error, so the tables themselves are looked at.
    """
    if _code(error) != sqlite3.SQLITE_ERROR:
        return False
    try:
        with closing(_open(f"file:{quote(path)}?mode=ro", 0.0, uri=True)) as connection:
            for query in _TABLES:
                connection.execute(query)
    except sqlite3.Error as problem:
        return _code(problem) == sqlite3.SQLITE_ERROR
    return False


def _why_shut(path: Path) -> str:
    """Say why a file cannot be opened, and what to do."""
    folder = path.absolute().parent
    if path.is_dir():
        return f"is a folder, but must be a file: name one in it, such as {path / 'studies.db'}"
    if not folder.is_dir():
        return f"cannot be opened, because there is no folder {folder}: make it, or name another"
    if not path.exists():
        return "cannot be made, because its folder is read-only: change its permissions, or name another"
    if not _may(path, os.R_OK):
        return "cannot be opened, because you may not read it: change its permissions"
    if Path(f"{path}-wal").exists():
        return (
            f"cannot be opened, because its folder is read-only and its latest results are in {path.name}-wal: copy "
            "both to where you may write"
        )
    return "cannot be opened: are its permissions and those of its folder right?"


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _open(path: str, timeout: float, *, uri: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False, uri=uri)
    connection.text_factory = _text
    return connection


def _text(data: bytes) -> str:
    """Return a text also where it is damaged: its check tells so, and the texts beside it can be read."""
    return data.decode("utf-8", "surrogateescape")


def _code(error: sqlite3.Error) -> int:
    """Return the primary code of an error, 0 where it has none."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
