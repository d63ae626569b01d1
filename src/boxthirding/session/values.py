"""The values that the verbs of `AskTell` take and return."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from typing import Any, Final, NamedTuple

from boxthirding._text import counted, visible, writer, written
from boxthirding.policies.lineage import BoxSize
from boxthirding.types import Label

PAGE: Final = 100
"""Arms that a paged call returns by default."""

VIEW_VERSION: Final = 1
"""Rises when a field of `View.as_dict()` changes its meaning or goes away.

A new field needs a default, which clients use when an older server does not send it.
"""

BY_CLOCK: Final = frozenset({"per_minute"})
"""Fields of a view that depend on when results came: None in a session, which reads no clock."""


class _Pull(NamedTuple):
    id: int
    arm: int
    """The arm's number in this session, in the random order in which arms are tried."""
    label: Label
    pull: int
    """Which pull of its arm this is, counted from 0; with examples, which example."""
    payload: Any
    """What was given as the arm, where that is not the label itself."""


class Ticket(_Pull):
    """One pull, handed to a holder: evaluate the arm once and tell the result under the ticket's id.

    Its fields are `id`, `arm` (the arm's number in this session), `label`, `pull` (which pull of its arm this is,
    counted from 0; it stays the same when the ticket is given to another holder) and `payload` (what was given as the
    arm).
    """

    origin: str | None = None
    """The session that issued it; no part of its value, so that equal runs give equal tickets."""


class Recommendation(NamedTuple):
    """The arm to take if you stop now."""

    label: Label
    mean: float
    """Of all its results that count."""
    pulls: int
    level: int | None
    """How far it has risen, where the policy has levels."""


class ArmSummary(NamedTuple):
    """One arm, as paged lists show it."""

    label: Label
    mean: float | None
    """Of all its results that count; None while it has none."""
    pulls: int
    level: int | None
    withdrawn: bool


class ArmResult(NamedTuple):
    """One result of an arm, as it stands now."""

    ticket: int | None
    """None for a known result, and for one that came after its ticket was told by another holder."""
    pull: int
    """Which pull of the arm it is of; with examples, the place of its example in their order."""
    holder: str
    """Who told it; empty for a known result."""
    reward: float
    """As it was told."""
    counts: bool
    """False while its holder is excluded, and for an outlier."""


class Outlier(NamedTuple):
    """A result that is excluded as an outlier. Correct its ticket, and it counts."""

    label: Label
    pull: int
    reward: float
    holder: str
    """Who told it; empty for a known result."""
    ticket: int | None
    """None for a known result, and for one that came after its ticket was told by another holder."""


class Rival(NamedTuple):
    """An arm in a box, as it was at that moment."""

    label: Label
    mean: float
    pulls: int


class Step(NamedTuple):
    """Something that happened to an arm."""

    pulls: int
    """Results of the whole session at that moment."""
    outcome: str
    """introduced, lifted, shifted or discarded."""
    level: int
    deferment: int
    mean: float
    own_pulls: int
    rivals: tuple[Rival, ...]

    def __str__(self) -> str:
        when = f"after {counted(self.pulls, 'pull')}: {self.outcome}"
        if not self.rivals:
            return f"{when} at level {self.level}"
        write = writer([self.mean, *(rival.mean for rival in self.rivals)])
        rivals = ", ".join(f"{visible(rival.label)} ({write(rival.mean)})" for rival in self.rivals)
        return f"{when} from box ({self.level}, {self.deferment}) with mean {write(self.mean)}; rivals: {rivals}"


class Box(NamedTuple):
    """A page of the arms that stand in a box now, in the order in which they came, with the means they compete with."""

    level: int
    deferment: int | None
    """How often its arms were shifted at this level; None for the pile of those discarded there."""
    size: int
    """How many arms stand in it."""
    arms: tuple[Rival, ...]


class Climber(NamedTuple):
    """An arm on the ladder."""

    label: Label
    mean: float
    """Of all its results that count."""
    pulls: int
    standing: str
    """leads, for the recommended arm; keeps up, for one that keeps up with it, if the policy is `chase`; else empty."""


class Rung(NamedTuple):
    """A page of the arms with `fewest` to `most` pulls: the recommended one, those that keep up, the best by mean."""

    fewest: int
    most: int
    size: int
    """How many arms stand on it."""
    keep_up: int | None
    """How many of them keep up with the leader, which is not counted; None, unless the policy is `chase`."""
    arms: tuple[Climber, ...]


