"""Calls that come while others run wait, and then run together: one hop to a thread for all of them.

A hop to a thread and back costs as much as a rating, and threads that run at the same time slow each other down.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

_Call = tuple["asyncio.Future[Any]", Callable[[], Any]]


class Batches:
    """Runs calls of one event loop in batches, one thread at a time."""

    def __init__(self) -> None:
        self._waiting: list[_Call] = []
        self._is_running = False
        self._lock = threading.Lock()

    async def run(self, call: Callable[[], Any]) -> Any:
        """Return what a call returns, or raise what it raises."""
        loop = asyncio.get_running_loop()
        result = loop.create_future()
        with self._lock:
            self._waiting.append((result, call))
            starts, self._is_running = not self._is_running, True
        if starts:
            loop.run_in_executor(None, self._work, loop)
        return await result

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run what waits, until nothing does."""
        while batch := self._next():
            done = [(result, *_outcome(call)) for result, call in batch]
            with suppress(RuntimeError):  # the loop is closed: no one waits
                loop.call_soon_threadsafe(_settle, done)

    def _next(self) -> list[_Call]:
        with self._lock:
            batch, self._waiting = self._waiting, []
            self._is_running = bool(batch)
            return batch


def _outcome(call: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001  # for the one who waits for it
        return None, error


def _settle(done: list[tuple["asyncio.Future[Any]", Any, Exception | None]]) -> None:
    for result, value, error in done:
        if result.done():  # the browser has gone
            continue
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)
