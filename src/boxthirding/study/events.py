"""The events of a study. Its journal is `Created` and then any of the others, in the order in which they happened.

What a clock decided is in the event that followed, as in `Given`: nothing is decided by times when a journal is read
again.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from boxthirding.types import Label

Payloads: TypeAlias = tuple[dict[str, Any] | None, ...]
"""By arm, what was given as it: None for its label, {"json": value}, or {"digest": text} for what JSON cannot hold."""

Labels: TypeAlias = range | tuple[Label, ...]  # the labels of arms, as a range where they are one


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a study."""

    at: float  # seconds since 1970, by the clock of the process that wrote it


@dataclass(frozen=True, slots=True)
class Created(Event):
    """The study was made: all that its decisions depend on, but for the rewards."""

    origin: str  # marks the study's tickets, in whichever process they are handed out
    arms: Labels | None  # their labels; None when they come from an iterator
    policy: str  # as a SPEC
    policy_version: int
    seed: int
    direction: str
    patience: int
    package: str  # the version of boxthirding that made it
    payloads: Payloads | None = None  # none, if every arm is its own label
    drawn: tuple[Label, ...] = ()  # what the iterator gave at once
    drawn_payloads: Payloads | None = None
    lease: float | None = None
    examples: int | None = None  # how many different pulls an arm has; None without end
    details: dict[str, Any] | None = None  # what else must stay the same, such as the command that scores an arm


@dataclass(frozen=True, slots=True)
class Asked(Event):
    """A holder was handed new tickets."""

    holder: str
    tickets: tuple[tuple[int, Label, int], ...]  # the id, label and pull of each
    unseen: bool = False  # whether the holder asked for arms that it was never handed
    short: bool = False  # whether it asked for more, and the rule had no more to give
    introduced: tuple[Label, ...] = ()  # arms that the rule introduced, in order, where the tickets alone do not tell
    drawn: tuple[Label, ...] = ()  # what the iterator of arms gave
    drawn_payloads: Payloads | None = None
    ended: bool = False  # whether that iterator came to its end
    unscheduled: int = 0  # how many of the tickets, the last ones, belong to no job: their results are amended


@dataclass(frozen=True, slots=True)
class Given(Event):
    """Open tickets were given to a holder: they had none, or their lease had run out."""

    holder: str
    tickets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Told(Event):
    """The result of a ticket came in."""

    ticket: int
    reward: float
    holder: str | None = None  # who told it; None for the ticket's holder
    details: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Failed(Event):
    """A ticket could not be evaluated."""

    ticket: int


@dataclass(frozen=True, slots=True)
class Released(Event):
    """Open tickets were taken from their holders, and go to the next who asks."""

    tickets: tuple[int, ...]
    why: str = ""  # empty, if it was asked for; else the cause: a rater skipped the arm, or its lease has run out


@dataclass(frozen=True, slots=True)
class Observed(Event):
    """Results became known without a ticket."""

    results: tuple[tuple[Label, float, int | None], ...]  # label, reward and, with examples, the pull


@dataclass(frozen=True, slots=True)
class Corrected(Event):
    """The reward of a ticket that was told was replaced."""

    ticket: int
    reward: float


@dataclass(frozen=True, slots=True)
class Excluded(Event):
    """All results of a holder were excluded, past and future."""

    holder: str


@dataclass(frozen=True, slots=True)
class Included(Event):
    """The results of an excluded holder were included again."""

    holder: str


@dataclass(frozen=True, slots=True)
class Switched(Event):
    """Another policy, or a newer version of its rule, decides from now on; it starts from every result that counts."""

    policy: str
    policy_version: int
    why: str
    package: str


@dataclass(frozen=True, slots=True)
class Added(Event):
    """Arms were added."""

    labels: tuple[Label, ...]
    payloads: Payloads | None = None


@dataclass(frozen=True, slots=True)
class Withdrawn(Event):
    """An arm was withdrawn."""

    label: Label
    why: str = ""  # empty, if it was asked for; else the cause, such as failures in a row


@dataclass(frozen=True, slots=True)
class Redefined(Event):
    """What was given as some arms, or what else must stay the same, was replaced."""

    labels: tuple[Label, ...] = ()
    payloads: Payloads | None = None
    details: dict[str, Any] | None = None
    example_payloads: Payloads | None = None
    """The examples, by the pull that sees them; the first time, they were not known before."""


@dataclass(frozen=True, slots=True)
class Paused(Event):
    """No tickets are handed out until the study is resumed."""


@dataclass(frozen=True, slots=True)
class Resumed(Event):
    """Tickets are handed out again."""


@dataclass(frozen=True, slots=True)
class Finished(Event):
    """No more tickets are handed out, ever."""


KINDS: Final[dict[str, type[Event]]] = {
    kind.__name__.lower(): kind
    for kind in (
        *(Created, Asked, Given, Told, Failed, Released, Observed, Corrected, Excluded, Included, Switched, Added),
        *(Withdrawn, Redefined, Paused, Resumed, Finished),
    )
}
"""Events as a journal calls them."""


class Entry(NamedTuple):
    """An event and its number in the journal, counted from 1."""

    seq: int
    event: Event


class Damaged(NamedTuple):
    """An event of a journal that cannot be read: its number, its text and what is wrong with it."""

    seq: int
    text: str
    problem: str
