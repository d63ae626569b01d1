"""A connection to an SQLite file: how it is opened and locked, and what is checked at each access.

SQLite's own locks are dropped when the process closes any descriptor of the file, as a function does that reads every
file of the folder. So each access also holds a lock on a file of our own.
"""

import itertools
import os
import sqlite3
import stat
import time
import warnings
import weakref
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from boxthirding.errors import JournalBroken, StudyUnavailable, UnreadableData
from boxthirding.storage.sql import CLOSED, FROM_BACKUP, SQLITE, TRY_AGAIN, VERSION_TABLE, migrate, missing
from boxthirding.storage.sqlite_errors import ERRORS, LOCKED, code_of, is_there, may, open_raw, translated
from boxthirding.storage.sqlite_locks import FileLock, Sidecars, share
from boxthirding.study.journal import FORK_LOCK

SYNCHRONOUS: Final = {"normal": "NORMAL", "full": "FULL"}
"""What survives in write-ahead logging: NORMAL a killed process, FULL a power cut, at one sync a commit."""

PATIENCE: Final = 60.0  # seconds to wait for a file that others have locked

CHECKPOINT_EVERY: Final = 1000  # events of a study, from all processes, after which the log is checkpointed: some 4 MB

_MODE: Final = 0o644  # of a file that SQLite makes
_WRITE, _READ = 0, 1  # the two locks
_REFUSED: Final = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)  # where no log can be made


