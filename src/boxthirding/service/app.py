"""The web application over a service."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from boxthirding.errors import BoxThirdingError
from boxthirding.service.middleware import API, Shield
from boxthirding.service.problems import on_invalid, on_library_error, problem, problem_reply
from boxthirding.service.response_models import Problem
from boxthirding.service.routes import arms, live, pages, plans, rating, reading, studies, tickets
from boxthirding.service.routes import keys as access
from boxthirding.service.service import Service
from boxthirding.service.templates import refusal

ROUTERS: Final = (
    *[(API, part.router) for part in (rating, tickets, studies, live, arms, reading, access, plans)],
    ("", pages.router),
)
"""All endpoints: what their paths begin with, and the rest; what is called most first, as they are tried in order."""

_ABOUT = (
    "Find the best of many noisy options: workers come with a key, raters with a link. Errors are RFC 9457 problems. "
    "`x-who` says which credential an operation needs."
)

_PROBLEM: Final[dict[str, Any]] = {
    "description": "A problem",
    "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
}


def create_app(service: Service) -> FastAPI:
    """Return the application; it closes the service when it ends."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="boxthirding", version="1", description=_ABOUT, docs_url=None, redoc_url=None, lifespan=lifespan
    )
    app.state.service = service
    for prefix, router in ROUTERS:
        app.include_router(router, prefix=prefix, responses={"default": _PROBLEM})
    app.add_exception_handler(HTTPException, _on_refusal)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(BoxThirdingError, on_library_error)
    app.add_exception_handler(Exception, _on_failure)
    app.add_middleware(_shield(service))
    return app


def _shield(service: Service) -> Any:
    return lambda app: Shield(app, service)


async def _on_refusal(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    return refusal(error, request.url.path, request.headers.get("accept", ""))


async def _on_failure(_: Request, __: Exception) -> Response:
    return problem_reply(problem(500, "the server failed; nothing that was acknowledged is lost", "tell its operator"))
