"""Requests to a server: connections that stay open, tries that are repeated, and problems as errors of the library."""

import http.client
import json
import os
import random
import ssl
import threading
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from boxthirding import errors
from boxthirding.client.addresses import KEY, Address
from boxthirding.client.proxies import way_to

_IDLE: Final = 4.0  # seconds after which an open connection is not used again: servers close theirs after 5
_SLOWEST: Final = 60.0  # seconds to wait for one reply
_PAUSES: Final = (0.05, 5.0)  # seconds between two tries, the first and the longest; each is twice the one before
_BUSY: Final = frozenset({429, 502, 503, 504})
"""Replies after which the same request may succeed."""

_OK: Final = 200
_REFUSED: Final = 400


class Reply(NamedTuple):
    """What a request came to."""

    value: Any
    is_unsure: bool
    """Whether an earlier try may have been carried out, without our hearing of it."""


class Connection:
    """A server and a key; used by any number of threads.

    A try whose reply was lost is repeated, so every request that changes something must count once however often it
    comes: by the ticket that it names, or by an `Idempotency-Key`.
    """

    def __init__(self, address: Address, key: str, timeout: float) -> None:
        self.address, self._timeout = address, timeout
        self._headers = {"Authorization": f"Bearer {key}", "Accept": "application/json"}
        self._way = way_to(address)
        if self._way.origin:
            self._headers |= self._way.headers
        self._secure = ssl.create_default_context() if address.scheme == "https" else None
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
        target = self._way.origin + self.address.path + path
        if query:
            target += "?" + urlencode({name: value for name, value in query.items() if value is not None})
        headers = dict(self._headers)
        data = None
        if body is not None:
            data = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
            headers["Content-Type"] = "application/json"
        if once:
            headers["Idempotency-Key"] = os.urandom(16).hex()
        patience = self._timeout if timeout is None else timeout
        return self._tried(method, target, data, headers, patience, repeat=repeat)

    def close(self) -> None:
        """Close the connections that are open."""
        with self._lock:
            while self._open:
                self._open.pop()[0].close()

    def _tried(
        self, method: str, target: str, data: bytes | None, headers: dict[str, str], timeout: float, *, repeat: bool
    ) -> Reply:
        began, pause, is_unsure = time.monotonic(), _PAUSES[0], False
        while True:
            try:
                status, text, wait = self._once(method, target, data, headers)
                trouble = _problem(status, text, self.address.server)
                if trouble is None:
                    return Reply(json.loads(text) if text else None, is_unsure)
                if not (trouble.transient and (status in _BUSY or status == 409)):  # noqa: PLR2004  # under way
                    raise trouble
                was_begun = status not in (409, 429)
            except _Lost as lost:
                trouble, wait, was_begun = lost.trouble, 0.0, lost.was_begun
            is_unsure = is_unsure or was_begun
            wait = max(wait, pause * random.uniform(0.5, 1.0))  # noqa: S311  # so that many do not return at once
            spent = time.monotonic() - began
            if spent + wait > timeout or (was_begun and not repeat) or not trouble.transient:
                raise trouble
            time.sleep(wait)
            pause = min(2 * pause, _PAUSES[1])

    def _once(self, method: str, target: str, data: bytes | None, headers: dict[str, str]) -> tuple[int, bytes, float]:
        """Make one try: return the status, the body, and how many seconds the server wants us to wait."""
        connection = self._connected()
        try:
            connection.request(method, target, data, headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise _Lost(self._unreachable(error), was_begun=True) from None
        except BaseException:
            connection.close()  # broken off by Ctrl-C: a late reply must not be taken for that of the next request
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
        new = self._way.connection(self.address, self._secure, _SLOWEST)
        try:
            new.connect()
        except (OSError, http.client.HTTPException) as error:
            new.close()
            raise _Lost(self._unreachable(error), was_begun=False) from None
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


class _Lost(Exception):  # no error of its own: it says what became of one try
    def __init__(self, trouble: errors.StudyUnavailable, *, was_begun: bool) -> None:
        super().__init__(str(trouble))
        self.trouble, self.was_begun = trouble, was_begun


def _problem(status: int, text: bytes, server: str) -> errors.BoxThirdingError | None:
    """Return what a server says is wrong, as an error of the library; None, if nothing is."""
    try:
        said = json.loads(text) if text else None
    except ValueError:
        said = _NOT_OURS
    if _OK <= status < _REFUSED - 100 and said is not _NOT_OURS:
        return None
    if not (isinstance(said, dict) and isinstance(said.get("detail"), str)):
        return errors.StudyUnavailable(
            f"{server} answers with status {status}, but not as a boxthirding server does",
            advice="see whether the address is right, and what stands between",
            transient=status in _BUSY,
        )
    return as_error(said, status, server)


_NOT_OURS: Final = object()


def as_error(said: Mapping[str, Any], status: int, server: str) -> errors.BoxThirdingError:
    """Return a problem as the error of the library that it is of, with its attributes."""
    detail, transient = said["detail"], bool(said.get("transient"))
    advice = said.get("python") or said.get("advice", "")
    if status in (401, 403):
        if status == 401:  # noqa: PLR2004
            detail = f"{server} does not know this key: it is wrong, has expired or was revoked"
            advice = f"set {KEY} to a key of this server; `boxthirding serve PLACE --new-key` there makes one"
        return errors.AccessRefused(detail, advice=advice)
    if said.get("unsure"):
        return errors.StudyUnavailable(detail, advice=advice)
    if status == 429:  # noqa: PLR2004
        return errors.StudyUnavailable(detail, advice=advice, transient=True)
    kind = getattr(errors, str(said.get("error")), None)
    if not (isinstance(kind, type) and issubclass(kind, errors.BoxThirdingError)) or kind is errors.MissingExtra:
        transient = transient or status in _BUSY
        kind = errors.StudyUnavailable if transient or status >= 500 else errors.InvalidInput  # noqa: PLR2004
    error: errors.BoxThirdingError = kind(detail, advice=advice, transient=transient)
    return error
