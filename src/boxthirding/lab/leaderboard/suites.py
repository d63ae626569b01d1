"""The suites: which problems policies are compared on. They are fixed, so that a result can be named by its suite."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Final

from boxthirding._checks import one_of
from boxthirding.errors import UnreadableData
from boxthirding.lab.instances import CONTESTS, Instance, contest_file, from_csv, named
from boxthirding.lab.rewards import RewardModel, parse_rewards


class Group(Enum):
    """Kinds of problems, each of which asks for something else of a policy."""

    NOISY = "noisy"
    QUIET = "quiet"
    BOUNDED = "bounded top"
    RICH = "data-rich"

    @property
    def meaning(self) -> str:
        """Say in a sentence what these problems have in common."""
        return _MEANINGS[self]


_MEANINGS: Final = {
    Group.NOISY: "captions with noise that hides most gaps: Gaussian from 0.2, Bernoulli, Kumaraswamy, votes",
    Group.QUIET: "captions with hardly any noise, or none",
    Group.BOUNDED: "the instances poly, equal and square with unit noise: no arm stands out",
    Group.RICH: "few captions for the budget: every arm can be pulled several times",
}


@dataclass(frozen=True)
class Arms:
    """Which arms: an instance by its name, or a caption contest by its number, whose file must be at hand."""

    name: str  # `captions` is contest 893 where its file is at hand, else the embedded stand-in for it
    top: int | None = None

    @property
    def title(self) -> str:
        """Say which arms these are."""
        name = f"contest {self.name}" if self.name.isdigit() else self.name
        return name if self.top is None else f"{name}, top {self.top:,}"


@dataclass(frozen=True)
class Part:
    """Cells of a suite: arms × reward models × budgets."""

    group: Group
    arms: Arms
    rewards: tuple[str, ...]
    budgets: tuple[int, ...]


@dataclass(frozen=True)
class Suite:
    """Problems under a name."""

    name: str
    meaning: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class Problem:
    """Arms with a reward model, and the budgets at which policies are compared on them."""

    group: Group
    arms: Arms
    instance: Instance
    rewards: str
    budgets: tuple[int, ...]

    @cached_property
    def model(self) -> RewardModel:
        """What a pull gives."""
        return parse_rewards(self.rewards)

    @cached_property
    def cells(self) -> tuple["Cell", ...]:
        """The problem at each of its budgets."""
        return tuple(Cell(self.group, self.arms.title, self.rewards, budget) for budget in self.budgets)


@dataclass(frozen=True)
class Cell:
    """A problem at one budget: where two policies can be compared."""

    group: Group
    arms: str
    rewards: str
    budget: int

    @property
    def title(self) -> str:
        """Say which cell this is."""
        return f"{self.arms}, {self.rewards}, T = {self.budget:,}"


BUDGETS: Final = (500, 1_000, 2_500, 5_000, 10_000)
OTHER_BUDGETS: Final = (700, 1_500, 3_500, 7_000, 20_000)
NOISY: Final = ("gaussian:0.2", "gaussian:0.5", "gaussian:1", "bernoulli", "kumaraswamy")
QUIET: Final = ("none", "gaussian:0.05")


def _captions(name: str, budgets: tuple[int, ...] = BUDGETS, more: tuple[str, ...] = ()) -> tuple[Part, ...]:
    """Return the noisy and the quiet part of a contest."""
    noisy = Part(Group.NOISY, Arms(name), NOISY + more, budgets)
    return noisy, Part(Group.QUIET, Arms(name), QUIET, budgets)


def _unit_noise(*names: str) -> tuple[Part, ...]:
    return tuple(Part(Group.BOUNDED, Arms(name), ("gaussian:1",), BUDGETS) for name in names)


_RICH: Final = tuple(
    Part(Group.RICH, Arms("captions", top), ("gaussian:0.25",), (budget,))
    for top, budget in ((128, 896), (1_024, 10_240))
)

SUITES: Final = {
    suite.name: suite
    for suite in (
        Suite(
            "standard",
            "captions, poly, equal, square and two data-rich problems; with --data the contests 872 and 830, too",
            (
                *_captions("captions"),
                *_captions("872"),
                *_captions("830"),
                *_unit_noise("poly", "equal", "square"),
                *_RICH,
            ),
        ),
        Suite(
            "selection",
            "what the rules of chase were chosen on: captions, poly, equal and two data-rich problems",
            (*_captions("captions"), *_unit_noise("poly", "equal"), *_RICH),
        ),
        Suite(
            "heldout",
            "what nothing was chosen on: contests 872 and 830, votes, square, captions at other budgets",
            (
                *_captions("872", more=("votes",)),
                *_captions("830", more=("votes",)),
                Part(Group.NOISY, Arms("893"), ("votes",), BUDGETS),
                *_captions("captions", OTHER_BUDGETS),
                *_unit_noise("square"),
            ),
        ),
    )
}


def suite_named(name: str) -> Suite:
    """Return a suite by its name."""
    one_of("suite", name, SUITES)
    return SUITES[name]


def problems_of(suite: Suite, data: Path | None = None) -> list[Problem]:
    """Return the problems of a suite; those of contests that are not in the folder `data` are left out."""
    contests = _contests_in(data)
    found = []
    for part in suite.parts:
        arms, instance = _resolved(part.arms, contests)
        if instance is not None:
            found += [Problem(part.group, arms, instance, rewards, part.budgets) for rewards in part.rewards]
    return found


def missing_contests(suite: Suite, problems: Iterable[Problem]) -> list[str]:
    """Return the contests of a suite that none of its problems has."""
    there = {problem.arms.name for problem in problems}
    asked = dict.fromkeys(part.arms.name for part in suite.parts if part.arms.name in CONTESTS)
    return [name for name in asked if name not in there]


def _contests_in(data: Path | None) -> dict[str, Path]:
    """Return the files of the contests in a folder; one that is not what its name says is refused."""
    if data is None:
        return {}
    way_out = ", or leave --data out and use the embedded captions"
    there = [number for number in CONTESTS if (data / f"{number}.csv").exists()]
    found = {number: contest_file(data, number, way_out) for number in there}
    if not found:
        names = ", ".join(f"{number}.csv" for number in CONTESTS)
        raise UnreadableData(
            f"--data is {str(data)!r}, but that folder has none of {names}: give one that has, or leave --data out"
        )
    return found


def _resolved(arms: Arms, contests: dict[str, Path]) -> tuple[Arms, Instance | None]:
    """Return the arms under the name that they have here, and their means."""
    if arms.name == "captions" and "893" in contests:
        arms = Arms("893", arms.top)
    if arms.name in contests:
        return arms, from_csv(contests[arms.name], arms.top)
    return arms, None if arms.name in CONTESTS else named(arms.name, arms.top)
