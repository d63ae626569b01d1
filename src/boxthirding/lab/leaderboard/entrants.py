"""Who takes part: policies, what each of them is told, and the settings to run for it."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from boxthirding._checks import is_number
from boxthirding.errors import InvalidInput
from boxthirding.lab.leaderboard.suites import Cell, Problem
from boxthirding.lab.settings import Setting
from boxthirding.policies import KLUCB, UCBE, parse_policy

# The policies that are compared unless others are named.
DEFAULT: Final = (
    *("chase", "b3", "b3:reuse=topup", "us", "prose", "prose:sigma=estimated", "asha", "bsh", "bucb"),
    *("dsh", "sh", "sh:growth=1.7,mode=paper", "sr", "ucbe"),
    *("klucb", "klucb:subset=doubling", "lilucb", "lilucb:subset=doubling"),
    *("ebtc", "ebtc:subset=doubling", "ash", "ash:subset=doubling"),
)

# How what a policy is told is marked in tables and pictures, and what the mark means.
MARKS: Final = {
    "budget": ("T", "the budget"),
    "sigma": ("σ", "the noise"),
    "hardness": ("H", "the hardness of the problem"),
    "range": ("R", "the range of rewards"),
}


@dataclass(frozen=True)
class Entrant:
    """A policy by its SPEC, and what it is told."""

    spec: str
    told: tuple[str, ...]  # of `MARKS`, those that the policy gets a number for
    pulls_every_arm: bool = False
    """Whether it pulls no arm twice before all: with fewer pulls than arms it is `us` under another name."""
    within: tuple[float, float] = (-math.inf, math.inf)  # where means must lie for it to tell them apart

    @classmethod
    def of(cls, spec: str) -> "Entrant":
        """Read a SPEC, or refuse it; what a policy works out for itself it is not told."""
        policy = parse_policy(spec, budget=1_000, sigma=1.0, hardness=1.0)
        told = [key for key in MARKS if key in policy.told and is_number(getattr(policy, key))]
        every = isinstance(policy, UCBE) or getattr(policy, "subset", "") == "all"
        if isinstance(policy, KLUCB):
            return cls(spec, (*told, "range"), every, (policy.low, policy.high))
        return cls(spec, tuple(told), every)

    @property
    def marks(self) -> str:
        """Write down what it is told, in short."""
        return " ".join(MARKS[key][0] for key in self.told)


def marks_used(entrants: Iterable[Entrant]) -> dict[str, str]:
    """Return the marks that policies have, each with what it means.

    >>> marks_used(map(Entrant.of, ("b3", "prose", "sh")))
    {'T': 'the budget', 'σ': 'the noise'}
    """
    told = {key for entrant in entrants for key in entrant.told}
    return dict(mark for key, mark in MARKS.items() if key in told)


@dataclass(frozen=True)
class Planned:
    """A setting to run, and the cells whose regrets it gives: each at the checkpoint of its budget."""

    entrant: Entrant
    setting: Setting
    cells: tuple[Cell, ...]


def entrants_of(specs: Sequence[str]) -> list[Entrant]:
    """Read the SPECs; refuse one that is given twice, and fewer than two."""
    for spec in specs:
        if specs.count(spec) > 1:
            raise InvalidInput(f"--policy {spec} is given {specs.count(spec)} times, but counts once: leave one out")
    if len(specs) == 1:
        raise InvalidInput(f"--policy is only {specs[0]}, but a leaderboard compares: give at least two")
    return [Entrant.of(spec) for spec in specs]


def plan(entrants: Iterable[Entrant], problems: Sequence[Problem], replicates: int, seed: int) -> list[Planned]:
    """Return what is to be run: once a problem, or once a budget for a policy that is told it.

    Where a policy cannot run it is left out; one that can run nowhere is refused.
    """
    planned: list[Planned] = []
    for entrant in entrants:
        refusals: list[InvalidInput] = []
        before = len(planned)
        for problem in problems:
            planned += _settings(entrant, problem, replicates, seed, refusals)
        if len(planned) == before:
            reason = f": {refusals[0]}" if refusals else ""
            raise InvalidInput(f"--policy is {entrant.spec}, which can run on no problem of the suite{reason}")
    return planned


def _settings(
    entrant: Entrant, problem: Problem, replicates: int, seed: int, refusals: list[InvalidInput]
) -> Iterable[Planned]:
    """Yield the settings of a policy on a problem, and collect why there are fewer than there might be."""
    cells = [cell for cell in problem.cells if _makes_sense(entrant, problem, cell)]
    for read in [[cell] for cell in cells] if "budget" in entrant.told else [cells] if cells else []:
        budgets = tuple(cell.budget for cell in read)
        try:
            setting = Setting(problem.instance, problem.model, entrant.spec, max(budgets), budgets, replicates, seed)
        except InvalidInput as refusal:
            refusals.append(refusal)
        else:
            yield Planned(entrant, setting, tuple(read))


def _makes_sense(entrant: Entrant, problem: Problem, cell: Cell) -> bool:
    """Return whether a policy is more than `us` in a cell, and can tell its means apart."""
    means = problem.instance.means
    low, high = entrant.within
    return not (entrant.pulls_every_arm and cell.budget < len(means)) and low <= means.min() and means.max() <= high
