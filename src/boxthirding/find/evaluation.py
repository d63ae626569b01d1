"""One evaluation: the caller's function, the examples it is called with, new tries, and what it may return."""

import inspect
import math
import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from boxthirding._checks import not_negative, single_number, whole
from boxthirding._text import cut
from boxthirding.errors import BoxThirdingError, InvalidInput
from boxthirding.session import Ticket
from boxthirding.session.labels import rows_of
from boxthirding.types import Ints, Label

Errors = type[Exception] | tuple[type[Exception], ...]

_SHOWN = 80  # characters of a value that an error repeats
_PAIR = 2  # (number, cost)


@dataclass(frozen=True)
class Retry:
    """Try an evaluation that raised an error again, each time after a longer wait.

    Parameters
    ----------
    times : int, default 3
        How often to try again.
    wait : float, default 1.0
        Seconds before the first new try.
    on : exception class or tuple of them, default (Exception,)
        Which errors to try again after; any other counts at once.
    backoff : float, default 2.0
        What the wait is multiplied by for each further try.
    longest : float, default 60.0
        Seconds that no wait exceeds.

    All tries of an evaluation are one pull of the budget.

    >>> list(Retry(times=4, wait=1.0, longest=5.0).waits())
    [1.0, 2.0, 4.0, 5.0]

    """

    times: int = 3
    wait: float = 1.0
    on: Errors = (Exception,)
    backoff: float = 2.0
    longest: float = 60.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "times", whole("times", self.times, least=1))
        object.__setattr__(self, "on", exception_classes("on", self.on))
        for name in ("wait", "backoff", "longest"):
            not_negative(name, getattr(self, name))

    def waits(self) -> Iterator[float]:
        """Return the seconds to wait before each new try."""
        wait = min(self.wait, self.longest)
        for _ in range(self.times):
            yield wait
            wait = min(wait * self.backoff, self.longest)


def exception_classes(name: str, given: Any) -> tuple[type[Exception], ...]:
    """Return exception classes as a tuple; raise `InvalidInput` for anything else."""
    classes = given if isinstance(given, tuple | list) else (given,)
    for one in classes:
        if not (isinstance(one, type) and issubclass(one, Exception)):
            raise InvalidInput(f"{name} is {given!r}, but must be exception classes, such as {name}=(TimeoutError,)")
    return tuple(classes)


class Examples:
    """Examples that arms are evaluated on, each arm on some of them, drawn at random.

    How hard each example is, is learned from the results, and subtracted from them when arms are compared: hard
    examples are no arm's bad luck. A pair of arm and example is evaluated once, ever.

    Parameters
    ----------
    examples : sequence, DataFrame or Table
        What `evaluate(arm, example)` is called with; of a pandas or polars DataFrame or a pyarrow Table its rows, as
        dictionaries.
    seed : int, optional
        Decides the order. Default: the seed of the run.
    repeat : bool, default False
        Evaluate a pair of arm and example again when its arm has seen them all: for evaluations that are noisy by
        themselves. Then every arm sees the examples in the same order, and how hard they are is not learned.

    """

    repeating: ClassVar[str] = "Examples(…, repeat=True)"
    """How a caller lets arms see examples again, as messages say it."""
    are_none = False
    """Whether an evaluation is given the number of its pull alone."""

    def __init__(self, examples: Any, seed: int | None = None, *, repeat: bool = False) -> None:
        examples = rows_of(examples, "examples")
        if hasattr(examples, "iloc"):  # a pandas Series, which [k] reads by its index
            examples = list(examples)
        if isinstance(examples, str | bytes | Mapping) or not (
            hasattr(examples, "__len__") and hasattr(examples, "__getitem__")
        ):
            kind = type(examples).__name__
            raise InvalidInput(f"examples is of type {kind}, but must be a sequence, which every arm can see again")
        if len(examples) == 0:
            raise InvalidInput("examples is empty, but must hold one at least; without any, leave it out")
        self.repeat = repeat
        self._examples, self._seed = examples, seed
        self._order = _order(len(examples), 0 if seed is None else seed)
        self._kept: list[dict[str, Any]] | None = None  # as a journal keeps them

    def __len__(self) -> int:
        return len(self._order)

    @property
    def most(self) -> int | None:
        """How many different pulls an arm has; None, if they may be repeated."""
        return None if self.repeat else len(self)

    def seeded(self, seed: int) -> Self:
        """Return the same examples in the order of a seed, unless they were given one already."""
        if self._seed is not None:
            return self
        return self._ordered(seed, _order(len(self), seed))

    def paired(self, study: Any, *, is_new: bool = False, force: bool = False) -> Self:
        """Return the same examples in the order that a study has; refuse others than those that it was made with.

        A session that `is_new` is not told of examples that may take long to load.
        """
        if not hasattr(study, "pair") or (is_new and type(self._examples) not in (list, tuple)):
            return self
        if self._kept is None:
            from boxthirding.study.arm_payloads import kept  # noqa: PLC0415  # loaded when it is needed

            self._kept = [] if self.are_none else [kept(self._examples[place]) for place in range(len(self))]
        places = study.pair(self._kept, self._order.tolist() if self._kept else (), force=force)
        return self._ordered(self._seed or 0, np.array(places)) if places else self

    def pull_of(self, example: object) -> int:
        """Return which pull of an arm sees the example at an index of the sequence."""
        if not 0 <= whole("the index of an example", example, least=0) < len(self):
            raise InvalidInput(f"the index of an example is {example}, but must be 0 to {len(self) - 1}")
        return int(np.flatnonzero(self._order == example)[0])

    def index_of(self, pull: int) -> int:
        """Return the index in the sequence of the example that a pull sees."""
        return int(self._order[pull % len(self._order)])

    def __getitem__(self, pull: int) -> Any:
        return self._examples[self.index_of(pull)]

    def _ordered(self, seed: int, order: Ints) -> Self:
        other = copy(self)
        other._seed, other._order = seed, order  # noqa: SLF001  # its own class
        return other


