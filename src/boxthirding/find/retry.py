"""Evaluations that are tried again: for networks, services and machines that fail now and then."""

import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

from boxthirding._checks import not_negative, whole
from boxthirding.errors import InvalidInput

Errors = type[Exception] | tuple[type[Exception], ...]


@dataclass(frozen=True)
class Retry:
    """Try an evaluation that raised an error again, each time after a longer wait.

    Parameters
    ----------
    times : int, default 3
        How often to try again.
    wait : float, default 1.0
        Seconds before the first new try.
    on : exception class or tuple of them, default (Exception,)
        Which errors to try again after; any other counts at once.
    backoff : float, default 2.0
        What the wait is multiplied by for each further try.
    longest : float, default 60.0
        Seconds that no wait exceeds.

    All tries of an evaluation are one pull of the budget.

    >>> list(Retry(times=4, wait=1.0, longest=5.0).waits())
    [1.0, 2.0, 4.0, 5.0]

    """

    times: int = 3
    wait: float = 1.0
    on: Errors = (Exception,)
    backoff: float = 2.0
    longest: float = 60.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", whole("times", self.times, least=1))
        object.__setattr__(self, "on", exception_classes("on", self.on))
        for name in ("wait", "backoff", "longest"):
            not_negative(name, getattr(self, name))

    def waits(self) -> Iterator[float]:
        """Return the seconds to wait before each new try."""
        wait = min(self.wait, self.longest)
        for _ in range(self.times):
            yield wait
            wait = min(wait * self.backoff, self.longest)


def exception_classes(name: str, given: Any) -> tuple[type[Exception], ...]:
    """Return exception classes as a tuple, or refuse by name what is none."""
    classes = given if isinstance(given, tuple | list) else (given,)
    for one in classes:
        if not (isinstance(one, type) and issubclass(one, Exception)):
            raise InvalidInput(
                f"{name} is {given!r}, but must be an exception class or a tuple of them: {name}=(TimeoutError,)"
            )
    return tuple(classes)


def call(
    retry: Retry | None,
    evaluate: Callable[..., Any],
    arguments: tuple[Any, ...],
    wait: Callable[[float], object] = time.sleep,
) -> Any:
    """Call a function, again if need be; where `wait` returns true, no further try is wanted."""
    if retry is None:
        return evaluate(*arguments)
    for seconds in retry.waits():
        try:
            return evaluate(*arguments)
        except retry.on:
            if wait(seconds):
                raise
    return evaluate(*arguments)


def called(retry: Retry, evaluate: Callable[..., Any], *arguments: Any) -> Any:
    """Do the same elsewhere: with its arguments one by one, so that an executor sees which of them are large."""
    return call(retry, evaluate, arguments)


async def call_async(retry: Retry | None, evaluate: Callable[..., Awaitable[Any]], arguments: tuple[Any, ...]) -> Any:
    """Await a coroutine function, again if need be."""
    import asyncio  # noqa: PLC0415  # takes its time to import

    if retry is None:
        return await evaluate(*arguments)
    for seconds in retry.waits():
        try:
            return await evaluate(*arguments)
        except retry.on:
            await asyncio.sleep(seconds)
    return await evaluate(*arguments)