class SqliteConnection:
    """A connection to an SQLite file, which is made if need be.

    Beside the file are two locks. The one that ends in -lock is held by the process that writes, the one that ends in
    -read is shared by those that read. Whoever opens the file, closes it or checkpoints its log holds both exclusively,
    so that none of it happens while another process reads or writes.
    """

    def __init__(
        self,
        path: str,
        name: str = "",
        durability: str = "normal",
        timeout: float = PATIENCE,
        *,
        makes_tables: bool = True,
    ) -> None:
        self.place, self._durability, self._timeout = path, durability, timeout
        self._what = f"study {name!r}" if name else path
        self._was_there = is_there(path)
        self._absolute = str(Path(path).absolute())  # whatever the working folder becomes
        self._real = os.path.realpath(path)  # SQLite makes its files beside this one
        self._is_link = os.path.islink(path)  # noqa: PTH114
        self._is_immutable = False  # whether it is read without locks, because nothing can be written beside it
        self._is_closed = False
        self._pid = os.getpid()
        self._saved: str | None = None  # once the log was deleted: where its results were saved, if they were
        self.transaction: WriteTransaction | None = None
        self._last: _Event | None = None  # the last event of its study at this version of the data, where known
        self._pending: _Event | None = None  # the same once the current transaction is committed
        self._version = -1
        self._must_checkpoint = False  # after the current transaction
        self._sidecars = Sidecars(self._real)
        self._locks = [FileLock(f"{self._real}-lock"), FileLock(f"{self._real}-read")]
        self.unlockable: OSError | None = None  # why other processes cannot be kept out, so that nothing may be written
        self._shared: int | None = None  # keeps other processes from deleting the log
        try:
            self._acquire_both()
        except OSError as problem:  # it can be read; SQLite says what is wrong with it
            for lock in self._locks:
                lock.close()
            self._locks, self.unlockable = [], problem if problem.errno is not None else None  # Windows has no locks
        try:
            self._refuse_links()
            with FORK_LOCK:
                for peer in self._peers():
                    if peer._marked() == peer._mark:  # noqa: SLF001  # it is one of us
                        peer._check_in_place()  # noqa: SLF001  # SQLite has one index for all of them
                self.connection = self._connected()
                self._share()
                _open_connections.add(self)
            self._note()
        except BaseException as error:
            self._leave()
            if isinstance(error, ERRORS):
                raise translated(path, error) from error
            raise
        self.release()
        if makes_tables:
            try:
                self._make_tables()
            except BaseException:
                self.close()
                raise

    def fetch(self, query: str, values: Sequence[object] = ()) -> list[Any]:
        """Return the rows of a query: in the current transaction, or else under the lock of those that read."""
        is_alone = self.transaction is None
        try:
            if not is_alone:
                return self.connection.execute(query, values).fetchall()
            self.lock(_READ)
            with FORK_LOCK:
                return self.connection.execute(query, values).fetchall()
        except ERRORS as error:
            raise translated(self.place, error) from error
        finally:
            if is_alone:
                self.release()

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Execute a statement in the current transaction; return how many rows it changed."""
        try:
            return self.connection.execute(statement, values).rowcount
        except ERRORS as error:
            raise translated(self.place, error) from error

    def change(self, statement: str, values: Sequence[object] = ()) -> int:
        """Execute a statement in a transaction of its own; return how many rows it changed."""
        with self.writing():
            return self.run(statement, values)

    def writing(self, study: str = "") -> "WriteTransaction":  # noqa: ARG002  # a file has one lock for all studies
        """Hold the file's write lock; commit at the end, roll back if something was raised."""
        return WriteTransaction(self)

    def insert_events(self, study: int | None, after: int, texts: Sequence[str]) -> None:
        """Insert events of a study after a number."""
        rows = zip(itertools.repeat(study), itertools.count(after + 1), texts)
        try:
            self.connection.executemany("INSERT INTO boxthirding_events (study, seq, event) VALUES (?, ?, ?)", rows)
        except ERRORS as error:
            raise translated(self.place, error) from error
        last = after + len(texts)
        self._must_checkpoint = after // CHECKPOINT_EVERY != last // CHECKPOINT_EVERY
        self._pending = study, last, texts[-1]

    def last_event(self) -> "_Event | None":
        """Return the last event, if it is known because no other connection has written since; else None."""
        version = self.fetch("PRAGMA data_version")[0][0]
        if version != self._version:
            self._version, self._last = version, None
        return self._last if self._pending is None else None

    def remember(self, event: "_Event") -> None:
        """Remember an event that was read and is the last of its study."""
        self._last = event

    def version(self) -> int:
        """Return the version of the tables, 0 where there are none; refuse one that is newer than this package."""
        query = "SELECT name FROM sqlite_master WHERE name GLOB 'boxthirding_*'"
        names = {name for (name,) in self.fetch(query)}
        if not names:
            return 0
        rows = self.fetch("SELECT version FROM boxthirding_schema") if "boxthirding_schema" in names else []
        version = rows[0][0] if rows else None
        if type(version) is not int:
            raise UnreadableData(
                f"{self.place} has tables of version {str(version)[:80]!r}: it is damaged", advice=FROM_BACKUP
            )
        missing(self.place, version, SQLITE)
        return version

    def close(self) -> None:
        """Close the connection; the last one of all processes checkpoints the log and removes the files beside it."""
        if self._is_closed or self._pid != os.getpid():
            return
        try:
            if self._locks and not self._is_immutable:
                self._acquire_both()
                if self._saved is None:
                    self._check_in_place()
        except JournalBroken as loss:
            warnings.warn(str(loss), RuntimeWarning, stacklevel=2)
        except (OSError, StudyUnavailable, sqlite3.Error):
            pass
        finally:
            self._leave()

    def __del__(self) -> None:
        with suppress(Exception):  # when the interpreter ends, anything may be gone
            self._timeout = 0.0  # garbage collection must not wait for the locks of others
            self.close()

    def lock(self, number: int) -> None:
        """Take one of the locks, and check that the file and the files beside it are where they were."""
        if self._pid != os.getpid():  # SQLite forbids it
            raise StudyUnavailable(
                f"{self._what} was opened in process {self._pid} and is used in {os.getpid()}",
                advice="open it in each process",
            )
        if self._is_closed:
            raise StudyUnavailable(CLOSED, advice="open it again")
        is_shared = number == _READ
        while True:
            try:
                if self._locks and not self._locks[number].reacquire(shared=is_shared):
                    self._acquire(number, shared=is_shared)
            except OSError as problem:
                raise self.without_locks(problem) from problem
            if self._sidecars.are_unchanged():
                return
            self._check_in_place()
            is_lost = False
            for lock in self._locks:
                if lock.is_gone():
                    lock.close()  # others make another
                    is_lost = is_lost or lock is self._locks[number]
            if not is_lost:
                if not self._is_link:
                    self._sidecars.settle()
                return

    def _acquire(self, number: int, *, shared: bool = False) -> None:
        """Take one of the locks, waiting for it."""
        try:
            mode = os.stat(self._absolute).st_mode & 0o666  # noqa: PTH116
        except OSError:
            mode = _MODE
        if not self._locks[number].acquire(mode, self._timeout, shared=shared):
            raise StudyUnavailable(f"{self.place}: {LOCKED}", advice=TRY_AGAIN, transient=True)

    def _acquire_both(self) -> None:
        for number in range(len(self._locks)):
            self._acquire(number)

    def release(self) -> None:
        """Release both locks."""
        for lock in self._locks:
            lock.release()

    def commit(self) -> None:
        """Commit the current transaction, and checkpoint the write-ahead log if it has grown long."""
        self.connection.execute("COMMIT")
        self._last = self._pending or self._last
        if self._must_checkpoint:
            with suppress(OSError, StudyUnavailable, sqlite3.Error):  # then after the next thousand
                if self._locks:
                    self._acquire(_READ)
                self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def roll_back(self) -> None:
        """Discard uncommitted changes, if there are any."""
        with FORK_LOCK:  # another thread may be opening the file again
            self.connection.rollback()
        self.transaction, self._pending, self._must_checkpoint = None, None, False

    def _leave(self) -> None:
        """Close the connection and the locks; remove the files of the locks where SQLite has removed its own."""
        self._is_closed = True
        self._sidecars.close()
        with FORK_LOCK:
            _open_connections.discard(self)
            connection = getattr(self, "connection", None)
            if connection is not None and self._saved is not None:
                connection.close()  # while the file is shared: SQLite moves nothing into it from a log that is gone
            if self._shared is not None:
                os.close(self._shared)  # else SQLite would take it for another process
            if connection is not None:
                connection.close()
        is_last = not os.path.exists(f"{self._real}-wal")  # noqa: PTH110
        for lock in self._locks:
            (lock.remove if is_last else lock.close)()
        self._locks = []

    def _share(self) -> None:
        """Hold a lock that tells other processes that the log is in use; in a forked process, SQLite's own does not."""
        if self._shared is None and self.connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            self._shared = share(self._absolute)

    def _note(self) -> None:
        """Take the file and the files beside it, as they are now, for those that belong together."""
        self._mark = self._marked()
        self._sidecars.note()

    def _marked(self) -> tuple[int, ...]:
        """Return what tells this file from any other; nothing, if there is none."""
        try:
            found = os.stat(self._absolute)  # noqa: PTH116
        except OSError:
            return ()
        mark: tuple[int, ...] = (found.st_dev, found.st_ino)
        if not self._is_immutable:
            return mark
        mark += (found.st_size, found.st_mtime_ns)
        with suppress(OSError):
            log = os.stat(f"{self._real}-wal")  # noqa: PTH116
            mark += (log.st_size, log.st_mtime_ns)
        return mark

    def _check_in_place(self) -> None:
        """Raise unless the file and those beside it are where they were; what a deleted log had is saved."""
        are_there = self._sidecars.are_there()
        if self._marked() != self._mark:
            raise self._moved()
        if not (are_there or self._is_immutable):
            with FORK_LOCK:  # once for all connections of this process
                if self._saved is None:
                    saved = self._save()
                    for peer in self._peers():
                        if peer._mark == self._mark:  # noqa: SLF001  # it is one of us
                            peer._saved = saved  # noqa: SLF001
        if self._saved is not None:
            raise self._loss(self._saved)

    def without_locks(self, problem: OSError) -> StudyUnavailable:
        """Return the error of a file that cannot be locked."""
        return StudyUnavailable(
            f"{self.place} cannot be locked ({problem.strerror}), so {self._what} can be looked at and not changed",
            advice="move it to a folder on a disk of this machine, where you may write",
        )

    def _refuse_links(self) -> None:
        """Raise if the file has several names: SQLite would keep a log beside each, and their results would diverge."""
        with suppress(OSError):
            found = os.stat(self._absolute)  # noqa: PTH116
            if stat.S_ISREG(found.st_mode) and found.st_nlink > 1:
                raise StudyUnavailable(
                    f"{self.place} has {found.st_nlink} names (hard links), but must have one, because the latest "
                    "results are kept beside the name",
                    advice="delete the other names, or copy the file instead of linking it",
                )

    def _moved(self) -> StudyUnavailable:
        if self._is_immutable:
            return StudyUnavailable(f"{self.place} was changed while it was read as read-only", advice="open it again")
        file = Path(self.place).name
        return StudyUnavailable(
            f"{self.place} was moved or deleted while {self._what} was open",
            advice=f"put it back, or open the study where it is now; {file}-wal and {file}-shm belong to it and have "
            "its latest results, so they must lie beside it, named as it is",
        )

    def _loss(self, saved: str) -> JournalBroken:
        file = Path(self.place).name
        return JournalBroken(
            f"{file}-wal or {file}-shm was deleted while {self._what} was open, so results that were acknowledged may "
            f"be missing from {self.place}{f', but all that was known here is saved in {saved}' if saved else ''}",
            advice="open that file instead" if saved else FROM_BACKUP,
        )

    def _save(self) -> str:
        """Write what is known here to a new file beside this one; return its path, empty if that is not possible."""
        with suppress(OSError, sqlite3.Error):
            for number in itertools.count(1):
                path = f"{self._real}-saved-{number}"
                with suppress(FileExistsError):
                    os.close(os.open(path, os.O_CREAT | os.O_EXCL, os.stat(self._absolute).st_mode & 0o666))  # noqa: PTH116
                    with closing(open_raw(path, self._timeout)) as file:
                        self.connection.backup(file)
                    return path
        return ""

    def _peers(self) -> "list[SqliteConnection]":
        """Return all connections of this process to the file, this one among them."""
        files = [file for file in list(_open_connections) if file._pid == os.getpid()]  # noqa: SLF001  # one of us
        return [file for file in files if file._real == self._real]  # noqa: SLF001

    def _connected(self) -> sqlite3.Connection:
        """Return a connection that has read the file, as durable as it is to be."""
        if self._was_there and self._is_read_only(or_log=False) and not may(self._absolute, os.W_OK):
            return self._immutable()  # else SQLite would leave an index that no one may write
        self._make_sidecars_writable()
        connection = open_raw(self._absolute, self._timeout)
        try:
            connection.execute("SELECT 1 FROM sqlite_master")  # opens the file
            self._check_size(connection)
            connection.execute(f"PRAGMA synchronous={SYNCHRONOUS[self._durability]}")
            is_full = int(self._durability == "full")
            connection.execute(f"PRAGMA fullfsync={is_full}")  # where a plain sync does not reach the disk
            connection.execute("PRAGMA wal_autocheckpoint=0")  # it would not wait for those that read
        except BaseException as error:
            connection.close()
            if isinstance(error, sqlite3.OperationalError) and code_of(error) in _REFUSED and self._is_read_only():
                return self._immutable()
            raise
        return connection

    def _check_size(self, connection: sqlite3.Connection) -> None:
        """Raise if the file lacks bytes, as SQLite may read it as one with fewer events."""
        size = os.stat(self._absolute).st_size  # noqa: PTH116
        page = connection.execute("PRAGMA page_size").fetchone()[0]
        if size % page and connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise UnreadableData(
                f"{self.place} is damaged: it has {size:,} bytes, but must have a multiple of {page:,}",
                advice=FROM_BACKUP,
            )

    def _immutable(self) -> sqlite3.Connection:
        self._is_immutable, self.unlockable = True, None
        connection = open_raw(f"file:{quote(self._absolute)}?immutable=1", self._timeout, uri=True)
        self._check_size(connection)
        return connection

    def _is_read_only(self, *, or_log: bool = True) -> bool:
        """Return whether no log can be made beside a file that has everything without one."""
        file, log = Path(self._absolute), Path(f"{self._real}-wal")
        return (
            file.is_file()
            and not (may(file, os.W_OK) and may(file.parent, os.W_OK))
            and not (log.exists() and (not or_log or log.stat().st_size))
        )

    def _make_sidecars_writable(self) -> None:
        """Make the log and the index as writable as the file: they may be left from when it was read-only."""
        for path in map(Path, self._sidecars.paths):
            if path.exists() and not may(path, os.W_OK) and may(self._absolute, os.W_OK):
                with suppress(OSError):  # it is another user's
                    path.chmod(Path(self._absolute).stat().st_mode & 0o666)

    def _make_tables(self) -> None:
        """Make the tables, or bring them up to date."""
        version = self.version()
        if not missing(self.place, version, SQLITE):
            return
        if version == 0:
            self._refuse_foreign()
        try:
            self._acquire_both()
            self._write_ahead()
            self._share()
            self._note()
        except ERRORS as error:
            raise translated(self.place, error) from error
        finally:
            self.release()
        with self.writing():
            version = self.version()
            self.run(VERSION_TABLE)
            migrate(self.place, version, SQLITE, self.run)

    def _refuse_foreign(self) -> None:
        query = "SELECT name FROM sqlite_master WHERE name NOT GLOB 'boxthirding_*' AND name NOT GLOB 'sqlite_*'"
        for (name,) in self.fetch(query):
            raise UnreadableData(f"{self.place} is an SQLite database of something else (table {name!r}): name another")

    def _write_ahead(self) -> None:
        """Turn on write-ahead logging, which the file keeps; SQLite does not wait here for others who do the same."""
        end = time.monotonic() + self._timeout
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode=WAL")
                self.connection.execute("SELECT 1 FROM sqlite_master")  # makes the log
            except sqlite3.OperationalError as error:
                if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return


