"""The tables of a database with studies, and how an old one becomes a new one."""

from collections.abc import Callable, Sequence
from typing import Final

from boxthirding.errors import UnreadableData

SQLITE: Final[Sequence[str]] = (
    """
    CREATE TABLE boxthirding_studies (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE boxthirding_events (
        study INTEGER NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (study, seq)
    ) WITHOUT ROWID;
    CREATE TABLE boxthirding_snapshots (
        study INTEGER NOT NULL, seq INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (study, seq)
    );
    """,
)
"""What makes version k + 1 of the tables out of version k; version 0 is a database without them."""

POSTGRES: Final[Sequence[str]] = (
    """
    CREATE TABLE boxthirding_studies (
        id BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name TEXT NOT NULL UNIQUE
    );
    CREATE TABLE boxthirding_events (
        study BIGINT NOT NULL, seq BIGINT NOT NULL, event TEXT NOT NULL, PRIMARY KEY (study, seq)
    );
    CREATE TABLE boxthirding_snapshots (
        study BIGINT NOT NULL, seq BIGINT NOT NULL, data BYTEA NOT NULL, PRIMARY KEY (study, seq)
    );
    """,
)

SQLITE_RECORDS: Final = (
    "CREATE TABLE IF NOT EXISTS boxthirding_records (kind TEXT NOT NULL, id TEXT NOT NULL, at REAL NOT NULL, "
    "data BLOB NOT NULL, PRIMARY KEY (kind, id)) WITHOUT ROWID"
)
"""What a server keeps; made when one is started, so that a place that only has studies stays as it is."""

POSTGRES_RECORDS: Final = (
    "CREATE TABLE IF NOT EXISTS boxthirding_records (kind TEXT NOT NULL, id TEXT NOT NULL, "
    "at DOUBLE PRECISION NOT NULL, data BYTEA NOT NULL, PRIMARY KEY (kind, id))"
)

VERSION_TABLE: Final = "CREATE TABLE IF NOT EXISTS boxthirding_schema (version INTEGER NOT NULL)"


def missing(place: str, version: int, migrations: Sequence[str]) -> Sequence[str]:
    """Return what is to be done to a database of this version; refuse one that is newer than this package."""
    if version > len(migrations):
        raise UnreadableData(
            f"{place} has tables of version {version}, but this version of boxthirding knows them up to "
            f"{len(migrations)}: open it with a newer version"
        )
    return migrations[version:]


def migrate(place: str, version: int, migrations: Sequence[str], run: Callable[[str], object]) -> None:
    """Bring the tables of a database up to date with statements that `run` carries out, all in one transaction."""
    steps = missing(place, version, migrations)
    for step in steps:
        for statement in filter(str.strip, step.split(";")):
            run(statement)
    if steps:
        run("DELETE FROM boxthirding_schema")
        run(f"INSERT INTO boxthirding_schema (version) VALUES ({len(migrations)})")  # noqa: S608  # a number of ours
