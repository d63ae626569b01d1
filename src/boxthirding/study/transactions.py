"""How a study is changed: take the lock, read what others wrote, decide, append, commit; only then has it happened.

A decision is a function of the state and the time that returns events. Threads that come while a commit is under way
wait for its end; one of them then gets the lock and serves all of them in one transaction: with `durability="full"` a
commit costs a disk sync, and so it is shared. A thread that was served is woken, and needs no lock to leave. Waking
only saves time: a thread that was not woken, because of an interrupt, soon looks for itself.
"""

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Concatenate, Final, Never, ParamSpec, TypeVar

from boxthirding.errors import BoxThirdingError, JournalBroken, StudyUnavailable, UnknownStudy
from boxthirding.study.codec import check_of, decode, encode
from boxthirding.study.events import Event
from boxthirding.study.journal import CONTINUE, FORK_LOCK, PAGE, Journal
from boxthirding.study.snapshot import pack
from boxthirding.study.state import Decided, RuleDisagrees, StudyState

A = TypeVar("A")
T = TypeVar("T")
P = ParamSpec("P")

LEAST: Final = 5_000  # events between snapshots, at least

SHARE: Final = 20
"""A snapshot is due when more than one event in 20 is younger than the last one: so reading the tail stays short."""


_PATIENCE: Final = 0.1  # seconds after which a thread that was not woken looks for itself
_PERHAPS: Final = "the commit was interrupted and may have succeeded"
_CHANGED: Final = "the study does not end where it did, because something else has changed or restored it"
_LOOK: Final = "look at the study before you try again"


@dataclass(slots=True)
class _Attempt:
    """One transaction that serves any number of requests.

    One assignment ends it for all of them, so that no interrupt comes between.
    """

    is_over: bool = False
    """Whether its requests were committed or have failed; otherwise each is still to be carried out."""
    failure: BoxThirdingError | None = None  # why it could not be committed


