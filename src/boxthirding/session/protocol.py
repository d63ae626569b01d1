"""What everything that hands out pulls has in common: `AskTell`, and the values that its verbs take and return."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple, Protocol

from boxthirding._text import visible
from boxthirding.types import Label, Policy

PAGE: Final = 100
"""Arms that a paged call returns by default."""

VIEW_VERSION: Final = 1
"""Rises when a field of `View.as_dict()` changes its meaning or goes away."""


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


class Box(NamedTuple):
    """A page of the arms that stand in a box now, in the order in which they came, with the means they compete with."""

    level: int | None
    """None for the final, whose arms stand in their boxes too."""
    deferment: int | None
    """How often its arms were shifted at this level; None for the pile of those discarded there, and for the final."""
    size: int
    """How many arms stand in it."""
    arms: tuple[Rival, ...]


class BoxSize(NamedTuple):
    """How many arms stand in a box."""

    level: int | None
    deferment: int | None
    arms: int


@dataclass(frozen=True)
class Lineage:
    """The story of an arm: the boxes it was in, its rivals there, and where it stands now."""

    label: Label
    mean: float | None
    """Of all its results that count; None while it has none."""
    pulls: int
    steps: tuple[Step, ...]
    place: str

    def __str__(self) -> str:
        told = f"{self.pulls:,} pulls, mean {self.mean:.4g}" if self.mean is not None else "not tried yet"
        lines = [f"{visible(self.label)}: {told}" + (f"; {self.place}" if self.place else "")]
        for step in self.steps:
            where = f"  after {step.pulls:,} pulls: {step.outcome}"
            if step.rivals:
                met = ", ".join(f"{visible(rival.label)} ({rival.mean:.4g})" for rival in step.rivals)
                where += f" from box ({step.level}, {step.deferment}) with mean {step.mean:.4g}; rivals: {met}"
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
        return (
            f"{self.candidates:,}{of} arms could still be returned; "
            f"a top-{100 * self.share:g} % arm is among them with probability {percent(self.probability)}"
        )


class Glance(NamedTuple):
    """How far it was when the last call here returned; nothing is read for it."""

    pulls: int
    spent: int
    open: int
    held: int
    """Of the open tickets, those that have a holder."""
    recommendation: Recommendation | None


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
    """Arms with a result that counts."""
    withdrawn: int
    pulls: int
    """Results that count now, known ones included."""
    spent: int
    """Results that were told through tickets, ever, excluded ones too: what budgets count."""
    open: int
    """Tickets that are neither told nor void."""
    wanted: int
    """Pulls that the policy has asked for and no holder has been given."""
    holders: dict[str, int]
    """Open tickets by holder, those with the most first; tickets without a holder are not in it."""
    excluded: tuple[str, ...]
    """Holders whose results do not count."""
    recommendation: Recommendation | None
    top: tuple[Recommendation, ...]
    """The ten best arms."""
    boxes: tuple[BoxSize, ...]
    """From the lowest level up, the final last; none where the policy has no boxes."""
    screening: Screening | None
    """For the best 1 % of all arms; None where known results have put some arms first."""
    per_minute: float | None
    """Results a minute over the latest hundred; None where no clock is read, or with fewer than two results."""

    def as_dict(self) -> dict[str, Any]:
        """Return the view as plain values for JSON, with the version of their meaning."""
        best = None if self.recommendation is None else self.recommendation._asdict()
        return {
            "version": VIEW_VERSION,
            **{name: getattr(self, name) for name in _PLAIN},
            "excluded": list(self.excluded),
            "recommendation": best,
            "top": [arm._asdict() for arm in self.top],
            "boxes": [box._asdict() for box in self.boxes],
            "screening": None if self.screening is None else asdict(self.screening),
        }


_PLAIN: Final = (
    *("name", "status", "policy", "seed", "direction", "arms", "tried", "withdrawn", "pulls", "spent", "open"),
    *("wanted", "holders", "per_minute"),
)


class AskTell(Protocol):
    """The verbs of a session: `find_best`, the command line and the integrations are written against these alone."""

    @property
    def seed(self) -> int:
        """What decides the order of arms and examples."""

    @property
    def policy(self) -> Policy:
        """What decides which arm is next."""

    @property
    def examples(self) -> int | None:
        """How many different pulls an arm has; None without end."""

    def ask(
        self, n: int = 1, *, holder: str | None = None, unseen: bool = False, limit: int | None = None
    ) -> list[Ticket]:
        """Return up to n tickets for a holder; fewer when the policy needs a result first."""

    def tell(
        self,
        ticket: int | Ticket,
        reward: float,
        *,
        holder: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the result of a ticket."""

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated: it is given out again, or its arm withdrawn in the end."""

    def held(self, holder: str | None = None) -> list[Ticket]:
        """Return the open tickets of a holder."""

    def release(self, *tickets: int | Ticket, holder: str | None = None) -> list[int]:
        """Take open tickets from their holders, so that the next to ask is given them; return their ids."""

    def worker(self) -> str:
        """Return a holder's name that is ours alone for as long as this process lives."""

    def reclaim(self) -> int:
        """Release the tickets of workers that have ended; return how many."""

    def observe(self, label: Label, reward: float, *, pull: int | None = None) -> None:
        """Take a known result of an arm, without a ticket."""

    def observe_all(self, results: "Known") -> None:
        """Take known results of many arms, all or none of them."""

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        """Replace the reward of a ticket that was told."""

    def exclude(self, holder: str) -> int:
        """Let the results of a holder not count; return how many."""

    def include(self, holder: str) -> int:
        """Let the results of an excluded holder count again; return how many."""

    def use(self, policy: Policy | str) -> None:
        """Go on with another policy, which starts from every result that counts."""

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms."""

    def withdraw(self, label: Label) -> None:
        """Take an arm out of the race for good."""

    def recommend(self) -> Recommendation | None:
        """Return the best arm so far, or None before the first result."""

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms so far, best first."""

    def arms(
        self, first: int = 0, count: int = PAGE, *, order: str = "best", search: str | None = None
    ) -> list[ArmSummary]:
        """Return a page of the arms that were tried, or of all of them."""

    def boxes(self, level: int | str | None = None, first: int = 0, count: int = PAGE) -> list[Box]:
        """Return the boxes of a level, or of all, each with a page of its arms."""

    def payload(self, label: Label) -> Any:
        """Return what was given as an arm; its label, where nothing else was."""

    def why(self, label: Label) -> Lineage:
        """Return the story of an arm."""

    def screening(self, share: float) -> Screening | None:
        """Return the chance that an arm of the best `share` is among those that could still be returned."""

    def view(self) -> View:
        """Return all that can be read, at one moment."""

    def glance(self) -> Glance:
        """Return the counts and the answer as they were when the last call here returned."""


Known = Mapping[Label, Any] | Iterable[tuple[Label, float]]
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
