"""A run of evaluations, step by step: what to start next, what to make of an outcome, when to stop.

No thread, loop or clock of its own: whoever carries it out calls `start` and `take` in turn, from one thread.
"""

from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError
from contextlib import suppress
from typing import Any, Final, Protocol

from boxthirding.errors import (
    ArmsUnavailable,
    BoxThirdingError,
    EvaluationFailed,
    InvalidInput,
    JournalBroken,
    StudyClosed,
    StudyDiffers,
    StudyUnavailable,
    TicketRefused,
)
from boxthirding.find.budget import Account
from boxthirding.find.task import Outcome, complaint, reading
from boxthirding.session import Ticket
from boxthirding.types import Label

BUDGET: Final = "budget"
DEADLINE: Final = "deadline"
INTERRUPTED: Final = "interrupted"
FINISHED: Final = "finished"
CLOSED: Final = "closed"
ERROR: Final = "error"

HOPELESS: Final = 100
"""So many failures and not one result: it is not the arms that are broken."""


POLL: Final = 0.1
"""Seconds until we ask again where only others can make a difference."""

_Trouble = (StudyUnavailable, JournalBroken, StudyDiffers)  # what a study can have, at any call


class Source(Protocol):
    """Where tickets come from and results go: the part of `AskTell` that a search needs."""

    def ask(self, n: int = 1) -> list[Ticket]:
        """Return up to n tickets."""

    def tell(self, ticket: int | Ticket, reward: float) -> None:
        """Take a result."""

    def fail(self, ticket: int | Ticket) -> None:
        """Take note of a failure."""


