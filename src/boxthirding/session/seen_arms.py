"""Which arms each holder was ever handed: a rater may have to see none twice."""

from boxthirding.session.ledger import Ledger
from boxthirding.session.tickets import OPEN, Tickets


class Seen:
    """By holder, the arms that it was handed; worked out from the ledger and the tickets when first asked for."""

    def __init__(self, ledger: Ledger, tickets: Tickets) -> None:
        self._ledger, self._tickets = ledger, tickets
        self._arms: dict[str, set[int]] = {}
        self.is_kept = False
        """Whether it has been asked for, so that it must be kept up."""

    def by(self, holder: str) -> set[int]:
        """Return the arms that a holder was ever handed."""
        if not self.is_kept:
            self._arms, self.is_kept = self._so_far(), True
        return self._arms.setdefault(holder, set())

    def note(self, holder: str, arm: int) -> None:
        """Take down that a holder is handed an arm."""
        if self.is_kept:
            self._arms.setdefault(holder, set()).add(arm)

    def forget(self) -> None:
        """Work it out anew when it is asked for: the ledger and the tickets are others now."""
        self._arms, self.is_kept = {}, False

    def _so_far(self) -> dict[str, set[int]]:
        ledger, tickets = self._ledger, self._tickets
        arms = ledger.arms_by_holder()
        for entry in tickets.open.values():
            for holder in (entry.holder, *tickets.earlier.get(entry.ticket.id, ())):
                if holder is not None:
                    arms.setdefault(holder, set()).add(entry.ticket.arm)
        for ticket_id, holders in tickets.earlier.items():
            row = tickets.ended[ticket_id]
            if row != OPEN:
                for holder in holders:
                    arms.setdefault(holder, set()).add(ledger.result(row).arm)
        return arms
