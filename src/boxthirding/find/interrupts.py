"""Ctrl-C ends a search instead of the program.

At the first Ctrl-C nothing new starts, and the search waits for running evaluations, which are paid for. The second
abandons them.
"""

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, Self

LEAVE: Final = 2  # the number of presses of Ctrl-C that abandons running evaluations


class Interrupts:
    """A context in which Ctrl-C ends the search instead of the program, however often it is pressed.

    `notify` is called with whether to abandon running evaluations. Python raises KeyboardInterrupt
    anywhere, also halfway through a decision; here the search is only told, and the exception is raised only where the
    caller's function or iterator is running. A SIGINT handler of the caller's own stays.
    """

    _entered: "list[Interrupts]" = []  # noqa: RUF012  # one process has one SIGINT: searches inside each other share it
    _before: Any = None
    _breakable_from = math.inf  # the moment from which Ctrl-C may break off what the main thread runs
    _presses_to_break = 1  # how often it must be pressed for that

    def __init__(self, notify: Callable[[bool], None]) -> None:
        self._notify = notify
        self._presses = 0
        self._outside = math.inf

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if not Interrupts._entered and _ends_the_program(before):
                Interrupts._before = before
                signal.signal(signal.SIGINT, lambda *_: Interrupts.press())
            outer = Interrupts._entered
            self._presses = max((one._presses for one in outer), default=0)  # noqa: SLF001  # its own class
            Interrupts._entered.append(self)
            self._outside, Interrupts._breakable_from = Interrupts._breakable_from, math.inf
        return self

    def __exit__(self, *_: object) -> None:
        if self in Interrupts._entered:
            Interrupts._entered.remove(self)
            Interrupts._breakable_from = self._outside
            if not Interrupts._entered and Interrupts._before is not None:
                signal.signal(signal.SIGINT, Interrupts._before)
                Interrupts._before = None

    @staticmethod
    @contextmanager
    def breakable(after: float = 0.0, presses: int = 1) -> Iterator[None]:
        """Interrupt the block at the given number of presses of Ctrl-C, once it has run for `after` seconds."""
        if threading.current_thread() is not threading.main_thread():  # where no signal arrives
            yield
            return
        before = Interrupts._breakable_from, Interrupts._presses_to_break
        Interrupts._breakable_from, Interrupts._presses_to_break = time.monotonic() + after, presses
        try:
            yield
        finally:
            Interrupts._breakable_from, Interrupts._presses_to_break = before

    @staticmethod
    def press(times: int = 1) -> bool:
        """Do what Ctrl-C does when it is pressed so often; return whether there is a search that was told."""
        presses = 0
        for one in Interrupts._entered:
            one._presses += times  # noqa: SLF001  # its own class
            presses = max(presses, one._presses)  # noqa: SLF001
            one._notify(one._presses >= LEAVE)  # noqa: SLF001
        if presses >= Interrupts._presses_to_break and time.monotonic() >= Interrupts._breakable_from:
            raise KeyboardInterrupt
        return presses > 0


def waiting_for(evaluations: int) -> str:
    """Say that evaluations under way are waited for."""
    many = ("evaluations", "results count", "them")
    which, whose, them = ("evaluation", "result counts", "it") if evaluations == 1 else many
    return f"Ctrl-C: waiting for {evaluations:,} {which} under way, whose {whose}. Press it again to leave {them}."


def say_at_once(line: str) -> None:
    """Write a sentence to standard error, also in the middle of another one: a signal handler must wait for no lock."""
    with suppress(OSError):
        os.write(2, f"{line}\n".encode())


class Breakable:
    """An iterator of arms that Ctrl-C can break off."""

    def __init__(self, arms: Iterator[Any]) -> None:
        self._arms = arms

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        with Interrupts.breakable():
            return next(self._arms)


def _ends_the_program(receiver: Any) -> bool:
    """Tell whether SIGINT is received as Python, asyncio's runner or a notebook's kernel receives it by default."""
    owner = getattr(getattr(receiver, "func", None), "__self__", None)
    is_kernel = str(getattr(receiver, "__module__", "")).startswith("ipykernel.")  # it cancels the cell's task
    return receiver is signal.default_int_handler or type(owner).__module__ == "asyncio.runners" or is_kernel
