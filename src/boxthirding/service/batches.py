"""Raters who come while others are served wait, and are then served together: one hop to a thread, one commit.

A hop to a thread and back costs as much as a rating, and threads that run at the same time slow each other down.
"""

import asyncio
import threading
from collections.abc import Generator, Sequence
from contextlib import suppress
from typing import Any

from boxthirding.study import Exchange, Study
from boxthirding.study.state import Handed

Rated = tuple[list[dict[str, Any]], dict[str, Any]]
"""What became of each rating, and what comes next."""

Steps = Generator[Exchange, Handed, Rated]
"""What is done for a rater: it yields at most one exchange with the study and is sent what that hands out."""

_Waiting = tuple[str, Steps, "asyncio.Future[Rated]"]


def serve_together(study: Study, raters: Sequence[Steps]) -> list[Rated | BaseException]:
    """Serve different raters in one commit; an error stands in the place of what it ended."""
    outcomes = [_advance(rater) for rater in raters]
    exchanges = {place: outcome for place, outcome in enumerate(outcomes) if isinstance(outcome, Exchange)}
    for place, handed in zip(exchanges, study.exchange(exchanges.values()), strict=True):
        outcomes[place] = _advance(raters[place], handed)
    return outcomes


def _advance(rater: Steps, handed: Any = None) -> Any:
    """Return what the steps of a rater yield next, or return, or the error that ends them."""
    try:
        return rater.throw(handed) if isinstance(handed, BaseException) else rater.send(handed)
    except StopIteration as end:
        return end.value
    except Exception as error:  # noqa: BLE001  # for the one who waits for it
        return error


class Batches:
    """Serves the raters of a study who wait in one event loop, in one thread at a time."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._waiting: list[_Waiting] = []
        self._is_running = False
        self._lock = threading.Lock()

    async def serve(self, holder: str, steps: Steps) -> Rated:
        """Serve a rater; requests of the same one are served one after the other."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Rated] = loop.create_future()
        with self._lock:
            self._waiting.append((holder, steps, result))
            starts, self._is_running = not self._is_running, True
        if starts:
            loop.run_in_executor(None, self._work, loop)
        return await result

    def _work(self, loop: asyncio.AbstractEventLoop) -> None:
        """Serve those who wait, until no one does."""
        while batch := self._next():
            outcomes: Sequence[Rated | BaseException]
            try:
                outcomes = serve_together(self._study, [steps for _, steps, _ in batch])
            except Exception as error:  # noqa: BLE001  # for all who wait for it
                outcomes = [error] * len(batch)
            with suppress(RuntimeError):  # the loop is closed: no one waits
                loop.call_soon_threadsafe(_settle, [result for _, _, result in batch], outcomes)

    def _next(self) -> list[_Waiting]:
        """Return the first request of every holder."""
        with self._lock:
            first: dict[str, _Waiting] = {}
            self._waiting = [one for one in self._waiting if first.setdefault(one[0], one) is not one]
            self._is_running = bool(first)
            return [*first.values()]


def _settle(results: "list[asyncio.Future[Rated]]", outcomes: Sequence[Rated | BaseException]) -> None:
    for result, outcome in zip(results, outcomes, strict=True):
        if result.done():  # the browser has gone
            continue
        if isinstance(outcome, BaseException):
            result.set_exception(outcome)
        else:
            result.set_result(outcome)
