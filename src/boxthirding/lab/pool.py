"""Where chunks run: in threads of our own, because compiled code lets them run side by side, or in an executor."""

import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from itertools import islice
from queue import SimpleQueue
from typing import Any, Final, Generic, Self, TypeVar

import numpy as np

from boxthirding._checks import whole
from boxthirding.errors import BoxThirdingError, InvalidInput, SimulationFailed
from boxthirding.executors import adapter_for
from boxthirding.lab.chunks import Chunk, Part, run_chunk, run_part

Key = TypeVar("Key")

_AHEAD: Final = 4  # chunks for each thread, so that none has to wait for us
_GIVE: Final = "give a concurrent.futures.Executor, such as a ProcessPoolExecutor, or a Dask Client"


class Lanes(Generic[Key]):
    """Runs chunks side by side and gives them back as they end, each under the key it came with.

    An executor stays the caller's: it is not shut down.
    """

    def __init__(self, executor: Any, threads: int | None) -> None:
        if executor is not None and threads is not None:
            raise InvalidInput(f"threads is {threads}, but the executor has its own: leave one of the two out")
        adapter = None if executor is None else adapter_for(executor)
        if adapter is not None:
            self.cores = adapter.workers
        else:
            self.cores = whole("threads", threads, least=1) if threads is not None else os.cpu_count() or 1
        self.ours = executor is None
        """Whether the lanes are threads of our own: then chunks' seconds are cut from the clock, and add up to it."""
        self._pool: Any = adapter or ThreadPoolExecutor(self.cores)
        self._most = _AHEAD * self.cores if self.ours else None  # chunks that are handed over at a time
        self._stop = np.zeros(1, np.int64)  # not 0: what runs in our threads is to end
        self._running: dict[Future[Part], tuple[Key, Chunk]] = {}
        self._done: SimpleQueue[Future[Part]] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ended(self, chunks: Iterable[tuple[Key, Chunk]]) -> Iterator[tuple[Key, Part]]:
        """Run chunks; yield each when it has ended, in any order."""
        coming = iter(chunks)
        self._submit(islice(coming, self._most))
        clock = time.perf_counter()
        while self._running:
            future = self._done.get()
            key, part = self._result(future)
            now = time.perf_counter()
            yield key, part._replace(seconds=now - clock) if self.ours else part
            clock = now
            del self._running[future]  # only now: after an interrupt, `rest` returns it again
            self._submit(islice(coming, 1))

    def rest(self) -> Iterator[tuple[Key, Part]]:
        """Begin nothing new; yield what is complete, after an interrupt or an error."""
        self._end()
        for future in list(self._running):
            if future.done() and not future.cancelled() and not future.exception():
                yield self._running.pop(future)[0], future.result()

    def _end(self) -> None:
        """Begin nothing new, and end what runs here: in the middle of a replicate, if need be."""
        self._stop[0] = 1
        for future in self._running:
            future.cancel()
        if self.ours:
            _patiently_shut_down(self._pool)

    def _submit(self, chunks: Iterable[tuple[Key, Chunk]]) -> None:
        for key, chunk in chunks:
            try:
                if self.ours:
                    future = self._pool.submit(run_chunk, chunk, self._stop)
                else:  # one by one: what all chunks of a setting have in common is large, and may be sent once
                    future = self._pool.submit(run_part, chunk.task, chunk.first, chunk.count)
            except RuntimeError as error:  # how executors say that they are broken or shut down
                raise SimulationFailed(f"the executor takes no work: {_told(error)}") from error
            self._running[future] = key, chunk
            # A queue: concurrent.futures.wait takes the locks of all futures, and Ctrl-C in there leaves them locked.
            future.add_done_callback(self._done.put)

    def _result(self, future: Future[Part]) -> tuple[Key, Part]:
        key, chunk = self._running[future]
        try:
            part = future.result()
        except BoxThirdingError:
            raise
        except (Exception, CancelledError) as error:
            last = chunk.first + chunk.count - 1
            raise SimulationFailed(
                f"replicates {chunk.first} to {last} of {chunk.task.policy} could not be run: {_told(error)}"
            ) from error
        if not isinstance(part, Part):
            raise InvalidInput(f"the executor gave {part!r}, but must give what it was asked to compute: {_GIVE}")
        return key, part


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _patiently_shut_down(pool: Executor) -> None:
    """Wait for threads to end; an impatient second interrupt must not lose what they have."""
    while True:
        try:
            return pool.shutdown(cancel_futures=True)
        except KeyboardInterrupt:
            continue
