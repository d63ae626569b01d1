"""Studies: make, list, look at, describe, pause, resume, finish, delete."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from boxthirding.errors import BoxThirdingError, UnknownStudy
from boxthirding.service import pictures, summaries, uploaded_arms
from boxthirding.service import response_models as models
from boxthirding.service.authorization import ANY, OWNER, GuardedRoute, key_of, needs, service_of
from boxthirding.service.keys import OPERATOR, READER, WORKER
from boxthirding.service.limits import LARGE
from boxthirding.service.problems import Refusal, problem_of, reply
from boxthirding.service.rating import check_arms
from boxthirding.service.reply_size import fits, leading, paged, part
from boxthirding.service.request_models import AboutIn, ExamplesIn, OpenIn, PolicyIn, StudyIn
from boxthirding.service.studies import About, Served, check_about, check_policy
from boxthirding.session import Box, Rung
from boxthirding.session.values import as_plain
from boxthirding.study import Study
from boxthirding.study.transactions import as_unsure

router = APIRouter(route_class=GuardedRoute, tags=["studies"])

T = TypeVar("T")


async def open_study(request: Request, name: str) -> Served:
    """Return the study of this name; one that is not open yet is opened in a thread."""
    studies = service_of(request).studies
    found = studies.at_hand(name)
    return await run_in_threadpool(studies.get, name) if found is None else found


OpenStudy = Annotated[Served, Depends(open_study)]  # the study that the path of a request names

First = Annotated[int, Query(ge=0, le=2**53)]
Count = Annotated[int, Query(ge=1, le=1000)]
Level = Annotated[int | None, Query(ge=0, le=9_999)]
Pulls = Annotated[int | None, Query(ge=1, le=2**53, description="Only the rung of the arms with these pulls.")]

Brief = Annotated[
    bool, Query(description="Only what the operator's page shows: no reply is large, and an arm goes by its `key`.")
]


def study_row(one: Served, *, as_brief: bool = False) -> dict[str, Any]:
    """Return a study's view, and what it was made with."""
    if as_brief:
        return summaries.view(one)
    study = one.study
    made = {"examples": study.examples, "lease": study.lease, "patience": study.patience}
    seq = study.seq  # first: a stream from there on leaves nothing out
    return {**study.view().as_dict(), **made, "seq": seq, "about": one.about.as_dict()}


def after_change(read: Callable[[], T]) -> T:
    """Read what came of a change; an error says that the request may have been carried out, so none repeats it."""
    try:
        return read()
    except BoxThirdingError as error:
        raise as_unsure(error) from error.__cause__


def changed(one: Served, status: int = 200, *, as_brief: bool = False) -> Response:
    """Return the row of a study that was changed."""
    return reply(after_change(partial(study_row, one, as_brief=as_brief)), status)


def answer(study: Study) -> dict[str, Any]:
    """Return how far a study is after a change, and its answer: a glance."""
    glance = after_change(study.glance)
    best = None if glance.recommendation is None else glance.recommendation._asdict()
    return {**glance._asdict(), "recommendation": best}


@router.get("/studies", response_model=models.Studies, **needs(ANY))
def list_studies(request: Request, first: First = 0, *, brief: Brief = False) -> Response:
    """List the studies that the key may see, each with its view; one that cannot be opened says why.

    A reply has at most 300 kB, so perhaps not all of them; `next` is the `first` of the rest.
    """
    key = key_of(request)
    names = [name for name in service_of(request).studies.names() if key.covers(name)]
    rows = (_row(request, name, as_brief=brief) for name in names[first:])
    return reply(part("studies", rows, first, len(names)))


@router.post("/studies", response_model=models.Study, status_code=201, **needs(OWNER, LARGE))
def make_study(request: Request, body: StudyIn, *, brief: Brief = False) -> Response:
    """Make a study of arms or of a CSV file, with what raters are shown and with known results."""
    arms, known = body.contents()
    about, records = body.about.over(About()), service_of(request).records
    check_arms(arms, records, for_raters=True)
    pictures.check(records, [about.picture])
    made = service_of(request).studies.new(body.name, arms, about, known=known, **body.settings())
    return changed(made, 201, as_brief=brief)


