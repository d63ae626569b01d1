"""Records: what a server keeps beside the journals of a place, such as keys, rating links and pictures."""

from typing import NamedTuple, Protocol


class Record(NamedTuple):
    """One thing that is kept: bytes under a kind and an id."""

    id: str
    at: float
    """Seconds since 1970, as its writer says."""
    data: bytes


class Records(Protocol):
    """Small things by kind and id; used by any number of threads. Every call is a transaction of its own."""

    def get(self, kind: str, key: str) -> Record | None:
        """Return a record; None, if there is none."""

    def put(self, kind: str, record: Record) -> None:
        """Write a record, in the place of one that is there."""

    def put_new(self, kind: str, record: Record) -> bool:
        """Write a record unless there is one; return whether it was written."""

    def delete(self, kind: str, key: str) -> bool:
        """Delete a record; return whether there was one: of several callers, one is told so."""

    def all(self, kind: str) -> list[Record]:
        """Return the records of a kind, the earliest first."""

    def ids(self, kind: str) -> set[str]:
        """Return the ids of the records of a kind; what they hold is not read."""

    def count(self, kind: str) -> int:
        """Return how many records of a kind there are."""

    def expire(self, kind: str, before: float) -> None:
        """Delete the records of a kind that were written before a moment."""

    def close(self) -> None:
        """Let go of the place."""
