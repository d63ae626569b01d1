"""The web application over a service; bind an address, say how to get in, and serve until told to stop."""

import errno
import ipaddress
import shlex
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from boxthirding.errors import BoxThirdingError, InvalidInput
from boxthirding.service.demo import Demo
from boxthirding.service.http_protocol import TimedProtocol, allow_open_files
from boxthirding.service.keys import OPERATOR
from boxthirding.service.limits import HEADERS
from boxthirding.service.middleware import API, LAYERS
from boxthirding.service.problems import on_error
from boxthirding.service.response_models import Problem
from boxthirding.service.routes import arms, keys, pages, plans, rating, reading, studies, study_page, tickets
from boxthirding.service.service import Options, Service
from boxthirding.storage.opening import without_password

# All endpoints: what their paths begin with, and the rest; what is called most first, as they are tried in order.
ROUTERS: Final = (
    *[(API, part.router) for part in (rating, tickets, studies, study_page, arms, reading, keys, plans)],
    ("", pages.router),
)

_ABOUT: Final = (
    "Find the best of many noisy options: workers come with a key, raters with a link. Errors are RFC 9457 problems. "
    "`x-who` says which credential an operation needs."
)
_PROBLEM: Final[dict[str, Any]] = {
    "description": "A problem",
    "content": {"application/problem+json": {"schema": Problem.model_json_schema()}},
}

_BACKLOG = 1024
_STOP = 3  # seconds that requests have to end when the server stops


def create_app(service: Service) -> FastAPI:
    """Return the application; it closes the service when it ends."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="boxthirding",
        version="1",
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        middleware=[*_cors(service.options.origins), *(Middleware(layer, service) for layer in LAYERS)],
        exception_handlers=dict.fromkeys(
            (HTTPException, RequestValidationError, BoxThirdingError, Exception), on_error
        ),
    )
    app.state.service = service
    for prefix, router in ROUTERS:
        app.include_router(router, prefix=prefix, responses={"default": _PROBLEM})
    return app


def _cors(origins: frozenset[str]) -> list[Middleware]:
    """Return what lets pages of other origins call the API, if there are any: with a key, never with a cookie."""
    methods = ("GET", "POST", "PUT", "PATCH", "DELETE")
    headers = ("Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID")
    allowed = Middleware(CORSMiddleware, allow_origins=[*origins], allow_methods=methods, allow_headers=headers)
    return [allowed] if origins else []


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens; refuse an address that cannot be had."""
    is_v6 = ":" in host
    family = socket.AF_INET6 if is_v6 else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=is_v6)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            raise InvalidInput(f"port {port} of {host} is in use: stop what uses it, or give another --port") from None
        raise InvalidInput(
            f"cannot listen on {host}, port {port} ({problem.strerror or problem}): choose with --host and --port"
        ) from None
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it: replies are small
    return listening


def make_key(place: str) -> str:
    """Make another operator's key; a server that runs knows it at once."""
    service = Service(place)
    try:
        return service.access.new_key(OPERATOR, name="new")[0]
    finally:
        service.close()


def server_of(app: FastAPI, service: Service) -> uvicorn.Server:
    """Return what runs the application."""
    most = min(service.options.limits.connections, allow_open_files() // 2)
    behind_proxy = service.options.proxy  # all connections come from it
    protocol: Any = partial(TimedProtocol, held=Counter(), most=None if behind_proxy else most)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP,
        h11_max_incomplete_event_size=HEADERS,
        http=protocol,
        ws="none",
    )
    server = uvicorn.Server(config)
    service.is_stopping = lambda: server.should_exit
    return server


def serve(place: str, host: str, port: int, options: Options, say: Callable[[str], None], *, demo: bool) -> None:
    """Serve a place until told to stop."""
    with bind(host, port) as listening:
        service = Service(place, options)
        address = (options.public_url or f"http://{_display_host(host)}:{listening.getsockname()[1]}").rstrip("/")
        _welcome(service, address, say)
        if not _is_local(host):
            say("Anyone who can reach this machine can reach the server: put TLS in front of it, and use --public-url.")
        contest = Demo(service, address, say) if demo else None
        if contest is not None:
            contest.start()
        server = server_of(create_app(service), service)
        try:
            server.run(sockets=[listening])
        finally:
            if contest is not None:
                contest.stop()


def _welcome(service: Service, address: str, say: Callable[[str], None]) -> None:
    """Print how to get in; a key is shown when it is made, and never again."""
    secret = service.first_key()
    place = without_password(service.place)
    say(f"Serving {place} at {address}")
    if secret is None:
        again = f"boxthirding serve {shlex.quote(place)} --new-key"
        say(f"The operator's key was printed at the first start; `{again}` makes another.")
    else:
        say(f"The operator's key, shown this once: {secret}")
        say(f"Open this within an hour, it works once: {address}/#code={service.access.new_code(secret)}")


def _display_host(host: str) -> str:
    if host in ("0.0.0.0", "::"):  # noqa: S104  # said by the user
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
