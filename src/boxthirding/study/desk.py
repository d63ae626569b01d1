"""Where one holder gets its tickets: first those it left behind, then those to be issued again, then new ones."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from boxthirding.errors import BoxThirdingError, InvalidInput, StudyUnavailable, TicketRefused
from boxthirding.session import Ticket
from boxthirding.study.events import Event, Reissued
from boxthirding.study.feed import NotDrawn, Supply
from boxthirding.study.fold import Fold
from boxthirding.types import Label


class Lent(NamedTuple):
    """A ticket that is out, who has it, and since when; nobody, if it failed or was released, and waits for anybody."""

    ticket: Ticket
    holder: str | None
    at: float | None


class Handed(NamedTuple):
    """Tickets, and how many arms to draw before asking for the rest."""

    tickets: list[Ticket]
    to_draw: int


class Desk:
    """Hands out the tickets of a fold to one holder, with the payloads that this process was given."""

    def __init__(self, holder: str, payloads: dict[Label, Any], supply: Supply | None) -> None:
        self.holder, self.payloads, self.supply = holder, payloads, supply
        self._in_hand: set[int] = set()  # tickets that were handed out here
        self._dealt: set[int] = set()  # in the transaction under way: those that go out
        self._returned: set[int] = set()  # and those that come in
        self._brought: dict[Label, Any] = {}  # and the payloads of arms that are added
        self._left_behind: list[int] = []  # tickets that this holder has, and that nobody here knows of
        self._trouble: BoxThirdingError | None = None

    def come_back(self, fold: Fold) -> None:
        """Note the tickets that this holder has and nobody here knows of: it was killed, or an ask was broken off."""
        self._in_hand = {ticket for ticket in self._in_hand if ticket in fold.held}
        self._left_behind = [
            ticket for ticket, held in fold.held.items() if held.holder == self.holder and ticket not in self._in_hand
        ]

    def ask(self, fold: Fold, n: int, fresh: int, now: float, record: Callable[[Event], None]) -> Handed:
        """Return up to n tickets, up to `fresh` of them new: what is decided has happened, and is recorded."""
        behind = self.keep_up(fold)
        if behind:
            return Handed([], behind)
        if self._left_behind:
            own = [ticket for ticket in self._left_behind if fold.is_held(ticket, self.holder)]
            self._left_behind = own[n:]
            if own:
                return Handed(self._reissued(fold, own[:n], now, record), 0)
        again = [*islice(overdue(fold, now, self._has_in_hand), n)]
        tickets = self._reissued(fold, again, now, record)
        fresh = min(fresh, n - len(tickets))
        may_have_more = not fold.is_short or (self.supply is not None and fold.play.open_ended)
        if fresh > 0 and may_have_more:
            return self._deal(fold, fresh, tickets, now, record)
        return Handed(tickets, 0)

    def keep_up(self, fold: Fold) -> int:
        """Move the iterator of this process past what others have drawn; return how many arms to draw for that."""
        if self.supply is None:
            return 0
        try:
            self.supply.catch_up(fold.feed.drawn, fold.play.knows)
        except NotDrawn:
            return len(fold.feed.drawn) - self.supply.passed
        return 0

    def draw(self, n: int) -> None:
        """Let the iterator of this process make arms; nobody else waits for that."""
        if self.supply is not None:
            self.supply.draw_ahead(n)

    def committed(self) -> None:
        """Note that what was dealt is in the journal, and so in the hands of whoever asked here."""
        self._in_hand -= self._returned
        self._in_hand |= self._dealt
        self.payloads |= self._brought
        self._settle()
        if self.supply is not None:
            self.supply.committed()

    def rolled_back(self) -> None:
        """Note that nothing was dealt."""
        self._settle()
        if self.supply is not None:
            self.supply.rolled_back()

    def left_behind(self, tickets: list[Ticket]) -> None:
        """Note that the caller never saw tickets that were handed out: they are the next to be given."""
        self._in_hand.difference_update([ticket.id for ticket in tickets])
        self._left_behind = [*self._left_behind, *[ticket.id for ticket in tickets]]

    def put_off(self, trouble: BoxThirdingError) -> None:
        """Say what is wrong when the next tickets are wanted: those in hand go out first."""
        if not isinstance(trouble, StudyUnavailable):  # which may be over by then
            self._trouble = trouble

    def handed_in(self, tickets: Sequence[int]) -> None:
        """Note that tickets are not in hand any more when the transaction is committed."""
        self._returned.update(tickets)
        self._dealt.difference_update(tickets)

    def bring(self, payloads: dict[Label, Any]) -> None:
        """Take the payloads of arms that are added, for good when the transaction is committed."""
        self._brought |= payloads

    def _has_in_hand(self, fold: Fold, ticket: int) -> bool:
        """Tell whether a ticket was handed out here, and has not been given to somebody else since."""
        return ticket in self._in_hand and fold.is_held(ticket, self.holder)

    def _settle(self) -> None:
        self._dealt.clear()
        self._returned.clear()
        self._brought.clear()

    def lent(self, fold: Fold) -> list[Lent]:
        """Return the tickets that are out, whoever has them."""
        held = fold.held
        return [Lent(self.with_payload(each), *held.get(each.id, (None, None))) for each in fold.play.out()]

    def with_payload(self, ticket: Ticket) -> Ticket:
        """Return a ticket with what rides along with its arm, as far as this process was given it."""
        payloads = self._brought if ticket.label in self._brought else self.payloads
        if ticket.label not in payloads:
            return ticket
        full = Ticket(*ticket[:4], payloads[ticket.label])
        full.origin = ticket.origin
        return full

    def _reissued(self, fold: Fold, tickets: list[int], now: float, record: Callable[[Event], None]) -> list[Ticket]:
        if not tickets:
            return []
        event = Reissued(now, self.holder, tuple(tickets))
        fold.apply(event)
        record(event)
        self._dealt.update(tickets)
        return [self.with_payload(fold.play.reissue(ticket)) for ticket in tickets]

    def _deal(self, fold: Fold, n: int, tickets: list[Ticket], now: float, record: Callable[[Event], None]) -> Handed:
        """Add up to n new tickets to those in hand; if there is trouble, what is in hand goes out first."""
        trouble: BoxThirdingError | NotDrawn | None
        trouble, self._trouble = self._trouble, None
        if trouble is None:
            dealt = fold.ask(n, self.holder, now)
            if dealt.event is not None:
                record(dealt.event)
            if self.supply is not None:
                self.supply.passed = len(fold.feed.drawn)
            tickets += map(self.with_payload, dealt.tickets)
            self._dealt.update([ticket.id for ticket in dealt.tickets])
            trouble = dealt.trouble if self.supply is None else self.supply.explained(dealt.trouble)
            if isinstance(trouble, NotDrawn):
                return Handed(tickets, n - len(dealt.tickets))
        if trouble is not None:
            if not tickets:
                raise trouble
            self.put_off(trouble)
        return Handed(tickets, 0)


def to_release(fold: Fold, tickets: Sequence[int | Ticket], holder: str | None) -> list[int]:
    """Return the ids of tickets that somebody has, or of all that a holder has; refuse anything else."""
    if bool(tickets) == (holder is not None):
        raise InvalidInput(
            f"tickets {tickets!r} and holder {holder!r} are to be released, but must be one or the other: name the "
            "tickets, or whose they are"
        )
    if holder is None:
        ids = list(dict.fromkeys([fold.play.check(ticket) for ticket in tickets]))
        free = next((ticket for ticket in ids if ticket not in fold.held), None)
        if free is not None:
            raise TicketRefused(f"ticket {free} is nobody's: whoever asks next is given it, so leave it out")
        return ids
    ids = [ticket for ticket, held in fold.held.items() if held.holder == holder]
    if not ids:
        holders = ", ".join(sorted({repr(held.holder) for held in fold.held.values()}))
        raise InvalidInput(f"holder {holder!r} has no tickets: those who have some are {holders or 'nobody'}")
    return ids


def overdue(fold: Fold, now: float, is_in_hand: Callable[[Fold, int], bool]) -> Iterator[int]:
    """Return the tickets to be issued again: those that are nobody's, then those whose lease has run out.

    Those that are in hand here are not among the latter: whoever works on one would be handed it a second time. Clocks
    may differ: a ticket that was handed out more than a lease from now is one of a clock that was wrong.
    """
    yield from fold.play.to_be_reissued
    lease = fold.created.lease
    if lease is not None:
        for ticket, held in fold.held.items():
            is_expected = held.at + lease > now and held.at <= now + lease
            if not is_expected and not is_in_hand(fold, ticket):
                yield ticket
