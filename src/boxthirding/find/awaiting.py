"""The same search in an event loop: coroutines are awaited side by side, plain functions run in threads."""

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any, TypeVar

from boxthirding.errors import InvalidInput
from boxthirding.find.engine import Engine
from boxthirding.find.executors import Post, Workers
from boxthirding.find.interrupts import LEAVE, Interrupts
from boxthirding.find.retry import call_async
from boxthirding.find.search import Search
from boxthirding.find.task import Outcome, Task
from boxthirding.session import Ticket

_GRACE = 1.0  # seconds for cancelled evaluations to tidy up
_BLOCKING = 0.1  # seconds without an await, after which the second Ctrl-C breaks a coroutine off where it is

Result = TypeVar("Result")


class Coroutines:
    """Evaluates coroutine functions as tasks of the running loop."""

    def __init__(self, task: Task, post: Post) -> None:
        self._task, self._post = task, post
        self._tasks: set[asyncio.Task[None]] = set()

    def submit(self, ticket: Ticket) -> None:
        """Start a ticket's evaluation."""
        task = asyncio.get_running_loop().create_task(self._evaluate(ticket))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Cancel what is running."""
        for task in list(self._tasks):
            task.cancel()

    async def settle(self) -> None:
        """Give what was cancelled a moment to tidy up."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_GRACE)

    async def _evaluate(self, ticket: Ticket) -> None:
        try:
            outcome = Outcome(ticket, await _breakable(self._call(ticket)), None)
        except asyncio.CancelledError as error:
            outcome = Outcome(ticket, None, RuntimeError(f"evaluate was cancelled {error}".strip()))
        except BaseException as error:  # noqa: BLE001  # the search decides; raised here, some would stop the loop
            outcome = Outcome(ticket, None, error)
        self._post(outcome)

    async def _call(self, ticket: Ticket) -> Any:
        return await call_async(self._task.retry, self._task.evaluate, self._task.arguments(ticket))


@types.coroutine
def _breakable(coroutine: Coroutine[Any, Any, Any]) -> Generator[Any, Any, Any]:
    """Run a coroutine step by step, so that a second Ctrl-C can interrupt one that blocks the loop."""
    error: BaseException | None = None
    while True:
        try:
            with Interrupts.breakable(_BLOCKING, LEAVE):
                awaited = coroutine.send(None) if error is None else coroutine.throw(error)
        except StopIteration as end:
            return end.value
        try:
            yield awaited  # asyncio sends nothing back: a future is asked for its result
            error = None
        except GeneratorExit:  # both are garbage, and the coroutine may have been collected first
            coroutine.close()
            raise
        except BaseException as thrown:  # noqa: BLE001  # into the coroutine
            error = thrown


async def carry_out(engine: Engine, search: Search, conclude: Callable[[], Result]) -> Result:
    """Run a search to its end in the running loop; cancelling this cancels the evaluations, and is passed on."""
    loop = asyncio.get_running_loop()
    inbox: asyncio.Queue[Outcome | None] = asyncio.Queue()

    def post(outcome: Outcome | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: a thread we did not wait for comes too late
            loop.call_soon_threadsafe(inbox.put_nowait, outcome)

    def stop(at_once: bool) -> None:  # noqa: FBT001  # what Ctrl-C says
        search.press(at_once)
        post(None)

    with Interrupts(stop):
        coroutines = Coroutines(engine.task, post)
        workers: Workers = coroutines if engine.task.is_async else engine.hired(post, search, may_block=False)
        try:
            while search.start(workers.submit):
                search.take(await _next(inbox, search.seconds_left))
        finally:
            workers.close()
        await coroutines.settle()
        while not inbox.empty():
            search.take(inbox.get_nowait())
        return conclude()


def refuse_running_loop(instead: str) -> None:
    """Refuse to make a loop where one is running already."""
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise InvalidInput(f"evaluate is a coroutine function, and an event loop is running here: use await {instead}")


def in_own_loop(engine: Engine, search: Search, conclude: Callable[[], Result]) -> Result:
    """Run a search to its end in a loop made for it; evaluations that hang are left behind."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(carry_out(engine, search, conclude))
    except KeyboardInterrupt:  # from a SIGINT handler of the caller's own
        search.leave()
        return conclude()
    finally:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            _, ignoring = loop.run_until_complete(asyncio.wait(left, timeout=_GRACE))
            for task in ignoring:
                task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001  # as asyncio.gather does
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()  # does not wait for threads of its executor, where asyncio.run would


async def _next(inbox: "asyncio.Queue[Outcome | None]", seconds: float | None) -> Outcome | None:
    try:
        async with asyncio.timeout(seconds):
            return await inbox.get()
    except TimeoutError:
        return None
