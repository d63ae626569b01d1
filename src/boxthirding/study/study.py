"""A session that survives: what was acknowledged is in its journal, and the rest follows from that."""

import os
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np

from boxthirding._checks import whole
from boxthirding.errors import (
    AlreadyTold,
    BoxThirdingError,
    JournalBroken,
    StudyClosed,
    UnknownStudy,
)
from boxthirding.session import Box, Lineage, Recommendation, Screening, Ticket
from boxthirding.session.play import as_reward
from boxthirding.study.codec import decode, encode
from boxthirding.study.desk import Desk, Handed, Lent, to_release
from boxthirding.study.events import (
    ArmsAdded,
    ArmWithdrawn,
    Closed,
    Created,
    Entry,
    Event,
    Failed,
    Paused,
    Released,
    Resumed,
    Told,
)
from boxthirding.study.feed import Feed, Supply
from boxthirding.study.fold import CLOSED, OPEN, PAUSED, Fold
from boxthirding.study.journal import Journal
from boxthirding.study.scribe import Scribe
from boxthirding.study.settings import Given, Settings, check_same, created_from, given, policy_of
from boxthirding.study.snapshot import Unusable, pack, unpack
from boxthirding.types import Label, Policy


class Study:
    """A durable session: the same verbs, kept in a journal that several threads and processes may share.

    `ask` and `tell` return when what they did is committed. A ticket belongs to its `holder`: one who comes back under
    the same name is first given the tickets that it still has. Use it as a context manager, or call `disconnect`, to
    let go of the database; `close` is something else: it ends the study for good. `open_study` makes one.
    """

    name: str
    holder: str
    """Who asks here."""

    def __init__(
        self,
        name: str,
        journal: Journal,
        settings: Settings | None = None,
        *,
        holder: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        self.holder = _somebody() if holder is None else holder
        self._clock = clock
        settings = Settings() if settings is None else settings
        arms = given(settings.arms)
        supply = None if arms.iterator is None else Supply(arms.iterator, arms.payloads)
        self._desk = Desk(self.holder, arms.payloads, supply)
        self._scribe = Scribe(journal, self._rebuilt, self._desk)
        if not journal.read(0, 1):
            if settings.arms is None:
                raise UnknownStudy(f"there is no study {name!r} here: give arms to make it, or the name of another")
            self._create(journal, created_from(settings, arms, self._clock()))
        self._created = self._first_event()
        while behind := self._scribe.look(lambda fold: self._check(fold, settings, arms)):
            self._desk.draw(behind)

    @property
    def policy(self) -> Policy:
        """What decides which arm is next."""
        return policy_of(self._created)

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
        """Seconds after which a ticket that was not told is issued again; None for never."""
        return self._created.lease

    @property
    def patience(self) -> int:
        """Failures in a row after which an arm is withdrawn."""
        return self._created.patience

    @property
    def status(self) -> str:
        """One of open, paused and closed."""
        return self._scribe.look(lambda fold: fold.status)

    @property
    def pulls(self) -> int:
        """How many results have been told."""
        return self._scribe.look(lambda fold: fold.play.pulls)

    @property
    def waiting(self) -> int:
        """How many tickets are out, those to be issued again included."""
        return self._scribe.look(lambda fold: fold.play.waiting)

    def ask(self, n: int = 1, *, limit: int | None = None) -> list[Ticket]:
        """Return up to n tickets; none while the study is paused, or when the policy needs a result first.

        A holder that has come back gets its own open tickets, and nothing else until it has had them all. With a
        `limit`, no new ticket is made when results and open tickets of the whole study number as many.
        """
        whole("the number of tickets", n, least=1)
        if limit is not None:
            whole("limit", limit, least=0)
        tickets: list[Ticket] = []
        try:
            to_draw = self._ask_for(n, limit, tickets)
            while to_draw:
                self._desk.draw(to_draw)
                to_draw = self._ask_for(n, limit, tickets)
        except BoxThirdingError as trouble:
            if not tickets:
                raise
            self._desk.put_off(trouble)
        except BaseException:
            self._desk.left_behind(tickets)
            raise
        return tickets

    def tell(self, ticket: int | Ticket, reward: float) -> None:
        """Take the result of a ticket, for good; refuse it, changing nothing, if it is not finite or not expected."""
        value = as_reward(reward)
        self._scribe.do(lambda: self._tell(ticket, value))

    def tell_all(self, results: Iterable[tuple[int | Ticket, float]]) -> None:
        """Take the results of many tickets in one commit, all or none of them: (ticket, reward) pairs."""
        pairs = [(ticket, as_reward(reward)) for ticket, reward in results]
        self._scribe.do(lambda: self._tell_all(pairs))

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated: it is issued again, unless its arm has lost our patience."""
        self._scribe.do(lambda: self._fail(ticket))

    def release(self, *tickets: int | Ticket, holder: str | None = None) -> list[int]:
        """Take back open tickets, or all that a holder has, and give them to whoever asks next; return their ids.

        For tickets that are lost, or whose holder is, for good: that is no failure of their arms. Should a result come
        all the same, it counts if it is the first.
        """
        return self._scribe.do(lambda: self._release(tickets, holder))

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them. Their labels are kept; payloads only where they are given."""
        listed = _listed(arms)
        self._scribe.do(lambda: self._add(listed))

    def withdraw(self, label: Label) -> None:
        """Take an arm out of the race for good; its open tickets will be refused."""
        plain: Label = label.item() if isinstance(label, np.generic) else label
        self._scribe.do(lambda: self._happen(ArmWithdrawn(self._now_open(), plain)))

    def pause(self) -> None:
        """Hand out no tickets until `resume`; results are taken."""
        self._scribe.do(lambda: self._turn(PAUSED, Paused(self._now_open())))

    def resume(self) -> None:
        """Hand out tickets again."""
        self._scribe.do(lambda: self._turn(OPEN, Resumed(self._now_open())))

    def close(self) -> None:
        """End the study for good: no more tickets; results of those that are out are still taken."""
        self._scribe.do(lambda: self._turn(CLOSED, Closed(self._clock())))

    def recommend(self) -> Recommendation | None:
        """Return the best arm so far, or None before the first result."""
        return self._scribe.look(lambda fold: fold.play.recommend())

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms so far, the recommended one first."""
        return self._scribe.look(lambda fold: fold.play.top(k))

    def why(self, label: Label) -> Lineage:
        """Return the story of an arm: the boxes it was in, whom it met there, and where it stands now."""
        return self._scribe.look(lambda fold: fold.play.why(label))

    def boxes(self) -> list[Box]:
        """Return the boxes and piles that hold an arm, from the lowest level up; none, if the policy has no boxes."""
        return self._scribe.look(lambda fold: fold.play.boxes())

    def screening(self, share: float) -> Screening:
        """Return the chance that an arm of the best `share` of all is among those that could still be returned."""
        return self._scribe.look(lambda fold: fold.play.screening(share))

    def lent(self) -> list[Lent]:
        """Return the tickets that are out, in the order in which they were made."""
        return self._scribe.look(self._desk.lent)

    def events(self, after: int = 0) -> Iterator[Entry]:
        """Return the events of the journal with their numbers, in order, from number `after` + 1 on."""
        seq = whole("after", after, least=0)
        while texts := self._scribe.read(seq):
            for text in texts:
                seq += 1
                yield Entry(seq, decode(text, seq))

    def state(self) -> bytes:
        """Return all that the events add up to, as bytes: after the same events and questions, the same bytes."""
        return self._scribe.look(lambda fold: pack(fold.save()))

    def disconnect(self) -> None:
        """Let go of the database; the study goes on whenever it is opened again."""
        self._scribe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.disconnect()

    def __repr__(self) -> str:
        return f"<Study {self.name!r} of policy {self._created.policy}>"

    def _go_on_as(self, holder: str) -> None:
        """Ask under another name from now on; tickets that it has and nobody here knows of come first."""
        self.holder = self._desk.holder = holder
        self._scribe.look(self._desk.come_back)

    def _ask_for(self, n: int, limit: int | None, tickets: list[Ticket]) -> int:
        """Add tickets to those there are, up to n in all; return how many arms to draw before asking for the rest."""
        handed = self._scribe.do(
            lambda: self._ask(n - len(tickets), limit), lambda lost: self._desk.left_behind(lost.tickets)
        )
        tickets += handed.tickets
        return handed.to_draw

    def _ask(self, n: int, limit: int | None) -> Handed:
        fold, now = self._scribe.fold, self._now_open()
        if fold.status == PAUSED:
            return Handed([], 0)
        fresh = n if limit is None else min(n, limit - fold.play.pulls - fold.play.waiting)
        return self._desk.ask(fold, n, fresh, now, self._scribe.record)

    def _tell(self, ticket: int | Ticket, reward: float) -> None:
        told = self._scribe.fold.play.check(ticket)
        self._happen(Told(self._clock(), told, reward))
        self._desk.handed_in((told,))

    def _tell_all(self, pairs: list[tuple[int | Ticket, float]]) -> None:
        play, now = self._scribe.fold.play, self._clock()
        told = [play.check(ticket) for ticket, _ in pairs]
        if len(set(told)) < len(told):
            twice = Counter(told).most_common(1)[0][0]
            raise AlreadyTold(f"ticket {twice} stands in the results more than once, but the first answer counts")
        for ticket, (_, reward) in zip(told, pairs, strict=True):
            self._happen(Told(now, ticket, reward))
        self._desk.handed_in(told)

    def _fail(self, ticket: int | Ticket) -> None:
        failed = self._scribe.fold.play.check(ticket)
        self._happen(Failed(self._clock(), failed))
        self._desk.handed_in((failed,))

    def _release(self, tickets: tuple[int | Ticket, ...], holder: str | None) -> list[int]:
        now = self._now_open()
        ids = to_release(self._scribe.fold, tickets, holder)
        self._happen(Released(now, tuple(ids)))
        self._desk.handed_in(ids)
        return ids

    def _add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        now = self._now_open()
        pairs = self._scribe.fold.play.labelled(arms)
        self._happen(ArmsAdded(now, tuple([label for label, _ in pairs])))
        self._desk.bring({label: payload for label, payload in pairs if payload is not label})

    def _happen(self, event: Any) -> Any:
        """Let an event happen and write it down."""
        self._scribe.fold.apply(event)
        self._scribe.record(event)
        return event

    def _now_open(self) -> float:
        """Return the time, if the study is not closed."""
        if self._scribe.fold.status == CLOSED:
            raise StudyClosed(f"study {self.name!r} is closed: it can be read, and open tickets told, and that is all")
        return self._clock()

    def _turn(self, status: str, event: Event) -> None:
        """Change the status, unless it is that already."""
        if self._scribe.fold.status != status:
            self._happen(event)

    def _create(self, journal: Journal, created: Created) -> None:
        """Make the study, unless somebody else has just done so."""
        feed = Feed(self._desk.supply)
        feed.is_live = True
        self._desk.draw(1)  # now: others may be waiting for the lock then
        try:
            with journal.writing():
                if journal.read(0, 1):
                    return
                Fold(created, feed, self._desk.payloads)  # checks all that a session checks, and draws the first arm
                journal.append(0, [encode(replace(created, drawn=tuple(feed.drawn)))])
        finally:
            if self._desk.supply is not None:
                self._desk.supply.rolled_back()  # from now on the journal says what was drawn

    def _first_event(self) -> Created:
        created = decode(self._scribe.journal.read(0, 1)[0], 1)
        if not isinstance(created, Created):
            raise JournalBroken(f"the journal of {self.name!r} begins with {created}, but must begin with its making")
        return created

    def _check(self, fold: Fold, settings: Settings, arms: Given) -> int:
        """Hold what a caller gives against what the study was made with; return how many arms to draw for that."""
        check_same(self.name, fold.created, settings, arms, fold.play.knows)
        return self._desk.keep_up(fold)

    def _rebuilt(self) -> Fold:
        """Return the state of the latest snapshot that can be used, or that of the very beginning."""
        journal = self._scribe.journal
        for seq in journal.snapshots():
            with suppress(Unusable):
                fold = self._new_fold()
                fold.load(unpack(journal.snapshot(seq)))
                if fold.seq == seq and journal.read(seq - 1, 1):  # it is that of an event that is there
                    return fold
        return self._new_fold()

    def _new_fold(self) -> Fold:
        return Fold(self._created, Feed(self._desk.supply), self._desk.payloads)


def _listed(arms: Any) -> Any:
    """Return arms that are all there, as what gives them may take its time, or raise."""
    if isinstance(arms, Mapping):
        return dict(arms)
    return list(arms) if isinstance(arms, Iterable) and not isinstance(arms, str | bytes) else arms


def _somebody() -> str:
    """Return a name that nobody else has."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(4).hex()}"
