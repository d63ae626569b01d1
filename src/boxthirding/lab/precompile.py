"""Compiling policies in other processes, while the first ones run here or something else is shown.

Numba compiles on one core. Code that another process compiles is found on disk when it is needed, which nearly halves
the first run; later runs find everything there and start no process.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, wait
from contextlib import contextmanager

from boxthirding import _compile
from boxthirding.lab.chunks import ChunkResult, run_chunk
from boxthirding.lab.driver import loop_of
from boxthirding.lab.settings import Setting


@contextmanager
def compiled_ahead(settings: Sequence[Setting]) -> Iterator[None]:
    """Compile the second half of what is not compiled yet, from its end on, as long as the context lasts."""
    missing = _not_compiled(settings)
    with _compiling(missing[len(missing) // 2 :][::-1] if len(missing) > 1 else [], processes=1):
        yield


@contextmanager
def compiled_beside(settings: Sequence[Setting]) -> Iterator[Callable[[], bool]]:
    """Compile what is not compiled yet in two processes; at the end of the context, everything is compiled.

    The context gets a function that tells whether something is still being compiled.
    """
    with _compiling(_not_compiled(settings), processes=2) as begun:
        yield lambda: not all(future.done() for future in begun)
        wait(begun)  # a setting that could not be compiled there is compiled, or refused, here


@contextmanager
def _compiling(settings: Sequence[Setting], processes: int) -> "Iterator[list[Future[ChunkResult]]]":
    if not settings:
        yield []
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks
    ignoring = signal.SIGINT, signal.SIG_IGN  # Ctrl-C is left to the parent, which then ends the processes
    pool = ProcessPoolExecutor(min(processes, len(settings)), context, initializer=signal.signal, initargs=ignoring)
    try:
        yield [pool.submit(run_chunk, setting.experiment, 0, 0) for setting in settings]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _not_compiled(settings: Sequence[Setting]) -> list[Setting]:
    """Return one setting for each rule whose code is not in the cache on disk."""
    rules = {setting.experiment.policy.rule: setting for setting in settings}
    return [setting for setting in rules.values() if _compile.available() and not _is_compiled(setting)]


def _is_compiled(setting: Setting) -> bool:
    root = loop_of(setting.experiment.policy.rule, compiled=False, parallel=False)
    return any((_compile.cache_folder() / _compile.digest(root)).rglob("*.nbc"))
