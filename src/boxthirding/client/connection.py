"""Requests to a server: connections that stay open, tries that are repeated, and problems as errors of the library."""

import http.client
import json
import os
import random
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlencode

from boxthirding import errors
from boxthirding.client.addresses import KEY, Address
from boxthirding.study.transactions import as_unsure

_IDLE: Final = 4.0  # seconds after which an open connection is not used again: servers close theirs after 5
_SLOWEST: Final = 60.0  # seconds to wait for one reply
_PAUSES: Final = (0.05, 5.0)  # seconds between two tries, the first and the longest; each is twice the one before
_BEATS: Final = 4  # in the time after which a silent worker is taken for ended
_LAST: Final = 1.0  # seconds to try to say that workers have ended
_BUSY: Final = frozenset({429, 502, 503, 504})  # replies after which the same request may succeed


class Reply(NamedTuple):
    """Reply to a request."""

    value: Any
    is_unsure: bool  # whether an earlier try, whose reply was lost, may have succeeded


class Connection:
    """A server and a key; used by any number of threads.

    A try whose reply was lost is repeated, so every request that changes something must count once however often it
    comes: by the ticket that it names, or by an `Idempotency-Key`.
    """

    def __init__(self, address: Address, key: str, timeout: float) -> None:
        self.address, self._timeout = address, timeout
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        self._secure = ssl.create_default_context() if address.scheme == "https" else None
        self._proxy = address.proxy()
        self._proxy_headers = {}
        if self._proxy is not None and self._proxy.username is not None:
            login = f"{unquote(self._proxy.username)}:{unquote(self._proxy.password or '')}"
            self._proxy_headers = {"Proxy-Authorization": f"Basic {b64encode(login.encode()).decode()}"}
        self._base = address.path
        if self._proxy is not None and self._secure is None:  # else it sees nothing but a tunnel
            self._base = f"http://{address.host}{address.path}"
            self._headers |= self._proxy_headers
        self._lock = threading.RLock()  # a study that is garbage is closed in the middle of anything
        self._open: list[tuple[http.client.HTTPConnection, float]] = []  # not in use, and since when
        self._pid = os.getpid()

    def call(  # what a request has
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        query: Mapping[str, Any] | None = None,
        once: bool = False,
        repeat: bool = True,
        timeout: float | None = None,
    ) -> Reply:
        """Make a request and return what came back, or raise what the server says is wrong.

        With `once` it carries an `Idempotency-Key`. Without `repeat` a try whose outcome is unknown is the last one: it
        raises `StudyUnavailable`. `timeout` is how long to try, in seconds.
        """
        target = self._base + path
        if query:
            target += "?" + urlencode({name: value for name, value in query.items() if value is not None})
        headers = dict(self._headers)
        data = None
        if body is not None:
            data = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
            headers["Content-Type"] = "application/json"
        if once:
            headers["Idempotency-Key"] = os.urandom(16).hex()
        end = time.monotonic() + (self._timeout if timeout is None else timeout)
        pause, is_unsure = _PAUSES[0], False
        while True:
            try:
                status, text, wait = self._once(method, target, data, headers)
                value, trouble = _outcome(status, text, self.address.server)
                if trouble is None:
                    return Reply(value, is_unsure)
                if not (trouble.transient and (status in _BUSY or status == 409)):  # noqa: PLR2004  # still running
                    raise trouble
                if once and trouble.unsure:  # the server refuses the key from now on
                    raise trouble
                was_begun = trouble.unsure or status not in (409, 429, 503)
            except _Lost as lost:
                trouble, was_begun = lost.args
                wait = 0.0
            is_unsure = is_unsure or was_begun
            wait = max(wait, pause * random.uniform(0.5, 1.0))  # noqa: S311  # so that many do not return at once
            if time.monotonic() + wait > end or (was_begun and not repeat) or not trouble.transient:
                raise as_unsure(trouble) if once and is_unsure else trouble
            time.sleep(wait)
            pause = min(2 * pause, _PAUSES[1])

    def rows(self, path: str, what: str, first: int = 0, **query: Any) -> Iterator[Any]:
        """Yield the rows of a list from one of them on; the pages in which they come are read as they are needed."""
        place: int | None = first
        while place is not None:
            page = self.call("GET", path, query={"first": place, **query}).value
            yield from page[what]
            place = page["next"]

    def close(self) -> None:
        """Close the connections that are open."""
        with self._lock:
            while self._open:
                self._open.pop()[0].close()

    def _once(self, method: str, target: str, data: bytes | None, headers: dict[str, str]) -> tuple[int, bytes, float]:
        """Make one try: return the status, the body, and how many seconds the server wants us to wait."""
        connection = self._connected()
        try:
            connection.request(method, target, data, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _Lost(self._unreachable(error), True) from None  # noqa: FBT003  # see there
        except BaseException:
            connection.close()  # interrupted: a late reply must not be taken for that of the next request
            raise
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._open.append((connection, time.monotonic()))
        said = response.headers.get("Retry-After", "")
        return response.status, text, float(said) if said.isdigit() else 0.0

    def _connected(self) -> http.client.HTTPConnection:
        """Return a connection that is open, the one that was used last if there is one."""
        with self._lock:
            if self._pid != os.getpid():  # those of the process that we were forked from are not ours
                self._open, self._pid = [], os.getpid()
            while self._open:
                connection, since = self._open.pop()
                if time.monotonic() - since < _IDLE:
                    return connection
                connection.close()
        new = self._new()
        try:
            new.connect()
        except (OSError, http.client.HTTPException) as error:
            new.close()
            raise _Lost(self._unreachable(error), False) from None  # noqa: FBT003  # see there
        return new

    def _new(self) -> http.client.HTTPConnection:
        """Return a connection that is not open yet, by the proxy if there is one."""
        host, port = self.address.host, None
        if self._proxy is not None:
            host, port = self._proxy.hostname or "", self._proxy.port or 80
        if self._secure is None:
            return http.client.HTTPConnection(host, port, timeout=_SLOWEST)
        new = http.client.HTTPSConnection(host, port, timeout=_SLOWEST, context=self._secure)
        if self._proxy is not None:
            new.set_tunnel(self.address.host, headers=self._proxy_headers)
        return new

    def _unreachable(self, error: Exception) -> errors.StudyUnavailable:
        reason = str(error) or type(error).__name__
        if isinstance(error, ssl.SSLCertVerificationError):
            return errors.StudyUnavailable(
                f"{self.address.server} has a certificate that is not trusted here ({error.verify_message})",
                advice="put the certificate of its authority into the file that SSL_CERT_FILE names",
            )
        return errors.StudyUnavailable(
            f"{self.address.server} cannot be reached ({reason})",
            advice="see whether `boxthirding serve` runs there and the address is right; what it acknowledged is kept",
            transient=True,
        )


class _Lost(Exception):
    """A failed try: the error to raise after the last one, and whether this one may have succeeded."""


class Heartbeat:
    """Reports every few seconds, from a thread of its own, that the workers of this process live."""

    def __init__(self, connection: Connection, path: str) -> None:
        self._connection, self._path = connection, path
        self._names: list[str] = []
        self._end = threading.Event()
        self._thread: threading.Thread | None = None
        self._lock = threading.RLock()  # a study that is garbage is closed in the middle of anything

    def add(self, name: str) -> None:
        """Report that a worker lives, now and from now on."""
        pause = self._connection.call("POST", self._path, {"alive": [name]}).value["seconds"] / _BEATS
        with self._lock:
            self._names.append(name)
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, args=(pause,), daemon=True, name="boxthirding-heart")
                self._thread.start()

    def stop(self) -> None:
        """Report that the workers have ended."""
        self._end.set()
        with self._lock:
            names, self._names = self._names, []
        if names:
            with suppress(errors.BoxThirdingError):  # the server notices it by their silence
                self._connection.call("POST", self._path, {"ended": names}, timeout=_LAST)

    def _beat(self, pause: float) -> None:
        while not self._end.wait(pause):
            with self._lock:
                names = list(self._names)
            with suppress(errors.BoxThirdingError):  # the calls of the study say what is wrong
                self._connection.call("POST", self._path, {"alive": names}, timeout=pause)


