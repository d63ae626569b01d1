"""A search, step by step: which tickets to evaluate next, what to do with an outcome, and when to stop.

It has no thread, loop or clock of its own: a loop calls `step` and `record` in turn, from one thread.
"""

import shlex
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from boxthirding import errors
from boxthirding._text import counted
from boxthirding.executors import WORKER_DIED
from boxthirding.find.budget import BudgetTracker
from boxthirding.find.evaluation import InvalidReturn, Outcome, format_failure, reward_and_cost
from boxthirding.find.interrupts import waiting_for
from boxthirding.find.progress import RunReporter
from boxthirding.find.summary import format_holders
from boxthirding.session import AskTell, Glance, Ticket
from boxthirding.session.tickets import is_worker

if TYPE_CHECKING:
    from boxthirding.find.confirm import FreshPulls
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
NO_ARMS: Final = "no arms left"
# Why a run has stopped, in words; `WAITING` depends on who has the rest.
REASONS: Final = {
    BUDGET: "the budget is spent",
    DEADLINE: "the time is up",
    INTERRUPTED: "interrupted",
    FINISHED: "the policy has finished",
    NO_ARMS: "no arm is left",
    STUDY_FINISHED: "the study is finished",
    KNOWN: "every example that matters has been evaluated",
    CALLBACK: "a callback ended it",
    ERROR: "an error ended it",
}

HOPELESS: Final = 100  # failures without a single result, after which the run ends

POLL: Final = 0.1  # seconds between two questions for tickets while only other processes have any

UNREACHABLE: Final = 60.0
"""Seconds for which calls of an unreachable study are repeated, if it was reached before or the error may pass."""

TROUBLE: Final = (errors.StudyUnavailable, errors.JournalBroken, errors.StudyDiffers, errors.UnreadableData)
"""Errors that any call of a study may raise."""

_GO_ON: Final = 'on_error="withdraw" continues without arms that fail'
_SO_FAR: Final = "error.found has the best so far"
_PAUSES = (0.1, 5.0)  # seconds between two tries, the first and the longest; each is twice the one before


class ToldResult(NamedTuple):
    """A result that the study has accepted."""

    ticket: Ticket
    reward: float
    cost: float


