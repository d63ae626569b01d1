"""`open_study`: a study by the URL of its database and its name."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from boxthirding.errors import InvalidInput, UnknownStudy
from boxthirding.study import Journal, Settings, Study
from boxthirding.types import Label, Policy

DURABILITIES: Final = ("normal", "full")
_LONGEST = 200  # characters of a name


class Shelf(Protocol):
    """A place with studies."""

    def names(self) -> list[str]:
        """Return the names of the studies there are, sorted."""

    def journal(self, name: str) -> Journal:
        """Return the journal of a study, empty if there is none."""


def open_study(
    url: str | Path,
    name: str,
    *,
    arms: int | Iterable[Any] | Mapping[Label, Any] | None = None,
    policy: Policy | str | None = None,
    seed: int | None = None,
    direction: str | None = None,
    lease: float | None = None,
    patience: int | None = None,
    holder: str | None = None,
    durability: str = "normal",
) -> Study:
    """Open a study, or make it if there are arms to make it with.

    The URL is the path of an SQLite file, `sqlite:///PATH`, `postgresql://…`, or `memory:`, which ends with the
    process. What is left out is taken from the study; what differs from it is refused. A `holder` that comes back under
    its name gets its open tickets again; without a name, you are a new one every time. With `durability="normal"` what
    was acknowledged survives a killed process, with "full" a power cut.

    >>> with open_study("memory:docs", "names", arms=["ann", "bob"]) as study:
    ...     for ticket in study.ask(2):
    ...         study.tell(ticket, len(ticket.label))
    ...     study.pulls
    2
    """
    _check_name("the name of the study", name)
    if holder is not None:
        _check_name("the holder", holder)
    settings = Settings(arms, policy, seed, direction, patience, lease)
    place = shelf(url, durability)
    if arms is None and name not in (names := place.names()):  # asked first: a slip of the pen makes no database
        there = f"the studies there are {', '.join(map(repr, names))}" if names else "it has no studies"
        raise UnknownStudy(f"there is no study {name!r} here, and {there}: give arms to make it")
    journal = place.journal(name)
    try:
        return Study(name, journal, settings, holder=holder)
    except BaseException:
        journal.close()
        raise


def open_journal(url: str | Path, name: str, timeout: float | None = None) -> Journal:
    """Return the journal of a study, for those who make the study of it themselves.

    With a `timeout`, a file that others have locked is waited for no longer than so many seconds at each call.
    """
    _check_name("the name of the study", name)
    return shelf(url, timeout=timeout).journal(name)


def list_studies(url: str | Path) -> list[str]:
    """Return the names of the studies in a database, sorted."""
    return shelf(url).names()


def shelf(url: str | Path, durability: str = "normal", timeout: float | None = None) -> Shelf:
    """Return the place that a URL names; what it needs is loaded only then."""
    if durability not in DURABILITIES:
        raise InvalidInput(f"durability is {durability!r}, but must be normal or full")
    path = file_of(url)
    if path is not None:
        from boxthirding.storage.sqlite import SqliteShelf  # noqa: PLC0415  # only what is used

        return SqliteShelf(path, durability) if timeout is None else SqliteShelf(path, durability, timeout)
    scheme, _, rest = str(url).partition(":")
    if scheme == "memory":
        from boxthirding.storage.memory import SHELVES, MemoryShelf  # noqa: PLC0415

        return SHELVES.setdefault(rest, MemoryShelf())
    from boxthirding.storage.postgres import PostgresShelf  # noqa: PLC0415

    return PostgresShelf(str(url), durability)


def file_of(url: str | Path) -> str | None:
    """Return the path of the SQLite file that a URL names; None, if it names a place that is no file."""
    text = str(url)
    scheme, colon, rest = text.partition(":")
    if (colon and scheme == "memory") or (scheme in ("postgresql", "postgres") and rest.startswith("//")):
        return None
    if "://" in text and scheme != "sqlite":
        raise InvalidInput(f"url is {text!r}, but must be a path, sqlite:///PATH, postgresql://… or memory:")
    path = rest.removeprefix("///") if colon and scheme == "sqlite" else text
    if not path or path.startswith("//") or path == ":memory:":
        raise InvalidInput(f"url is {text!r}, but must name a file, as a path or sqlite:///PATH, or be memory:")
    return path


def _check_name(what: str, name: object) -> None:
    if not (isinstance(name, str) and name.isprintable() and 0 < len(name) <= _LONGEST):
        raise InvalidInput(f"{what} is {name!r}, but must be 1 to {_LONGEST} printable characters")
