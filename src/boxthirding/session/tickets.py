"""The tickets of a session: which are out, which are to be issued again, and why one is refused."""

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boxthirding.errors import AlreadyTold, ArmWithdrawn, TicketRefused, UnknownTicket
from boxthirding.session.protocol import Ticket
from boxthirding.types import Label


class Out(NamedTuple):
    """A ticket whose result is not in."""

    ticket: Ticket
    job: int


class Tickets:
    """Every ticket that was ever cut, by its state; those that are told leave no trace but their number."""

    def __init__(self, origin: str | None = None) -> None:
        self.origin = os.urandom(8).hex() if origin is None else origin  # marks tickets as ours, and decides nothing
        self.issued = 0
        self.open: dict[int, Out] = {}
        self.void: set[int] = set()  # their arm was withdrawn
        self.again: OrderedDict[int, None] = OrderedDict()  # of the open ones, those to be issued again

    def cut(self, arm: int, label: Label, pull: int, payload: Any, job: int) -> Ticket:
        """Make the next ticket."""
        ticket = Ticket(self.issued, arm, label, pull, payload)
        ticket.origin = self.origin
        self.open[self.issued] = Out(ticket, job)
        self.issued += 1
        return ticket

    def close(self, ticket_id: int) -> None:
        """Take a ticket back for good."""
        del self.open[ticket_id]
        self.again.pop(ticket_id, None)

    def close_all_of(self, arm: int) -> list[int]:
        """Make the open tickets of a withdrawn arm void; return their ids."""
        gone = [ticket_id for ticket_id, out in self.open.items() if out.ticket.arm == arm]
        for ticket_id in gone:
            self.close(ticket_id)
        self.void.update(gone)
        return gone

    def expected(self, ticket: int | Ticket) -> Out:
        """Return what is open under a ticket or its id, or refuse it by what is wrong with it."""
        ticket_id = ticket.id if isinstance(ticket, Ticket) else ticket
        out = self.open.get(ticket_id) if _is_id(ticket_id) else None
        if out is None:
            raise self._refusal(ticket_id)
        if isinstance(ticket, Ticket) and ticket is not out.ticket:
            foreign = ticket.origin not in (None, self.origin) or ticket[:4] != out.ticket[:4]
            if foreign:
                raise UnknownTicket(f"ticket {ticket_id} for {ticket.label!r} is not of this session")
        return out

    def save(self) -> dict[str, NDArray[Any]]:
        """Return the tickets as arrays."""
        rows = [(out.ticket.id, out.ticket.arm, out.ticket.pull, out.job) for out in self.open.values()]
        return {
            "issued": np.array([self.issued]),
            "open": np.array(rows, np.int64).reshape(-1, 4),
            "void": np.array(sorted(self.void), np.int64),
            "again": np.array(list(self.again), np.int64),
        }

    def load(self, saved: Mapping[str, NDArray[Any]], label: Callable[[int], Label]) -> None:
        """Go on from what was saved, with the labels of the arms; payloads are not kept."""
        self.open.clear()
        for ticket_id, arm, pull, job in saved["open"].tolist():
            self.issued = ticket_id
            self.cut(arm, label(arm), pull, label(arm), job)
        self.issued = int(saved["issued"][0])
        self.void = set(saved["void"].tolist())
        self.again = OrderedDict.fromkeys(saved["again"].tolist())

    def _refusal(self, ticket_id: Any) -> TicketRefused:
        if not (_is_id(ticket_id) and 0 <= ticket_id < self.issued):
            return UnknownTicket(
                f"ticket {ticket_id!r} was not issued by this session: tell the id of a ticket from ask()"
            )
        if ticket_id in self.void:
            return ArmWithdrawn(f"ticket {ticket_id} is void: its arm was withdrawn")
        return AlreadyTold(f"ticket {ticket_id} was told already; the first answer counts")


def _is_id(value: object) -> bool:
    """Tell whether a value can be the id of a ticket; True is not 1 here."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