@dataclass(slots=True, eq=False)
class _Request:
    """What one thread wants to be decided, and the outcome."""

    decide: Callable[..., Decided[Any]]
    """Applies events to the state and returns them; or raises an error of this package, and changes nothing."""
    args: Iterable[Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    gate: "threading.Lock | None" = None  # where its thread waits to be woken, if it does
    attempt: _Attempt = field(default_factory=_Attempt)
    result: Any = None
    error: BaseException | None = None

    def outcome(self) -> Any:
        """Return the result, or the error that there is instead."""
        if self.attempt.failure is not None:
            return self.attempt.failure.again()
        return self.result if self.error is None else self.error

    def wake(self) -> None:
        """Wake its thread; only the thread that has the lock calls this."""
        if self.gate is not None and self.gate.locked():
            self.gate.release()


class Transactions:
    """A journal and its state, kept in step; used by any number of threads."""

    def __init__(self, journal: Journal, rebuild: Callable[[int], StudyState], clock: Callable[[], float]) -> None:
        self.journal = journal
        self.clock = clock
        self.listeners: list[Callable[[int, Event], None]] = []
        """Called with every event that happens or is read here, and its number, once it is committed."""
        self._rebuild = rebuild
        self.is_gone = False  # whether the study was found deleted, or replaced by another of its name
        self._distrusted = -1  # the last era whose rule decides otherwise here
        self._last_snapshot = 0
        self.start()
        _everywhere.add(self)

    def start(self) -> None:
        """Start, or start again in a process just forked: a thread that is not in it may have held the lock."""
        self.lock = threading.RLock()
        self._waiting: deque[_Request] = deque()
        self._is_served = False  # whether a thread serves those who wait, or is about to
        self.latest: StudyState | None = None  # when the last call here returned; None if unknown

    def do(
        self, decide: Callable[Concatenate[StudyState, float, P], Decided[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Carry out a decision: its events are committed when this returns.

        A thread that is interrupted leaves its request behind: another thread may carry it out.
        """
        request = _Request(decide, args, kwargs)
        was_served = False
        if self._is_served:
            request.gate = threading.Lock()
            request.gate.acquire()
        self._waiting.append(request)
        if request.gate is not None and self._is_served:  # still: who serves looks at those who wait before it ends
            request.gate.acquire(timeout=_PATIENCE)
            was_served = request.attempt.is_over
        if not was_served:
            with self.lock:
                if not request.attempt.is_over:
                    self._serve(request)
        if request.error is not None or request.attempt.failure is not None:
            raise request.outcome()
        result: T = request.result
        return result

    def do_all(
        self, decide: Callable[[StudyState, float, A], Decided[T]], of_each: Iterable[A]
    ) -> list[T | BaseException]:
        """Carry out several decisions of one kind in one commit; an error stands in the place of what it ended."""
        requests = [_Request(decide, (arg,)) for arg in of_each]
        with self.lock:
            self._waiting.extend(requests)
            with suppress(BoxThirdingError):  # each request has it
                self._serve(requests[0])
        return [request.outcome() for request in requests]

    @contextmanager
    def reading(self, *, fresh: bool = True) -> Iterator[StudyState]:
        """Hold the state as it is now, or unless `fresh` as it was when the last call here returned."""
        with self.lock:
            yield self._caught_up() if fresh or self.latest is None else self.latest

    def look(self, read: Callable[[StudyState], T], *, fresh: bool = True) -> T:
        """Return what a function reads from the state."""
        with self.reading(fresh=fresh) as state:
            return read(state)

    def read(self, after: int, limit: int = PAGE) -> list[str]:
        """Return a page of the journal."""
        with self.lock:
            return self.journal.read(after, limit)

    def close(self) -> None:
        """Close the journal."""
        with self.lock:
            self.journal.close()

    def _serve(self, own: _Request) -> None:
        """Carry out everything that waits, until the thread's own request is done.

        If this thread is interrupted, the other threads get the lock next and serve their requests themselves.
        """
        self._is_served = True
        others: list[_Request] = []
        while self._waiting:
            request = self._waiting.popleft()
            if request is not own:
                others.append(request)
        try:
            left = [own, *others]
            while left:
                left = self._try(left)
        finally:
            for request in others:
                request.wake()
            self._is_served = False  # before the look: one who comes after it serves itself
            if self._waiting:
                self._is_served = True
                self._waiting[0].wake()  # it serves the next ones
        self._take_snapshot()

    def _try(self, batch: list[_Request]) -> list[_Request]:
        """Carry out and commit a batch as one transaction; a request that breaks it ends alone.

        Return the requests that are still to be carried out.
        """
        attempt, is_committing = _Attempt(), False
        before, texts, events = 0, list[str](), list[Event]()
        for request in batch:
            request.attempt = attempt
        try:
            with self.journal.writing():
                state = self._caught_up()
                before, check = state.seq, state.check
                for request in batch:
                    for event in self._carry_out(request, state):
                        text, check = encode(event, check)
                        texts.append(text)
                        events.append(event)
                if texts:
                    self.journal.append(before, texts)
                is_committing = True
            state.check = check
            attempt.is_over = True
            if self.listeners:
                self._publish(before, events)
        except _Broken:
            self.latest = None  # what memory holds may be half done: what is in the journal counts, and is read again
            return [request for request in batch if not request.attempt.is_over]
        except BoxThirdingError as error:
            self.latest = None
            is_written = bool(texts) and self._is_written(before, texts)
            if not is_written:
                attempt.failure, attempt.is_over = as_unsure(error) if is_written is None else error, True
                raise attempt.failure from error.__cause__
            self.latest, state.check = state, check
            attempt.is_over = True
            self._publish(before, events)
        except BaseException:
            self.latest = None
            if is_committing and not attempt.is_over:
                attempt.failure = StudyUnavailable(_PERHAPS, advice=_LOOK, transient=True, unsure=True)
                attempt.is_over = True
            raise
        return []

    def _is_written(self, after: int, texts: Sequence[str]) -> bool | None:
        """Return whether a commit that failed has written these texts after a number; None if that cannot be known.

        The lock waits until a database has ended the transaction that lost its connection.
        """
        try:
            with self.journal.writing():
                return self.journal.read(after, len(texts)) == texts
        except (StudyUnavailable, JournalBroken):
            return None

    def _publish(self, before: int, events: Iterable[Event]) -> None:
        """Call the listeners with events that follow a number."""
        for listener in self.listeners:
            for seq, event in enumerate(events, before + 1):
                listener(seq, event)

    def _carry_out(self, request: _Request, state: StudyState) -> list[Event]:
        """Carry out a request; an error of this package leaves everything as it was, while any other may not."""
        request.result = request.error = None
        now = self.clock()
        try:
            events, request.result = request.decide(state, now, *request.args, **request.kwargs)
        except BoxThirdingError as refused:
            request.error = refused
            return []
        except Exception as error:
            request.error = error
            request.attempt = _Attempt(is_over=True)
            raise _Broken from error
        if events and state.must_switch:  # a newer version of the rule records first that it decides
            return [state.switch(now), *events]
        return events

    def _caught_up(self) -> StudyState:
        """Return the state after everything that has been written, by any process.

        Where the installed rule decides otherwise than the journal says, it starts from the results instead.
        """
        try:
            if self.latest is None:
                self.latest = self._rebuild(self._distrusted)
                self._last_snapshot = self.latest.seq
            state = self.latest
            texts = self.journal.read(state.seq - 1, PAGE)
            if not texts or check_of(texts[0]) != state.check:
                self._refuse_changed()
            del texts[0]
            while texts:
                for text in texts:
                    event = decode(text, state.seq + 1, state.check)
                    state.replay(event)
                    state.check = check_of(text)
                    for listener in self.listeners:
                        listener(state.seq, event)
                texts = self.journal.read(state.seq, PAGE)
            state.settle()
        except RuleDisagrees as disagreement:
            self.latest = None
            self._distrusted = disagreement.era
            return self._caught_up()
        except BaseException as error:
            self.latest = None
            self.is_gone = isinstance(error, UnknownStudy)
            raise
        return state

    def _refuse_changed(self) -> Never:
        """Raise an error that says what became of the last event that was read here."""
        self._rebuild(self._distrusted)  # raises if the study was deleted
        raise StudyUnavailable(_CHANGED, advice=CONTINUE, transient=True)

    def _take_snapshot(self) -> None:
        """Store a snapshot if one is due; if it cannot be written, the journal has everything."""
        state = self.latest
        if state is None or state.must_switch:
            return
        pause = max(LEAST, state.seq // SHARE)
        if state.seq - self._last_snapshot < pause:
            return
        with suppress(StudyUnavailable):
            self._last_snapshot = max(self.journal.snapshots(), default=0)  # another process may have been faster
            if state.seq - self._last_snapshot >= pause:
                self._last_snapshot = state.seq
                data = pack(state.save())
                with self.journal.writing():
                    self.journal.keep(state.seq, data)


_everywhere: "weakref.WeakSet[Transactions]" = weakref.WeakSet()


_held_at_fork: "list[Transactions]" = []


def _before_fork() -> None:
    """Wait until no thread uses a journal: SQLite in the child would believe that its locks are held."""
    while True:
        held = sorted(_everywhere, key=id)
        for transactions in held:
            transactions.lock.acquire()
        FORK_LOCK.acquire()
        if {*held} >= {*_everywhere}:
            break
        FORK_LOCK.release()  # a thread has opened another one meanwhile
        for transactions in held:
            transactions.lock.release()
    _held_at_fork.extend(held)


def _after_fork_in_parent() -> None:
    FORK_LOCK.release()
    held = _held_at_fork.copy()
    _held_at_fork.clear()  # before another thread can get the locks to fork
    for transactions in held:
        transactions.lock.release()


def _after_fork_in_child() -> None:
    FORK_LOCK.release()
    _held_at_fork.clear()
    for transactions in list(_everywhere):
        transactions.start()


if hasattr(os, "register_at_fork"):  # where there are forks
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)


def as_unsure(error: BoxThirdingError) -> BoxThirdingError:
    """Return an error that says that the commit may have succeeded."""
    unsure = error.again()
    unsure.args = (f"{error.problem}; the commit may have succeeded",)
    unsure.advice, unsure.unsure = _LOOK if error.transient else error.advice, True
    return unsure


class _Broken(Exception):
    """A request raised an unexpected error, which its own thread gets."""
