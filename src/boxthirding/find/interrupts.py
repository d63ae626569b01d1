"""What Ctrl-C does while a search runs: it ends the search instead of the program."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self


class Interrupts:
    """While it is entered, Ctrl-C is ours: it ends the search instead of the program, however often it is pressed.

    Python raises KeyboardInterrupt anywhere, also halfway through a decision; here the search is only told, and the
    exception is raised only where the caller's function or iterator is running. A SIGINT handler of the caller's own
    stays.
    """

    _entered: "list[Interrupts]" = []  # noqa: RUF012  # one process has one SIGINT: searches inside each other share it
    _before: Any = None
    _breakable_from = math.inf  # the moment from which Ctrl-C may break off what the main thread runs

    def __init__(self, notify: Callable[[], None]) -> None:
        self._notify = notify
        self._outside = math.inf

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if not Interrupts._entered and _ends_the_program(before):
                Interrupts._before = before
                signal.signal(signal.SIGINT, Interrupts._receive)
            Interrupts._entered.append(self)
            self._outside, Interrupts._breakable_from = Interrupts._breakable_from, math.inf
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self in Interrupts._entered:
            Interrupts._entered.remove(self)
            Interrupts._breakable_from = self._outside
            if not Interrupts._entered and Interrupts._before is not None:
                signal.signal(signal.SIGINT, Interrupts._before)
                Interrupts._before = None

    @staticmethod
    @contextmanager
    def breakable(after: float = 0.0) -> Iterator[None]:
        """Let Ctrl-C break off what runs inside, once it has run for so many seconds."""
        if threading.current_thread() is not threading.main_thread():  # where no signal arrives
            yield
            return
        before, Interrupts._breakable_from = Interrupts._breakable_from, time.monotonic() + after
        try:
            yield
        finally:
            Interrupts._breakable_from = before

    @staticmethod
    def press() -> bool:
        """Do what Ctrl-C does; return whether there is a search that was told."""
        for one in Interrupts._entered:
            one._notify()  # noqa: SLF001  # its own class
        if Interrupts._entered and time.monotonic() >= Interrupts._breakable_from:
            raise KeyboardInterrupt
        return bool(Interrupts._entered)

    @staticmethod
    def _receive(*_: object) -> None:
        Interrupts.press()


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
