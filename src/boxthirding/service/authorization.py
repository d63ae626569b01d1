"""Each route says who may call it and how large a body may be; both are checked before the body is read."""

import json
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from boxthirding.errors import BoxThirdingError
from boxthirding.service.idempotency import KeptReply, name_of
from boxthirding.service.keys import OPERATOR, READER, Key
from boxthirding.service.limits import SMALL, limited, too_large
from boxthirding.service.links import Link, Rater
from boxthirding.service.problems import Refusal, refused
from boxthirding.service.service import Service

ALL: Final = "all"  # no credential is needed
LINK: Final = "link"  # a rating link is needed
ANY: Final = "any"  # any key will do; the route shows what the key may see
OVERSEER: Final = "reader of all"  # a key of all studies is needed
OWNER: Final = "owner"  # a key of an operator of all studies is needed
_OF_ALL: Final = {OVERSEER: READER, OWNER: OPERATOR}

_WHO = "x-who"
_BODY = "x-body"
_SECRET = "x-secret"  # noqa: S105  # not one itself

Handle = Callable[[Request], Coroutine[Any, Any, Response]]


def needs(
    who: str, body: int = SMALL, *, takes: str | None = None, sends: str | None = None, secret: bool = False
) -> dict[str, Any]:
    """Return what a route declares: who may call it, the largest body, the type of what is not JSON.

    A reply with a `secret` is never stored.
    """
    route: dict[str, Any] = {"openapi_extra": {_WHO: who, _BODY: body, _SECRET: secret}}
    if takes is not None:
        example = {"example": "caption,score\nWrong floor.,0.5\n"} if takes == "text/csv" else {}
        route["openapi_extra"]["requestBody"] = {"required": True, "content": {takes: {**_raw(takes), **example}}}
    if sends is not None:
        route |= {"response_class": Response, "responses": {200: {"content": {sends: _raw(sends)}}}}
    return route


def _raw(kind: str) -> dict[str, Any]:
    """Return the description of content that is not JSON."""
    return {"schema": {"type": "string"} if kind.startswith("text/") else {"type": "string", "format": "binary"}}


def service_of(request: Request) -> Service:
    """Return what requests share."""
    service: Service = request.app.state.service
    return service


def key_of(request: Request) -> Key:
    """Return the key of a request to a route that needs one."""
    key = request.scope["boxthirding.who"]
    if not isinstance(key, Key):
        raise Refusal(401, "no key came with the request", "send Authorization: Bearer KEY")
    return key


def rater_of(request: Request) -> Rater:
    """Return the rater of a request to a route that needs one."""
    rater = request.scope.get("boxthirding.rater")
    if not isinstance(rater, Rater):
        advice = "allow cookies for this page, and open the rating link again"
        raise Refusal(403, "no rater's cookie came with the request", advice, reason="cookie")
    return rater


def link_of(request: Request) -> Link:
    """Return the rating link of a request to a route that needs one."""
    link = request.scope["boxthirding.who"]
    if not isinstance(link, Link):
        raise Refusal(403, "no valid rating link came with the request", "use the link as you were sent it")
    return link


def check(who: str, held: object, study: str | None) -> None:
    """Raise if a credential is not enough for a route."""
    if who == ALL:
        return
    if who == LINK:
        if not isinstance(held, Link):
            raise Refusal(403, "this needs a rating link", "use the link as you were sent it")
        return
    if not isinstance(held, Key):
        raise Refusal(401, "no key came with the request", "send Authorization: Bearer KEY")
    if who == ANY:
        return
    scope = _OF_ALL.get(who, who)
    if not held.may(scope):
        problem = f"this needs a key of scope {scope}, and this one is of scope {held.scope}"
        raise Refusal(403, problem, f"ask an operator for a key of scope {scope}")
    if who in _OF_ALL and held.study is not None:
        raise Refusal(403, "this needs a key of all studies, and yours is of one", "ask an operator of all for one")
    if study is not None and not held.covers(study):
        raise Refusal(403, "this key is of another study", "use one of this study, which its operator can make")


