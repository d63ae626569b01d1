"""Where one holder gets its tickets: first those it left behind, then those to be issued again, then new ones."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from boxthirding.session import Ticket
from boxthirding.study.events import Event, Reissued
from boxthirding.study.feed import Supply
from boxthirding.study.fold import Fold
from boxthirding.types import Label


class Lent(NamedTuple):
    """A ticket that is out, who has it, and since when; nobody, if it failed and waits to be issued again."""

    ticket: Ticket
    holder: str | None
    at: float | None


class Desk:
    """Hands out the tickets of a fold to one holder, with the payloads that this process was given."""

    def __init__(self, holder: str, payloads: dict[Label, Any], supply: Supply | None) -> None:
        self.holder, self.payloads, self.supply = holder, payloads, supply
        self._in_hand: set[int] = set()  # tickets that were handed out here
        self._left_behind: list[int] = []  # tickets that this holder has, and that nobody here knows of
        self._trouble: Exception | None = None

    def come_back(self, fold: Fold) -> None:
        """Note the tickets that this holder has and nobody here knows of: it was killed, or an ask was broken off."""
        self._in_hand = {ticket for ticket in self._in_hand if ticket in fold.held}
        self._left_behind = [
            ticket for ticket, held in fold.held.items() if held.holder == self.holder and ticket not in self._in_hand
        ]

    def ask(self, fold: Fold, n: int, fresh: int, now: float, record: Callable[[Event], None]) -> list[Ticket]:
        """Return up to n tickets, up to `fresh` of them new: what is decided has happened, and is recorded."""
        self.keep_up(fold)
        if self._left_behind:
            own = [ticket for ticket in self._left_behind if fold.is_held(ticket, self.holder)]
            self._left_behind = own[n:]
            if own:
                return self._reissued(fold, own[:n], now, record)
        tickets = self._reissued(fold, [*islice(overdue(fold, now), n)], now, record)
        fresh = min(fresh, n - len(tickets))
        may_have_more = not fold.is_short or (self.supply is not None and fold.play.open_ended)
        if fresh > 0 and may_have_more:
            self._deal(fold, fresh, tickets, now, record)
        return tickets

    def keep_up(self, fold: Fold) -> None:
        """Move the iterator of this process past what others have drawn."""
        if self.supply is not None:
            self.supply.catch_up(fold.feed.drawn, fold.play.knows)

    def handed_out(self, tickets: list[Ticket]) -> None:
        """Note that tickets have been committed and are given to the caller."""
        self._in_hand.update([ticket.id for ticket in tickets])

    def handed_in(self, ticket: int) -> None:
        """Note that a ticket is not in hand any more."""
        self._in_hand.discard(ticket)

    def lent(self, fold: Fold) -> list[Lent]:
        """Return the tickets that are out, whoever has them."""
        held = fold.held
        return [Lent(self.with_payload(each), *held.get(each.id, (None, None))) for each in fold.play.out()]

    def with_payload(self, ticket: Ticket) -> Ticket:
        """Return a ticket with what rides along with its arm, as far as this process was given it."""
        if ticket.label not in self.payloads:
            return ticket
        full = Ticket(*ticket[:4], self.payloads[ticket.label])
        full.origin = ticket.origin
        return full

    def _reissued(self, fold: Fold, tickets: list[int], now: float, record: Callable[[Event], None]) -> list[Ticket]:
        if not tickets:
            return []
        event = Reissued(now, self.holder, tuple(tickets))
        fold.apply(event)
        record(event)
        return [self.with_payload(fold.play.reissue(ticket)) for ticket in tickets]

    def _deal(self, fold: Fold, n: int, tickets: list[Ticket], now: float, record: Callable[[Event], None]) -> None:
        """Add up to n new tickets to those in hand; if there is trouble, what is in hand goes out first."""
        trouble: Exception | None
        trouble, self._trouble = self._trouble, None
        if trouble is None:
            dealt = fold.ask(n, self.holder, now)
            if dealt.event is not None:
                record(dealt.event)
            if self.supply is not None:
                self.supply.passed = len(fold.feed.drawn)
            tickets += map(self.with_payload, dealt.tickets)
            trouble = dealt.trouble
        if trouble is not None and tickets:
            self._trouble = trouble
        elif trouble is not None:
            raise trouble


def overdue(fold: Fold, now: float) -> Iterator[int]:
    """Return the tickets to be issued again: those that failed, then those whose lease has run out."""
    yield from fold.play.to_be_reissued
    lease = fold.created.lease
    if lease is not None:
        for ticket, held in fold.held.items():
            if held.at + lease > now:
                break
            yield ticket
