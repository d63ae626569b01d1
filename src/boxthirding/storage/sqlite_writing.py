"""The write lock of an SQLite file: what is written inside is there for good in the end, or not at all."""

from types import TracebackType

from boxthirding.storage.sqlite_errors import translated
from boxthirding.storage.sqlite_file import SqliteFile, Transaction


class Writing(Transaction):
    """Holds the write lock of a file, for what errors call by the name of a study."""

    def __init__(self, file: SqliteFile, name: str) -> None:
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
