"""What the rating page calls: the link is in the path, the rater is a cookie."""

from collections.abc import Iterable

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from boxthirding.service import pictures
from boxthirding.service import response_models as models
from boxthirding.service.authorization import LINK, GuardedRoute, link_of, needs, rater_of, service_of
from boxthirding.service.batches import Rated
from boxthirding.service.links import Rater
from boxthirding.service.middleware import cookie_of, rater_cookie
from boxthirding.service.problems import reply
from boxthirding.service.rating import Rating
from boxthirding.service.request_models import NextIn, RatingIn, RatingsIn, RerateIn, SittingIn, SkipIn
from boxthirding.service.routes.keys import is_secure, picture_reply
from boxthirding.service.routes.studies import open_study

router = APIRouter(route_class=GuardedRoute, tags=["rating"], prefix="/rating/{link}")

_YEAR = 365 * 86_400


@router.post("/sitting", response_model=models.Sitting, **needs(LINK))
def start(request: Request, link: str, body: SittingIn) -> Response:  # noqa: ARG001  # the link was looked at before
    """Open or go on: what the page shows, and how far the rater is. A new rater is given a cookie, and no place yet."""
    service, found = service_of(request), link_of(request)
    rater = request.scope.get("boxthirding.rater")
    if not isinstance(rater, Rater) or body.id not in (None, rater.claims.get("id")):  # the next person at a browser
        name = "" if body.id is None else rater_cookie(found, service.links.rater_id(found, body.id))
        rater = service.links.rater(found, cookie_of(request.headers, name))  # who may have been here before
    if rater is None:
        rater = service.links.start(found, body.claims(), body.signature)
    response, cookie = reply(_rating(request, rater).sitting()), service.links.cookie(rater)
    for name in (rater_cookie(found, rater.id), rater_cookie(found)):  # the last is enough for one who rates alone
        if cookie_of(request.headers, name) != cookie:
            response.set_cookie(name, cookie, _YEAR, httponly=True, samesite="lax", secure=is_secure(request))
    return response


@router.post("/next", response_model=models.Next, **needs(LINK))
async def next_arms(request: Request, link: str, body: NextIn) -> Response:  # noqa: ARG001
    """Return the arms that the rater has and has not rated yet, up to as many as the page wants.

    With the first of them a rater takes one of the places of the link.
    """
    _, comes_next = await _rate(request, (), body.want)
    return reply(comes_next)


@router.post("/ratings", response_model=models.Rated, **needs(LINK))
async def rate(request: Request, link: str, body: RatingsIn) -> Response:  # noqa: ARG001
    """Take ratings; the same one twice counts once. The reply has the arms that come next."""
    outcomes, comes_next = await _rate(request, body.ratings, body.want)
    return reply({"ratings": outcomes, **comes_next})


@router.post("/skips", response_model=models.Next, **needs(LINK))
async def skip(request: Request, link: str, body: SkipIn) -> Response:  # noqa: ARG001
    """Skip an arm: another rater is given it, and this one never again. The reply has the arms that come next."""
    await run_in_threadpool(_rating(request, rater_of(request)).skip, body.ticket)
    _, comes_next = await _rate(request, (), body.want)
    return reply(comes_next)


@router.post("/corrections", response_model=models.Corrected, **needs(LINK))
def correct(request: Request, link: str, body: RerateIn) -> Response:  # noqa: ARG001
    """Replace the rater's last rating."""
    rating = _rating(request, rater_of(request))
    rating.correct(body.ticket, body.answer)
    return reply({"ticket": body.ticket, **rating.progress()})


@router.get("/pictures/{id}", **needs(LINK, sends="image/png"))
def picture(request: Request, link: str, id: str) -> Response:  # noqa: A002, ARG001  # the names in the path
    """Return a picture."""
    return picture_reply(pictures.find(service_of(request).records, id))


async def _rate(request: Request, ratings: Iterable[RatingIn], want: int) -> Rated:
    service, rater = service_of(request), rater_of(request)
    if not service.links.has_begun(rater):
        await run_in_threadpool(service.links.begin, link_of(request), rater)
    served = await open_study(request, link_of(request).study)
    return await served.batches.serve(rater.holder, Rating(served, rater, service.clock).steps(ratings, want))


def _rating(request: Request, rater: Rater) -> Rating:
    service = service_of(request)
    return Rating(service.studies.get(link_of(request).study), rater, service.clock)
