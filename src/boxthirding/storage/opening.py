"""`open_study`: a study by the URL of its database and its name."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from boxthirding._text import did_you_mean
from boxthirding.errors import InvalidInput, UnknownStudy
from boxthirding.session import Known
from boxthirding.session.tickets import LONGEST_NAME, check_holder
from boxthirding.session.values import Details
from boxthirding.storage.server_records import PICTURE, Records, picture_of
from boxthirding.study import Journal, Settings, Study
from boxthirding.study.codec import START, check_of, decode
from boxthirding.study.journal import PAGE
from boxthirding.types import Label, Policy

DURABILITIES: Final = ("normal", "full")

NAME: Final = "main"  # the study of a place when no name is given


class Shelf(Protocol):
    """A place with studies."""

    def names(self) -> list[str]:
        """Return the names of the studies there are, sorted."""

    def journal(self, name: str) -> Journal:
        """Return the journal of a study, empty if there is none."""

    def delete(self, name: str) -> bool:
        """Delete a study permanently; return whether there was one."""

    def records(self) -> Records:
        """Return what a server keeps here."""


def open_study(  # noqa: PLR0913  # where it is, and an option for each thing that a study is made with
    url: str | Path,
    name: str = NAME,
    *,
    arms: int | Iterable[Any] | Mapping[Label, Any] | None = None,
    policy: Policy | str | None = None,
    seed: int | None = None,
    direction: str | None = None,
    lease: float | None = None,
    patience: int | None = None,
    examples: int | None = None,
    known: Known | None = None,
    details: Details | None = None,
    holder: str | None = None,
    durability: str = "normal",
    force: bool = False,
    timeout: float | None = None,
) -> Study:
    """Open a study, or make it if there are arms to make it with.

    Parameters
    ----------
    url : str or Path
        The path of an SQLite file, `sqlite:///PATH`, `postgresql://…`, or `memory:`, which ends with the process.
    name : str, default "main"
        Which study of that place.
    arms : optional
        What to make the study with: a sequence, a mapping of labels to arms, an iterator, a range, or a number.
    policy : Policy or str, default "chase"
        What decides which arm is next, as an object or a SPEC.
    seed : int, default 0
        Decides the order of arms.
    direction : {"maximize", "minimize"}, default "maximize"
        Whether larger rewards are better.
    lease : float, optional
        Seconds after which a ticket that was not told goes to the next holder who asks. Default: never.
    patience : int, default 3
        Failures in a row after which an arm is withdrawn.
    examples : int, optional
        How many different pulls an arm has; an arm that has had them all is not handed out again.
    known : mapping or pairs, optional
        Results that are there without a ticket: {label: reward}, {label: [reward, …]} or (label, reward) pairs. Those
        that the study has already are not taken twice.
    details : mapping, optional
        A small JSON object that must stay the same, such as the command that scores an arm.
    holder : str, optional
        Who asks, when a call names no holder. Default: a new name every time.
    durability : {"normal", "full"}, default "normal"
        With "normal" what was acknowledged survives a killed process, with "full" a power cut.
    force : bool, default False
        Continue although arms are other things than before under the same labels, or details differ: from now on the
        new ones are the study's.
    timeout : float, default 60
        Seconds to wait for a file that others have locked.

    What is left out is taken from the study; what differs from it is refused.

    >>> with open_study("memory:docs", "names", arms=["ann", "bob"]) as study:
    ...     for ticket in study.ask(2):
    ...         study.tell(ticket, len(ticket.label))
    ...     study.pulls
    2

    """
    _check_name("the name of the study", name)
    if holder is not None:
        check_holder(holder)  # before a database is made
    known = list(known) if isinstance(known, Iterator) else known
    settings = Settings(arms, policy, seed, direction, patience, lease, examples, details, known, force)
    settings.check()
    place = shelf(url, durability, timeout)
    if arms is None and name not in (names := place.names()):  # asked first: a typing error makes no database
        raise unknown_study(url, name, names)
    journal, reopen = place.journal(name), partial(open_study, url, name, durability=durability)
    try:
        study = Study(name, journal, settings, holder=holder, reopen=reopen)
    except BaseException:
        journal.close()
        raise
    words = [without_password(str(url)), *([] if name == NAME else ["--name", name])]
    study.place = shlex.join(words)
    return study


def unknown_study(url: str | Path, name: str, names: list[str]) -> UnknownStudy:
    """Return the error for a study that is not among those of a place; a name that is like it is suggested."""
    close = did_you_mean(name, names)
    here = f"here{f' ({close})' if close else ''}, and the studies there are {', '.join(map(repr, names))}"
    where = here if names else f"in {without_password(str(url))}, which has no studies"
    return UnknownStudy(f"there is no study {name!r} {where}", advice="give arms to make it")


def open_journal(url: str | Path, name: str = NAME, timeout: float | None = None) -> Journal:
    """Return the journal of a study, to read it as written or to make a `Study` of it.

    `timeout` is how many seconds to wait for a file that others have locked. Default: 60.
    """
    _check_name("the name of the study", name)
    return shelf(url, timeout=timeout).journal(name)


def read_picture(place: str, key: str) -> tuple[str, bytes] | None:
    """Return the kind and the bytes of a picture of a place; None, if it is not there."""
    with closing(shelf(place).records()) as records:
        return picture_of(records, key)


def delete_study(url: str | Path, name: str) -> None:
    """Delete a study permanently: its journal and its snapshots."""
    _check_name("the name of the study", name)
    if not shelf(url).delete(name):
        raise UnknownStudy(f"there is no study {name!r} here, so there is nothing to delete")


def list_studies(url: str | Path) -> list[str]:
    """Return the names of the studies in a database, sorted."""
    return shelf(url).names()


def copy_journal(source: Journal, target: Journal) -> int:
    """Copy all events into a journal that has none, in one transaction; return how many."""
    with target.writing():
        if target.read(0, 1):
            raise InvalidInput("the study to copy to has events already: choose another name")
        seq, check = 0, START
        while texts := source.read(seq, PAGE):
            target.append(seq, texts)
            for text in texts:
                seq += 1
                decode(text, seq, check)  # a damaged journal is not spread
                check = check_of(text)
    return seq


def copy_pictures(source: str, target: str) -> int:
    """Copy the pictures that a server keeps in one place to another; return how many."""
    path = file_of(source)
    if path is not None and not Path(path).exists():
        return 0
    with closing(shelf(source).records()) as ours, closing(shelf(target).records()) as theirs:
        return sum(theirs.put_new(PICTURE, record) for record in ours.all(PICTURE))


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


def without_password(url: str) -> str:
    """Return a URL as it may be shown.

    >>> without_password("postgresql://ann:secret@host/lab?sslmode=require&password=secret")
    'postgresql://ann:...@host/lab?sslmode=require&password=...'
    """
    url = re.sub(r"(://[^:/?#@]*:)[^/?#]*@", r"\1...@", url)
    return re.sub(r"([?&](?:ssl)?password=)[^&#]*", r"\1...", url, flags=re.IGNORECASE)


def file_of(url: str | Path) -> str | None:
    """Return the path of the SQLite file that a URL names; None, if it names a place that is no file."""
    text = str(url)
    scheme, colon, rest = text.partition(":")
    if (colon and scheme == "memory") or (scheme in ("postgresql", "postgres") and rest.startswith("//")):
        return None
    if scheme in ("http", "https") and rest.startswith("//"):
        raise InvalidInput(f"url is {text!r}, a study of a server, but must be a database: use RemoteStudy(url, key)")
    if "://" in text and scheme != "sqlite":
        raise InvalidInput(f"url is {text!r}, but must be a path, sqlite:///PATH, postgresql://… or memory:")
    path = rest.removeprefix("///") if colon and scheme == "sqlite" else text
    if not path or path.startswith("//") or path == ":memory:":
        raise InvalidInput(f"url is {text!r}, but must name a file, as a path or sqlite:///PATH, or be memory:")
    return path


def _check_name(what: str, name: object) -> None:
    if not (isinstance(name, str) and name.isprintable() and 0 < len(name) <= LONGEST_NAME):
        raise InvalidInput(f"{what} is {name!r}, but must be 1 to {LONGEST_NAME} printable characters")
