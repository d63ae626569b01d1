"""Executors of other machines: a Dask `Client` as an executor, and how many evaluations an executor runs at a time.

Nothing is imported here: a client was made by the caller, with the package that it belongs to.
"""

import os
import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, Final

from boxthirding.errors import InvalidInput

PATIENCE: Final = 60.0
"""Seconds for which a cluster may have no workers, before what it runs is given up."""

_LARGE: Final = 10_000  # bytes: what is larger is sent to the cluster once, and not with every evaluation
_LOOK: Final = 1.0  # seconds between two looks at the workers of a cluster


def as_executor(given: Any) -> Any:
    """Return a Dask client, or its executor, as an executor of ours; anything else as it is."""
    if not is_dask(given):
        return given
    client = given if hasattr(given, "scatter") else getattr(given, "_client", None)
    if client is None:
        return given
    if client.status in ("closing", "closed"):
        raise InvalidInput(f"the Dask client is {client.status}, but must be connected: make a new one, Client(…)")
    if client.asynchronous:
        raise InvalidInput(
            "the Dask client is asynchronous, but must be one that can be waited for: make another one, Client(…) "
            "without asynchronous=True"
        )
    return DaskExecutor(client)


def is_dask(given: object) -> bool:
    """Tell whether something is of the package distributed."""
    return "distributed" in sys.modules and type(given).__module__.partition(".")[0] == "distributed"


def workers_of(executor: Executor) -> int:
    """Return how many evaluations an executor runs at a time: for one that does not say, the cores of this machine."""
    if isinstance(executor, DaskExecutor):
        return executor.workers()
    return getattr(executor, "_max_workers", None) or os.cpu_count() or 1


class DaskExecutor(Executor):
    """A Dask client as an executor: what is large is sent once, and a cluster without workers is given up.

    A function, an arm or an example that is large becomes a task of its own, which the others depend on. The scheduler
    can run it again, so it outlives the workers that hold it, as scattered data would not.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._sent: dict[int, tuple[Any, Any]] = {}  # by the id of an object: that, and what stands for it
        self._on_all: list[Any] = []  # of those, what every worker must have
        self._running: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._watch: threading.Thread | None = None

    def workers(self) -> int:
        """Return how many threads the workers of the cluster have by now."""
        threads = sum(self._client.nthreads().values())
        if not threads:
            raise InvalidInput(
                "the cluster has no workers yet, so that their number is not known: wait for them with "
                "client.wait_for_workers(1), or give workers="
            )
        return int(threads)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run a function on the cluster."""
        arguments = [self._part(part) for part in args]
        # A task goes to a worker that has something large of it: so that this may be any, the function is on all.
        has_large = any(is_dask(part) for part in arguments)
        parts = [self._part(partial(fn, **kwargs) if kwargs else fn, on_all=True, always=has_large), *arguments]
        try:
            # Dask takes two calls with the same arguments for the same call, unless it is told that they are not.
            task = self._client.submit(_call, *parts, pure=False)
        except RuntimeError as error:  # the client is closed
            raise BrokenExecutor(str(error)) from error
        future = _Cancelling(task)
        with self._lock:
            self._running.add(future)
            if self._watch is None:
                self._watch = threading.Thread(target=self._look_after, name="find_best-cluster", daemon=True)
                self._watch.start()
        task.add_done_callback(lambda done: self._end(future, done))
        return future

    def _part(self, value: Any, *, on_all: bool = False, always: bool = False) -> Any:
        """Return a value as a task is given it: itself, or what stands for it, if it is large or is `always` to be."""
        if value is None or isinstance(value, int | float) or (isinstance(value, str) and len(value) < _LARGE):
            return value
        if id(value) not in self._sent or (always and self._sent[id(value)][1] is value):
            stands = value
            if always or _size(value) > _LARGE:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", "Sending large graph")  # it is large, and goes out once
                    stands = self._client.submit(_itself, value, pure=False)
                if on_all:
                    self._on_all.append(stands)
                    stands.add_done_callback(lambda _: self._spread())  # without waiting: there may be no worker yet
            self._sent[id(value)] = value, stands
        return self._sent[id(value)][1]

    def _end(self, future: "Future[Any]", task: Any) -> None:
        """Pass on what became of a task."""
        with self._lock:
            self._running.discard(future)
        try:
            outcome, error = (task.result(), None) if task.status == "finished" else (None, _error_of(task))
        except Exception as trouble:  # noqa: BLE001  # what was computed cannot be fetched
            outcome, error = None, trouble
        with suppress(InvalidStateError):  # it was cancelled or given up meanwhile
            if error is None:
                future.set_result(outcome)
            else:
                future.set_exception(error)

    def _look_after(self) -> None:
        """End what runs when the cluster has had no workers for a while: Dask would wait for ever."""
        alone_since: float | None = None
        known = self._workers()
        while True:
            time.sleep(_LOOK)
            with self._lock:
                if not self._running:
                    self._watch = None
                    return
            if workers := self._workers():
                alone_since = None
                if workers - known and self._on_all:
                    self._spread()
                known = workers
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since >= PATIENCE:
                self._give_up(f"the cluster has had no workers for {PATIENCE:g} seconds")

    def _spread(self) -> None:
        """Have the cluster copy what every worker must have to those that lack it."""
        with suppress(Exception):  # a cluster in trouble: evaluations will tell
            self._client.replicate(self._on_all)

    def _workers(self) -> set[str]:
        """Return the addresses of the workers there are; none, where the cluster does not answer."""
        try:
            return set(self._client.nthreads())
        except Exception:  # noqa: BLE001  # whatever keeps it from answering
            return set()

    def _give_up(self, why: str) -> None:
        with self._lock:
            running, self._running = self._running, set()
        for future in running:
            with suppress(InvalidStateError):  # it has just ended
                future.set_exception(BrokenExecutor(why))


class _Cancelling(Future[Any]):
    """A future that cancels the task that it stands for."""

    def __init__(self, task: Any) -> None:
        super().__init__()
        self._task = task

    def cancel(self) -> bool:
        """Cancel the task, if it has not ended."""
        if super().cancel():
            self._task.cancel()
            return True
        return False


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function: on a worker, where what stands for large values has become those."""
    return function(*arguments)


def _error_of(task: Any) -> BaseException:
    """Return why a task has no result."""
    if task.status == "error":
        return task.exception()  # type: ignore[no-any-return]  # Dask's
    return BrokenExecutor(f"the cluster has given up an evaluation: it is {task.status}")


def _itself(value: Any) -> Any:
    return value


def _size(value: Any) -> int:
    """Return how many bytes a value takes on its way; refuse one that cannot go."""
    try:
        return len(sys.modules["distributed"].protocol.pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
    except Exception as error:
        raise InvalidInput(
            f"{type(value).__name__} cannot be sent to the cluster ({error}): give something that can be pickled, and "
            "let evaluate make the rest of it"
        ) from error
