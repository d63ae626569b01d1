"""A session that survives: what was acknowledged is in its journal, and the rest follows from that."""

import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from boxthirding._checks import as_reward, whole
from boxthirding._text import counted
from boxthirding.errors import BoxThirdingError, InvalidInput, JournalBroken, StudyFinished, UnknownStudy
from boxthirding.policies.spec import as_policy, written
from boxthirding.session import (
    PAGE,
    ArmSummary,
    Box,
    Glance,
    Known,
    Lineage,
    Recommendation,
    Screening,
    Ticket,
    View,
    amendments,
    answers,
)
from boxthirding.session.known import KnownResult, check_details, listed
from boxthirding.session.labels import rows_of
from boxthirding.session.tickets import check_holder, is_worker, to_release
from boxthirding.study.arm_source import ArmSource, NotDrawn
from boxthirding.study.codec import RESTORE, START, check_for, check_of, decode, encode
from boxthirding.study.events import (
    ArmsAdded,
    ArmWithdrawn,
    Corrected,
    Created,
    Damaged,
    Entry,
    Event,
    Excluded,
    Failed,
    Finished,
    Given,
    Included,
    Observed,
    Paused,
    Redefined,
    Released,
    Resumed,
    TakenOver,
    Told,
)
from boxthirding.study.journal import Journal
from boxthirding.study.payloads import kept_all
from boxthirding.study.rules import package, version_of
from boxthirding.study.settings import GivenArms, Settings, changed, check_same, created_from, given
from boxthirding.study.snapshot import Unusable, pack, unpack
from boxthirding.study.state import FINISHED, OPEN, PAUSED, StudyState
from boxthirding.study.transactions import Decide, Decided, Transactions
from boxthirding.study.workers import Workers
from boxthirding.types import Label, Policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

T = TypeVar("T")

_MINUTE = 60.0
_WIDEST = 1000  # missing events in a row, after which the rest is not looked for
_TWO = 2  # results, below which there is no rate


