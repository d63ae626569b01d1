"""Replicates of simulated runs: many at once, each the same whatever runs beside it."""

import os
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from boxthirding import _compile
from boxthirding._checks import whole
from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.rewards import Instance, RewardModel, Source
from boxthirding.sim import crowd, driver
from boxthirding.streams import spawn
from boxthirding.types import GROW, Floats, Ints, Policy, Rule

_CHUNK_PULLS = 1_000_000  # a chunk is what an interrupt waits for
_CHUNK_REPLICATES = 64


@dataclass(frozen=True)
class Run:
    """What replicates of one policy recommended, and how far that is from the best."""

    checkpoints: Ints  # [C] pulls
    recommended: Ints  # [R, C] arms of the instance
    regret: Floats  # [R, C]
    seconds: float
    """Of the run; compilation is left out."""
    idle: Ints  # [R] with several workers: results that came in while another worker had nothing to do

    @property
    def replicates(self) -> int:
        """How many replicates were run."""
        return len(self.recommended)

    def rows(self) -> list[dict[str, float]]:
        """Return one summary a checkpoint."""
        if not self.replicates:
            return []
        low, high = np.quantile(self.regret, (0.25, 0.75), axis=0)
        return [
            {
                "pulls": int(pulls),
                "replicates": self.replicates,
                "regret_mean": float(self.regret[:, c].mean()),
                "regret_se": float(self.regret[:, c].std(ddof=1) / np.sqrt(self.replicates))
                if self.replicates > 1
                else 0.0,
                "regret_q25": float(low[c]),
                "regret_q75": float(high[c]),
                "error_rate": float(np.mean(self.regret[:, c] > 0)),
                "seconds": self.seconds,
            }
            for c, pulls in enumerate(self.checkpoints)
        ]


class Interrupted(KeyboardInterrupt):
    """The run was interrupted; `partial` holds the replicates that were complete."""

    def __init__(self, partial: Run) -> None:
        super().__init__(f"interrupted after {partial.replicates} replicates")
        self.partial = partial


def simulate(  # noqa: PLR0913  # an experiment has this many parts; all but four have a default
    instance: Instance,
    rewards: RewardModel,
    policy: Policy,
    *,
    budget: int,
    checkpoints: Iterable[int] = (),
    replicates: int = 1,
    seed: int = 0,
    workers: int = 1,
    threads: int | None = None,
    compiled: bool | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> Run:
    """Run a policy on an instance `replicates` times; replicate k depends on the seed and on k alone.

    The answer is read at every checkpoint and at the budget. With several `workers`, pulls run side by side and take
    exponential times. `threads` is all cores unless given; `compiled` is whether Numba is there unless given;
    `progress` is called with the number of replicates that have just ended.
    """
    times = checked_checkpoints(checkpoints, whole("budget", budget, least=1))
    whole("the number of replicates", replicates, least=1)
    whole("the number of workers", workers, least=1)
    cores = whole("threads", threads, least=1) if threads is not None else os.cpu_count() or 1
    if compiled and not _compile.available():
        raise MissingExtra("compiled simulation", "numba", "sim")
    source = rewards.source(instance)
    # Known-budget rules size their states themselves; the others touch at most one arm a pull.
    capacity = min(len(source.means), budget)
    drive = driver.drive if workers == 1 else crowd.drive_crowd
    loop = _loop(drive, policy.rule, _compile.available() if compiled is None else compiled)
    recommended = np.zeros((replicates, len(times)), np.int64)
    idle = np.zeros(replicates, np.int64)
    streams = spawn(seed, 0, replicates)

    def run_chunk(start: int, stop: int) -> None:
        order = np.zeros(len(source.means), np.int64)
        at = np.zeros(crowd.CROWD_POSITIONS, np.int64)
        state = policy.new(len(order), seed, capacity)
        rest: tuple[Any, ...] = (order, budget, times, at, recommended[start:stop])
        if workers > 1:
            rest += (np.zeros(workers), np.zeros((workers, 2), np.int64), np.zeros(1), idle[start:stop])
        while loop(state, source, policy.squares, streams[start:stop], *rest) == GROW:
            state = policy.grow(state)

    run_chunk(0, 0)  # compiles, or finds what was compiled before
    began = time.perf_counter()
    size = max(1, min(_CHUNK_REPLICATES, _CHUNK_PULLS // budget, -(-replicates // (4 * cores))))
    pool = ThreadPoolExecutor(cores)
    chunks = [(start, min(start + size, replicates)) for start in range(0, replicates, size)]
    futures = [pool.submit(run_chunk, *chunk) for chunk in chunks]
    try:
        for future, chunk in zip(futures, chunks, strict=True):
            future.result()
            progress(chunk[1] - chunk[0])
    except KeyboardInterrupt:
        _shut_down(pool)
        done = [k for k, f in zip(chunks, futures, strict=True) if f.done() and not f.cancelled() and not f.exception()]
        rows = np.concatenate([np.arange(*chunk) for chunk in done]) if done else np.zeros(0, np.int64)
        raise Interrupted(_run(source, times, recommended[rows], idle[rows], time.perf_counter() - began)) from None
    finally:
        pool.shutdown(cancel_futures=True)
    return _run(source, times, recommended, idle, time.perf_counter() - began)


def _shut_down(pool: ThreadPoolExecutor) -> None:
    """Let what is running end; an impatient second interrupt must not lose it."""
    while True:
        try:
            return pool.shutdown(cancel_futures=True)
        except KeyboardInterrupt:
            continue


def checked_checkpoints(checkpoints: Iterable[int], budget: int) -> Ints:
    """Return the checkpoints in order, each once, the budget among them."""
    times = {budget}
    for checkpoint in checkpoints:
        if whole("a checkpoint", checkpoint, least=1) > budget:
            raise InvalidInput(f"checkpoint is {checkpoint}, but must lie in 1…{budget}, the budget")
        times.add(int(checkpoint))
    return np.array(sorted(times), np.int64)


def _run(source: Source, times: Ints, recommended: Ints, idle: Ints, seconds: float) -> Run:
    return Run(times, recommended, source.means.max() - source.means[recommended], seconds, idle)


@lru_cache(maxsize=64)
def _loop(drive: Callable[..., int], rule: Rule, compiled: bool) -> Callable[..., int]:
    """Return a rule's own copy of a driver."""
    make = _compile.compiled if compiled else _compile.bound
    return make(drive, **driver.bindings(rule))
