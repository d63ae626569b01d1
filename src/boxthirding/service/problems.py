"""Errors as RFC 9457 problems: what is wrong, and what to do about it."""

import json
from collections.abc import Mapping
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from boxthirding import errors
from boxthirding.service.advice import advice_on
from boxthirding.service.validation_errors import misfits

_STATUS: Final[tuple[tuple[type[errors.BoxThirdingError], int], ...]] = (
    (errors.UnknownStudy, 404),
    (errors.UnknownLabel, 404),
    (errors.UnknownTicket, 404),
    (errors.TicketRefused, 409),
    (errors.CannotAmend, 409),
    (errors.StudyFinished, 409),
    (errors.StudyDiffers, 409),
    (errors.InvalidInput, 422),
    (errors.StudyUnavailable, 503),
    (errors.ArmsUnavailable, 409),
)
"""The first that fits: what a client can mend is 4xx, what only the server's operator can is 5xx."""

_TITLES: Final = {
    400: "The request cannot be read",
    401: "A key is needed",
    403: "This may not be done with this key",
    404: "There is no such thing here",
    405: "This cannot be done here",
    409: "This does not fit what is there",
    410: "This is over",
    413: "The body is too large",
    415: "The body is of another kind than expected",
    421: "This server does not go by that name",
    422: "A value breaks a rule",
    429: "Too many requests",
    431: "The headers are too large",
    500: "The server failed",
    503: "The database cannot be reached",
}

_OF_FRAMEWORK: Final = {
    404: ("nothing is at this path", "/openapi.json lists the paths"),
    405: ("this path does not take this method", "/openapi.json lists the methods of each path"),
}
"""What is wrong, and what to do, where the framework itself refuses a request."""


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


def problem(status: int, detail: str, advice: str = "", **more: Any) -> dict[str, Any]:
    """Return a problem as JSON has it."""
    said = {"type": "about:blank", "title": _TITLES.get(status, "The request failed"), "status": status}
    return {**said, "detail": detail, **({"advice": advice} if advice else {}), **more}


def problem_of(error: errors.BoxThirdingError) -> dict[str, Any]:
    """Return an error of the library as a problem; `error` names its class, and `python` advises those who call it."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    advice = advice_on(error)
    more = {} if advice == error.advice else {"python": error.advice}
    return problem(status, error.problem, advice, error=type(error).__name__, transient=error.transient, **more)


def reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as JSON in plain ASCII: whatever text an arm has, it can be sent."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Response(text, status, headers, media_type="application/json")


def problem_reply(said: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Response:
    """Return a problem as a response."""
    text = json.dumps(said, separators=(",", ":"))
    return Response(text, said["status"], headers, media_type="application/problem+json")


def refused(error: HTTPException) -> Response:
    """Return a refusal as a response."""
    if isinstance(error, Refusal):
        return problem_reply(problem(error.status_code, error.detail, error.advice, **error.more), error.headers)
    detail = _OF_FRAMEWORK.get(error.status_code)
    said = problem(error.status_code, error.detail) if detail is None else problem(error.status_code, *detail)
    return problem_reply(said, error.headers)


async def on_refusal(_: Request, error: Exception) -> Response:
    """Answer a refusal, ours or the framework's."""
    if not isinstance(error, HTTPException):
        raise error
    return refused(error)


async def on_invalid(_: Request, error: Exception) -> Response:
    """Answer a body or a parameter that does not fit its description: each place, and what is wrong there."""
    if not isinstance(error, RequestValidationError):
        raise error
    if isinstance(error.body, bytes):
        detail = "the body did not come as JSON"
        return problem_reply(problem(422, detail, "send it with the header Content-Type: application/json"))
    rows = misfits(error.errors(), error.body)
    first = f"{rows[0]['where']} {rows[0]['what']}" if rows else "the request does not fit its description"
    return problem_reply(problem(422, first, "/openapi.json describes what is expected", errors=rows))


async def on_library_error(_: Request, error: Exception) -> Response:
    """Answer an error of the library."""
    if not isinstance(error, errors.BoxThirdingError):
        raise error
    said = problem_of(error)
    return problem_reply(said, {"Retry-After": "1"} if error.transient else None)
