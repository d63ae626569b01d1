"""Shared by the commands about a study: arguments, options, opening the study, and its summary."""

import json
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from functools import wraps
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

import click

from boxthirding._text import counted, did_you_mean, writer, written
from boxthirding.cli.output import FILE, one_line, say
from boxthirding.errors import InvalidInput, UnknownLabel, UnknownStudy
from boxthirding.session.values import as_plain

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
    from boxthirding.session import Recommendation, View
    from boxthirding.study import Study
    from boxthirding.types import Label

_WIDEST = 24  # columns of a label
_WHOLE: Final = re.compile(r"-?[0-9]{1,4000}")  # Python reads no longer ones

AnyStudy: TypeAlias = "Study | RemoteStudy"
Command = TypeVar("Command", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
no_header_option = click.option("--no-header", is_flag=True, help="The CSV file has no header.")
force_option = click.option("--force", is_flag=True, help="Replace the file if it is there.")
yes_option = click.option("--yes", is_flag=True, help="Do not ask: for scripts.")
tickets_out_option = click.option(
    "--out",
    type=FILE,
    metavar="FILE.csv",
    help="Where the tickets go, with an empty column reward.  [default: standard output]",
)


def direction_option(text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options --direction and --minimize to a command, as one argument."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def directed(*args: Any, direction: str | None, minimize: bool, **options: Any) -> None:
            if minimize and direction == "maximize":
                raise InvalidInput("--minimize and --direction maximize are given, but contradict each other: drop one")
            command(*args, direction="minimize" if minimize else direction, **options)

        short = click.option("--minimize", is_flag=True, help="The same as --direction minimize.")
        return click.option("--direction", type=click.Choice(["maximize", "minimize"]), help=text)(short(directed))

    return decorate


def durable_url(_: click.Context, __: click.Parameter, url: str | None) -> str | None:
    """Raise if the database is in memory and would be lost when the command ends."""
    if url is not None and url.partition(":")[:2] == ("memory", ":"):
        raise InvalidInput(f"the study is {url}, which ends with this command: name a file, such as run.db, or a URL")
    return url


def database_url(context: click.Context, parameter: click.Parameter, url: str) -> str | None:
    """Raise if the study is on a server: the command needs its journal."""
    from boxthirding.client.addresses import is_remote

    if is_remote(url):
        raise InvalidInput(
            f"the study is {url}, which is on a server, but this command needs the database: run it where that is, or "
            "use the server's API, which exports results.csv and journal.jsonl"
        )
    return durable_url(context, parameter, url)


def study_argument(command: Command) -> Command:
    """Add the argument STUDY, in a database or on a server, and the option --name."""
    return _argument(command, durable_url)


def database_argument(command: Command) -> Command:
    """Add the argument STUDY, in a database, and the option --name."""
    return _argument(command, database_url)


def with_study(command: Callable[..., None]) -> Callable[..., None]:
    """Pass an open study in a database or on a server, named by the argument STUDY and the option --name."""
    return study_argument(_opening(open_anywhere, command))


def with_database_study(command: Callable[..., None]) -> Callable[..., None]:
    """Pass an open study in a database, named by the argument STUDY and the option --name."""
    return database_argument(_opening(open_database, command))


def _opening(open_study: Callable[..., AnyStudy], command: Callable[..., None]) -> Callable[..., None]:
    @wraps(command)
    def opened(*, url: str, name: str | None, **options: Any) -> None:
        with open_study(url, name) as study:
            command(study=study, **options)

    return opened


def _argument(command: Command, check: Callable[..., str | None]) -> Command:
    name = click.option("--name", metavar="NAME", help="Name of the study, if the database has several.")
    return click.argument("url", metavar="STUDY", callback=check)(name(command))


def open_database(url: str, name: str | None) -> "Study":
    """Open an existing study of a database; without a name the only one, or the one called main."""
    from boxthirding.storage import open_study

    return open_study(url, study_name(url, name))


def open_anywhere(url: str, name: str | None) -> AnyStudy:
    """Open an existing study of a database or of a server."""
    from boxthirding.client.addresses import is_remote

    if not is_remote(url):
        return open_database(url, name)
    from boxthirding.client import RemoteStudy
    from boxthirding.client.remote import chosen

    return RemoteStudy(chosen(url, name), timeout=10.0)


def study_name(url: str, name: str | None) -> str:
    """Return the name that is given, or that of the only study or of the one called main; else list the studies."""
    from boxthirding.storage import list_studies
    from boxthirding.storage.opening import NAME, without_password

    if name is not None:
        return name
    names = list_studies(url)
    if not names:
        raise _no_studies(url)
    if len(names) > 1 and NAME not in names:
        place = without_password(url)
        raise InvalidInput(f"{place} has {len(names)} studies: say which with --name ({', '.join(names)})")
    return names[0] if len(names) == 1 else NAME


def existing_name(url: str, name: str | None) -> str:
    """Return the name of an existing study, for a command that does not open it."""
    from boxthirding.storage import list_studies
    from boxthirding.storage.opening import unknown_study

    wanted, names = study_name(url, name), list_studies(url)
    if not names:
        raise _no_studies(url)
    if wanted not in names:
        raise unknown_study(url, wanted, names)
    return wanted


def _no_studies(url: str) -> UnknownStudy:
    """Return the error for a database without studies; if its file is missing, suggest one with a similar name."""
    from boxthirding.storage.opening import file_of, without_password

    place, path, question = without_password(url), file_of(url), ""
    if path is not None and not Path(path).exists():
        with suppress(OSError):
            beside = sorted(file.name for file in Path(path).parent.iterdir() if file.is_file())
            question = did_you_mean(Path(path).name, beside)
    word = shlex.quote(place)
    return UnknownStudy(
        f"{place} has no studies: {question or 'is that the right place?'} "
        f"`boxthirding study ask {word} --arms FILE` makes one, and so does `boxthirding run --study {word}`"
    )


def find_label(study: AnyStudy, text: str) -> "Label":
    """Return the label that a text means: a study made in Python may have numbers."""
    try:
        study.payload(text)
    except UnknownLabel:
        if _WHOLE.fullmatch(text):
            study.payload(int(text))
            return int(text)
        raise
    return text


def confirm(question: str, refusal: str, *, yes: bool) -> None:
    """Ask on the terminal, unless `yes`; the end of the input is a no."""
    if yes:
        return
    click.echo(f"{question} [y/N] ", nl=False, err=True)
    answer = sys.stdin.readline() if sys.stdin is not None else ""
    if not answer.endswith("\n"):
        click.echo(err=True)
    if answer.strip().lower() not in ("y", "yes"):
        raise InvalidInput(f"{refusal}: answer y, or pass --yes")


class ArmColumns:
    """The columns that the file of arms has beside the labels; one that repeats the labels is left out."""

    def __init__(self, arms: "Iterable[tuple[Label, Any]]", taken: Collection[str] = ()) -> None:
        self._rows = {label: payload for label, payload in arms if isinstance(payload, dict)}
        names = dict.fromkeys(name for row in self._rows.values() for name in row)
        self._names = [name for name in names if any(self._cell(label, name) != str(label) for label in self._rows)]
        self.headings = [f"{name} (arm)" if name in taken else name for name in self._names]
        """The names of the columns, marked if the table has a column of the same name."""

    def cells(self, label: "Label") -> list[str]:
        """Return the cells of an arm, empty if it has none."""
        return [self._cell(label, name) for name in self._names]

    def row(self, label: "Label") -> dict[str, str]:
        """Return the cells of an arm by their headings."""
        return dict(zip(self.headings, self.cells(label), strict=True))

    def _cell(self, label: "Label", name: str) -> str:
        value = self._rows.get(label, {}).get(name, "")
        return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def format_columns(label: "Label", payload: Any) -> str:
    """Return the columns of an arm on one line, or an empty text if it has none.

    >>> format_columns("ann", {"name": "ann", "rate": "0.1", "note": ""})
    'rate 0.1'
    """
    row = ArmColumns([(label, payload)]).row(label)
    return ", ".join(f"{name} {cell}" for name, cell in row.items() if cell)


def format_summary(view: "View") -> str:
    """Return the progress of a study in one line; a long label stands on a line of its own, in full."""
    text = _format_counts(view)
    if view.recommendation is None:
        return f"{text}."
    label, mean, pulls, _ = view.recommendation
    how = f"{written(mean)} over {counted(pulls, 'pull')}"
    if len(one_line(label)) > _WIDEST:
        return f"{text}; best so far, with {how}:\n  {one_line(label)}"
    return f"{text}; best so far {one_line(label)}, {how}."


def print_change(what: str, before: "View", after: "View", *, as_json: bool, **facts: Any) -> None:
    """Print what has changed and the best arm now, with the one before if it was another."""
    best, was = after.recommendation, before.recommendation
    if as_json:
        click.echo(json.dumps({**facts, **as_plain({"before": was, "after": best}), "pulls": after.pulls}))
        return
    say(what)
    write = writer(one.mean for one in (was, best) if one is not None)
    if was == best:
        say(f"Best, as before: {_format_best(best, write)}")
    else:
        line = f"Best: {_format_best(was, write)} → {_format_best(best, write)}"
        is_short = len(line) <= get_terminal_size().columns
        say(line if is_short else line.replace(" → ", "\n   →  ", 1))
    say(f"{_format_counts(after)}.")


def _format_counts(view: "View") -> str:
    still_open = f", {counted(view.open, 'ticket')} open" if view.open else ""
    return f"Study {view.name}: {counted(view.pulls, 'pull')}{still_open}"


def _format_best(best: "Recommendation | None", write: "Callable[[float], str]") -> str:
    if best is None:
        return "no result"
    return f"{one_line(best.label)}, {write(best.mean)} over {counted(best.pulls, 'pull')}"