def folded(ladder: Iterable[Rung]) -> list[Rung]:
    """Return a ladder as it is drawn: empty rungs that follow each other are one.

    >>> [rung[:3] for rung in folded([Rung(1, 1, 7, 0, ()), Rung(2, 2, 0, 0, ()), Rung(3, 4, 0, 0, ())])]
    [(1, 1, 7), (2, 4, 0)]
    """
    found: list[Rung] = []
    for rung in ladder:
        if found and found[-1].size == rung.size == 0:
            found[-1] = found[-1]._replace(most=rung.most)
        else:
            found.append(rung)
    return found


@dataclass(frozen=True, repr=False)
class Lineage:
    """The story of an arm: the boxes it was in, its rivals there, and where it stands now."""

    label: Label
    mean: float | None
    """Of all its results that count; None while it has none."""
    pulls: int
    steps: tuple[Step, ...]
    place: str
    """Where it stands: that it is the answer or keeps up with it, and its box, with `b3`; empty for any other arm."""

    def lines(self) -> list[str]:
        """Return the story a line each: how the arm does, and its steps."""
        told = "not tried yet" if self.mean is None else f"{counted(self.pulls, 'pull')}, mean {written(self.mean)}"
        return [f"{told}; {self.place}" if self.place else told, *map(str, self.steps)]

    def __repr__(self) -> str:
        return f"{visible(self.label)}: " + "\n  ".join(self.lines())


@dataclass(frozen=True)
class Screening:
    """The chance that a good arm is among those that could still be returned: a number, and a sentence."""

    probability: float
    candidates: int
    arms: int | None
    """How many arms there are; None while an iterator may give more."""
    share: float
    """What counts as good: the best `share` of all arms."""

    def __float__(self) -> float:
        return self.probability

    def __str__(self) -> str:
        if self.arms and self.candidates == self.arms:
            return f"all {self.arms:,} arms are in the race" if self.arms > 1 else "the only arm is in the race"
        of = counted(self.candidates, "arm") if self.arms is None else f"{self.candidates:,} of {self.arms:,} arms"
        is_one = self.arms is not None and self.share * self.arms < 2  # noqa: PLR2004  # so few that only one is meant
        good = "the best of all" if is_one else f"one of the best {100 * self.share:g} %"
        race = f"is in the race: it is {good}" if self.candidates == 1 else f"are in the race: {good} is among them"
        return f"{of} {race} with probability {percent(self.probability)}"


class Moments(NamedTuple):
    """The results of one arm in four numbers."""

    pulls: int
    mean: float
    squares: float
    """The sum of the squared distances from the mean."""
    skewness: float
    """The mean cubed distance from the mean, in deviations; 0 if results do not differ."""


FEW_ANSWERS: Final = 5
"""Different results, above which nothing is said of which there are."""


class Spread(NamedTuple):
    """How far results lie from the mean of their arm."""

    squares: float
    """The sum of the squared distances, over all results that count."""
    freedom: int
    """How many results there are beyond the first of each arm."""
    answers: frozenset[float] | None
    """The different results, such as 0 and 1; None, if there are more than five."""
    arms: dict[Label, Moments]
    """Some arms, by label."""
    examples: int | None = None
    """How many there are, if an arm that has seen them all is known exactly."""


class Moment(NamedTuple):
    """What the answer was at some moment."""

    results: int
    """Results by then, also those that do not count."""
    label: Label
    """The best arm then."""
    mean: float
    """Of that arm, then."""
    tried: int
    """Arms with a result by then."""
    at: float | None
    """When, in seconds since 1970; None in a session, which reads no clock for it."""


class Difficulty(NamedTuple):
    """How hard an example is, beside the other examples that were seen."""

    pull: int
    """The place of the example in the order of the examples."""
    difficulty: float
    """By how much results on it are worse than on an average example: their level, arms being equal."""
    error: float
    """The standard error of the difficulty."""
    mean: float
    """Of the results on it, as they were told."""
    arms: int
    """How many arms have seen it."""
    discrimination: float
    """How clearly it tells good arms from bad ones: 1 for an average example, 0 for one that does not."""


