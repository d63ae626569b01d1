"""A run of evaluations, step by step: what to start next, what to make of an outcome, when to stop.

No thread, loop or clock of its own: what carries it out calls `start` and `take` in turn, from one thread.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

from boxthirding._text import counted
from boxthirding.errors import (
    AlreadyTold,
    ArmsUnavailable,
    BoxThirdingError,
    EvaluationFailed,
    InvalidInput,
    JournalBroken,
    StudyDiffers,
    StudyFinished,
    StudyUnavailable,
    TicketRefused,
    UnreadableData,
)
from boxthirding.executors import WORKER_DIED
from boxthirding.find.budget import Account
from boxthirding.find.interrupts import say_at_once, waiting_for
from boxthirding.find.task import Outcome, Unusable, complaint, reading
from boxthirding.session import Ticket
from boxthirding.types import Label

BUDGET: Final = "budget"
DEADLINE: Final = "deadline"
INTERRUPTED: Final = "interrupted"
FINISHED: Final = "finished"
STUDY_FINISHED: Final = "study finished"
KNOWN: Final = "known"
WAITING: Final = "waiting"
CALLBACK: Final = "callback"
ERROR: Final = "error"

HOPELESS: Final = 100
"""Failures without a single result, after which it is not the arms that are broken."""


POLL: Final = 0.1
"""Seconds until we ask again where only others can make a difference."""

UNREACHABLE: Final = 60.0
"""Seconds for which an unreachable study is tried again, if it could be reached before, or if the trouble may pass."""

_GO_ON: Final = 'on_error="withdraw" continues without arms that fail'
_SO_FAR: Final = "error.found has the best so far"

_PAUSES = (0.1, 5.0)  # seconds between two tries, the first and the longest; each is twice the one before

TROUBLE: Final = (StudyUnavailable, JournalBroken, StudyDiffers, UnreadableData)
"""What a study can have, at any call."""


class Told(NamedTuple):
    """A result that was told."""

    ticket: Ticket
    reward: float
    cost: float


class Source(Protocol):
    """Where tickets come from and results go."""

    def ask(self, n: int) -> list[Ticket]:
        """Return up to n tickets."""

    def tell(self, ticket: Ticket, reward: float) -> None:
        """Take a result."""

    def fail(self, ticket: Ticket) -> None:
        """Take note of a failure."""

    def is_known(self) -> bool:
        """Tell whether the examples have run out."""


class Search:
    """Evaluations of a source's tickets within a budget, a number of them at a time."""

    stopped: str | None
    """Why nothing more is started; None while it may be."""
    error: BaseException | None
    """What to raise in the end."""
    handed: dict[Label, int]
    """How many pulls of each."""

    def __init__(
        self,
        source: Source,
        account: Account,
        *,
        workers: int,
        on_error: str,
        catch: tuple[type[Exception], ...] = (),
        told: Callable[[list[Told]], None] = lambda _: None,
        patient: Callable[[bool], bool] = lambda _: False,
        unreachable: Callable[[StudyUnavailable], None] = lambda _: None,
        say_at_once: Callable[[str], None] = say_at_once,
    ) -> None:
        self.account = account
        self.stopped = None
        self.error = None
        self.last_failure = ""
        self.handed = {}
        self._source, self._workers, self._told = source, workers, told
        self._on_error, self._catch = on_error, catch
        self._patient = patient  # (room in the budget) -> whether to ask again soon, though there is nothing to do
        self._unreachable = unreachable  # told whenever the study cannot be reached
        self._say_at_once = say_at_once  # called by a signal handler
        self._is_interrupted = False
        self._is_idle = False
        self._is_finished = False
        self._is_enough = False
        self._heard: list[Told] = []  # results that were told and not passed on yet
        self._in_flight = 0
        self._dropped = 0
        self._untold: list[tuple[Ticket, Callable[[], None]]] = []  # paid for, and how the study is to hear of it
        self._was_reached = False
        self._outage: _Outage | None = None

    @property
    def abandoned(self) -> int:
        """How many evaluations were started and gave neither a result nor a failure that counts."""
        return self._in_flight + self._dropped + len(self._untold)

    @property
    def seconds_left(self) -> float | None:
        """How long to wait for the next outcome at the most, or None."""
        waits = [self.account.seconds_left, POLL if self._is_idle else None]
        waits.append(None if self._outage is None else self._outage.again - self.account.seconds)
        return min((max(0.0, wait) for wait in waits if wait is not None), default=None)

    def start(self, submit: Callable[[Ticket], None]) -> bool:
        """Submit the tickets that may be started now; return whether there is an outcome to wait for."""
        self._is_idle = False
        if self.account.seconds_left is not None and self.account.seconds_left <= 0:
            self.stop(INTERRUPTED if self._is_interrupted else DEADLINE)
        if self._is_interrupted and self._in_flight == 0:
            self.stop(INTERRUPTED)
        if self.stopped is not None:
            return False
        if self._outage is None or self._outage.again <= self.account.seconds:
            with self._careful():
                self._deliver()
                if self._heard:
                    self._pass_on()
                self._start(submit)
                self._was_reached, self._outage = True, None
        if self._in_flight == 0 and self.error is not None:
            self.stop(ERROR)
        return self.stopped is None

    def take(self, outcome: Outcome | None) -> None:
        """Take an outcome; None when the wait for one was broken off."""
        if outcome is None:
            return
        self._in_flight -= 1
        self._settle(outcome)
        if self._outage is None:
            with self._careful():
                self._deliver()
        if self._outage is None:
            with self._careful():
                self._pass_on()

    def close(self) -> None:
        """Tell once more what could not be told; an error says what the study has not heard of."""
        try:
            self._deliver()
        except TROUBLE as trouble:
            theirs = "that of ticket" if len(self._untold) == 1 else "those of tickets"
            tickets = ", ".join(str(ticket.id) for ticket, _ in self._untold)
            lost = (
                f"{counted(len(self._untold), 'result')} could not be written: {theirs} {tickets}, "
                "to be evaluated again when the study is resumed"
            )
            if self.error is None or isinstance(self.error, TROUBLE):
                self.error = type(trouble)(f"{trouble.problem}; {lost}", transient=trouble.transient)
                self.error.__cause__ = trouble
            else:
                self.error.add_note(lost)

    def stop(self, reason: str) -> None:
        """Start nothing more; the first reason counts."""
        if self.stopped is None:
            self.stopped = reason

    def interrupt(self) -> None:
        """Handle the first Ctrl-C: start nothing more and wait for running evaluations. Safe in a signal handler."""
        if not self._is_interrupted:
            self._is_interrupted = True
            if self._in_flight > 0 and self.stopped is None:
                self._say_at_once(waiting_for(self._in_flight))

    def leave(self) -> None:
        """Handle the second Ctrl-C: abandon running evaluations. Safe in a signal handler."""
        self._is_interrupted = True
        self.stop(INTERRUPTED)

    def press(self, at_once: bool) -> None:  # noqa: FBT001  # what Ctrl-C says
        """Do what Ctrl-C wants."""
        if at_once:
            self.leave()
        else:
            self.interrupt()

    def enough(self) -> None:
        """Start nothing more, because a callback said so; what is under way may come in."""
        self._is_enough = True

    def end_with(self, error: Exception) -> None:
        """Start nothing more, and raise an error of a callback in the end; what is under way may come in."""
        if self.error is None:
            self.error = error

    def _start(self, submit: Callable[[Ticket], None]) -> None:
        """Start what there is room for; with nothing under way, see whether that is the end."""
        room = self._workers - self._in_flight
        if room > 0 and self.error is None and not self._has_ended:
            if self._in_flight > 0 or not self.account.rest_is_out:  # else the lease of what is out may be over
                room = min(room, self.account.room(self._in_flight))
            for ticket in self._ask(room) if room > 0 else ():
                if self._is_interrupted:  # meanwhile: the tickets are released in the end
                    break
                self.handed[ticket.label] = max(self.handed.get(ticket.label, 0), ticket.pull + 1)
                self._in_flight += 1
                submit(ticket)
        if self._in_flight == 0 and self.error is None and self.stopped is None:
            has_room = self.account.room(0) > 0
            self._is_idle = not self._has_ended and self._patient(has_room)
            if not self._is_idle:
                self.stop(self._reason_to_end(has_room=has_room))

    @property
    def _has_ended(self) -> bool:
        return self._is_finished or self._is_enough or self._is_interrupted

    def _reason_to_end(self, *, has_room: bool) -> str:
        """Say why nothing is under way, and nothing more is started."""
        if self._is_interrupted:
            return INTERRUPTED
        if self._is_enough:
            return CALLBACK
        if self._is_finished:
            return STUDY_FINISHED
        if has_room:
            return KNOWN if self._source.is_known() else FINISHED
        return WAITING if self.account.rest_is_out else BUDGET

    def _ask(self, room: int) -> list[Ticket]:
        try:
            return self._source.ask(room)
        except KeyboardInterrupt:  # the iterator of arms was broken off
            self.interrupt()
            return []
        except StudyFinished:
            self._is_finished = True
            return []
        except TROUBLE:
            raise
        except BoxThirdingError as error:
            self.error = unavailable(error)
            self.error.__cause__ = error
            return []

    def _settle(self, outcome: Outcome) -> None:
        """Decide what an outcome is; what the study has to hear of it is told by `_deliver`."""
        ticket, error = outcome.ticket, outcome.error
        if error is None:
            try:
                reward, cost = reading(outcome.value)
            except InvalidInput as refused:
                error = refused
            else:
                self._untold.append((ticket, lambda: self._tell(ticket, reward, cost)))
        if error is not None:
            self._take_error(ticket, error)

    def _deliver(self) -> None:
        """Tell the study what it has not heard of, in the order in which it came."""
        while self._untold:
            self._untold[0][1]()
            del self._untold[0]

    def _tell(self, ticket: Ticket, reward: float, cost: float) -> None:
        try:
            self._source.tell(ticket, reward)
        except TROUBLE:  # some of it is an InvalidInput as well, and not of this result
            raise
        except AlreadyTold:
            self.account.too_late(cost)
        except TicketRefused:  # the arm was withdrawn meanwhile: paid for, and of no more use
            self.account.result(cost)
        except StudyFinished:  # paid for, too
            self.account.result(cost)
            self._is_finished = True
        except InvalidInput as refused:
            self._take_error(ticket, refused)
        else:
            self.account.result(cost)
            self._heard.append(Told(ticket, reward, cost))

    def _pass_on(self) -> None:
        heard, self._heard = self._heard, []
        self._told(heard)

    def _fail(self, ticket: Ticket) -> None:
        try:
            self._source.fail(ticket)
        except TicketRefused:  # withdrawn by the failures of other tickets
            pass
        except StudyFinished:
            self._is_finished = True

    def _take_error(self, ticket: Ticket, error: BaseException) -> None:
        if self.stopped is not None or isinstance(error, KeyboardInterrupt):
            self._dropped += 1
            self.interrupt()
        elif self._is_interrupted and (isinstance(error, WORKER_DIED) or not self._is_forgiven(error)):
            self._dropped += 1  # Ctrl-C may have reached what evaluate started
            self.last_failure = complaint(ticket.label, error)
        elif isinstance(error, WORKER_DIED):
            self._dropped += 1
            reason = str(error) or "it cancelled an evaluation"
            self._end(EvaluationFailed(f"the executor takes no more work: {reason}", advice=_SO_FAR), error)
            self.stop(ERROR)
        elif isinstance(error, StudyDiffers):  # an arm that evaluate was never given: no failure of the arm
            self._dropped += 1
            self._have(error)
        elif not isinstance(error, Exception):
            self._dropped += 1
            self.error = error
            self.stop(ERROR)
        else:
            self._take_failure(ticket, error)

    def _take_failure(self, ticket: Ticket, error: Exception) -> None:
        self.account.failure()
        self.last_failure = complaint(ticket.label, error)
        if not self._is_forgiven(error):
            self._end(EvaluationFailed(self.last_failure, advice=f"{_GO_ON}, and {_SO_FAR}"), error)
        elif self.account.failures >= HOPELESS and self.account.results == 0:
            problem = f"the first {HOPELESS} evaluations all failed; the last: {self.last_failure}"
            self._end(EvaluationFailed(problem), error)
        else:
            self._untold.append((ticket, lambda: self._fail(ticket)))

    def _is_forgiven(self, error: BaseException) -> bool:
        """Tell whether the run goes on after a failure; `catch` is for what evaluate raises, not what it returns."""
        return self._on_error == "withdraw" or (isinstance(error, self._catch) and not isinstance(error, Unusable))

    @contextmanager
    def _careful(self) -> Iterator[None]:
        """Have patience with a study that cannot be reached for now; with other trouble, start nothing more."""
        try:
            yield
        except StudyUnavailable as trouble:
            self._outage = _Outage.after(self._outage, self.account.seconds)
            may_pass = self._was_reached or trouble.transient
            if not may_pass or self._outage.again > self._outage.begun + UNREACHABLE:
                self._have(trouble)
            else:
                self._unreachable(trouble)
        except TROUBLE as trouble:
            self._have(trouble)

    def _have(self, trouble: BoxThirdingError) -> None:
        """Start nothing more, because the study is of no use."""
        if self.error is None:
            self.error = trouble

    def _end(self, failed: EvaluationFailed, cause: BaseException) -> None:
        """Start nothing more; what is in flight may come in, and is paid for."""
        if self.error is None:
            failed.__cause__ = cause
            self.error = failed


class _Outage(NamedTuple):
    """A study cannot be reached: since when, when to try again, and how long to wait after that."""

    begun: float
    again: float
    pause: float

    @classmethod
    def after(cls, before: "_Outage | None", now: float) -> "_Outage":
        """Return what follows from one more try that failed."""
        first, longest = _PAUSES
        if before is None:
            return cls(now, now + first, 2 * first)
        return cls(before.begun, now + before.pause, min(2 * before.pause, longest))


def unavailable(error: BoxThirdingError) -> ArmsUnavailable:
    """Return what is wrong with an iterator of arms, without the advice for those who ask a session themselves."""
    return ArmsUnavailable(error.problem)
