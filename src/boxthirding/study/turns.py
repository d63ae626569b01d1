"""Threads that want something done line up, and the one whose turn it is serves everybody who waits.

So while one commit is under way the others gather, and the next commit is for all of them: nobody waits for more than
two, however many there are.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from boxthirding.errors import BoxThirdingError


class Request:
    """What one thread wants to happen, and what came of it."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act
        self.is_done = False
        self.has_left = False
        """Whether its thread was interrupted, and does not wait for it."""
        self.result: Any = None
        self.error: BaseException | None = None
        self._woken: threading.Event | None = None  # made only for one who must wait

    def carry_out(self) -> None:
        """Let it happen; a refusal leaves everything as it was, while any other error may leave something half done."""
        self.result = self.error = None
        try:
            self.result = self.act()
        except BoxThirdingError as refused:
            self.error = refused
        except Exception as error:
            self.error = error
            raise Broken(self) from error

    @property
    def has_happened(self) -> bool:
        """Whether it was carried out for good."""
        return self.is_done and self.error is None

    def end(self, error: BaseException | None = None) -> None:
        """Note that it is decided."""
        self.error = error or self.error
        self.is_done = True
        self.wake()

    def expect_to_wait(self) -> None:
        """Get ready for `wait`; nobody may wake it before."""
        self._woken = threading.Event()

    def wait(self) -> None:
        """Wait until it is done, or its turn to serve has come."""
        if self._woken is not None:
            self._woken.wait()

    def wake(self) -> None:
        """Say that it is done, or its turn to serve has come."""
        if self._woken is not None:
            self._woken.set()


class Broken(Exception):
    """A request raised what is no refusal; it is for its own thread to see."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.request = request


class Turns:
    """A line of requests, the first of which serves them all."""

    def __init__(self, serve: Callable[[Request, Sequence[Request]], None]) -> None:
        self._serve = serve  # (own, all who wait): ends each of them, or puts it back
        self._mutex = threading.Lock()
        self._queue: deque[Request] = deque()
        self._first: Request | None = None  # whose turn it is

    def __len__(self) -> int:
        return len(self._queue)

    def do(self, request: Request) -> Any:
        """Have something done, by this thread or by another one; return what it returns."""
        try:
            self._line_up(request)
            request.wait()
            if not request.is_done:
                self._serve(request, self._everybody())
        finally:
            self._leave(request)
        if request.error is not None:
            raise request.error
        return request.result

    def put_back(self, requests: Sequence[Request]) -> None:
        """Let requests wait once more, before all others."""
        with self._mutex:
            self._queue.extendleft(request for request in reversed(requests) if not request.has_left)

    def _line_up(self, request: Request) -> None:
        with self._mutex:
            self._queue.append(request)
            if self._first is None:
                self._first = request
            else:
                request.expect_to_wait()

    def _everybody(self) -> list[Request]:
        with self._mutex:
            waiting = list(self._queue)
            self._queue.clear()
            return waiting

    def _leave(self, request: Request) -> None:
        """Give the turn to the next one; an interrupted request that still waits is taken out of the line."""
        with self._mutex:
            request.has_left = True
            if request in self._queue:
                self._queue.remove(request)
            if self._first is request:
                self._first = self._queue[0] if self._queue else None
                if self._first is not None:
                    self._first.wake()