class Glance(NamedTuple):
    """How far it was when the last call here returned; nothing is read for it."""

    pulls: int
    spent: int
    open: int
    held: int
    """Of the open tickets, those that have a holder."""
    recommendation: Recommendation | None


def in_brief(arms: int | None, policy: str, pulls: int) -> str:
    """Describe in few words how far a session or study is; arms is None while an iterator may give more."""
    several = "arms from an iterator" if arms is None else counted(arms, "arm")
    return f"{several}, policy {policy}, {counted(pulls, 'pull')}"


@dataclass(frozen=True)
class View:
    """All that can be read of a session or study at one moment. It does not grow with the number of arms."""

    name: str | None
    status: str
    """One of open, paused, finished; known, when every example has been evaluated for all that matters."""
    policy: str
    """As a SPEC, where it has one."""
    seed: int
    direction: str
    arms: int | None
    """How many there are; None while an iterator may give more."""
    tried: int
    """Arms with a result that counts, withdrawn ones too."""
    untried: int | None
    """Arms that are there and have no result that counts; None while an iterator may give more."""
    withdrawn: int
    pulls: int
    """Results that count now, known ones included."""
    spent: int
    """Results that were told through tickets, ever, excluded ones too: what budgets count."""
    open: int
    """Tickets that are neither told nor void."""
    queued: int
    """Pulls that the policy has asked for and no holder has been given."""
    holders: dict[str, int]
    """Open tickets by holder, those with the most first; tickets without a holder are not in it."""
    excluded: tuple[str, ...]
    """Holders whose results do not count."""
    n_outliers: int
    """Results that the policy has excluded as outliers."""
    outliers: tuple[Outlier, ...]
    """The ten latest of them."""
    recommendation: Recommendation | None
    top: tuple[Recommendation, ...]
    """The ten best arms."""
    boxes: tuple[BoxSize, ...]
    """From the lowest level up; none where the policy has no boxes."""
    screening: Screening | None
    """For the best 1 % of all arms; None where known results have put some arms first."""
    per_minute: float | None
    """Results a minute over the latest hundred; None where no clock is read, or with fewer than two results."""

    def as_dict(self) -> dict[str, Any]:
        """Return the view as plain values for JSON, with the version of their meaning."""
        return {"version": VIEW_VERSION, **as_plain(self)}


def as_plain(value: Any) -> Any:
    """Return a value of this file as JSON has it: tuples with names and data classes as dictionaries, others as lists.

    >>> as_plain([Recommendation("ann", 0.5, 2, None)])
    [{'label': 'ann', 'mean': 0.5, 'pulls': 2, 'level': None}]
    """
    if is_dataclass(value):
        return {name: as_plain(part) for name, part in vars(value).items()}
    if isinstance(value, dict):
        return {name: as_plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        parts = [*map(as_plain, value)]
        return dict(zip(value._fields, parts, strict=True)) if hasattr(value, "_fields") else parts
    return value


class KnownResult(NamedTuple):
    """A result without a ticket."""

    label: Label
    reward: float
    pull: int | None


Details = Mapping[str, Any]
"""A small JSON object that is kept with a result, or with a study."""

Known = Mapping[Label, Any] | Iterable[tuple[Label, float]] | list[KnownResult]
"""Known results: a mapping of labels to a reward, a list of rewards, or a mapping of pulls to rewards; or pairs."""


def percent(probability: float) -> str:
    """Return a probability as a percentage that rounds neither 'almost 1' nor 'almost 0' to certainty.

    >>> percent(0.5), percent(0.999933), percent(1.0), percent(2e-9)
    ('50 %', '99.993 %', '100 %', '0.0000002 %')
    """
    share = 100 * probability
    if probability in (0.0, 1.0) or 1 <= share <= 99:  # noqa: PLR2004  # no digits are needed
        return f"{share:.0f} %"
    digits = 1
    while digits < _DIGITS and float(f"{share:.{digits}f}") in (0.0, 100.0):
        digits += 1
    digits = min(_DIGITS, digits + (1 if share > 99 else 0))  # noqa: PLR2004
    text = f"{share:.{digits}f}"
    if float(text) == 100.0:  # noqa: PLR2004
        return f"over {'99.' + '9' * _DIGITS} %"
    return f"{text} %" if float(text) else f"under {10.0**-_DIGITS:.{_DIGITS}f} %"


_DIGITS: Final = 7
