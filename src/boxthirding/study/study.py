"""A session that survives: what was acknowledged is in its journal, and the rest follows from that."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from boxthirding._checks import as_reward, whole
from boxthirding.errors import InvalidInput, JournalBroken, UnknownStudy
from boxthirding.policies.lineage import PlainRecord
from boxthirding.policies.spec import as_policy, written
from boxthirding.session import (
    Glance,
    Known,
    Ticket,
    View,
    amendments,
    answers,
)
from boxthirding.session.amendments import KnownResult, check_details, listed, plain
from boxthirding.session.core import Core
from boxthirding.session.labels import is_label, rows_of
from boxthirding.session.tickets import check_holder, is_worker
from boxthirding.session.values import in_brief
from boxthirding.study import opening
from boxthirding.study.arm_source import OwnArms
from boxthirding.study.codec import check_of
from boxthirding.study.decisions import Decisions
from boxthirding.study.events import Damaged, Entry, Event
from boxthirding.study.exchange import Came, Turn, Turns
from boxthirding.study.journal import Journal
from boxthirding.study.reading import read_from
from boxthirding.study.settings import GivenArms, Settings, changed, check_same, given
from boxthirding.study.snapshot import pack, unpack
from boxthirding.study.state import StudyState
from boxthirding.study.transactions import Decide, Transactions
from boxthirding.study.workers import Workers, unique_name
from boxthirding.types import Label, Policy

T = TypeVar("T")


class Study(answers.CoreReader):
    """A durable session: the same verbs, kept in a journal that any number of threads and processes may share.

    `ask` and `tell` return when what they did is committed. Every call may name its `holder`: a worker or a rater; one
    study serves any number of them. Use it as a context manager, or call `close`, to let go of the database; `finish`
    is something else: it ends the study for good. `open_study` makes one. `AskTell` says what each verb does.
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
        self.holder = unique_name() if holder is None else check_holder(holder)
        self._reopen = reopen  # how another process opens it
        settings = Settings() if settings is None else settings
        arms = given(settings.arms)
        self._arms = OwnArms(arms.payloads, arms.iterator)
        self._decisions = Decisions(name, clock)
        if not journal.read(0, 1):
            if settings.arms is None:
                raise UnknownStudy(
                    f"there is no study {name!r} here", advice="give arms to make it, or the name of another"
                )
            opening.create(journal, settings, arms, self._arms, self._decisions)
        first, source = opening.first_event(name, journal), self._arms.source
        self._created = first.created
        self._transactions = Transactions(journal, lambda: opening.rebuilt(journal, first, source))
        self._turns = Turns(self._transactions, self._decisions, self._arms, self.lease)
        self._workers = Workers(journal)
        while behind := self._transactions.look(lambda state: self._check(state, settings, arms)):
            self._arms.draw_ahead(behind)
        self._bring(settings, arms)

    @property
    def policy(self) -> Policy:
        return self._transactions.look(lambda state: state.policy)

    @property
    def has_boxes(self) -> bool:
        """Whether the policy moves arms between boxes; not where its rule is missing here."""
        return self._transactions.look(lambda state: not isinstance(state.core.record, PlainRecord))

    @property
    def seed(self) -> int:
        return self._created.seed

    @property
    def direction(self) -> str:
        """Whether larger rewards are better: maximize or minimize."""
        return self._created.direction

    @property
    def origin(self) -> str:
        """What marks its tickets as its own; another study of the same name has another."""
        return self._created.origin

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
        return self._created.examples

    @property
    def knows_examples(self) -> bool:
        """Whether `pair` has said what the examples are."""
        return self._transactions.look(lambda state: bool(state.core.examples.stored))

    @property
    def details(self) -> dict[str, Any]:
        """What else must stay the same, such as the command that scores an arm, or the question to raters."""
        return self._transactions.look(lambda state: {} if state.details is None else {**state.details})

    @property
    def is_there(self) -> bool:
        """Whether the study is still where it is kept: another process may have deleted it."""
        return self._transactions.is_there()

    def check(self, seq: int) -> str:
        """Return the check of an event, which hangs on all events before it; empty, if it is not there."""
        with suppress(JournalBroken):
            texts = self._transactions.read(seq - 1, 1)
            return check_of(texts[0]) if texts else ""
        return ""

    @property
    def status(self) -> str:
        """One of open, paused and finished."""
        return self._transactions.look(lambda state: state.status)

    @property
    def seq(self) -> int:
        """The number of the last event."""
        return self._transactions.look(lambda state: state.seq)

    def ask(
        self, n: int = 1, *, holder: str | None = None, unseen: bool = False, limit: int | None = None
    ) -> list[Ticket]:
        whole("the number of tickets", n, least=1)
        if limit is not None:
            whole("limit", limit, least=0)
        who = self.holder if holder is None else check_holder(holder)
        return self._turns.ask(n, who, limit, unseen=unseen)

    def tell(
        self,
        ticket: int | Ticket,
        reward: float,
        *,
        holder: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        value = as_reward(reward)
        kept = None if details is None else check_details(details)
        self._do(lambda state: self._decisions.tell(state, ticket, value, holder, kept))

    def tell_and_ask(
        self,
        results: Iterable[tuple[int | Ticket, float, Mapping[str, Any] | None]],
        n: int,
        *,
        holder: str,
        unseen: bool = False,
    ) -> Came:
        """Take results of a holder and hand it up to n tickets, in one commit: what a rater does all the time.

        Results are (ticket, reward, details). It returns what is wrong with each of them, or None, and the tickets:
        none once the study is finished.
        """
        (came,) = self.take_turns([Turn(results, n, holder, unseen)])
        if isinstance(came, Exception):
            raise came
        return came

    def take_turns(self, turns: Iterable[Turn]) -> list[Came | Exception]:
        """Do what `tell_and_ask` does for many holders, in one commit; an error stands in the place of its turn."""
        return self._turns.take(turns)

    def tell_all(self, results: Iterable[tuple[int | Ticket, float]]) -> None:
        """Take the results of many tickets in one commit, all or none of them: (ticket, reward) pairs."""
        pairs = [(ticket, as_reward(reward)) for ticket, reward in results]
        self._do(lambda state: self._decisions.tell_all(state, pairs))

    def fail(self, ticket: int | Ticket) -> None:
        self._do(lambda state: self._decisions.fail(state, ticket))

    def held(self, holder: str | None = None) -> list[Ticket]:
        who = self.holder if holder is None else check_holder(holder)
        return self._transactions.look(lambda state: [*map(self._arms.with_payload, state.core.tickets.held(who))])

    def ticket(self, ticket: int) -> Ticket:
        """Return an open ticket by its id; any other raises what `tell` would raise."""
        return self._transactions.look(lambda state: state.core.tickets.expected(ticket).ticket)

    def reward_of(self, ticket: int | Ticket) -> float:
        """Return the reward of a ticket that was told, as it is now."""
        return self._transactions.look(
            lambda state: state.core.ledger.result(state.core.tickets.told_row(ticket)).reward
        )

    def held_by(self, is_meant: Callable[[str], bool]) -> set[int]:
        """Return the ids of the open tickets of all holders whose name is meant."""
        return self._transactions.look(
            lambda state: {
                ticket
                for holder, held in state.core.tickets.by_holder.items()
                if held and is_meant(holder)
                for ticket in held
            }
        )

    def release(self, *tickets: int | Ticket, holder: str | None = None, why: str = "") -> list[int]:
        """Take open tickets, or all that a holder has, from their holders: the next to ask is given them.

        For tickets that are lost, or whose holder is, for good: that is no failure of their arms. It returns their ids.
        Should a result come all the same, it counts. `why` is kept with the event.
        """
        return self._do(lambda state: self._decisions.release(state, tickets, holder, why))

    def worker(self) -> str:
        """Return a holder's name that is ours alone for as long as this process lives, or until `close`.

        Once this process has ended, `reclaim` in another one releases the tickets that it left behind.
        """
        return self._workers.new()

    def speak_for(self, worker: str) -> bool:
        """Hold the name of a worker that is reached through this process, as a server does; return whether it is ours.

        `reclaim`, here and in other processes, takes the worker for alive while this process lives.
        """
        return is_worker(worker) and self._workers.take(worker)

    def reclaim(self) -> int:
        holders = self._transactions.look(lambda state: list(state.core.tickets.held_by))
        dead = [name for name in holders if is_worker(name) and not self._workers.is_ours(name)]
        released = 0
        for name in filter(self._workers.has_ended, dead):
            with suppress(InvalidInput):  # it has none any more, or the study is finished
                released += len(self.release(holder=name))
        return released

    def observe(self, label: Label, reward: float, *, pull: int | None = None) -> None:
        self._observe([KnownResult(plain(label), as_reward(reward), pull)])

    def observe_all(self, results: Known) -> None:
        self._observe(listed(results))

    def add_known(self, results: Known | None) -> None:
        """Take those of the known results that the study does not have: of each arm, what goes beyond those it has."""
        if results is not None:
            rows = listed(results)
            if self._transactions.look(lambda state: amendments.missing_results(state.core, rows)):
                self._do(lambda state: self._decisions.add_known(state, rows))

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        value = as_reward(reward)
        self._do(lambda state: self._decisions.correct(state, ticket, value))

    def exclude(self, holder: str) -> int:
        return self._do(lambda state: self._decisions.exclude(state, holder))

    def include(self, holder: str) -> int:
        return self._do(lambda state: self._decisions.include(state, holder))

    def pair(self, examples: Sequence[Mapping[str, Any]], order: Sequence[int], *, force: bool = False) -> list[int]:
        """Return by pull the place of the example that every arm sees; refuse other examples than those known here.

        The parameters are those of `Session.pair`.
        """
        known = self._transactions.look(lambda state: state.core.examples.stored)
        if known or not examples:
            places = self._transactions.look(lambda state: state.core.examples.pair(examples, order, force=force))
            if [*known] == [examples[place] for place in places]:
                return places
        return self._transactions.do(lambda state: self._decisions.pair(state, examples, order, force=force))

    def use(self, policy: Policy | str) -> None:
        chosen = as_policy(policy)
        spec = written(chosen)
        self._transactions.look(lambda state: state.prepare(chosen))  # before the lock: it may take a second
        self._transactions.do(lambda state: self._decisions.use(state, chosen, spec))

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        all_there = _listed(arms)
        pairs = self._do(lambda state: self._decisions.add(state, all_there))
        self._arms.payloads.update({label: payload for label, payload in pairs if payload is not label})

    def withdraw(self, label: Label) -> None:
        self._do(lambda state: self._decisions.withdraw(state, plain(label)))

    def describe(self, details: Mapping[str, Any]) -> None:
        """Let other details be those of the study from now on."""
        kept = check_details(details)
        self._do(lambda state: self._decisions.describe(state, kept))

    def pause(self) -> None:
        """Hand out no tickets until `resume`; results are taken."""
        self._do(self._decisions.pause)

    def resume(self) -> None:
        """Hand out tickets again."""
        self._do(self._decisions.resume)

    def finish(self) -> None:
        """End the study for good: no more tickets, and nothing changes the answer.

        Results of open tickets, corrections and exclusions are refused with `StudyFinished`. It cannot be undone.
        """
        self._transactions.do(self._decisions.finish)

    def payload(self, label: Label) -> Any:
        """Return what was given as an arm; its label, where nothing else was, or where only its digest is stored."""
        if is_label(label) and label in self._arms.payloads:
            return self._arms.payloads[label]
        return self._transactions.look(lambda state: state.core.labels.payload_of(label))

    def not_here(self) -> list[Label]:
        """Return the arms in the race that are stored by a digest and were not given here: they go by their labels."""

        def look(state: StudyState) -> list[Label]:
            core, here = state.core, self._arms.payloads
            labels = [label for label, kept in state.stored.items() if "json" not in kept and label not in here]
            return [label for label in labels if not core.labels.is_withdrawn(label)]

        return self._transactions.look(look)

    def view(self) -> View:
        return self._transactions.look(lambda state: state.view(self.name))

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
        state = StudyState.load(self._created, None, unpack(self.state()))
        state.settle()
        for holder in exclude:
            amendments.exclude(state.core, holder)
        for holder in include:
            amendments.include(state.core, holder)
        return state.view(self.name)

    def glance(self) -> Glance:
        return self._transactions.peek(lambda state: answers.glance(state.core))

    def events(self, after: int = 0, *, damaged: bool = False) -> Iterator[Entry | Damaged]:
        """Return the events of the journal with their numbers, in order, from number `after` + 1 on.

        They are read as written, whatever rule wrote them. An event that cannot be read raises `JournalBroken`, unless
        `damaged` is True: then it is returned as `Damaged`, and the rest follows.
        """
        last = whole("after", after, least=0)
        yield from read_from(
            self._transactions.read, last, lambda: self._transactions.peek(lambda state: state.seq), damaged=damaged
        )

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
        return _reopened, (self._reopen, self.holder, self._arms.not_stored())

    def __repr__(self) -> str:
        """Say where it is kept, and how far it was when the last call here returned: nothing is read or waited for."""
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

    def _do(self, decide: Decide[T]) -> T:
        """Let something happen, for good."""
        return self._transactions.do(self._decisions.taking_over(decide))

    def _observe(self, rows: list[KnownResult]) -> None:
        if rows:
            self._do(lambda state: self._decisions.observe(state, rows))

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
                self._do(lambda state: self._decisions.redefine(state, others, details))


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
