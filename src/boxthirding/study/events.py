"""What can happen to a study. Its journal is `Created` and then any of the others, in the order in which they happened.

Every event carries `at`, seconds since 1970 by the clock of whoever wrote it. Nothing is decided by it when a journal
is read again: what a clock decided stands in the event that followed, as in `Reissued`.
"""

from dataclasses import dataclass
from typing import NamedTuple

from boxthirding.types import Label


@dataclass(frozen=True, slots=True)
class Created:
    """The study was made: all that its decisions depend on, but for the rewards."""

    at: float
    origin: str
    """Marks the study's tickets, in whichever process they are handed out."""
    arms: int | tuple[Label, ...] | None
    """How many there are, or their labels; None when they come from an iterator."""
    drawn: tuple[Label, ...]
    """What the iterator gave at once."""
    policy: str
    """As a SPEC."""
    policy_version: int
    seed: int
    direction: str
    patience: int
    lease: float | None
    package: str
    """The version of boxthirding that made it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody was handed new tickets, numbered from `first` on."""

    at: float
    holder: str
    first: int
    labels: tuple[Label, ...]
    """The arm of each ticket."""
    drawn: tuple[Label, ...] = ()
    """What the iterator of arms gave on the way."""
    ended: bool = False
    """Whether that iterator came to its end."""
    short: bool = False
    """Whether more were wanted, and the rule had no more to give."""


@dataclass(frozen=True, slots=True)
class Told:
    """The result of a ticket came in."""

    at: float
    ticket: int
    reward: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A ticket could not be evaluated."""

    at: float
    ticket: int


@dataclass(frozen=True, slots=True)
class Reissued:
    """Open tickets were handed out again: failed, released, overdue, or to their holder, who had come back."""

    at: float
    holder: str
    tickets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Released:
    """Open tickets are nobody's any more, and go to whoever asks next: they, or who had them, were lost."""

    at: float
    tickets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ArmsAdded:
    """There are more arms."""

    at: float
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class ArmWithdrawn:
    """An arm was taken out of the race; those that follow from failures are not written."""

    at: float
    label: Label


@dataclass(frozen=True, slots=True)
class Paused:
    """No tickets are handed out until the study is resumed."""

    at: float


@dataclass(frozen=True, slots=True)
class Resumed:
    """Tickets are handed out again."""

    at: float


@dataclass(frozen=True, slots=True)
class Closed:
    """No more tickets are handed out, ever."""

    at: float


Event = Created | Asked | Told | Failed | Reissued | Released | ArmsAdded | ArmWithdrawn | Paused | Resumed | Closed


class Entry(NamedTuple):
    """An event and its number in the journal, counted from 1."""

    seq: int
    event: Event
