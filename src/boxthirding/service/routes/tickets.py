"""Tickets and results: what workers do; and what an operator does about results."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from boxthirding.errors import AlreadyTold, InvalidInput, TicketRefused, UnknownTicket
from boxthirding.service import request_models as bodies
from boxthirding.service import response_models as models
from boxthirding.service import summaries
from boxthirding.service.authorization import GuardedRoute, key_of, needs, service_of
from boxthirding.service.keys import OPERATOR, WORKER, Key
from boxthirding.service.limits import LARGE
from boxthirding.service.links import check_not_a_rater, is_rater
from boxthirding.service.problems import problem_of, reply
from boxthirding.service.rating import release_late
from boxthirding.service.remote_workers import SECONDS
from boxthirding.service.routes.studies import OpenStudy, answer
from boxthirding.service.studies import Served
from boxthirding.session import Ticket
from boxthirding.session.tickets import is_worker
from boxthirding.study import Study

router = APIRouter(route_class=GuardedRoute, tags=["tickets and results"])

Holder = Annotated[str, Query(min_length=1, max_length=200)]


@router.post("/studies/{name}/tickets", response_model=models.TicketsGiven, **needs(WORKER))
def ask(request: Request, name: str, body: bodies.AskIn) -> Response:
    """Ask for up to n tickets; none while the study is paused, or when the policy needs a result first."""
    holder, one = _holder(key_of(request), body.holder), service_of(request).studies.get(name)  # faster than `Depends`
    if is_worker(holder):
        one.workers.hear([holder], (), service_of(request).clock())
    _release_late(request, one)
    tickets = one.study.ask(body.n, holder=holder, unseen=body.unseen, limit=body.limit)
    return reply({"holder": holder, "tickets": [_ticket_row(ticket) for ticket in tickets], **answer(one.study)})


@router.get("/studies/{name}/tickets", response_model=models.Tickets, **needs(WORKER))
def held(one: OpenStudy, holder: Holder) -> Response:
    """Return the open tickets of a holder: after a crash, or when a reply was lost."""
    tickets = one.study.held(holder)
    return reply({"holder": holder, "tickets": [_ticket_row(ticket) for ticket in tickets]})


@router.post("/studies/{name}/results", response_model=models.Outcomes, **needs(WORKER))
def tell(request: Request, name: str, body: bodies.ResultsIn) -> Response:
    """Tell results. Each is told, told again (it counts once) or refused with a problem; `together`: all or none."""
    study = service_of(request).studies.get(name).study  # faster than `Depends`
    _check_origin(study, body)
    of_raters = _of_raters(request, study)
    if body.together:
        if any(row.holder is not None or row.details is not None for row in body.results):
            raise InvalidInput("results that are told together have no holder and no details: leave those out")
        _check_not_of_raters(of_raters, *[row.ticket for row in body.results])
        study.tell_all((row.ticket, row.reward) for row in body.results)
        outcomes = [{"ticket": row.ticket, "outcome": "told"} for row in body.results]
    else:
        outcomes = [_tell(study, row, of_raters) for row in body.results]
    return reply({"results": outcomes, **answer(study)})


@router.post("/studies/{name}/failures", response_model=models.TicketFailed, **needs(WORKER))
def fail(request: Request, one: OpenStudy, body: bodies.TicketIn) -> Response:
    """Note that a ticket could not be evaluated: the next to ask is given it."""
    study = one.study
    _check_origin(study, body)
    _check_not_of_raters(_of_raters(request, study), body.ticket)
    study.fail(body.ticket)
    return reply({"ticket": body.ticket, **answer(study)})


@router.post("/studies/{name}/releases", response_model=models.TicketsReleased, **needs(WORKER))
def release(request: Request, one: OpenStudy, body: bodies.ReleaseIn) -> Response:
    """Take open tickets, or all of a holder, from their holders: the next to ask is given them."""
    if not key_of(request).may(OPERATOR):
        check_not_a_rater(body.holder)
    study = one.study
    _check_origin(study, body)
    _check_not_of_raters(_of_raters(request, study), *body.tickets)
    return reply({"tickets": study.release(*body.tickets, holder=body.holder), **answer(study)})


@router.post("/studies/{name}/workers", response_model=models.Silence, **needs(WORKER))
def hear_workers(request: Request, one: OpenStudy, body: bodies.WorkersIn) -> Response:
    """Report that workers are alive or have ended. One that is silent for the seconds in the reply counts as ended."""
    one.workers.hear(body.alive, body.ended, service_of(request).clock())
    return reply({"seconds": SECONDS})


@router.post("/studies/{name}/reclaims", response_model=models.Reclaimed, **needs(WORKER))
def reclaim(request: Request, one: OpenStudy) -> Response:
    """Release the tickets of workers that have ended: the next to ask is given them."""
    _release_late(request, one)
    return reply({"released": one.workers.reclaim(service_of(request).clock()), **answer(one.study)})


@router.post("/studies/{name}/observations", response_model=models.Glance, **needs(OPERATOR, LARGE))
def observe(one: OpenStudy, body: bodies.ObservationsIn) -> Response:
    """Take known results, which no ticket was handed out for; all or none of them."""
    study = one.study
    if body.only_new:
        study.add_known(bodies.known_rows(body.results))
    else:
        study.observe_all(bodies.known_rows(body.results))
    return reply(answer(study))


@router.post("/studies/{name}/corrections", response_model=models.Glance, **needs(OPERATOR))
def correct(one: OpenStudy, body: bodies.CorrectionIn) -> Response:
    """Replace the reward of a ticket that was told: the answer is right at once."""
    study = one.study
    _check_origin(study, body)
    study.correct(body.ticket, body.reward)
    return reply(answer(study))


@router.post("/studies/{name}/exclusions", response_model=models.ResultsChanged, **needs(OPERATOR))
def exclude(one: OpenStudy, body: bodies.HolderIn) -> Response:
    """Exclude the results of a holder, such as a careless rater."""
    study = one.study
    return reply({"results": study.exclude(body.holder), **answer(study)})


@router.get("/studies/{name}/exclusions", response_model=models.ExclusionPreview, **needs(OPERATOR))
def preview_exclusion(one: OpenStudy, holder: Holder) -> Response:
    """Return the answer now, and as it would be if a holder were excluded, or included again; nothing changes."""
    study, now = one.study, one.study.view()
    is_out = holder in now.excluded
    then = study.what_if(include=[holder]) if is_out else study.what_if(exclude=[holder])
    return reply(summaries.preview(one, now, then, excluded=is_out))


@router.delete("/studies/{name}/exclusions", response_model=models.ResultsChanged, **needs(OPERATOR))
def include(one: OpenStudy, holder: Holder) -> Response:
    """Include the results of an excluded holder again."""
    study = one.study
    return reply({"results": study.include(holder), **answer(study)})


def _check_origin(study: Study, body: bodies.OfTickets) -> None:
    if body.origin is not None and body.origin != study.origin:
        raise UnknownTicket("the ticket is of another study, perhaps a deleted one", advice="ask for new tickets")


def _holder(key: Key, named: str | None) -> str:
    check_not_a_rater(named)
    return f"key-{key.id}" if named is None else named


def _release_late(request: Request, one: Served) -> None:
    """Take tickets back that raters have had for too long; where they have none, no long journal is read for that."""
    if one.study.held_by(is_rater):
        release_late(one, service_of(request).clock())


def _of_raters(request: Request, study: Study) -> set[int]:
    """Return the tickets that are none of the caller's business: what a rater holds waits for the rater's answer."""
    return set() if key_of(request).may(OPERATOR) else study.held_by(is_rater)


def _check_not_of_raters(of_raters: set[int], *tickets: int) -> None:
    for ticket in tickets:
        if ticket in of_raters:
            raise TicketRefused(
                f"ticket {ticket} is held by a rater, and waits for the rater's answer",
                advice="ask for tickets of your own, or use the key of an operator",
            )


def _tell(study: Study, row: bodies.ResultIn, of_raters: set[int]) -> dict[str, Any]:
    try:
        check_not_a_rater(row.holder)
        if row.holder is None:  # else it is told as that holder's
            _check_not_of_raters(of_raters, row.ticket)
        study.tell(row.ticket, row.reward, holder=row.holder, details=row.details)
    except AlreadyTold as problem:
        return {"ticket": row.ticket, "outcome": "again", "problem": problem_of(problem)}
    except InvalidInput as problem:
        return {"ticket": row.ticket, "outcome": "refused", "problem": problem_of(problem)}
    return {"ticket": row.ticket, "outcome": "told"}


def _ticket_row(ticket: Ticket) -> dict[str, Any]:
    row = ticket._asdict()
    if ticket.payload is ticket.label:
        row.pop("payload")
    return {**row, "origin": ticket.origin}
