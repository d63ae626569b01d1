"""What reading costs at 100,000 pulls: a view, an ask beside a reader, and another policy that takes a session over."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from boxthirding import Session
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Settings, Study

PULLS = 100_000
ARMS = 1_000_000
ASKS = 4_000


def measure() -> Iterator[dict[str, Any]]:
    """Measure the default policy, uniform sampling, which tries as many arms as there are pulls, and the paper's."""
    for policy in ("chase", "us", "b3"):
        session = _played(Session(ARMS, policy))
        yield {
            "what": f"view() of {policy} at {PULLS:,} pulls, {session.view().tried:,} arms tried",
            "milliseconds": round(1000 * min(_timed(session.view) for _ in range(5)), 2),
            "at most": 5,
        }
        seconds = _timed(lambda session=session: session.use("chase"))
        yield {
            "what": f"chase takes over {PULLS:,} results of {policy}",
            "milliseconds": round(1000 * seconds),
            "at most": 3_000,
        }
    study = Study("bench", MemoryJournal(), Settings(ARMS))
    _played(study, 20_000)
    alone = _slowest(study)
    stop = threading.Event()
    reader = threading.Thread(target=_read, args=(study, stop), daemon=True)
    reader.start()
    beside = _slowest(study)
    stop.set()
    reader.join()
    yield {
        "what": "what a reader in a loop adds to the 99th percentile of ask",
        "milliseconds": round(1000 * (beside - alone), 2),
        "alone": round(1000 * alone, 2),
        "at most": 5,
    }


def _played(session: Any, pulls: int = PULLS) -> Any:
    draw = random.Random(1)  # noqa: S311  # a simulation
    quality: dict[Any, float] = {}
    for _ in range(pulls):
        (ticket,) = session.ask()
        session.tell(ticket, quality.setdefault(ticket.label, draw.random()) + draw.gauss(0, 0.3))
    return session


def _slowest(study: Study) -> float:
    """Return the 99th percentile of the seconds that an ask takes."""
    times = []
    for _ in range(ASKS):
        began = time.perf_counter()
        (ticket,) = study.ask()
        times.append(time.perf_counter() - began)
        study.tell(ticket, 0.5)
    return sorted(times)[int(0.99 * ASKS)]


def _read(study: Study, stop: threading.Event) -> None:
    while not stop.is_set():
        study.view()


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
