"""Raters, events and exports: what happened."""

import statistics
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.sse import EventSourceResponse
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from boxthirding.service import exports
from boxthirding.service import response_models as models
from boxthirding.service.authorization import GuardedRoute, key_of, needs, service_of
from boxthirding.service.keys import READER
from boxthirding.service.problems import Refusal, TooMany, reply
from boxthirding.service.rater_stats import unusual
from boxthirding.service.reply_size import leading, part
from boxthirding.service.routes.studies import Count, First, OpenStudy
from boxthirding.service.service import Service
from boxthirding.service.streams import event_row, page
from boxthirding.storage.server_records import picture_of

router = APIRouter(route_class=GuardedRoute, tags=["what happened"])

Only = Literal["unusual", "excluded"] | None
After = Annotated[int, Query(ge=0, le=2**53, description="The number of the last event that is known already.")]


@router.get("/studies/{name}/raters", response_model=models.Raters, **needs(READER))
def raters(request: Request, one: OpenStudy, first: First = 0, count: Count = 100, only: Only = None) -> Response:
    """Return a page of the raters and workers who told results, the latest first, and what is unusual about them.

    A page has at most 300 kB, so perhaps fewer raters than `count`; `next` is where the next one begins.
    """
    links = service_of(request).links
    view = one.study.view()
    everyone = one.tally.all_holders()
    medians = [told.median for _, told in everyone if told.median is not None]
    typical = statistics.median(medians) if medians else None
    wanted = [
        (holder, told)
        for holder, told in everyone
        if only is None or (holder in view.excluded if only == "excluded" else any(unusual(told, typical)))
    ]
    rows = (
        {
            "holder": holder,
            "told": told.told,
            "skipped": told.skipped,
            "open": view.holders.get(holder, 0),
            "median_seconds": told.median,
            "same_answer": told.same,
            "first": told.first,
            "last": told.last,
            "excluded": holder in view.excluded,
            "unusual": list(unusual(told, typical)),
            "claims": links.claims_of(holder),
        }
        for holder, told in wanted[first : first + count]
    )
    minutes = [{"minute": minute * 60, "results": results} for minute, results in one.tally.pace.minutes()]
    counts = {"n_raters": len(everyone), "n_active": len(one.active()), "n_found": len(wanted)}
    return reply(part("raters", rows, first, len(wanted), {**counts, "median_seconds": typical, "minutes": minutes}))


@router.get("/studies/{name}/events", response_model=models.Events, **needs(READER))
def events(one: OpenStudy, after: After = 0, count: Count = 100) -> Response:
    """Return a page of what happened, in order; `next` is the `after` of the page that follows.

    A page has at most 300 kB, so perhaps fewer events than `count`; the last page has none.
    """
    found = leading(map(event_row, page(one.study, after, count)))
    return reply({"events": found, "next": found[-1]["seq"] if found else after})


@router.get("/studies/{name}/stream", **needs(READER, sends="text/event-stream"))
def stream(
    request: Request,
    one: OpenStudy,
    after: After = 0,
    last_event_id: Annotated[str | None, Header()] = None,
    *,
    brief: Annotated[bool, Query(description="Say how far the journal is, and not what happened.")] = False,
) -> Response:
    """Stream what happens, as server-sent events; a browser resumes automatically with Last-Event-ID.

    Events come at most twice a second, together. A message of a brief stream is `{"seq": 1234}`, the number of the last
    event, for a page that reads again what it shows.
    """
    if last_event_id is not None:
        if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= 16):  # noqa: PLR2004
            said = f"Last-Event-ID is {last_event_id[:40]!r}, but must be the number of an event"
            raise Refusal(422, said, "leave it out to hear all events")
        after = int(last_event_id)
    service = service_of(request)
    heard = one.announcer.stream(after, _validity(request, service), brief=brief)
    return _Counted(heard, service, key_of(request).id)


@router.get("/studies/{name}/results.csv", **needs(READER, sends="text/csv"))
def results_csv(name: str, one: OpenStudy) -> Response:
    """Export every result: time, rater, arm, answer, reward, seconds."""
    return _download(f"{name}-results.csv", "text/csv", exports.results(one.study, one.about))


@router.get("/studies/{name}/arms.csv", **needs(READER, sends="text/csv"))
def arms_csv(name: str, one: OpenStudy) -> Response:
    """Export a summary of every arm that was tried, in the columns of the caption-contest data."""
    return _download(f"{name}-arms.csv", "text/csv", exports.arms(one.study, one.about))


@router.get("/studies/{name}/journal.jsonl", **needs(READER, sends="application/x-ndjson"))
def journal_jsonl(name: str, one: OpenStudy) -> Response:
    """Export the journal: every event as a JSON object, one a line."""
    return _download(f"{name}.jsonl", "application/x-ndjson", exports.journal(one.study))


@router.get("/studies/{name}/report.html", **needs(READER, sends="text/html"))
def report_html(request: Request, name: str, one: OpenStudy) -> Response:
    """Export a page to hand on that needs no network, as `boxthirding study report` writes it."""
    from boxthirding.find.report import study_page  # noqa: PLC0415  # loaded when it is needed

    page = study_page(one.study, partial(picture_of, service_of(request).records))
    return _download(f"{name}-report.html", "text/html", iter([page.encode("utf-8", "replace")]))


class _Counted(EventSourceResponse):
    """A stream that counts among those of its key until it has ended; refused, if it is one too many.

    Looking and counting are one step in the event loop: of many streams of the same moment none is overlooked.
    """

    def __init__(self, heard: AsyncIterator[bytes], service: Service, key: str) -> None:
        super().__init__(heard)
        self._service, self._key = service, key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the stream."""
        there, most = self._service.streams, self._service.options.limits.streams
        if there[self._key] >= most:
            raise TooMany(f"a key may have {most} event streams open, and this one has", 60)
        there[self._key] += 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            there[self._key] -= 1


def _validity(request: Request, service: Service) -> Callable[[], bool]:
    """Return what tells whether the credential of a request still lets it in."""
    session = request.scope.get("boxthirding.session")
    secret = session or request.headers.get("authorization", "").partition(" ")[2].strip()

    def is_valid() -> bool:
        held = service.access.find(secret, is_session=session is not None, at_hand=True)
        return held is not None and not service.is_stopping()

    return is_valid


def _download(name: str, kind: str, lines: Iterator[bytes]) -> Response:
    plain = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "_" for letter in name)
    return StreamingResponse(lines, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{plain}"'})
