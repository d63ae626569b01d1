"""The interface between a study and where it is stored, and what is read of a journal as it was written."""

import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Final, Protocol, TypeAlias

from boxthirding.errors import JournalBroken
from boxthirding.session.tickets import WORKER, is_worker
from boxthirding.study.codec import RESTORE, START, check_for, check_of, decode
from boxthirding.study.events import Damaged, Entry

CONTINUE: Final = "try again, and the study continues from what is there"
PAGE: Final = 10_000  # events read at a time

FORK_LOCK: Final = threading.RLock()
"""Held where a fork must wait, beside the locks of studies; whoever holds it waits for no other lock."""

_WIDEST: Final = 1000  # missing events in a row, after which no further ones are read
_MOST: Final = 1000  # processes of one study at a time


class WorkerLocks(Protocol):
    """Locks on the names of the workers of one study, each held by one running process at a time.

    A process that ends, or is killed, or whose machine is gone, has released its locks.
    """

    def acquire(self, name: str) -> bool:
        """Lock a name unless a running process holds it, on any machine; return whether this process holds it now.

        Called again, it says whether the lock is still held: it may be lost while the database cannot be reached. It
        raises OSError where no name can be locked.
        """

    def release(self) -> None:
        """Release all locks; none is taken afterwards."""


class Journal(Protocol):
    """The events of one study as texts, numbered 1, 2, 3, …, with a few snapshots beside them.

    Other processes may have the same journal open. Methods are called by one thread at a time. When the journal cannot
    be reached they raise `StudyUnavailable`; the next call tries again.
    """

    def writing(self) -> AbstractContextManager[None]:
        """Hold the write lock: no other process appends meanwhile, and what is read is the latest.

        What was appended and kept inside is durable when the block has ended, or discarded if it raised.
        """

    def read(self, after: int, limit: int) -> list[str]:
        """Return up to `limit` texts, from number `after` + 1 on; none, if there are no more."""

    def append(self, after: int, texts: Sequence[str]) -> None:
        """Write texts as numbers `after` + 1 and following; only while writing.

        If `after` is not the number of the last text, raise `StudyUnavailable`: a database that was restored from a
        backup while a study was open would get a gap.
        """

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Store a snapshot of the state after the texts up to number `seq`; only while writing.

        At least the two latest ones are kept.
        """

    def snapshots(self) -> list[int]:
        """Return the numbers for which there is a snapshot, the latest first."""

    def snapshot(self, seq: int) -> bytes:
        """Return the snapshot of a number; empty, if it is no longer there."""

    def names(self) -> WorkerLocks:
        """Return the locks on the names of workers, none of them held; they outlive `close`.

        `Study.worker` and `Study.reclaim` use them. Everything else works over a journal without this method.
        """

    def close(self) -> None:
        """Close the connection; the journal cannot be used afterwards."""


class HeldNames:
    """The names of workers that this process holds."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._locks: WorkerLocks | None = None
        self._held: set[str] = set()
        self._taking = threading.Lock()

    def new(self) -> str:
        """Take the first name that is free; without locks, one that no other process takes for dead."""
        with suppress(OSError), self._taking:  # each thread of this process needs its own
            for name in (f"{WORKER}{number}" for number in range(_MOST)):
                if name not in self._held and self.acquire(name):
                    return name
        return f"{WORKER}alone-{os.urandom(8).hex()}"

    def acquire(self, name: str) -> bool:
        """Take a name, unless another process holds it; return whether this process holds it."""
        if not self.has_ended(name):
            return False
        self._held.add(name)
        return True

    def has_ended(self, name: str) -> bool:
        """Return whether a process of that name has ended; the name is locked until `release`, or this process ends."""
        if self._locks is None:
            self._locks = self._journal.names()
        with suppress(OSError):
            return self._locks.acquire(name)
        return False

    def is_held(self, name: str) -> bool:
        """Return whether this process still holds a name: it may be lost while the database cannot be reached."""
        return name in self._held and (not is_worker(name) or self.has_ended(name))

    def release(self) -> None:
        """Release all names."""
        if self._locks is not None:
            self._locks.release()
            self._locks = None
        self._held.clear()


def unique_name() -> str:
    """Return a holder's name that no other has."""
    return f"{socket.gethostname()[:100]}-{os.getpid()}-{os.urandom(4).hex()}"


Read: TypeAlias = Callable[[int, int], list[str]]  # returns texts of a journal: after a number, and how many at most


def read_journal(journal: Journal, *, damaged: bool = False) -> Iterator[Entry | Damaged]:
    """Return the events of a journal as written, even if no study can be opened from them.

    An event that is missing or cannot be read raises `JournalBroken`, unless `damaged` is True: then it is returned as
    `Damaged`.
    """
    return read_from(journal.read, 0, lambda: max(journal.snapshots(), default=0), damaged=damaged)


def read_from(read: Read, after: int, known: Callable[[], int], *, damaged: bool) -> Iterator[Entry | Damaged]:
    """Return the events from number `after` + 1 on; `known` is the number of one that must be there.

    It is asked first: events written while these are read may be missing from them.
    """
    try:
        there = known()
    except JournalBroken:  # the events before and after the damage can be read
        if not damaged:
            raise
        there = 0
    texts = read(after - 1, 1) if after else []
    last = after
    for entry in _entries(read, after, check_of(texts[0]) if texts else START, damaged=damaged):
        last = entry.seq
        yield entry
    if there > last:
        broken = cut_off(there)
        if not damaged:
            raise broken
        yield Damaged(last + 1, "", broken.problem)


def cut_off(seq: int) -> JournalBroken:
    """Return the error of a journal that ends before an event that it had."""
    return JournalBroken(f"there was an event {seq}, but the journal ends before it: it is cut off", advice=RESTORE)


def _entries(read: Read, seq: int, before: str, *, damaged: bool) -> Iterator[Entry | Damaged]:
    befores = [before]  # after a damaged event: the check that it has, and those that it should have; after a gap none
    gap = 0  # events in a row that are missing
    while True:
        try:
            texts = read(seq, PAGE)
        except JournalBroken as broken:
            gap += 1
            if not damaged or gap > _WIDEST:
                raise
            seq += 1
            yield Damaged(seq, "", broken.problem)
            befores = []
            continue
        if not texts:
            return
        gap = 0
        for text in texts:
            seq += 1
            if not befores:
                yield Damaged(seq, text, f"event {seq} cannot be checked, as the event before it is missing")
                befores = [check_of(text)]
                continue
            right = befores[0]
            if len(befores) > 1:  # else `decode` checks the only one
                right = next((check for check in befores if check_of(text) == check_for(text, check)), right)
            try:
                yield Entry(seq, decode(text, seq, right))
                befores = [check_of(text)]
            except JournalBroken as broken:
                if not damaged:
                    raise
                yield Damaged(seq, text, broken.problem)
                befores = [check_of(text), *[check_for(text, check) for check in befores]][:3]
