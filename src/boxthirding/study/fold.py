"""What the events of a study add up to. A fold reads no clock and no file: the same events, the same state."""

from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple

from boxthirding.errors import BoxThirdingError, JournalBroken
from boxthirding.session import Ticket
from boxthirding.session.saved import Saved
from boxthirding.session.standing import Standing
from boxthirding.study.codec import name_of
from boxthirding.study.events import (
    ArmsAdded,
    ArmWithdrawn,
    Asked,
    Closed,
    Created,
    Event,
    Failed,
    Paused,
    Reissued,
    Released,
    Resumed,
    Told,
)
from boxthirding.study.feed import Feed, NotDrawn
from boxthirding.study.settings import policy_of
from boxthirding.study.snapshot import Unusable
from boxthirding.types import Label

OPEN: Final = "open"
PAUSED: Final = "paused"
CLOSED: Final = "closed"


class Held(NamedTuple):
    """Who has a ticket, and since when."""

    holder: str
    at: float


class Dealt(NamedTuple):
    """New tickets, the event that says so, and what kept the next ticket from being made."""

    tickets: list[Ticket]
    event: Asked | None
    trouble: BoxThirdingError | NotDrawn | None


class Fold:
    """The state of a study after `seq` events: a policy at play, and who holds which of its tickets."""

    def __init__(self, created: Created, feed: Feed, payloads: dict[Label, Any]) -> None:
        self.seq = 1
        self.created = created
        self.feed = feed
        self.payloads = payloads
        """What rides along with a label, as far as this process was given it; no part of the state."""
        self.status = OPEN
        self.held: dict[int, Held] = {}
        """Open tickets by id, but for those that failed or were released; the longest held first."""
        self.is_short = False
        """Whether the rule has said that it waits, and nothing has happened since."""
        feed.expect(created.drawn, ended=False)
        self.play = Standing(
            feed if created.arms is None else created.arms,
            policy_of(created),
            seed=created.seed,
            direction=created.direction,
            patience=created.patience,
            origin=created.origin,
        )
        if created.arms is None:
            self._note_drawn(0)

    def apply(self, event: Event) -> None:
        """Let an event happen; one that cannot is refused, and nothing has changed."""
        self._FOLDS[type(event)](self, event)
        self.seq += 1

    def replay(self, event: Event) -> None:
        """Let an event happen that a journal says has happened."""
        try:
            self.apply(event)
        except (BoxThirdingError, LookupError, TypeError, ValueError) as error:
            raise JournalBroken(
                f"event {self.seq + 1} ({name_of(event)}) of the journal disagrees with what the events before it "
                f"add up to: {error}"
            ) from error

    def ask(self, n: int, holder: str, at: float) -> Dealt:
        """Decide on up to n new tickets: what is decided has happened. There is no event if nothing is new."""
        self.feed.is_live = True
        try:
            tickets, event, trouble = self._deal(n, holder, at)
        finally:
            self.feed.is_live = False
        if not (event.labels or event.drawn or event.ended or event.short > self.is_short):
            return Dealt(tickets, None, trouble)
        self.seq += 1
        self.is_short = event.short
        return Dealt(tickets, event, trouble)

    def _deal(self, n: int, holder: str, at: float) -> tuple[list[Ticket], Asked, BoxThirdingError | NotDrawn | None]:
        play = self.play
        first, known, open_ended = play.tickets_issued, play.arms_given, play.open_ended
        tickets: list[Ticket] = []
        short = False
        trouble: BoxThirdingError | NotDrawn | None = None
        try:
            while len(tickets) < n and not short:
                ticket = play.fresh()
                if ticket is None:
                    short = True
                else:
                    tickets.append(ticket)
                    self.held[ticket.id] = Held(holder, at)
        except (BoxThirdingError, NotDrawn) as error:
            trouble = error
        drawn = self._note_drawn(known) if open_ended else ()
        ended = open_ended and not play.open_ended
        event = Asked(at, holder, first, tuple([ticket.label for ticket in tickets]), drawn, ended, short)
        return tickets, event, trouble

    def save(self) -> Saved:
        """Return the state as facts and arrays."""
        saved = self.play.save()
        held = [[ticket, *held] for ticket, held in self.held.items()]
        facts = {"seq": self.seq, "status": self.status, "short": self.is_short, "held": held, "drawn": self.feed.drawn}
        return Saved({**facts, "play": saved.facts}, saved.arrays)

    def load(self, saved: Saved) -> None:
        """Go on from a state that was saved; after an error, this fold is of no more use."""
        facts = saved.facts
        try:
            self.play.load(Saved(facts["play"], saved.arrays))
            self.seq, self.status, self.is_short = facts["seq"], facts["status"], facts["short"]
            self.held = {ticket: Held(holder, at) for ticket, holder, at in facts["held"]}
            self.feed.drawn[:] = facts["drawn"]
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise Unusable(f"the snapshot does not fit this policy: {error!r}") from None

    def is_held(self, ticket: int, holder: str) -> bool:
        """Tell whether a holder has a ticket."""
        return ticket in self.held and self.held[ticket].holder == holder

    def _asked(self, event: Asked) -> None:
        """Decide as whoever wrote the event did: as many tickets, and one more if the rule then had none."""
        self.feed.expect(event.drawn, ended=event.ended)
        _, dealt, trouble = self._deal(len(event.labels) + event.short, event.holder, event.at)
        if dealt != event or trouble is not None or not self.feed.is_used_up:
            raise JournalBroken(f"it says {_tickets(event)}, but the rule hands out {_tickets(dealt)}") from trouble
        self.is_short = event.short

    def _told(self, event: Told) -> None:
        self.play.tell(event.ticket, event.reward)
        self.held.pop(event.ticket, None)
        self.is_short = False

    def _failed(self, event: Failed) -> None:
        self.play.fail(event.ticket)
        self.held.pop(event.ticket, None)
        self._forget_void()

    def _reissued(self, event: Reissued) -> None:
        for ticket in event.tickets:
            self.play.reissue(ticket)
            self.held.pop(ticket, None)
            self.held[ticket] = Held(event.holder, event.at)

    def _released(self, event: Released) -> None:
        for ticket in event.tickets:
            self.play.release(ticket)
            self.held.pop(ticket, None)

    def _added(self, event: ArmsAdded) -> None:
        self.play.add(event.labels)
        self.is_short = False

    def _withdrawn(self, event: ArmWithdrawn) -> None:
        self.play.withdraw(event.label)
        self._forget_void()

    def _paused(self, _: Paused) -> None:
        self.status = PAUSED

    def _resumed(self, _: Resumed) -> None:
        self.status = OPEN

    def _closed(self, _: Closed) -> None:
        self.status = CLOSED

    _FOLDS: ClassVar[dict[type[Any], Callable[[Any, Any], None]]] = {
        Asked: _asked,
        Told: _told,
        Failed: _failed,
        Reissued: _reissued,
        Released: _released,
        ArmsAdded: _added,
        ArmWithdrawn: _withdrawn,
        Paused: _paused,
        Resumed: _resumed,
        Closed: _closed,
    }

    def _forget_void(self) -> None:
        """Nobody holds the tickets of an arm that is gone."""
        self.held = {ticket: held for ticket, held in self.held.items() if self.play.is_out(ticket)}
        self.is_short = False

    def _note_drawn(self, known: int) -> tuple[Label, ...]:
        """Keep what the iterator gave beyond the arms known before."""
        drawn = self.play.arms_since(known)
        self.payloads |= {label: payload for label, payload in drawn if payload is not label}
        labels = tuple([label for label, _ in drawn])
        self.feed.drawn.extend(labels)
        return labels


def _tickets(event: Asked) -> str:
    """Say which tickets an event is about."""
    named = ", ".join(f"{event.first + i} for {label!r}" for i, label in enumerate(event.labels))
    waits = " and waits" if event.short else ""
    return f"tickets {named}{waits}" if named else f"no ticket{waits}"
