"""Chunks of replicates: the unit of work of a simulation, and the pool of threads or the executor that runs them."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from queue import SimpleQueue
from typing import Any, Final, NamedTuple, Self

import numpy as np

from boxthirding import _compile
from boxthirding._checks import whole
from boxthirding.errors import BoxThirdingError, InvalidInput, SimulationFailed
from boxthirding.executors import WORKER_DIED, adapter_for
from boxthirding.lab.driver import PARALLEL_POSITIONS, REPLICATE, loop_of
from boxthirding.lab.reward_draws import Source
from boxthirding.rng import spawn
from boxthirding.types import GROW, Ints, Policy

_CHUNK_PULLS = 1_000_000  # at most, because a kill loses a whole chunk
_CHUNK_REPLICATES = 64
_QUEUED: Final = 4  # chunks submitted per thread, so that no thread waits for the main thread
_COMPILED: set[Callable[..., int]] = set()  # loops that were called, and so compiled, in this process
_EXPECTED: Final = "give a concurrent.futures.Executor, such as a ProcessPoolExecutor, or a Dask Client"


@dataclass(frozen=True, eq=False)
class Experiment:
    """Everything that decides a replicate except its number. It can be pickled and sent to a worker."""

    source: Source
    policy: Policy
    budget: int
    checkpoints: Ints  # [C] ascending
    seed: int
    workers: int
    compiled: bool | None  # whether to compile; None: if Numba is installed where the chunk runs


class Chunk(NamedTuple):
    """Some replicates of an experiment."""

    experiment: Experiment
    first: int
    replicates: int


class ChunkResult(NamedTuple):
    """The answers of n replicates."""

    first: int
    recommended: Ints  # [n, C]
    idle: Ints  # [n]
    seconds: float


def run_chunk(experiment: Experiment, first: int, count: int, stop: Ints | None = None) -> ChunkResult:
    """Run some replicates of an experiment; with a count of 0, only compile its code or load it from the cache.

    When another thread writes a number other than 0 to `stop`, the replicates that are complete are returned.
    """
    compiled = _compile.available() if experiment.compiled is None else experiment.compiled
    loop = loop_of(experiment.policy.rule, compiled=compiled, parallel=experiment.workers > 1)
    if loop not in _COMPILED:
        _play(loop, experiment, first, 0, stop)
        _COMPILED.add(loop)
    began = time.perf_counter()
    recommended, idle = _play(loop, experiment, first, count, stop)
    return ChunkResult(first, recommended, idle, time.perf_counter() - began)


def _play(
    loop: Callable[..., int], experiment: Experiment, first: int, count: int, stop: Ints | None
) -> tuple[Ints, Ints]:
    # Arrays from another process may be read-only, which is another type to Numba: copy them.
    given = experiment.source
    means, values, cumulative = (np.array(table) for table in (given.means, given.values, given.cumulative))
    never = np.zeros(1, np.int64)
    source = Source(given.code, given.sigma, means, values, cumulative, never if stop is None else stop)
    n_arms, policy, workers = len(source.means), experiment.policy, experiment.workers
    recommended = np.zeros((count, len(experiment.checkpoints)), np.int64)
    idle = np.zeros(count, np.int64)
    at = np.zeros(PARALLEL_POSITIONS, np.int64)
    rest: tuple[Any, ...] = (
        np.zeros(n_arms, np.int64), experiment.budget, np.array(experiment.checkpoints), at, recommended
    )  # fmt: skip
    if workers > 1:
        rest += (np.zeros(workers), np.zeros((workers, 2), np.int64), np.zeros(1), idle)
    # Rules that know the budget size their states themselves; the others touch at most one arm per pull.
    state = policy.new(n_arms, experiment.seed, min(n_arms, experiment.budget))
    play_out(loop, policy, state, source, policy.squares, spawn(experiment.seed, first, count), *rest)
    done = int(at[REPLICATE])
    return recommended[:done], idle[:done]


def play_out(loop: Callable[..., int], policy: Policy, state: Any, *rest: Any) -> Any:
    """Call a loop until it is done, growing the state whenever it asks for it; return the final state."""
    while loop(state, *rest) == GROW:
        state = policy.grow(state)
    return state


def chunks_of(
    experiment: Experiment, missing: Iterable[tuple[int, int]], replicates: int, cores: int
) -> Iterator[Chunk]:
    """Cut ranges of missing replicates, each given by its first and its end, into chunks."""
    size = max(1, min(_CHUNK_REPLICATES, _CHUNK_PULLS // experiment.budget, -(-replicates // (4 * cores))))
    for start, stop in missing:
        for first in range(start, stop, size):
            yield Chunk(experiment, first, min(size, stop - first))


class ChunkPool:
    """Runs chunks in parallel and yields their results as they end.

    Without an executor it uses threads, because compiled code releases the GIL. An executor is not shut down.
    """

    def __init__(self, executor: Any, threads: int | None) -> None:
        self.in_threads = executor is None
        """Whether chunks run in threads of this process: then their seconds add up to the elapsed time."""
        if executor is not None and threads is not None:
            raise InvalidInput(f"threads is {threads}, but the executor has its own: leave one of the two out")
        if executor is None:
            self.cores = whole("threads", threads, least=1) if threads is not None else os.cpu_count() or 1
            executor = ThreadPoolExecutor(self.cores)
        self._executor, self._adapter = executor, adapter_for(executor)
        if not self.in_threads:
            self.cores = self._adapter.workers
        self._most = _QUEUED * self.cores if self.in_threads else None  # chunks submitted at a time
        self._stop = np.zeros(1, np.int64)  # not 0: chunks in threads of this process end
        self._running: dict[Future[ChunkResult], Chunk] = {}
        self._done: SimpleQueue[Future[ChunkResult]] = SimpleQueue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def ended(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, ChunkResult]]:
        """Run chunks; yield each of them with its result when it has ended, in any order."""
        coming = iter(chunks)
        self._submit(islice(coming, self._most))
        clock = time.perf_counter()
        while self._running:
            future = self._done.get()
            chunk, result = self._running[future], self._result(future)
            now = time.perf_counter()
            yield chunk, result._replace(seconds=now - clock) if self.in_threads else result
            clock = now
            del self._running[future]  # only now: after an interrupt, `rest` returns it again
            self._submit(islice(coming, 1))

    def rest(self) -> Iterator[tuple[Chunk, ChunkResult]]:
        """Start nothing new; yield the chunks that are complete, after an interrupt or an error."""
        self._end()
        for future in list(self._running):
            if future.done() and not future.cancelled() and not future.exception():
                yield self._running.pop(future), future.result()

    def _end(self) -> None:
        """Cancel what has not started, and stop threads of this process, if need be in the middle of a replicate."""
        self._stop[0] = 1
        for future in self._running:
            future.cancel()
        ended = not self.in_threads
        while not ended:
            with suppress(KeyboardInterrupt):  # a second interrupt must not lose the results of the threads
                self._executor.shutdown(cancel_futures=True)
                ended = True

    def _submit(self, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            # As separate arguments: a Dask executor sends the experiment, which is large, only once.
            arguments = (*chunk, self._stop) if self.in_threads else chunk
            try:
                future = self._adapter.submit(run_chunk, *arguments)
            except BrokenExecutor as error:
                raise SimulationFailed(f"the executor takes no work: {_described(error)}") from error
            self._running[future] = chunk
            # A queue: concurrent.futures.wait takes the locks of all futures, and Ctrl-C in there leaves them locked.
            future.add_done_callback(self._done.put)

    def _result(self, future: Future[ChunkResult]) -> ChunkResult:
        experiment, first, count = self._running[future]
        try:
            result = future.result()
        except BoxThirdingError:
            raise
        except (Exception, *WORKER_DIED) as error:
            raise SimulationFailed(
                f"replicates {first} to {first + count - 1} of {experiment.policy} could not be run: "
                f"{_described(error)}"
            ) from error
        if not isinstance(result, ChunkResult):
            raise InvalidInput(f"the executor gave {result!r}, but must give what it was asked to compute: {_EXPECTED}")
        return result


def _described(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
