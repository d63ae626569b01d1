"""What `chase` would give under each belief, simulated: its answers at many budgets, and what they are made of."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from boxthirding import _compile
from boxthirding._progress import COMPILING
from boxthirding.lab import Source
from boxthirding.lab.chunks import loop_of, play_out
from boxthirding.lab.driver import BEGUN, CHECKED, NUMBERED, POSITIONS, REPLICATE, drive
from boxthirding.planning.beliefs import Belief
from boxthirding.policies import Chase
from boxthirding.rng import spawn
from boxthirding.types import Floats, Ints, Progress

_LEG: Final = 250_000  # pulls
_MOST_RUNS: Final = 1_000  # under one belief: no two beliefs share a stream
_SHORT: Final = 8  # the second leg ends at an eighth of the largest budget, where more replicates cost little


@dataclass(frozen=True)
class Effort:
    """How much is simulated: the more, the finer the answer."""

    draws: int
    """Beliefs."""
    replicates: int
    """Runs under each belief, to the largest budget."""
    short: int
    """More runs under each belief, to an eighth of it."""

    def pulls(self, top: int) -> int:
        """Return the pulls of all runs together."""
        return self.draws * (self.replicates * top + self.short * (top // _SHORT))

    def fitted(self, top: int, most: int) -> "Effort":
        """Return less effort where all runs would have more than about `most` pulls, but at least one run a draw."""
        share = min(1.0, most / self.pulls(top))
        return Effort(self.draws, max(1, round(self.replicates * share)), round(self.short * share))


@dataclass(frozen=True)
class Outcomes:
    """Runs under D beliefs, read at S budgets; a run that ended before a budget is NaN there."""

    budgets: Ints  # [S] ascending
    regret: Floats  # [D, R, S]
    rank: Floats  # [D, R, S] 1 is the best of all arms
    tried: Floats  # [D, R, S]
    pulls: Floats  # [D, R, S] of the arm that is the answer

    def joined(self, other: "Outcomes") -> "Outcomes":
        """Return these runs and others under the same beliefs, which were read at the first of these budgets."""
        rest = len(self.budgets) - len(other.budgets)
        wider = [np.pad(part, ((0, 0), (0, 0), (0, rest)), constant_values=np.nan) for part in other.parts]
        return Outcomes(self.budgets, *map(_side_by_side, self.parts, wider))

    @property
    def runs(self) -> int:
        """How many there are under each belief."""
        return int(self.regret.shape[1])

    @property
    def parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """All but the budgets."""
        return self.regret, self.rank, self.tried, self.pulls


def _side_by_side(some: Floats, others: Floats) -> Floats:
    return np.concatenate([some, others], axis=1)


class _Leg(NamedTuple):
    """Runs `first` … `first + runs - 1` under one belief, to one horizon."""

    draw: int
    first: int
    runs: int
    stops: Ints  # [S] ascending

    @property
    def pulls(self) -> int:
        """The pulls of all its runs."""
        return self.runs * int(self.stops[-1])


def simulated(
    beliefs: Sequence[Belief],
    arms: int,
    budgets: Sequence[int],
    effort: Effort,
    seed: int,
    threads: int | None,
    tell: Callable[[Progress], None] | None,
    first: int = 0,
) -> Outcomes:
    """Run `chase` under every belief, and read its answer at every budget; runs are numbered from `first`."""
    stops = np.array(sorted(set(budgets)), np.int64)
    near = stops[stops <= max(stops[0], stops[-1] // _SHORT)]
    room = np.full((4, len(beliefs), effort.replicates + effort.short, len(stops)), np.nan)
    draws = range(len(beliefs))
    legs = [leg for draw in draws for leg in _legs(draw, 0, effort.replicates, stops)]
    legs += [leg for draw in draws for leg in _legs(draw, effort.replicates, effort.short, near)]
    streams = [draw * _MOST_RUNS + first for draw in draws]
    began, done, total = time.monotonic(), 0, sum(leg.pulls for leg in legs)
    random = [np.random.default_rng([seed, draw]) for draw in draws]
    sources = [beliefs[draw].rewards.source(beliefs[draw].instance(arms, random[draw])) for draw in draws]
    if tell:
        note = COMPILING if _compile.available() else "simulating"
        tell(Progress(0, total, "pulls", 0.0, None, note))
    _play(sources[0], _Leg(0, 0, 1, np.array([1])), seed, 0)  # compiles once, before the others wait for it
    ready = time.monotonic()
    if tell:
        tell(Progress(0, total, "pulls", ready - began, None, "simulating"))
    cores = threads or os.cpu_count() or 1
    with ThreadPoolExecutor(
        cores if _compile.available() else 1
    ) as pool:  # interpreted, they only get in each other's way
        futures = {pool.submit(_play, sources[leg.draw], leg, seed, streams[leg.draw]): leg for leg in legs}
        try:
            for future in as_completed(futures):
                leg = futures[future]
                room[:, leg.draw, leg.first : leg.first + leg.runs, : len(leg.stops)] = future.result()
                done += leg.pulls
                if tell:
                    now = time.monotonic()
                    left = (now - ready) * (total - done) / done
                    tell(Progress(done, total, "pulls", now - began, left, "simulating"))
        finally:
            pool.shutdown(cancel_futures=True)
    return Outcomes(stops, *room)


def _legs(draw: int, first: int, runs: int, stops: Ints) -> Iterator[_Leg]:
    """Cut runs into legs: one is what an interrupt waits for, and what progress counts."""
    size = max(1, _LEG // int(stops[-1]))
    for start in range(0, runs, size):
        yield _Leg(draw, first + start, min(size, runs - start), stops)


def _play(source: Source, leg: _Leg, seed: int, stream: int) -> Floats:
    """Return regret, rank, arms tried and pulls of the answer at every stop, [4, R, S]; run k has stream + k.

    A run is driven from stop to stop, and its state is looked at between two of them.
    """
    policy = Chase()
    loop = loop_of(drive, policy.rule, _compile.available())
    arms, budget = len(source.means), 2 * int(leg.stops[-1]) + 1  # a job under way at the last stop is told, too
    ascending = np.sort(source.means)
    place = arms + 1 - np.searchsorted(ascending, source.means, side="right")
    order, answer = np.zeros(arms, np.int64), np.zeros((1, 1), np.int64)
    state = policy.new(arms, seed, min(arms, int(leg.stops[-1])))
    found = np.zeros((4, leg.runs, len(leg.stops)))
    for run in range(leg.runs):
        streams = spawn(seed, stream + leg.first + run, 1)
        at = np.zeros(POSITIONS, np.int64)
        for stop, pulls in enumerate(leg.stops.tolist()):
            at[REPLICATE], at[BEGUN], at[CHECKED] = 0, stop > 0, 0
            rest = (streams, order, budget, np.array([pulls]), at, answer)
            state = play_out(loop, policy, state, source, policy.squares, *rest)
            best = int(answer[0, 0])
            number = int(np.flatnonzero(order[: at[NUMBERED]] == best)[0])
            found[:, run, stop] = (
                ascending[-1] - source.means[best],
                place[best],
                min(pulls, at[NUMBERED]),
                min(pulls, state.pulls[number]),
            )
    return found
