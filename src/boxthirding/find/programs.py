"""Run the program that scores an arm: its arguments, its time limit, its output, and how it is stopped."""

import errno
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, ClassVar, Final, Self

from boxthirding._checks import is_number, parse_number
from boxthirding._text import cut, visible
from boxthirding.errors import CommandFailed, InvalidInput, StudyDiffers
from boxthirding.find import Examples
from boxthirding.find.command_template import CommandTemplate
from boxthirding.find.input_files import Row
from boxthirding.types import Label

_PAIR = 2  # a number and its cost
_COMMAND, _LINE = 200, 80  # characters that an error repeats
_LOOK = 0.05  # seconds after which to look whether a process that has not closed its pipes is still there
_MOMENT = 1.0  # seconds to wait for a pipe whose process has ended: something that it started may have it
_KEPT: Final = 65_536  # bytes of an output that are kept, and that are read at once


class Tail(threading.Thread):
    """Reads a pipe in a thread of its own until it ends, and keeps the end of it.

    So a program never waits for us, and we need not wait for what it has started and left with its pipe.
    """

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self._end = b""
        self.start()

    def run(self) -> None:
        """Read to the end."""
        with self._pipe, suppress(OSError):
            while block := self._pipe.read(_KEPT):
                self._end = (self._end + block)[-_KEPT - 1 :]  # one more tells whether there were more

    def text(self) -> str:
        """Return what is there: whole lines, without the rest of one whose beginning is gone."""
        end = self._end
        if len(end) > _KEPT:
            end = end.partition(b"\n")[2]
        return end.decode("utf-8", "replace")

    @property
    def is_cut(self) -> bool:
        """Whether there was more than is kept."""
        return len(self._end) > _KEPT


class Program:
    """A command whose last printed line is a number, or a number and its cost.

    Each run is a process group of its own: Ctrl-C reaches only us, and what is still running is killed on leaving.
    """

    def __init__(
        self, command: str, arms: list[Row], *, examples: bool, timeout: float | None, shell: bool = False
    ) -> None:
        if timeout is not None and not (is_number(timeout) and timeout > 0):
            raise InvalidInput(f"timeout is {timeout}, but must be a number of seconds above 0")
        self.takes_examples = examples
        self._known = frozenset(arms[0])
        self._command = CommandTemplate(command, self._known, examples=examples, shell=shell)
        self._timeout = timeout
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
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
        words, text = self._command.fill(values)
        shown = f"`{visible(cut(text, _COMMAND))}`"
        output, errors, code = self._run(words, shown)
        if code != 0:
            how = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
            raise CommandFailed(f"{shown} {how}; {_last_words(errors)}")
        return _number(shown, output)

    @property
    def columns(self) -> frozenset[str]:
        """What the command must know of an arm."""
        return self._command.names & self._known

    def can_run(self, arm: Row | Label) -> bool:
        """Return whether the arm has a value for every placeholder."""
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
                process = subprocess.Popen(  # noqa: S603  # what the user wrote
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                reason = (isinstance(error, OSError) and error.strerror) or str(error)
                if isinstance(error, OSError) and error.errno == errno.ENOEXEC:
                    reason += " (is it a script without #! on its first line? Name its interpreter first)"
                raise CommandFailed(f"{shown} could not be started: {reason}") from error
            self._running.add(process)
            return process


class Pulls(Examples):
    """Hands out the number of the pull beside the example; without examples, the number alone."""

    repeating: ClassVar[str] = "--repeat"

    def __init__(self, examples: list[str] | None, seed: int | None = None, *, repeat: bool = False) -> None:
        self.are_none = examples is None
        super().__init__([""] if examples is None else examples, seed, repeat=repeat or examples is None)

    def __getitem__(self, pull: int) -> tuple[int, Any]:
        return pull, super().__getitem__(pull)


def without_rows(labels: Sequence[Label]) -> StudyDiffers:
    """Return what is wrong when arms were added to a study and not to the file of arms."""
    more = f" and {len(labels) - 1:,} more" if len(labels) > 1 else ""
    return StudyDiffers(
        f"arm {labels[0]!r}{more} of the study is not in the file of --arms, so there is nothing to fill in: "
        "add its row to the file and pass --force, or take the arm out with `boxthirding study withdraw`"
    )


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
        what = f"no whole line in its last {_KEPT:,} bytes" if output.is_cut else "nothing"
        raise CommandFailed(f"{shown} printed {what}, but must print a number")
    whole = _last_line(text)
    line = cut(whole, _LINE)
    try:
        numbers = [parse_number(word) for word in whole.split()]
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
    """Return the last lines that a failed program printed on stderr."""
    text = errors.text()
    if text.strip():
        return f"the last line of its stderr is {cut(_last_line(text), _LINE)!r}"
    return f"its stderr has no whole line in its last {_KEPT:,} bytes" if errors.is_cut else "its stderr is empty"


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
