"""Programs that score an arm: how their arguments are filled in, how they are run, and what they must print."""

import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from boxthirding._checks import is_number
from boxthirding.cli.numbers import number
from boxthirding.errors import CommandFailed, InvalidInput, StudyDiffers, UnreadableData
from boxthirding.find.task import Examples
from boxthirding.rewards.files import read_sheet
from boxthirding.types import Label

Row = dict[str, str]
"""An arm: its columns by name, and its label as `arm`."""

_PLACEHOLDER = re.compile(r"\{(\w[\w .-]*)\}")
_PAIR = 2  # a number and its cost


class Program:
    """A command whose last printed line is a number, or a number and its cost; run without a shell.

    Each run is a process group of its own: Ctrl-C reaches only us, and what is still running is killed on leaving.
    """

    def __init__(self, command: str, arms: list[Row], *, examples: bool, timeout: float | None) -> None:
        if timeout is not None and not (is_number(timeout) and timeout > 0):
            raise InvalidInput(f"timeout is {timeout}, but must be a number of seconds above 0")
        self._words = _checked(command, set(arms[0]), examples=examples)
        self._timeout = timeout
        self._running: set[subprocess.Popen[str]] = set()
        self._closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._closed = True
            for process in self._running:
                _kill(process)

    def __call__(self, arm: Row | Label, paired: tuple[int, str]) -> tuple[float, float] | float:
        """Run the command for an arm, and return what it printed; a label alone is of an arm that has no row."""
        if not isinstance(arm, dict):
            raise without_rows([arm])
        pull, example = paired
        values = {"pull": str(pull), "example": example, **arm}
        words = [_PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), word) for word in self._words]
        shown = f"`{shlex.join(words)}`"
        output, errors, code = self._run(words, shown)
        if code != 0:
            how = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
            said = f"the last line of its stderr is {_last_line(errors)!r}" if errors.strip() else "its stderr is empty"
            raise CommandFailed(f"{shown} {how}; {said}")
        return _number(shown, output)

    def _run(self, words: list[str], shown: str) -> tuple[str, str, int]:
        process = self._started(words, shown)
        with process:  # closes its pipes and waits for its end
            try:
                output, errors = process.communicate(timeout=self._timeout)
            except subprocess.TimeoutExpired:
                _kill(process)
                raise CommandFailed(f"{shown} took longer than {self._timeout:g} s and was stopped") from None
            except BaseException:
                _kill(process)
                raise
            finally:
                with self._lock:
                    self._running.discard(process)
        return output, errors, process.returncode

    def _started(self, words: list[str], shown: str) -> "subprocess.Popen[str]":
        with self._lock:
            if self._closed:
                raise CommandFailed(f"{shown} was not started: the run is over")
            try:
                process = subprocess.Popen(  # noqa: S603  # what the user wrote, without a shell
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    encoding="utf-8",
                    errors="replace",
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                reason = (isinstance(error, OSError) and error.strerror) or str(error)
                raise CommandFailed(f"{shown} could not be started: {reason}") from error
            self._running.add(process)
            return process


class Pulls(Examples):
    """Hands out the number of the pull beside the example; without examples, the number alone."""

    def __init__(self, examples: list[str] | None, seed: int) -> None:
        super().__init__([""] if examples is None else examples, seed)

    def __getitem__(self, pull: int) -> tuple[int, Any]:
        return pull, super().__getitem__(pull)


def read_arms(path: Path) -> list[Row]:
    """Read arms from a CSV file with a header, or from the lines of any other file."""
    arms, lines = _read(path, "arm")
    first: dict[str, int] = {}
    for arm, line in zip(arms, lines, strict=True):
        label = arm["arm"]
        if not label:
            raise UnreadableData(f"{path}, line {line}: the arm is empty, but must have a label")
        if label in first:
            raise UnreadableData(
                f"{path}, line {line}: arm {label!r} stands on line {first[label]} already, but a label must be unique"
            )
        first[label] = line
    return arms


def without_rows(labels: Sequence[Label]) -> StudyDiffers:
    """Return what is wrong when arms were added to a study and not to the file of arms."""
    more = f" and {len(labels) - 1:,} more" if len(labels) > 1 else ""
    return StudyDiffers(
        f"arm {labels[0]!r}{more} of the study is not in the file of --arms, so there is nothing to fill in: "
        "add its row to the file, or take it out with `boxthirding study withdraw`"
    )


def read_examples(path: Path) -> list[str]:
    """Read examples from the column `example` of a CSV file, else its first, or from the lines of any other file."""
    return [row["example"] for row in _read(path, "example")[0]]


def _read(path: Path, name: str) -> tuple[list[Row], list[int]]:
    """Return the rows of a file, with one column under this name, and the line on which each ends."""
    if path.suffix.lower() == ".csv":
        sheet = read_sheet(path)
        key = name if sheet.has([name]) else sheet.columns[0]
        rows = [dict(zip(sheet.columns, cells, strict=True)) for cells in sheet.rows]
        return [{**row, name: row[key].strip()} for row in rows], sheet.lines
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UnreadableData(f"{path} is not UTF-8 text (byte {problem.start})") from None
    except (OSError, ValueError) as problem:
        reason = (isinstance(problem, OSError) and problem.strerror) or str(problem)
        raise UnreadableData(f"{path} cannot be read ({reason}): give a file with an {name} on each line") from None
    found = [(line.strip(), number) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not found:
        raise UnreadableData(f"{path} is empty, but must have an {name} on each line")
    return [{name: line} for line, _ in found], [number for _, number in found]


def _checked(command: str, columns: set[str], *, examples: bool) -> list[str]:
    """Split a command into words, once and for all, and check what is to be filled in."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InvalidInput(
            f"command {command!r} cannot be split into words ({error}): check its quotation marks"
        ) from None
    if not words:
        raise InvalidInput("command is empty, but must name a program, such as 'python score.py {arm}'")
    wanted = {name for word in words for name in _PLACEHOLDER.findall(word)}
    known = columns | {"pull"} | ({"example"} if examples else set())
    if examples and "example" in columns:
        raise InvalidInput(
            "the arms have a column 'example' and there are --examples, but {example} can be only one of them"
        )
    if "example" in wanted - known:
        raise InvalidInput("command has {example}, but there are no examples: give --examples FILE")
    for name in sorted(wanted - known):
        raise InvalidInput(f"command has {{{name}}}, but only {_listed(known)} can be filled in")
    if not wanted & columns:
        raise InvalidInput(
            f"command has none of {_listed(columns)}, so every arm would get the same number: put {{arm}} into it"
        )
    if examples and "example" not in wanted:
        raise InvalidInput("there are --examples, but the command has no {example}: put it in, or leave them out")
    if not _PLACEHOLDER.search(words[0]) and shutil.which(words[0]) is None:
        raise InvalidInput(f"command starts with {words[0]!r}, but there is no such program")
    return words


def _listed(names: set[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def _number(shown: str, output: str) -> tuple[float, float] | float:
    """Read the number, and the cost, in the last line of an output."""
    if not output.strip():
        raise CommandFailed(f"{shown} printed nothing, but must print a number")
    line = _last_line(output)
    try:
        numbers = [number(word) for word in line.split()]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= _PAIR:
        raise CommandFailed(f"{shown} printed {line!r} last, but must print a number, or a number and its cost")
    if not math.isfinite(numbers[0]):
        raise CommandFailed(f"{shown} printed {line!r} last, but must print a finite number")
    if not 0 < numbers[-1] < math.inf and len(numbers) == _PAIR:
        raise CommandFailed(f"{shown} printed {line!r} last, but the cost must be a finite number above 0")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1].strip()


def _kill(process: "subprocess.Popen[str]") -> None:
    """Kill a process and what it has started; one that has ended already is no matter."""
    if process.returncode is not None:
        return
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
