"""What comes while others are being served waits, and is then done together: one hop to a thread, one commit.

A hop to a thread and back costs as much as a rating, and threads at work at the same time take the interpreter from
each other.
"""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

W = TypeVar("W")
R = TypeVar("R")


class _Waiting(NamedTuple, Generic[W, R]):
    who: str
    wish: W
    answer: "asyncio.Future[R]"


class Batches(Generic[W, R]):
    """Wishes that are done in batches by one thread at a time."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting[W, R]] = []
        self._is_at_work = False
        self._lock = threading.Lock()

    async def take(self, who: str, wish: W, do_all: Callable[[list[W]], list[R | Exception]]) -> R:
        """Return what comes of a wish: `do_all` does several of different people, and returns errors in their places.

        Of each person one wish is in a batch, as the next one depends on what came of it.
        """
        loop = asyncio.get_running_loop()
        one = _Waiting[W, R](who, wish, loop.create_future())
        with self._lock:
            self._waiting.append(one)
            starts, self._is_at_work = not self._is_at_work, True
        if starts:
            loop.run_in_executor(None, self._work, do_all)
        return await one.answer

    def _work(self, do_all: Callable[[list[W]], list[R | Exception]]) -> None:
        """Do what waits, until nothing does."""
        while batch := self._next():
            try:
                came = do_all([one.wish for one in batch])
            except Exception as error:  # noqa: BLE001  # it is all of theirs
                came = [error] * len(batch)
            answers: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[R], R | Exception]]] = {}
            for one, what in zip(batch, came, strict=True):
                answers.setdefault(one.answer.get_loop(), []).append((one.answer, what))
            for loop, pairs in answers.items():
                with suppress(RuntimeError):  # it is closed: no one waits any more
                    loop.call_soon_threadsafe(_answer, pairs)

    def _next(self) -> list[_Waiting[W, R]]:
        """Return the next batch; none, when this thread may go."""
        with self._lock:
            batch: dict[str, _Waiting[W, R]] = {}
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                if batch.setdefault(one.who, one) is not one:
                    self._waiting.append(one)
            self._is_at_work = bool(batch)
            return list(batch.values())


def _answer(pairs: list[tuple["asyncio.Future[R]", R | Exception]]) -> None:
    for answer, what in pairs:
        if answer.done():  # the browser has gone
            continue
        if isinstance(what, Exception):
            answer.set_exception(what)
        else:
            answer.set_result(what)
