"""The one who writes: takes the lock, reads what others wrote, lets something happen, appends it, commits.

Threads that come while a commit is under way are served by the next one, all at once: with `durability="full"` a commit
costs a disk sync, and so it is shared.
"""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

from boxthirding.errors import BoxThirdingError, JournalBroken, StudyUnavailable
from boxthirding.study.codec import decode, encode
from boxthirding.study.desk import Desk
from boxthirding.study.events import Event
from boxthirding.study.fold import Fold
from boxthirding.study.journal import Journal
from boxthirding.study.snapshot import pack
from boxthirding.study.turns import Batch, Broken, Request, Turns

T = TypeVar("T")

PAGE: Final = 10_000
"""Events read at a time."""

LEAST: Final = 5_000
"""Events between snapshots, at least."""

SHARE: Final = 20
"""A snapshot is due when one event in so many is younger than the last: so reading the tail takes a bounded share."""


class Scribe:
    """A journal and what it adds up to, kept in step; used by any number of threads."""

    def __init__(self, journal: Journal, rebuild: Callable[[], Fold], desk: Desk) -> None:
        self.journal = journal
        self._rebuild = rebuild
        self._desk = desk  # told what has become of a transaction
        self._fold: Fold | None = None
        self._lock = threading.RLock()
        self.turns = Turns(self._serve)
        self._texts: list[str] = []  # of the transaction under way
        self._last_snapshot = 0

    @property
    def fold(self) -> Fold:
        """What the journal adds up to; only inside `do` and `look`."""
        if self._fold is None:
            raise JournalBroken("the study was not read before it was used: report this")
        return self._fold

    def read(self, after: int) -> list[str]:
        """Return a page of the journal."""
        with self._lock:
            return self.journal.read(after, PAGE)

    def look(self, read: Callable[[Fold], T]) -> T:
        """Return what can be read of the study as it is now, with everything that others have written."""
        with self._lock:
            self._catch_up()
            return read(self.fold)

    def do(self, act: Callable[[], T], undelivered: Callable[[T], None] | None = None) -> T:
        """Let something happen, for good: what it records is committed when this returns.

        If the thread is interrupted and it has happened all the same, what it returned is given to `undelivered`.
        """
        request = Request(act)
        try:
            result: T = self.turns.do(request)
        except BaseException:
            with self._lock:  # so that nobody is serving it
                if undelivered is not None and request.has_happened:
                    undelivered(request.result)
            raise
        return result

    def record(self, event: Event) -> None:
        """Write down an event that has happened in the fold; only inside `do`."""
        self._texts.append(encode(event))

    def close(self) -> None:
        """Let go of the journal."""
        with self._lock:
            self.journal.close()

    def _serve(self, own: Request, batch: Batch) -> None:
        """Carry out everything that waits in one transaction; a request that breaks it ends alone, and all begins anew.

        So nothing that a broken request has half done is in the journal, or in what the others see.
        """
        with self._lock:
            while not all(request.is_done for request in batch.requests):
                broken = self._try(own, batch)
                if broken is None:
                    break
                broken.end()

    def _try(self, own: Request, batch: Batch) -> Request | None:
        """Carry out and commit what is left of a batch, or nothing: then return the request that broke it."""
        requests = [request for request in batch.requests if not request.is_done]
        try:
            with self.journal.writing():
                self._catch_up()
                for request in requests:
                    request.carry_out()
                if self._texts:
                    self.journal.append(self.fold.seq - len(self._texts), self._texts)
                batch.is_committing = True
            batch.is_committed = True
            self._committed()
        except Broken as error:
            self._forget()
            return error.request
        except BaseException as error:
            self._forget()
            if not batch.is_committed:
                for request in requests:
                    if request is own:
                        own.end(error)
                    elif isinstance(error, BoxThirdingError):
                        request.end(type(error)(*error.args))
            raise
        for request in requests:
            request.end()
        self._take_snapshot()
        return None

    def _catch_up(self) -> None:
        """Read what has been written since the last time, by whomever."""
        is_new = self._fold is None
        try:
            if self._fold is None:
                self._fold = self._rebuild()
                self._last_snapshot = self._fold.seq
            fold = self._fold
            while texts := self.journal.read(fold.seq, PAGE):
                for text in texts:
                    fold.replay(decode(text, fold.seq + 1))
        except BaseException:
            self._forget()
            raise
        if is_new:
            self._desk.come_back(fold)

    def _committed(self) -> None:
        self._texts.clear()
        self._desk.committed()

    def _forget(self) -> None:
        """Forget what memory holds: what is in the journal counts, and is read again."""
        self._desk.rolled_back()
        self._texts.clear()
        self._fold = None

    def _take_snapshot(self) -> None:
        """Keep a snapshot if one is due; where it cannot be written, the journal has everything."""
        fold = self.fold
        pause = max(LEAST, fold.seq // SHARE)
        if fold.seq - self._last_snapshot < pause:
            return
        with suppress(StudyUnavailable):
            self._last_snapshot = max(self.journal.snapshots(), default=0)  # another process may have been faster
            if fold.seq - self._last_snapshot >= pause:
                self._last_snapshot = fold.seq
                data = pack(fold.save())
                with self.journal.writing():
                    self.journal.keep(fold.seq, data)