class GuardedRoute(APIRoute):
    """A route that looks at the credential first, then at the length of the body, and only then at the body."""

    def get_route_handler(self) -> Handle:
        """Return what answers a request."""
        handle: Handle = super().get_route_handler()
        extra = self.openapi_extra or {}
        who, most = extra[_WHO], extra[_BODY]

        async def guarded(request: Request) -> Response:
            check(who, request.scope.get("boxthirding.who"), request.path_params.get("name"))
            told = request.headers.get("content-length", "0")
            if not told.isascii() or not told.isdigit() or int(told[:12]) > most:
                raise too_large(most)
            careful = _Careful(request.scope, limited(request.receive, most))
            key = request.headers.get("idempotency-key")
            if key is None or request.method not in ("POST", "DELETE") or who in (ALL, LINK):
                return await handle(careful)
            of_study = None if who == OWNER else request.path_params.get("name")  # one that is deleted has no replies
            return await _once(careful, key, of_study, handle, is_secret=extra[_SECRET])

        return guarded


async def _once(request: "_Careful", key: str, study: str | None, handle: Handle, *, is_secret: bool) -> Response:
    """Answer a request as it was answered before, if it was: another study of the same name has answered nothing."""
    replies, held = service_of(request).replies, key_of(request)
    asked = request.url.query.encode() + b"\n" + await request.body()

    def begin() -> tuple[str, KeptReply | None]:
        origin = service_of(request).studies.origin(study)
        name = name_of(held.id, request.method, request.url.path + origin, key)
        return name, replies.begin(name, asked)

    name, before = await run_in_threadpool(begin)
    if before is not None:
        return Response(before.body, before.status, {"Idempotency-Replayed": "true"}, media_type=before.type)
    end = partial(replies.leave, name)  # after an unexpected error
    try:
        try:
            response = await handle(request)
            is_unsure = False
        except (BoxThirdingError, Refusal) as error:
            response = refused(error, request.scope)
            is_unsure = isinstance(error, BoxThirdingError) and error.unsure
        except (RequestValidationError, HTTPException):
            end = partial(replies.end, name, asked, None)
            raise
        if not is_unsure:
            has_secret = is_secret and response.status_code < 400  # noqa: PLR2004
            end = partial(replies.end, name, asked, _kept(_made(response, request) if has_secret else response))
        return response
    finally:
        await run_in_threadpool(end)


def _made(response: Response, request: Request) -> Response:
    """Return what is answered, in place of a reply with a secret, when its request comes again."""
    made = json.loads(bytes(response.body))["id"]
    said = f"this Idempotency-Key has made {made!r} already, and its secret was in that reply only"
    way_out = f"if the secret is lost, revoke it (DELETE {request.url.path}/{made}) and repeat with a new key"
    return refused(Refusal(409, said, way_out), request.scope)


def _kept(response: Response) -> KeptReply | None:
    """Return what to answer when a request comes again; None, if it has changed nothing and may be carried out then."""
    if response.status_code >= 500 or response.status_code == 429:  # noqa: PLR2004
        return None
    return KeptReply(response.status_code, response.media_type or "application/json", bytes(response.body))


class _Careful(Request):
    """A request whose JSON is JSON: no NaN, no half of a character, no more depth than can be written again."""

    async def json(self) -> Any:
        """Return the body."""
        if not hasattr(self, "_json"):
            body = await self.body()
            try:
                value = json.loads(body, parse_constant=_refuse)
                if b"\\u" in body:
                    json.dumps(value, ensure_ascii=False).encode()
            except (RecursionError, UnicodeError) as error:
                what = "is nested too deep" if isinstance(error, RecursionError) else "has text that is no Unicode"
                raise Refusal(400, f"the body {what}, so it cannot be kept", "send plain JSON in UTF-8") from None
            self._json = value
        return self._json


def _refuse(constant: str) -> None:
    raise Refusal(400, f"the body has {constant}, but numbers must be finite", "report a failure in its place")
