"""What a request passes before the routes: each layer answers it, or passes it on."""

import asyncio
import ipaddress
import time
from typing import Final
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from boxthirding.errors import BoxThirdingError, StudyUnavailable
from boxthirding.service.keys import Key
from boxthirding.service.limits import HEADERS, Buckets
from boxthirding.service.links import Link, Rater
from boxthirding.service.problems import Refusal, refused
from boxthirding.service.service import Service

SESSION: Final = "boxthirding"  # the cookie of an operator's session

RATER: Final = "boxthirding-rater"
"""The header that names the rater of a page, where another one may have come in the same browser since."""

API: Final = "/api/v1"
RATING_PAGE: Final = "/rate/"
RATING: Final = (f"{API}/rating/", RATING_PAGE)  # what the secret of a rating link follows

_OPEN: Final = frozenset({"/", "/health", "/openapi.json"})
_STATIC: Final = "/static/"
_OPEN_POST: Final = frozenset({f"{API}/session"})
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
_STOPPING: Final = StudyUnavailable(
    "the server is stopping, and the request had not ended", advice="try again in a moment", transient=True, unsure=True
)
_NO_KEY: Final = "send Authorization: Bearer KEY, or open the link that `boxthirding serve` printed"


class Layer:
    """An ASGI application around another; there are no web sockets."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        raise NotImplementedError


class Measured(Layer):
    """Counts requests, and how long they take."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status = time.perf_counter(), 500

        async def send_counted(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, send_counted)
        finally:
            self._service.metrics.count(scope["method"], _route(scope), status, time.perf_counter() - started)


class SecurityHeaders(Layer):
    """Adds headers to every reply that say what browsers may do with it."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_secured)


class HeadRequests(Layer):
    """Answers HEAD as it answers GET, without a body, where monitors ask so."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_head(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        if scope["method"] == "HEAD" and scope["path"] in _OPEN:
            as_get = {**scope, "method": "GET"}
            await self._app(as_get, receive, send_head)
            scope["route"] = as_get.get("route")
        else:
            await self._app(scope, receive, send)


class Shutdown(Layer):
    """Answers requests that a server cuts off when it stops."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_begun = False

        async def send_noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        except asyncio.CancelledError:
            if has_begun or not self._service.is_stopping():
                raise
            await refused(_STOPPING, scope)(scope, receive, send)


class Gate(Layer):
    """Passes on what it does not refuse."""

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self._check(scope, Headers(scope=scope))
        except (HTTPException, BoxThirdingError) as error:  # the database is needed to know a key
            await refused(error, scope)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _check(self, scope: Scope, headers: Headers) -> None:
        """Raise what is wrong with a request."""
        raise NotImplementedError


class HostCheck(Gate):
    """Rejects an unknown host name: a foreign page could have it point to this server (DNS rebinding)."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        super().__init__(app, service)
        self._names = {"localhost", *service.options.hosts}
        if service.options.public_url is not None:
            self._names.add(str(urlsplit(service.options.public_url).hostname))

    async def _check(self, scope: Scope, headers: Headers) -> None:  # noqa: ARG002
        host = headers.get("host", "")
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            name = ""
        if name not in self._names and not _is_number(name):
            raise Refusal(
                421, f"the Host is {host[:100]!r}, which is not this server's", "start it with --public-url URL"
            )


class RequestLimit(Gate):
    """Limits the size of headers, and the requests of an address."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        super().__init__(app, service)
        self._addresses = Buckets(service.options.limits.address, "an address")

    async def _check(self, scope: Scope, headers: Headers) -> None:
        size = sum(len(name) + len(value) for name, value in headers.raw)
        if size > HEADERS:  # the server reads larger ones in part only, as they come
            raise Refusal(431, f"the headers have {size:,} bytes, but may have {HEADERS:,}", "send shorter ones")
        told = headers.getlist("x-forwarded-for") if self._service.options.proxy else []
        if told:  # what a proxy of ours added last
            address = told[-1].rsplit(",", 1)[-1].strip()[:100]
        else:
            address = str(scope["client"][0]) if scope.get("client") else "unknown"
        scope["boxthirding.address"] = address
        self._addresses.admit(address)


class Identification(Gate):
    """Notes who is asking: the key or the rating link, and the rater."""

    async def _check(self, scope: Scope, headers: Headers) -> None:
        secret = _link_secret(scope)
        if secret is None:
            scope["boxthirding.who"] = await self._key(scope, headers)
        else:
            scope["boxthirding.who"] = link = await self._link(scope, secret)
            scope["boxthirding.rater"] = None if link is None else await self._rater(link, headers)

    async def _key(self, scope: Scope, headers: Headers) -> Key | None:
        """Return the key that a request comes with, in a header or as a session's cookie."""
        access = self._service.access
        kind, _, secret = headers.get("authorization", "").partition(" ")
        is_session = not kind
        if is_session:
            secret = cookie_of(headers, SESSION)
        elif kind.casefold() != "bearer":
            return None
        secret = secret.strip()
        if not secret:
            return None
        key = access.find(secret, is_session=is_session, at_hand=True)
        if key is None:
            key = await run_in_threadpool(access.find, secret, is_session=is_session)
        if key is not None and is_session:
            scope["boxthirding.session"] = secret
        if key is not None and key.study is not None and not await self._is_of(key.study, key.origin, fresh=False):
            return None
        return key

    async def _link(self, scope: Scope, secret: str) -> Link | None:
        links = self._service.links
        link = links.find(secret, at_hand=True) or await run_in_threadpool(links.find, secret)
        if link is not None and not await self._is_of(link.study, link.origin, fresh=scope["method"] in _SAFE):
            return None
        return link

    async def _rater(self, link: Link, headers: Headers) -> Rater | None:
        cookie = cookie_of(headers, rater_cookie(link, headers.get(RATER, "").rpartition("-")[2]))
        rater = self._service.links.rater(link, cookie, at_hand=True)
        if rater is None and cookie:
            rater = await run_in_threadpool(self._service.links.rater, link, cookie)
        return rater

    async def _is_of(self, study: str, origin: str, *, fresh: bool) -> bool:
        """Return whether a study is the one of an origin, and not another that was made when that was deleted."""
        studies = self._service.studies
        served = studies.at_hand(study)
        if served is not None and not fresh:
            return served.study.origin == origin
        return await run_in_threadpool(studies.is_same, study, origin, fresh=fresh)


