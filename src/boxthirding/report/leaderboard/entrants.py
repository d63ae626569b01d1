"""Who takes part: policies, what each of them is told, and the settings to run for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from boxthirding._checks import is_number
from boxthirding.errors import InvalidInput
from boxthirding.policies import parse_policy
from boxthirding.report.leaderboard.suites import Cell, Problem
from boxthirding.sim import Setting

DEFAULT: Final = (
    "b3auto",
    "b3",
    "b3:reuse=topup",
    "us",
    "prose",
    "prose:sigma=estimated",
    "asha",
    "bsh",
    "bucb",
    "dsh",
    "sh",
    "sh:growth=1.7,mode=paper",
    "sr",
    "ucbe",
)
"""The policies that are compared unless others are named."""

MARKS: Final = {"budget": "T", "sigma": "σ", "hardness": "H"}
"""How what a policy is told is written in tables and pictures."""

_MEANT: Final = {"budget": "the budget", "sigma": "the noise", "hardness": "the hardness of the problem"}

_PULLS_EVERY_ARM: Final = frozenset({"ucbe"})
"""With fewer pulls than arms these pull no arm twice: they run, but are `us` under another name."""


@dataclass(frozen=True)
class Entrant:
    """A policy by its SPEC, and what it is told."""

    spec: str
    told: tuple[str, ...]
    """Of `MARKS`, those that the policy gets a number for."""

    @classmethod
    def of(cls, spec: str) -> "Entrant":
        """Read a SPEC, or refuse it; what a policy works out for itself it is not told."""
        policy = parse_policy(spec, budget=1_000, sigma=1.0, hardness=1.0)
        numbers = (key for key in MARKS if key in policy.told and is_number(getattr(policy, key)))
        return cls(spec, tuple(numbers))

    @property
    def marks(self) -> str:
        """Write down what it is told, in short."""
        return " ".join(MARKS[key] for key in self.told)


def marks_used(entrants: Iterable[Entrant]) -> dict[str, str]:
    """Return the marks that policies have, each with what it means.

    >>> marks_used(map(Entrant.of, ("b3", "prose", "sh")))
    {'T': 'the budget', 'σ': 'the noise'}
    """
    told = {key for entrant in entrants for key in entrant.told}
    return {MARKS[key]: meant for key, meant in _MEANT.items() if key in told}


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
    cells = [cell for cell in problem.cells if not _is_us(entrant, problem, cell)]
    for read in [[cell] for cell in cells] if "budget" in entrant.told else [cells] if cells else []:
        budgets = tuple(cell.budget for cell in read)
        try:
            setting = Setting(problem.instance, problem.model, entrant.spec, max(budgets), budgets, replicates, seed)
        except InvalidInput as refusal:
            refusals.append(refusal)
        else:
            yield Planned(entrant, setting, tuple(read))


def _is_us(entrant: Entrant, problem: Problem, cell: Cell) -> bool:
    name = entrant.spec.partition(":")[0]
    return name in _PULLS_EVERY_ARM and cell.budget < problem.instance.n_arms
