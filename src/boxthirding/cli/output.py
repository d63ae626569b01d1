"""Printing safely in any encoding and on any terminal, and writing files atomically."""

import io
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

import click

from boxthirding import errors
from boxthirding._text import apart, in_one_line, visible

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from boxthirding.types import Label

FILE: Final = click.Path(path_type=Path)  # the type of an option that names a file or a folder

INTERRUPTED: Final = 130  # the exit code of a program that SIGINT ended

# By class of error: what to type, instead of the advice of the library, which is for Python.
_ADVICE: Final[dict[type[errors.BoxThirdingError], str]] = {
    errors.AlreadyTold: "`boxthirding study correct` changes it",
    errors.CannotAmend: "`boxthirding study use STUDY chase` lets a policy decide that can",
    errors.EvaluationFailed: "--on-error withdraw continues without arms that fail",
    errors.NoHeader: "add them as its first line, or pass --no-header",
    errors.PolicyMissing: "`boxthirding study use STUDY chase` continues with another policy, which starts from the "
    "results",
    errors.StudyChanged: "give what it was made with, choose another --name, or pass --force to continue with the new "
    "one",
    errors.StudyDiffers: "leave out what the study knows itself, add new arms with `boxthirding study add`, or choose "
    "another --name",
    errors.UnknownStudy: "`boxthirding study ask STUDY --arms FILE` makes one",
    errors.UnknownTicket: "`boxthirding study export STUDY` prints all tickets with their arms and rewards",
}

_DATABASE = re.compile(r"(-wal|-shm|-journal|-lock|-read|-saved-.*|-worker-.*)?", re.DOTALL)
"""How the names of the files of an SQLite database end."""


# Messages


def format_error(error: errors.BoxThirdingError) -> str:
    """Return the problem, and what to type."""
    advice = error.advice_from(_ADVICE)
    return f"{error.problem}; {advice}" if advice else error.problem


class Failure(click.ClickException):
    """A failed command: one line on stderr."""

    def __init__(self, problem: object) -> None:
        super().__init__(in_one_line(problem))


class Refused(Failure):
    """Bad input; the exit code is that of a wrong option."""

    exit_code = 2


def say(text: object, *, err: bool = False) -> None:
    """Print lines for people to read."""
    click.echo(_visible_lines(str(text)), err=err)


class Output:
    """Standard output for data such as CSV: unchanged, except on a terminal, where control characters are escaped."""

    def write(self, text: str) -> int:
        """Write a text."""
        return sys.stdout.write(_visible_lines(text) if sys.stdout.isatty() else text)


def never_fail_to_encode() -> None:
    """Escape characters that the encoding of a stream lacks, so that the result is always printed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


# Tables and labels on a screen


def plain_console() -> "Console":
    """Return a console that prints text as it is."""
    from rich.console import Console

    return Console(highlight=False, markup=False)


def grid(headings: Sequence[str], right: Collection[str] = ()) -> "Table":
    """Return a table without lines, whose headings are dim; the columns named in `right` are aligned right."""
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2, 0, 0))
    table.show_header = True
    for heading in headings:
        table.add_column(Text(heading, "dim"), justify="right" if heading in right else "left", no_wrap=True)
    return table


def ruled_table(space: int = 1) -> "Table":
    """Return a table with a line under its headings, and this much space between its columns."""
    from rich import box
    from rich.table import Table

    return Table(box=box.SIMPLE_HEAD, padding=(0, space, 0, 0), pad_edge=False, show_edge=False)


def break_spec(spec: str, width: int) -> str:
    """Break a SPEC that is too long for its column after a colon or a comma.

    >>> break_spec("sh:growth=1.7,mode=paper", 16).split()
    ['sh:growth=1.7,', 'mode=paper']
    """
    lines = [""]
    for part in re.findall("[^:,]+[:,]?", spec):
        if len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(filter(None, lines))


def one_line(label: "Label") -> str:
    """Return a label without line breaks and control characters."""
    return visible(" ".join(str(label).split()))


def dots(console: "Console") -> str:
    """Return an ellipsis that the terminal can show."""
    return "..." if console.options.ascii_only else "…"


def shorten(label: "Label", width: int, console: "Console") -> str:
    """Return a label on one line, cut to a number of columns of the screen."""
    from rich.cells import cell_len, set_cell_size

    text, end = one_line(label), dots(console)
    return text if cell_len(text) <= width else set_cell_size(text, width - len(end)).rstrip() + end


def label_shortener(labels: "Iterable[Label]", width: int, console: "Console") -> "Callable[[Label], str]":
    """Return a function that shortens labels which are shown together: those that begin alike stay different."""
    from rich.cells import cell_len

    texts = [*map(one_line, labels)]
    letters = width if all(cell_len(text) == len(text) for text in texts) else width // 2  # some take two columns
    short = apart(texts, letters, dots(console))
    return lambda label: shorten(short.get(one_line(label), label), width, console)


# Files


def check_out(out: Path, url: str, *, force: bool = False, advice: str = "") -> None:
    """Raise if a file must not or cannot be written, before any work is done.

    Not even `force` replaces a folder, a device or the study at `url`.
    """
    from boxthirding.client.addresses import is_remote
    from boxthirding.storage.opening import file_of

    is_there = _exists(out)
    if is_there and not out.is_file():
        raise errors.InvalidInput(f"--out is {out}, which is no ordinary file: name one, or leave --out out to print")
    database = None if is_remote(url) else file_of(url)
    if database is not None and _belongs(out, Path(database)):
        raise errors.InvalidInput(f"--out is {out}, which is the study itself: name another file")
    if is_there and not force:
        advice = advice or "pass --force to replace it, or another name"
        raise errors.InvalidInput(f"--out is {out}, which is there already: {advice}")


@contextmanager
def writing(what: object, advice: str = "") -> Iterator[None]:
    """Report a file that cannot be written, with advice."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or problem
        how = f" ({reason}); {advice}" if advice else f": {reason}"
        raise Failure(f"{what} could not be written{how}") from problem


@contextmanager
def whole_file(path: Path, advice: str = "") -> Iterator[IO[str]]:
    """Yield a file to write to, which gets its name when all is written; if that fails, nothing is left behind."""
    part = _part_of(path)
    with writing(path, advice), part.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        try:
            yield file
            file.close()
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _exists(path: Path) -> bool:
    """Return whether the file exists. Raise if the path cannot be written."""
    try:
        exists, folder = path.exists(), path.parent.is_dir()
        _part_of(path).exists()  # its name is longer
    except (OSError, ValueError) as problem:
        reason = (isinstance(problem, OSError) and problem.strerror) or str(problem)
        raise errors.InvalidInput(f"--out is {path}, which cannot be written ({reason}): name another file") from None
    if not folder:
        raise errors.InvalidInput(
            f"--out is {path}, but there is no folder {path.parent}: make it, or name another file"
        )
    return exists


def _belongs(path: Path, database: Path) -> bool:
    """Return whether a file is a database or one of the files beside it; they need not exist yet."""
    try:
        file, database = path.resolve(), database.resolve()
    except (OSError, RuntimeError, ValueError):  # such as a loop of links: not a database
        return False
    with suppress(OSError):
        if file.samefile(database):  # under another name
            return True
    is_beside = file.parent == database.parent and file.name.startswith(database.name)
    return is_beside and _DATABASE.fullmatch(file.name.removeprefix(database.name)) is not None


def _part_of(path: Path) -> Path:
    """Return the temporary path of a file while it is being written."""
    return path.with_name(f".{path.name}.part")