class TicketSource:
    """The tickets of a study or session, for one run, which has a holder's name of its own.

    While the study cannot be reached, what is known of it stays as it was, and the search repeats the call that failed.
    Other processes may work on the study at the same time if it `is_shared`.
    """

    def __init__(self, study: AskTell, tracker: BudgetTracker, *, is_shared: bool = True) -> None:
        self.study, self.is_shared = study, is_shared
        self.holder = study.worker()
        self._tracker = tracker
        # By ticket: whether its tell or fail was interrupted and may have succeeded.
        self._in_hand: dict[int, bool] = {}
        self._may_have_asked = False  # whether an ask was interrupted and may have succeeded
        self._told = 0
        self._spent_then = 0  # results when there was no ticket
        left_behind = study.held(self.holder)  # by a process that had this name before and was killed
        if left_behind:
            study.release(*left_behind)
        study.reclaim()
        self._look()

    @property
    def latest(self) -> Glance:
        """How far the study is, as the latest call has heard."""
        return self.study.glance()

    def ask(self, n: int = 1) -> list[Ticket]:
        """Return up to n tickets that are not in hand and are within the budget of the whole study."""
        asked: list[Ticket] = []
        if self._may_have_asked:
            asked = [ticket for ticket in self.study.held(self.holder) if ticket.id not in self._in_hand][:n]
            self._may_have_asked = False
        if len(asked) < n:
            limit = self._tracker.budget.pulls
            if limit is not None:
                limit = max(0, limit - self._tracker.failures)
            try:
                asked += self.study.ask(n - len(asked), holder=self.holder, limit=limit)
            except errors.StudyUnavailable:
                self._may_have_asked = True
                raise
        tickets = []
        for ticket in asked:
            if ticket.id not in self._in_hand:
                self._in_hand[ticket.id] = False
                tickets.append(ticket)
        if not tickets:
            self._look()
            self._spent_then = self.latest.spent
        return tickets

    def tell(self, ticket: Ticket, reward: float) -> None:
        """Tell a result; one whose tell was interrupted counts once."""
        try:
            self.study.tell(ticket, reward, holder=self.holder)
        except errors.StudyUnavailable:
            self._in_hand[ticket.id] = True
            raise
        except (errors.TicketRefused, errors.StudyFinished) as refused:
            if not (self._in_hand.pop(ticket.id, False) and isinstance(refused, errors.AlreadyTold)):
                raise
        self._in_hand.pop(ticket.id, None)
        self._told += 1
        self._look()

    def fail(self, ticket: Ticket) -> None:
        """Report a failure; one whose call was interrupted counts once, as others may have the ticket by now."""
        was_interrupted = self._in_hand.get(ticket.id, False)
        if not was_interrupted or any(held.id == ticket.id for held in self.study.held(self.holder)):
            try:
                self.study.fail(ticket)
            except errors.StudyUnavailable:
                self._in_hand[ticket.id] = True
                raise
            except (errors.TicketRefused, errors.StudyFinished):
                self._in_hand.pop(ticket.id, None)
                raise
        self._in_hand.pop(ticket.id, None)
        self._look()

    def reason_to_wait(self, *, room: bool) -> str:
        """Return why a ticket may come soon, though there is none now; empty, if none will come.

        With no room in the budget, only live processes are waited for: when they end, their tickets are free.
        """
        if not self.is_shared:
            return ""
        if self.study.reclaim():
            return "Taking over tickets that were left behind."
        view = self.study.view()
        self._tracker.elsewhere = view.spent - self._told
        others = {holder: number for holder, number in view.holders.items() if holder != self.holder}
        self._tracker.under_way_elsewhere = sum(others.values())
        if room and view.status == "paused":
            return "The study is paused: waiting until it is resumed."
        people = {holder: number for holder, number in others.items() if not is_worker(holder)}
        if room and people:
            place = getattr(self.study, "place", None)  # as a command line names it
            command = "study.release(holder=…)"
            if place is not None:
                words = ["boxthirding", "study", "release", *shlex.split(place), "--holder", next(iter(people))]
                command = shlex.join(words)
            waiting = f"Waiting for results that others have under way: {format_holders(people)}."
            return f"{waiting} If they are gone for good, release their tickets: {command}"
        if len(others) > len(people):
            return "Waiting for results that other runs have under way."
        has_news = room and view.spent != self._spent_then  # results that may lead to tickets
        return "Asking again, as results of other runs have come in." if has_news else ""

    def is_known(self) -> bool:
        """Return whether the examples have run out."""
        return self.study.view().status == "known"

    def holders(self) -> dict[str, int]:
        """Return who else has open tickets, and how many; those with the most first."""
        with suppress(errors.StudyUnavailable):
            view = self.study.view() if self.is_shared else None
            return {holder: number for holder, number in view.holders.items() if holder != self.holder} if view else {}
        return {}

    def release(self) -> None:
        """Release the tickets that were not evaluated, if the study can be reached."""
        with suppress(errors.BoxThirdingError):
            left = self.study.held(self.holder)
            if left:
                self.study.release(*left)

    def _look(self) -> None:
        """Count what other processes have done."""
        if self.is_shared:
            latest = self.study.glance()
            self._tracker.elsewhere = latest.spent - self._told
            self._tracker.under_way_elsewhere = max(0, latest.held - len(self._in_hand))


