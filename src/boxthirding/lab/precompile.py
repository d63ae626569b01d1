"""Compiling ahead: other processes compile policies while the first ones are compiled and run here, or are watched.

Numba compiles on one core. What the other process compiles is found on disk when its turn comes, which nearly halves
the first run; later runs find everything there and start no process.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import contextmanager

from boxthirding import _compile
from boxthirding.lab.chunks import Chunk, run_chunk
from boxthirding.lab.driver import bindings, drive
from boxthirding.lab.settings import Setting


@contextmanager
def compiled_ahead(settings: Sequence[Setting]) -> Iterator[None]:
    """Compile what is not compiled yet, from the last policy on, as long as the context lasts."""
    rules = {setting.task.policy.rule: setting for setting in settings}
    missing = [setting for setting in rules.values() if _compile.available() and not _is_compiled(setting)]
    if len(missing) < 2:  # noqa: PLR2004  # nothing to share
        yield
        return
    context = multiprocessing.get_context("spawn")  # a fork would copy threads and locks
    pool = ProcessPoolExecutor(1, context, initializer=_leave_interrupts_to_parent)
    try:
        for setting in reversed(missing[len(missing) // 2 :]):  # the first half is compiled here meanwhile
            pool.submit(run_chunk, Chunk(setting.task, 0, 0))
        yield
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def compiled_beside(settings: Sequence[Setting]) -> Iterator[Callable[[], bool]]:
    """Compile what is not compiled yet in two processes; at the end of the context, all of it is there.

    The context gets a function that tells whether some of it is still being compiled.
    """
    rules = {setting.task.policy.rule: setting for setting in settings}
    missing = [setting for setting in rules.values() if _compile.available() and not _is_compiled(setting)]
    if not missing:
        yield lambda: False
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(min(2, len(missing)), context, initializer=_leave_interrupts_to_parent)
    try:
        begun = [pool.submit(run_chunk, Chunk(setting.task, 0, 0)) for setting in missing]
        yield lambda: not all(future.done() for future in begun)
        wait(begun)  # what could not be compiled there is compiled, or refused, here
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _is_compiled(setting: Setting) -> bool:
    """Tell whether the code of a setting lies in the cache on disk."""
    root = _compile.bound(drive, **bindings(setting.task.policy.rule))
    return any((_compile.cache_folder() / _compile.digest(root)).rglob("*.nbc"))


def _leave_interrupts_to_parent() -> None:
    """Let Ctrl-C end the parent, which then ends this process, without a second complaint."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
