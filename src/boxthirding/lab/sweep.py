"""Sweeps: many settings, run chunk by chunk, saved as they go, and resumed where they stopped."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from boxthirding._progress import listener
from boxthirding.errors import SimulationFailed
from boxthirding.lab.chunks import Chunk, Part, chunks_of, run_chunk
from boxthirding.lab.gathering import Gathered
from boxthirding.lab.pool import Lanes
from boxthirding.lab.progress import Reporter, Watcher
from boxthirding.lab.room import check_room
from boxthirding.lab.runs import Interrupted, Run
from boxthirding.lab.saving import ResultsFile
from boxthirding.lab.settings import Setting
from boxthirding.types import Progress


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
        A file. Each chunk is saved there when it ends, and what is there already is not run again, so that a sweep
        resumes after a kill or a full disk. More settings and more replicates may be asked for than last time.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Where to run instead of threads: a process pool or a cluster.
    threads : int, optional
        Changes no result. Default: all cores.
    progress : bool or callable, default False
        True prints a line on stderr with the time that is left. A function is called with a `Progress` whenever
        something begins or ends.
    watcher : Watcher, optional
        Is told of each setting.

    Replicates are the same however often they were stopped and wherever they run. Ctrl-C raises `Interrupted`, and a
    failure `SimulationFailed`; both have the `runs` so far.

    """
    asked = list(settings)
    works = _once(asked)
    with ExitStack() as stack:
        lanes = stack.enter_context(Lanes[int](executor, threads))
        for work in works:
            check_room(work.task, work.replicates, lanes.cores if lanes.ours else 1)
        file = None
        if results is not None:
            file = stack.enter_context(ResultsFile(Path(results), [work.fingerprinted for work in works]))
        tell = listener(progress=progress)
        watchers = [Reporter(works, tell)] if tell else []
        running = _Sweep(works, file, [*watchers, *([watcher] if watcher else [])])
        try:
            running.run(lanes)
        except KeyboardInterrupt:
            raise Interrupted(*map(running.run_of, asked)) from None
        except SimulationFailed as failure:
            failure.runs = [running.run_of(setting) for setting in asked]
            raise
        return [running.run_of(setting) for setting in asked]


def _once(asked: Sequence[Setting]) -> list[Setting]:
    """Return the settings without those that another one includes: the same, with as many replicates or more."""
    once: dict[tuple[object, ...], Setting] = {}
    for setting in asked:
        known = once.setdefault(setting.description.identity, setting)
        if setting.replicates > known.replicates:
            once[setting.description.identity] = setting
    return list(once.values())


class _Sweep:
    """What is there of each setting, and how the rest comes in."""

    def __init__(self, works: Sequence[Setting], file: ResultsFile | None, watchers: Sequence[Watcher]) -> None:
        self._works, self._file, self._watchers = works, file, watchers
        self._gathered = [Gathered(work.task.source.means, work.task.checkpoints, work.replicates) for work in works]
        self._places = {work.description.identity: place for place, work in enumerate(works)}

    def run_of(self, setting: Setting) -> Run:
        """Return what is there of a setting."""
        return self._gathered[self._places[setting.description.identity]].run(setting.replicates)

    def run(self, lanes: Lanes[int]) -> None:
        """Run what is missing: in threads one setting after the other, elsewhere all at once."""
        self._recall()
        places = range(len(self._works))
        try:
            for batch in [[place] for place in places] if lanes.ours else [places]:
                for place, part in lanes.ended(self._chunks(batch, lanes)):
                    self._take(place, part)
        except (KeyboardInterrupt, SimulationFailed):
            with suppress(SimulationFailed):  # the first failure is the one to tell of
                for place, part in lanes.rest():
                    self._take(place, part)
            raise

    def _recall(self) -> None:
        """Take what the file has."""
        for place, work in enumerate(self._works):
            for part in self._file.found(place) if self._file else ():
                new = self._gathered[place].take(part)
                for watcher in self._watchers:
                    watcher.found(work, new, part.seconds)

    def _chunks(self, places: Iterable[int], lanes: Lanes[int]) -> Iterator[tuple[int, Chunk]]:
        """Cut what is missing into chunks."""
        for place in places:
            work, gathered = self._works[place], self._gathered[place]
            if gathered.complete:
                self._complete(place)
                continue
            for watcher in self._watchers:
                watcher.began(work)
            if lanes.ours:
                run_chunk(Chunk(work.task, 0, 0))  # compiles once, before the clock starts
            for chunk in chunks_of(work.task, gathered.missing(), work.replicates, lanes.cores):
                yield place, chunk

    def _take(self, place: int, part: Part) -> None:
        """Save a chunk, then count it: in this order, nothing is reported that a kill could lose."""
        work, gathered = self._works[place], self._gathered[place]
        if not gathered.lacks(part):
            return
        if self._file:
            self._file.save(place, part)
        new = gathered.take(part)
        for watcher in self._watchers:
            watcher.ended(work, new, part.seconds)
        if gathered.complete:
            self._complete(place)

    def _complete(self, place: int) -> None:
        """Say that a setting has all its replicates."""
        for watcher in self._watchers:
            watcher.complete(self._works[place], self._gathered[place].run())
