"""Ctrl-C ends a search instead of the program.

At the first Ctrl-C nothing new starts, and the search waits for running evaluations, whose cost is already
spent. The second abandons them.
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
    """Context manager that turns Ctrl-C into a request to end the search.

    `notify(abandon)` is called at each Ctrl-C; `abandon` is true from the second on. By default, KeyboardInterrupt may
    be raised anywhere, even inside the policy. Here it is raised only while user code (function or iterator) runs. A
    custom SIGINT handler is left in place.
    """

    _active: "list[Interrupts]" = []  # noqa: RUF012  # nested searches share the process's only SIGINT handler
    _previous_handler: Any = None
    _breakable_from = math.inf  # time.monotonic() from which Ctrl-C may raise
    _presses_to_break = 1  # presses needed to raise

    def __init__(self, notify: Callable[[bool], None]) -> None:
        self._notify = notify
        self._presses = 0
        self._outer_breakable_from = math.inf

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if not Interrupts._active and _is_default_handler(before):
                Interrupts._previous_handler = before
                signal.signal(signal.SIGINT, lambda *_: Interrupts.handle_press())
            outer = Interrupts._active
            self._presses = max((one._presses for one in outer), default=0)  # noqa: SLF001  # its own class
            Interrupts._active.append(self)
            self._outer_breakable_from, Interrupts._breakable_from = Interrupts._breakable_from, math.inf
        return self

    def __exit__(self, *_: object) -> None:
        if self in Interrupts._active:
            Interrupts._active.remove(self)
            Interrupts._breakable_from = self._outer_breakable_from
            if not Interrupts._active and Interrupts._previous_handler is not None:
                signal.signal(signal.SIGINT, Interrupts._previous_handler)
                Interrupts._previous_handler = None

    @staticmethod
    @contextmanager
    def breakable(after: float = 0.0, presses: int = 1) -> Iterator[None]:
        """Let Ctrl-C interrupt the block at the given number of presses, once it has run for `after` seconds."""
        if threading.current_thread() is not threading.main_thread():  # signals arrive only in the main thread
            yield
            return
        before = Interrupts._breakable_from, Interrupts._presses_to_break
        Interrupts._breakable_from, Interrupts._presses_to_break = time.monotonic() + after, presses
        try:
            yield
        finally:
            Interrupts._breakable_from, Interrupts._presses_to_break = before

    @staticmethod
    def handle_press(times: int = 1) -> bool:
        """Handle `times` presses of Ctrl-C; return whether a search was notified."""
        presses = 0
        for one in Interrupts._active:
            one._presses += times  # noqa: SLF001  # its own class
            presses = max(presses, one._presses)  # noqa: SLF001
            one._notify(one._presses >= LEAVE)  # noqa: SLF001
        if presses >= Interrupts._presses_to_break and time.monotonic() >= Interrupts._breakable_from:
            raise KeyboardInterrupt
        return presses > 0


def waiting_for(evaluations: int) -> str:
    """Return the message shown at the first Ctrl-C."""
    many = ("evaluations", "their results count", "them")
    which, whose, them = ("evaluation", "its result counts", "it") if evaluations == 1 else many
    return f"Waiting for {evaluations:,} running {which} ({whose}). Press Ctrl-C again to abandon {them}."


def say_at_once(line: str) -> None:
    """Write a line to file descriptor 2 without taking a lock, so that a signal handler can call it."""
    with suppress(OSError):
        os.write(2, f"{line}\n".encode())


class InterruptibleIterator:
    """An iterator of arms that Ctrl-C can interrupt."""

    def __init__(self, arms: Iterator[Any]) -> None:
        self._arms = arms

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        with Interrupts.breakable():
            return next(self._arms)


def _is_default_handler(handler: Any) -> bool:
    """Return whether this is the default SIGINT handler of Python, asyncio or IPython."""
    owner = getattr(getattr(handler, "func", None), "__self__", None)
    is_kernel = str(getattr(handler, "__module__", "")).startswith("ipykernel.")  # it cancels the cell's task
    return handler is signal.default_int_handler or type(owner).__module__ == "asyncio.runners" or is_kernel
