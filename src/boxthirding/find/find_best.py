"""Search for the best arm with one call: your arms, your function, a budget."""

import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial, wraps
from inspect import Signature, signature
from typing import Any, Final, NamedTuple, ParamSpec, TypeVar

from boxthirding._checks import is_number
from boxthirding._text import counted, did_you_mean, written
from boxthirding.errors import InvalidInput
from boxthirding.find.budget import Budget, BudgetTracker
from boxthirding.find.evaluation import Errors, Evaluation, Examples, Retry
from boxthirding.find.interrupts import Interrupts
from boxthirding.find.loops import Engine
from boxthirding.find.opening import Arms, Place, RunSettings, open_for_run
from boxthirding.find.progress import Callback, NewResult, RunReporter, announcement, checked, progress_of
from boxthirding.find.result import Found, raise_error
from boxthirding.find.search import TROUBLE, Search, TicketSource, ToldResult
from boxthirding.find.summary import RUNNERS_UP, format_arms, measured, names
from boxthirding.policies.spec import as_policy
from boxthirding.session import AskTell, Known
from boxthirding.types import Policy, Progress

P = ParamSpec("P")
T = TypeVar("T")

_OTHER_NAMES: Final[dict[str, Callable[[Any], str]]] = {
    "maximize": lambda _: 'direction="maximize", or leave it out',
    "minimize": lambda _: 'direction="minimize"',
    "n_jobs": lambda n: f"workers={n}" if is_number(n) and n > 0 else "workers=, the number of parallel evaluations",
}
_SHORT: Final = 2.0  # seconds to wait for a locked file; short, as a search retries and stays interruptible


def _arguments(  # noqa: PLR0913  # two that are needed, and an option for each way to use them
    arms: Arms | None,
    evaluate: Callable[..., Any],
    *,
    budget: int | None = None,
    seconds: float | None = None,
    cost: float | None = None,
    examples: Sequence[Any] | Examples | None = None,
    known: Known | None = None,
    workers: int | None = None,
    executor: Executor | Any = None,
    policy: Policy | str | None = None,
    seed: int | None = None,
    direction: str | None = None,
    on_error: str = "raise",
    catch: Errors = (),
    retry: Retry | None = None,
    study: Place | AskTell | None = None,
    progress: bool | Callable[[Progress], None] = True,
    callbacks: Iterable[Callback] = (),
) -> "_Arguments":
    """Check the arguments of `find_best`, which explains them."""
    if budget is None and cost is None and seconds is None:
        raise InvalidInput("there is no budget: pass budget= (pulls), cost= (in the unit of evaluate) or seconds=")
    total, functions = Budget(budget, cost, seconds), checked(callbacks)
    if examples is not None and not isinstance(examples, Examples):
        examples = Examples(examples, seed)
    engine = Engine.checked(Evaluation(evaluate, examples, retry), workers, executor, on_error, catch)
    chosen = None if policy is None else as_policy(policy, budget=total.pulls)
    settings = RunSettings(arms, chosen, seed, direction, known, examples)
    return _Arguments(engine, study, settings, total, progress, functions)


class _Arguments(NamedTuple):
    """Validated arguments of `find_best`."""

    engine: Engine
    study: Place | AskTell | None
    settings: RunSettings
    budget: Budget
    progress: bool | Callable[[Progress], None]
    callbacks: tuple[Callback, ...]


def _with_parameters_of(
    check: Callable[P, _Arguments],
) -> Callable[[Callable[[Callable[[], _Arguments]], T]], Callable[P, T]]:
    """Give a function the parameters of another one, which checks them when the function asks for its arguments."""

    def decorate(function: Callable[[Callable[[], _Arguments]], T]) -> Callable[P, T]:
        taken = signature(check)

        @wraps(function)
        def called(*args: P.args, **options: P.kwargs) -> T:
            try:
                taken.bind(*args, **options)
            except TypeError as problem:
                raise TypeError(f"{function.__name__}() {_wrong_call(problem, options, taken)}") from None
            return function(partial(check, *args, **options))

        called.__annotations__ = {**check.__annotations__, "return": Found}
        called.__signature__ = taken.replace(return_annotation=Found)  # type: ignore[attr-defined]
        return called

    return decorate


def _wrong_call(problem: TypeError, options: Mapping[str, Any], taken: Signature) -> str:
    """Return what is wrong with a call, and what to write instead."""
    name = next((name for name in options if name not in taken.parameters), None)
    if name is None:
        return str(problem)
    way = f"write {_OTHER_NAMES[name](options[name])}" if name in _OTHER_NAMES else did_you_mean(name, taken.parameters)
    return f"has no parameter {name!r}: {way or 'it has ' + ', '.join(taken.parameters)}"


