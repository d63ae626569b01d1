"""Tickets and results: what workers and raters want of a study all the time, and so what shares commits.

Arms of an iterator are drawn before the lock is taken: a decision that lacks some says how many, and is made again when
they are there. What goes wrong while tickets are in hand is said by the next ask, as those go out first.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from boxthirding._checks import as_reward
from boxthirding.errors import BoxThirdingError, InvalidInput, StudyFinished
from boxthirding.session import Ticket
from boxthirding.session.amendments import check_details
from boxthirding.session.tickets import check_holder
from boxthirding.study.arm_source import NotDrawn, OwnArms
from boxthirding.study.decisions import Decisions
from boxthirding.study.events import Event, Given
from boxthirding.study.state import PAUSED, StudyState
from boxthirding.study.transactions import Decide, Decided, Transactions

Came: TypeAlias = tuple[list[InvalidInput | None], list[Ticket]]
"""What came of a turn: what is wrong with each result, or None, and the tickets."""

_Turned: TypeAlias = tuple[list[InvalidInput | None], list[Ticket], int]  # the same, and how many arms to draw first


class Turn(NamedTuple):
    """What a rater does all the time: tell results, and ask for the next tickets."""

    results: Iterable[tuple[int | Ticket, float, Mapping[str, Any] | None]]
    n: int
    holder: str
    unseen: bool = False


class Turns:
    """The turns of all holders."""

    def __init__(self, transactions: Transactions, decisions: Decisions, arms: OwnArms, lease: float | None) -> None:
        self._transactions, self._decisions, self._arms, self._lease = transactions, decisions, arms, lease
        self._trouble: BoxThirdingError | None = None  # to be raised by the next ask

    def ask(self, n: int, holder: str, limit: int | None, *, unseen: bool) -> list[Ticket]:
        """Return up to n tickets for a holder."""
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble
        tickets: list[Ticket] = []

        def decide(state: StudyState) -> Decided[tuple[list[Ticket], int]]:
            return self._ask(state, n - len(tickets), holder, limit, unseen=unseen)

        try:
            while to_draw := self._add_to(tickets, decide):
                self._arms.draw_ahead(to_draw)
        except BoxThirdingError as problem:
            if not tickets:
                raise
            self._put_off(problem)
        return tickets

    def _add_to(self, tickets: list[Ticket], decide: Decide[tuple[list[Ticket], int]]) -> int:
        """Add the tickets of a decision to those there are; return how many arms to draw before the next one."""
        new, to_draw = self._transactions.do(self._decisions.taking_over(decide))
        tickets += map(self._arms.with_payload, new)
        return to_draw

    def take(self, turns: Iterable[Turn]) -> list[Came | Exception]:
        """Take the turns of many holders in one commit; an error stands in the place of its turn."""
        came: list[Any] = []
        decisions: dict[int, tuple[Turn, Decide[_Turned]]] = {}
        for place, turn in enumerate(turns):
            came.append(None)
            try:
                decisions[place] = turn, self._turn_of(turn)
            except InvalidInput as problem:
                came[place] = problem
        done = self._transactions.do_all([self._decisions.taking_over(decide) for _, decide in decisions.values()])
        for (place, (turn, _)), turned in zip(decisions.items(), done, strict=True):
            came[place] = turned if isinstance(turned, Exception) else self._with_more(turn, *turned)
        return came

    def _turn_of(self, turn: Turn) -> Decide[_Turned]:
        """Return the decision of a turn, its results checked."""
        who = check_holder(turn.holder)
        rows = [
            (ticket, as_reward(reward), None if details is None else check_details(details))
            for ticket, reward, details in turn.results
        ]

        def decide(state: StudyState) -> Decided[_Turned]:
            events: list[Event] = []
            problems: list[InvalidInput | None] = []
            for ticket, reward, details in rows:
                problems.append(None)
                try:
                    events += self._decisions.tell(state, ticket, reward, who, details).events
                except InvalidInput as problem:
                    problems[-1] = problem
            asked: Decided[tuple[list[Ticket], int]] = Decided([], ([], 0))
            try:
                if turn.n > 0:
                    asked = self._ask(state, turn.n, who, None, unseen=turn.unseen)
            except StudyFinished:
                pass
            except BoxThirdingError as trouble:
                if not events:
                    raise
                self._put_off(trouble)  # the results are in
            return Decided([*events, *asked.events], (problems, *asked.result))

        return decide

    def _with_more(
        self, turn: Turn, problems: list[InvalidInput | None], tickets: list[Ticket], to_draw: int
    ) -> Came | Exception:
        """Return what came of a turn, with tickets for which arms had to be drawn first."""
        tickets = [*map(self._arms.with_payload, tickets)]
        if to_draw:
            try:
                tickets += self.ask(turn.n - len(tickets), turn.holder, None, unseen=turn.unseen)
            except BoxThirdingError as trouble:
                return trouble
        return problems, tickets

    def _ask(
        self, state: StudyState, n: int, holder: str, limit: int | None, *, unseen: bool
    ) -> Decided[tuple[list[Ticket], int]]:
        """Hand out up to n tickets, those without a holder first; return how many arms to draw for the rest."""
        state.check_can_write()
        now, core = self._decisions.now_open(state), state.core
        if state.status == PAUSED:
            return Decided([], ([], 0))
        behind = state.feed.catch_up(core.labels.knows)
        if behind:
            return Decided([], ([], behind))
        events: list[Event] = []
        tickets: list[Ticket] = []
        if core.tickets.free or self._lease is not None:
            ids = core.to_give(n, holder, now, self._lease, limit, unseen=unseen)
            if ids:
                given_again = Given(now, holder, tuple(ids))
                tickets = [core.tickets.open[ticket].ticket for ticket in ids]
                state.apply(given_again)
                events.append(given_again)
        fresh = core.room(n - len(tickets), limit)
        if fresh <= 0:
            return Decided(events, (tickets, 0))
        asking = state.ask(fresh, holder, now, unseen=unseen)
        tickets += asking.tickets
        if asking.event is not None:
            events.append(asking.event)
        if isinstance(asking.trouble, NotDrawn):
            return Decided(events, (tickets, fresh - len(asking.tickets)))
        if asking.trouble is not None:
            trouble = self._arms.explained(asking.trouble)
            if not tickets and not events and isinstance(trouble, BoxThirdingError):
                raise trouble
            if isinstance(trouble, BoxThirdingError):
                self._put_off(trouble)
        return Decided(events, (tickets, 0))

    def _put_off(self, trouble: BoxThirdingError) -> None:
        """Say what is wrong when the next tickets are wanted: those in hand go out first."""
        if not trouble.transient:  # else it may be over by then
            self._trouble = trouble
