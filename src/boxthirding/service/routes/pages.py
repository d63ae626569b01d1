"""The page at /, static files, /health and /metrics."""

from importlib import resources

from fastapi import APIRouter, Request
from starlette.responses import Response

from boxthirding.service.guard import ALL, OVERSEER, GuardedRoute, needs, service_of
from boxthirding.service.problems import Refusal, reply

router = APIRouter(route_class=GuardedRoute, tags=["server"])

_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@router.get("/", include_in_schema=False, **needs(ALL))
def index() -> Response:
    """Return the page at /."""
    return _file("index.html")


@router.get("/static/{file}", include_in_schema=False, **needs(ALL))
def static(file: str) -> Response:
    """Return a file of ours."""
    return _file(file)


@router.get("/health", **needs(ALL))
def health(request: Request) -> Response:
    """Tell whether the server and its database answer."""
    service_of(request).records.count("key")
    return reply({"status": "ok"})


@router.get("/metrics", **needs(OVERSEER))
def metrics(request: Request) -> Response:
    """Return what is counted, for Prometheus."""
    return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4")


def _file(name: str) -> Response:
    kind = next((kind for end, kind in _TYPES.items() if name.endswith(end)), None)
    found = resources.files("boxthirding.service").joinpath("static", name)
    if kind is None or "/" in name or "\\" in name or name.startswith(".") or not found.is_file():
        raise Refusal(404, f"there is no file {name[:100]!r} here")
    return Response(found.read_bytes(), media_type=kind, headers={"Cache-Control": "no-cache"})
