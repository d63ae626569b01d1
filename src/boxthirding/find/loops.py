"""The loops that run a search: in the calling thread, in threads, with an executor, or in an event loop.

asyncio is imported where it is used, as that takes longer than all else that a search of plain functions imports.
"""

import threading
import types
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Protocol, Self, TypeVar

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput
from boxthirding.executors import ExecutorAdapter, adapter_for
from boxthirding.find.evaluation import Errors, Evaluation, Outcome, exception_classes
from boxthirding.find.interrupts import LEAVE, Interrupts
from boxthirding.find.search import Search
from boxthirding.session import Ticket

if TYPE_CHECKING:
    import asyncio

ON_ERROR: Final = ("raise", "withdraw")

_PATIENCE = 1.0  # seconds after which Ctrl-C is noticed where a wait cannot be interrupted
_GRACE = 1.0  # seconds for cancelled evaluations to clean up
_BLOCKING = 0.1  # seconds without an await, after which the second Ctrl-C interrupts a coroutine

Result = TypeVar("Result")
Post = Callable[[Outcome], None]  # takes an outcome, from any thread


class Evaluator(Protocol):
    """Evaluates tickets, and posts the outcomes."""

    def submit(self, ticket: Ticket) -> None:
        """Evaluate a ticket, now or later."""

    def close(self) -> None:
        """Cancel what has not begun, and wait for nothing."""


class Inline:
    """Evaluates in the calling thread, one ticket at a time."""

    def __init__(self, evaluation: Evaluation, post: Post) -> None:
        self._evaluation, self._post = evaluation, post

    def submit(self, ticket: Ticket) -> None:
        """Evaluate a ticket now."""
        try:
            with Interrupts.breakable(presses=LEAVE):
                outcome = self._evaluation.outcome(ticket)
        except KeyboardInterrupt as stop:  # between the end of the evaluation and that of the block
            outcome = Outcome(ticket, None, stop)
        self._post(outcome)

    def close(self) -> None:
        """Do nothing: nothing is running."""


class Threads:
    """Evaluates in daemon threads: one that hangs can delay neither the result nor the end of the program."""

    def __init__(self, evaluation: Evaluation, post: Post, workers: int) -> None:
        self._evaluation, self._post, self._workers = evaluation, post, workers
        self._tickets: SimpleQueue[Ticket | None] = SimpleQueue()
        self._running = 0
        self._closed = threading.Event()

    def submit(self, ticket: Ticket) -> None:
        """Hand a ticket to a thread."""
        if self._running < self._workers:
            self._running += 1
            threading.Thread(target=self._work, name=f"find_best-{self._running}", daemon=True).start()
        self._tickets.put(ticket)

    def close(self) -> None:
        """Let every thread end after its evaluation, without another attempt."""
        self._closed.set()
        for _ in range(self._running):
            self._tickets.put(None)

    def _work(self) -> None:
        while (ticket := self._tickets.get()) is not None:
            self._post(self._evaluation.outcome(ticket, self._closed.wait))


class OnExecutor:
    """Evaluates with an executor."""

    def __init__(self, evaluation: Evaluation, post: Post, executor: ExecutorAdapter) -> None:
        self._evaluation, self._post, self._executor = evaluation, post, executor
        self._futures: set[Future[Any]] = set()

    def submit(self, ticket: Ticket) -> None:
        """Submit the evaluation of a ticket."""
        try:
            future = self._executor.submit(*self._evaluation.work(ticket))
        except Exception as error:  # noqa: BLE001  # an example that is missing, or an arm that cannot be sent
            self._post(Outcome(ticket, None, error))
        else:
            self._futures.add(future)
            future.add_done_callback(lambda done: self._done(ticket, done))

    def close(self) -> None:
        """Cancel what has not begun."""
        for future in list(self._futures):
            future.cancel()

    def _done(self, ticket: Ticket, future: "Future[Any]") -> None:
        self._futures.discard(future)
        try:
            error = future.exception()
        except CancelledError as cancelled:
            error = cancelled
        self._post(Outcome(ticket, future.result() if error is None else None, error))


class Coroutines:
    """Evaluates with a coroutine function, in tasks of an event loop."""

    def __init__(self, evaluation: Evaluation, post: Post, loop: "asyncio.AbstractEventLoop") -> None:
        self._evaluation, self._post, self._loop = evaluation, post, loop
        self.tasks: set[asyncio.Task[None]] = set()

    def submit(self, ticket: Ticket) -> None:
        """Start the evaluation of a ticket."""
        task = self._loop.create_task(self._evaluate(ticket))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def close(self) -> None:
        """Cancel what is running."""
        for task in list(self.tasks):
            task.cancel()

    async def _evaluate(self, ticket: Ticket) -> None:
        import asyncio  # noqa: PLC0415  # see above

        try:
            outcome = Outcome(ticket, await _breakable(self._evaluation.awaited(ticket)), None)
        except asyncio.CancelledError as error:
            outcome = Outcome(ticket, None, RuntimeError(f"evaluate was cancelled {error}".strip()))
        except BaseException as error:  # noqa: BLE001  # the search decides; raised here, some would stop the loop
            outcome = Outcome(ticket, None, error)
        self._post(outcome)


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


