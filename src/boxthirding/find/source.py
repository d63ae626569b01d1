"""Where a search gets its tickets: anything that asks and tells, perhaps shared with others who work on it now."""

import shlex
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from boxthirding.errors import AlreadyTold, BoxThirdingError, StudyFinished, StudyUnavailable, TicketRefused
from boxthirding.find.budget import Account
from boxthirding.find.words import having
from boxthirding.session import AskTell, Glance, Ticket
from boxthirding.session.tickets import is_worker


class Source:
    """An `AskTell`, asked and told under a holder's name of our own, and what it is known to have done elsewhere.

    While it cannot be reached, what we know of it stays as it was; what we had to say is said again by the search.
    """

    def __init__(self, study: AskTell, account: Account) -> None:
        self.study = study
        self._account = account
        self.holder = study.worker()
        self._under_way: set[int] = set()
        self._unsure: set[int] = set()  # tickets whose tell or fail was broken off: it may have been carried out
        self._is_ask_unsure = False  # whether an ask was broken off: tickets may have been given to us
        self._told = 0
        left_behind = study.held(self.holder)  # by a process that had this name before, and was killed
        if left_behind:
            study.release(*left_behind)
        study.reclaim()
        self.latest = self.look()

    def ask(self, n: int = 1) -> list[Ticket]:
        """Return up to n tickets, none of them under way here already, none beyond the budget of the whole study."""
        tickets: list[Ticket] = []
        if self._is_ask_unsure:
            tickets = self._new(self.study.held(self.holder))[:n]
            self._is_ask_unsure = False
        if len(tickets) < n:
            limit = self._account.limits.pulls
            if limit is not None:
                limit = max(0, limit - self._account.failures)
            try:
                tickets += self._new(self.study.ask(n - len(tickets), holder=self.holder, limit=limit))
            except StudyUnavailable:
                self._is_ask_unsure = True
                raise
        self._under_way.update(ticket.id for ticket in tickets)
        self.look()
        return tickets

    def tell(self, ticket: Ticket, reward: float) -> None:
        """Tell a result; one that was written and not heard of counts once."""
        was_unsure = ticket.id in self._unsure
        try:
            self._hand_in(ticket, lambda: self.study.tell(ticket, reward, holder=self.holder))
        except AlreadyTold:
            if not was_unsure:
                raise
        self._told += 1
        self.look()

    def fail(self, ticket: Ticket) -> None:
        """Tell of a failure; one that was written and not heard of counts once: others may have the ticket."""
        if ticket.id in self._unsure and all(other.id != ticket.id for other in self.study.held(self.holder)):
            self._settled(ticket)
            return
        self._hand_in(ticket, lambda: self.study.fail(ticket))
        self.look()

    def look(self) -> Glance:
        """Return how far the study is, as the last call heard it, and let the account know what others did."""
        self.latest = self.study.glance()
        self._account.elsewhere = self.latest.spent - self._told
        self._account.under_way_elsewhere = max(0, self.latest.held - len(self._under_way))
        return self.latest

    def reason_to_wait(self, *, room: bool) -> str:
        """Say why there may soon be a ticket for us, though none is there and none of ours is under way; or nothing.

        With no room in the budget, we wait only for processes that live: if they end, their tickets are ours.
        """
        if self.study.reclaim():
            return "Taking over tickets that were left behind."
        view = self.study.view()
        self._account.elsewhere = view.spent - self._told
        others = {holder: number for holder, number in view.holders.items() if holder != self.holder}
        self._account.under_way_elsewhere = sum(others.values())
        if room and view.status == "paused":
            return "The study is paused: waiting until it is resumed."
        people = {holder: number for holder, number in others.items() if not is_worker(holder)}
        if room and people:
            way_out = self._way_out(next(iter(people)))
            return f"Waiting for results that others have under way: {having(people)}. {way_out}"
        return "Waiting for results that other runs have under way." if len(others) > len(people) else ""

    def is_known(self) -> bool:
        """Tell whether the examples have run out."""
        return self.study.view().status == "known"

    def holders(self) -> dict[str, int]:
        """Return who else has open tickets, and how many; those with the most first."""
        with suppress(StudyUnavailable):
            return {holder: number for holder, number in self.study.view().holders.items() if holder != self.holder}
        return {}

    def let_go_quietly(self) -> None:
        """Release the tickets that we have not evaluated, if we can: others may want them before this process ends."""
        with suppress(BoxThirdingError):
            left = self.study.held(self.holder)
            if left:
                self.study.release(*left)

    def _new(self, tickets: Iterable[Ticket]) -> list[Ticket]:
        return [ticket for ticket in tickets if ticket.id not in self._under_way]

    def _hand_in(self, ticket: Ticket, say: Any) -> None:
        """Say what became of a ticket; it is not under way any more, unless the study could not be reached."""
        try:
            say()
        except StudyUnavailable:
            self._unsure.add(ticket.id)
            raise
        except (TicketRefused, StudyFinished):
            self._settled(ticket)
            raise
        self._settled(ticket)

    def _settled(self, ticket: Ticket) -> None:
        self._under_way.discard(ticket.id)
        self._unsure.discard(ticket.id)

    def _way_out(self, holder: str) -> str:
        """Say what to do about a holder that does not come back."""
        place = getattr(self.study, "place", None)  # what names the study on a command line
        if place is None:
            return "If they are gone for good, release their tickets: study.release(holder=…)"
        words = ["boxthirding", "study", "release", *shlex.split(place), "--holder", holder]
        return f"If they are gone for good, release their tickets: {shlex.join(words)}"
