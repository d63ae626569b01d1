"""Replicates of simulated runs: many at once, each the same whatever runs beside it."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor

import numpy as np

from boxthirding import _compile
from boxthirding._checks import whole
from boxthirding._progress import COMPILING, listener
from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.lab.chunks import Chunk, Task, chunks_of, run_chunk
from boxthirding.lab.descriptions import told
from boxthirding.lab.gathering import Gathered
from boxthirding.lab.instances import Instance
from boxthirding.lab.pool import Lanes
from boxthirding.lab.rewards import RewardModel
from boxthirding.lab.room import check_room
from boxthirding.lab.runs import Interrupted, Run
from boxthirding.rng import spawn
from boxthirding.types import Ints, Policy, Progress


def simulate(  # noqa: PLR0913  # an experiment has this many parts; all but four have a default
    instance: Instance,
    rewards: RewardModel,
    policy: Policy | str,
    *,
    budget: int,
    checkpoints: Iterable[int] = (),
    replicates: int = 1,
    seed: int = 0,
    workers: int = 1,
    threads: int | None = None,
    executor: Executor | None = None,
    compiled: bool | None = None,
    progress: bool | Callable[[Progress], None] = False,
) -> Run:
    """Run a policy on an instance `replicates` times; replicate k depends on the seed and on k alone.

    Parameters
    ----------
    instance : Instance
        The arms, by their true means.
    rewards : RewardModel
        What a pull gives.
    policy : Policy or str
        What decides which arm is next. A policy given as a SPEC is told what it must know: the budget, the noise or
        the hardness of the problem.
    budget : int
        Pulls of each replicate.
    checkpoints : iterable of int, default ()
        Numbers of pulls after which the answer is read, besides the budget.
    replicates : int, default 1
        How many runs.
    seed : int, default 0
        The same seed gives the same runs.
    workers : int, default 1
        Pulls in parallel. With several, they take exponential times.
    threads : int, optional
        Changes no result. Default: all cores.
    executor : concurrent.futures.Executor, optional
        Where to run instead of threads: a process pool or a cluster.
    compiled : bool, optional
        Whether to compile the policy. Default: if Numba is installed.
    progress : bool or callable, default False
        True prints a line on stderr with the time that is left. A function is called with a `Progress` whenever
        replicates have ended.

    """
    times = checked_checkpoints(checkpoints, whole("budget", budget, least=1))
    whole("the number of replicates", replicates, least=1)
    whole("the number of workers", workers, least=1)
    spawn(seed, 0, 0)  # refuses a bad seed
    if compiled and not _compile.available():
        raise MissingExtra("compiled simulation", "numba", "sim")
    source = rewards.source(instance)
    task = Task(source, told(policy, budget, rewards.sigma, source.means), budget, times, seed, workers, compiled)
    tell = listener(progress=progress)
    began = time.monotonic()
    with Lanes[None](executor, threads) as lanes:
        check_room(task, replicates, lanes.cores if lanes.ours else 1)
        if lanes.ours:
            if tell and (_compile.available() if compiled is None else compiled):
                tell(Progress(0, replicates, "replicates", 0.0, None, COMPILING))
            run_chunk(Chunk(task, 0, 0))  # compiles once, before the clock starts
        gathered = Gathered(task.source.means, times, replicates)
        ready, done = time.monotonic(), 0
        chunks = chunks_of(task, gathered.missing(), replicates, lanes.cores)
        try:
            for _, part in lanes.ended((None, chunk) for chunk in chunks):
                done += gathered.take(part)
                if tell:
                    now = time.monotonic()
                    left = (now - ready) * (replicates - done) / done
                    tell(Progress(done, replicates, "replicates", now - began, left))
        except KeyboardInterrupt:
            for _, part in lanes.rest():
                gathered.take(part)
            raise Interrupted(gathered.run()) from None
    return gathered.run()


def checked_checkpoints(checkpoints: Iterable[int], budget: int) -> Ints:
    """Return the checkpoints in order, each once, the budget among them."""
    times = {budget}
    for checkpoint in checkpoints:
        if whole("a checkpoint", checkpoint, least=1) > budget:
            raise InvalidInput(f"checkpoint is {checkpoint}, but must lie in 1…{budget}, the budget")
        times.add(int(checkpoint))
    return np.array(sorted(times), np.int64)
