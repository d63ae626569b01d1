"""Connections end: each request has some time to arrive, and each address has a number of connections."""

import asyncio
import importlib
import importlib.util
import sys
from collections import Counter
from contextlib import suppress
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from boxthirding.service.problems import Refusal, refused

resource: Any = importlib.import_module("resource") if importlib.util.find_spec("resource") else None
"""The limits of this process; Windows has none."""

HEADERS_TIME: Final = 10.0  # seconds in which the headers of a request must arrive

SILENCE: Final = 30.0  # seconds after which a body that has stopped arriving is given up

_OPEN_FILES: Final = 10_240  # that macOS allows where it says that there is no limit


class TimedProtocol(H11Protocol):
    """uvicorn's protocol with a timer while a request arrives, and a limit on the connections of an address."""

    def __init__(self, *args: Any, held: Counter[str], most: int | None, **more: Any) -> None:
        super().__init__(*args, **more)
        self._held, self._most = held, most  # connections of each address, and how many one may have
        self._address = ""
        self._timer: asyncio.TimerHandle | None = None
        self._stage: Any = None  # of the request that the timer is for

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Count a connection, and close it if there are too many."""
        super().connection_made(transport)
        self._address = self.client[0] if self.client else ""
        self._held[self._address] += 1
        if self._most is not None and self._held[self._address] > self._most:
            detail = f"{self._address} has {self._held[self._address]:,} connections, but may have {self._most:,}"
            self._end(429, detail, "close some, or start the server with --proxy if this is your proxy")
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._stop()
        self._held[self._address] -= 1
        if not self._held[self._address]:
            del self._held[self._address]
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take part of a request."""
        super().data_received(data)
        self._watch()

    def _watch(self) -> None:
        """Set the timer for what is missing: a body gets more time whenever some of it arrives, headers do not.

        Between two requests it is uvicorn that closes the connection.
        """
        stage = self.conn.their_state
        is_read = stage is h11.SEND_BODY and self.conn.our_state is not h11.DONE
        if stage is self._stage and not is_read:
            return
        self._stop()
        self._stage = stage
        if stage in (h11.IDLE, h11.SEND_BODY) and not self.transport.is_closing():
            self._timer = self.loop.call_later(HEADERS_TIME if stage is h11.IDLE else SILENCE, self._give_up)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        """Close a connection whose request did not arrive; go on waiting if it is the server that does not read."""
        if self.flow.read_paused:
            self._timer = self.loop.call_later(SILENCE, self._give_up)
        elif self.conn.our_state is h11.IDLE and self.conn.trailing_data[0]:
            self._end(408, f"the headers took more than {HEADERS_TIME:g} s", "send the whole request at once")
        else:
            self.transport.close()

    def _end(self, status: int, detail: str, advice: str) -> None:
        """Answer with a problem, and close the connection."""
        answer = refused(Refusal(status, detail, advice), {"path": "/api/"})
        headers = [*answer.raw_headers, (b"connection", b"close")]
        for event in (
            h11.Response(status_code=status, headers=headers),
            h11.Data(data=bytes(answer.body)),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def allow_open_files() -> int:
    """Raise the limit of open files to what the system allows; return it."""
    if resource is None:
        return sys.maxsize
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    for wanted in (hard, _OPEN_FILES):
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            break
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
