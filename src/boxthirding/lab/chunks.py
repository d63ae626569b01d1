"""A chunk of replicates: what a worker gets, what it gives back, and the function that does it, here or far away."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from boxthirding import _compile
from boxthirding.lab import driver
from boxthirding.lab import parallel_driver as crowd
from boxthirding.lab.draws import Source
from boxthirding.rng import spawn
from boxthirding.types import GROW, Ints, Policy, Rule

_CHUNK_PULLS = 1_000_000  # a chunk is what a kill loses
_CHUNK_REPLICATES = 64
_READY: set[Callable[..., int]] = set()  # loops that have been called, and so compiled, in this process


@dataclass(frozen=True)
class Task:
    """What replicates have in common: all that decides them but for their numbers. It can be sent to a worker."""

    source: Source
    policy: Policy
    budget: int
    checkpoints: Ints  # [C] ascending
    seed: int
    workers: int
    compiled: bool | None
    """Whether it must be; None is whether Numba is there, where the chunk is run."""


@dataclass(frozen=True)
class Chunk:
    """Replicates `first` … `first + count - 1` of a task."""

    task: Task
    first: int
    count: int


class Part(NamedTuple):
    """What a chunk of n replicates gave."""

    first: int
    recommended: Ints  # [n, C]
    idle: Ints  # [n]
    seconds: float


def run_chunk(chunk: Chunk, stop: Ints | None = None) -> Part:
    """Run the replicates of a chunk; with none of them, only compile or find what was compiled before.

    When another thread writes something else than 0 into `stop`, it ends with those that are complete.
    """
    task = chunk.task
    loop = loop_of(
        driver.drive if task.workers == 1 else crowd.drive_crowd,
        task.policy.rule,
        _compile.available() if task.compiled is None else task.compiled,
    )
    if loop not in _READY:
        _play(loop, replace(chunk, count=0), stop)
        _READY.add(loop)
    began = time.perf_counter()
    recommended, idle = _play(loop, chunk, stop)
    return Part(chunk.first, recommended, idle, time.perf_counter() - began)


def run_part(task: Task, first: int, count: int) -> Part:
    """Run replicates of a task far away."""
    return run_chunk(Chunk(task, first, count))


def _play(loop: Callable[..., int], chunk: Chunk, stop: Ints | None) -> tuple[Ints, Ints]:
    task, count = chunk.task, chunk.count
    # What comes over a wire may be read-only, which to Numba is another type: every array here is our own.
    given = task.source
    means, values, cumulative = (np.array(table) for table in (given.means, given.values, given.cumulative))
    never = np.zeros(1, np.int64)
    source = Source(given.code, given.sigma, means, values, cumulative, never if stop is None else stop)
    n_arms, policy = len(source.means), task.policy
    recommended = np.zeros((count, len(task.checkpoints)), np.int64)
    idle = np.zeros(count, np.int64)
    at = np.zeros(crowd.CROWD_POSITIONS, np.int64)
    rest: tuple[Any, ...] = (np.zeros(n_arms, np.int64), task.budget, np.array(task.checkpoints), at, recommended)
    if task.workers > 1:
        rest += (np.zeros(task.workers), np.zeros((task.workers, 2), np.int64), np.zeros(1), idle)
    # Known-budget rules size their states themselves; the others touch at most one arm a pull.
    state = policy.new(n_arms, task.seed, min(n_arms, task.budget))
    streams = spawn(task.seed, chunk.first, count)
    play_out(loop, policy, state, source, policy.squares, streams, *rest)
    done = int(at[driver.REPLICATE])
    return recommended[:done], idle[:done]


def play_out(loop: Callable[..., int], policy: Policy, state: Any, *rest: Any) -> Any:
    """Call a rule's copy of a driver until it is done; return the state, which grows on the way if it must."""
    while loop(state, *rest) == GROW:
        state = policy.grow(state)
    return state


def chunks_of(task: Task, missing: Iterable[tuple[int, int]], replicates: int, cores: int) -> Iterator[Chunk]:
    """Cut ranges of missing replicates, each with its first and its end, into chunks."""
    size = max(1, min(_CHUNK_REPLICATES, _CHUNK_PULLS // task.budget, -(-replicates // (4 * cores))))
    for start, stop in missing:
        for first in range(start, stop, size):
            yield Chunk(task, first, min(size, stop - first))


@lru_cache(maxsize=64)
def loop_of(drive: Callable[..., int], rule: Rule, compiled: bool) -> Callable[..., int]:
    """Return a rule's own copy of a driver."""
    make = _compile.compiled if compiled else _compile.bound
    return make(drive, **driver.bindings(rule))