_open_connections: "weakref.WeakSet[SqliteConnection]" = weakref.WeakSet()


@dataclass(slots=True, eq=False)
class WriteTransaction:
    """Holds the file's write lock; commits at the end, rolls back if something was raised, even while it was awaited.

    It is no generator: if an interrupt keeps a generator from its block, its end runs when its memory is freed, which
    may be in the middle of another transaction.
    """

    connection: SqliteConnection

    def __enter__(self) -> None:
        connection = self.connection
        try:
            if connection.transaction is not None:  # an interrupt has left it open
                connection.roll_back()
            connection.lock(_WRITE)
            connection.transaction = self
            connection.connection.execute("BEGIN IMMEDIATE")
            if connection.unlockable is not None:
                raise connection.without_locks(connection.unlockable)  # noqa: TRY301  # it ends the transaction
        except BaseException as error:
            if connection.transaction is self:
                connection.roll_back()
            connection.release()
            if isinstance(error, ERRORS):
                raise translated(connection.place, error) from error
            raise

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        connection, commits = self.connection, error is None
        if connection.transaction is not self:  # the next one has rolled it back
            if commits:
                raise StudyUnavailable(
                    f"{connection.place}: the transaction was cut off", advice=TRY_AGAIN, transient=True
                )
            return
        try:
            try:
                if commits:
                    connection.commit()
            finally:
                connection.roll_back()
            if commits:
                connection.lock(_WRITE)  # checks again: what was committed to a file that was moved is lost
        except ERRORS as problem:
            raise translated(connection.place, problem) from problem
        finally:
            connection.release()


_Event = tuple[int | None, int, str]  # its study, its number and its text
