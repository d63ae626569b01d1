"""Replies: JSON, pages from templates, and errors as RFC 9457 problems: what is wrong, and what to do about it."""

import json
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Scope

from boxthirding import errors
from boxthirding.service.validation_errors import format_problems

# The first that fits: what a client can mend is 4xx, what only the server's operator can is 5xx.
_STATUS: Final[dict[type[errors.BoxThirdingError], int]] = {
    errors.UnknownStudy: 404,
    errors.UnknownLabel: 404,
    errors.UnknownTicket: 404,
    errors.TicketRefused: 409,
    errors.CannotAmend: 409,
    errors.StudyFinished: 409,
    errors.StudyDiffers: 409,
    errors.InvalidInput: 422,
    errors.StudyUnavailable: 503,
    errors.ArmsUnavailable: 409,
}

_STUDY: Final = "/api/v1/studies/{name}"

# What a client of the API can do about an error that has advice for programs that call the library.
_ADVICE: Final[dict[type[errors.BoxThirdingError], str]] = {
    errors.AlreadyTold: f"to change it, correct it: POST {_STUDY}/corrections",
    errors.CannotAmend: f"choose a policy that can, such as chase; a study takes another one by POST {_STUDY}/policy",
    errors.NoHeader: "add them as its first line",
    errors.PolicyMissing: f"continue with another policy, which starts from the results: POST {_STUDY}/policy",
    errors.StudyChanged: "give what it was made with, choose another name, or send force: true to take the new one",
    errors.StudyDiffers: f"leave out what the study knows, add new arms by POST {_STUDY}/arms, or choose another name",
    errors.UnknownTicket: f"give the id of a ticket that POST {_STUDY}/tickets has handed out",
}

# What is wrong, and what to do, where the framework itself refuses a request.
_OF_FRAMEWORK: Final = {
    404: ("nothing is at this path", "/openapi.json lists the paths"),
    405: ("this path does not take this method", "/openapi.json lists the methods of each path"),
}


class Refusal(HTTPException):
    """A request that is refused: its status, what is wrong, and what to do."""

    def __init__(self, status: int, detail: str, advice: str = "", **more: Any) -> None:
        super().__init__(status, detail, {})
        self.advice, self.more = advice, more


class TooMany(Refusal):
    """A limit is reached for now."""

    def __init__(self, detail: str, seconds: float) -> None:
        wait = max(1, round(seconds + 0.5))
        super().__init__(429, detail, f"try again in {wait} s")
        self.headers = {"Retry-After": str(wait)}


def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON in plain ASCII: whatever text an arm has, it can be sent."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Response(text, status, headers, media_type="application/json")


def page(template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: object) -> Response:
    """Return a page. A page holds no data of a study: its script asks the public API."""
    text = _templates().get_template(template).render(values)
    return HTMLResponse(text, status, headers={"Cache-Control": "no-cache", **(headers or {})})


async def on_error(request: Request, error: Exception) -> Response:
    """Answer a request that has failed."""
    return refused(error, request.scope)


def refused(error: Exception, scope: Scope) -> Response:
    """Return an error as a response: a page where a browser asked for one, else a problem."""
    headers: Mapping[str, str] = {}
    match error:
        case HTTPException(status_code=status, detail=detail):
            advice, more = (error.advice, error.more) if isinstance(error, Refusal) else ("", {})
            headers = error.headers or {}
            if not scope["path"].startswith("/api/") and "text/html" in Headers(scope=scope).get("accept", ""):
                template = "refused.html" if scope["path"].startswith("/rate/") else "locked.html"
                return page(template, status, headers, code=status, detail=detail, advice=advice)
            if not isinstance(error, Refusal) and status in _OF_FRAMEWORK:
                detail, advice = _OF_FRAMEWORK[status]
                if b"%2f" in scope.get("raw_path", b"").lower():
                    detail, advice = "the path has %2F, but no name on a server has a slash", "choose another name"
            said = _problem(status, detail, advice, **more)
        case RequestValidationError(body=bytes()):
            said = _problem(422, "the body did not come as JSON", "send the header Content-Type: application/json")
        case RequestValidationError():
            rows = format_problems(error.errors(), error.body)
            first = f"{rows[0]['where']} {rows[0]['what']}" if rows else "the request does not fit its description"
            said = _problem(422, first, "/openapi.json describes what is expected", errors=rows)
        case errors.BoxThirdingError():
            said = problem_of(error)
            headers = {"Retry-After": "1"} if error.transient else {}
        case _:
            detail = "the server failed; nothing that was acknowledged is lost"
            said = _problem(500, detail, "tell its operator", unsure=True)
    text = json.dumps(said, separators=(",", ":"))
    return Response(text, said["status"], headers, media_type="application/problem+json")


def problem_of(error: errors.BoxThirdingError) -> dict[str, Any]:
    """Return an error of the library as a problem; `error` names its class, and `python` advises those who call it."""
    status = next((status for kind, status in _STATUS.items() if isinstance(error, kind)), 500)
    advice = error.advice_from(_ADVICE)
    more: dict[str, Any] = {} if advice == error.advice else {"python": error.advice}
    if error.unsure:
        more["unsure"] = True
    return _problem(status, error.problem, advice, error=type(error).__name__, transient=error.transient, **more)


def _problem(status: int, detail: str, advice: str, **more: Any) -> dict[str, Any]:
    said = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    return {**said, **({"advice": advice} if advice else {}), **more}


@cache
def _templates() -> Environment:
    """Return the templates: text is escaped, whatever it holds."""
    loader = PackageLoader("boxthirding.service", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
