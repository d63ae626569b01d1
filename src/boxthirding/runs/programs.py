"""Programs that score an arm: how their arguments are filled in, how they are run, and what they must print."""

import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from boxthirding._checks import as_reward, is_number
from boxthirding._text import visible
from boxthirding.errors import CommandFailed, InvalidInput, StudyDiffers, UnreadableData
from boxthirding.find import Examples
from boxthirding.rewards.files import read_sheet
from boxthirding.runs.numbers import number
from boxthirding.runs.tails import KEPT, Tail
from boxthirding.types import Label

Row = dict[str, str]
"""An arm: its columns by name, and its label as `arm`."""

_PLACEHOLDER = re.compile(r"\{(\w[\w .-]*)\}")
_PAIR = 2  # a number and its cost
_LISTED = 20  # columns that an error names
_COMMAND, _LINE = 200, 80  # characters that an error repeats
_LOOK = 0.05  # seconds after which to look whether a process that has not closed its pipes is still there
_MOMENT = 1.0  # seconds to wait for a pipe whose process has ended: something that it started may have it
_DIGITS = 16  # of a pull: no arm has more


class Program:
    """A command whose last printed line is a number, or a number and its cost; run without a shell.

    Each run is a process group of its own: Ctrl-C reaches only us, and what is still running is killed on leaving.
    """

    def __init__(self, command: str, arms: list[Row], *, examples: bool, timeout: float | None) -> None:
        if timeout is not None and not (is_number(timeout) and timeout > 0):
            raise InvalidInput(f"timeout is {timeout}, but must be a number of seconds above 0")
        self._known = frozenset(arms[0])
        self._words = _checked(command, set(self._known), examples=examples)
        self._timeout = timeout
        self._running: set[subprocess.Popen[bytes]] = set()
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
        """Run the command for an arm, and return what it printed; an arm that is its label has no other columns."""
        if not self.can_run(arm):
            raise without_rows([arm["arm"] if isinstance(arm, dict) else arm])
        pull, example = paired
        values = {"pull": str(pull), "example": example, **(arm if isinstance(arm, dict) else {"arm": str(arm)})}
        words = [_PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), word) for word in self._words]
        shown = f"`{visible(_beginning(shlex.join(words), _COMMAND))}`"
        output, errors, code = self._run(words, shown)
        if code != 0:
            how = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
            raise CommandFailed(f"{shown} {how}; {_last_words(errors)}")
        return _number(shown, output)

    @property
    def columns(self) -> frozenset[str]:
        """What the command must know of an arm."""
        return frozenset(name for word in self._words for name in _PLACEHOLDER.findall(word)) & self._known

    def can_run(self, arm: Row | Label) -> bool:
        """Tell whether the command can be filled in for an arm."""
        return self.columns <= (arm.keys() if isinstance(arm, dict) else {"arm"})

    def _run(self, words: list[str], shown: str) -> tuple[Tail, Tail, int]:
        process = self._started(words, shown)
        try:
            output, errors = Tail(process.stdout), Tail(process.stderr)  # type: ignore[arg-type]  # both are pipes
            code = _ended(process, (output, errors), self._timeout)
        except subprocess.TimeoutExpired:
            raise CommandFailed(f"{shown} took longer than {self._timeout:g} s and was stopped") from None
        finally:
            _kill(process)
            process.wait()
            with self._lock:
                self._running.discard(process)
        return output, errors, code

    def _started(self, words: list[str], shown: str) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._closed:
                raise CommandFailed(f"{shown} was not started: the run is over")
            try:
                process = subprocess.Popen(  # noqa: S603  # what the user wrote, without a shell
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                reason = (isinstance(error, OSError) and error.strerror) or str(error)
                raise CommandFailed(f"{shown} could not be started: {reason}") from error
            self._running.add(process)
            return process


class Pulls(Examples):
    """Hands out the number of the pull beside the example; without examples, the number alone."""

    def __init__(self, examples: list[str] | None, seed: int, *, repeat: bool = False) -> None:
        super().__init__([""] if examples is None else examples, seed, repeat=repeat or examples is None)

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


def labelled(rows: Iterable[Row]) -> dict[Label, Row | Label]:
    """Return arms by their labels: the row of each, or the label alone where the file has no other column."""
    return {row["arm"]: row if len(row) > 1 else row["arm"] for row in rows}


def without_rows(labels: Sequence[Label]) -> StudyDiffers:
    """Return what is wrong when arms were added to a study and not to the file of arms."""
    more = f" and {len(labels) - 1:,} more" if len(labels) > 1 else ""
    return StudyDiffers(
        f"arm {labels[0]!r}{more} of the study is not in the file of --arms, so there is nothing to fill in: "
        "add its row to the file and give --force, or take the arm out with `boxthirding study withdraw`"
    )


def read_examples(path: Path) -> list[str]:
    """Read examples from the column `example` of a CSV file, else its first, or from the lines of any other file."""
    return [row["example"] for row in _read(path, "example")[0]]


def digest_of(examples: Sequence[str]) -> str:
    """Return what tells examples from others: how many there are, and a digest of their texts."""
    digest = sha256("\0".join(examples).encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{len(examples)} with the digest {digest}"


class KnownRow(NamedTuple):
    """A known result in a file."""

    line: int
    arm: str
    reward: float
    pull: int | None
    """Which pull, or which example of those given; None where the file need not say."""


def read_known(path: Path, *, examples: Sequence[str] | None = None, with_pulls: bool = False) -> list[KnownRow]:
    """Read known results from a CSV file with the columns arm and reward (or score), several rows for an arm or none.

    With examples it must also have a column example, which names one of them; `with_pulls`, a column pull.
    """
    sheet = read_sheet(path)
    third = "example" if examples is not None else "pull" if with_pulls else None
    reward = "reward" if sheet.has(["reward"]) else "score"
    wanted = ["arm", reward, *([third] if third else [])]
    if not sheet.has(wanted):
        names = "arm and reward (or score)" if third is None else f"arm, {third} and reward (or score)"
        raise UnreadableData(f"{path} has the columns {sheet.listed}, but must have {names}")
    places = [sheet.columns.index(name) for name in wanted]
    indices: dict[str, list[int]] = {}
    for index, example in enumerate(examples or ()):
        indices.setdefault(example, []).append(index)
    rows = []
    for line, cells in zip(sheet.lines, sheet.rows, strict=True):
        if not any(map(str.strip, cells)):  # spreadsheets leave them at the end
            continue
        arm, score, *rest = [cells[place].strip() for place in places]
        where = f"{path}, line {line}"
        pull = None
        if rest:
            pull = _example(where, rest[0], indices) if examples is not None else _pull(where, rest[0])
        rows.append(KnownRow(line, arm, _reward(where, reward, score), pull))
    return rows


def as_known(rows: Iterable[KnownRow], label: Callable[[str], Label] = str) -> dict[Label, Any]:
    """Return known results as `find_best` and studies take them: lists of rewards, or rewards by pull."""
    known: dict[Label, Any] = {}
    for row in rows:
        if row.pull is None:
            known.setdefault(label(row.arm), []).append(row.reward)
            continue
        rewards = known.setdefault(label(row.arm), {})
        if row.pull in rewards:
            raise InvalidInput(
                f"line {row.line} has a second result of arm {row.arm!r} on the same example, but each counts once: "
                "leave one out"
            )
        rewards[row.pull] = row.reward
    return known


def _reward(where: str, column: str, cell: str) -> float:
    try:
        return as_reward(number(cell))
    except ValueError:  # InvalidInput is one
        raise UnreadableData(
            f"{where}: {column} is {cell!r}, but must be a finite number below 1e150 in size, such as 0.5"
        ) from None


def _example(where: str, cell: str, indices: Mapping[str, Sequence[int]]) -> int:
    found = indices.get(cell, ())
    if len(found) != 1:
        problem = f"stands in --examples {len(found)} times" if found else "is none of --examples"
        raise UnreadableData(f"{where}: example is {cell!r}, which {problem}, but must be one of them")
    return found[0]


def _pull(where: str, cell: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) < _DIGITS):
        raise UnreadableData(f"{where}: pull is {cell!r}, but must be a whole number from 0: the place of its example")
    return int(cell)


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
    more = f", … ({len(names):,} in all)" if len(names) > _LISTED else ""
    return ", ".join(f"{{{name}}}" for name in sorted(names)[:_LISTED]) + more


def _ended(process: "subprocess.Popen[bytes]", pipes: tuple[Tail, ...], timeout: float | None) -> int:
    """Wait for a process and its pipes, but for no more than a moment for pipes that something else holds open."""
    end = math.inf if timeout is None else time.monotonic() + timeout
    for pipe in pipes:  # ending, a process closes them, which is noticed at once
        while pipe.is_alive() and process.poll() is None and time.monotonic() < end:
            pipe.join(min(_LOOK, end - time.monotonic()))
    code = process.wait(None if timeout is None else max(0.0, end - time.monotonic()))
    end = time.monotonic() + _MOMENT
    for pipe in pipes:
        pipe.join(max(0.0, end - time.monotonic()))
    return code


def _number(shown: str, output: Tail) -> tuple[float, float] | float:
    """Read the number, and the cost, in the last line of an output."""
    text = output.text()
    if not text.strip():
        what = f"no whole line in its last {KEPT:,} bytes" if output.is_cut else "nothing"
        raise CommandFailed(f"{shown} printed {what}, but must print a number")
    whole = _last_line(text)
    line = _beginning(whole, _LINE)
    try:
        numbers = [number(word) for word in whole.split()]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= _PAIR:
        raise CommandFailed(f"{shown} printed {line!r} last, but must print a number, or a number and its cost")
    if not math.isfinite(numbers[0]):
        raise CommandFailed(f"{shown} printed {line!r} last, but must print a finite number")
    if not 0 < numbers[-1] < math.inf and len(numbers) == _PAIR:
        raise CommandFailed(f"{shown} printed {line!r} last, but the cost must be a finite number above 0")
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _last_words(errors: Tail) -> str:
    """Say what a program that failed printed on its stderr."""
    text = errors.text()
    if text.strip():
        return f"the last line of its stderr is {_beginning(_last_line(text), _LINE)!r}"
    return f"its stderr has no whole line in its last {KEPT:,} bytes" if errors.is_cut else "its stderr is empty"


def _beginning(text: str, length: int) -> str:
    """Return a text, or its beginning if it is long."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _last_line(text: str) -> str:
    return text.strip().splitlines()[-1].strip()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and what it has started; one that has ended already is no matter."""
    if process.returncode is not None:
        return
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