class Study:
    """A durable session: the same verbs, kept in a journal that any number of threads and processes may share.

    `ask` and `tell` return when what they did is committed. Every call may name its `holder`: a worker or a rater; one
    study serves any number of them. Use it as a context manager, or call `close`, to let go of the database; `finish`
    is something else: it ends the study for good. `open_study` makes one.
    """

    name: str
    holder: str
    """Who asks here, when no holder is named."""
    place: str | None = None
    """Where it is kept, as a command line names it, without a password; None, if `open_study` did not open it."""

    def __init__(
        self,
        name: str,
        journal: Journal,
        settings: Settings | None = None,
        *,
        holder: str | None = None,
        clock: Callable[[], float] = time.time,
        reopen: Callable[[], "Study"] | None = None,
    ) -> None:
        self.name = name
        self.holder = _unique() if holder is None else check_holder(holder)
        self._clock = clock
        self._reopen = reopen  # how another process opens it
        settings = Settings() if settings is None else settings
        arms = given(settings.arms)
        self._payloads = arms.payloads  # what this process was given as arms, where that is not the label
        self._source = None if arms.iterator is None else ArmSource(arms.iterator, self._payloads)
        self._transactions = Transactions(journal, self._rebuilt)
        self._workers = Workers(journal)
        self._trouble: BoxThirdingError | None = None  # to be raised by the next ask
        if not journal.read(0, 1):
            if settings.arms is None:
                raise UnknownStudy(
                    f"there is no study {name!r} here", advice="give arms to make it, or the name of another"
                )
            self._create(journal, settings, arms)
        self._created, self._first_check = self._first_event()
        while behind := self._transactions.look(lambda state: self._check(state, settings, arms)):
            self._draw(behind)
        self._bring(settings, arms)

    @property
    def policy(self) -> Policy:
        """What decides which arm is next."""
        return self._transactions.look(lambda state: state.core.policy)

    @property
    def seed(self) -> int:
        """The seed that it was made with."""
        return self._created.seed

    @property
    def direction(self) -> str:
        """Whether larger rewards are better: maximize or minimize."""
        return self._created.direction

    @property
    def lease(self) -> float | None:
        """Seconds after which a ticket that was not told goes to the next holder who asks; None for never."""
        return self._created.lease

    @property
    def patience(self) -> int:
        """Failures in a row after which an arm is withdrawn."""
        return self._created.patience

    @property
    def examples(self) -> int | None:
        """How many different pulls an arm has; None without end."""
        return self._created.examples

    @property
    def details(self) -> dict[str, Any]:
        """What else must stay the same, such as the command that scores an arm, or the question to raters."""
        return self._transactions.look(lambda state: {} if state.details is None else {**state.details})

    @property
    def status(self) -> str:
        """One of open, paused and finished."""
        return self._transactions.look(lambda state: state.status)

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._transactions.look(lambda state: state.seq)

    @property
    def pulls(self) -> int:
        """How many results count."""
        return self._transactions.look(lambda state: state.core.ledger.pulls)

    @property
    def spent(self) -> int:
        """How many results were told through tickets, excluded ones too."""
        return self._transactions.look(lambda state: state.core.ledger.spent)

    @property
    def open(self) -> int:
        """How many tickets are neither told nor void."""
        return self._transactions.look(lambda state: len(state.core.tickets.open))

    def ask(
        self, n: int = 1, *, holder: str | None = None, unseen: bool = False, limit: int | None = None
    ) -> list[Ticket]:
        """Return up to n tickets; none while the study is paused, or when the policy needs a result first.

        Parameters
        ----------
        n : int, default 1
            How many tickets are wanted.
        holder : str, optional
            Who asks: a worker or a rater. Default: the holder that the study was opened with.
        unseen : bool, default False
            Give only arms that this holder was never handed, as raters must see no arm twice.
        limit : int, optional
            Make no new ticket when `spent` and open tickets of the whole study number as many.

        Tickets that were given to a holder and never heard of, after a crash or a lost answer, are in `held(holder)`.

        """
        whole("the number of tickets", n, least=1)
        if limit is not None:
            whole("limit", limit, least=0)
        who = self.holder if holder is None else check_holder(holder)
        trouble, self._trouble = self._trouble, None
        if trouble is not None:
            raise trouble
        tickets: list[Ticket] = []
        try:
            to_draw = self._ask_for(n, who, limit, tickets, unseen=unseen)
            while to_draw:
                self._draw(to_draw)
                to_draw = self._ask_for(n, who, limit, tickets, unseen=unseen)
        except BoxThirdingError as problem:
            if not tickets:
                raise
            self._put_off(problem)
        return tickets

    def tell(
        self,
        ticket: int | Ticket,
        reward: float,
        *,
        holder: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the result of a ticket, for good; refuse it, changing nothing, if it is not finite or not expected.

        Parameters
        ----------
        ticket : Ticket or int
            What `ask` returned, or its id.
        reward : float
            What the pull gave.
        holder : str, optional
            Who tells; one to whom the ticket was never given is refused. Default: the ticket's holder.
        details : mapping, optional
            A small JSON object to keep with the result, such as {"answer": "funny", "seconds": 2.5}.

        """
        value = as_reward(reward)
        kept = None if details is None else check_details(details)

        def decide(state: StudyState) -> Decided[None]:
            state.check_can_write()
            entry = state.core.expected(ticket, holder)
            ticket_id = state.core.tickets.find(ticket) if entry is None else entry.ticket.id
            who = None if entry is not None and holder == entry.holder else holder
            return _happens(state, Told(self._clock(), ticket_id, value, who, kept))

        self._do(decide)

    def tell_all(self, results: Iterable[tuple[int | Ticket, float]]) -> None:
        """Take the results of many tickets in one commit, all or none of them: (ticket, reward) pairs."""
        pairs = [(ticket, as_reward(reward)) for ticket, reward in results]

        def decide(state: StudyState) -> Decided[None]:
            state.check_can_write()
            now = self._clock()
            ids = state.core.check_all(ticket for ticket, _ in pairs)
            return _happens(state, *[Told(now, ticket, reward) for ticket, (_, reward) in zip(ids, pairs, strict=True)])

        self._do(decide)

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated: the next to ask is given it.

        An arm that failed `patience` times in a row is withdrawn.
        """

        def decide(state: StudyState) -> Decided[None]:
            state.check_can_write()
            now, arm = self._clock(), state.core.tickets.expected(ticket).ticket
            events: list[Event] = [Failed(now, arm.id)]
            if state.core.failures_in_a_row(arm.arm) + 1 >= state.core.patience:
                why = f"failed {counted(state.core.patience, 'time')} in a row"
                events.append(ArmWithdrawn(now, arm.label, why))
            return _happens(state, *events)

        self._do(decide)

    def held(self, holder: str | None = None) -> list[Ticket]:
        """Return the open tickets of a holder, in the order in which they were given."""
        who = self.holder if holder is None else holder
        return self._transactions.look(lambda state: [*map(self._with_payload, state.core.tickets.held(who))])

    def release(self, *tickets: int | Ticket, holder: str | None = None, why: str = "") -> list[int]:
        """Take open tickets, or all that a holder has, from their holders: the next to ask is given them.

        For tickets that are lost, or whose holder is, for good: that is no failure of their arms. It returns their ids.
        Should a result come all the same, it counts. `why` is kept with the event.
        """

        def decide(state: StudyState) -> Decided[list[int]]:
            state.check_can_write()
            now = self._now_open(state)
            ids = to_release(state.core.tickets, tickets, holder)
            return Decided(_happens(state, Released(now, tuple(ids), why)).events, ids)

        return self._do(decide)

    def worker(self) -> str:
        """Return a holder's name that is ours alone for as long as this process lives, or until `close`.

        Once this process has ended, `reclaim` in another one releases the tickets that it left behind.
        """
        return self._workers.new()

    def reclaim(self) -> int:
        """Release the tickets of workers that have ended; return how many."""
        holders = self._transactions.look(lambda state: list(state.core.tickets.held_by))
        dead = [name for name in holders if is_worker(name) and not self._workers.is_ours(name)]
        released = 0
        for name in filter(self._workers.has_ended, dead):
            with suppress(InvalidInput):  # it has none any more, or the study is finished
                released += len(self.release(holder=name))
        return released

    def observe(self, label: Label, reward: float, *, pull: int | None = None) -> None:
        """Take a known result of an arm, without a ticket: it is not paid for.

        With examples, `pull` says which example it is of: its place in the order of the examples.
        """
        self._observe([KnownResult(_plain(label), as_reward(reward), pull)])

    def observe_all(self, results: Known) -> None:
        """Take known results of many arms in one commit, all or none of them.

        They are {label: reward}, {label: [reward, …]}, with examples {label: {pull: reward}}, or (label, reward) pairs.
        """
        self._observe([row._replace(label=_plain(row.label)) for row in listed(results)])

    def add_known(self, results: Known | None) -> None:
        """Take those of the known results that the study does not have: of each arm, what goes beyond those it has."""
        if results is not None:
            rows = [row._replace(label=_plain(row.label)) for row in listed(results)]
            if self._transactions.look(lambda state: amendments.not_there(state.core, rows)):
                self._do(lambda state: self._add_known(state, rows))

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        """Replace the reward of a ticket that was told: the answer is right at once, and nothing is run again."""
        value = as_reward(reward)

        def decide(state: StudyState) -> Decided[None]:
            state.check_can_write()
            amendments.check_can_amend(state.core, "take corrections")
            state.core.tickets.told_row(ticket)
            return _happens(state, Corrected(self._clock(), state.core.tickets.find(ticket), value))

        self._do(decide)

    def exclude(self, holder: str) -> int:
        """Let the results of a holder not count, those told and those still to come; return how many were told."""

        def decide(state: StudyState) -> Decided[int]:
            state.check_can_write()
            amendments.check_can_exclude(state.core, holder)
            told = len(state.core.ledger.rows_of(holder))
            return Decided(_happens(state, Excluded(self._clock(), holder)).events, told)

        return self._do(decide)

    def include(self, holder: str) -> int:
        """Let the results of an excluded holder count again; return how many there are."""

        def decide(state: StudyState) -> Decided[int]:
            state.check_can_write()
            amendments.check_can_include(state.core, holder)
            told = len(state.core.ledger.rows_of(holder))
            return Decided(_happens(state, Included(self._clock(), holder)).events, told)

        return self._do(decide)

    def use(self, policy: Policy | str) -> None:
        """Go on with another policy: it starts from every result that counts, and open tickets stay valid."""
        chosen = as_policy(policy)
        spec = written(chosen)

        def decide(state: StudyState) -> Decided[None]:
            now = self._now_open(state)
            state.core.check_can_take_over(chosen)
            why = f"use {spec} instead of {state.chosen.spec}"
            return _happens(state, TakenOver(now, spec, version_of(chosen), why, package()))

        self._transactions.look(lambda state: state.prepare(chosen))  # before the lock: it may take a second
        self._transactions.do(decide)

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them."""
        listed_arms = _listed(arms)
        new: dict[Label, Any] = {}

        def decide(state: StudyState) -> Decided[None]:
            state.check_can_write()
            now = self._now_open(state)
            pairs = state.core.labels.labelled(listed_arms)
            state.core.labels.check_new(pairs)
            new.update({label: payload for label, payload in pairs if payload is not label})
            return _happens(state, ArmsAdded(now, tuple([label for label, _ in pairs]), kept_all(pairs)))

        self._do(decide)
        self._payloads.update(new)

    def withdraw(self, label: Label) -> None:
        """Take an arm out of the race for good; its open tickets become void."""
        plain = _plain(label)

        def decide(state: StudyState) -> Decided[None]:
            state.check_can_write()
            now = self._now_open(state)
            state.core.check_can_withdraw(plain)
            return _happens(state, ArmWithdrawn(now, plain))

        self._do(decide)

    def describe(self, details: Mapping[str, Any]) -> None:
        """Let other details be those of the study from now on."""
        kept = check_details(details)

        def decide(state: StudyState) -> Decided[None]:
            if kept == (state.details or {}):
                return Decided([], None)
            return _happens(state, Redefined(self._clock(), details=kept))

        self._do(decide)

    def pause(self) -> None:
        """Hand out no tickets until `resume`; results are taken."""
        self._do(lambda state: self._turn(state, PAUSED, Paused(self._now_open(state))))

    def resume(self) -> None:
        """Hand out tickets again."""
        self._do(lambda state: self._turn(state, OPEN, Resumed(self._now_open(state))))

    def finish(self) -> None:
        """End the study for good: no more tickets; results of those that are open are still taken."""
        self._transactions.do(lambda state: self._turn(state, FINISHED, Finished(self._clock())))

    def recommend(self) -> Recommendation | None:
        """Return the best arm so far, or None before the first result."""
        return self._transactions.look(lambda state: answers.recommend(state.core))

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms so far, the recommended one first."""
        return self._transactions.look(lambda state: answers.top(state.core, k))

    def arms(
        self, first: int = 0, count: int = PAGE, *, order: str = "best", search: str | None = None
    ) -> list[ArmSummary]:
        """Return a page of the arms that were tried; the parameters are those of `Session.arms`."""
        return self._transactions.look(lambda state: answers.arms(state.core, first, count, order, search))

    def boxes(self, level: int | str | None = None, first: int = 0, count: int = PAGE) -> list[Box]:
        """Return the boxes of a level, or of all, each with a page of its arms, as `Session.boxes` does."""
        return self._transactions.look(lambda state: answers.boxes(state.core, level, first, count))

    def payload(self, label: Label) -> Any:
        """Return what was given as an arm; its label, where nothing else was, or where only its digest is stored."""
        if label in self._payloads:
            return self._payloads[label]
        return self._transactions.look(lambda state: state.core.labels.payload_of(label))

    def why(self, label: Label) -> Lineage:
        """Return the story of an arm: the boxes it was in, its rivals there, and where it stands now."""
        return self._transactions.look(lambda state: answers.why(state.core, label))

    def screening(self, share: float) -> Screening | None:
        """Return the chance that an arm of the best `share` of all is among those that could still be returned."""
        return self._transactions.look(lambda state: answers.screening(state.core, share))

    def view(self) -> View:
        """Return all that can be read, at one moment, with everything that others have written."""
        return self._transactions.look(self._view)

    def glance(self) -> Glance:
        """Return the counts and the answer as they were when the last call here returned; nothing is read for it."""
        return self._transactions.peek(lambda state: answers.glance(state.core))

    def plot(self, kind: str = "answer", ax: "Axes | None" = None) -> "Axes":
        """Draw what is known with Matplotlib, and return the axes.

        Parameters
        ----------
        kind : {"answer", "arms", "boxes"}, default "answer"
            The mean of the best arm over time; each arm by its pulls and mean; or how many arms stand in each box.
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: a new picture.

        """
        from boxthirding.session.plotting import plot  # noqa: PLC0415  # loaded when it is needed

        return plot(self, kind, ax)

    def events(self, after: int = 0, *, damaged: bool = False) -> Iterator[Entry | Damaged]:
        """Return the events of the journal with their numbers, in order, from number `after` + 1 on.

        They are read as written, whatever rule wrote them. An event that cannot be read raises `JournalBroken`, unless
        `damaged` is True: then it is returned as `Damaged`, and the rest follows.
        """
        seq = whole("after", after, least=0)
        texts = self._transactions.read(seq - 1, 1) if seq else []
        before = check_of(texts[0]) if texts else START
        for entry in _entries(self._transactions.read, seq, before, damaged=damaged):
            seq = entry.seq
            yield entry
        yield from _missing(self._transactions.peek(lambda state: state.seq), seq, damaged=damaged)

    def listen(self, heard: Callable[[int, Event], None]) -> None:
        """Call a function with every event from now on, and its number, once it is committed.

        What other processes write is heard of when something is next read here. The function is called by whichever
        thread is at work, while other threads wait: it must be short, and call nothing of the study. After an error of
        the database numbers may be missing, or come twice: `events(after)` has them all.
        """
        self._transactions.listeners.append(heard)

    def state(self) -> bytes:
        """Return all that the events add up to, as bytes: after the same events and questions, the same bytes."""
        return self._transactions.look(lambda state: pack(state.save()))

    def close(self) -> None:
        """Let go of the database, and of the names of workers; the study can be opened again at any time."""
        self._workers.let_go()
        self._transactions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._reopen is None:
            raise InvalidInput(
                f"study {self.name!r} was not opened by its place, so it cannot be pickled: open_study() it"
            )
        return _reopened, (self._reopen, self.holder)

    def __repr__(self) -> str:
        return f"<Study {self.name!r}>"

    def _do(self, decide: Decide[T]) -> T:
        """Let something happen; a newer version of the rule says first that it takes the study over."""

        def decide_and_take_over(state: StudyState) -> Decided[T]:
            decided = decide(state)
            if not (state.must_take_over and decided.events):
                return decided
            return Decided([state.take_over(self._clock()), *decided.events], decided.result)

        return self._transactions.do(decide_and_take_over)

    def _ask_for(self, n: int, holder: str, limit: int | None, tickets: list[Ticket], *, unseen: bool) -> int:
        """Add tickets to those there are, up to n in all; return how many arms to draw before asking for the rest."""

        def decide(state: StudyState) -> Decided[tuple[list[Ticket], int]]:
            return self._ask(state, n - len(tickets), holder, limit, unseen=unseen)

        new, to_draw = self._do(decide)
        tickets += map(self._with_payload, new)
        return to_draw

    def _ask(
        self, state: StudyState, n: int, holder: str, limit: int | None, *, unseen: bool
    ) -> Decided[tuple[list[Ticket], int]]:
        state.check_can_write()
        now, core = self._now_open(state), state.core
        if state.status == PAUSED:
            return Decided([], ([], 0))
        behind = state.feed.catch_up(core.labels.knows)
        if behind:
            return Decided([], ([], behind))
        events: list[Event] = []
        tickets: list[Ticket] = []
        if core.tickets.free or self.lease is not None:
            ids = core.to_give(n, holder, now, self.lease, limit, unseen=unseen)
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
            trouble = asking.trouble if self._source is None else self._source.explained(asking.trouble)
            if not tickets and not events and isinstance(trouble, BoxThirdingError):
                raise trouble
            if isinstance(trouble, BoxThirdingError):
                self._put_off(trouble)
        return Decided(events, (tickets, 0))

    def _put_off(self, trouble: BoxThirdingError) -> None:
        """Say what is wrong when the next tickets are wanted: those in hand go out first."""
        if not trouble.transient:  # else it may be over by then
            self._trouble = trouble

    def _observe(self, rows: list[KnownResult]) -> None:
        if rows:
            self._do(lambda state: self._observed(state, rows))

    def _observed(self, state: StudyState, rows: list[KnownResult]) -> Decided[None]:
        state.check_can_write()
        now = self._now_open(state)
        amendments.check_all_known(state.core, rows)
        return _happens(state, Observed(now, tuple([(label, reward, pull) for label, reward, pull in rows])))

    def _add_known(self, state: StudyState, rows: list[KnownResult]) -> Decided[None]:
        """Take what is missing, under the lock: another process may be about to take the same."""
        missing = amendments.not_there(state.core, rows)
        return self._observed(state, missing) if missing else Decided([], None)

    def _with_payload(self, ticket: Ticket) -> Ticket:
        """Return a ticket with what this process was given as its arm."""
        if ticket.label not in self._payloads:
            return ticket
        full = Ticket(*ticket[:4], self._payloads[ticket.label])
        full.origin = ticket.origin
        return full

    def _now_open(self, state: StudyState) -> float:
        """Return the time, if the study is not finished."""
        if state.status == FINISHED:
            raise StudyFinished(
                f"study {self.name!r} is finished: it can be read, and open tickets told, and that is all"
            )
        return self._clock()

    @staticmethod
    def _turn(state: StudyState, status: str, event: Event) -> Decided[None]:
        """Change the status, unless it is that already."""
        return Decided([], None) if state.status == status else _happens(state, event)

    def _view(self, state: StudyState) -> View:
        recent = state.told_at[-100:]
        rate = None
        if len(recent) >= _TWO and recent[-1] > recent[0]:
            rate = _MINUTE * (len(recent) - 1) / (recent[-1] - recent[0])
        view = answers.view(state.core, name=self.name, status=state.status, per_minute=rate)
        return view if view.policy else replace(view, policy=state.chosen.spec)

    def _draw(self, n: int) -> None:
        """Let the iterator of this process make arms; no one else waits for that."""
        if self._source is not None:
            self._source.draw_ahead(n)

    def _create(self, journal: Journal, settings: Settings, arms: GivenArms) -> None:
        """Make the study, unless another process has just done so."""
        created = created_from(settings, arms, self._clock())
        known = (
            [] if settings.known is None else [row._replace(label=_plain(row.label)) for row in listed(settings.known)]
        )
        self._draw(1)  # now: others may be waiting for the lock then
        with journal.writing():
            if journal.read(0, 1):
                return
            state = StudyState(created, self._source, is_new=True)  # checks the settings, and draws the first arm
            pairs = [(label, state.core.labels.payload_of(label)) for label in state.feed.drawn]
            created = replace(created, drawn=tuple(state.feed.drawn), drawn_payloads=kept_all(pairs))
            events: list[Event] = [created]
            if known:
                events += self._observed(state, known).events
            texts, check = [], START
            for event in events:
                text, check = encode(event, check)
                texts.append(text)
            journal.append(0, texts)

    def _first_event(self) -> tuple[Created, str]:
        (text,) = self._transactions.journal.read(0, 1)
        created = decode(text, 1, START)
        if not isinstance(created, Created):
            raise JournalBroken(f"the journal of {self.name!r} begins with {created}, but must begin with its making")
        return created, check_of(text)

    def _check(self, state: StudyState, settings: Settings, arms: GivenArms) -> int:
        """Hold what a caller gives against what the study was made with; return how many arms to draw for that."""
        check_same(self.name, state, settings, arms)
        return state.feed.catch_up(state.core.labels.knows)

    def _bring(self, settings: Settings, arms: GivenArms) -> None:
        """Write down known results that the study does not have, and with `force` what differs."""
        self.add_known(settings.known)
        if settings.force:
            others, details = self._transactions.look(lambda state: changed(state, settings, arms))
            if others or details is not None:
                event = Redefined(self._clock(), tuple(others), tuple(others.values()) or None, details)
                self._do(lambda state: _happens(state, event))

    def _rebuilt(self) -> StudyState:
        """Return the state of the latest snapshot that can be used, or that of the very beginning."""
        journal = self._transactions.journal
        for seq in journal.snapshots():
            texts = journal.read(seq - 1, 1)
            if not texts:
                raise _cut_off(seq)
            with suppress(Unusable):
                state = StudyState.load(self._created, self._source, unpack(journal.snapshot(seq)))
                if check_of(texts[0]) == state.check:  # it follows that very event
                    return state
        state = StudyState(self._created, self._source)
        state.check = self._first_check
        return state


def read_journal(journal: Journal, *, damaged: bool = False) -> Iterator[Entry | Damaged]:
    """Return the events of a journal as written, whether or not a study can be made of them.

    An event that is missing or cannot be read raises `JournalBroken`, unless `damaged` is True: then it is returned as
    `Damaged`.
    """
    last = 0
    for entry in _entries(lambda after: journal.read(after, 10_000), 0, START, damaged=damaged):
        last = entry.seq
        yield entry
    yield from _missing(max(journal.snapshots(), default=0), last, damaged=damaged)


def _missing(known: int, last: int, *, damaged: bool) -> Iterator[Damaged]:
    """Return what stands for the events that are missing at the end of a journal, up to one that is known."""
    if known > last:
        broken = _cut_off(known)
        if not damaged:
            raise broken
        yield Damaged(last + 1, "", broken.problem)


def _cut_off(seq: int) -> JournalBroken:
    return JournalBroken(
        f"there was an event {seq}, but the journal ends before it: events are missing", advice=RESTORE
    )


def _entries(page: Callable[[int], list[str]], seq: int, before: str, *, damaged: bool) -> Iterator[Entry | Damaged]:
    befores = [before]  # after a damaged event there are two: the check that it has, and the one that it should have
    gap = 0  # events in a row that are missing
    while True:
        try:
            texts = page(seq)
        except JournalBroken as broken:
            gap += 1
            if not damaged or gap > _WIDEST:
                raise
            seq += 1
            yield Damaged(seq, "", broken.problem)
            continue
        if not texts:
            return
        gap = 0
        for text in texts:
            seq += 1
            right = next((check for check in befores if check_of(text) == check_for(text, check)), befores[0])
            try:
                yield Entry(seq, decode(text, seq, right))
                befores = [check_of(text)]
            except JournalBroken as broken:
                if not damaged:
                    raise
                yield Damaged(seq, text, broken.problem)
                befores = [check_of(text), *[check_for(text, check) for check in befores]][:3]


def _happens(state: StudyState, *events: Event) -> Decided[None]:
    """Let events happen, and return them."""
    for event in events:
        state.apply(event)
    return Decided([*events], None)


def _listed(arms: Any) -> Any:
    """Return arms that are all there, as what gives them may take its time, or raise."""
    arms = rows_of(arms)
    if isinstance(arms, Mapping):
        return dict(arms)
    return list(arms) if isinstance(arms, Iterable) and not isinstance(arms, str | bytes) else arms


def _plain(label: Label) -> Label:
    plain: Label = label.item() if isinstance(label, np.generic) else label
    return plain


def _unique() -> str:
    """Return a holder's name that no other has."""
    return f"{socket.gethostname()[:100]}-{os.getpid()}-{os.urandom(4).hex()}"


def _reopened(reopen: Callable[[], Study], holder: str) -> Study:
    study = reopen()
    study.holder = holder
    return study