def _order(number: int, seed: int) -> Ints:
    return np.random.default_rng([whole("seed", seed, least=0), number]).permutation(number)


class Outcome(NamedTuple):
    """The end of an evaluation: the value that was returned, or the error that was raised."""

    ticket: Ticket
    value: Any
    error: BaseException | None


@dataclass(frozen=True)
class Evaluation:
    """A function that evaluates arms: it is called with the arm, then with the example, if there are any."""

    evaluate: Callable[..., Any]
    examples: Examples | None = None
    retry: Retry | None = None

    def __post_init__(self) -> None:
        if not callable(self.evaluate):
            raise InvalidInput(f"evaluate is {describe(self.evaluate)}, but must be a function of an arm")
        if self.retry is not None and not isinstance(self.retry, Retry):
            raise InvalidInput(f"retry is {describe(self.retry)}, but must be a Retry: retry=Retry(times=3, wait=1.0)")

    @property
    def is_async(self) -> bool:
        """Whether a call must be awaited."""
        return inspect.iscoroutinefunction(self.evaluate) or inspect.iscoroutinefunction(type(self.evaluate).__call__)

    def arguments(self, ticket: Ticket) -> tuple[Any, ...]:
        """Return what the function is called with."""
        if self.examples is None:
            return (ticket.payload,)
        return ticket.payload, self.examples[ticket.pull]

    def outcome(self, ticket: Ticket, wait: Callable[[float], object] = time.sleep) -> Outcome:
        """Evaluate a ticket in this thread. `wait` waits before a new try; if it returns true, there is none."""
        try:
            arguments = self.arguments(ticket)
            if self.retry is None:
                return Outcome(ticket, self.evaluate(*arguments), None)
            return Outcome(ticket, _retried(self.retry, wait, self.evaluate, *arguments), None)
        except BaseException as error:  # noqa: BLE001  # the search decides, in the thread of the caller
            return Outcome(ticket, None, error)

    def work(self, ticket: Ticket) -> tuple[Any, ...]:
        """Return a function and its arguments, for an executor: one by one, so that it sees which are large."""
        call = (self.evaluate, *self.arguments(ticket))
        return call if self.retry is None else (_retried, self.retry, time.sleep, *call)

    async def awaited(self, ticket: Ticket) -> Any:
        """Evaluate a ticket with a coroutine function."""
        import asyncio  # noqa: PLC0415  # takes its time to import

        arguments = self.arguments(ticket)
        if self.retry is not None:
            for seconds in self.retry.waits():
                try:
                    return await self.evaluate(*arguments)
                except self.retry.on:
                    await asyncio.sleep(seconds)
        return await self.evaluate(*arguments)


def _retried(retry: Retry, wait: Callable[[float], object], evaluate: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, again if need be."""
    for seconds in retry.waits():
        try:
            return evaluate(*arguments)
        except retry.on:
            if wait(seconds):
                raise
    return evaluate(*arguments)


class InvalidReturn(InvalidInput):
    """The caller's function returned something that is not a result."""


def reward_and_cost(value: Any) -> tuple[float, float]:
    """Return the reward and the cost in a returned value; a number alone costs 1."""
    if inspect.iscoroutine(value):
        value.close()
        raise InvalidReturn("evaluate returned a coroutine, but must return a number: define it with `async def`")
    cost: Any = 1.0
    if isinstance(value, tuple):
        if len(value) != _PAIR:
            raise InvalidReturn(f"evaluate returned {describe(value)}, but a tuple must be (number, cost)")
        value, cost = value
    reward, paid = single_number(value), single_number(cost)
    if reward is None:
        missing = ": is a `return` missing?" if value is None else ""
        raise InvalidReturn(f"evaluate returned {describe(value)}, but must return a number or (number, cost){missing}")
    if not math.isfinite(reward):
        raise InvalidReturn(f"evaluate returned {describe(value)}, but must return a finite number")
    if paid is None or not 0 < paid < math.inf:
        raise InvalidReturn(f"evaluate returned the cost {describe(cost)}, but it must be a finite number above 0")
    return reward, paid


def format_failure(label: Label, error: BaseException) -> str:
    """Return in one sentence which arm could not be evaluated, and why."""
    if isinstance(error, BoxThirdingError):
        return f"arm {label!r}: {error}"
    text = str(error)
    return f"arm {label!r}: evaluate raised {type(error).__name__}" + (f": {text}" if text else "")


def describe(value: Any) -> str:
    """Return a value as errors show it: shortened, and with its type."""
    text = cut(repr(value), _SHOWN)
    return text if value is None else f"{text} ({type(value).__name__})"