@_with_parameters_of(_arguments)
def find_best(arguments: Callable[[], _Arguments]) -> Found:  # noqa: D417  # its parameters are those of _arguments
    """Find the best arm by evaluating arms within a budget; Ctrl-C or a deadline returns the best so far.

    Parameters
    ----------
    arms
        A sequence, a mapping of labels to arms, an iterator, a range, a number of arms, or a pandas or polars
        DataFrame or a pyarrow Table: each row is an arm, passed as a dictionary. None if the study already has arms.
    evaluate : callable
        `evaluate(arm)`, or `evaluate(arm, example)` if examples are given; returns a number or (number, cost). May be a
        coroutine function.
    budget : int, optional
        The largest number of evaluations. Failed ones count.
    seconds : float, optional
        Time limit. May be combined with `budget` or `cost`; the search ends at whichever is reached first.
    cost : float, optional
        The largest total cost, instead of `budget`, in the unit that `evaluate` returns; a result without a cost counts
        as 1. Running evaluations are completed, so the total may exceed it.
    examples : sequence, DataFrame or Examples, optional
        Second argument of `evaluate`; rows of a table are passed as dictionaries. Each arm sees them in a random order
        of its own, out of the first 20 and one more for every 20 results. Each pair of arm and example is evaluated at
        most once; `Examples(…, repeat=True)` allows repeats. The search ends early (`found.stopped == "known"`) if the
        remaining examples cannot change the answer. A study must be reopened with the same examples, in any order.
    known : mapping or pairs, optional
        Existing results, which do not count towards the budget: {label: reward}, {label: [reward, …]} or (label,
        reward) pairs; with examples {label: {index of the example: reward}}. Those that the study has already are
        skipped. For an open study, call its `observe_all` instead.
    workers : int, optional
        Number of parallel evaluations (n_jobs elsewhere). Default: 1, or as many as the executor has.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Runs the evaluations, for example a process pool or a cluster. Default: the calling thread, or threads for
        several workers.
    policy : Policy or str, default "chase"
        Chooses the next arm; an object or a SPEC such as "sh" or "b3:reuse=topup".
    seed : int, default 0
        Random seed for the order of arms and examples.
    direction : {"maximize", "minimize"}, default "maximize"
        Whether larger numbers are better.
    on_error : {"raise", "withdraw"}, default "raise"
        What to do if an evaluation raises or returns no finite number. "raise" waits for running evaluations and raises
        `EvaluationFailed`, whose `found` is the best so far. "withdraw" evaluates the arm again later, and withdraws it
        after three failures in a row.
    catch : exception class or tuple of them, default ()
        Exceptions to treat as with `on_error="withdraw"`. All others follow `on_error`.
    retry : Retry, optional
        Retry an evaluation that raised, after a pause, before it counts as failed:
        `Retry(times=3, wait=1.0, on=(TimeoutError,))`.
    study : path, URL, (path or URL, name) or AskTell, optional
        Keep the search in a database, or on a server ("https://host/#name", with the key in BOXTHIRDING_KEY), or use an
        open study or session. The same call resumes after Ctrl-C, a crash or a kill. Several processes or machines may
        run the same call at the same time.
    progress : bool or callable, default True
        Whether to show the plan, a progress bar and a summary: below the cell in a notebook, else on stderr (one line
        every 30 seconds if that is no terminal). Or a function that is called with a `Progress` after each result. Pass
        False if `evaluate` prompts on the terminal.
    callbacks : list of callables, default ()
        Each is called with a `NewResult` after each result, in the thread that called `find_best`; its `stop()` ends
        the search. An error raised by a callback ends it, too; the exception has the best arm so far in `found`.

    Notes
    -----
    The first Ctrl-C starts no more evaluations, waits for the running ones and keeps their results. The second abandons
    them. Both return the best arm so far.

    With `seconds`, even a single worker runs in a thread. Evaluations that still run at the deadline, or after a second
    Ctrl-C, are abandoned: they cannot be killed, but their threads do not keep the program alive. An iterator of arms,
    and blocking code in a coroutine, run in the calling thread: Ctrl-C interrupts them (the iterator at the first
    press, the coroutine at the second), and the deadline is checked only when they return.

    With a study, `budget` counts the results of the whole study; `cost`, `seconds` and failures are counted per call.
    If evaluations failed, the same call evaluates them again. Arms, policy, seed, direction and known results must stay
    the same or be left out. While the study is paused, the call waits. If the study is finished, the call returns.
    While the database is unreachable, for up to a minute, the search starts nothing new and keeps the results that have
    come in.

    >>> found = find_best(["ann", "bob", "cid"], {"ann": 0.1, "bob": 0.9, "cid": 0.5}.get, budget=20, progress=False)
    >>> found.best
    'bob'

    """
    options = arguments()
    options.engine.refuse_running_loop("find_best_async(…)")
    with ExitStack() as stack:
        run = _Run(stack, options)
        return run.engine.run(run.search, run.conclude)


