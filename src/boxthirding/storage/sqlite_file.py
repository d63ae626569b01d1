"""An SQLite file: how it is opened and locked, whether it and what belongs to it are still where they were.

Locks of SQLite are dropped when its process closes any descriptor of the file, as a function does that reads every file
of the folder. So each access holds a lock of ours besides, on a file of its own.
"""

import os
import sqlite3
import time
import weakref
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from boxthirding.errors import StudyUnavailable, UnreadableData
from boxthirding.storage.schema import SQLITE, VERSION_TABLE, migrate, missing
from boxthirding.storage.sidecars import ENDINGS, Sidecars, mark_of
from boxthirding.storage.sqlite_errors import (
    FROM_BACKUP,
    LOCKED,
    TRY_AGAIN,
    code_of,
    is_there,
    may,
    open_raw,
    translated,
)
from boxthirding.storage.sqlite_locks import FileLock, keeping_sidecars
from boxthirding.storage.sqlite_recovery import Seen, brought_back, copied, has
from boxthirding.storage.sqlite_transactions import Alone, Reading, Transaction

SYNCHRONOUS: Final = {"normal": "NORMAL", "full": "FULL"}
"""What survives in write-ahead logging: NORMAL a killed process, FULL a power cut, at one sync a commit."""

PATIENCE: Final = 60.0
"""Seconds to wait for a file that others have locked."""

_MODE: Final = 0o644  # of a file that SQLite makes
_PAUSE: Final = 1000  # events of a study, whoever writes them, after which the log goes into the file: some 4 MB


