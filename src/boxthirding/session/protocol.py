"""What everything that hands out pulls has in common: `Session`, and whatever behaves like one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from boxthirding.types import Label


class _Pull(NamedTuple):
    id: int
    arm: int
    """The arm's number in this session, in the random order in which arms are met."""
    label: Label
    pull: int
    """Which pull of its arm this is, counted from 0: the same for a ticket that is issued again."""
    payload: Any
    """What was given as the arm, where that is not the label itself."""


class Ticket(_Pull):
    """One pull, handed to somebody: evaluate the arm once and tell the result under the ticket's id.

    Its fields are `id`, `arm` (the arm's number in this session), `label`, `pull` (which pull of its arm this is,
    counted from 0, the same for a ticket that is issued again) and `payload` (what was given as the arm).
    """

    origin: str | None = None
    """Who issued it; no part of its value, so that equal runs give equal tickets."""


class Recommendation(NamedTuple):
    """The arm to take if you stop now."""

    label: Label
    mean: float
    """Of all the rewards told for it."""
    pulls: int
    level: int | None
    """How far it has risen, where the policy has levels."""


class Rival(NamedTuple):
    """An arm in a box with another one, as it was at that moment."""

    label: Label
    mean: float
    pulls: int


class Step(NamedTuple):
    """Something that happened to an arm."""

    pulls: int
    """Pulls of the whole session at that moment."""
    outcome: str
    """introduced, lifted, shifted or discarded."""
    level: int
    deferment: int
    mean: float
    own_pulls: int
    rivals: tuple[Rival, ...]


class Box(NamedTuple):
    """The arms that stand in a box now, in the order in which they came, each with the mean it competes with."""

    level: int | None
    """None for the final, whose arms stand in their boxes too."""
    deferment: int | None
    """How often its arms were shifted at this level; None for the pile of those discarded there, and for the final."""
    arms: tuple[Rival, ...]


@dataclass(frozen=True)
class Lineage:
    """The story of an arm: the boxes it was in, whom it met there, and where it stands now."""

    label: Label
    mean: float | None
    """Of all its rewards; None while it has none."""
    pulls: int
    steps: tuple[Step, ...]
    place: str

    def __str__(self) -> str:
        told = f"{self.pulls:,} pulls, mean {self.mean:.4g}" if self.mean is not None else "not pulled yet"
        lines = [f"{self.label}: {told}" + (f"; {self.place}" if self.place else "")]
        for step in self.steps:
            where = f"  after {step.pulls:,} pulls: {step.outcome}"
            if step.rivals:
                met = ", ".join(f"{rival.label} ({rival.mean:.4g})" for rival in step.rivals)
                where += f" from box ({step.level}, {step.deferment}) with mean {step.mean:.4g}; met {met}"
            else:
                where += f" at level {step.level}"
            lines.append(where)
        return "\n".join(lines)


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
        of = f" of {self.arms:,}" if self.arms is not None else ""
        chance = _chance(self.probability)
        return (
            f"{self.candidates:,}{of} arms could still be returned; "
            f"a top-{100 * self.share:g} % arm is among them with probability {chance}"
        )


class AskTell(Protocol):
    """The verbs of a session; `find_best` and the command line are written against these alone."""

    @property
    def pulls(self) -> int:
        """How many results have been told."""

    @property
    def waiting(self) -> int:
        """How many tickets are out."""

    def ask(self, n: int = 1) -> list[Ticket]:
        """Return up to n tickets; fewer when the policy needs a result first."""

    def tell(self, ticket: int | Ticket, reward: float) -> None:
        """Take the result of a ticket."""

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated: it is issued again, or its arm withdrawn in the end."""

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms."""

    def withdraw(self, label: Label) -> None:
        """Take an arm out of the race for good."""

    def recommend(self) -> Recommendation | None:
        """Return the best arm so far, or None before the first result."""

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms so far, best first."""

    def why(self, label: Label) -> Lineage:
        """Return the story of an arm."""

    def screening(self, share: float) -> Screening:
        """Return the chance that an arm of the best `share` is among those that could still be returned."""


def _chance(probability: float) -> str:
    """Write a probability so that neither 'almost 1' nor 'almost 0' is rounded to certainty."""
    if 0 < probability < 0.001:  # noqa: PLR2004  # three digits are shown
        return f"{probability:.1e}"
    if 0.999 < probability < 1:  # noqa: PLR2004
        return f"1 - {1 - probability:.1e}" if probability < 1 - 1e-12 else "1 - 1e-12 or more"
    return f"{probability:.3f}"
