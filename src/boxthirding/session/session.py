"""Live: a policy that asks and is told, one pull a ticket, results in any order, from any thread."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from boxthirding._checks import is_number, whole
from boxthirding.errors import BoxThirdingError, InvalidInput
from boxthirding.session.protocol import Box, Lineage, Recommendation, Screening, Ticket
from boxthirding.session.standing import Standing
from boxthirding.types import Label, Policy


class Session(Standing):
    """A live run of a policy over arms: a sequence, a mapping of labels to arms, an iterator, or a number.

    Tickets that are not told within `lease` seconds of `clock` are issued again; the first answer counts. An arm that
    fails `patience` times in a row is withdrawn. Methods may be called from several threads.

    >>> session = Session(["ann", "bob", "cid"])
    >>> for _ in range(20):
    ...     for ticket in session.ask():
    ...         session.tell(ticket, {"ann": 0.1, "bob": 0.9, "cid": 0.5}[ticket.label])
    >>> session.recommend().label
    'bob'
    """

    def __init__(  # each has a default but the first
        self,
        arms: int | Iterable[Any] | Mapping[Label, Any],
        policy: Policy | str | None = None,
        *,
        seed: int = 0,
        direction: str = "maximize",
        lease: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        patience: int = 3,
    ) -> None:
        check_lease(lease)
        super().__init__(arms, policy, seed=seed, direction=direction, patience=patience)
        self._lease, self._clock = lease, clock
        self._leases: dict[int, float] = {}  # when each open ticket's runs out, the earliest first
        self._lock = threading.RLock()
        self._trouble: BoxThirdingError | None = None

    def ask(self, n: int = 1) -> list[Ticket]:
        """Return up to n tickets; fewer, perhaps none, when the policy needs a result first or no arm is left."""
        whole("the number of tickets", n, least=1)
        with self._lock:
            if self._trouble is not None:
                trouble, self._trouble = self._trouble, None
                raise trouble
            tickets: list[Ticket] = []
            if self._leases:
                self._collect_expired()
            try:
                while len(tickets) < n and (ticket := self._reissued() or self.fresh()) is not None:
                    tickets.append(ticket)
                    self._lend(ticket)
            except BoxThirdingError as trouble:
                if not tickets:
                    raise
                self._trouble = trouble  # what is in hand goes out first; the next ask says what is wrong
            return tickets

    def tell(self, ticket: int | Ticket, reward: float) -> None:
        """Take the result of a ticket; refuse it, changing nothing, if it is not finite or not expected."""
        with self._lock:
            super().tell(ticket, reward)
            if self._leases:
                self._leases.pop(ticket.id if isinstance(ticket, Ticket) else ticket, None)

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated: it is issued again, unless its arm has lost our patience."""
        with self._lock:
            super().fail(ticket)

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them; a policy whose plan is made at the start (sh, sr, dsh) does not play them."""
        with self._lock:
            super().add(arms)

    def withdraw(self, label: Label) -> None:
        """Take an arm out of the race for good; its open tickets will be refused."""
        with self._lock:
            super().withdraw(label)

    def recommend(self) -> Recommendation | None:
        """Return the best arm so far, or None before the first result."""
        with self._lock:
            return super().recommend()

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms so far, the recommended one first."""
        with self._lock:
            return super().top(k)

    def why(self, label: Label) -> Lineage:
        """Return the story of an arm: the boxes it was in, whom it met there, and where it stands now."""
        with self._lock:
            return super().why(label)

    def boxes(self) -> list[Box]:
        """Return the boxes and piles that hold an arm, from the lowest level up; none, if the policy has no boxes."""
        with self._lock:
            return super().boxes()

    def screening(self, share: float) -> Screening:
        """Return the chance, exact, that an arm of the best `share` of all is among those that could still be returned.

        The candidate set is a random one of its size, whatever the rewards; with an iterator the chance is that for
        infinitely many arms.
        """
        with self._lock:
            return super().screening(share)

    def _reissued(self) -> Ticket | None:
        again = self._tickets.again
        return self.reissue(next(iter(again))) if again else None

    def _lend(self, ticket: Ticket) -> None:
        if self._lease is not None:
            self._leases.pop(ticket.id, None)
            self._leases[ticket.id] = self._clock() + self._lease

    def _collect_expired(self) -> None:
        now = self._clock()
        while self._leases and self._leases[ticket_id := next(iter(self._leases))] <= now:
            del self._leases[ticket_id]
            if self.is_out(ticket_id):  # and not void
                self._tickets.again[ticket_id] = None


def check_lease(lease: float | None) -> None:
    """Refuse a lease that is none."""
    if lease is not None and not (is_number(lease) and 0 < lease < math.inf):
        raise InvalidInput(f"lease is {lease!r}, but must be a finite number of seconds above 0, or None")
