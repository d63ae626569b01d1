"""What the verbs of a study decide: functions of its state that let something happen there, and return the events.

Each of them refuses what cannot be, and has changed nothing then. They are called while the write lock is held, and
read the clock there: so the times of events are in the order of the events.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from boxthirding._text import counted
from boxthirding.errors import StudyFinished
from boxthirding.session import Ticket, amendments
from boxthirding.session.amendments import KnownResult
from boxthirding.study import events
from boxthirding.study.events import Event
from boxthirding.study.payloads import kept_all
from boxthirding.study.rules import package, version_of
from boxthirding.study.scale import check_change, check_rewards
from boxthirding.study.state import FINISHED, OPEN, PAUSED, StudyState
from boxthirding.study.transactions import Decide, Decided
from boxthirding.types import Label, Policy

T = TypeVar("T")


class Decisions:
    """The decisions for a study of this name, by this clock."""

    def __init__(self, name: str, clock: Callable[[], float]) -> None:
        self._name = name
        self.clock = clock

    def now_open(self, state: StudyState) -> float:
        """Return the time, if the study is not finished."""
        if state.status == FINISHED:
            raise StudyFinished(
                f"study {self._name!r} is finished for good, so nothing changes its answer: no tickets are handed out, "
                "and results, failures, corrections and exclusions are refused",
                advice="make another study to go on, with these results as known ones",
            )
        return self.clock()

    def taking_over(self, decide: Decide[T]) -> Decide[T]:
        """Return a decision in which a newer version of the rule says first that it takes the study over."""

        def decide_and_take_over(state: StudyState) -> Decided[T]:
            decided = decide(state)
            if not (state.must_take_over and decided.events):
                return decided
            return Decided([state.take_over(self.clock()), *decided.events], decided.result)

        return decide_and_take_over

    def tell(
        self, state: StudyState, ticket: int | Ticket, reward: float, holder: str | None, details: dict[str, Any] | None
    ) -> Decided[None]:
        """Take the result of a ticket."""
        state.check_can_write()
        entry = state.core.expected(ticket, holder)
        now = self.now_open(state)  # after the ticket, as one that was told is told, finished or not
        check_rewards(state, [reward])
        ticket_id = state.core.tickets.find(ticket) if entry is None else entry.ticket.id
        who = None if entry is not None and holder == entry.holder else holder
        return _happens(state, events.Told(now, ticket_id, reward, who, details))

    def tell_all(self, state: StudyState, pairs: list[tuple[int | Ticket, float]]) -> Decided[None]:
        """Take the results of many tickets, all or none of them."""
        state.check_can_write()
        ids = state.core.check_all(ticket for ticket, _ in pairs)
        now = self.now_open(state)
        check_rewards(state, (reward for _, reward in pairs))
        told = [events.Told(now, ticket, reward) for ticket, (_, reward) in zip(ids, pairs, strict=True)]
        return _happens(state, *told)

    def fail(self, state: StudyState, ticket: int | Ticket) -> Decided[None]:
        """Note that a ticket could not be evaluated, and withdraw its arm if that was once too often."""
        state.check_can_write()
        arm, now = state.core.tickets.expected(ticket).ticket, self.now_open(state)
        led_to: list[Event] = [events.Failed(now, arm.id)]
        if state.core.failed.get(arm.arm, 0) + 1 >= state.core.patience:
            why = f"failed {counted(state.core.patience, 'time')} in a row"
            led_to.append(events.ArmWithdrawn(now, arm.label, why))
        return _happens(state, *led_to)

    def release(
        self, state: StudyState, tickets: Sequence[int | Ticket], holder: str | None, why: str
    ) -> Decided[list[int]]:
        """Take open tickets from their holders; return their ids."""
        state.check_can_write()
        now = self.now_open(state)
        ids = state.core.tickets.to_release(tickets, holder)
        return Decided(_happens(state, events.Released(now, tuple(ids), why)).events, ids)

    def observe(self, state: StudyState, rows: list[KnownResult]) -> Decided[None]:
        """Take known results, all or none of them."""
        state.check_can_write()
        now = self.now_open(state)
        amendments.check_known(state.core, rows)
        check_rewards(state, (row.reward for row in rows))
        return _happens(state, events.Observed(now, tuple([(label, reward, pull) for label, reward, pull in rows])))

    def add_known(self, state: StudyState, rows: list[KnownResult]) -> Decided[None]:
        """Take those known results that are missing: another process may have taken the others just now."""
        missing = amendments.missing_results(state.core, rows)
        return self.observe(state, missing) if missing else Decided([], None)

    def correct(self, state: StudyState, ticket: int | Ticket, reward: float) -> Decided[None]:
        """Replace the reward of a ticket that was told."""
        state.check_can_write()
        now = self.now_open(state)
        amendments.check_can_amend(state.core, "take corrections")
        state.core.tickets.told_row(ticket)
        check_rewards(state, [reward])
        return _happens(state, events.Corrected(now, state.core.tickets.find(ticket), reward))

    def exclude(self, state: StudyState, holder: str) -> Decided[int]:
        """Let the results of a holder not count; return how many were told."""
        state.check_can_write()
        now = self.now_open(state)
        amendments.check_can_exclude(state.core, holder)
        told = len(state.core.ledger.rows_of(holder))
        return Decided(_happens(state, events.Excluded(now, holder)).events, told)

    def include(self, state: StudyState, holder: str) -> Decided[int]:
        """Let the results of an excluded holder count again; return how many there are."""
        state.check_can_write()
        now = self.now_open(state)
        amendments.check_can_include(state.core, holder)
        told = len(state.core.ledger.rows_of(holder))
        return Decided(_happens(state, events.Included(now, holder)).events, told)

    def use(self, state: StudyState, policy: Policy, spec: str) -> Decided[None]:
        """Let another policy, which is written as this SPEC, decide from now on."""
        now = self.now_open(state)
        state.core.check_policy(policy)
        why = f"use {spec} instead of {state.chosen.spec}"
        return _happens(state, events.TakenOver(now, spec, version_of(policy), why, package()))

    def add(self, state: StudyState, arms: Any) -> Decided[list[tuple[Label, Any]]]:
        """Add arms, all or none of them; return their labels, each with what was given as the arm."""
        state.check_can_write()
        now = self.now_open(state)
        pairs = state.core.labels.labelled(arms)
        state.core.labels.check_new(pairs)
        added = events.ArmsAdded(now, tuple([label for label, _ in pairs]), kept_all(pairs))
        return Decided(_happens(state, added).events, pairs)

    def withdraw(self, state: StudyState, label: Label) -> Decided[None]:
        """Take an arm out of the race for good."""
        state.check_can_write()
        now = self.now_open(state)
        state.core.labels.check_not_withdrawn(label)
        return _happens(state, events.ArmWithdrawn(now, label))

    def describe(self, state: StudyState, details: dict[str, Any]) -> Decided[None]:
        """Let other details be those of the study, unless they are."""
        if details == (state.details or {}):
            return Decided([], None)
        check_change(state, details)
        return _happens(state, events.Redefined(self.clock(), details=details))

    def redefine(
        self, state: StudyState, payloads: dict[Label, dict[str, Any] | None], details: dict[str, Any] | None
    ) -> Decided[None]:
        """Let other things be the arms under some labels, and other details those of the study."""
        now = self.now_open(state) if payloads else self.clock()  # under its label another arm is another answer
        if details is not None:
            check_change(state, details)
        others = tuple(payloads.values()) or None
        return _happens(state, events.Redefined(now, tuple(payloads), others, details))

    def pair(
        self, state: StudyState, examples: Sequence[Mapping[str, Any]], order: Sequence[int], *, force: bool
    ) -> Decided[list[int]]:
        """Let examples be those of the study, unless it has them; return by pull which of them it sees."""
        places = state.core.examples.pair(examples, order, force=force)
        now = tuple([{**examples[place]} for place in places])
        if now == tuple(state.core.examples.stored):
            return Decided([], places)
        return Decided(_happens(state, events.Redefined(self.clock(), example_payloads=now)).events, places)

    def pause(self, state: StudyState) -> Decided[None]:
        """Hand out no tickets for now."""
        return _turn(state, PAUSED, events.Paused(self.now_open(state)))

    def resume(self, state: StudyState) -> Decided[None]:
        """Hand out tickets again."""
        return _turn(state, OPEN, events.Resumed(self.now_open(state)))

    def finish(self, state: StudyState) -> Decided[None]:
        """Hand out no more tickets, and let nothing change the answer, ever."""
        return _turn(state, FINISHED, events.Finished(self.clock()))


def _happens(state: StudyState, *led_to: Event) -> Decided[None]:
    """Let events happen, and return them."""
    for event in led_to:
        state.apply(event)
    return Decided([*led_to], None)


def _turn(state: StudyState, status: str, event: Event) -> Decided[None]:
    """Change the status, unless it is that already."""
    return Decided([], None) if state.status == status else _happens(state, event)
