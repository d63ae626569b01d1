"""What evaluates tickets: the calling thread, threads of our own, or an executor of the caller's."""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from queue import SimpleQueue
from typing import Any, Protocol

from boxthirding.executors import ExecutorAdapter
from boxthirding.find.interrupts import LEAVE, Interrupts
from boxthirding.find.retry import called
from boxthirding.find.task import Outcome, Task, outcome_of
from boxthirding.session import Ticket

Post = Callable[[Outcome], None]
"""Takes an outcome, from any thread."""


class Workers(Protocol):
    """What evaluates tickets, and posts the outcomes."""

    def submit(self, ticket: Ticket) -> None:
        """Have a ticket evaluated."""

    def close(self) -> None:
        """Give up what has not begun, and wait for nothing."""


class Inline:
    """Evaluates in the calling thread, one ticket at a time."""

    def __init__(self, task: Task, post: Post) -> None:
        self._task, self._post = task, post

    def submit(self, ticket: Ticket) -> None:
        """Evaluate a ticket now."""
        try:
            with Interrupts.breakable(presses=LEAVE):
                outcome = outcome_of(self._task, ticket)
        except KeyboardInterrupt as stop:  # between the end of the evaluation and ours
            outcome = Outcome(ticket, None, stop)
        self._post(outcome)

    def close(self) -> None:
        """Do nothing: nothing is running."""


class Threads:
    """Evaluates in daemon threads: one that hangs can delay neither our return nor the end of the program."""

    def __init__(self, task: Task, post: Post, workers: int) -> None:
        self._task, self._post, self._workers = task, post, workers
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
        """Let every thread end when its evaluation does, and wait for no new try."""
        self._closed.set()
        for _ in range(self._running):
            self._tickets.put(None)

    def _work(self) -> None:
        while (ticket := self._tickets.get()) is not None:
            self._post(outcome_of(self._task, ticket, self._closed.wait))


class Futures:
    """Evaluates with an executor, which stays the caller's: it is not shut down."""

    def __init__(self, task: Task, post: Post, executor: ExecutorAdapter) -> None:
        self._task, self._post, self._executor = task, post, executor
        self._futures: set[Future[Any]] = set()

    def submit(self, ticket: Ticket) -> None:
        """Submit a ticket's evaluation."""
        try:
            arguments = self._task.arguments(ticket)
            future = self._submitted(arguments)
        except Exception as error:  # noqa: BLE001  # what cannot be had, or not be sent, is a failed evaluation
            self._post(Outcome(ticket, None, error))
        else:
            self._futures.add(future)
            future.add_done_callback(lambda done: self._done(ticket, done))

    def close(self) -> None:
        """Cancel what has not begun."""
        for future in list(self._futures):
            future.cancel()

    def _submitted(self, arguments: tuple[Any, ...]) -> Future[Any]:
        evaluate, retry = self._task.evaluate, self._task.retry
        work = (evaluate, *arguments) if retry is None else (called, retry, evaluate, *arguments)
        return self._executor.submit(*work)

    def _done(self, ticket: Ticket, future: Future[Any]) -> None:
        self._futures.discard(future)
        try:
            error = future.exception()
        except CancelledError as cancelled:
            error = cancelled
        self._post(Outcome(ticket, future.result() if error is None else None, error))
