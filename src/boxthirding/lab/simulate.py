"""Simulated runs of one policy: replicates whose results do not depend on how they are run."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor

from boxthirding import _compile
from boxthirding._checks import whole
from boxthirding._progress import COMPILING, listener
from boxthirding.errors import MissingExtra
from boxthirding.lab.chunks import ChunkPool, Experiment, chunks_of, run_chunk
from boxthirding.lab.instances import Instance
from boxthirding.lab.memory_check import check_memory
from boxthirding.lab.results import Gathered, Interrupted, Run
from boxthirding.lab.rewards import RewardModel
from boxthirding.lab.settings import checked_checkpoints, told
from boxthirding.rng import spawn
from boxthirding.types import Policy, Progress


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
        The arms and their true means.
    rewards : RewardModel
        What a pull gives.
    policy : Policy or str
        Decides which arm is next. A policy given as a SPEC is told the budget, the noise or the hardness of the problem
        if it needs them.
    budget : int
        Pulls of each replicate.
    checkpoints : iterable of int, default ()
        Numbers of pulls at which the answer is read, besides the budget.
    replicates : int, default 1
        The number of runs.
    seed : int, default 0
        Seed of all random numbers; the same seed gives the same runs.
    workers : int, default 1
        The number of parallel pulls. With several, the time of a pull is exponentially distributed.
    threads : int, optional
        Number of threads; does not affect results. Default: one per core.
    executor : concurrent.futures.Executor, optional
        A process pool or a cluster to run on instead of threads.
    compiled : bool, optional
        Whether to compile the policy. Default: True if Numba is installed.
    progress : bool or callable, default False
        True prints progress and the time left to stderr. A function is called with a `Progress` whenever replicates
        have ended.

    """
    times = checked_checkpoints(checkpoints, whole("budget", budget, least=1))
    whole("the number of replicates", replicates, least=1)
    whole("the number of workers", workers, least=1)
    spawn(seed, 0, 0)  # raises for a bad seed
    if compiled and not _compile.available():
        raise MissingExtra("compiled simulation", "numba", "sim")
    source = rewards.source(instance)
    policy = told(policy, budget, rewards.sigma, source.means)
    experiment = Experiment(source, policy, budget, times, seed, workers, compiled)
    tell = listener(progress=progress)
    began = time.monotonic()
    with ChunkPool(executor, threads) as pool:
        check_memory(experiment, replicates, pool.cores if pool.in_threads else 1)
        if pool.in_threads:
            if tell and (_compile.available() if compiled is None else compiled):
                tell(Progress(0, replicates, "replicates", 0.0, None, COMPILING))
            run_chunk(experiment, 0, 0)  # compiles once, before the clock starts
        gathered = Gathered(source.means, times, replicates)
        ready, done = time.monotonic(), 0
        try:
            for _, result in pool.ended(chunks_of(experiment, gathered.missing(), replicates, pool.cores)):
                done += gathered.add(result)
                if tell:
                    now = time.monotonic()
                    left = (now - ready) * (replicates - done) / done
                    tell(Progress(done, replicates, "replicates", now - began, left))
        except KeyboardInterrupt:
            for _, result in pool.rest():
                gathered.add(result)
            raise Interrupted(gathered.run()) from None
    return gathered.run()
