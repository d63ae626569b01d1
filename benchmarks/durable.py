"""Durable ask and tell on SQLite, beside Optuna's storages; then what a study of 1,000,000 events costs."""

import gc
import tempfile
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from boxthirding import open_study
from boxthirding.storage.memory import MemoryJournal
from boxthirding.storage.sqlite import SqliteJournal
from boxthirding.study import Settings, Study

ARMS = 10_000_000
THREADS = 64
ROUNDS = 3
ALONE = ("full", 1)
LARGE, SMALL = 1_000_000, 100_000
"""Events of the studies that are opened."""


def measure() -> Iterator[dict[str, Any]]:
    """Measure in a folder of its own, which is removed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from _beside_optuna(folder)
        yield from _large(folder)


def _beside_optuna(folder: Path) -> Iterator[dict[str, Any]]:
    """Compare the best rates of several rounds, theirs with any number of threads.

    Ours with "full" is bound by the disk: alone, a thread waits for two syncs a pair; many share them.
    """
    theirs, ours = {"SQLite": 0.0, "journal file": 0.0}, {("normal", 1): 0.0, ALONE: 0.0, ("full", THREADS): 0.0}
    for number in range(ROUNDS):
        place = folder / str(number)
        place.mkdir()
        for kind, rate in theirs.items():
            rates = [_optuna(place, kind, threads, max(2, 30 // threads)) for threads in (1, 8, THREADS)]
            theirs[kind] = max(rate, *rates)
        for (durability, threads), rate in ours.items():
            pairs = 3_000 if durability == "normal" else 50
            ours[durability, threads] = max(rate, _ours(place, durability, threads, pairs))
    for (durability, threads), rate in ours.items():
        for kind, least in (("SQLite", 50), ("journal file", 5)):
            row = {
                "what": f"durable ask + tell, {durability}, threads: {threads}, to Optuna's {kind}",
                "pairs a second": round(rate),
                "theirs": round(theirs[kind], 1),
                "ratio": round(rate / theirs[kind], 1),
            }
            yield row if (durability, threads) == ALONE else row | {"at least": least}


def _ours(folder: Path, durability: str, threads: int, pairs: int) -> float:
    with open_study(folder / "ours.db", f"{durability} {threads}", arms=ARMS, durability=durability) as study:

        def pull() -> None:
            study.tell(study.ask()[0], 0.5)

        return _rate(threads, pairs, pull)


def _optuna(folder: Path, kind: str, threads: int, pairs: int) -> float:
    import optuna  # noqa: PLC0415  # the rival, loaded when it runs
    from optuna.storages.journal import JournalFileBackend  # noqa: PLC0415

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage: Any = f"sqlite:///{folder}/optuna-{threads}.db"
    if kind == "journal file":
        storage = optuna.storages.JournalStorage(JournalFileBackend(str(folder / f"optuna-{threads}.log")))
    study = optuna.create_study(storage=storage, sampler=optuna.samplers.RandomSampler(seed=1))

    def pull() -> None:
        trial = study.ask()
        trial.suggest_int("arm", 0, ARMS - 1)
        study.tell(trial, 0.5)

    return _rate(threads, pairs, pull)


def _large(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / "large.db"
    longest = {events: _make(path, events) for events in (SMALL, LARGE)}
    seconds = min(_timed(lambda: open_study(path, str(LARGE)).disconnect()) for _ in range(3))
    yield {"what": f"open a study of {LARGE:,} events", "milliseconds": round(1000 * seconds), "at most": 2_000}
    with open_study(path, "1000", arms=ARMS) as few, open_study(path, str(LARGE)) as many:
        _pulls(few, 500)
        rates = [max(_rate(1, 1_500, lambda s=study: _pulls(s, 1)) for _ in range(3)) for study in (few, many)]
    yield {
        "what": f"ask + tell after 1,000 events to after {LARGE:,}",
        "pairs a second": round(rates[1]),
        "ratio": round(rates[0] / rates[1], 2),
        "at most": 1.5,
    }
    yield {
        "what": f"the longest ask or tell on the way to {LARGE:,} events, a snapshot included",
        "milliseconds": round(1000 * longest[LARGE], 1),
    }
    each = {events: _memory_each(path, str(events)) for events in (SMALL, LARGE)}
    yield {
        "what": f"memory for each arm touched, at {LARGE:,} events to at {SMALL:,}",
        "bytes": round(each[LARGE]),
        "ratio": round(each[LARGE] / each[SMALL], 2),
        "at most": 1.5,
    }


def _make(path: Path, events: int) -> float:
    """Play a study in memory and copy its journal into a file; return the seconds of the longest call."""
    journal = MemoryJournal()
    study = Study(str(events), journal, Settings(ARMS), holder="bench")
    longest = 0.0
    for _ in range(events // 2):
        began = time.perf_counter()
        (ticket,) = study.ask()
        between = time.perf_counter()
        study.tell(ticket, hash(ticket[:4]) % 1000 / 1000)
        longest = max(longest, between - began, time.perf_counter() - between)
    kept = SqliteJournal(str(path), str(events))
    with kept.writing():
        kept.append(0, journal.read(0, 2 * events))
        for seq in reversed(journal.snapshots()):
            kept.keep(seq, journal.snapshot(seq))
    kept.close()
    return longest


def _memory_each(path: Path, name: str) -> float:
    """Return how many bytes an open study holds for each arm that it has met."""
    gc.collect()
    tracemalloc.start()
    with open_study(path, name) as study:
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        met = {label for entry in study.events(1) for label in getattr(entry.event, "labels", ())}
    return held / len(met)


def _pulls(study: Study, times: int) -> None:
    for _ in range(times):
        study.tell(study.ask()[0], 0.5)


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def _rate(threads: int, times: int, act: Callable[[], object]) -> float:
    """Return how often a second something is done by threads that each do it so many times."""

    def repeat() -> None:
        for _ in range(times):
            act()

    workers = [threading.Thread(target=repeat) for _ in range(threads)]

    def together() -> None:
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    gc.collect()
    return threads * times / _timed(together)
