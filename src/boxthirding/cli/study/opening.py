"""What the commands of a study have in common: which study is meant, and how it is opened."""

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from boxthirding.cli.drawing import counted
from boxthirding.errors import InvalidInput, UnknownStudy

if TYPE_CHECKING:
    from boxthirding.study import Study

_WIDEST = 24  # columns of a label

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def kept(_: click.Context, __: click.Parameter, url: str | None) -> str | None:
    """Refuse a database that ends with this command."""
    if url is not None and url.partition(":")[:2] == ("memory", ":"):
        raise InvalidInput(
            f"the study is {url}, which would be lost when this command ends: name a file, such as run.db, or a URL"
        )
    return url


def of_a_study(command: Command) -> Command:
    """Give a command the argument STUDY and the option --name."""
    named = click.option("--name", metavar="NAME", help="Which study, where the database has several.")
    return click.argument("url", metavar="STUDY", callback=kept)(named(command))


def opened(url: str, name: str | None, **settings: Any) -> "Study":
    """Open a study that is there; without a name the only one, or the one called main."""
    from boxthirding.storage import open_study

    return open_study(url, chosen(url, name), **settings)


def chosen(url: str, name: str | None) -> str:
    """Return the name of the study that is meant, or say which there are."""
    from boxthirding.find.shared import NAME, without_password
    from boxthirding.storage import list_studies

    if name is not None:
        return name
    names = list_studies(url)
    place = without_password(url)
    if not names:
        word = shlex.quote(place)
        raise UnknownStudy(
            f"{place} has no studies: is that the right place? "
            f"`boxthirding study ask {word} --arms FILE` makes one, and so does `boxthirding run --study {word}`"
        )
    if len(names) == 1 or NAME in names:
        return names[0] if len(names) == 1 else NAME
    raise InvalidInput(f"{place} has {len(names)} studies: say which with --name ({', '.join(names)})")


def summary(study: "Study") -> str:
    """Return how far a study is, in one line; a label that is long stands on a line of its own, in full."""
    from boxthirding.cli.study.boxes import one_line

    best = study.recommend()
    out = f", {counted(study.waiting, 'ticket')} out" if study.waiting else ""
    text = f"Study {study.name}: {counted(study.pulls, 'pull')}{out}"
    if best is None:
        return f"{text}."
    label, how = one_line(best.label), f"{best.mean:.4g} over {counted(best.pulls, 'pull')}"
    if len(label) > _WIDEST:
        return f"{text}; best so far, with {how}:\n  {label}"
    return f"{text}; best so far {label}, {how}."
