"""The outermost layer: by which name the server was called, who is asking, how often, and what every answer says."""

import asyncio
import ipaddress
import time
from typing import Final
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from boxthirding.errors import BoxThirdingError, StudyUnavailable
from boxthirding.service.keys import Key
from boxthirding.service.limits import HEADERS, Buckets
from boxthirding.service.links import Link
from boxthirding.service.problems import Refusal, refused
from boxthirding.service.service import Service

SESSION: Final = "boxthirding"
"""The cookie of an operator's session."""

RATER: Final = "boxthirding-rater"
"""The header that names the rater of a page, where another one may have come in the same browser since."""

API: Final = "/api/v1"
RATING_PAGE: Final = "/rate/"
RATING: Final = (f"{API}/rating/", RATING_PAGE)
"""What the secret of a rating link follows."""

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
}
_STOPPING: Final = StudyUnavailable(
    "the server is stopping, and the request had not ended",
    advice="try again in a moment",
    transient=True,
    unsure=True,
)
_NO_KEY: Final = "send Authorization: Bearer KEY, or open the link that `boxthirding serve` printed"


class Shield:
    """An ASGI application around another."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service
        limits = service.options.limits
        self._keys = Buckets(limits.key, "a key")
        self._raters = Buckets(limits.rater, "a rater")
        self._addresses = Buckets(limits.address, "an address")
        self._strangers = Buckets(limits.strangers, "an address without a key")
        self._new_raters = Buckets(limits.new_raters, "new raters of an address")
        public = service.options.public_url
        self._names = {"localhost", *service.options.hosts}
        if public is not None:
            self._names.add(str(urlsplit(public).hostname))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        started, status, started_reply, method = time.perf_counter(), 500, False, scope["method"]
        is_head = method == "HEAD" and scope["path"] in _OPEN  # monitors ask so
        if is_head:
            scope = {**scope, "method": "GET"}
        headers = Headers(scope=scope)

        async def send_more(message: Message) -> None:
            nonlocal status, started_reply
            if message["type"] == "http.response.start":
                status, started_reply = message["status"], True
                _add(MutableHeaders(scope=message))
            elif is_head:
                message = {**message, "body": b""}
            await send(message)

        try:
            answer = await self._admit(scope, headers)
            if answer is not None:
                await answer(scope, receive, send_more)
            else:
                await self._app(scope, receive, send_more)
        except asyncio.CancelledError:
            if started_reply or not self._service.is_stopping():
                raise
            await refused(_STOPPING, scope)(scope, receive, send_more)
        finally:
            self._service.metrics.count(method, _route(scope), status, time.perf_counter() - started)

    async def _admit(self, scope: Scope, headers: Headers) -> Response | None:
        """Return the answer to a request that does not get any further; else note who is asking."""
        try:
            _check_size(headers)
            self._check_host(headers)
            address = self._address(scope, headers)
            scope["boxthirding.address"] = address
            self._addresses.admit(address)
            await self._identify(scope, headers, address)
        except (HTTPException, BoxThirdingError) as error:  # the database is needed to know a key
            return refused(error, scope)
        return None

    async def _identify(self, scope: Scope, headers: Headers, address: str) -> None:
        path, method = scope["path"], scope["method"]
        prefix = next((prefix for prefix in RATING if path.startswith(prefix)), None)
        if prefix is not None:
            await self._identify_rater(scope, headers, address, path[len(prefix) :].split("/", 1)[0])
            return
        is_static = path.startswith(_STATIC) and method in _SAFE
        is_open = is_static or (path in _OPEN and method in _SAFE) or (path in _OPEN_POST and method == "POST")
        key = await self._key(scope, headers)
        if key is not None and key.study is not None and not await self._is_of(key.study, key.origin, fresh=False):
            key = None
        scope["boxthirding.who"] = key
        if key is not None:
            self._keys.admit(key.id)
            return
        if is_static:  # hundreds of raters behind one address load them
            return
        self._strangers.admit(address)
        if not is_open:
            problem = Refusal(401, "no valid key came with the request", _NO_KEY)
            problem.headers = {"WWW-Authenticate": "Bearer"}
            raise problem

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
            self._check_origin(scope, headers)
        return key

    async def _identify_rater(self, scope: Scope, headers: Headers, address: str, secret: str) -> None:
        links = self._service.links
        link = links.find(secret, at_hand=True) or await run_in_threadpool(links.find, secret)
        if link is not None and not await self._is_of(link.study, link.origin, fresh=scope["method"] in _SAFE):
            link = None
        scope["boxthirding.who"] = link
        if link is None:
            self._strangers.admit(address)
            problem = "this rating link is unknown, has expired or was revoked"
            raise Refusal(403, problem, "ask the person who sent it for a new one", reason="link")
        name = rater_cookie(link, headers.get(RATER, "").rpartition("-")[2])
        cookie = cookie_of(headers, name)
        rater = links.rater(link, cookie, at_hand=True)
        if rater is None and cookie:
            rater = await run_in_threadpool(links.rater, link, cookie)
        scope["boxthirding.rater"] = rater
        if rater is not None:
            self._raters.admit(rater.holder)
        elif scope["method"] not in _SAFE:
            self._new_raters.admit(address)
        self._check_origin(scope, headers, must=rater is not None)

    async def _is_of(self, study: str, origin: str, *, fresh: bool) -> bool:
        """Tell whether a study is the one of an origin, and not another that was made when that was deleted."""
        studies = self._service.studies
        served = studies.at_hand(study)
        if served is not None and not fresh:
            return served.study.origin == origin
        return await run_in_threadpool(studies.is_same, study, origin, fresh=fresh)

    def _check_host(self, headers: Headers) -> None:
        """Refuse a name that is not ours: a page elsewhere could have it point here (DNS rebinding)."""
        host = headers.get("host", "")
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            name = ""
        if name in self._names or _is_number(name):
            return
        raise Refusal(421, f"the Host is {host[:100]!r}, which is not this server's", "start it with --public-url URL")

    def _check_origin(self, scope: Scope, headers: Headers, *, must: bool = True) -> None:
        """Refuse a write by cookie that a page of another origin has made."""
        if scope["method"] in _SAFE:
            return
        origin = headers.get("origin")
        if origin is None:
            if not must or headers.get("sec-fetch-site") == "same-origin":
                return
            address = self._service.options.public_url or f"http://{headers.get('host')}"
            advice = f"use a browser, or send the header Origin: {address.rstrip('/')}"
            raise Refusal(403, "a write by cookie needs an Origin, and none came", advice)
        public = self._service.options.public_url
        ours = {f"http://{headers.get('host')}", f"https://{headers.get('host')}", (public or "").rstrip("/")}
        if origin not in ours | self._service.options.origins:
            raise Refusal(403, f"the Origin is {origin[:100]!r}, which may not write here", "use the server's pages")

    def _address(self, scope: Scope, headers: Headers) -> str:
        """Return from where a request comes; what a proxy of ours added last, if there is one."""
        if self._service.options.proxy:
            told = headers.getlist("x-forwarded-for")
            if told:
                return told[-1].rsplit(",", 1)[-1].strip()[:100]
        client = scope.get("client")
        return str(client[0]) if client else "unknown"


def _route(scope: Scope) -> str:
    """Return the route of a request as it is counted: pages and the API have paths that differ in the prefix alone."""
    path = getattr(scope.get("route"), "path", None)
    if path is None:
        return "other"
    return f"{API}{path}" if scope["path"].startswith(f"{API}/") and not path.startswith(API) else str(path)


def _check_size(headers: Headers) -> None:
    """Refuse headers that are too large, which the server reads in part only as they come."""
    size = sum(len(name) + len(value) for name, value in headers.raw)
    if size > HEADERS:
        raise Refusal(431, f"the headers have {size:,} bytes, but may have {HEADERS:,}", "send shorter ones")


def cookie_of(headers: Headers, name: str) -> str:
    """Return a cookie, empty if there is none; ours are never quoted, and others are not looked into."""
    pairs = (pair.partition("=") for pair in headers.get("cookie", "").split(";"))
    return next((value.strip() for key, _, value in pairs if key.strip() == name), "")


def rater_cookie(link: Link, rater_id: str = "") -> str:
    """Return the name of the cookie of a rater; without an id, of the one who came last by this link in a browser."""
    return f"{SESSION}-{link.id}-{rater_id}" if rater_id else f"{SESSION}-{link.id}"


def _add(headers: MutableHeaders) -> None:
    for name, value in _HEADERS.items():
        headers.setdefault(name, value)
    headers.setdefault("Cache-Control", "no-store")


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
