"""Files that are there whole or not at all, and never in the place of something else."""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from boxthirding.errors import InvalidInput

_DATABASE = re.compile(
    r"(-wal|-shm|-journal|-lock|-read|-saved-.*|-worker-.*)?", re.DOTALL
)  # what the files of an SQLite database end in


FORMS: Final = {".csv": "csv", ".jsonl": "jsonl"}
"""By what the name of a file ends in: what is written to it."""


def form_of(out: Path) -> str:
    """Return what is to be written to a file, by its name; refuse any other name."""
    form = FORMS.get(out.suffix.lower())
    if form is None:
        raise InvalidInput(f"--out is {out}, but must end in .csv or .jsonl: what is written depends on it")
    return form


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """Yield a file to write to, which gets its name when all is written; if that fails, nothing is left behind."""
    part = _part_of(path)
    with part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        try:
            yield file
            file.close()
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def refuse_to_overwrite(path: Path, way_out: str) -> None:
    """Refuse a file that is there: it may have been filled in."""
    if _is_there(path):
        raise InvalidInput(f"--out is {path}, which is there already: {way_out}")


def refuse_to_destroy(path: Path, url: str) -> None:
    """Refuse what must not be replaced, not even by force: a folder, a device, the study itself."""
    from boxthirding.client.addresses import is_remote
    from boxthirding.storage.opening import file_of

    if _is_there(path) and not path.is_file():
        raise InvalidInput(
            f"--out is {path}, which is no ordinary file: name one, or leave --out out and use standard output"
        )
    database = None if is_remote(url) else file_of(url)
    if database is not None and _belongs(path, Path(database)):
        raise InvalidInput(f"--out is {path}, which is the study itself: name another file")


def _is_there(path: Path) -> bool:
    """Tell whether there is something of that name; refuse a name under which nothing can be written."""
    try:
        there, folder = path.exists(), path.parent.is_dir()
        _part_of(path).exists()  # its name is longer
    except (OSError, ValueError) as problem:
        reason = (isinstance(problem, OSError) and problem.strerror) or str(problem)
        raise InvalidInput(f"--out is {path}, which cannot be written ({reason}): name another file") from None
    if not folder:
        raise InvalidInput(f"--out is {path}, but there is no folder {path.parent}: make it, or name another file")
    return there


def _belongs(path: Path, database: Path) -> bool:
    """Tell whether a file is a database or one of those beside it, whether they are there yet or not."""
    try:
        file, database = path.resolve(), database.resolve()
    except (OSError, RuntimeError, ValueError):  # links in a circle, and the like: that is no database
        return False
    with suppress(OSError):
        if file.samefile(database):  # under another name
            return True
    is_beside = file.parent == database.parent and file.name.startswith(database.name)
    return is_beside and _DATABASE.fullmatch(file.name.removeprefix(database.name)) is not None


def _part_of(path: Path) -> Path:
    """Return where a file is while it is being written."""
    return path.with_name(f".{path.name}.part")
