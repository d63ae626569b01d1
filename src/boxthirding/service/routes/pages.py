"""The operator's pages, static files, /health and /metrics."""

from importlib import resources

from fastapi import APIRouter, Request
from starlette.responses import Response

from boxthirding.service import response_models as models
from boxthirding.service.authorization import ALL, LINK, OVERSEER, OWNER, GuardedRoute, needs, service_of
from boxthirding.service.keys import READER
from boxthirding.service.problems import Refusal, page, reply

router = APIRouter(route_class=GuardedRoute, tags=["server"])

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_OURS = "boxthirding.service"
_ELSEWHERE = {"numbers.js": "boxthirding.find"}  # reports have it too
_MORE = {"rate-worker.js": {"Service-Worker-Allowed": "/rate/"}}  # pages that it may serve, though it lies elsewhere


@router.get("/", include_in_schema=False, **needs(ALL))
def index(request: Request) -> Response:
    """Return the page at /: where one signs in, or what one sees then."""
    return page("index.html", is_in=request.scope.get("boxthirding.who") is not None)


@router.get("/new", include_in_schema=False, **needs(OWNER))
def new_study() -> Response:
    """Return the page on which a study is made."""
    return page("new.html")


@router.get("/studies/{name}", include_in_schema=False, **needs(READER))
def study_page(name: str) -> Response:  # noqa: ARG001  # the guard has looked at it
    """Return the page of a study; its script finds the name in the address."""
    return page("study.html")


@router.get("/rate/{link}", include_in_schema=False, **needs(LINK))
def rate(link: str) -> Response:  # noqa: ARG001  # the link was looked at before
    """Return the rating page."""
    return page("rate.html")


@router.get("/static/{file}", include_in_schema=False, **needs(ALL))
def static(file: str) -> Response:
    """Return a file of ours."""
    return _file(file)


@router.get("/health", response_model=models.Health, **needs(ALL))
def health(request: Request) -> Response:
    """Return whether the server and its database answer."""
    service_of(request).records.count("key")
    return reply({"status": "ok"})


@router.get("/metrics", **needs(OVERSEER, sends="text/plain"))
def metrics(request: Request) -> Response:
    """Return what is counted, for Prometheus."""
    return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4")


def _file(name: str) -> Response:
    kind = next((kind for end, kind in _TYPES.items() if name.endswith(end)), None)
    folder = resources.files(_ELSEWHERE[name]) if name in _ELSEWHERE else resources.files(_OURS).joinpath("static")
    found = folder.joinpath(name)
    if kind is None or "/" in name or "\\" in name or name.startswith(".") or not found.is_file():
        raise Refusal(404, f"there is no file {name[:100]!r} here")
    headers = {"Cache-Control": "no-cache", **_MORE.get(name, {})}
    return Response(found.read_bytes(), media_type=kind, headers=headers)