@dataclass(frozen=True)
class Engine:
    """How a search is run: what evaluates an arm, where, and how many evaluations at a time."""

    evaluation: Evaluation
    workers: int
    executor: ExecutorAdapter | None = None
    on_error: str = "raise"
    catch: tuple[type[Exception], ...] = ()

    @classmethod
    def checked(cls, evaluation: Evaluation, workers: int | None, executor: Any, on_error: str, catch: Errors) -> Self:
        """Return an engine; the default for `workers` is as many as the executor has, or one."""
        if on_error not in ON_ERROR:
            raise InvalidInput(f"on_error is {on_error!r}, but must be {' or '.join(ON_ERROR)}")
        if executor is not None:
            executor = adapter_for(executor)
            if evaluation.is_async:
                raise InvalidInput("evaluate is a coroutine function, which an executor cannot run: leave executor out")
            executor.check(evaluation.evaluate)
        if workers is None:
            workers = 1 if executor is None else executor.workers
        return cls(
            evaluation, whole("workers", workers, least=1), executor, on_error, exception_classes("catch", catch)
        )

    def run(self, search: Search, conclude: Callable[[], Result]) -> Result:
        """Run a search to its end, and return what `conclude` returns; Ctrl-C is held off until then."""
        if self.evaluation.is_async:
            return self._run_in_new_loop(search, conclude)
        inbox: SimpleQueue[Outcome | None] = SimpleQueue()

        def interrupt(abandon: bool) -> None:  # noqa: FBT001  # as Interrupts calls it
            search.interrupt(abandon=abandon)
            inbox.put(None)

        with Interrupts(interrupt):
            evaluator = self._evaluator(inbox.put, search, may_block=True)
            try:
                while search.step(evaluator.submit):
                    left = search.seconds_left
                    try:
                        outcome = inbox.get(timeout=_PATIENCE if left is None else min(left, _PATIENCE))
                    except Empty:
                        continue
                    if outcome is not None:
                        search.record(outcome)
            except KeyboardInterrupt:  # from a SIGINT handler of the caller
                search.interrupt(abandon=True)
            finally:
                evaluator.close()
            while not inbox.empty():
                if (outcome := inbox.get()) is not None:
                    search.record(outcome)
            return conclude()

    async def run_async(self, search: Search, conclude: Callable[[], Result]) -> Result:
        """Run a search to its end in the running loop; if this is cancelled, so are the evaluations."""
        import asyncio  # noqa: PLC0415  # see above

        loop = asyncio.get_running_loop()
        inbox: asyncio.Queue[Outcome | None] = asyncio.Queue()

        def post(outcome: Outcome | None) -> None:
            with suppress(RuntimeError):  # the loop is closed: a thread that was not waited for comes too late
                loop.call_soon_threadsafe(inbox.put_nowait, outcome)

        def interrupt(abandon: bool) -> None:  # noqa: FBT001  # as Interrupts calls it
            search.interrupt(abandon=abandon)
            post(None)

        with Interrupts(interrupt):
            coroutines = Coroutines(self.evaluation, post, loop)
            evaluator = coroutines if self.evaluation.is_async else self._evaluator(post, search, may_block=False)
            try:
                while search.step(evaluator.submit):
                    with suppress(TimeoutError):
                        async with asyncio.timeout(search.seconds_left):
                            outcome = await inbox.get()
                        if outcome is not None:
                            search.record(outcome)
            finally:
                evaluator.close()
            if coroutines.tasks:
                await asyncio.wait(coroutines.tasks, timeout=_GRACE)
            while not inbox.empty():
                if (outcome := inbox.get_nowait()) is not None:
                    search.record(outcome)
            return conclude()

    def _run_in_new_loop(self, search: Search, conclude: Callable[[], Result]) -> Result:
        """Run a search to its end in a new event loop; evaluations that hang are abandoned."""
        import asyncio  # noqa: PLC0415  # see above

        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(self.run_async(search, conclude))
        except KeyboardInterrupt:  # from a SIGINT handler of the caller
            search.interrupt(abandon=True)
            return conclude()
        finally:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            if left:
                _, ignoring = loop.run_until_complete(asyncio.wait(left, timeout=_GRACE))
                for task in ignoring:
                    task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001  # as asyncio.gather
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()  # does not wait for the threads of its executor, as asyncio.run would

    def refuse_running_loop(self, instead: str) -> None:
        """Raise inside a running event loop, and name the function that can be awaited there."""
        if self.evaluation.is_async:
            import asyncio  # noqa: PLC0415  # see above

            with suppress(RuntimeError):
                asyncio.get_running_loop()
                raise InvalidInput(f"evaluate is a coroutine function and an event loop is running: await {instead}")

    def _evaluator(self, post: Post, search: Search, *, may_block: bool) -> Evaluator:
        """Return what evaluates a plain function; in the calling thread only if that delays nothing else."""
        if self.executor is not None:
            return OnExecutor(self.evaluation, post, self.executor)
        if self.workers == 1 and search.seconds_left is None and may_block:
            return Inline(self.evaluation, post)
        return Threads(self.evaluation, post, self.workers)