@_with_parameters_of(_arguments)
async def find_best_async(arguments: Callable[[], _Arguments]) -> Found:
    """Async version of `find_best`. A plain `evaluate` runs in threads, so it does not block the event loop.

    The parameters are those of `find_best`. Cancelling it cancels the evaluations and raises CancelledError, as usual.
    Ctrl-C, or interrupting the cell of a notebook, works as in `find_best`.
    """
    with ExitStack() as stack:
        run = _Run(stack, arguments())
        return await run.engine.run_async(run.search, run.conclude)


class _Run:
    """A search of a study, and what is told of its results: the display and callbacks."""

    def __init__(self, stack: ExitStack, arguments: _Arguments) -> None:
        engine, study, settings, budget, progress, callbacks = arguments
        self._opened = opened = open_for_run(stack, study, settings, _SHORT)
        self.engine = replace(engine, evaluation=replace(engine.evaluation, examples=opened.examples))
        self._stack, self._callbacks = stack, callbacks
        self._reporter = reporter = RunReporter(progress)
        self._is_shown = reporter.is_shown
        self._tracker = BudgetTracker(budget)
        self._source = TicketSource(opened.study, self._tracker, is_shared=opened.is_shared)
        stack.callback(self._source.release)
        stack.callback(reporter.close)
        self.search = Search(
            self._source,
            self._tracker,
            workers=engine.workers,
            on_error=engine.on_error,
            catch=engine.catch,
            told=self._told if callbacks or progress is not False else None,
            reporter=reporter,
        )
        if self._is_shown:
            n_arms, policy = opened.study.view().arms, opened.study.policy
            reporter.say(*announcement(budget, n_arms, engine.workers, policy), *self._greeting())
            reporter.watch(lambda: progress_of(self._tracker, self._source.latest))

    def conclude(self) -> Found:
        """Return what was found when the search has ended, or raise what ended it."""
        search, source = self.search, self._source
        search.close()
        if not isinstance(search.error, TROUBLE):
            source.release()
        try:
            found = Found(
                self._opened.study,
                search,
                self.engine,
                source.holders(),
                is_shown=self._is_shown,
                is_shared=self._opened.is_shared,
            )
            answer = _answer(found) if self._is_shown else ""
        except TROUBLE as trouble:
            if isinstance(search.error, TROUBLE):
                raise search.error from trouble
            raise trouble from search.error or trouble.__cause__
        if self._opened.is_ours:  # the study can be read for as long as the result exists
            weakref.finalize(found, self._stack.pop_all().close)
        if self._is_shown:
            spent, *others = found.account()
            self._reporter.close(progress_of(self._tracker, source.latest), f"{answer}; {spent}.", *others)
        raise_error(search, found)
        return found

    def _greeting(self) -> list[str]:
        """Return where the study is kept and what it has, if others may have worked on it."""
        if not self._opened.is_shared:
            return []
        place, latest = getattr(self._opened.study, "place", None), self._source.latest
        where = f"Study {place}" if place else "The study"
        there = f"resuming from {counted(latest.pulls, 'pull')}" if latest.pulls or latest.open else "new"
        return [f"{where}: {there}" + (f", {counted(latest.open, 'ticket')} open." if latest.open else ".")]

    def _told(self, results: list[ToldResult]) -> None:
        """Call the display and the callbacks."""
        if self.search.error is not None:
            return
        latest = self._source.latest
        try:
            self._reporter.update(self._tracker, latest)
            for result in results if self._callbacks else ():
                progress = progress_of(self._tracker, latest)
                new = NewResult(*result, latest.recommendation, progress, self.search.finish)
                for callback in self._callbacks:
                    with Interrupts.breakable():
                        callback(new)
        except KeyboardInterrupt:  # in a callback
            self.search.interrupt()
        except Exception as error:  # noqa: BLE001  # of a function of the caller: raised when the run has ended
            self.search.end_with(error)


def _answer(found: Found) -> str:
    """Return the best arm and its mean in one line; its name tells it from the runners-up."""
    best = found.recommendation
    if best is None:
        return "No result"
    labels = [best.label, *(arm.label for arm in found.top(1 + RUNNERS_UP)[1:])]
    name = names(labels)[best.label]
    if isinstance(best.label, int):  # which may say nothing about the arm
        name = format_arms((label, found.arm(label)) for label in labels)[0]
    return f"Best: {name}, {measured(written(best.mean), best.pulls)}"
