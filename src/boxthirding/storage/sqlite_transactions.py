"""How an SQLite file is accessed: alone, to read, or to write what is there for good in the end, or not at all."""

from types import TracebackType
from typing import TYPE_CHECKING

from boxthirding.errors import StudyUnavailable
from boxthirding.storage.sqlite_errors import TRY_AGAIN, translated

if TYPE_CHECKING:
    from boxthirding.storage.sqlite_file import SqliteFile


class Alone:
    """Holds both locks."""

    def __init__(self, file: "SqliteFile") -> None:
        self._file = file

    def __enter__(self) -> None:
        try:
            self._file.take_alone()
        except BaseException:
            self._file.let_go()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.let_go()


class Reading:
    """Holds a lock while something is read."""

    __slots__ = ("_file", "_is_ours", "_name")

    def __init__(self, file: "SqliteFile", name: str) -> None:
        self._file, self._name = file, name
        self._is_ours = False

    def __enter__(self) -> None:
        if self._file.under_way is None:
            self._is_ours = True
            self._file.begin_to_read(self._name)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_ours:
            self._file.stop_reading()


class Transaction:
    """Holds the file's write lock; commits at the end, rolls back if something was raised, even while it was awaited.

    This is no generator: one that an interrupt keeps from its block ends when its memory is freed, which may be in the
    middle of another transaction.
    """

    def __init__(self, file: "SqliteFile") -> None:
        self._file = file

    def __enter__(self) -> None:
        self._roll_back()  # what an interrupt has left open: only one at a time is begun here
        try:
            self._begin()
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
                self._file.connection.execute("COMMIT")
                self._file.committed()
        finally:
            self._roll_back()

    def _begin(self) -> None:
        self._file.under_way = self
        self._file.connection.execute("BEGIN IMMEDIATE")

    def _roll_back(self) -> None:
        if self._file.connection.in_transaction:  # a disk that is full has rolled it back already
            self._file.connection.execute("ROLLBACK")
        self._file.over()


class Writing(Transaction):
    """Holds the write lock of a file, for what errors call by the name of a study."""

    def __init__(self, file: "SqliteFile", name: str) -> None:
        super().__init__(file)
        self._name = name

    def __enter__(self) -> None:
        file = self._file
        try:
            with translated(file.path):
                if file.under_way is not None:
                    self._roll_back()  # what an interrupt has left open: only one at a time is begun here
                file.begin_to_write(self._name)
                self._begin()
        except BaseException:
            self._roll_back()
            file.let_go()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        file = self._file
        is_ours = file.under_way is self
        try:
            with translated(file.path):
                super().__exit__(kind, error, trace)
            if error is None and not file.is_calm():
                file.check(self._name)  # if it was moved, what was committed may never be found
        finally:
            if is_ours:
                file.stop_writing()
