"""The board: how every policy did in every cell and over groups of cells, relative to the best or to one policy.

Regrets are compared replicate by replicate, with confidence intervals. Replicate k meets the arms in the same order
under every policy, and one run may be read in several cells. Both make regrets depend on each other, so an interval
looks at replicates as wholes: what each of them moves the result by, over all cells and both policies, is one number,
and the spread of these numbers is the error.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Final

import numpy as np

from boxthirding.lab.leaderboard.entrants import Entrant, Planned
from boxthirding.lab.leaderboard.suites import Cell, Group
from boxthirding.lab.results import Run
from boxthirding.types import Floats

ADDED: Final = 0.001
"""Added to both regrets of a ratio: two policies that hardly ever err are alike, however small their regrets."""


@dataclass(frozen=True)
class Ratio:
    """A ratio of mean regrets, or the geometric mean of several, with the standard error of its logarithm.

    >>> low, high = Ratio(2.0, 0.1).interval(0.95)
    >>> round(low, 3), round(high, 3)
    (1.644, 2.433)
    """

    value: float
    log_error: float

    def interval(self, level: float) -> tuple[float, float]:
        """Return the confidence interval of this level."""
        reach = NormalDist().inv_cdf((1 + level) / 2) * self.log_error
        return self.value * math.exp(-reach), self.value * math.exp(reach)


def paired(regrets: Floats, reference: Floats) -> Ratio:
    """Return the geometric mean over cells of the ratio of mean regrets; both are [R replicates, C cells].

    The error is that of the delta method: replicate k moves the logarithm of a cell's ratio by a / A - b / B, where a
    and b are its regrets and A and B their means with `ADDED`.
    """
    ours, theirs = regrets.mean(axis=0) + ADDED, reference.mean(axis=0) + ADDED
    moved = (regrets / ours - reference / theirs).mean(axis=1)  # [R]
    value = math.exp(float(np.mean(np.log(ours / theirs))))
    return Ratio(value, float(np.std(moved, ddof=1)) / math.sqrt(len(moved)))


GROUPS: tuple[Group | None, ...] = (None, *Group)  # over what a geometric mean is taken: all cells, or those of a group


@dataclass(frozen=True)
class Score:
    """How a policy did over some cells: over those in which it could run."""

    ratio: Ratio
    ran: int  # in how many of them
    cells: int

    @property
    def whole(self) -> bool:
        """Whether it ran in all of them; else its score is of easier or harder cells than that of others."""
        return self.ran == self.cells


@dataclass(frozen=True)
class Board:
    """The regrets of all replicates, and what follows from them.

    Replicate k stands in row k of every array, so that regrets are compared pair by pair.
    """

    cells: tuple[Cell, ...]
    entrants: tuple[Entrant, ...]
    regrets: Mapping[tuple[Cell, str], Floats]  # [R] each; nothing where a policy could not run
    against: str | None = None
    """The policy that all are relative to; None is the best of each cell, the one with the lowest mean regret."""

    @classmethod
    def of(cls, planned: Sequence[Planned], runs: Sequence[Run], against: str | None = None) -> "Board":
        """Read the regrets of complete runs."""
        regrets: dict[tuple[Cell, str], Floats] = {}
        for one, run in zip(planned, runs, strict=True):
            for cell in one.cells:
                place = int(np.flatnonzero(run.checkpoints == cell.budget)[0])
                regrets[cell, one.entrant.spec] = run.regret[:, place]
        cells = tuple(dict.fromkeys(cell for one in planned for cell in one.cells))
        entrants = tuple(dict.fromkeys(one.entrant for one in planned))
        return cls(cells, entrants, regrets, against)

    @property
    def replicates(self) -> int:
        """How many replicates every policy has in every cell."""
        return len(next(iter(self.regrets.values())))

    @property
    def groups(self) -> list[Group | None]:
        """All cells, and the groups that have one."""
        there = {cell.group for cell in self.cells}
        return [group for group in GROUPS if group is None or group in there]

    def cells_in(self, group: Group | None) -> list[Cell]:
        """Return the cells of a group, or all."""
        return [cell for cell in self.cells if group is None or cell.group is group]

    def ran(self, spec: str, cell: Cell) -> bool:
        """Return whether a policy could run in a cell."""
        return (cell, spec) in self.regrets

    def regret(self, spec: str, cell: Cell) -> float:
        """Return the mean regret of a policy in a cell."""
        return float(self.regrets[cell, spec].mean())

    @cached_property
    def references(self) -> dict[Cell, str]:
        """Whom policies are compared with in each cell: the best there, or the same one everywhere."""
        if self.against is not None:
            return dict.fromkeys(self.cells, self.against)
        there = {cell: [one.spec for one in self.entrants if self.ran(one.spec, cell)] for cell in self.cells}
        return {cell: min(specs, key=lambda spec: self.regret(spec, cell)) for cell, specs in there.items()}

    def score(self, spec: str, cells: Sequence[Cell]) -> Score | None:
        """Return the geometric mean of a policy's relative regrets over cells; nothing, if it ran in none."""
        ran = [cell for cell in cells if self.ran(spec, cell)]
        if not ran:
            return None
        ours = np.stack([self.regrets[cell, spec] for cell in ran], axis=1)
        theirs = np.stack([self.regrets[cell, self.references[cell]] for cell in ran], axis=1)
        return Score(paired(ours, theirs), len(ran), len(cells))

    @cached_property
    def scores(self) -> dict[tuple[str, Group | None], Score]:
        """The scores of all policies, over all cells and over groups; none where a policy ran in no cell."""
        keys = [(entrant.spec, group) for entrant in self.entrants for group in self.groups]
        found = {key: self.score(key[0], self.cells_in(key[1])) for key in keys}
        return {key: score for key, score in found.items() if score is not None}

    @cached_property
    def ranking(self) -> list[Entrant]:
        """The policies, best first; those that could not run everywhere come after those that could."""

        def place(entrant: Entrant) -> tuple[bool, float]:
            score = self.scores[entrant.spec, None]
            return not score.whole, score.ratio.value

        return sorted(self.entrants, key=place)

    def worst(self, spec: str) -> tuple[Cell, Ratio]:
        """Return the cell in which a policy's relative regret is largest."""
        scores = {cell: self.score(spec, [cell]) for cell in self.cells}
        ratios = {cell: score.ratio for cell, score in scores.items() if score is not None}
        worst = max(ratios, key=lambda cell: ratios[cell].value)
        return worst, ratios[worst]
