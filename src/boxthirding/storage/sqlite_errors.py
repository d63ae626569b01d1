"""What errors of SQLite mean for a study, and what to do about them."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from boxthirding.errors import BoxThirdingError, StudyUnavailable, UnreadableData
from boxthirding.storage.sql import FROM_BACKUP, TRY_AGAIN

LONGEST: Final = 247
"""Bytes of a file's name: those of the files beside it, which end in -journal at the longest, must not exceed 255."""


def is_there(path: str) -> bool:
    """Return whether there is something of that path; refuse one that cannot be looked at."""
    name = os.path.basename(path)  # noqa: PTH119  # a path object would take "a.db/" for "a.db"
    if "\0" in path or len(os.fsencode(name)) > LONGEST:
        raise StudyUnavailable(
            f"{path[:80]}{'…' * (len(path) > 80)} cannot be opened: its name has {len(os.fsencode(name))} bytes, but "  # noqa: PLR2004
            f"must have at most {LONGEST}, and no zero byte: name another file"
        )
    try:
        os.stat(path)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        raise StudyUnavailable(
            f"{path} cannot be opened, because you may not enter its folder",
            advice="change the permissions of the folder and of those above it, or name another file",
        ) from None
    except OSError as problem:
        raise StudyUnavailable(f"{path} cannot be opened: {problem.strerror or problem}") from None
    return True


ERRORS: Final = (sqlite3.Error, UnicodeDecodeError, OverflowError)
"""What a call of SQLite may raise; the last two come from a table's definition, or from a message about it."""


def translated(path: str, error: Exception) -> BoxThirdingError:
    """Return what one of these errors means for a study."""
    if not isinstance(error, sqlite3.Error):
        return UnreadableData(f"{path} is damaged: {error}", advice=FROM_BACKUP)
    code = code_of(error)
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return UnreadableData(
            f"{path} is not an SQLite database, or is damaged ({error}): give the file of a study, or a copy of it "
            "from a backup"
        )
    if _is_damage(path, error):
        return UnreadableData(f"{path} is damaged, or something else has changed it: {error}", advice=FROM_BACKUP)
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


# What can be read where the tables are as they were made.
_TABLES: Final = (
    "SELECT version FROM boxthirding_schema LIMIT 0",
    "SELECT id, name FROM boxthirding_studies LIMIT 0",
    "SELECT study, seq, event FROM boxthirding_events LIMIT 0",
    "SELECT study, seq, data FROM boxthirding_snapshots LIMIT 0",
)

LOCKED: Final = "the file is locked by another process, which did not release it in time"

_MAKE_ROOM: Final = "nothing is lost: make room, and try again"

# What may be over when the same call is made again, and what to do about it.
_PASSING: Final = {
    sqlite3.SQLITE_BUSY: (LOCKED, TRY_AGAIN),
    sqlite3.SQLITE_FULL: ("the disk is full", _MAKE_ROOM),
    sqlite3.SQLITE_IOERR: ("the file cannot be written or read, perhaps because the disk is full", _MAKE_ROOM),
    sqlite3.SQLITE_CONSTRAINT: ("another process wrote the same number", TRY_AGAIN),
}


def _is_damage(path: str, error: sqlite3.Error) -> bool:
    """Return whether the tables are not as they were made.

    A statement that does not fit them has the code of any other error, so the tables themselves are looked at.
    """
    if code_of(error) != sqlite3.SQLITE_ERROR:
        return False
    try:
        with closing(open_raw(f"file:{quote(path)}?mode=ro", 0.0, uri=True)) as connection:
            for query in _TABLES:
                connection.execute(query)
    except sqlite3.Error as problem:
        return code_of(problem) == sqlite3.SQLITE_ERROR
    return False


def _why_shut(path: Path) -> str:
    """Return why a file cannot be opened, and what to do."""
    folder = path.absolute().parent
    if path.is_dir():
        return f"is a folder, but must be a file: name one in it, such as {path / 'studies.db'}"
    if not folder.is_dir():
        return f"cannot be opened, because there is no folder {folder}: make it, or name another"
    if not path.exists():
        return "cannot be made, because its folder is read-only: change its permissions, or name another"
    if not may(path, os.R_OK):
        return "cannot be opened, because you may not read it: change its permissions"
    if Path(f"{path}-wal").exists():
        return (
            f"cannot be opened, because its folder is read-only and its latest results are in {path.name}-wal: copy "
            "both to where you may write"
        )
    return "cannot be opened: are its permissions and those of its folder right?"


def may(path: Path | str, mode: int) -> bool:
    """Return whether we may read or write a file."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def open_raw(path: str, timeout: float, *, uri: bool = False) -> sqlite3.Connection:
    """Return a connection that begins no transactions automatically, and reads texts also where they are damaged."""
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False, uri=uri)
    connection.text_factory = _text
    return connection


def _text(data: bytes) -> str:
    """Return a text also where it is damaged: its check tells so, and the texts beside it can be read."""
    return data.decode("utf-8", "surrogateescape")


def code_of(error: sqlite3.Error) -> int:
    """Return the primary code of an error, 0 where it has none."""
    return (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
