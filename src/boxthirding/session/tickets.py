"""The tickets of a session: which are open, who holds them, who held them before, and why one is refused."""

import os
import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from boxthirding.errors import AlreadyTold, ArmWithdrawn, InvalidInput, TicketRefused, UnknownTicket
from boxthirding.session.values import Ticket
from boxthirding.types import NONE, Label

OPEN: Final = -1
VOID: Final = -2


class Job:
    """Pulls of one arm that a rule asked for."""

    __slots__ = ("arm", "changes", "id", "left", "name", "times", "untold")

    def __init__(self, job_id: int, name: int, arm: int, times: int) -> None:
        self.id = job_id
        """Counted over all jobs: a rule may use a name again."""
        self.name = name
        """What the rule calls it."""
        self.arm = arm
        self.times = times
        """Pulls that it has in all."""
        self.left = times
        """Pulls that no ticket was cut for."""
        self.untold = times
        """Pulls that the rule has not been told."""
        self.changes: list[tuple[int, float, float]] | None = None
        """Amendments of results that were told in it: the rule takes them when the job has ended."""


class OpenTicket:
    """A ticket that is neither told nor void."""

    __slots__ = ("at", "holder", "job", "ticket")

    def __init__(self, ticket: Ticket, job: Job | None, holder: str | None, at: float) -> None:
        self.ticket = ticket
        self.job = job
        """None, if the rule that asked for it has been replaced: its result is amended."""
        self.holder = holder
        self.at = at
        """When it was given to its holder, by the caller's clock."""