class Search:
    """Evaluates the tickets of a source within a budget, several at a time.

    Parameters
    ----------
    source : TicketSource or FreshPulls
        Where tickets come from and results go.
    tracker : BudgetTracker
        The budget, and what is spent of it.
    workers : int
        How many evaluations run at a time.
    on_error, catch
        As in `find_best`.
    told : callable, optional
        Called with the results that the study has accepted.
    reporter : RunReporter, optional
        Says why the search waits.

    """

    def __init__(
        self,
        source: "TicketSource | FreshPulls",
        tracker: BudgetTracker,
        *,
        workers: int,
        on_error: str,
        catch: tuple[type[Exception], ...] = (),
        told: Callable[[list[ToldResult]], None] | None = None,
        reporter: RunReporter | None = None,
    ) -> None:
        self.tracker = tracker
        self.stopped: str | None = None  # why nothing more is started; None while it may be
        self.error: BaseException | None = None  # what is raised in the end
        self.last_failure = ""
        self.handed: dict[Label, int] = {}  # how many pulls of each arm were handed out
        self._source, self._workers, self._told = source, workers, told
        self._on_error, self._catch = on_error, catch
        self._reporter = RunReporter(progress=False) if reporter is None else reporter
        self._is_interrupted = False
        self._is_idle = False
        self._is_finished = False
        self._is_enough = False
        self._accepted: list[ToldResult] = []  # not passed on yet
        self._in_flight = 0
        self._dropped = 0
        self._untold: list[tuple[Ticket, float | None, float]] = []  # with reward, None for a failure, and cost
        self._was_reached = False
        self._outage: _Outage | None = None

    @property
    def abandoned(self) -> int:
        """How many evaluations were started and gave neither a result nor a failure that counts."""
        return self._in_flight + self._dropped + len(self._untold)

    @property
    def seconds_left(self) -> float | None:
        """How long to wait for the next outcome at the most; None for any time."""
        left = self.tracker.seconds_left
        if self._is_idle:
            left = POLL if left is None else min(left, POLL)
        if self._outage is not None:
            pause = self._outage.again - self.tracker.seconds
            left = pause if left is None else min(left, pause)
        return None if left is None else max(0.0, left)

    def step(self, submit: Callable[[Ticket], None]) -> bool:
        """Tell the study what came in, submit the next tickets, and return whether to wait for an outcome."""
        self._is_idle = False
        left = self.tracker.seconds_left
        if left is not None and left <= 0:
            self.stop(INTERRUPTED if self._is_interrupted else DEADLINE)
        if self._is_interrupted and self._in_flight == 0:
            self.stop(INTERRUPTED)
        if self.stopped is None and (self._outage is None or self._outage.again <= self.tracker.seconds):
            try:
                self._deliver()
                self._start(submit)
            except TROUBLE as trouble:
                self._wait_or_end(trouble)
            else:
                self._was_reached, self._outage = True, None
        if self._in_flight == 0 and self.error is not None:
            self.stop(ERROR)
        return self.stopped is None

    def record(self, outcome: Outcome) -> None:
        """Take the outcome of an evaluation; the next step tells the study."""
        self._in_flight -= 1
        ticket, value, error = outcome
        if error is None:
            try:
                self._untold.append((ticket, *reward_and_cost(value)))
            except errors.InvalidInput as refused:
                error = refused
        if error is not None:
            self._record_error(ticket, error)

    def close(self) -> None:
        """Tell the study the rest; if it cannot be told, the error names what the study lacks."""
        try:
            self._deliver()
        except TROUBLE as trouble:
            theirs = "that of ticket" if len(self._untold) == 1 else "those of tickets"
            tickets = ", ".join(str(ticket.id) for ticket, *_ in self._untold)
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

    def interrupt(self, *, abandon: bool = False) -> None:
        """Start nothing more after Ctrl-C; the second one abandons running evaluations. Safe in a signal handler."""
        was_interrupted, self._is_interrupted = self._is_interrupted, True
        if abandon:
            self.stop(INTERRUPTED)
        elif not was_interrupted and self._in_flight > 0 and self.stopped is None:
            self._reporter.say_at_once(waiting_for(self._in_flight))

    def finish(self) -> None:
        """Start nothing more because a callback said so; running evaluations still count."""
        self._is_enough = True

    def end_with(self, error: BaseException, cause: BaseException | None = None) -> None:
        """Start nothing more, and raise the first such error in the end; running evaluations still count."""
        if self.error is None:
            self.error = error
            if cause is not None:
                error.__cause__ = cause

    def _start(self, submit: Callable[[Ticket], None]) -> None:
        """Start what there is room for; with nothing in flight, find out whether that is the end."""
        room = self._workers - self._in_flight
        if room > 0 and self.error is None and not self._has_ended:
            if self._in_flight > 0 or not self.tracker.rest_is_out:  # else the lease of what is out may be over
                room = min(room, self.tracker.room(self._in_flight))
            for ticket in self._ask(room) if room > 0 else ():
                if self._is_interrupted:  # meanwhile: the tickets are released in the end
                    break
                self.handed[ticket.label] = max(self.handed.get(ticket.label, 0), ticket.pull + 1)
                self._in_flight += 1
                submit(ticket)
        if self._in_flight == 0 and self.error is None and self.stopped is None:
            has_room = self.tracker.room(0) > 0
            reason = "" if self._has_ended else self._source.reason_to_wait(room=has_room)
            self._reporter.say_once(reason)
            self._is_idle = bool(reason)
            if not reason:
                self.stop(self._reason_to_end(has_room=has_room))

    @property
    def _has_ended(self) -> bool:
        return self._is_finished or self._is_enough or self._is_interrupted

    def _reason_to_end(self, *, has_room: bool) -> str:
        if self._is_interrupted:
            return INTERRUPTED
        if self._is_enough:
            return CALLBACK
        if self._is_finished:
            return STUDY_FINISHED
        if has_room:
            return KNOWN if self._source.is_known() else FINISHED
        return BUDGET if self.tracker.is_spent else WAITING

    def _ask(self, room: int) -> list[Ticket]:
        try:
            return self._source.ask(room)
        except KeyboardInterrupt:  # in the iterator of arms
            self.interrupt()
        except errors.StudyFinished:
            self._is_finished = True
        except TROUBLE:
            raise
        except errors.BoxThirdingError as error:
            self.end_with(unavailable(error), error)
        return []

    def _deliver(self) -> None:
        """Tell the study what it has not heard of, in the order in which it came; pass on what it accepts."""
        while self._untold:
            ticket, reward, cost = self._untold[0]
            try:
                if reward is None:
                    self._source.fail(ticket)
                else:
                    self._source.tell(ticket, reward)
                    self.tracker.result(cost)
                    if self._told is not None:
                        self._accepted.append(ToldResult(ticket, reward, cost))
            except TROUBLE:  # some of them are InvalidInput as well, and not about this result
                raise
            except (errors.TicketRefused, errors.StudyFinished, errors.InvalidInput) as refused:
                self._is_finished |= isinstance(refused, errors.StudyFinished)
                if reward is not None:
                    self._pay_for_refused(ticket, cost, refused)
            del self._untold[0]
        if self._told is not None and self._accepted:
            accepted, self._accepted = self._accepted, []
            self._told(accepted)

    def _pay_for_refused(self, ticket: Ticket, cost: float, refused: errors.InvalidInput) -> None:
        """Count a result that the study did not take."""
        if isinstance(refused, errors.AlreadyTold):
            self.tracker.too_late(cost)
        elif isinstance(
            refused, errors.TicketRefused | errors.StudyFinished
        ):  # the arm was withdrawn, or the study finished
            self.tracker.result(cost)
        else:
            self._record_error(ticket, refused)

    def _record_error(self, ticket: Ticket, error: BaseException) -> None:
        if self.stopped is not None or isinstance(error, KeyboardInterrupt):
            self._dropped += 1
            self.interrupt()
        elif self._is_interrupted and (isinstance(error, WORKER_DIED) or not self._is_forgiven(error)):
            self._dropped += 1  # Ctrl-C may have reached what evaluate started
            self.last_failure = format_failure(ticket.label, error)
        elif isinstance(error, WORKER_DIED):
            self._dropped += 1
            reason = str(error) or "it cancelled an evaluation"
            self.end_with(errors.EvaluationFailed(f"the executor takes no more work: {reason}", advice=_SO_FAR), error)
            self.stop(ERROR)
        elif isinstance(error, errors.StudyDiffers):  # an arm that evaluate was never given: no failure of the arm
            self._dropped += 1
            self.end_with(error)
        elif not isinstance(error, Exception):
            self._dropped += 1
            self.error = error
            self.stop(ERROR)
        else:
            self._record_failure(ticket, error)

    def _record_failure(self, ticket: Ticket, error: Exception) -> None:
        self.tracker.failure()
        self.last_failure = format_failure(ticket.label, error)
        if not self._is_forgiven(error):
            self.end_with(errors.EvaluationFailed(self.last_failure, advice=f"{_GO_ON}, and {_SO_FAR}"), error)
        elif self.tracker.failures >= HOPELESS and self.tracker.results == 0:
            problem = f"the first {HOPELESS} evaluations all failed; the last: {self.last_failure}"
            self.end_with(errors.EvaluationFailed(problem), error)
        else:
            self._untold.append((ticket, None, 0.0))

    def _is_forgiven(self, error: BaseException) -> bool:
        """Return whether the run goes on; `catch` is for what evaluate raises, not for what it returns."""
        return self._on_error == "withdraw" or (isinstance(error, self._catch) and not isinstance(error, InvalidReturn))

    def _wait_or_end(self, trouble: errors.BoxThirdingError) -> None:
        """Repeat the call later if the study is unreachable and may come back; else start nothing more."""
        if isinstance(trouble, errors.StudyUnavailable):
            self._outage = _Outage.after(self._outage, self.tracker.seconds)
            may_pass = self._was_reached or trouble.transient
            if may_pass and self._outage.again <= self._outage.begun + UNREACHABLE:
                self._reporter.say_once(f"The study cannot be reached, trying again: {trouble}")
                return
        self.end_with(trouble)


class _Outage(NamedTuple):
    """A study that cannot be reached: since when, when to try again, and how long to wait after that."""

    begun: float
    again: float
    pause: float

    @classmethod
    def after(cls, before: "_Outage | None", now: float) -> "_Outage":
        """Return the outage after one more try that failed."""
        first, longest = _PAUSES
        if before is None:
            return cls(now, now + first, 2 * first)
        return cls(before.begun, now + before.pause, min(2 * before.pause, longest))


def unavailable(error: errors.BoxThirdingError) -> errors.ArmsUnavailable:
    """Return an error of an iterator of arms, without the advice for those who ask a session themselves."""
    return errors.ArmsUnavailable(error.problem)