class CallerLimit(Gate):
    """Limits the requests of a key, of a rater, and of those who come with neither."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        super().__init__(app, service)
        limits = service.options.limits
        self._keys = Buckets(limits.key, "a key")
        self._raters = Buckets(limits.rater, "a rater")
        self._strangers = Buckets(limits.strangers, "an address without a key")
        self._new_raters = Buckets(limits.new_raters, "new raters of an address")

    async def _check(self, scope: Scope, headers: Headers) -> None:  # noqa: ARG002
        who, rater, address = scope["boxthirding.who"], scope.get("boxthirding.rater"), scope["boxthirding.address"]
        if isinstance(who, Key):
            self._keys.admit(who.id)
        elif rater is not None:
            self._raters.admit(rater.holder)
        elif who is None and not _is_static(scope):  # hundreds of raters behind one address load them
            self._strangers.admit(address)
        elif who is not None and scope["method"] not in _SAFE:
            self._new_raters.admit(address)


class OriginCheck(Gate):
    """Rejects a write by cookie from a page of another origin."""

    async def _check(self, scope: Scope, headers: Headers) -> None:
        is_rating = isinstance(scope["boxthirding.who"], Link)
        if scope["method"] in _SAFE or not (is_rating or "boxthirding.session" in scope):
            return
        origin, options = headers.get("origin"), self._service.options
        if origin is None:
            is_new = is_rating and scope["boxthirding.rater"] is None  # without a cookie yet
            if is_new or headers.get("sec-fetch-site") == "same-origin":
                return
            address = options.public_url or f"http://{headers.get('host')}"
            advice = f"use a browser, or send the header Origin: {address.rstrip('/')}"
            raise Refusal(403, "a write by cookie needs an Origin, and none came", advice)
        ours = {f"{scheme}://{headers.get('host')}" for scheme in ("http", "https")}
        if origin not in ours | {(options.public_url or "").rstrip("/")} | options.origins:
            raise Refusal(403, f"the Origin is {origin[:100]!r}, which may not write here", "use the server's pages")


class Admission(Gate):
    """Rejects a request without a credential, except for what is open to all."""

    async def _check(self, scope: Scope, headers: Headers) -> None:  # noqa: ARG002
        path, method = scope["path"], scope["method"]
        if scope["boxthirding.who"] is not None or _is_static(scope):
            return
        if _link_secret(scope) is not None:
            problem = "this rating link is unknown, has expired or was revoked"
            raise Refusal(403, problem, "ask the person who sent it for a new one", reason="link")
        if not ((path in _OPEN and method in _SAFE) or (path in _OPEN_POST and method == "POST")):
            refusal = Refusal(401, "no valid key came with the request", _NO_KEY)
            refusal.headers = {"WWW-Authenticate": "Bearer"}
            raise refusal


# What a request passes on its way to the routes, from the outside in.
LAYERS: Final = (
    *(Measured, SecurityHeaders, HeadRequests, Shutdown),
    *(HostCheck, RequestLimit, Identification, CallerLimit, OriginCheck, Admission),
)


def _link_secret(scope: Scope) -> str | None:
    """Return what stands in a path in the place of the secret of a rating link; None for any other path."""
    prefix = next((prefix for prefix in RATING if scope["path"].startswith(prefix)), None)
    return None if prefix is None else scope["path"][len(prefix) :].split("/", 1)[0]


def _is_static(scope: Scope) -> bool:
    return scope["path"].startswith(_STATIC) and scope["method"] in _SAFE


def _route(scope: Scope) -> str:
    """Return the route of a request as it is counted: pages and the API have paths that differ in the prefix alone."""
    path = getattr(scope.get("route"), "path", None)
    if path is None:
        return "other"
    return f"{API}{path}" if scope["path"].startswith(f"{API}/") and not path.startswith(API) else str(path)


def cookie_of(headers: Headers, name: str) -> str:
    """Return a cookie, empty if there is none; ours are never quoted, and others are not looked into."""
    pairs = (pair.partition("=") for pair in headers.get("cookie", "").split(";"))
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "")


def rater_cookie(link: Link, rater_id: str = "") -> str:
    """Return the name of the cookie of a rater; without an id, of the one who came last by this link in a browser."""
    return f"{SESSION}-{link.id}-{rater_id}" if rater_id else f"{SESSION}-{link.id}"


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