class Tickets:
    """Every ticket that was ever cut: the open ones, and of the others what became of them."""

    def __init__(self, origin: str | None = None) -> None:
        self.origin = os.urandom(8).hex() if origin is None else origin
        """Marks tickets as ours, and decides nothing."""
        self.open: dict[int, OpenTicket] = {}
        self.free: dict[int, None] = {}
        """Open tickets without a holder, those first that have waited longest."""
        self.by_holder: dict[str, dict[int, None]] = {}
        """Open tickets by holder, in the order in which they were given; holders may have none."""
        self.earlier: dict[int, list[str]] = {}
        """Of tickets that were given more than once: earlier holders who have not told it."""
        self.ended = array("q")
        """By ticket: OPEN, VOID, or the ledger's row of its result."""

    @property
    def held_by(self) -> dict[str, int]:
        """How many open tickets each holder has, those with the most first, and equals by name."""
        held = [(holder, len(ids)) for holder, ids in self.by_holder.items() if ids]
        return dict(sorted(held, key=lambda item: (-item[1], item[0])))

    @property
    def issued(self) -> int:
        """How many were cut; also the id of the next one."""
        return len(self.ended)

    def cut(self, arm: int, label: Label, pull: int, payload: Any, job: Job | None, holder: str, at: float) -> Ticket:
        """Make the next ticket and give it to a holder."""
        ticket_id = len(self.ended)
        ticket = _new(Ticket, (ticket_id, arm, label, pull, payload))
        ticket.origin = self.origin
        self.ended.append(OPEN)
        self.open[ticket_id] = OpenTicket(ticket, job, holder, at)
        held = self.by_holder.get(holder)
        if held is None:
            held = self.by_holder[holder] = {}
        held[ticket_id] = None
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
        return entry.ticket

    def take_back(self, ticket_id: int) -> None:
        """Let an open ticket have no holder: the next to ask is given it."""
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

    def void(self, arm: int) -> list[int]:
        """Make the open tickets of a withdrawn arm void; return their ids."""
        gone = [ticket_id for ticket_id, entry in self.open.items() if entry.ticket.arm == arm]
        for ticket_id in gone:
            self.close(ticket_id, VOID)
        return gone

    def overdue(self, now: float, lease: float | None) -> Iterable[int]:
        """Return the tickets whose lease has run out, the longest held first.

        Clocks may differ: a ticket that was given more than a lease from now is one of a clock that was wrong.
        """
        if lease is not None:
            late = [
                (entry.at, ticket_id)
                for ticket_id, entry in self.open.items()
                if entry.holder is not None and not now - lease < entry.at <= now + lease
            ]
            yield from (ticket_id for _, ticket_id in sorted(late))

    def find(self, ticket: int | Ticket) -> int:
        """Return the id of a ticket that was issued here, open or not."""
        ticket_id = ticket.id if isinstance(ticket, Ticket) else ticket
        if not (_is_id(ticket_id) and 0 <= ticket_id < self.issued):
            raise UnknownTicket(
                f"ticket {ticket_id!r} was not issued here", advice="give a ticket from ask(), or its id"
            )
        entry = self.open.get(ticket_id)
        if isinstance(ticket, Ticket) and (entry is None or ticket is not entry.ticket):
            same = entry is None or ticket[:4] == entry.ticket[:4]
            if not same or ticket.origin not in (None, self.origin):
                raise UnknownTicket(f"ticket {ticket_id} for {ticket.label!r} is not of this session")
        return int(ticket_id)

    def expected(self, ticket: int | Ticket) -> OpenTicket:
        """Return an open ticket, or refuse it by what is wrong with it."""
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
        """Say why the result of a ticket that is not open is refused."""
        if self.ended[ticket_id] == VOID:
            return ArmWithdrawn(f"ticket {ticket_id} is void: its arm was withdrawn")
        return AlreadyTold(
            f"ticket {ticket_id} was told already and the first answer counts", advice="use correct() to change it"
        )

    def held(self, holder: str) -> list[Ticket]:
        """Return the open tickets of a holder, in the order in which they were given."""
        return [self.open[ticket_id].ticket for ticket_id in self.by_holder.get(holder, ())]

    def told_row(self, ticket: int | Ticket) -> int:
        """Return the ledger's row of a ticket that was told, or refuse."""
        ticket_id = self.find(ticket)
        row = self.ended[ticket_id]
        if row == VOID:
            raise self.refusal(ticket_id)
        if row == OPEN:
            raise TicketRefused(f"ticket {ticket_id} has no result yet, so there is nothing to correct: tell it")
        return row

    def save(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the tickets as facts and arrays; their jobs by id."""
        entries = self.open.values()
        facts = {
            "holders": [entry.holder for entry in entries],
            "at": [entry.at for entry in entries],
            "free": list(self.free),
            "held": [[holder, list(held)] for holder, held in sorted(self.by_holder.items()) if held],
            "earlier": [[ticket_id, holders] for ticket_id, holders in self.earlier.items()],
        }
        rows = [
            (entry.ticket.id, entry.ticket.arm, entry.ticket.pull, NONE if entry.job is None else entry.job.id)
            for entry in entries
        ]
        return facts, {"open": np.array(rows, np.int64).reshape(-1, 4), "ended": np.array(self.ended)}

    def load(
        self,
        facts: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        jobs: Mapping[int, Job],
        arm: Callable[[int], tuple[Label, Any]],
    ) -> None:
        """Go on from what was saved, with the label and payload of each arm."""
        self.ended = array("q", arrays["ended"].astype(np.int64).tobytes())
        self.open = {}
        rows = zip(arrays["open"].tolist(), facts["holders"], facts["at"], strict=True)
        for (ticket_id, number, pull, job), holder, at in rows:
            label, payload = arm(number)
            ticket = Ticket(ticket_id, number, label, pull, payload)
            ticket.origin = self.origin
            self.open[ticket_id] = OpenTicket(ticket, jobs.get(job), holder, at)
        self.free = dict.fromkeys(facts["free"])
        self.by_holder = {holder: dict.fromkeys(held) for holder, held in facts["held"]}
        self.earlier = {ticket_id: list(holders) for ticket_id, holders in facts["earlier"]}


def to_release(tickets: Tickets, wanted: Sequence[int | Ticket], holder: object) -> list[int]:
    """Return the ids of tickets that have a holder, or of all that one holder has; refuse anything else."""
    if bool(wanted) == (holder is not None):
        given = f"tickets and the holder {shortened(holder)} are" if wanted else "neither tickets nor a holder is"
        raise InvalidInput(f"{given} given, but must be one of them: name the tickets, or their holder")
    if holder is None:
        ids = list(dict.fromkeys([tickets.expected(ticket).ticket.id for ticket in wanted]))
        free = next((ticket_id for ticket_id in ids if ticket_id in tickets.free), None)
        if free is not None:
            raise TicketRefused(f"ticket {free} has no holder: the next to ask is given it, so leave it out")
        return ids
    ids = list(tickets.by_holder.get(holder, ())) if isinstance(holder, str) else []
    if not ids:
        holders = ", ".join(map(repr, sorted(tickets.held_by))) or "none"
        raise InvalidInput(f"holder {shortened(holder)} has no open tickets: holders who have some are {holders}")
    return ids


def is_worker(holder: str) -> bool:
    """Tell whether a holder is a process that works by itself: `worker()` gave the name, and people choose others."""
    return _WORKER.fullmatch(holder) is not None


def check_holder(holder: object) -> str:
    """Return the name of a holder, or refuse it."""
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
"""What the names of processes that work by themselves begin with; a number follows."""

_WORKER = re.compile(rf"{WORKER}\d+")


_new: Final = tuple.__new__  # a call less for each ticket than Ticket(…)


def _is_id(value: object) -> bool:
    """Tell whether a value can be the id of a ticket; True is not 1 here."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
