"""Fits under way: each is replaced as soon as it ends, or the fits of a block wait for each other."""

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeAlias

from boxthirding.session import Ticket

Out: TypeAlias = dict[str, Any]
"""What a fit gave, as scikit-learn returns it."""


class Futures:
    """Fits under way, each of which can be replaced as soon as it ends."""

    def __init__(self, begin: Callable[[Ticket], "Future[Out]"]) -> None:
        self._begin = begin
        self._tickets: dict[Future[Out], Ticket] = {}

    def __len__(self) -> int:
        return len(self._tickets)

    def submit(self, ticket: Ticket) -> None:
        """Begin a fit."""
        self._tickets[self._begin(ticket)] = ticket

    def finished(self) -> Iterator[tuple[Ticket, Out]]:
        """Wait for a fit; yield those that have ended, and raise what the others raised."""
        done = wait(self._tickets, return_when=FIRST_COMPLETED).done
        for future in sorted(done, key=lambda one: (one.exception() is not None, self._tickets[one].id)):
            yield self._tickets.pop(future), future.result()

    def ended(self) -> Iterator[tuple[Ticket, Out]]:
        """Yield the fits that have ended well, without waiting."""
        for future, ticket in self._tickets.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                yield ticket, future.result()

    def cancel(self) -> None:
        """Give up what is under way."""
        for future in self._tickets:
            future.cancel()


class Blocks:
    """Fits that wait for each other: one at a time in this process, or several as a backend of joblib runs them."""

    def __init__(self, fitted: Callable[[list[Ticket]], list[Out]]) -> None:
        self._fitted = fitted  # those of a block, which are on the same fold
        self._tickets: list[Ticket] = []

    def __len__(self) -> int:
        return len(self._tickets)

    def submit(self, ticket: Ticket) -> None:
        """Put a fit into a block."""
        self._tickets.append(ticket)

    def finished(self) -> Iterator[tuple[Ticket, Out]]:
        """Fit the next block."""
        block = [ticket for ticket in self._tickets if ticket.pull == self._tickets[0].pull]
        self._tickets = [ticket for ticket in self._tickets if ticket not in block]
        yield from zip(block, self._fitted(block), strict=True)

    def ended(self) -> Iterator[tuple[Ticket, Out]]:
        """Yield nothing: a block that was broken off has no results."""
        return iter(())
