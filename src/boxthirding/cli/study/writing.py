"""Files that are there whole or not at all, and never in the place of something else."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from boxthirding.errors import InvalidInput

_DATABASE = ("", "-wal", "-shm", "-journal")  # what the files of an SQLite database end in


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """Yield a file to write to, which gets its name when all is written; if that fails, nothing is left behind."""
    part = _part_of(path)
    with part.open("w", encoding="utf-8", newline="") as file:
        try:
            yield file
            file.close()
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def refuse_to_overwrite(path: Path, way_out: str) -> None:
    """Refuse a file that is there: somebody may have filled it in."""
    if _is_there(path):
        raise InvalidInput(f"--out is {path}, which is there already: {way_out}")


def refuse_to_destroy(path: Path, url: str) -> None:
    """Refuse what nobody can want to be replaced, not even by force: a folder, a device, the study itself."""
    if not _is_there(path):
        return
    if not path.is_file():
        raise InvalidInput(
            f"--out is {path}, which is no ordinary file: name one, or leave --out out and use standard output"
        )
    database = url.removeprefix("sqlite:///")
    if any(_is_same(path, database + ending) for ending in _DATABASE):
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


def _is_same(path: Path, other: str) -> bool:
    """Tell whether two names are of one file; one that is not there is no other's, nor is a URL."""
    with suppress(OSError, ValueError):
        return os.path.samefile(path, other)  # noqa: PTH121  # it may be a URL
    return False


def _part_of(path: Path) -> Path:
    """Return where a file is while it is being written."""
    return path.with_name(f".{path.name}.part")
