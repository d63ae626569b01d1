"""What the commands of a study have in common: which study is meant, how it is opened, and how far it is."""

import re
import shlex
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from boxthirding._text import counted, did_you_mean, writer, written
from boxthirding.cli.output import say
from boxthirding.errors import InvalidInput, UnknownLabel, UnknownStudy

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
    from boxthirding.session import Recommendation, View
    from boxthirding.study import Study
    from boxthirding.types import Label

_WIDEST = 24  # columns of a label
_WHOLE: Final = re.compile(r"-?[0-9]{1,4000}")  # Python reads no longer ones

Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
no_header_option = click.option("--no-header", is_flag=True, help="The CSV file has no header.")


def direction_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options --direction and --minimize, which it takes as one argument."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def directed(*args: Any, direction: str | None, minimize: bool, **options: Any) -> None:
            if minimize and direction == "maximize":
                raise InvalidInput("--minimize and --direction maximize are given, but contradict each other: drop one")
            command(*args, direction="minimize" if minimize else direction, **options)

        short = click.option("--minimize", is_flag=True, help="The same as --direction minimize.")
        return click.option("--direction", type=click.Choice(["maximize", "minimize"]), help=text)(short(directed))

    return decorate


def kept(_: click.Context, __: click.Parameter, url: str | None) -> str | None:
    """Refuse a database that ends with this command."""
    if url is not None and url.partition(":")[:2] == ("memory", ":"):
        raise InvalidInput(
            f"the study is {url}, which would be lost when this command ends: name a file, such as run.db, or a URL"
        )
    return url


def in_a_database(context: click.Context, parameter: click.Parameter, url: str) -> str | None:
    """Refuse a study of a server, for a command that needs its journal."""
    from boxthirding.client.addresses import is_remote

    if is_remote(url):
        raise InvalidInput(
            f"the study is {url}, which is on a server, but this command needs the database: run it where that is, or "
            "use the server's API, which exports results.csv and journal.jsonl"
        )
    return kept(context, parameter, url)


def of_a_study(command: Command) -> Command:
    """Give a command the argument STUDY, in a database or of a server, and the option --name."""
    return _named(click.argument("url", metavar="STUDY", callback=kept), command)


def of_a_journal(command: Command) -> Command:
    """Give a command the argument STUDY, in a database, and the option --name."""
    return _named(click.argument("url", metavar="STUDY", callback=in_a_database), command)


def _named(argument: Callable[[Command], Command], command: Command) -> Command:
    return argument(
        click.option("--name", metavar="NAME", help="Which study, where the database has several.")(command)
    )


def opened(url: str, name: str | None, **settings: Any) -> "Study":
    """Open a study that is there; without a name the only one, or the one called main."""
    from boxthirding.storage import open_study

    return open_study(url, chosen(url, name), **settings)


def reached(url: str, name: str | None) -> "Study | RemoteStudy":
    """Open a study that is there, in a database or of a server."""
    from boxthirding.client.addresses import is_remote

    if not is_remote(url):
        return opened(url, name)
    from boxthirding.client import RemoteStudy
    from boxthirding.client.listing import chosen as address_of

    return RemoteStudy(address_of(url, name), timeout=10.0)


def chosen(url: str, name: str | None) -> str:
    """Return the name of the study that is meant, or say which there are."""
    from boxthirding.storage import list_studies
    from boxthirding.storage.opening import NAME, without_password

    if name is not None:
        return name
    names = list_studies(url)
    place = without_password(url)
    if not names:
        raise _no_studies(url)
    if len(names) == 1 or NAME in names:
        return names[0] if len(names) == 1 else NAME
    raise InvalidInput(f"{place} has {len(names)} studies: say which with --name ({', '.join(names)})")


def there(url: str, name: str | None) -> str:
    """Return the name of the study that is meant and that is there, for a command that reads its journal alone."""
    from boxthirding.storage import list_studies

    wanted, names = chosen(url, name), list_studies(url)
    if not names:
        raise _no_studies(url)
    if wanted not in names:
        close = did_you_mean(wanted, names)
        here = f"here ({close})" if close else "here"
        raise UnknownStudy(f"there is no study {wanted!r} {here}: the studies there are {', '.join(map(repr, names))}")
    return wanted


def _no_studies(url: str) -> UnknownStudy:
    from boxthirding.storage.opening import without_password

    place = without_password(url)
    word = shlex.quote(place)
    return UnknownStudy(
        f"{place} has no studies: {_file_like(url) or 'is that the right place?'} "
        f"`boxthirding study ask {word} --arms FILE` makes one, and so does `boxthirding run --study {word}`"
    )


def _file_like(url: str) -> str:
    """Ask whether another file of the same folder is meant, where there is none of that name."""
    from boxthirding.storage.opening import file_of

    path = file_of(url)
    if path is None or Path(path).exists():
        return ""
    try:
        beside = sorted(file.name for file in Path(path).parent.iterdir() if file.is_file())
    except OSError:
        return ""
    return did_you_mean(Path(path).name, beside)


def label_of(study: "Study | RemoteStudy", text: str) -> "Label":
    """Return the label that a text means: a study made in Python may have numbers."""
    try:
        study.payload(text)
    except UnknownLabel:
        if _WHOLE.fullmatch(text):
            study.payload(int(text))
            return int(text)
        raise
    return text


def summary(view: "View") -> str:
    """Return how far a study is, in one line; a label that is long stands on a line of its own, in full."""
    from boxthirding.cli.study.boxes import one_line

    text = _counts(view)
    if view.recommendation is None:
        return f"{text}."
    label, mean, pulls, _ = view.recommendation
    how = f"{written(mean)} over {counted(pulls, 'pull')}"
    if len(one_line(label)) > _WIDEST:
        return f"{text}; best so far, with {how}:\n  {one_line(label)}"
    return f"{text}; best so far {one_line(label)}, {how}."


def report(what: str, before: "View", after: "View", *, as_json: bool, **facts: Any) -> None:
    """Print what has changed, and what the answer is now: before and after, where it is another one."""
    import json

    if as_json:
        answers = {
            "before": None if before.recommendation is None else before.recommendation._asdict(),
            "after": None if after.recommendation is None else after.recommendation._asdict(),
        }
        click.echo(json.dumps({**facts, **answers, "pulls": after.pulls}))
        return
    say(what)
    write = writer(view.recommendation.mean for view in (before, after) if view.recommendation is not None)
    if before.recommendation == after.recommendation:
        say(f"Best, as before: {_answer(after.recommendation, write)}")
    else:
        line = f"Best: {_answer(before.recommendation, write)} → {_answer(after.recommendation, write)}"
        is_short = len(line) <= get_terminal_size().columns
        say(line if is_short else line.replace(" → ", "\n   →  ", 1))
    say(f"{_counts(after)}.")


def _counts(view: "View") -> str:
    still_open = f", {counted(view.open, 'ticket')} open" if view.open else ""
    return f"Study {view.name}: {counted(view.pulls, 'pull')}{still_open}"


def _answer(best: "Recommendation | None", write: "Callable[[float], str]") -> str:
    from boxthirding.cli.study.boxes import one_line

    if best is None:
        return "no result"
    return f"{one_line(best.label)}, {write(best.mean)} over {counted(best.pulls, 'pull')}"
