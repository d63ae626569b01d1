"""What can be saved of an SQLite file whose log was deleted while it was open: all that this process has seen."""

import sqlite3
from contextlib import suppress
from typing import TypeAlias

from boxthirding.storage.sqlite_errors import open_raw

Seen: TypeAlias = tuple[int, int, str]
"""An event that was read or committed: its study, its number and its text."""


def copied(connection: sqlite3.Connection) -> sqlite3.Connection | None:
    """Return a copy of a database in memory; None, if it cannot be read."""
    copy = open_raw(":memory:", 0.0)
    try:
        connection.backup(copy)
        is_sound = copy.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    except sqlite3.Error:
        is_sound = False
    if is_sound:
        return copy
    copy.close()
    return None


def has(connection: sqlite3.Connection, seen: Seen | None) -> bool:
    """Tell whether a file has an event."""
    if seen is None:
        return True
    query = "SELECT event FROM boxthirding_events WHERE study = ? AND seq = ?"
    with suppress(sqlite3.OperationalError):  # it may have no tables
        return connection.execute(query, seen[:2]).fetchall() == [seen[2:]]
    return False


def brought_back(old: sqlite3.Connection, new: sqlite3.Connection) -> bool:
    """Write what one connection has over what another one has, if that is the beginning of it; tell whether it was."""
    try:
        for seen in _last_events(new):
            if not has(old, seen):
                return False
        old.backup(new)
    except sqlite3.Error:
        return False
    return True


def _last_events(connection: sqlite3.Connection) -> list[Seen]:
    """Return the last event of each study."""
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'boxthirding_events'").fetchall():
        return []
    query = "SELECT seq, event FROM boxthirding_events WHERE study = ? ORDER BY seq DESC LIMIT 1"
    studies = [study for (study,) in connection.execute("SELECT id FROM boxthirding_studies")]
    return [(study, *row) for study in studies for row in connection.execute(query, (study,))]
