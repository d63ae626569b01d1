"""A durable session: its journal has everything that was acknowledged, and its state follows from that."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any, Self

from boxthirding._checks import as_reward, whole
from boxthirding.errors import BoxThirdingError, InvalidInput, JournalBroken, UnknownStudy
from boxthirding.policies.lineage import Record
from boxthirding.policies.spec import as_policy, format_spec
from boxthirding.session import amendments
from boxthirding.session.amendments import check_details, listed, plain
from boxthirding.session.core import Core
from boxthirding.session.labels import is_label, rows_of
from boxthirding.session.reading import CoreReader, glance
from boxthirding.session.tickets import check_holder, is_worker
from boxthirding.session.values import Details, Glance, Known, KnownResult, Ticket, View, in_brief
from boxthirding.study import decisions
from boxthirding.study.arm_payloads import kept_all
from boxthirding.study.arm_source import ArmSource
from boxthirding.study.codec import START, check_of, decode, encode
from boxthirding.study.events import Created, Damaged, Entry, Event
from boxthirding.study.journal import HeldNames, Journal, read_from, unique_name
from boxthirding.study.settings import GivenArms, Settings, changed, check_same, created_from, given
from boxthirding.study.snapshot import pack, restored, unpack
from boxthirding.study.state import Exchange, Handed, StudyState
from boxthirding.study.transactions import Transactions
from boxthirding.types import Label, Policy


class Study(CoreReader):
    """A durable session: the same verbs, kept in a journal that any number of threads and processes may share.

    `ask` and `tell` return when what they did is committed. Every call may name its `holder`: a worker or a rater; one
    study serves any number of them. Use it as a context manager, or call `close`, to close the database; `finish` is
    something else: it ends the study permanently. `open_study` makes one. `AskTell` says what each verb does.

    Attributes
    ----------
    name : str
        The name of the study.
    holder : str
        The holder, if none is named.
    place : str or None
        Where it is kept, as a command line names it, without a password; None, if `open_study` did not open it.
    direction : {"maximize", "minimize"}
        Whether larger rewards are better.
    patience : int
        Failures in a row after which an arm is withdrawn.
    lease : float or None
        Seconds after which a ticket that was not told goes to the next holder who asks; None for never.
    origin : str
        What marks its tickets as its own; another study of the same name has another.

    """

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
        self.place: str | None = None
        self.holder = unique_name() if holder is None else check_holder(holder)
        self._reopen = reopen  # how another process opens it
        self._trouble: BoxThirdingError | None = None  # raised by the next ask
        self._workers = HeldNames(journal)
        settings = Settings() if settings is None else settings
        arms = given(settings.arms)
        self._arms = ArmSource(arms.payloads, arms.iterator)
        if not journal.read(0, 1):
            if settings.arms is None:
                raise UnknownStudy(f"there is no study {name!r} here", advice="give arms to make it, or another name")
            _create(name, journal, settings, arms, self._arms, clock)
        (text,) = journal.read(0, 1)
        created = decode(text, 1, START)
        if not isinstance(created, Created):
            raise JournalBroken(f"the journal of {name!r} begins with {created}, but must begin with its making")
        self._created = created
        self.direction, self.patience, self.lease = created.direction, created.patience, created.lease
        self.origin = created.origin
        rebuild = partial(restored, name, journal, created, check_of(text), self._arms)
        self._transactions = Transactions(journal, rebuild, clock)
        self._transactions.look(lambda state: check_same(state, settings, arms))
        while behind := self._transactions.look(StudyState.catch_up):
            self._arms.draw_ahead(behind)
        self.add_known(settings.known)
        if settings.force:
            others, details = self._transactions.look(lambda state: changed(state, settings, arms))
            if others or details is not None:
                self._transactions.do(decisions.redefine, others, details)

    @property
    def policy(self) -> Policy:
        return self._transactions.look(lambda state: state.policy)

    @property
    def has_boxes(self) -> bool:
        """Whether the policy moves arms between boxes; not if its rule is not installed."""
        return self._transactions.look(lambda state: type(state.core.rule.record) is not Record)

    @property
    def seed(self) -> int:
        return self._created.seed

    @property
    def examples(self) -> int | None:
        return self._created.examples

    @property
    def details(self) -> dict[str, Any]:
        """What else must stay the same, such as the command that scores an arm, or the question to raters."""
        return self._transactions.look(lambda state: {} if state.details is None else {**state.details})

    @property
    def is_gone(self) -> bool:
        """Whether a call has found the study deleted, or replaced by another of its name."""
        return self._transactions.is_gone

    @property
    def status(self) -> str:
        """One of open, paused and finished."""
        return self._transactions.look(lambda state: state.status)

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._transactions.look(lambda state: state.seq)

    def check(self, seq: int) -> str:
        """Return the check of an event, which depends on all events before it; empty, if it is not there."""
        with suppress(JournalBroken):
            texts = self._transactions.read(seq - 1, 1)
            return check_of(texts[0]) if texts else ""
        return ""

    def ask(
        self, n: int = 1, *, holder: str | None = None, unseen: bool = False, limit: int | None = None
    ) -> list[Ticket]:
        whole("the number of tickets", n, least=1)
        if limit is not None:
            whole("limit", limit, least=0)
        who = self.holder if holder is None else check_holder(holder)
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        handed = self._transactions.do(decisions.ask, n, who, limit, unseen=unseen)
        return self._all_of(handed, n, who, limit, unseen=unseen)

    def _all_of(self, handed: Handed, n: int, holder: str, limit: int | None, *, unseen: bool) -> list[Ticket]:
        """Return up to n tickets: those that are handed out, and the rest once their arms have been drawn."""
        tickets = [*map(self._with_payload, handed.tickets)]
        try:
            while handed.to_draw:
                self._arms.draw_ahead(handed.to_draw)
                handed = self._transactions.do(decisions.ask, n - len(tickets), holder, limit, unseen=unseen)
                tickets += map(self._with_payload, handed.tickets)
        except BoxThirdingError as trouble:
            if not tickets:
                raise
            handed = Handed([], trouble=trouble)
        if handed.trouble is not None and not handed.trouble.transient:  # else it may be over by then
            self._trouble = handed.trouble  # those in hand go out first
        return tickets

    def tell(
        self, ticket: int | Ticket, reward: float, *, holder: str | None = None, details: Details | None = None
    ) -> None:
        checked = None if details is None else check_details(details)
        self._transactions.do(decisions.tell, ticket, as_reward(reward), holder, checked)

    def exchange(self, exchanges: Iterable[Exchange]) -> list[Handed | BaseException]:
        """Take results of holders and hand them tickets, all in one commit.

        Return what each is handed, no tickets once the study is finished; or the error that ended its exchange, which
        keeps no other from being made. Nor does a result that is refused: `problems` has an error in its place.
        """
        checked = [*map(_checked, exchanges)]
        outcomes = self._transactions.do_all(decisions.exchange, checked) if checked else []
        for place, (one, handed) in enumerate(zip(checked, outcomes, strict=True)):
            if not isinstance(handed, BaseException):
                try:
                    tickets = self._all_of(handed, one.n, one.holder, None, unseen=one.unseen)
                    outcomes[place] = handed._replace(tickets=tickets)
                except BoxThirdingError as error:  # the results are taken: told again, they are refused as such
                    outcomes[place] = error
        return outcomes

    def tell_all(self, results: Iterable[tuple[int | Ticket, float]]) -> None:
        """Take the results of many tickets in one commit, all or none of them: (ticket, reward) pairs."""
        pairs = [(ticket, as_reward(reward)) for ticket, reward in results]
        self._transactions.do(decisions.tell_all, pairs)

    def fail(self, ticket: int | Ticket) -> None:
        self._transactions.do(decisions.fail, ticket)

    def held(self, holder: str | None = None) -> list[Ticket]:
        who = self.holder if holder is None else check_holder(holder)
        return self._transactions.look(lambda state: [*map(self._with_payload, state.core.tickets.held(who))])

    def ticket(self, ticket: int) -> Ticket:
        """Return an open ticket by its id; any other raises what `tell` would raise."""
        return self._transactions.look(lambda state: state.core.tickets.expected(ticket).ticket)

    def reward_of(self, ticket: int | Ticket) -> float:
        """Return the reward of a ticket that was told, as it is now."""
        with self._reading() as core:
            return core.ledger.result(core.tickets.told_row(ticket)).reward

    def held_by(self, is_meant: Callable[[str], bool]) -> set[int]:
        """Return the ids of the open tickets of all holders whose name passes a test."""
        with self._reading() as core:
            held = core.tickets.by_holder
            return {ticket for holder in held if held[holder] and is_meant(holder) for ticket in held[holder]}

    def release(self, *tickets: int | Ticket, holder: str | None = None, why: str = "") -> list[int]:
        """Take open tickets, or all that a holder has, from their holders, and return their ids.

        The next holder who asks is given them. It does not count as a failure of their arms, and a result that comes
        all the same counts. `why` is kept with the event.
        """
        return self._transactions.do(decisions.release, tickets, holder, why)

    def worker(self) -> str:
        """Return a holder's name that no other process has while this one lives, or until `close`.

        Once this process has ended, `reclaim` in another one releases the tickets that it left behind.
        """
        return self._workers.new()

    def speak_for(self, worker: str) -> bool:
        """Hold the name of a worker that is reached through this process, as a server does; return whether it is held.

        `reclaim`, here and in other processes, takes the worker for alive while this process lives.
        """
        return is_worker(worker) and self._workers.acquire(worker)

    def reclaim(self) -> int:
        holders = self._transactions.look(lambda state: list(state.core.tickets.held_by))
        dead = [name for name in holders if is_worker(name) and not self._workers.is_held(name)]
        released = 0
        for name in filter(self._workers.has_ended, dead):
            with suppress(InvalidInput):  # it has none any more, or the study is finished
                released += len(self.release(holder=name))
        return released

    def observe(self, label: Label, reward: float, *, pull: int | None = None) -> None:
        self._transactions.do(decisions.observe, [KnownResult(plain(label), as_reward(reward), pull)])

    def observe_all(self, results: Known) -> None:
        rows = listed(results)
        if rows:
            self._transactions.do(decisions.observe, rows)

    def add_known(self, results: Known | None) -> None:
        """Take those of the known results that the study does not have: of each arm, what goes beyond those it has."""
        if results is not None:
            rows = listed(results)
            if self._transactions.look(lambda state: amendments.missing_results(state.core, rows)):
                self._transactions.do(decisions.add_known, rows)

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        self._transactions.do(decisions.correct, ticket, as_reward(reward))

    def exclude(self, holder: str) -> int:
        return self._transactions.do(decisions.exclude, holder)

    def include(self, holder: str) -> int:
        return self._transactions.do(decisions.include, holder)

    def pair(self, examples: Sequence[Mapping[str, Any]], order: Sequence[int], *, force: bool = False) -> list[int]:
        """Return by pull the place of the example that every arm sees; raise for other examples than those known here.

        The parameters are those of `Session.pair`.
        """
        with self._reading() as core:
            known = core.examples.stored
            if known or not examples:
                places = core.examples.pair(examples, order, force=force)
                if [*known] == [examples[place] for place in places]:
                    return places
        return self._transactions.do(decisions.pair, examples, order, force=force)

    def use(self, policy: Policy | str) -> None:
        chosen = as_policy(policy)
        spec = format_spec(chosen)
        self._transactions.do(decisions.use, chosen, spec)

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        pairs = self._transactions.do(decisions.add, _listed(arms))
        self._arms.payloads.update({label: payload for label, payload in pairs if payload is not label})

    def withdraw(self, label: Label) -> None:
        self._transactions.do(decisions.withdraw, plain(label))

    def describe(self, details: Details) -> None:
        """Replace the details of the study."""
        self._transactions.do(decisions.describe, check_details(details))

    def pause(self) -> None:
        """Hand out no tickets until `resume`; results are taken."""
        self._transactions.do(decisions.pause)

    def resume(self) -> None:
        """Hand out tickets again."""
        self._transactions.do(decisions.resume)

    def finish(self) -> None:
        """Finish the study: it issues no more tickets, and its answer is final.

        Results of open tickets, corrections and exclusions raise `StudyFinished`. It cannot be undone.
        """
        self._transactions.do(decisions.finish)

    def payload(self, label: Label) -> Any:
        """Return what was given as an arm; its label if nothing else was, or if only its digest is stored."""
        if is_label(label) and label in self._arms.payloads:
            return self._arms.payloads[label]
        with self._reading() as core:
            return core.labels.payload_of(label)

    def not_here(self) -> list[Label]:
        """Return the arms in the race that are stored by a digest and were not given here: they go by their labels."""
        with self._transactions.reading() as state:
            return [
                label
                for label, stored in state.stored.items()
                if "json" not in stored
                and label not in self._arms.payloads
                and not state.core.labels.is_withdrawn(label)
            ]

    def view(self) -> View:
        return self._transactions.look(StudyState.view)

    def what_if(self, *, exclude: Iterable[str] = (), include: Iterable[str] = ()) -> View:
        """Return the view as it would be without the results of some holders, or with those of excluded ones.

        Nothing changes: the holders are excluded and included in a copy of the study's state.

        Parameters
        ----------
        exclude : iterable of str, optional
            Holders whose results would not count.
        include : iterable of str, optional
            Excluded holders whose results would count again.

        """
        state = StudyState.load(self.name, self._created, ArmSource(), unpack(self.state()))
        state.settle()
        for holder in exclude:
            amendments.exclude(state.core, holder)
        for holder in include:
            amendments.include(state.core, holder)
        return state.view()

    def glance(self) -> Glance:
        with self._transactions.reading(fresh=False) as state:
            return glance(state.core)

    def events(self, after: int = 0, *, damaged: bool = False) -> Iterator[Entry | Damaged]:
        """Return the events of the journal with their numbers, in order, from number `after` + 1 on.

        They are read as written, whatever rule wrote them. An event that cannot be read raises `JournalBroken`, unless
        `damaged` is True: then it is returned as `Damaged`, and the rest follows.
        """
        last = whole("after", after, least=0)
        look = partial(self._transactions.look, lambda state: state.seq, fresh=False)
        yield from read_from(self._transactions.read, last, look, damaged=damaged)

    def listen(self, heard: Callable[[int, Event], None]) -> None:
        """Call a function with the number of every event from now on, and the event, once it is committed.

        It is called for events of other processes when something is next read here. It is called while other threads
        wait: it must be short, and call nothing of the study. After an error of the database numbers may be missing, or
        come twice: `events(after)` has them all.
        """
        self._transactions.listeners.append(heard)

    def state(self) -> bytes:
        """Return the state of the study as bytes: after the same events and calls, the same bytes."""
        return self._transactions.look(lambda state: pack(state.save()))

    def close(self) -> None:
        """Close the database, and release the names of workers; the study can be opened again at any time."""
        self._workers.release()
        self._transactions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        if self._reopen is None:
            raise InvalidInput(f"study {self.name!r} cannot be pickled: open_study() opens one that can")
        return _reopened, (self._reopen, self.holder, self._arms.not_stored())

    def __repr__(self) -> str:
        """Describe where it is kept and how far it was when the last call returned; reads nothing."""
        where, state = self.place or repr(self.name), self._transactions.latest
        if state is None:
            return f"<Study {where}>"
        core = state.core
        arms = None if core.labels.open_ended else core.labels.in_race
        return f"<Study {where} of {in_brief(arms, state.chosen.spec, core.ledger.pulls)}>"

    @contextmanager
    def _reading(self) -> Iterator[Core]:
        with self._transactions.reading() as state:
            yield state.core

    def _with_payload(self, ticket: Ticket) -> Ticket:
        """Return a ticket with the object that was given here as its arm."""
        if ticket.label not in self._arms.payloads:
            return ticket
        full = Ticket(*ticket[:4], self._arms.payloads[ticket.label])
        full.origin = ticket.origin
        return full


def _create(
    name: str, journal: Journal, settings: Settings, arms: GivenArms, source: ArmSource, clock: Callable[[], float]
) -> None:
    """Write the first events of a new study, unless another process has just done so."""
    created = created_from(settings, arms, clock())
    known = [] if settings.known is None else listed(settings.known)
    source.draw_ahead(1)  # now: others may be waiting for the lock then
    with journal.writing():
        if journal.read(0, 1):
            return
        state = StudyState(name, created, source, is_new=True)  # checks the settings, and draws the first arm
        pairs = [(label, state.core.labels.payload_of(label)) for label in state.feed.drawn]
        events: list[Event] = [replace(created, drawn=tuple(state.feed.drawn), drawn_payloads=kept_all(pairs))]
        if known:
            events += decisions.observe(state, clock(), known).events
        texts, check = [], START
        for event in events:
            text, check = encode(event, check)
            texts.append(text)
        journal.append(0, texts)


def _checked(exchange: Exchange) -> Exchange:
    results = [
        (ticket, as_reward(reward), None if details is None else check_details(details))
        for ticket, reward, details in exchange.results
    ]
    return exchange._replace(holder=check_holder(exchange.holder), results=results)


def _listed(arms: Any) -> Any:
    """Return arms that are all there, as what gives them may take its time, or raise."""
    arms = rows_of(arms)
    if isinstance(arms, Mapping):
        return dict(arms)
    return list(arms) if isinstance(arms, Iterable) and not isinstance(arms, str | bytes) else arms


def _reopened(reopen: Callable[[], Study], holder: str, payloads: dict[Label, Any]) -> Study:
    study = reopen()
    study.holder = holder
    study._arms.payloads.update(payloads)  # noqa: SLF001  # a study of our own making
    return study
