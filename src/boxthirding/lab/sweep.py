"""Sweeps: many settings, run chunk by chunk, saved as they go, and resumed where they stopped."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from boxthirding import _compile
from boxthirding._progress import COMPILING, listener
from boxthirding.errors import SimulationFailed
from boxthirding.lab.chunks import Chunk, ChunkPool, ChunkResult, chunks_of, run_chunk
from boxthirding.lab.memory_check import check_memory
from boxthirding.lab.results import Gathered, Interrupted, ResultsFile, Run
from boxthirding.lab.settings import Setting
from boxthirding.types import Progress


class Watcher:
    """Is notified of the settings of a sweep; override the methods you need. This one does nothing."""

    def found(self, setting: Setting, replicates: int, seconds: float) -> None:
        """Called for replicates that were saved before; they took so many seconds then."""

    def began(self, setting: Setting) -> None:
        """Called before a setting starts: its code is compiled now, if it must be."""

    def ended(self, setting: Setting, replicates: int, seconds: float) -> None:
        """Called for replicates that have just ended and been saved."""

    def complete(self, setting: Setting, run: Run) -> None:
        """Called when a setting has all its replicates."""


class Forecast(Watcher):
    """Estimates how much of a sweep is done and how long the rest will take.

    The work of a replicate is its budget. The speed of a policy is measured or, before that, the mean of the others.
    Parallel work is accounted for by the clock, which is stopped while code is compiled, before the first replicates of
    a setting. `tell` is called with a `Progress` whenever something begins or ends.
    """

    def __init__(
        self,
        settings: Iterable[Setting],
        clock: Callable[[], float] = time.monotonic,
        tell: Callable[[Progress], None] | None = None,
    ) -> None:
        self._left = {setting: setting.replicates for setting in settings}
        many = len(self._left)
        self._labels = {one: f"{one.policy} ({k} of {many})" for k, one in enumerate(self._left, start=1)}
        self._total = self._work_left()
        self._work: defaultdict[str, float] = defaultdict(float)  # by policy: pulls done
        self._seconds: defaultdict[str, float] = defaultdict(float)  # by policy: what they took
        self._clock, self._tell = clock, tell
        self._start = clock()
        self._since: float | None = None  # when the clock last began to run; it is stopped while code is compiled
        self._elapsed = 0.0  # seconds that it ran before
        self._busy = 0.0  # seconds of what has ended meanwhile

    @property
    def share(self) -> float:
        """How much of the work is done, from 0 to 1."""
        return 1.0 - self._work_left() / self._total if self._total else 1.0

    def seconds_left(self) -> float | None:
        """Return how long the rest will take; None while no replicate has ended."""
        if not self._work:
            return None
        usual = sum(self._seconds.values()) / sum(self._work.values())
        left = 0.0
        for setting, replicates in self._left.items():
            name = _name(setting)
            speed = self._seconds[name] / self._work[name] if name in self._work else usual
            left += replicates * setting.budget * speed
        return left * self._running() / self._busy if self._busy else left

    def found(self, setting: Setting, replicates: int, seconds: float) -> None:
        """Count replicates that were saved before."""
        self._count(setting, replicates, seconds)
        self._report(self._labels[setting], self.seconds_left())

    def began(self, setting: Setting) -> None:
        """Stop the clock until the first replicates have ended."""
        self._elapsed, self._since = self._running(), None
        label = self._labels[setting]
        self._report(f"{label}: {COMPILING}" if _compile.available() else label, None)

    def ended(self, setting: Setting, replicates: int, seconds: float) -> None:
        """Count replicates that have just ended; the first after compiling only start the clock."""
        self._count(setting, replicates, seconds)
        if self._since is None:
            self._since = self._clock()
        else:
            self._busy += seconds
        self._report(self._labels[setting], self.seconds_left())

    def _report(self, note: str, seconds_left: float | None) -> None:
        if self._tell:
            done, seconds = self._total - self._work_left(), self._clock() - self._start
            self._tell(Progress(done, self._total, "pulls", seconds, seconds_left, note))

    def _count(self, setting: Setting, replicates: int, seconds: float) -> None:
        self._left[setting] -= replicates
        self._work[_name(setting)] += replicates * setting.budget
        self._seconds[_name(setting)] += seconds

    def _running(self) -> float:
        """Return for how many seconds the clock has run."""
        return self._elapsed + (self._clock() - self._since if self._since is not None else 0.0)

    def _work_left(self) -> int:
        return sum(setting.budget * replicates for setting, replicates in self._left.items())


def _name(setting: Setting) -> str:
    return setting.spec.partition(":")[0]


def sweep(
    settings: Iterable[Setting],
    *,
    results: str | PathLike[str] | None = None,
    executor: Executor | Any = None,
    threads: int | None = None,
    progress: bool | Callable[[Progress], None] = False,
    watcher: Watcher | None = None,
) -> list[Run]:
    """Run every setting, in chunks of replicates, and return the runs in the same order.

    Parameters
    ----------
    settings : iterable of Setting
        What to run. A setting that is given twice is run once.
    results : path, optional
        A file. Each chunk is saved there when it ends, and saved chunks are not run again, so that a sweep resumes
        after a kill or a full disk. More settings and more replicates may be asked for than last time.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        A process pool or a cluster to run on instead of threads.
    threads : int, optional
        Number of threads; does not affect results. Default: one per core.
    progress : bool or callable, default False
        True prints progress and the time left to stderr. A function is called with a `Progress` whenever something
        begins or ends.
    watcher : Watcher, optional
        Is notified of each setting.

    Replicates are the same however often they were stopped and wherever they run. Ctrl-C raises `Interrupted`, and a
    failure `SimulationFailed`; both have the `runs` so far.

    """
    asked = list(settings)
    once = _once(asked)
    with ExitStack() as stack:
        pool = stack.enter_context(ChunkPool(executor, threads))
        for setting in once:
            check_memory(setting.experiment, setting.replicates, pool.cores if pool.in_threads else 1)
        file = None
        if results is not None:
            file = stack.enter_context(ResultsFile(Path(results), [setting.fingerprinted for setting in once]))
        tell = listener(progress=progress)
        watchers = [Forecast(once, tell=tell)] if tell else []
        running = _Sweep(once, file, [*watchers, *([watcher] if watcher else [])])
        try:
            running.run(pool)
        except KeyboardInterrupt:
            raise Interrupted(*map(running.run_of, asked)) from None
        except SimulationFailed as failure:
            failure.runs = [running.run_of(setting) for setting in asked]
            raise
        return [running.run_of(setting) for setting in asked]


def _once(asked: Sequence[Setting]) -> list[Setting]:
    """Return each setting once, with the largest number of replicates that is asked for."""
    once: dict[tuple[object, ...], Setting] = {}
    for setting in asked:
        known = once.setdefault(setting.description.identity, setting)
        if setting.replicates > known.replicates:
            once[setting.description.identity] = setting
    return list(once.values())


class _Sweep:
    """The results of each setting so far, and how the rest is run and saved."""

    def __init__(self, settings: Sequence[Setting], file: ResultsFile | None, watchers: Sequence[Watcher]) -> None:
        self._settings, self._file, self._watchers = settings, file, watchers
        self._gathered = [
            Gathered(one.experiment.source.means, one.experiment.checkpoints, one.replicates) for one in settings
        ]
        self._places = {one.description.identity: place for place, one in enumerate(settings)}
        self._place_of = {one.experiment: place for place, one in enumerate(settings)}

    def run_of(self, setting: Setting) -> Run:
        """Return the results of a setting so far."""
        return self._gathered[self._places[setting.description.identity]].run(setting.replicates)

    def run(self, pool: ChunkPool) -> None:
        """Run what is missing: in threads one setting after the other, in an executor all at once."""
        for place, setting in enumerate(self._settings):
            for result in self._file.found(place) if self._file else ():
                new = self._gathered[place].add(result)
                for watcher in self._watchers:
                    watcher.found(setting, new, result.seconds)
        places = range(len(self._settings))
        try:
            for batch in [[place] for place in places] if pool.in_threads else [places]:
                for chunk, result in pool.ended(self._chunks(batch, pool)):
                    self._save(self._place_of[chunk.experiment], result)
        except (KeyboardInterrupt, SimulationFailed):
            with suppress(SimulationFailed):  # the first failure is the one to report
                for chunk, result in pool.rest():
                    self._save(self._place_of[chunk.experiment], result)
            raise

    def _chunks(self, places: Iterable[int], pool: ChunkPool) -> Iterator[Chunk]:
        """Cut what is missing into chunks."""
        for place in places:
            setting, gathered = self._settings[place], self._gathered[place]
            if gathered.complete:
                self._complete(place)
                continue
            for watcher in self._watchers:
                watcher.began(setting)
            if pool.in_threads:
                run_chunk(setting.experiment, 0, 0)  # compiles once, before the clock starts
            yield from chunks_of(setting.experiment, gathered.missing(), setting.replicates, pool.cores)

    def _save(self, place: int, result: ChunkResult) -> None:
        """Save a chunk, then report it: in this order, nothing is reported that a kill could lose."""
        setting, gathered = self._settings[place], self._gathered[place]
        if not gathered.lacks(result):
            return
        if self._file:
            self._file.save(place, result)
        new = gathered.add(result)
        for watcher in self._watchers:
            watcher.ended(setting, new, result.seconds)
        if gathered.complete:
            self._complete(place)

    def _complete(self, place: int) -> None:
        for watcher in self._watchers:
            watcher.complete(self._settings[place], self._gathered[place].run())