class SqliteFile:
    """A connection to a file that is there.

    Beside the file are two locks of ours. The one that ends in -lock is held by the process that writes, the one that
    ends in -read is shared by those that read. Whoever opens the file, closes it or moves its log into it has both
    alone: so no process does that under another one that reads or writes.
    """

    def __init__(self, path: str, timeout: float = PATIENCE, durability: str = "normal") -> None:
        self.path, self._timeout, self._durability = path, timeout, durability
        self._was_there = is_there(path)
        self._where = str(Path(path).absolute())  # whatever the working folder becomes
        self._real = os.path.realpath(path)  # where SQLite has what belongs to it
        self._is_link = os.path.islink(path)  # noqa: PTH114
        self._lies_still = False  # whether it is read without locks, because nothing can be written beside it
        self._sidecars = Sidecars(self._real)
        self.is_calm = self._sidecars.is_calm
        self._locks = [FileLock(f"{self._real}-lock"), FileLock(f"{self._real}-read")]
        self._pid = os.getpid()
        self._is_due = False  # whether the log is to go into the file after the next commit
        self.under_way: Transaction | None = None
        self.latest: Seen | None = None
        """The last event that was read or committed here."""
        self._new: Seen | None = None  # the same, which a transaction under way may yet take back
        self._is_lost = False  # whether what was acknowledged is not in the file
        self._take_first()
        try:
            with translated(path):
                for peer in self._peers()[:1]:
                    peer.put_right()
                self.connection = self._connected()
            self._note()
        except BaseException:
            self._leave()
            raise
        _open_files.add(self)
        self.let_go()

    def put_right(self) -> None:
        """Mend what lies beside the file, if need be, while another object of this process has both locks."""
        if self._marked() == self._mark and not self._sidecars.are_there():
            with suppress(StudyUnavailable):  # for this one to say, when it is used
                self._mend("")

    def begin_to_write(self, name: str) -> None:
        """Take the lock of the one that writes, and see that the file and what belongs to it are where they were."""
        if self._locks and not self._locks[0].take_again():
            self._wait_for(0)
        if not self.is_calm():
            try:
                self.check(name)
            except BaseException:
                self.let_go()
                raise

    def begin_to_read(self, name: str) -> None:
        """Take the lock of those that read, and see that the file and what belongs to it are where they were."""
        if self._locks and not self._locks[1].take_again(shared=True):
            self._wait_for(1, shared=True)
        try:
            while not (self.is_calm() or self._is_in_place(name)):
                self.let_go()
                with self.alone():
                    self.check(name)
                if self._locks:
                    self._wait_for(1, shared=True)
        except BaseException:
            self.let_go()
            raise

    def reading(self, name: str) -> Reading:
        """Read for a moment, by oneself or in the transaction that is under way."""
        return Reading(self, name)

    def alone(self) -> Alone:
        """Have the file alone: no one else of ours reads or writes it, opens or closes it."""
        return Alone(self)

    def see(self, study: int | None, seq: int, text: str) -> None:
        """Remember an event: it must still be there when the file is opened anew."""
        if study is not None:
            self._new = (study, seq, text)
            if self.under_way is None:
                self.latest = self._new

    def write(self, study: int | None, after: int, texts: Sequence[str]) -> None:
        """Write events of a study after a number."""
        rows = [(study, seq, text) for seq, text in enumerate(texts, after + 1)]
        self.connection.executemany("INSERT INTO boxthirding_events (study, seq, event) VALUES (?, ?, ?)", rows)
        last = after + len(texts)
        self._is_due = after // _PAUSE != last // _PAUSE
        self.see(study, last, texts[-1])

    def committed(self) -> None:
        """Know that what a transaction has seen and written is there for good; move a long log into the file."""
        self.latest = self._new
        if self._is_due:
            self._is_due = False
            self._shorten()

    def over(self) -> None:
        """Know that no transaction is under way, and that what it has not committed never was."""
        self.under_way, self._new = None, self.latest

    def stop_writing(self) -> None:
        """Let go of the lock of the one that writes."""
        if self._locks:
            self._locks[0].let_go()

    def stop_reading(self) -> None:
        """Let go of the lock of those that read."""
        if self._locks:
            self._locks[1].let_go()

    def let_go(self) -> None:
        """Let go of both locks."""
        self.stop_writing()
        self.stop_reading()

    def take_alone(self) -> None:
        """Take both locks."""
        for number in range(len(self._locks)):
            self._wait_for(number)

    def check(self, name: str) -> None:
        """Refuse a file that is not where it was, or lacks results: what is written to it now would be lost.

        Only while the lock of the one that writes is ours.
        """
        if self._is_in_place(name):
            return
        self.take_alone()
        try:
            if not self._sidecars.are_there():  # while we waited, another process may have put it right
                with translated(self.path):
                    self._mend(name)
        finally:
            self.stop_reading()

    def _is_in_place(self, name: str) -> bool:
        """Tell whether all is where it was, but for the file itself, which must be."""
        are_there = self._sidecars.are_there()
        if self._marked() != self._mark:
            self._refuse_moved(name)
        if self._is_lost:
            self._refuse_lost(name)
        if self._lies_still:
            return True
        are_there = are_there and not any(lock.is_gone() for lock in self._locks)
        if are_there and not self._is_link:
            self._sidecars.settle()
        return are_there

    def version(self) -> int:
        """Return the version of the tables, 0 where there are none; refuse one that is newer than this package."""
        query = "SELECT name FROM sqlite_master WHERE name GLOB 'boxthirding_*'"
        there = {name for (name,) in self.connection.execute(query).fetchall()}
        if not there:
            return 0
        rows: list[tuple[Any]] = [(None,)]
        if "boxthirding_schema" in there:
            rows = self.connection.execute("SELECT version FROM boxthirding_schema").fetchall() or rows
        version = rows[0][0]
        if type(version) is not int:
            raise UnreadableData(
                f"{self.path} has tables of version {str(version)[:80]!r}, which is none: it is damaged",
                advice=FROM_BACKUP,
            )
        missing(self.path, version, SQLITE)
        return version

    def set_up(self) -> None:
        """Make the tables or bring them up to date, while the lock is ours."""
        version = self.version()
        if missing(self.path, version, SQLITE):
            if version == 0:
                self._refuse_foreign()
            self._write_ahead()
            with Transaction(self):
                version = self.version()
                self.connection.execute(VERSION_TABLE)
                migrate(self.path, version, SQLITE, self.connection.execute)
            self._note()

    def close(self) -> None:
        """Close the file, and remove what belonged to it if no one else has it open."""
        if self._pid != os.getpid():
            return
        if self._locks and not self._lies_still:
            with suppress(StudyUnavailable, UnreadableData, sqlite3.Error):
                self.take_alone()
                self.put_right()
        self._leave()

    def __del__(self) -> None:
        with suppress(Exception):  # whatever is left when the interpreter ends
            self._timeout = 0.0  # whatever runs meanwhile must not wait for the locks of others
            self.close()

    def _leave(self) -> None:
        """Close the connection and the locks; remove their files where SQLite has removed its own."""
        _open_files.discard(self)
        locks, self._locks = self._locks, []
        self._sidecars.close()
        connection = getattr(self, "connection", None)
        if connection is not None:
            connection.close()
        is_last = locks and mark_of(f"{self._real}-wal") is None
        for lock in locks:
            (lock.remove if is_last else lock.close)()

    def _take_first(self) -> None:
        """Take both locks, where there can be any; where there cannot, SQLite will say what is wrong."""
        try:
            is_ours = all(self._take_patiently(lock) for lock in self._locks)
        except OSError:
            for lock in self._locks:
                lock.close()
            self._locks = []
            return
        if not is_ours:
            raise self._busy()

    def _wait_for(self, number: int, *, shared: bool = False) -> None:
        lock = self._locks[number]
        try:
            is_ours = self._take_patiently(lock, shared=shared)
        except OSError as problem:
            raise StudyUnavailable(
                f"{lock.path} cannot be made or locked: {problem.strerror or problem}", advice=TRY_AGAIN, transient=True
            ) from problem
        if not is_ours:
            raise self._busy()

    def _busy(self) -> StudyUnavailable:
        return StudyUnavailable(f"{self.path}: {LOCKED}", advice=TRY_AGAIN, transient=True)

    def _take_patiently(self, lock: FileLock, *, shared: bool = False) -> bool:
        try:
            mode = os.stat(self._where).st_mode & 0o666  # noqa: PTH116
        except OSError:
            mode = _MODE
        return lock.take(mode, self._timeout, shared=shared)

    def _connected(self) -> sqlite3.Connection:
        """Return a connection that has read the file, as safe as it is to be."""
        if self._was_there and self._must_lie_still(or_log=False) and not may(Path(self._where), os.W_OK):
            return self._still()  # else SQLite would leave an index that no one may write
        self._free_sidecars()
        connection = open_raw(self._where, self._timeout)
        try:
            connection.execute("SELECT 1 FROM sqlite_master")  # only now is the file opened in earnest
            connection.execute(f"PRAGMA synchronous={SYNCHRONOUS[self._durability]}")
            is_full = int(self._durability == "full")
            connection.execute(f"PRAGMA fullfsync={is_full}")  # where a plain sync stops short of a disk
            connection.execute("PRAGMA wal_autocheckpoint=0")  # not under those that read
        except BaseException as error:
            connection.close()
            if not (isinstance(error, sqlite3.OperationalError) and self._is_barred(error)):
                raise
            connection = self._still()
        return connection

    def _still(self) -> sqlite3.Connection:
        self._lies_still = True
        return open_raw(f"file:{quote(self._where)}?immutable=1", self._timeout, uri=True)

    def _is_barred(self, error: sqlite3.Error) -> bool:
        """Tell whether a log cannot be made beside the file, which without one has everything."""
        return code_of(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN) and self._must_lie_still()

    def _must_lie_still(self, *, or_log: bool = True) -> bool:
        file, log = Path(self._where), Path(f"{self._real}-wal")
        return (
            file.is_file()
            and not (may(file, os.W_OK) and may(file.parent, os.W_OK))
            and not (log.exists() and (not or_log or log.stat().st_size))
        )

    def _free_sidecars(self) -> None:
        """Let us write what belongs to a file that we may write: one that was read-only may have left it so."""
        for path in [Path(self._real + ending) for ending in ENDINGS]:
            if path.exists() and not may(path, os.W_OK) and may(Path(self._where), os.W_OK):
                with suppress(OSError):  # it is another user's
                    path.chmod(Path(self._where).stat().st_mode & 0o666)

    def _note(self) -> None:
        """Take what is there for what belongs together."""
        self._mark = self._marked()
        self._sidecars.note()

    def _marked(self) -> tuple[int, ...]:
        """Return what tells this file from any other; nothing, if there is none."""
        try:
            found = os.stat(self._where)  # noqa: PTH116
        except OSError:
            return ()
        mark = (found.st_dev, found.st_ino)
        return (*mark, found.st_size, found.st_mtime_ns, *self._marked_log()) if self._lies_still else mark

    def _marked_log(self) -> tuple[int, ...]:
        """Return what tells that something was written beside the file, which is not read as long as it lies still."""
        try:
            log = Path(f"{self._real}-wal").stat()
        except OSError:
            return ()
        return (log.st_size, log.st_mtime_ns)

    def _shorten(self) -> None:
        """Move what is in the log into the file, so that it does not grow for ever."""
        with suppress(OSError, sqlite3.Error):  # it stays where it is, until the next time
            if self._locks and not self._take_patiently(self._locks[1]):
                return
            try:
                self.connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
            finally:
                self.stop_reading()

    def _refuse_moved(self, name: str) -> None:
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

    def _mend(self, name: str) -> None:
        """Open the file anew when its log or its index is gone or another one; nothing seen may be missing.

        A log that was deleted is still ours to read. If no process has opened the file since, it goes into the file. In
        one process SQLite has one index for all connections, so all of them are opened anew. Both locks are ours.
        """
        copy = None
        if not self._sidecars.log_is_gone:
            copy = copied(self.connection)
        elif self.connection.execute("PRAGMA wal_checkpoint(FULL)").fetchone()[0]:
            raise self._busy()
        peers = self._peers()
        with keeping_sidecars(self._where):
            for peer in peers:
                peer.connection.close()
        for peer in peers:
            peer.connection = peer._connected()  # noqa: SLF001  # it is one of us
        for peer in peers:
            peer._note()  # noqa: SLF001
            peer._find_again(copy)  # noqa: SLF001
        if self._is_lost:
            self._refuse_lost(name)

    def _find_again(self, copy: sqlite3.Connection | None) -> None:
        """See that what we have seen is there; if not, bring it back, or keep it apart."""
        if has(self.connection, self.latest):
            return
        if copy is None or not has(copy, self.latest):
            self._is_lost = True
        elif not brought_back(copy, self.connection):
            self._is_lost = True
            with suppress(sqlite3.Error), closing(open_raw(f"{self._real}-saved", self._timeout)) as saved:
                copy.backup(saved)

    def _peers(self) -> list["SqliteFile"]:
        """Return all of this process that have the file open, ourselves among them."""
        files = [file for file in list(_open_files) if file._pid == os.getpid()]  # noqa: SLF001  # one of us
        return [file for file in files if file._real == self._real]  # noqa: SLF001

    def _refuse_lost(self, name: str) -> None:
        file = Path(self.path).name
        has_copy = Path(f"{self._real}-saved").exists()
        raise StudyUnavailable(
            f"{file}-wal was deleted while study {name!r} was open, and others went on without it: results that were "
            f"acknowledged are not in {self.path}",
            advice=f"{file}-saved has all that was known here: `boxthirding study export` shows it"
            if has_copy
            else FROM_BACKUP,
        )

    def _refuse_foreign(self) -> None:
        query = "SELECT name FROM sqlite_master WHERE name NOT GLOB 'boxthirding_*' AND name NOT GLOB 'sqlite_*'"
        other = self.connection.execute(query).fetchone()
        if other is not None:
            raise UnreadableData(
                f"{self.path} is an SQLite database of something else, with a table {other[0]!r}: name another file"
            )

    def _write_ahead(self) -> None:
        """Turn on write-ahead logging, which the file keeps; here SQLite does not wait for others who do the same."""
        end = time.monotonic() + self._timeout
        while True:
            try:
                self.connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:
                if code_of(error) != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                    raise
                time.sleep(0.01)
            else:
                return


def connect(path: str, durability: str, timeout: float) -> SqliteFile:
    """Open a file, making it and its tables if need be."""
    file = SqliteFile(path, timeout, durability)
    try:
        with translated(path), file.alone():
            file.set_up()
    except BaseException:
        file.close()
        raise
    return file


_open_files: "weakref.WeakSet[SqliteFile]" = weakref.WeakSet()
