"""All that the commands print: on any stream, in any encoding, and nothing that a terminal would obey."""

import io
import sys

import click

from boxthirding._text import in_one_line, visible


def never_fail_to_encode() -> None:
    """Let what the encoding of a stream lacks be written as an escape: an answer that was paid for must get out."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(text: object, *, err: bool = False) -> None:
    """Print lines for people to read."""
    click.echo(_visible_lines(str(text)), err=err)


class Failure(click.ClickException):
    """What went wrong, in one line on stderr."""

    def __init__(self, problem: object) -> None:
        super().__init__(in_one_line(problem))


class Refused(Failure):
    """Bad input; the exit code is that of a wrong option."""

    exit_code = 2


class Output:
    """Standard output for what is to be kept, such as CSV: as it is, unless a terminal would obey it."""

    def write(self, text: str) -> int:
        """Write a text."""
        return sys.stdout.write(_visible_lines(text) if sys.stdout.isatty() else text)


def _visible_lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))
