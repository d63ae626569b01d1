"""Plans for those who make a study: one at a time, each in a process of its own, kept by what was asked."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from boxthirding.errors import InvalidInput
from boxthirding.planning import default_budgets
from boxthirding.service.problems import Refusal, TooMany

MOST_RATINGS: Final = 100_000
"""The largest budget unless one is given: people do not give more ratings, and a plan would take minutes."""

_FEW: Final = 100  # arms: the budgets are not less, as few arms also take some ratings to tell apart
_LONGEST: Final = 120  # seconds
_LOOK: Final = 0.2  # seconds between two looks whether a plan is still wanted
_WAITING: Final = 8  # plans that wait for their turn, or are made
_KEPT: Final = 200  # plans that are kept

Wanted = Callable[[], Awaitable[bool]]


class Planner:
    """Makes plans; used in the event loop alone."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._kept: dict[str, dict[str, Any]] = {}
        self._waiting = 0

    async def plan(self, asked: Mapping[str, Any], is_wanted: Wanted) -> dict[str, Any]:
        """Return a plan as plain values; the process that makes it ends when it is wanted no more."""
        given = {"budgets": _budgets(asked["arms"]) if asked.get("want") is None else None, **asked}
        name = json.dumps(given, sort_keys=True)
        if name not in self._kept:
            if self._waiting >= _WAITING:
                raise TooMany(f"{_WAITING} plans are being made already", 5)
            self._waiting += 1
            try:
                async with self._turn:
                    if name not in self._kept:
                        self._keep(name, await _made(name, is_wanted))
            finally:
                self._waiting -= 1
        found = self._kept[name]
        if "problem" in found:
            raise InvalidInput(found["problem"], advice=found["advice"])
        return found

    def _keep(self, name: str, made: dict[str, Any]) -> None:
        if len(self._kept) >= _KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[name] = made


async def _made(asked: str, is_wanted: Wanted) -> dict[str, Any]:
    if not await is_wanted():
        raise _given_up()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "boxthirding.service.plan_process"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    talk, ends = asyncio.ensure_future(process.communicate(asked.encode())), time.monotonic() + _LONGEST
    try:
        while not (await asyncio.wait([talk], timeout=_LOOK))[0]:
            if not await is_wanted():
                raise _given_up()
            if time.monotonic() > ends:
                raise Refusal(
                    422,
                    f"the plan takes longer than {_LONGEST} seconds here",
                    "plan for fewer arms or smaller budgets, or use `boxthirding plan` on a larger machine",
                )
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await asyncio.wait([talk])
    if process.returncode:
        raise Refusal(500, "the simulation ended without a plan", "look at what the server has printed")
    found: dict[str, Any] = json.loads(talk.result()[0])
    return found


def _budgets(arms: int) -> list[int]:
    """Return the budgets of a plan: from a tenth of the number of arms to ten times as many, within what people give.

    >>> _budgets(8), _budgets(20_000)
    ([10, 20, 50, 100, 200, 500, 1000], [2000, 4000, 10000, 20000, 40000, 100000])
    """
    return sorted({min(budget, MOST_RATINGS) for budget in default_budgets(max(arms, _FEW))})


def _given_up() -> Refusal:
    return Refusal(410, "the plan was given up: the one who asked has gone, or the server stops", "ask again")
