"""What can happen to a study. Its journal is `Created` and then any of the others, in the order in which they happened.

Every event carries `at`, seconds since 1970 by the clock of the process that wrote it. Nothing is decided by it when a
journal is read again: what a clock decided is in the event that followed, as in `Given`.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from boxthirding.types import Label

Payloads: TypeAlias = tuple[dict[str, Any] | None, ...]
"""By arm, what was given as it: None for its label, {"json": value}, or {"digest": text} for what JSON cannot hold."""

Labels: TypeAlias = range | tuple[Label, ...]
"""The labels of arms, as a range where they are one."""


@dataclass(frozen=True, slots=True)
class Created:
    """The study was made: all that its decisions depend on, but for the rewards."""

    at: float
    origin: str
    """Marks the study's tickets, in whichever process they are handed out."""
    arms: Labels | None
    """Their labels; None when they come from an iterator."""
    policy: str
    """As a SPEC."""
    policy_version: int
    seed: int
    direction: str
    patience: int
    package: str
    """The version of boxthirding that made it."""
    payloads: Payloads | None = None
    """None, if every arm is its own label."""
    drawn: tuple[Label, ...] = ()
    """What the iterator gave at once."""
    drawn_payloads: Payloads | None = None
    lease: float | None = None
    examples: int | None = None
    """How many different pulls an arm has; None without end."""
    details: dict[str, Any] | None = None
    """What else must stay the same, such as the command that scores an arm."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A holder was handed new tickets."""

    at: float
    holder: str
    tickets: tuple[tuple[int, Label, int], ...]
    """The id, label and pull of each."""
    unseen: bool = False
    """Whether the holder was to have only arms that it was never handed."""
    short: bool = False
    """Whether more were wanted, and the rule had no more to give."""
    met: tuple[Label, ...] = ()
    """Arms that the rule met on the way, in order, where the tickets alone do not tell."""
    drawn: tuple[Label, ...] = ()
    """What the iterator of arms gave on the way."""
    drawn_payloads: Payloads | None = None
    ended: bool = False
    """Whether that iterator came to its end."""
    extra: int = 0
    """How many of the tickets, the last ones, no job asked for: their results are amended."""


@dataclass(frozen=True, slots=True)
class Given:
    """Open tickets were given to a holder: they had none, or their lease had run out."""

    at: float
    holder: str
    tickets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """The result of a ticket came in."""

    at: float
    ticket: int
    reward: float
    holder: str | None = None
    """Who told it; None for the ticket's holder."""
    details: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A ticket could not be evaluated."""

    at: float
    ticket: int


@dataclass(frozen=True, slots=True)
class Released:
    """Open tickets have no holder any more, and go to the next who asks."""

    at: float
    tickets: tuple[int, ...]
    why: str = ""
    """Empty, if it was asked for; else what led to it: a rater skipped the arm, or its lease has run out."""


@dataclass(frozen=True, slots=True)
class Observed:
    """Results are known without a ticket."""

    at: float
    results: tuple[tuple[Label, float, int | None], ...]
    """Label, reward and, with examples, the pull."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """The reward of a ticket that was told is another one."""

    at: float
    ticket: int
    reward: float


@dataclass(frozen=True, slots=True)
class Excluded:
    """The results of a holder do not count, those told and those still to come."""

    at: float
    holder: str


@dataclass(frozen=True, slots=True)
class Included:
    """The results of an excluded holder count again."""

    at: float
    holder: str


@dataclass(frozen=True, slots=True)
class TakenOver:
    """Another policy, or a newer version of its rule, decides from now on; it starts from every result that counts."""

    at: float
    policy: str
    policy_version: int
    why: str
    package: str


@dataclass(frozen=True, slots=True)
class ArmsAdded:
    """There are more arms."""

    at: float
    labels: tuple[Label, ...]
    payloads: Payloads | None = None


@dataclass(frozen=True, slots=True)
class ArmWithdrawn:
    """An arm was taken out of the race."""

    at: float
    label: Label
    why: str = ""
    """Empty, if it was asked for; else what led to it, such as failures in a row."""


@dataclass(frozen=True, slots=True)
class Redefined:
    """What was given as some arms, or what else must stay the same, is another thing from now on."""

    at: float
    labels: tuple[Label, ...] = ()
    payloads: Payloads | None = None
    details: dict[str, Any] | None = None
    example_payloads: Payloads | None = None
    """What the examples are, by the pull that sees them; the first time, it was not known before."""


@dataclass(frozen=True, slots=True)
class Paused:
    """No tickets are handed out until the study is resumed."""

    at: float


@dataclass(frozen=True, slots=True)
class Resumed:
    """Tickets are handed out again."""

    at: float


@dataclass(frozen=True, slots=True)
class Finished:
    """No more tickets are handed out, ever."""

    at: float


Event: TypeAlias = (
    Created
    | Asked
    | Given
    | Told
    | Failed
    | Released
    | Observed
    | Corrected
    | Excluded
    | Included
    | TakenOver
    | ArmsAdded
    | ArmWithdrawn
    | Redefined
    | Paused
    | Resumed
    | Finished
)


KINDS: Final[dict[str, type[Any]]] = {
    "created": Created,
    "asked": Asked,
    "given": Given,
    "told": Told,
    "failed": Failed,
    "released": Released,
    "observed": Observed,
    "corrected": Corrected,
    "excluded": Excluded,
    "included": Included,
    "taken over": TakenOver,
    "added": ArmsAdded,
    "withdrawn": ArmWithdrawn,
    "redefined": Redefined,
    "paused": Paused,
    "resumed": Resumed,
    "finished": Finished,
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
