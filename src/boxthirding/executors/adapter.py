"""What `find_best`, sweeps and scikit-learn's search need of an executor: `submit`, how many workers, who died."""

import itertools
import os
import pickle
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Future
from typing import Any, Final

from boxthirding._text import cut
from boxthirding.errors import InvalidInput

WORKER_DIED: Final = (BrokenExecutor, CancelledError)
"""Errors of a future that say nothing about its evaluation: the worker died, or the executor gave it up."""

_EXPECTED = "a concurrent.futures.Executor, such as a ProcessPoolExecutor, or a Dask Client"
_SHOWN = 80  # characters of a value in an error
_SECOND = 2  # the press of Ctrl-C that interrupts what a process evaluates


class ExecutorAdapter:
    """An executor of `concurrent.futures`, which its owner shuts down."""

    def __init__(self, executor: Any) -> None:
        if not callable(getattr(executor, "submit", None)):
            shown = f"{cut(repr(executor), _SHOWN)} ({type(executor).__name__})"
            raise InvalidInput(f"executor is {shown}, but must be {_EXPECTED}")
        self._executor = executor
        # Only Python's own pools: others, such as joblib's, can send more than pickle can.
        self._has_processes = any(cls.__module__ == "concurrent.futures.process" for cls in type(executor).__mro__)

    @property
    def workers(self) -> int:
        """How many evaluations run at a time; the cores of this machine, if the executor does not say."""
        return getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1

    def check(self, function: Callable[..., Any]) -> None:
        """Raise `InvalidInput` for a function that cannot be sent to the workers."""
        if self._has_processes:
            try:
                pickle.dumps(function)
            except Exception as error:
                raise InvalidInput(
                    f"evaluate cannot be sent to another process ({error}): define it at the top level of a module"
                ) from error

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> "Future[Any]":
        """Run a function on a worker; raise `BrokenExecutor` if the executor takes no more work."""
        work = (_in_process, function, *arguments) if self._has_processes else (function, *arguments)
        try:
            future: Future[Any] = self._executor.submit(*work)
        except BrokenExecutor:
            raise
        except RuntimeError as error:  # raised by executors that are shut down
            raise BrokenExecutor(str(error)) from error
        if not hasattr(future, "add_done_callback"):
            raise InvalidInput(f"the executor's submit gave {future!r}, but must give a future: give {_EXPECTED}")
        return future


def _in_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of a pool, to which the terminal sends Ctrl-C too: only the second interrupts it."""
    presses = itertools.count(1)

    def receive(number: int, frame: Any) -> None:
        if next(presses) >= _SECOND:
            signal.default_int_handler(number, frame)

    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, receive)  # it stays: a process that waits for its next call would end as well
    return function(*arguments)
