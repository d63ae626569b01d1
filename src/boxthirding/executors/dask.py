"""Dask: its client as an executor that sends large objects once and gives up a cluster that has lost all workers.

distributed's own `Client.get_executor()` does neither, and a future of it whose result cannot be unpickled never ends.
Nothing is imported here: the caller made the client with the package that it belongs to.
"""

import pickle
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, InvalidStateError
from contextlib import suppress
from typing import Any, Final

from boxthirding.errors import InvalidInput
from boxthirding.executors.adapter import ExecutorAdapter

PATIENCE: Final = 60.0  # seconds after which a cluster without workers is given up

_LARGE: Final = 10_000  # bytes from which an object is sent once, and not with every evaluation
_LOOK: Final = 1.0  # seconds between two looks at the workers of a cluster


def client_of(executor: Any) -> Any:
    """Return the Dask client that an executor is or belongs to, or None if it is not Dask's."""
    if "distributed" not in sys.modules or type(executor).__module__.partition(".")[0] != "distributed":
        return None
    return executor if hasattr(executor, "scatter") else getattr(executor, "_client", None)


class DaskAdapter(ExecutorAdapter):
    """A Dask client as an executor.

    A large function, arm or example becomes a task of its own, on which the evaluations depend. Unlike scattered data,
    it outlives the workers that hold it, because the scheduler can run the task again.
    """

    def __init__(self, client: Any) -> None:
        if client.status in ("closing", "closed"):
            raise InvalidInput(f"the Dask client is {client.status}, but must be connected: make a new one, Client(…)")
        if client.asynchronous:
            raise InvalidInput(
                "the Dask client is asynchronous, but must be synchronous: create it with Client(…) "
                "without asynchronous=True"
            )
        super().__init__(client)
        self._client = client
        # By the id of an object: the object, and the task or object to pass.
        self._sent: dict[int, tuple[Any, Any]] = {}
        self._on_all: list[Any] = []  # tasks whose result every worker must hold
        self._running: set[Future[Any]] = set()
        self._lock = threading.Lock()
        self._watch: threading.Thread | None = None

    @property
    def workers(self) -> int:
        """How many threads the workers of the cluster have now."""
        threads = sum(self._client.nthreads().values())
        if not threads:
            raise InvalidInput(
                "the cluster has no workers yet, so that their number is not known: wait for them with "
                "client.wait_for_workers(1), or give workers="
            )
        return int(threads)

    def submit(self, function: Callable[..., Any], /, *arguments: Any) -> "Future[Any]":
        """Run a function on the cluster; raise `BrokenExecutor` if the client is closed."""
        parts = [self._part(part) for part in arguments]
        # A task goes to a worker that holds its large parts. So that this may be any, all hold the function.
        has_large = any(part is not given for part, given in zip(parts, arguments, strict=True))
        parts.insert(0, self._part(function, on_all=True, always=has_large))
        try:
            task = self._client.submit(_call, *parts, pure=False)  # pure calls with equal arguments would be run once
        except RuntimeError as error:
            raise BrokenExecutor(str(error)) from error
        future: Future[Any] = Future()
        with self._lock:
            self._running.add(future)
            if self._watch is None:
                self._watch = threading.Thread(target=self._watch_workers, name="find_best-cluster", daemon=True)
                self._watch.start()
        future.add_done_callback(lambda done: task.cancel() if done.cancelled() else None)
        task.add_done_callback(lambda _: self._finish(future, task))
        return future

    def _part(self, value: Any, *, on_all: bool = False, always: bool = False) -> Any:
        """Return a value, or the task that stands for it, if it is large or `always` must be one."""
        if value is None or isinstance(value, int | float) or (isinstance(value, str) and len(value) < _LARGE):
            return value
        if id(value) not in self._sent or (always and self._sent[id(value)][1] is value):
            part = value
            if always or _size(value) > _LARGE:
                with warnings.catch_warnings():
                    warnings.filterwarnings("ignore", "Sending large graph")  # it is sent once
                    part = self._client.submit(_identity, value, pure=False)
                if on_all:
                    self._on_all.append(part)
                    part.add_done_callback(lambda _: self._replicate())  # without waiting for the first worker
            self._sent[id(value)] = value, part
        return self._sent[id(value)][1]

    def _finish(self, future: "Future[Any]", task: Any) -> None:
        """Set the result or the error of a future when its task has ended."""
        with self._lock:
            self._running.discard(future)
        result, error = None, None
        try:
            if task.status == "finished":
                result = task.result()
            elif task.status == "error":
                error = task.exception()
            else:
                error = BrokenExecutor(f"the cluster has given up an evaluation: it is {task.status}")
        except Exception as trouble:  # noqa: BLE001  # the result cannot be fetched
            error = trouble
        with suppress(InvalidStateError):  # cancelled or given up meanwhile
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def _watch_workers(self) -> None:
        """Give up running evaluations when the cluster has been without workers for too long."""
        alone_since: float | None = None
        known = self._addresses()
        while True:
            time.sleep(_LOOK)
            with self._lock:
                if not self._running:
                    self._watch = None
                    return
            if workers := self._addresses():
                alone_since = None
                if workers - known:
                    self._replicate()
                known = workers
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since >= PATIENCE:
                with self._lock:
                    running, self._running = self._running, set()
                for future in running:
                    with suppress(InvalidStateError):  # it has just ended
                        future.set_exception(BrokenExecutor(f"the cluster has had no workers for {PATIENCE:g} seconds"))

    def _replicate(self) -> None:
        """Copy what every worker must hold to those that lack it."""
        if self._on_all:
            with suppress(Exception):  # if the cluster is in trouble, evaluations fail and say so
                self._client.replicate(self._on_all)

    def _addresses(self) -> set[str]:
        """Return the addresses of the workers, or none if the cluster does not answer."""
        try:
            return set(self._client.nthreads())
        except Exception:  # noqa: BLE001  # whatever keeps it from answering
            return set()


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function on a worker, where tasks that stand for large values have become those values."""
    return function(*arguments)


def _identity(value: Any) -> Any:
    return value


def _size(value: Any) -> int:
    """Return how many bytes a pickled value has; refuse one that cannot be pickled."""
    try:
        return len(sys.modules["distributed"].protocol.pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL))
    except Exception as error:
        raise InvalidInput(
            f"{type(value).__name__} cannot be sent to the cluster ({error}): give something that can be pickled, and "
            "let evaluate make the rest of it"
        ) from error
