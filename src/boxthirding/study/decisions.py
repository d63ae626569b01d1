"""What the verbs of a study decide: functions of its state and the time that apply events, and return them.

Each of them raises for what is impossible, and has changed nothing then. They are called while the write lock is held,
with the time read there: so the times of events are in the order of the events.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from boxthirding._text import counted
from boxthirding.errors import BoxThirdingError, InvalidInput, StudyFinished
from boxthirding.session import Ticket, amendments
from boxthirding.session.values import Details, KnownResult
from boxthirding.study import events
from boxthirding.study.arm_payloads import kept_all
from boxthirding.study.events import Event
from boxthirding.study.settings import check_change, check_rewards
from boxthirding.study.state import FINISHED, OPEN, PAUSED, Decided, Exchange, Handed, StudyState, package, version_of
from boxthirding.types import Label, Policy


def ask(
    state: StudyState, now: float, n: int, holder: str, limit: int | None, *, unseen: bool = False
) -> Decided[Handed]:
    """Hand out up to n tickets, those without a holder first.

    Arms of an iterator are drawn before the lock is taken: a decision that lacks some says how many, and is made again
    when they are there. What goes wrong while tickets are in hand is returned, as those go out first.
    """
    _check_open(state)
    core, lease = state.core, state.created.lease
    if state.status == PAUSED:
        return Decided([], Handed([]))
    behind = state.catch_up()
    if behind:
        return Decided([], Handed([], behind))
    led_to: list[Event] = []
    tickets: list[Ticket] = []
    if core.tickets.free or lease is not None:
        ids = core.tickets.to_give(n, holder, now, lease, limit, unseen=unseen)
        if ids:
            tickets = [core.tickets.open[ticket].ticket for ticket in ids]
            led_to += _apply(state, events.Given(now, holder, tuple(ids))).events
    new = core.room(n - len(tickets), limit)
    if new <= 0:
        return Decided(led_to, Handed(tickets))
    asked, handed = state.hand_out(new, holder, now, unseen=unseen)
    led_to += asked
    tickets += handed.tickets
    trouble = None if handed.trouble is None else state.feed.source.explained(handed.trouble)
    if trouble is not None and not tickets and not led_to:
        raise trouble
    return Decided(led_to, Handed(tickets, handed.to_draw, trouble))


def exchange(state: StudyState, now: float, exchanged: Exchange) -> Decided[Handed]:
    """Take results of a holder and hand it tickets."""
    holder, results, n, unseen = exchanged
    led_to: list[Event] = []
    problems: list[InvalidInput | None] = []
    for ticket, reward, details in results:
        problems.append(None)
        try:
            led_to += tell(state, now, ticket, reward, holder, details).events
        except InvalidInput as problem:
            problems[-1] = problem
    handed = Handed([])
    try:
        if n > 0:
            asked = ask(state, now, n, holder, None, unseen=unseen)
            led_to, handed = led_to + asked.events, asked.result
    except StudyFinished:
        pass
    except BoxThirdingError as trouble:
        if not led_to:
            raise
        handed = Handed([], 0, trouble)  # the results are taken
    return Decided(led_to, handed._replace(problems=problems))


def tell(
    state: StudyState, now: float, ticket: int | Ticket, reward: float, holder: str | None, details: Details | None
) -> Decided[None]:
    """Take the result of a ticket."""
    state.check_can_write()
    entry = state.core.expected(ticket, holder)
    _check_not_finished(state)  # after the ticket: one that was told is told, finished or not
    if state.details:
        check_rewards(state, [reward])
    ticket_id = state.core.tickets.find(ticket) if entry is None else entry.ticket.id
    who = None if entry is not None and holder == entry.holder else holder
    return _apply(state, events.Told(now, ticket_id, reward, who, None if details is None else {**details}))


def tell_all(state: StudyState, now: float, pairs: list[tuple[int | Ticket, float]]) -> Decided[None]:
    """Take the results of many tickets, all or none of them."""
    state.check_can_write()
    ids = state.core.check_all(ticket for ticket, _ in pairs)
    _check_not_finished(state)
    check_rewards(state, (reward for _, reward in pairs))
    told = [events.Told(now, ticket, reward) for ticket, (_, reward) in zip(ids, pairs, strict=True)]
    return _apply(state, *told)


def fail(state: StudyState, now: float, ticket: int | Ticket) -> Decided[None]:
    """Note that a ticket could not be evaluated, and withdraw its arm after too many failures."""
    state.check_can_write()
    failed = state.core.tickets.expected(ticket).ticket
    _check_not_finished(state)
    led_to: list[Event] = [events.Failed(now, failed.id)]
    if state.core.failed.get(failed.arm, 0) + 1 >= state.core.patience:
        why = f"failed {counted(state.core.patience, 'time')} in a row"
        led_to.append(events.Withdrawn(now, failed.label, why))
    return _apply(state, *led_to)


def release(
    state: StudyState, now: float, tickets: Sequence[int | Ticket], holder: str | None, why: str
) -> Decided[list[int]]:
    """Take open tickets from their holders; return their ids."""
    _check_open(state)
    ids = state.core.tickets.to_release(tickets, holder)
    return Decided(_apply(state, events.Released(now, tuple(ids), why)).events, ids)


def observe(state: StudyState, now: float, rows: list[KnownResult]) -> Decided[None]:
    """Take known results, all or none of them."""
    _check_open(state)
    check_rewards(state, (row.reward for row in rows))
    return _apply(state, events.Observed(now, tuple([(label, reward, pull) for label, reward, pull in rows])))


def add_known(state: StudyState, now: float, rows: list[KnownResult]) -> Decided[None]:
    """Take those known results that are missing: another process may have taken the others just now."""
    missing = amendments.missing_results(state.core, rows)
    return observe(state, now, missing) if missing else Decided([], None)


def correct(state: StudyState, now: float, ticket: int | Ticket, reward: float) -> Decided[None]:
    """Replace the reward of a ticket that was told."""
    _check_open(state)
    check_rewards(state, [reward])
    return _apply(state, events.Corrected(now, state.core.tickets.find(ticket), reward))


def exclude(state: StudyState, now: float, holder: str) -> Decided[int]:
    """Exclude all results of a holder; return how many were told."""
    _check_open(state)
    led_to = _apply(state, events.Excluded(now, holder)).events
    return Decided(led_to, len(state.core.ledger.rows_of(holder)))


def include(state: StudyState, now: float, holder: str) -> Decided[int]:
    """Include the results of an excluded holder again; return how many there are."""
    _check_open(state)
    led_to = _apply(state, events.Included(now, holder)).events
    return Decided(led_to, len(state.core.ledger.rows_of(holder)))


def use(state: StudyState, now: float, policy: Policy, spec: str) -> Decided[None]:
    """Switch to another policy, given by its SPEC."""
    _check_not_finished(state)
    state.core.rule.check_policy(policy)
    why = f"use {spec} instead of {state.chosen.spec}"
    return _apply(state, events.Switched(now, spec, version_of(policy), why, package()))


def add(state: StudyState, now: float, arms: Any) -> Decided[list[tuple[Label, Any]]]:
    """Add arms, all or none of them; return their labels, each with what was given as the arm."""
    _check_open(state)
    pairs = state.core.labels.labelled(arms)
    added = events.Added(now, tuple([label for label, _ in pairs]), kept_all(pairs))
    return Decided(_apply(state, added).events, pairs)


def withdraw(state: StudyState, now: float, label: Label) -> Decided[None]:
    """Withdraw an arm permanently."""
    _check_open(state)
    return _apply(state, events.Withdrawn(now, label))


def describe(state: StudyState, now: float, details: dict[str, Any]) -> Decided[None]:
    """Replace the details of the study, unless they are the same."""
    return Decided([], None) if details == (state.details or {}) else redefine(state, now, {}, details)


def redefine(
    state: StudyState, now: float, payloads: dict[Label, dict[str, Any] | None], details: dict[str, Any] | None
) -> Decided[None]:
    """Replace what was given as arms under some labels, and the details of the study."""
    if payloads:  # under its label another arm is another answer
        _check_not_finished(state)
    if details is not None:
        check_change(state, details)
    return _apply(state, events.Redefined(now, tuple(payloads), tuple(payloads.values()) or None, details))


def pair(
    state: StudyState, now: float, examples: Sequence[Mapping[str, Any]], order: Sequence[int], *, force: bool
) -> Decided[list[int]]:
    """Set the examples of the study, unless it has them; return by pull which of them it sees."""
    places = state.core.examples.pair(examples, order, force=force)
    paired = tuple([{**examples[place]} for place in places])
    if paired == tuple(state.core.examples.stored):
        return Decided([], places)
    return Decided(_apply(state, events.Redefined(now, example_payloads=paired)).events, places)


def pause(state: StudyState, now: float) -> Decided[None]:
    """Hand out no tickets for now."""
    return _change_status(state, PAUSED, events.Paused(now))


def resume(state: StudyState, now: float) -> Decided[None]:
    """Hand out tickets again."""
    return _change_status(state, OPEN, events.Resumed(now))


def finish(state: StudyState, now: float) -> Decided[None]:
    """Hand out no more tickets, and let nothing change the answer, ever."""
    return Decided([], None) if state.status == FINISHED else _apply(state, events.Finished(now))


def _change_status(state: StudyState, status: str, event: Event) -> Decided[None]:
    """Pause or resume, unless the study is that already."""
    _check_not_finished(state)
    return Decided([], None) if state.status == status else _apply(state, event)


def _check_open(state: StudyState) -> None:
    """Raise if the policy cannot decide here, or the study is finished."""
    state.check_can_write()
    _check_not_finished(state)


def _check_not_finished(state: StudyState) -> None:
    if state.status == FINISHED:
        raise StudyFinished(
            f"study {state.name!r} is finished for good, so nothing changes its answer: no tickets are handed out, "
            "and results, failures, corrections and exclusions are refused",
            advice="make another study to go on, with these results as known ones",
        )


def _apply(state: StudyState, *led_to: Event) -> Decided[None]:
    """Apply events, and return them; the first raises for what is impossible, and has changed nothing then."""
    for event in led_to:
        state.apply(event)
    return Decided([*led_to], None)