@router.get("/studies/{name}", response_model=models.Study, **needs(READER))
def view_study(one: OpenStudy, *, brief: Brief = False) -> Response:
    """Return all that can be read of a study at one moment; arms are read by pages, what follows by a stream."""
    return reply(study_row(one, as_brief=brief))


@router.put("/studies/{name}", response_model=models.Study, **needs(WORKER, LARGE))
def keep_study(request: Request, name: str, body: OpenIn) -> Response:
    """Make a study unless it is there; then refuse what differs from it. To make or change one takes an operator."""
    studies, key = service_of(request).studies, key_of(request)
    is_there = name in studies.names()
    if not is_there and body.arms is None:
        raise UnknownStudy(f"there is no study {name!r} here", advice="give arms to make it, or the name of another")
    if not is_there and not (key.may(OPERATOR) and key.study is None):
        raise Refusal(
            403,
            f"there is no study {name!r} here, and this key may not make one: it is of scope {key.scope}",
            "make the study with the key of an operator of all studies, or give the name of another",
        )
    settings = body.settings()
    if is_there and (settings["known"] or body.force) and not key.may(OPERATOR):
        what = "known results are added" if settings["known"] else "a study is changed"
        raise Refusal(403, f"{what} with an operator's key, and this one is of scope {key.scope}", "leave that out")
    return changed(studies.keep(name, body.details, force=body.force, **settings), 200 if is_there else 201)


@router.patch("/studies/{name}", response_model=models.Study, **needs(OPERATOR))
def describe_study(request: Request, one: OpenStudy, body: AboutIn, *, brief: Brief = False) -> Response:
    """Change what raters are shown. Once there are ratings, the rewards of the scale stay; words may change."""
    pictures.check(service_of(request).records, [body.picture or None])
    one.describe(check_about(body.over(one.about)))
    return changed(one, as_brief=brief)


@router.delete("/studies/{name}", status_code=204, **needs(OWNER))
def delete_study(request: Request, name: str) -> Response:
    """Delete a study permanently, with all its results, its keys and its rating links."""
    service_of(request).delete_study(name)
    return Response(status_code=204)


@router.post("/studies/{name}/pause", response_model=models.Study, **needs(OPERATOR))
def pause_study(one: OpenStudy, *, brief: Brief = False) -> Response:
    """Hand out no tickets until the study is resumed; results are taken."""
    one.study.pause()
    return changed(one, as_brief=brief)


@router.post("/studies/{name}/resume", response_model=models.Study, **needs(OPERATOR))
def resume_study(one: OpenStudy, *, brief: Brief = False) -> Response:
    """Hand out tickets again."""
    one.study.resume()
    return changed(one, as_brief=brief)


@router.post("/studies/{name}/finish", response_model=models.Study, **needs(OPERATOR))
def finish_study(one: OpenStudy, *, brief: Brief = False) -> Response:
    """Finish a study: it issues no more tickets, and its answer is final.

    Results and ratings that still arrive, failures, corrections and exclusions are refused. This cannot be undone.
    """
    one.study.finish()
    return changed(one, as_brief=brief)


@router.post("/studies/{name}/policy", response_model=models.Study, **needs(OPERATOR))
def use_policy(one: OpenStudy, body: PolicyIn) -> Response:
    """Go on with another policy, which starts from every result that counts."""
    check_policy(body.policy)
    one.study.use(body.policy)
    return changed(one)


@router.post("/studies/{name}/examples", response_model=models.Examples, **needs(WORKER, LARGE))
def pair_examples(request: Request, one: OpenStudy, body: ExamplesIn) -> Response:
    """Set the examples the first time; later, reject other ones. The reply has, by pull, which one it sees.

    To let other examples be those of the study, with `force`, takes an operator.
    """
    if body.force and not key_of(request).may(OPERATOR):
        scope = key_of(request).scope
        problem = f"a study is changed with an operator's key, and this one is of scope {scope}"
        raise Refusal(403, problem, "leave force out")
    study = one.study
    return reply({"order": study.pair(body.contents(), body.order, force=body.force), **answer(study)})