class Search:
    """Evaluations of a source's tickets within a budget, a number of them at a time."""

    stopped: str | None
    """Why nothing more is started; None while it may be."""
    error: BaseException | None
    """What to raise in the end."""
    payloads: dict[Label, Any]
    """Of the arms that were handed out."""
    handed: dict[Label, int]
    """How many pulls of each."""

    def __init__(
        self,
        source: Source,
        account: Account,
        *,
        workers: int,
        on_error: str,
        told: Callable[[], None] = lambda: None,
        patient: Callable[[bool], bool] = lambda _: False,
    ) -> None:
        self.account = account
        self.stopped = None
        self.error = None
        self.last_failure = ""
        self.payloads = {}
        self.handed = {}
        self._source, self._workers, self._on_error, self._told = source, workers, on_error, told
        self._patient = patient  # (room in the budget) -> whether to ask again soon, though there is nothing to do
        self._is_idle = False
        self._is_closed = False
        self._in_flight = 0
        self._dropped = 0

    @property
    def abandoned(self) -> int:
        """How many evaluations were started and gave neither a result nor a failure that counts."""
        return self._in_flight + self._dropped

    @property
    def seconds_left(self) -> float | None:
        """How long to wait for the next outcome at the most, or None."""
        left = self.account.seconds_left
        left = None if left is None else max(0.0, left)
        return min(left if left is not None else POLL, POLL) if self._is_idle else left

    def start(self, submit: Callable[[Ticket], None]) -> bool:
        """Submit the tickets that may be started now; return whether there is an outcome to wait for."""
        self._is_idle = False
        if self.seconds_left == 0:
            self.stop(DEADLINE)
        if self.stopped is not None:
            return False
        try:
            self._start(submit)
        except _Trouble as trouble:
            self._have(trouble)
        if self._in_flight == 0 and self.error is not None:
            self.stop(ERROR)
        return self.stopped is None

    def take(self, outcome: Outcome | None) -> None:
        """Take an outcome; None when the wait for one was broken off."""
        if outcome is None:
            return
        self._in_flight -= 1
        try:
            self._settle(outcome)
        except _Trouble as trouble:  # the result is not there: its ticket stays open, and is handed out again
            self._dropped += 1
            self._have(trouble)
        try:
            self._told()
        except _Trouble as trouble:
            self._have(trouble)

    def stop(self, reason: str) -> None:
        """Start nothing more; the first reason counts."""
        if self.stopped is None:
            self.stopped = reason

    def interrupt(self) -> None:
        """Stop because somebody pressed Ctrl-C; may be called at any moment."""
        self.stop(INTERRUPTED)

    def _start(self, submit: Callable[[Ticket], None]) -> None:
        """Start what there is room for; with nothing under way, see whether that is the end."""
        room = min(self._workers - self._in_flight, self.account.room(self._in_flight))
        if room > 0 and self.error is None and not self._is_closed:
            for ticket in self._ask(room):
                self.payloads[ticket.label] = ticket.payload
                self.handed[ticket.label] = max(self.handed.get(ticket.label, 0), ticket.pull + 1)
                self._in_flight += 1
                submit(ticket)
        if self._in_flight == 0 and self.error is None and self.stopped is None:
            has_room = self.account.room(0) > 0
            self._is_idle = not self._is_closed and self._patient(has_room)
            if not self._is_idle:
                self.stop(CLOSED if self._is_closed else FINISHED if has_room else BUDGET)

    def _ask(self, room: int) -> list[Ticket]:
        try:
            return self._source.ask(room)
        except KeyboardInterrupt:  # the iterator of arms was broken off
            self.interrupt()
            return []
        except StudyClosed:
            self._is_closed = True
            return []
        except _Trouble:
            raise
        except BoxThirdingError as error:
            self.error = unavailable(error)
            self.error.__cause__ = error
            return []

    def _settle(self, outcome: Outcome) -> None:
        error = outcome.error
        if error is None:
            try:
                reward, cost = reading(outcome.value)
                self._tell(outcome.ticket, reward)
                self.account.result(cost)
            except InvalidInput as refused:
                error = refused
        if error is not None:
            self._take_error(outcome.ticket, error)

    def _tell(self, ticket: Ticket, reward: float) -> None:
        with suppress(TicketRefused):  # the arm was withdrawn meanwhile: paid for, and of no more use
            self._source.tell(ticket, reward)

    def _take_error(self, ticket: Ticket, error: BaseException) -> None:
        if self.stopped is not None or isinstance(error, KeyboardInterrupt):
            self._dropped += 1
            self.stop(INTERRUPTED)
        elif isinstance(error, BrokenExecutor | CancelledError):
            self._dropped += 1
            reason = str(error) or "it cancelled an evaluation"
            self._end(EvaluationFailed(f"the executor takes no more work: {reason}"), error)
            self.stop(ERROR)
        elif not isinstance(error, Exception):
            self._dropped += 1
            self.error = error
            self.stop(ERROR)
        else:
            self._take_failure(ticket, error)

    def _take_failure(self, ticket: Ticket, error: Exception) -> None:
        self.account.failure()
        self.last_failure = complaint(ticket.label, error)
        if self._on_error == "raise":
            self._end(EvaluationFailed(self.last_failure), error)
        elif self.account.failures >= HOPELESS and self.account.results == 0:
            self._end(
                EvaluationFailed(f"the first {HOPELESS} evaluations all failed; the last: {self.last_failure}"), error
            )
        else:
            with suppress(TicketRefused):  # withdrawn by the failures of other tickets
                self._source.fail(ticket)

    def _have(self, trouble: BoxThirdingError) -> None:
        """Start nothing more, because the study cannot be reached."""
        if self.error is None:
            self.error = trouble

    def _end(self, failed: EvaluationFailed, cause: BaseException) -> None:
        """Start nothing more; what is in flight may come in, and is paid for."""
        if self.error is None:
            failed.__cause__ = cause
            self.error = failed


def unavailable(error: BoxThirdingError) -> ArmsUnavailable:
    """Return what is wrong with an iterator of arms, without the advice for those who ask a session themselves."""
    return ArmsUnavailable(str(error).partition("; ask again")[0])
