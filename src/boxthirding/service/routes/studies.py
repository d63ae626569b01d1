"""Studies: make, list, look at, describe, pause, resume, finish, delete."""

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from boxthirding.errors import BoxThirdingError
from boxthirding.service import sheets
from boxthirding.service.access import OPERATOR, READER
from boxthirding.service.guard import ANY, OWNER, GuardedRoute, key_of, needs, service_of
from boxthirding.service.limits import LARGE
from boxthirding.service.problems import reply
from boxthirding.service.studies import About, Served, check_about
from boxthirding.service.wire import AboutIn, PolicyIn, StudyIn

router = APIRouter(route_class=GuardedRoute, tags=["studies"])


def served(request: Request, name: str) -> Served:
    """Return the study that a request is about."""
    return service_of(request).studies.get(name)


def shown(one: Served) -> dict[str, Any]:
    """Return a study's view, and what it was made with."""
    study = one.study
    made = {"examples": study.examples, "lease": study.lease, "patience": study.patience}
    seq = study.seq  # first: a stream from there on leaves nothing out
    return {**study.view().as_dict(), **made, "seq": seq, "about": one.about.as_dict()}


@router.get("/studies", **needs(ANY))
def list_studies(request: Request) -> Response:
    """List the studies that the key may see, each with its view; one that cannot be opened says why."""
    key, studies = key_of(request), service_of(request).studies
    return reply({"studies": [_row(request, name) for name in studies.names() if key.covers(name)]})


@router.post("/studies", status_code=201, **needs(OWNER, LARGE))
def make_study(request: Request, body: StudyIn) -> Response:
    """Make a study of arms or of a CSV file, with what raters are shown and with known results."""
    arms, known = body.contents()
    about = body.about.over(About())
    made = service_of(request).studies.new(body.name, arms, about, known=known, **body.settings())
    return reply(shown(made), 201)


@router.get("/studies/{name}", **needs(READER))
def view_study(request: Request, name: str) -> Response:
    """Return all that can be read of a study at one moment; arms are read by pages, what follows by a stream."""
    return reply(shown(served(request, name)))


@router.patch("/studies/{name}", **needs(OPERATOR))
def describe_study(request: Request, name: str, body: AboutIn) -> Response:
    """Change what raters are shown. Results keep the rewards that they were told with."""
    one = served(request, name)
    one.describe(check_about(body.over(one.about)))
    return reply(shown(one))


@router.delete("/studies/{name}", status_code=204, **needs(OWNER))
def delete_study(request: Request, name: str) -> Response:
    """Delete a study with all its results, its keys and its rating links, for good."""
    service_of(request).delete_study(name)
    return Response(status_code=204)


@router.post("/studies/{name}/pause", **needs(OPERATOR))
def pause_study(request: Request, name: str) -> Response:
    """Hand out no tickets until the study is resumed; results are taken."""
    one = served(request, name)
    one.study.pause()
    return reply(shown(one))


@router.post("/studies/{name}/resume", **needs(OPERATOR))
def resume_study(request: Request, name: str) -> Response:
    """Hand out tickets again."""
    one = served(request, name)
    one.study.resume()
    return reply(shown(one))


@router.post("/studies/{name}/finish", **needs(OPERATOR))
def finish_study(request: Request, name: str) -> Response:
    """End a study for good: no more tickets, ever."""
    one = served(request, name)
    one.study.finish()
    return reply(shown(one))


@router.post("/studies/{name}/policy", **needs(OPERATOR))
def use_policy(request: Request, name: str, body: PolicyIn) -> Response:
    """Go on with another policy, which starts from every result that counts."""
    one = served(request, name)
    one.study.use(body.policy)
    return reply(shown(one))


@router.get("/studies/{name}/top", **needs(READER))
def top_arms(request: Request, name: str, k: Annotated[int, Query(ge=1, le=1000)] = 10) -> Response:
    """Return the k best arms so far, best first."""
    return reply({"top": [arm._asdict() for arm in served(request, name).study.top(k)]})


@router.get("/studies/{name}/boxes", **needs(READER))
def boxes(
    request: Request,
    name: str,
    level: Annotated[str | None, Query(pattern=r"^(final|\d{1,4})$")] = None,
    first: Annotated[int, Query(ge=0, le=2**53)] = 0,
    count: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Return the boxes of a level, or of all, each with a page of its arms."""
    wanted = int(level) if level is not None and level != "final" else level
    found = served(request, name).study.boxes(wanted, first, count)
    rows = [{**box._asdict(), "arms": [arm._asdict() for arm in box.arms]} for box in found]
    return reply({"boxes": rows})


@router.get("/studies/{name}/screening", **needs(READER))
def screening(
    request: Request, name: str, share: Annotated[float, Query(gt=0, le=1, allow_inf_nan=False)] = 0.01
) -> Response:
    """Return the chance that an arm of the best `share` is among those that could still be returned."""
    found = served(request, name).study.screening(share)
    return reply({"screening": None if found is None else replace(found).__dict__})


@router.post("/sheets", **needs(OPERATOR, LARGE, "text/csv"))
async def read_sheet(request: Request, rows: Annotated[int, Query(ge=1, le=1000)] = 20) -> Response:
    """Read a CSV file, the raw body: its columns and first rows. Nothing is kept."""
    return reply(sheets.shown(sheets.read(await request.body()), rows))


def _row(request: Request, name: str) -> dict[str, Any]:
    try:
        one = served(request, name)
        return {**one.study.view().as_dict(), "question": one.about.question, "error": None}
    except BoxThirdingError as problem:
        return {"name": name, "status": "unreadable", "error": str(problem)}
