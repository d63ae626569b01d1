"""A study as it happens: its boxes or ladder, answer and curves, as its page shows them. No reply has over 300 kB."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from boxthirding.service import response_models as models
from boxthirding.service import summaries
from boxthirding.service.authorization import GuardedRoute, needs, service_of
from boxthirding.service.keys import READER
from boxthirding.service.problems import Refusal, reply
from boxthirding.service.routes.studies import First, Level, OpenStudy, Pulls

router = APIRouter(route_class=GuardedRoute, tags=["live"])


@router.get("/studies/{name}/grid", response_model=models.Grid, **needs(READER))
def grid(
    one: OpenStudy,
    opened: Annotated[
        str,
        Query(alias="open", pattern=r"^(\d{1,4}(,\d{1,4}){0,99})?$", description="Lower levels to show, such as 2,1."),
    ] = "",
) -> Response:
    """Return the boxes by level from the top, with the arms of the upper levels; piles of the discarded.

    Where the policy has no boxes, it is the ladder instead: arms by how many pulls they have, the most on top.
    """
    return reply(summaries.grid(one, frozenset(int(level) for level in opened.split(",") if level)))


@router.get("/studies/{name}/box", response_model=models.BoxPage, **needs(READER))
def box(
    one: OpenStudy,
    level: Level = None,
    deferment: Annotated[str, Query(pattern=r"^(pile|\d{1,2})$")] = "0",
    pulls: Pulls = None,
    first: First = 0,
    count: Annotated[int, Query(ge=1, le=100)] = 50,
) -> Response:
    """Return a page of the arms of a box, of the pile of a level, or of a rung of the ladder."""
    if level is None and pulls is not None:
        return reply(summaries.rung(one, pulls, first, count))
    if level is None or pulls is not None:
        raise Refusal(422, "a box has a level, and a rung of the ladder has pulls", "give one of level and pulls")
    shifted = None if deferment == "pile" else int(deferment)
    return reply(summaries.box(one, level, shifted, first, count))


@router.get("/studies/{name}/answer", response_model=models.Answer, **needs(READER))
def answer(request: Request, one: OpenStudy) -> Response:
    """Return the answer: its interval, since when it is the answer, the next five, and whether it could change."""
    return reply(summaries.answer(one, service_of(request).clock()))


@router.get("/studies/{name}/history", response_model=models.History, **needs(READER))
def history(one: OpenStudy) -> Response:
    """Return the answer over time, thinned; results by time; and how long they took."""
    return reply(summaries.curves(one))
