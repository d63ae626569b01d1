"""Arms: by pages, one by one with its story, added and withdrawn."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from boxthirding.errors import InvalidInput, UnknownLabel
from boxthirding.service import response_models as models
from boxthirding.service import summaries
from boxthirding.service.authorization import GuardedRoute, needs, service_of
from boxthirding.service.keys import OPERATOR, READER
from boxthirding.service.limits import LARGE
from boxthirding.service.problems import reply
from boxthirding.service.rating import FLAGGED, check_arms, seen
from boxthirding.service.reply_size import paged
from boxthirding.service.request_models import ArmsIn
from boxthirding.service.routes.studies import Brief, Count, First, OpenStudy, after_change, answer
from boxthirding.service.studies import Served
from boxthirding.session.values import as_plain
from boxthirding.types import Label

router = APIRouter(route_class=GuardedRoute, tags=["arms"])

LabelQuery = Annotated[str | None, Query(max_length=20_000, description="The label; or a number, if no text is it.")]
Kind = Annotated[Literal["text", "number"] | None, Query(description="What the label is, where both may be there.")]
Key = Annotated[str | None, Query(max_length=200, description="The `key` of an arm, in the place of its label.")]
Order = Annotated[
    Literal[
        "best", "tried", "latest", "given", "mean", "-mean", "pulls", "-pulls", "level", "-level", "label", "-label"
    ],
    Query(description="With a minus the largest first; `best` is the policy's own order."),
]


@router.get("/studies/{name}/arms", response_model=models.Arms, **needs(READER))
def list_arms(
    one: OpenStudy,
    first: First = 0,
    count: Count = 100,
    order: Order = "best",
    search: Annotated[str | None, Query(max_length=1000)] = None,
    *,
    brief: Brief = False,
) -> Response:
    """Return a page of the arms that were tried, sorted, or of all of them as given.

    A page has at most 300 kB, so perhaps fewer arms than `count`; `next` is where the next one begins.
    """
    flagged = one.tally.often_skipped(FLAGGED)
    found = one.study.arms(first, min(count, summaries.MOST) if brief else count, order=order, search=search)
    if brief:
        return reply(summaries.arms(one, found, flagged))
    rows = [{**arm._asdict(), **seen(arm.label, one.study.payload(arm.label))} for arm in found]
    return reply(paged("arms", [{**row, "skipped": flagged.get(row["label"])} for row in rows], first, count))


@router.post("/studies/{name}/arms", response_model=models.ArmsAdded, status_code=201, **needs(OPERATOR, LARGE))
def add_arms(request: Request, one: OpenStudy, body: ArmsIn) -> Response:
    """Add arms, all or none of them."""
    study, arms = one.study, body.contents()
    check_arms(arms, service_of(request).records, for_raters=bool(one.about.scale))
    study.add(arms)
    return reply({"added": len(arms), "arms": after_change(study.view).arms, **answer(study)}, 201)


@router.get("/studies/{name}/arm", response_model=models.Arm, **needs(READER))
def one_arm(
    one: OpenStudy, label: LabelQuery = None, kind: Kind = None, key: Key = None, *, brief: Brief = False
) -> Response:
    """Return one arm: what was given as it, how it stands, and its story."""
    found = _label(one, label, kind, key)
    story = one.study.why(found)
    skipped = len(one.tally.skips.get(found, ()))
    if brief:
        return reply(summaries.arm(one, story, skipped))
    payload = one.study.payload(found)
    more = {} if payload is found else {"payload": payload}
    return reply({**as_plain(story), **seen(found, payload), **more, "skipped": skipped, "story": str(story)})


@router.get("/studies/{name}/arm/results", response_model=models.ArmResults, **needs(READER))
def results_of_arm(
    one: OpenStudy, label: LabelQuery = None, kind: Kind = None, key: Key = None, first: First = 0, count: Count = 100
) -> Response:
    """Return a page of the results of an arm, the latest first; a correction names the ticket of one.

    A page has at most 300 kB, so perhaps fewer results than `count`; `next` is where the next one begins.
    """
    about, found = one.about, one.study.results(_label(one, label, kind, key), first, count)
    rows = [{**row._asdict(), "answer": about.answer(row.reward)} for row in found]
    return reply(paged("results", rows, first, count))


@router.delete("/studies/{name}/arm", response_model=models.ArmWithdrawn, **needs(OPERATOR))
def withdraw_arm(one: OpenStudy, label: LabelQuery = None, kind: Kind = None, key: Key = None) -> Response:
    """Withdraw an arm permanently; its open tickets become void."""
    found = _label(one, label, kind, key)
    one.study.withdraw(found)
    return reply({"withdrawn": found, "arms": after_change(one.study.view).arms, **answer(one.study)})


def _label(one: Served, text: str | None, kind: str | None, key: str | None) -> Label:
    """Return the label that a text or a key means: a study may have numbers."""
    if key is not None:
        return summaries.label_of(one, key)
    if text is None:
        raise InvalidInput("neither label nor key is given, but one of them must say which arm is meant")
    is_number = text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() and len(text) <= 17  # noqa: PLR2004
    if kind == "number" and is_number:
        one.study.payload(int(text))
        return int(text)
    try:
        one.study.payload(text)
    except UnknownLabel:
        if kind is None and is_number:
            one.study.payload(int(text))
            return int(text)
        raise
    return text
