"""The port between a study and where it is kept: anything that holds texts in order can hold a study."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol


class Names(Protocol):
    """Names for the workers of one study, each of them one running worker's at a time.

    A worker that ends, or is killed, or whose machine is gone, has given its names back.
    """

    def take(self, name: str) -> bool:
        """Take a name that no running worker has, on any machine; return whether it is ours now.

        Taken again, it says whether a name is still ours: one may be lost while the place cannot be reached. It raises
        OSError where no name can be had at all.
        """

    def release(self) -> None:
        """Give all names back; none is taken afterwards."""


class Journal(Protocol):
    """The events of one study as texts, numbered 1, 2, 3, …, with a few snapshots beside them.

    Other processes may have the same journal open. Methods are called by one thread at a time. When the journal cannot
    be reached they raise `StudyUnavailable`; the next call tries again.
    """

    def writing(self) -> AbstractContextManager[None]:
        """Hold the write lock: no other process appends meanwhile, and what is read is the latest.

        What was appended and kept inside is there for good when the block has ended, or not at all if it raised.
        """

    def read(self, after: int, limit: int) -> list[str]:
        """Return up to `limit` texts, from number `after` + 1 on; none, if there are no more."""

    def append(self, after: int, texts: Sequence[str]) -> None:
        """Write texts as numbers `after` + 1 and following; only while writing.

        If `after` is not the number of the last text there is, raise `StudyUnavailable`: a place that was restored from
        a backup while a study was open would get a gap.
        """

    def keep(self, seq: int, snapshot: bytes) -> None:
        """Keep a snapshot of what the texts up to number `seq` add up to; only while writing.

        At least the two latest ones are kept.
        """

    def snapshots(self) -> list[int]:
        """Return the numbers for which there is a snapshot, the latest first."""

    def snapshot(self, seq: int) -> bytes:
        """Return the snapshot of a number; empty, if it is no longer there."""

    def names(self) -> Names:
        """Return the names of the workers on the study, none of them ours; they outlive `close`.

        `Study.worker` and `Study.reclaim` ask for them. All else works over a journal without this method.
        """

    def close(self) -> None:
        """Let go of the place; the journal cannot be used afterwards."""
