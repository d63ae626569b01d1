"""What the events of a study say about its holders: ratings, seconds, answers, skips, and since when they hold what.

Reading a long journal takes seconds, so what was added up is kept as a record, from which the next server goes on.
"""

import hashlib
import json
import statistics
import threading
import time
import zlib
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from boxthirding.errors import BoxThirdingError
from boxthirding.storage.server_records import Records, StoredRecord
from boxthirding.study import Entry, Event, Study
from boxthirding.study.events import Asked, Created, Failed, Finished, Given, Redefined, Released, Told, Withdrawn
from boxthirding.study.pace import Pace, seconds_of
from boxthirding.types import Label

SKIPPED: Final = "skipped"
LATE: Final = "late"  # why a rater's ticket was released, in the journal

KIND: Final = "tally"  # of the records that are tallies

_VERSION: Final = 2
_SECONDS: Final = 200  # response times kept of a holder
_LEAST: Final = 2_000  # events after which a tally is kept again; reading them takes a tenth of a second
_SHARE: Final = 8  # or this part of all events, where that is more


@dataclass
class HolderTally:
    """What one holder has done."""

    told: int = 0
    skipped: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    seconds: deque[float] = field(default_factory=lambda: deque(maxlen=_SECONDS))
    first: float = 0.0
    last: float = 0.0
    latest: int | None = None  # the ticket that it told last

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
    """Kept up to date by listening to a study; what was before is read from its record and its journal. Thread-safe."""

    def __init__(self, study: Study, records: Records | None = None) -> None:
        self._study, self._records = study, records
        self._heard: deque[tuple[int, Event]] = deque()
        self._lock = threading.Lock()
        self._seq = 0
        self._kept = 0  # the last event of what was kept
        self._labels: dict[int, Label] = {}  # of open tickets
        self._held: dict[int, Held] = {}  # those given longest ago first
        self._by_holder: dict[str, dict[int, None]] = {}  # the same, in the order in which they were given
        self.details: dict[str, Any] = {}
        self.holders: dict[str, HolderTally] = {}
        self.skips: dict[Label, set[str]] = {}  # by arm: the holders who skipped it
        self.pace = Pace()
        study.listen(self.hear)

    def hear(self, seq: int, event: Event) -> None:
        """Take note of an event; it is added up when something is read."""
        self._heard.append((seq, event))

    def update(self) -> None:
        """Add up what has happened, and keep it now and then."""
        with self._lock:
            if self._seq == 0:
                self._load()
            while self._heard:
                seq, event = self._heard.popleft()
                if seq > self._seq + 1:
                    self._read_up_to(seq - 1)
                if seq == self._seq + 1:
                    self._add(event)
            if self._seq == 0:
                self._read_up_to(None)
        if self._seq - self._kept >= max(_LEAST, self._seq // _SHARE):
            self.keep()

    def keep(self) -> None:
        """Keep what was added up; where that cannot be written, the journal has everything."""
        with self._lock, suppress(BoxThirdingError):
            if self._records is None or self._seq - self._kept < _LEAST:
                return
            self._kept = self._seq
            row = {
                "version": _VERSION,
                "check": self._study.check(self._seq),
                "seq": self._seq,
                "labels": list(self._labels.items()),
                "held": list(self._held.values()),
                "details": self.details,
                "holders": {name: {**vars(told), "seconds": list(told.seconds)} for name, told in self.holders.items()},
                "skips": [(label, sorted(holders)) for label, holders in self.skips.items()],
                "pace": self.pace.save(),
            }
            data = zlib.compress(json.dumps(row, separators=(",", ":")).encode(), 1)
            self._records.put(KIND, StoredRecord(key_of(self._study.name), time.time(), data))

    def _load(self) -> None:
        """Begin with what was kept, if the journal has gone on from there."""
        found = None if self._records is None else self._records.get(KIND, key_of(self._study.name))
        if found is None:
            return
        with suppress(ValueError, KeyError, TypeError, zlib.error):
            row = json.loads(zlib.decompress(found.data))
            if row["version"] == _VERSION and row["check"] and row["check"] == self._study.check(row["seq"]):
                self._restore(row)
                self._kept = self._seq
                self._read_up_to(None)

    def _restore(self, row: dict[str, Any]) -> None:
        holders = {}
        for name, told in row["holders"].items():
            lists = {"answers": Counter(told["answers"]), "seconds": deque(told["seconds"], _SECONDS)}
            holders[name] = HolderTally(**{**told, **lists})
        skips = {label: set(names) for label, names in row["skips"]}
        labels, held = dict(row["labels"]), [Held(*one) for one in row["held"]]
        self.pace.load(row["pace"])
        self.holders, self.skips, self._labels, self.details = holders, skips, labels, row["details"]
        for one in held:
            self._hold(one)
        self._seq = row["seq"]

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
        if isinstance(answer := (event.details or {}).get("answer"), str):
            told.answers[answer] += 1
        if (seconds := seconds_of(event)) is not None:
            told.seconds.append(seconds)

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
    """Describe what is unusual about a rater with some ratings, against the median seconds of all."""
    enough = 20
    if told.told < enough:
        return
    if (told.same or 0) >= 0.95:  # noqa: PLR2004  # a share
        yield "nearly always the same answer"
    if typical and told.median is not None and told.median < typical / 3:
        yield "much faster than the others"


def forget(records: Records, study: str) -> None:
    """Delete the keys, the rating links and the tally of a study: another of its name is another study."""
    for kind in ("key", "link"):
        for record in records.all(kind):
            if json.loads(record.data).get("study") == study:
                records.delete(kind, record.id)
    records.delete(KIND, key_of(study))


def key_of(name: str | None) -> str:
    """Return the id of the record of a study's tally."""
    return hashlib.sha256(str(name).encode(errors="backslashreplace")).hexdigest()[:32]
