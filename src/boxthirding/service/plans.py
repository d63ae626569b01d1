"""Plans for those who make a study: one at a time, in a worker process, and remembered by what was asked."""

import asyncio
import json
import os
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any, Final

from anyio import to_process

from boxthirding.errors import BoxThirdingError, InvalidInput
from boxthirding.planning import default_budgets, plan
from boxthirding.service.problems import Refusal, TooMany

MOST_RATINGS: Final = 100_000
"""The largest budget unless one is given: people do not give more ratings, and a plan would take minutes."""

_FEW: Final = 100  # arms below which the budgets do not shrink further: few arms also take some ratings to tell apart
_LONGEST: Final = 120  # seconds
_POLL: Final = 0.2  # seconds between two checks that a plan is still wanted
_WAITING: Final = 8  # plans that wait for their turn, or are being made
_KEPT: Final = 200  # plans that are remembered
_NICENESS: Final = 10  # of 19: ratings come first

Wanted = Callable[[], Awaitable[bool]]


class Planner:
    """Makes plans; used in the event loop alone."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._kept: dict[str, dict[str, Any]] = {}
        self._waiting = 0

    async def plan(self, asked: Mapping[str, Any], is_wanted: Wanted) -> dict[str, Any]:
        """Return a plan as plain values; its process is killed once the plan is no longer wanted."""
        given = {"budgets": _budgets(asked["arms"]) if asked.get("want") is None else None, **asked}
        name = json.dumps(given, sort_keys=True)
        if name not in self._kept:
            if self._waiting >= _WAITING:
                raise TooMany(f"{_WAITING} plans are being made already", 5)
            self._waiting += 1
            try:
                async with self._turn:
                    if name not in self._kept:
                        found = await _in_process(given, is_wanted)
                        if len(self._kept) >= _KEPT:
                            del self._kept[next(iter(self._kept))]
                        self._kept[name] = found
            finally:
                self._waiting -= 1
        found = self._kept[name]
        if "problem" in found:
            raise InvalidInput(found["problem"], advice=found["advice"])
        return found


async def _in_process(asked: Mapping[str, Any], is_wanted: Wanted) -> dict[str, Any]:
    """Make a plan in anyio's worker process, which is killed on cancellation and when the event loop ends."""
    task = asyncio.ensure_future(to_process.run_sync(_in_worker, asked, os.getpid(), cancellable=True))
    ends = time.monotonic() + _LONGEST
    try:
        while not (await asyncio.wait([task], timeout=_POLL))[0]:
            if not await is_wanted():
                raise Refusal(410, "the plan was given up: the client has gone, or the server stops", "ask again")
            if time.monotonic() > ends:
                raise Refusal(
                    422,
                    f"the plan takes longer than {_LONGEST} seconds here",
                    "plan for fewer arms or smaller budgets, or use `boxthirding plan` on a larger machine",
                )
    finally:
        task.cancel()
        await asyncio.wait([task])
    return task.result()


def _in_worker(asked: Mapping[str, Any], server: int) -> dict[str, Any]:
    _attach(server)
    return planned(asked)


def planned(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return a plan as plain values, or what is wrong with what is asked."""
    try:
        found = plan(**asked)
    except BoxThirdingError as error:
        return {"problem": error.problem, "advice": error.advice}
    rows = [{**row.as_dict(), "percentile_9_of_10": row.percentile_9_of_10, "ratio": row.ratio} for row in found.rows]
    granted = [one.as_dict() | {"ratio": one.row.ratio} for one in found.granted]
    known = asdict(found.known)
    return {"arms": found.arms, "known": known, "rows": rows, "granted": granted, "notes": list(found.notes)}


@cache
def _attach(server: int) -> None:
    """Lower the priority of this process, and end it when the server has ended."""

    def watch() -> None:
        while os.getppid() == server:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)


def _budgets(arms: int) -> list[int]:
    """Return the budgets of a plan: from a tenth of the number of arms to ten times as many, within what people give.

    >>> _budgets(8), _budgets(20_000)
    ([10, 20, 50, 100, 200, 500, 1000], [2000, 4000, 10000, 20000, 40000, 100000])
    """
    return sorted({min(budget, MOST_RATINGS) for budget in default_budgets(max(arms, _FEW))})
