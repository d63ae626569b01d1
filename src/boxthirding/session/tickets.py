"""The tickets of a session: which are open, who holds or held them, and which pulls and arms were handed out."""

import os
import re
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np

from boxthirding.errors import AlreadyTold, ArmWithdrawn, InvalidInput, TicketRefused, UnknownTicket
from boxthirding.session.job_queue import Job, JobQueue
from boxthirding.session.labels import Labels
from boxthirding.session.ledger import Ledger
from boxthirding.session.values import Ticket
from boxthirding.types import NONE, Label

OPEN: Final = -1
VOID: Final = -2


@dataclass(slots=True, eq=False)
class OpenTicket:
    """A ticket that is neither told nor void."""

    ticket: Ticket
    job: Job | None
    """None for an unscheduled ticket, and for one whose rule has been replaced: its result is amended."""
    holder: str | None
    at: float
    """When it was given to its holder, by the caller's clock."""


class Tickets:
    """Every ticket that was ever issued: the open ones, and of the others what became of them."""

    def __init__(self, origin: str | None, labels: Labels, ledger: Ledger, jobs: JobQueue) -> None:
        self._labels, self._ledger, self._jobs = labels, ledger, jobs
        self.origin = os.urandom(8).hex() if origin is None else origin
        """Marks the tickets of this session; nothing is decided by it."""
        self.open: dict[int, OpenTicket] = {}
        self.free: dict[int, None] = {}
        """Open tickets without a holder, the longest waiting first."""
        self.by_holder: dict[str, dict[int, None]] = {}
        """Open tickets by holder, in the order in which they were given; holders may have none."""
        self.earlier: dict[int, list[str]] = {}
        """Of tickets that were given more than once: earlier holders who have not told it."""
        self.ended = array("q")
        """By ticket: OPEN, VOID, or the ledger's row of its result."""
        self._seen: dict[str, set[int]] | None = None  # by holder: the arms that it was ever handed

    @property
    def held_by(self) -> dict[str, int]:
        """How many open tickets each holder has, those with the most first, and equals by name."""
        held = [(holder, len(ids)) for holder, ids in self.by_holder.items() if ids]
        return dict(sorted(held, key=lambda item: (-item[1], item[0])))

    def cut(self, arm: int, label: Label, pull: int, payload: Any, job: Job | None, holder: str, at: float) -> Ticket:
        """Issue the next ticket to a holder."""
        ticket_id = len(self.ended)
        ticket = _new(Ticket, (ticket_id, arm, label, pull, payload))
        ticket.origin = self.origin
        self.ended.append(OPEN)
        self.open[ticket_id] = OpenTicket(ticket, job, holder, at)
        self.by_holder.setdefault(holder, {})[ticket_id] = None
        if self._seen is not None:
            self._seen.setdefault(holder, set()).add(arm)
        return ticket

    def give(self, ticket_id: int, holder: str, at: float) -> Ticket:
        """Give an open ticket to another holder, or to the same one again."""
        entry = self.open[ticket_id]
        self.take_back(ticket_id)
        earlier = self.earlier.get(ticket_id)
        if earlier is not None and holder in earlier:
            earlier.remove(holder)
        entry.holder, entry.at = holder, at
        del self.free[ticket_id]
        self.by_holder.setdefault(holder, {})[ticket_id] = None
        if self._seen is not None:
            self._seen.setdefault(holder, set()).add(entry.ticket.arm)
        return entry.ticket

    def take_back(self, ticket_id: int) -> None:
        """Take an open ticket from its holder: the next one who asks is given it."""
        entry = self.open[ticket_id]
        if entry.holder is not None:
            self.earlier.setdefault(ticket_id, []).append(entry.holder)
            del self.by_holder[entry.holder][ticket_id]
            entry.holder = None
        self.free[ticket_id] = None

    def close(self, ticket_id: int, became: int) -> None:
        """End a ticket: VOID, or told with the ledger's row."""
        entry = self.open.pop(ticket_id)
        if entry.holder is not None:
            del self.by_holder[entry.holder][ticket_id]
        else:
            del self.free[ticket_id]
        self.ended[ticket_id] = became
        if became == VOID:
            self.earlier.pop(ticket_id, None)

    def void(self, arm: int) -> None:
        """Make the open tickets of a withdrawn arm void."""
        for ticket_id in [ticket_id for ticket_id, entry in self.open.items() if entry.ticket.arm == arm]:
            self.close(ticket_id, VOID)

    def has_told(self, ticket_id: int, holder: str) -> None:
        """Note that a holder, who may have lost the ticket before, has told it."""
        earlier = self.earlier.get(ticket_id, [])
        if holder in earlier:
            earlier.remove(holder)
        if not earlier:
            self.earlier.pop(ticket_id, None)

    def to_give(
        self, n: int, holder: str, now: float, lease: float | None, limit: int | None, *, unseen: bool
    ) -> list[int]:
        """Return up to n open tickets for a holder: those without one, then overdue ones, the longest held first.

        Clocks may differ: a ticket that was given more than a lease from now has the time of a wrong clock.
        """
        overdue = (
            []
            if lease is None
            else sorted(
                (entry.at, ticket_id)
                for ticket_id, entry in self.open.items()
                if entry.holder is not None and not now - lease < entry.at <= now + lease
            )
        )
        if limit is not None:  # more may be open than a limit allows: the tickets that are held in time go first
            n = min(n, limit - self._ledger.spent - (len(self.open) - len(self.free) - len(overdue)))
        found: list[int] = []
        taken = set(self.seen_by(holder)) if unseen else set()
        for ticket_id in chain(self.free, (ticket_id for _, ticket_id in overdue)):
            arm = self.open[ticket_id].ticket.arm
            if len(found) >= n:
                break
            if arm not in taken:
                found.append(ticket_id)
                if unseen:
                    taken.add(arm)
        return found

    def find(self, ticket: int | Ticket) -> int:
        """Return the id of a ticket that was issued here, open or not; raise for any other."""
        ticket_id: Any = ticket.id if isinstance(ticket, Ticket) else ticket
        is_whole = isinstance(ticket_id, int | np.integer) and not isinstance(ticket_id, bool)
        if not (is_whole and 0 <= ticket_id < len(self.ended)):
            raise UnknownTicket(f"ticket {ticket_id!r} was not issued here", advice="give a ticket of ask() or its id")
        entry = self.open.get(ticket_id)
        if isinstance(ticket, Ticket) and (entry is None or ticket is not entry.ticket):
            same = entry is None or ticket[:4] == entry.ticket[:4]
            if not same or ticket.origin not in (None, self.origin):
                raise UnknownTicket(f"ticket {ticket_id} for {ticket.label!r} is not of this session")
        return int(ticket_id)

    def expected(self, ticket: int | Ticket) -> OpenTicket:
        """Return an open ticket; raise the reason why it is not open."""
        if type(ticket) is Ticket:  # the common case, at half the cost
            entry = self.open.get(ticket.id)
            if entry is not None and entry.ticket is ticket:
                return entry
        ticket_id = self.find(ticket)
        entry = self.open.get(ticket_id)
        if entry is None:
            raise self.refusal(ticket_id)
        return entry

    def refusal(self, ticket_id: int) -> TicketRefused:
        """Return the error for a ticket that is not open."""
        if self.ended[ticket_id] == VOID:
            return ArmWithdrawn(f"ticket {ticket_id} is void: its arm was withdrawn")
        return AlreadyTold(
            f"ticket {ticket_id} was told already and the first answer counts", advice="use correct() to change it"
        )

    def held(self, holder: str) -> list[Ticket]:
        """Return the open tickets of a holder, in the order in which they were given."""
        return [self.open[ticket_id].ticket for ticket_id in self.by_holder.get(holder, ())]

    def told_row(self, ticket: int | Ticket) -> int:
        """Return the ledger's row of a ticket that was told; raise if it was not."""
        ticket_id = self.find(ticket)
        row = self.ended[ticket_id]
        if row == VOID:
            raise self.refusal(ticket_id)
        if row == OPEN:
            raise TicketRefused(f"ticket {ticket_id} has no result yet, so there is nothing to correct: tell it")
        return row

    def seen_by(self, holder: str) -> set[int]:
        """Return the arms that a holder was ever handed: computed when first asked for, and kept up from then on."""
        if self._seen is None:
            self._seen = seen = self._ledger.arms_by_holder()
            for entry in self.open.values():
                if entry.holder is not None:
                    seen.setdefault(entry.holder, set()).add(entry.ticket.arm)
            for ticket_id, names in self.earlier.items():
                row = self.ended[ticket_id]
                arm = self.open[ticket_id].ticket.arm if row == OPEN else self._ledger.result(row).arm
                for name in names:
                    seen.setdefault(name, set()).add(arm)
        return self._seen.setdefault(holder, set())

    def to_release(self, named: Sequence[int | Ticket], holder: object) -> list[int]:
        """Return the ids of tickets that have a holder, or of all that one holder has; raise for anything else."""
        if bool(named) == (holder is not None):
            given = f"tickets and the holder {shortened(holder)} are" if named else "neither tickets nor a holder is"
            raise InvalidInput(f"{given} given, but must be one of them: name the tickets, or their holder")
        if holder is None:
            ids = list(dict.fromkeys([self.expected(ticket).ticket.id for ticket in named]))
            free = next((ticket_id for ticket_id in ids if ticket_id in self.free), None)
            if free is not None:
                raise TicketRefused(f"ticket {free} has no holder: the next to ask is given it, so leave it out")
            return ids
        ids = list(self.by_holder.get(holder, ())) if isinstance(holder, str) else []
        if not ids:
            holders = ", ".join(map(repr, sorted(self.held_by))) or "none"
            raise InvalidInput(f"holder {shortened(holder)} has no open tickets: holders who have some are {holders}")
        return ids

    def save(self) -> dict[str, Any]:
        """Return the tickets as plain values and arrays; their jobs by id."""
        entries = self.open.values()
        rows = [
            (entry.ticket.id, entry.ticket.arm, entry.ticket.pull, NONE if entry.job is None else entry.job.id)
            for entry in entries
        ]
        return {
            "holders": [entry.holder for entry in entries],
            "at": [entry.at for entry in entries],
            "free": list(self.free),
            "held": [[holder, list(held)] for holder, held in sorted(self.by_holder.items()) if held],
            "earlier": [[ticket_id, holders] for ticket_id, holders in self.earlier.items()],
            "open": np.array(rows, np.int64).reshape(-1, 4),
            "ended": np.array(self.ended),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what was saved; the arms and jobs must be there already."""
        self._seen = None
        self.ended = array("q", saved["ended"].astype(np.int64).tobytes())
        self.open = {}
        rows = zip(saved["open"].tolist(), saved["holders"], saved["at"], strict=True)
        for (ticket_id, number, pull, job), holder, at in rows:
            label, payload = self._labels.arm(number)
            ticket = Ticket(ticket_id, number, label, pull, payload)
            ticket.origin = self.origin
            self.open[ticket_id] = OpenTicket(ticket, self._jobs.open.get(job), holder, at)
        self.free = dict.fromkeys(saved["free"])
        self.by_holder = {holder: dict.fromkeys(held) for holder, held in saved["held"]}
        self.earlier = {ticket_id: list(holders) for ticket_id, holders in saved["earlier"]}


class PullNumbers:
    """How many pulls of each arm are handed out, told or known: the next one has that number."""

    def __init__(self) -> None:
        self._counts: list[int] = []

    def make_room(self, arms: int) -> None:
        """Have an entry for each of the first `arms` arms."""
        self._counts.extend([0] * (arms - len(self._counts)))

    def take_next(self, arm: int) -> int:
        """Take the next pull of an arm, and return it."""
        pull = self._counts[arm]
        self._counts[arm] = pull + 1
        return pull

    def count(self, arm: int) -> int:
        """Return how many pulls of an arm are taken."""
        return self._counts[arm]

    def save(self) -> dict[str, Any]:
        """Return everything as an array."""
        return {"counts": np.array(self._counts, np.int64)}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what was saved."""
        self._counts = saved["counts"].tolist()


def is_worker(holder: str) -> bool:
    """Return whether a holder's name was given to a process by `worker()`; people choose other names."""
    return _WORKER.fullmatch(holder) is not None


def check_holder(holder: object) -> str:
    """Return the name of a holder; raise unless it is a short, printable text."""
    if not (isinstance(holder, str) and holder.isprintable() and 0 < len(holder) <= LONGEST_NAME):
        raise InvalidInput(f"the holder is {shortened(holder)}, but must be 1 to {LONGEST_NAME} printable characters")
    return holder


def shortened(holder: object) -> str:
    """Return a holder's name for a message, however long it is."""
    shown = repr(holder)
    return shown if len(shown) <= 2 * LONGEST_NAME else f"{shown[:40]}… ({len(shown):,} characters)"


LONGEST_NAME: Final = 200
"""Characters of a holder's name, or of a study's."""

WORKER: Final = "find_best-"
"""What the names that `worker()` gives begin with; a number follows."""

_WORKER = re.compile(rf"{WORKER}\d+")


_new: Final = tuple.__new__  # a call less for each ticket than Ticket(…)
