"""What the events of a study say about its holders: ratings, seconds, answers, skips, and since when they hold what."""

import statistics
import threading
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from boxthirding.study import Entry, Event, Study
from boxthirding.study.events import Asked, Created, Failed, Finished, Given, Redefined, Released, Told, Withdrawn
from boxthirding.study.pace import Pace
from boxthirding.types import Label

SKIPPED: Final = "skipped"
LATE: Final = "late"
"""Why a rater's ticket was released, in the journal."""

_SECONDS: Final = 200  # response times kept of a holder


@dataclass
class HolderTally:
    """What one holder has done."""

    told: int = 0
    skipped: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=_SECONDS))
    first: float = 0.0
    last: float = 0.0
    latest: int | None = None
    """The ticket that it told last."""

    @property
    def median(self) -> float | None:
        """The median of the latest response times."""
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def same(self) -> float | None:
        """The share of the answer given most."""
        return max(self.answers.values()) / self.answers.total() if self.answers else None


class Held(NamedTuple):
    """An open ticket with a holder."""

    ticket: int
    holder: str
    at: float


class Tally:
    """Kept up to date by listening to a study; what was before is read from its journal. Thread-safe."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._heard: deque[tuple[int, Event]] = deque()
        self._lock = threading.Lock()
        self._seq = 0
        self._labels: dict[int, Label] = {}  # of open tickets
        self._held: dict[int, Held] = {}  # those given longest ago first
        self._by_holder: dict[str, dict[int, None]] = {}  # the same, in the order in which they were given
        self.details: dict[str, Any] = {}
        self.holders: dict[str, HolderTally] = {}
        self.skips: dict[Label, set[str]] = {}
        """By arm: the holders who skipped it."""
        self.pace = Pace()
        study.listen(self.hear)

    def hear(self, seq: int, event: Event) -> None:
        """Take note of an event; it is added up when something is read."""
        self._heard.append((seq, event))

    def update(self) -> None:
        """Add up what has happened."""
        with self._lock:
            while self._heard:
                seq, event = self._heard.popleft()
                if seq > self._seq + 1:
                    self._read_up_to(seq - 1)
                if seq == self._seq + 1:
                    self._add(event)
            if self._seq == 0:
                self._read_up_to(None)

    def details_at_hand(self) -> dict[str, Any] | None:
        """Return the study's details; None, while nothing has been added up."""
        if self._seq == 0 or self._lock.locked():
            return None
        self.update()
        return self.details

    def holder(self, name: str) -> HolderTally:
        """Return what a holder has done."""
        self.update()
        return self.holders.get(name) or HolderTally()

    def held_since(self, before: float) -> list[Held]:
        """Return the tickets that were given to their holders before a moment."""
        self.update()
        with self._lock:
            late = []
            for held in self._held.values():
                if held.at >= before:
                    break
                late.append(held)
            return late

    def heard_since(self, moment: float) -> set[str]:
        """Return the holders who were given a ticket or told a result since a moment; none before all is added up."""
        if self.details_at_hand() is None:
            return set()
        with self._lock:
            heard = {holder for holder, told in self.holders.items() if told.last >= moment}
            for held in reversed(self._held.values()):
                if held.at < moment:
                    break
                heard.add(held.holder)
            return heard - {""}

    def held_by(self, holder: str) -> list[int]:
        """Return the open tickets of a holder, in the order in which they were given."""
        self.update()
        with self._lock:
            return list(self._by_holder.get(holder, ()))

    def all_holders(self) -> list[tuple[str, HolderTally]]:
        """Return every holder, the one who told last first."""
        self.update()
        with self._lock:
            return sorted(self.holders.items(), key=lambda pair: (-pair[1].last, pair[0]))

    def often_skipped(self, times: int) -> dict[Label, int]:
        """Return the arms that at least so many holders skipped."""
        self.update()
        with self._lock:
            return {label: len(holders) for label, holders in self.skips.items() if len(holders) >= times}

    def _read_up_to(self, last: int | None) -> None:
        """Read the journal after what is added up, to a number or to its end."""
        for entry in self._study.events(self._seq, damaged=True):
            if isinstance(entry, Entry):
                self._add(entry.event)
            else:
                self._seq = entry.seq  # what it says cannot be told
            if entry.seq == last:
                return

    def _add(self, event: Event) -> None:
        self._seq += 1
        self.pace.add(event)
        match event:
            case Told():
                self._told(event)
            case Asked(holder=holder, at=at, tickets=tickets):
                for ticket, label, _ in tickets:
                    self._labels[ticket] = label
                    self._hold(Held(ticket, holder, at))
            case Given(holder=holder, at=at, tickets=tickets):
                for ticket in tickets:
                    self._drop(ticket)
                    self._hold(Held(ticket, holder, at))
            case Failed(ticket=ticket):
                self._drop(ticket)
            case Released(tickets=tickets, why=why):
                for ticket in tickets:
                    self._released(ticket, why)
            case Withdrawn() | Finished():  # their open tickets can be told no more
                self._close(None if isinstance(event, Finished) else event.label)
            case Created(details=details) | Redefined(details=details) if details is not None:
                self.details = details

    def _close(self, label: Label | None) -> None:
        """Forget the open tickets of an arm, or of all."""
        for ticket in [ticket for ticket, arm in self._labels.items() if label in (None, arm)]:
            self._labels.pop(ticket, None)
            self._drop(ticket)

    def _told(self, event: Told) -> None:
        held = self._held.get(event.ticket)
        if held is None or event.holder in (None, held.holder):  # else it was late, and the ticket stays open
            self._drop(event.ticket)
            self._labels.pop(event.ticket, None)
        holder = event.holder or ("" if held is None else held.holder)
        told = self.holders.get(holder)
        if told is None:
            told = self.holders[holder] = HolderTally(first=event.at)
        told.told += 1
        told.last, told.latest = event.at, event.ticket
        details = event.details or {}
        if isinstance(answer := details.get("answer"), str):
            told.answers[answer] += 1
        if isinstance(seconds := details.get("seconds"), int | float):
            told.seconds.append(float(seconds))

    def _released(self, ticket: int, why: str) -> None:
        held = self._drop(ticket)
        if held is not None and why == SKIPPED:
            self.holders.setdefault(held.holder, HolderTally(first=held.at)).skipped += 1
            if ticket in self._labels:
                self.skips.setdefault(self._labels[ticket], set()).add(held.holder)

    def _hold(self, held: Held) -> None:
        self._held[held.ticket] = held
        self._by_holder.setdefault(held.holder, {})[held.ticket] = None

    def _drop(self, ticket: int) -> Held | None:
        held = self._held.pop(ticket, None)
        if held is not None:
            of_holder = self._by_holder[held.holder]
            of_holder.pop(ticket, None)
            if not of_holder:
                del self._by_holder[held.holder]
        return held


def unusual(told: HolderTally, typical: float | None) -> Iterator[str]:
    """Say what is unusual about a rater with some ratings, against the median seconds of all."""
    enough = 20
    if told.told < enough:
        return
    if (told.same or 0) >= 0.95:  # noqa: PLR2004  # a share
        yield "nearly always the same answer"
    if typical and told.median is not None and told.median < typical / 3:
        yield "much faster than the others"
