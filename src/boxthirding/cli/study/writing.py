"""Files that are there whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path) -> Iterator[IO[str]]:
    """Yield a file to write to, which gets its name when all is written; if that fails, nothing is left behind."""
    part = path.with_name(f".{path.name}.part")
    with part.open("w", encoding="utf-8", newline="") as file:
        try:
            yield file
            file.close()
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
