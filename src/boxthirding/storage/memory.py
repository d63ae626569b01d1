"""A journal in the memory of this process: for tests, and for work that need not outlive it."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from boxthirding.errors import StudyUnavailable
from boxthirding.storage.server_records import StoredRecord
from boxthirding.study.journal import CONTINUE


class MemoryShelf:
    """The studies of one place in memory."""

    def __init__(self) -> None:
        self._journals: dict[str, _Pages] = {}
        self._records = MemoryRecords()

    def names(self) -> list[str]:
        """Return the names of the studies there are."""
        return sorted(name for name, pages in self._journals.items() if pages.texts)

    def journal(self, name: str) -> "MemoryJournal":
        """Return the journal of a study, empty if there is none."""
        return MemoryJournal(self._journals.setdefault(name, _Pages()))

    def delete(self, name: str) -> bool:
        """Delete a study."""
        pages = self._journals.pop(name, None)
        if pages is None or not pages.texts:
            return False
        pages.texts.clear()  # those who have it open notice
        return True

    def records(self) -> "MemoryRecords":
        """Return what a server keeps here."""
        return self._records


class _Pages:
    """What is written in a journal, and the lock for writing."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.snapshots: dict[int, bytes] = {}
        self.taken: set[str] = set()  # names
        self.lock = threading.RLock()


class MemoryJournal:
    """One study's journal in memory; several of them may share their pages."""

    def __init__(self, pages: _Pages | None = None) -> None:
        self._pages = _Pages() if pages is None else pages
        self._new: list[str] = []
        self._kept: dict[int, bytes] = {}
        self._is_closed = False

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock; write at the end, if nothing was raised."""
        self._check()
        with self._pages.lock:
            try:
                yield
                self._pages.texts.extend(self._new)
                kept = self._pages.snapshots | self._kept
                self._pages.snapshots = {seq: kept[seq] for seq in sorted(kept)[-2:]}
            finally:
                self._new, self._kept = [], {}

    def read(self, after: int, limit: int) -> list[str]:
        """Return up to `limit` texts after a number."""
        self._check()
        return self._pages.texts[after : after + limit]

    def append(self, after: int, texts: Sequence[str]) -> None:
        """Write texts after the last one."""
        there = len(self._pages.texts) + len(self._new)
        if after != there:
            raise StudyUnavailable(
                f"event {after + 1} cannot be written, because the journal has {there}", advice=CONTINUE, transient=True
            )
        self._new.extend(texts)

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Keep a snapshot."""
        self._kept[seq] = snapshot

    def snapshots(self) -> list[int]:
        """Return the numbers of the snapshots, the latest first."""
        self._check()
        return sorted(self._pages.snapshots, reverse=True)

    def snapshot(self, seq: int) -> bytes:
        """Return a snapshot."""
        return self._pages.snapshots.get(seq, b"")

    def names(self) -> "MemoryNames":
        """Return the names of the workers of this process."""
        return MemoryNames(self._pages)

    def close(self) -> None:
        """Use it no more."""
        self._is_closed = True

    def _check(self) -> None:
        if self._is_closed:
            raise StudyUnavailable("the study was closed here", advice="open it again")


class MemoryNames:
    """The names of workers on one study in this process."""

    def __init__(self, pages: _Pages) -> None:
        self._pages = pages
        self._ours: set[str] = set()

    def acquire(self, name: str) -> bool:
        """Take a name that is free."""
        with self._pages.lock:
            if name not in self._pages.taken:
                self._pages.taken.add(name)
                self._ours.add(name)
            return name in self._ours

    def release(self) -> None:
        """Give all names back."""
        with self._pages.lock:
            self._pages.taken -= self._ours
            self._ours.clear()


class MemoryRecords:
    """Records of one place in memory."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, StoredRecord]] = {}
        self._lock = threading.Lock()

    def get(self, kind: str, key: str) -> StoredRecord | None:
        """Return a record."""
        return self._kinds.get(kind, {}).get(key)

    def put(self, kind: str, record: StoredRecord) -> None:
        """Write a record."""
        with self._lock:
            self._kinds.setdefault(kind, {})[record.id] = record

    def put_new(self, kind: str, record: StoredRecord) -> bool:
        """Write a record unless there is one."""
        with self._lock:
            return self._kinds.setdefault(kind, {}).setdefault(record.id, record) is record

    def delete(self, kind: str, key: str) -> bool:
        """Delete a record."""
        with self._lock:
            return self._kinds.get(kind, {}).pop(key, None) is not None

    def all(self, kind: str) -> list[StoredRecord]:
        """Return the records of a kind."""
        with self._lock:
            return sorted(self._kinds.get(kind, {}).values(), key=lambda record: (record.at, record.id))

    def ids(self, kind: str) -> set[str]:
        """Return the ids of the records of a kind."""
        with self._lock:
            return set(self._kinds.get(kind, {}))

    def count(self, kind: str) -> int:
        """Return how many records of a kind there are."""
        return len(self._kinds.get(kind, {}))

    def expire(self, kind: str, before: float) -> None:
        """Delete old records."""
        with self._lock:
            kept = self._kinds.get(kind, {})
            self._kinds[kind] = {key: record for key, record in kept.items() if record.at >= before}

    def close(self) -> None:
        """Do nothing: another server of this process may still use it."""


SHELVES: Final[dict[str, MemoryShelf]] = {}
"""Places in memory by the rest of their URL: `memory:` and `memory:NAME` are the same ones in the whole process."""