def _outcome(status: int, text: bytes, server: str) -> tuple[Any, errors.BoxThirdingError | None]:
    """Return the value of a reply, and what the server says is wrong as an error of the library, if anything is."""
    said = None
    with suppress(ValueError):
        said = json.loads(text) if text else None
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return said, None
    if isinstance(said, dict) and isinstance(said.get("detail"), str):
        return None, as_error(said, status, server)
    return None, errors.StudyUnavailable(
        f"{server} answers with status {status}, but not as a boxthirding server does",
        advice="see whether the address is right, and what stands between",
        transient=status in _BUSY,
    )


def as_error(said: Mapping[str, Any], status: int, server: str) -> errors.BoxThirdingError:
    """Return a problem as the error of the library that it is of, with its attributes."""
    detail, transient = said["detail"], bool(said.get("transient"))
    advice = said.get("python") or said.get("advice", "")
    if status == HTTPStatus.UNAUTHORIZED:
        detail = f"{server} does not know this key: it is wrong, has expired or was revoked"
        advice = f"set {KEY} to a key of this server; `boxthirding serve PLACE --new-key` there makes one"
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return errors.AccessRefused(detail, advice=advice)
    unsure = bool(said.get("unsure"))
    if status == HTTPStatus.TOO_MANY_REQUESTS or (unsure and "error" not in said):
        return errors.StudyUnavailable(detail, advice=advice, transient=not unsure, unsure=unsure)
    kind = getattr(errors, str(said.get("error")), None)
    if not (isinstance(kind, type) and issubclass(kind, errors.BoxThirdingError)) or kind is errors.MissingExtra:
        transient = transient or status in _BUSY
        is_theirs = transient or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        kind = errors.StudyUnavailable if is_theirs else errors.InvalidInput
    error: errors.BoxThirdingError = kind(detail, advice=advice, transient=transient, unsure=unsure)
    return error
