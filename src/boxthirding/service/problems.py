"""Errors as RFC 9457 problems: what is wrong, and what to do about it."""

import json
from collections.abc import Mapping
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from boxthirding import errors

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

_SHOWN: Final = 20  # places that do not fit
_LONGEST: Final = 300  # characters of what is wrong with one


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
    """Return an error of the library as a problem; `error` names its class, for programs."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    return problem(status, error.problem, error.advice, error=type(error).__name__, transient=error.transient)


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
    advice, more = (error.advice, error.more) if isinstance(error, Refusal) else ("", {})
    return problem_reply(problem(error.status_code, error.detail, advice, **more), error.headers)


async def on_refusal(_: Request, error: Exception) -> Response:
    """Answer a refusal, ours or the framework's."""
    if not isinstance(error, HTTPException):
        raise error
    return refused(error)


async def on_invalid(_: Request, error: Exception) -> Response:
    """Answer a body or a parameter that does not fit its description: each place, and what is wrong there."""
    if not isinstance(error, RequestValidationError):
        raise error
    rows = [
        {"where": ".".join(map(str, row["loc"])), "what": str(row["msg"])[:_LONGEST]} for row in error.errors()[:_SHOWN]
    ]
    first = f"{rows[0]['where']}: {rows[0]['what']}" if rows else "the request does not fit its description"
    return problem_reply(problem(422, first, "/openapi.json describes what is expected", errors=rows))


async def on_library_error(_: Request, error: Exception) -> Response:
    """Answer an error of the library."""
    if not isinstance(error, errors.BoxThirdingError):
        raise error
    said = problem_of(error)
    return problem_reply(said, {"Retry-After": "1"} if error.transient else None)