@router.get("/studies/{name}/top", response_model=models.Top, **needs(READER))
def top_arms(one: OpenStudy, k: Count = 10, first: First = 0) -> Response:
    """Return the k best arms so far, best first, or those after `first` of them.

    A reply has at most 300 kB, so perhaps fewer than k arms; `next` is the `first` of the rest.
    """
    found = one.study.top(first + k)[first:]
    return reply(paged("top", as_plain(found), first, k))


@router.get("/studies/{name}/boxes", response_model=models.Boxes, **needs(READER))
def boxes(one: OpenStudy, level: Level = None, first: First = 0, count: Count = 100) -> Response:
    """Return the boxes of a level, or of all, each with a page of its arms.

    Pages are shortened until the reply has at most 300 kB; `next` is where the next begin. Where one arm of each box is
    too much, the lowest boxes come without arms: name their level.
    """
    return reply(_shortened("boxes", one.study.boxes(level, first, count), first, count))


@router.get("/studies/{name}/ladder", response_model=models.Ladder, **needs(READER))
def ladder(one: OpenStudy, pulls: Pulls = None, first: First = 0, count: Count = 100) -> Response:
    """Return the arms by how many pulls they have: each rung, or the one of some pulls, with a page of its arms.

    Pages are shortened as those of boxes are; where one arm of each rung is too much, the lowest come without arms.
    """
    return reply(_shortened("ladder", one.study.ladder(pulls, first, count), first, count))


@router.get("/studies/{name}/spread", response_model=models.Spread, **needs(READER))
def spread(one: OpenStudy, k: Count = 10) -> Response:
    """Return how far results lie from the mean of their arm: over all arms, and of the k best.

    A reply has at most 300 kB, so perhaps fewer than k arms.
    """
    found = one.study.spread(arm.label for arm in one.study.top(k))
    rows = ({"label": label, **moments._asdict()} for label, moments in found.arms.items())
    answers = None if found.answers is None else sorted(found.answers)
    return reply({**found._asdict(), "answers": answers, "arms": leading(rows)})


@router.get("/studies/{name}/difficulties", response_model=models.Difficulties, **needs(READER))
def difficulties(one: OpenStudy, first: First = 0, count: Count = 100) -> Response:
    """Return a page of how hard the examples are that have a result, in their order.

    A page has at most 300 kB, so perhaps fewer than `count`; `next` is where the next one begins.
    """
    rows = [row._asdict() for row in one.study.difficulties()[first : first + count]]
    return reply(paged("difficulties", rows, first, count))


@router.get("/studies/{name}/screening", response_model=models.Screening, **needs(READER))
def screening(one: OpenStudy, share: Annotated[float, Query(gt=0, le=1, allow_inf_nan=False)] = 0.01) -> Response:
    """Return the chance that an arm of the best `share` is among those that could still be returned."""
    found = one.study.screening(share)
    return reply({"screening": as_plain(found)})


@router.post("/sheets", response_model=models.Sheet, **needs(OPERATOR, LARGE, takes="text/csv"))
async def read_sheet(request: Request, rows: Annotated[int, Query(ge=1, le=1000)] = 20) -> Response:
    """Read a CSV file, the raw body: its columns and first rows. Nothing is kept."""
    body = await request.body()
    return await run_in_threadpool(lambda: reply(uploaded_arms.preview(uploaded_arms.read(body), rows)))


def _shortened(name: str, found: Sequence[Box | Rung], first: int, count: int) -> dict[str, Any]:
    """Return boxes or rungs with so many of their arms that the reply is not too large, and where the next begin."""
    rows: list[dict[str, Any]] = as_plain(found)
    while count > 1 and not fits(rows):
        count //= 2
        rows = [{**row, "arms": row["arms"][:count]} for row in rows]
    for row in rows:  # from the lowest up
        if fits(rows):
            break
        row["arms"] = []
    is_last = all(one.size <= first + count for one in found)
    return {name: rows, "next": None if is_last else first + count}


def _row(request: Request, name: str, *, as_brief: bool) -> dict[str, Any]:
    try:
        one = service_of(request).studies.get(name)
        if as_brief:
            return summaries.row(one)
        return {**one.study.view().as_dict(), "question": one.about.question, "error": None}
    except BoxThirdingError as problem:
        said = problem_of(problem)
        error = "; ".join(filter(None, (said["detail"], said.get("advice"))))
        return {"name": name, "status": "unreadable", "error": error}
