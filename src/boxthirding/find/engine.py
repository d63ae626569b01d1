"""How a search is carried out: with which function, by whom, how many evaluations at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeVar

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput
from boxthirding.executors import ExecutorAdapter, adapter_for
from boxthirding.find.executors import Futures, Inline, Post, Threads, Workers
from boxthirding.find.interrupts import Interrupts
from boxthirding.find.retry import Errors, exception_classes
from boxthirding.find.search import Search
from boxthirding.find.task import Outcome, Task

ON_ERROR: Final = ("raise", "withdraw")

_PATIENCE = 1.0  # seconds: where a wait cannot be interrupted, Ctrl-C is noticed this soon

Result = TypeVar("Result")


@dataclass(frozen=True)
class Engine:
    """A task, and who does it: the calling thread, threads, an executor, or the event loop."""

    task: Task
    workers: int
    executor: ExecutorAdapter | None = None
    on_error: str = "raise"
    catch: tuple[type[Exception], ...] = ()

    def carry_out(self, search: Search, conclude: Callable[[], Result]) -> Result:
        """Run a search to its end and return what `conclude` makes of it; Ctrl-C is held off until then."""
        if self.task.is_async:
            from boxthirding.find.awaiting import in_own_loop  # noqa: PLC0415  # asyncio takes its time to import

            return in_own_loop(self, search, conclude)
        inbox: SimpleQueue[Outcome | None] = SimpleQueue()

        def stop(at_once: bool) -> None:  # noqa: FBT001  # what Ctrl-C says
            search.press(at_once)
            inbox.put(None)

        with Interrupts(stop):
            workers = self.hired(inbox.put, search, may_block=True)
            try:
                while search.start(workers.submit):
                    search.take(_next(inbox, search.seconds_left))
            except KeyboardInterrupt:  # from a SIGINT handler of the caller's own
                search.leave()
            finally:
                workers.close()
            while not inbox.empty():
                search.take(inbox.get())
            return conclude()

    def refuse_running_loop(self, instead: str) -> None:
        """Refuse to wait for coroutines inside a running event loop, and name what can."""
        if self.task.is_async:
            from boxthirding.find.awaiting import refuse_running_loop  # noqa: PLC0415  # the same

            refuse_running_loop(instead)

    def hired(self, post: Post, search: Search, *, may_block: bool) -> Workers:
        """Return the workers for a plain function; in the calling thread only if nothing could be kept waiting."""
        if self.executor is not None:
            return Futures(self.task, post, self.executor)
        if self.workers == 1 and search.seconds_left is None and may_block:
            return Inline(self.task, post)
        return Threads(self.task, post, self.workers)


def engine(task: Task, workers: int | None, executor: Any, on_error: str, catch: Errors = ()) -> Engine:
    """Return a checked engine; without a number of workers, one, or as many as the executor has."""
    if on_error not in ON_ERROR:
        raise InvalidInput(f"on_error is {on_error!r}, but must be {' or '.join(ON_ERROR)}")
    if executor is not None:
        executor = adapter_for(executor)
        if task.is_async:
            raise InvalidInput("evaluate is a coroutine function, which an executor cannot run: leave executor out")
        executor.check(task.evaluate)
    if workers is None:
        workers = 1 if executor is None else executor.workers
    return Engine(task, whole("workers", workers, least=1), executor, on_error, exception_classes("catch", catch))


def _next(inbox: "SimpleQueue[Outcome | None]", seconds: float | None) -> Outcome | None:
    """Wait for the next outcome, or for a while."""
    try:
        return inbox.get(timeout=_PATIENCE if seconds is None else min(seconds, _PATIENCE))
    except Empty:
        return None
