"""Simulated outcomes of `chase` under each belief: its answers at many budgets, expectations and their bands."""

import math
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
from boxthirding.lab.chunks import play_out
from boxthirding.lab.driver import BEGUN, CHECKED, NUMBERED, POSITIONS, REPLICATE, loop_of
from boxthirding.planning.beliefs import Belief
from boxthirding.planning.shapes import ONE_IN_TEN
from boxthirding.policies import Chase
from boxthirding.rng import spawn
from boxthirding.types import Floats, Ints, Progress

NINE_IN_TEN: Final = 0.9
_WIDEST: Final = 5.99  # below 6 whatever rounding does
_LEG: Final = 250_000  # pulls
_MOST_RUNS: Final = 1_000  # under one belief: no two beliefs share a stream
_SHORT: Final = 8  # the second leg ends at an eighth of the largest budget, where more replicates cost little


@dataclass(frozen=True)
class Effort:
    """How much is simulated: the more, the finer the answer."""

    draws: int  # beliefs
    replicates: int  # runs under each belief, to the largest budget
    short: int  # more runs under each belief, to an eighth of it

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

    def scenes(self, count: int) -> "list[Outcomes]":
        """Return the runs by scene, each of which has as many beliefs."""
        parts = zip(*(np.split(part, count) for part in self.parts), strict=True)
        return [Outcomes(self.budgets, *scene) for scene in parts]

    def joined(self, other: "Outcomes") -> "Outcomes":
        """Return these runs and others under the same beliefs, which were read at the first of these budgets."""
        rest = len(self.budgets) - len(other.budgets)
        wider = [np.pad(part, ((0, 0), (0, 0), (0, rest)), constant_values=np.nan) for part in other.parts]
        pairs = zip(self.parts, wider, strict=True)
        return Outcomes(self.budgets, *(np.concatenate(pair, axis=1) for pair in pairs))

    @property
    def runs(self) -> int:
        """How many there are under each belief."""
        return int(self.regret.shape[1])

    @property
    def parts(self) -> tuple[Floats, Floats, Floats, Floats]:
        """All but the budgets."""
        return self.regret, self.rank, self.tried, self.pulls


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
    """Run `chase` under every belief, and read its answer at every budget; runs are numbered from `first`.

    There may be several scenes of as many beliefs as the effort says, which draw the same random numbers.
    """
    stops = np.array(sorted(set(budgets)), np.int64)
    near = stops[stops <= max(stops[0], stops[-1] // _SHORT)]
    room = np.full((4, len(beliefs), effort.replicates + effort.short, len(stops)), np.nan)
    draws = range(len(beliefs))
    legs = [leg for draw in draws for leg in _legs(draw, 0, effort.replicates, stops)]
    legs += [leg for draw in draws for leg in _legs(draw, effort.replicates, effort.short, near)]
    began, done, total = time.monotonic(), 0, sum(leg.pulls for leg in legs)
    is_compiled = _compile.available()
    sources = []
    for draw, belief in enumerate(beliefs):
        random = np.random.default_rng([seed, draw % effort.draws])
        sources.append(belief.rewards.source(belief.instance(arms, random)))
    if tell:
        tell(Progress(0, total, "pulls", 0.0, None, COMPILING if is_compiled else "simulating"))
    _play(sources[0], _Leg(0, 0, 1, np.array([1])), seed, 0)  # compiles once, before the others wait for it
    ready = time.monotonic()
    if tell:
        tell(Progress(0, total, "pulls", ready - began, None, "simulating"))
    cores = (threads or os.cpu_count() or 1) if is_compiled else 1  # interpreted, they only get in each other's way
    with ThreadPoolExecutor(cores) as pool:
        futures = {}
        for leg in legs:
            stream = leg.draw % effort.draws * _MOST_RUNS + first
            futures[pool.submit(_play, sources[leg.draw], leg, seed, stream)] = leg
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
    loop = loop_of(policy.rule, compiled=_compile.available(), parallel=False)
    arms, budget = len(source.means), 2 * int(leg.stops[-1]) + 1  # a job in flight at the last stop is told, too
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
            regret, tried = ascending[-1] - source.means[best], min(pulls, at[NUMBERED])
            found[:, run, stop] = regret, place[best], tried, min(pulls, state.arms.pulls[number])
    return found


# From simulated runs to figures


def mean_and_doubt(values: Floats) -> tuple[float, float]:
    """Return the mean of runs, [D, R], and the standard deviation of what it is under the belief that is true.

    Runs under one belief scatter by chance, which is no doubt about their mean: only what sets the beliefs apart
    beyond it counts, and the chance that is left in the overall mean.
    """
    there = values[:, ~np.isnan(values[0])]
    draws, runs = there.shape
    means = there.mean(axis=1)
    within = float(there.var(axis=1, ddof=1).mean()) / runs if runs > 1 else 0.0
    between = float(means.var(ddof=1)) if draws > 1 else 0.0
    doubt = max(0.0, between - within) + max(between, within) / draws
    return float(means.mean()), math.sqrt(doubt)


def sizes(values: Floats) -> list[tuple[float, float]]:
    """Return the mean of runs and its doubt at each budget, [D, R, S].

    Doubt relative to the mean rises with the budget, but for chance, and is made to: with few runs it is the least
    certain figure of all.
    """
    pairs = [mean_and_doubt(values[:, :, place]) for place in range(values.shape[2])]
    relative = rising(np.array([(doubt / mean) ** 2 if mean > 0 else 0.0 for mean, doubt in pairs]))
    return [(mean, mean * math.sqrt(share)) for (mean, _), share in zip(pairs, relative.tolist(), strict=True)]


def band_of_size(mean: float, doubt: float) -> tuple[float, float]:
    """Return the middle 80 % of what a quantity above 0 may be, as if its logarithm were normal.

    The upper end is at most 6 times the lower one: beyond that a band says nothing, and its ends are the least certain.

    >>> [round(edge, 2) for edge in band_of_size(1.0, 0.5)]
    [0.49, 1.64]
    """
    if mean <= 0:
        return 0.0, 0.0
    width = min(math.sqrt(math.log1p((doubt / mean) ** 2)), math.log(_WIDEST) / (2 * ONE_IN_TEN))
    middle = mean * math.exp(-(width**2) / 2)
    return middle * math.exp(-ONE_IN_TEN * width), middle * math.exp(ONE_IN_TEN * width)


def band_of_chance(chance: float, doubt: float) -> tuple[float, float]:
    """Return the middle 80 % of what a chance may be.

    >>> band_of_chance(0.9, 0.5)[1]
    1.0
    """
    return max(0.0, chance - ONE_IN_TEN * doubt), min(1.0, chance + ONE_IN_TEN * doubt)


def rising(values: Floats) -> Floats:
    """Return the rising numbers nearest to some that should rise, but for chance (pool adjacent violators).

    >>> rising(np.array([1.0, 3.0, 2.0, 4.0])).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    blocks: list[tuple[float, int]] = []
    for value in values.tolist():
        mean, size = value, 1
        while blocks and blocks[-1][0] > mean:
            before, length = blocks.pop()
            mean, size = (mean * size + before * length) / (size + length), size + length
        blocks.append((mean, size))
    return np.concatenate([np.full(size, mean) for mean, size in blocks])
