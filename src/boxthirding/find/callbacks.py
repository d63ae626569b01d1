"""Functions of the caller's that hear of each result, and may end the run."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from boxthirding.errors import InvalidInput
from boxthirding.find.interrupts import Interrupts
from boxthirding.session import Recommendation, Ticket
from boxthirding.types import Label, Progress


@dataclass(frozen=True)
class NewResult:
    """A result that has just come in: what a callback of `find_best` is called with."""

    ticket: Ticket
    reward: float
    cost: float
    best: Recommendation | None
    """The best arm now, with its mean and pulls."""
    progress: Progress
    """How much of the budget is spent, and how long the rest may take."""
    _stop: Callable[[], None] = field(repr=False, compare=False)

    @property
    def label(self) -> Label:
        """The label of the arm that was evaluated."""
        return self.ticket.label

    @property
    def arm(self) -> Any:
        """The arm that was evaluated, as it was given."""
        return self.ticket.payload

    def stop(self) -> None:
        """End the run: nothing more is started, what is under way still counts, and `found.stopped` is "callback"."""
        self._stop()


Callback: TypeAlias = Callable[[NewResult], object]


def checked(callbacks: Iterable[Callback]) -> tuple[Callback, ...]:
    """Return callbacks, or refuse what cannot be called here."""
    if callable(callbacks) or not isinstance(callbacks, Iterable):
        raise InvalidInput(f"callbacks is {callbacks!r}, but must be a list of functions: callbacks=[…]")
    functions = tuple(callbacks)
    for function in functions:
        if not callable(function):
            raise InvalidInput(f"a callback is {function!r}, but must be a function that takes a NewResult")
        if inspect.iscoroutinefunction(function):
            raise InvalidInput(f"the callback {function!r} is a coroutine function, but must be a plain one")
    return functions


def call_all(callbacks: Iterable[Callback], new: NewResult) -> None:
    """Call them one after the other; Ctrl-C can break one off."""
    for callback in callbacks:
        with Interrupts.breakable():
            callback(new)
