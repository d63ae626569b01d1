"""Arms: by pages, one by one with its story, added and withdrawn."""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from boxthirding.errors import UnknownLabel
from boxthirding.service.access import OPERATOR, READER
from boxthirding.service.guard import GuardedRoute, needs
from boxthirding.service.limits import LARGE
from boxthirding.service.problems import reply
from boxthirding.service.rating import FLAGGED
from boxthirding.service.routes.studies import served
from boxthirding.service.studies import Served
from boxthirding.service.wire import ArmsIn
from boxthirding.types import Label

router = APIRouter(route_class=GuardedRoute, tags=["arms"])

LabelQuery = Annotated[str, Query(max_length=20_000, description="The label; a number, where no text is like it.")]


@router.get("/studies/{name}/arms", **needs(READER))
def list_arms(
    request: Request,
    name: str,
    first: Annotated[int, Query(ge=0, le=2**53)] = 0,
    count: Annotated[int, Query(ge=1, le=1000)] = 100,
    order: Literal["best", "tried", "given"] = "best",
    search: Annotated[str | None, Query(max_length=1000)] = None,
) -> Response:
    """Return a page of the arms: best first, in the order in which they were tried, or all of them as given."""
    one = served(request, name)
    flagged = one.tally.often_skipped(FLAGGED)
    found = one.study.arms(first, count, order=order, search=search)
    return reply({"arms": [{**arm._asdict(), "skipped": flagged.get(arm.label)} for arm in found]})


@router.post("/studies/{name}/arms", status_code=201, **needs(OPERATOR, LARGE))
def add_arms(request: Request, name: str, body: ArmsIn) -> Response:
    """Add arms, all or none of them."""
    study = served(request, name).study
    arms = body.contents()
    study.add(arms)
    return reply({"added": len(arms), "arms": study.view().arms}, 201)


@router.get("/studies/{name}/arm", **needs(READER))
def one_arm(request: Request, name: str, label: LabelQuery) -> Response:
    """Return one arm: what was given as it, how it stands, and its story."""
    one = served(request, name)
    found = _label(one, label)
    story = one.study.why(found)
    steps = [{**step._asdict(), "rivals": [rival._asdict() for rival in step.rivals]} for step in story.steps]
    skipped = len(one.tally.skips.get(found, ()))
    row: dict[str, Any] = {"label": found, "mean": story.mean, "pulls": story.pulls, "place": story.place}
    payload = one.study.payload(found)
    more = {} if payload is found else {"payload": payload}
    return reply({**row, **more, "skipped": skipped, "steps": steps, "story": str(story)})


@router.delete("/studies/{name}/arm", **needs(OPERATOR))
def withdraw_arm(request: Request, name: str, label: LabelQuery) -> Response:
    """Take an arm out of the race for good; its open tickets become void."""
    one = served(request, name)
    found = _label(one, label)
    one.study.withdraw(found)
    return reply({"withdrawn": found, "arms": one.study.view().arms})


def _label(one: Served, text: str) -> Label:
    """Return the label that a text means: a study may have numbers."""
    try:
        one.study.payload(text)
    except UnknownLabel:
        if text.removeprefix("-").isascii() and text.removeprefix("-").isdigit() and len(text) <= 17:  # noqa: PLR2004
            one.study.payload(int(text))
            return int(text)
        raise
    return text
