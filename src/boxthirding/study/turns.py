"""Threads that want something done line up, and the one whose turn it is serves everybody who waits.

So while one commit is under way the others gather, and the next commit is for all of them: nobody waits for more than
two, however many there are.
"""

import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from boxthirding.errors import BoxThirdingError, StudyUnavailable


class Request:
    """What one thread wants to happen, and what came of it."""

    def __init__(self, act: Callable[[], Any]) -> None:
        self.act = act
        self.is_done = False
        self.has_left = False
        """Whether its thread was interrupted, and does not wait for it."""
        self.result: Any = None
        self.error: BaseException | None = None
        self._gate: threading.Lock | None = None  # shut until it is woken; made only for one who must wait

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
        gate = threading.Lock()  # an event has a lock of its own, which an interrupt while it is set may leave locked
        gate.acquire()
        self._gate = gate

    def wait(self) -> None:
        """Wait until it is done, or its turn to serve has come."""
        if self._gate is not None:
            self._gate.acquire()

    def wake(self) -> None:
        """Say that it is done, or its turn to serve has come."""
        if self._gate is not None and self._gate.locked():
            with suppress(RuntimeError):  # somebody else was faster
                self._gate.release()


class Broken(Exception):
    """A request raised what is no refusal; it is for its own thread to see."""

    def __init__(self, request: Request) -> None:
        super().__init__(request)
        self.request = request


class Batch:
    """Requests that are served together, and how far that has come."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.is_committing = False
        """Whether they may have been carried out for good."""
        self.is_committed = False
        """Whether they have been."""


class Turns:
    """A line of requests, the first of which serves them all."""

    def __init__(self, serve: Callable[[Request, Batch], None]) -> None:
        self._serve = serve  # (own, all who wait): ends each of them, unless it is broken off
        self._mutex = threading.Lock()
        self._queue: deque[Request] = deque()
        self._first: Request | None = None  # whose turn it is

    def __len__(self) -> int:
        return len(self._queue)

    def do(self, request: Request) -> Any:
        """Have something done, by this thread or by another one; return what it returns."""
        batch = Batch()
        try:
            self._line_up(request)
            request.wait()
            if not request.is_done:
                self._take_everybody(batch)
                self._serve(request, batch)
        finally:
            try:
                self._leave(request, batch)
            except BaseException:
                self._leave(request, batch)  # an interrupt came in between: the others must not wait for ever
                raise
        if request.error is not None:
            raise request.error
        return request.result

    def _line_up(self, request: Request) -> None:
        with self._mutex:
            self._queue.append(request)
            if self._first is None:
                self._first = request
            else:
                request.expect_to_wait()

    def _take_everybody(self, batch: Batch) -> None:
        with self._mutex:
            batch.requests.extend(self._queue)  # first, so that none of them is ever nowhere
            self._queue.clear()

    def _leave(self, request: Request, batch: Batch) -> None:
        """Give the turn to the next one; an interrupted request that still waits is taken out of the line.

        Done a second time, it does what is left of it.
        """
        with self._mutex:
            request.has_left = True
            self._see_to(batch)
            if request in self._queue:
                self._queue.remove(request)
            if self._first is request:
                following = self._queue[0] if self._queue else None
                if following is not None:
                    following.wake()
                self._first = following

    def _see_to(self, batch: Batch) -> None:
        """Leave nobody waiting whom an interrupt has kept from being told: what broke it off was for one thread only.

        What has not happened waits once more, before all others.
        """
        undecided = [request for request in batch.requests if not request.is_done and request not in self._queue]
        if batch.is_committing:
            for request in undecided:
                request.end(None if batch.is_committed else _perhaps())
        else:
            self._queue.extendleft([request for request in reversed(undecided) if not request.has_left])
        for request in batch.requests:
            if request.is_done:
                request.wake()


def _perhaps() -> StudyUnavailable:
    return StudyUnavailable("the commit was broken off: it may have been carried out or not; look before you try again")
