"""The one-liner: your arms, your function, a budget."""

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
    "n_jobs": lambda n: (
        f"workers={n}" if is_number(n) and n > 0 else "workers=, how many evaluations may run at a time"
    ),
}
_SHORT: Final = 2.0  # seconds to wait for a file that is locked: a search waits longer, and heeds deadlines and Ctrl-C


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
        raise InvalidInput("there is no budget: give budget= pulls, cost= in your own unit, or seconds=")
    total, functions = Budget(budget, cost, seconds), checked(callbacks)
    if examples is not None and not isinstance(examples, Examples):
        examples = Examples(examples, seed)
    engine = Engine.checked(Evaluation(evaluate, examples, retry), workers, executor, on_error, catch)
    chosen = None if policy is None else as_policy(policy, budget=total.pulls)
    settings = RunSettings(arms, chosen, seed, direction, known, examples)
    return _Arguments(engine, study, settings, total, progress, functions)


class _Arguments(NamedTuple):
    """What `find_best` was called with, checked."""

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
        DataFrame or a pyarrow Table, whose rows are the arms, as dictionaries. None, where the study has them.
    evaluate : callable
        `evaluate(arm)`, or with examples `evaluate(arm, example)`, returns a number, or (number, cost). A coroutine
        function is awaited.
    budget : int, optional
        How many pulls there may be. An evaluation that fails is paid for as well.
    seconds : float, optional
        How long it may take; alone, or beside one of the other two: whichever ends first counts.
    cost : float, optional
        A total cost instead of pulls, in the unit that `evaluate` returns; a result without a cost counts as 1.
        Evaluations under way when it is reached are waited for, so the last of them may exceed it.
    examples : sequence, DataFrame or Examples, optional
        What `evaluate` is called with beside the arm; of a table its rows, as dictionaries. Each arm sees them in a
        random order of its own, out of the first 20 and one more for every 20 results. A pair of arm and example is
        evaluated once, ever, unless it is `Examples(…, repeat=True)`. The run ends as "known" when no example that is
        left could change the answer. A study refuses other examples than it was made with; their order may differ.
    known : mapping or pairs, optional
        Results that are there already and need not be paid for: {label: reward}, {label: [reward, …]} or (label,
        reward) pairs; with examples {label: {index of the example: reward}}. Those that a study has already are not
        taken twice; give those of an open study to its `observe_all`.
    workers : int, optional
        Evaluations in parallel (other tools say n_jobs). Default: 1, or as many as the executor has.
    executor : concurrent.futures.Executor or dask.distributed.Client, optional
        Where to evaluate: processes, a cluster. Default: the calling thread, or threads for several workers.
    policy : Policy or str, default "chase"
        What decides which arm is next, as an object or a SPEC such as "sh" or "b3:reuse=topup".
    seed : int, default 0
        Decides the order of arms and examples.
    direction : {"maximize", "minimize"}, default "maximize"
        Whether larger numbers are better.
    on_error : {"raise", "withdraw"}, default "raise"
        When an evaluation raises or returns no finite number: "raise" lets those under way finish and raises
        `EvaluationFailed`, whose `found` is the best so far; "withdraw" retries, and withdraws the arm after three
        failures in a row.
    catch : exception class or tuple of them, default ()
        Errors of `evaluate` that do not end the run: the pull has failed, as with "withdraw". All others go by
        `on_error`.
    retry : Retry, optional
        Try an evaluation that raised again, after a wait, before it counts as failed:
        `Retry(times=3, wait=1.0, on=(TimeoutError,))`.
    study : path, URL, (path or URL, name) or AskTell, optional
        Keep the run in a database, or in a study of a server ("https://host/#name", with the key in BOXTHIRDING_KEY),
        or use a study or session that is open. The same call resumes after Ctrl-C, a crash or a kill, and several
        processes may make it at once, on one machine or many.
    progress : bool or callable, default True
        Whether to show the plan, a progress bar, and in the end what was spent: below the cell of a notebook, else on
        stderr; without a terminal there is a line every 30 seconds. Or a function that is called with a `Progress`
        after each result. Use False where `evaluate` asks a person at the terminal.
    callbacks : list of callables, default ()
        Each is called with a `NewResult` after each result, in the thread that called `find_best`; its `stop()` ends
        the run. An error that a callback raises ends the run too, and has what was `found` by then.

    Ctrl-C: the first one starts nothing more, waits for the evaluations under way, whose results count, and says how
    many they are; the second leaves them behind. Either way the best so far is returned.

    Deadlines: with `seconds`, one worker is a thread too. What hangs past the deadline, or when Ctrl-C is pressed
    twice, cannot be killed, but is not waited for, and its thread does not keep the program alive. An iterator of
    arms, and a coroutine that blocks the loop, run in the calling thread: the first Ctrl-C breaks off an iterator, the
    second a coroutine, but a deadline is looked at only when they are done.

    With a study, `budget` counts the results of the whole study; `cost`, `seconds` and failures count in the call that
    has them, so after failures the same call tries once more for the results that are missing. Arms, policy, seed,
    direction and known results must stay the same, or may be left out. Nothing is handed out while the study is paused,
    and the call waits; once it is finished, it returns. While the database is unreachable, for up to a minute, nothing
    new is started, and results that have come in are kept.

    >>> found = find_best(["ann", "bob", "cid"], {"ann": 0.1, "bob": 0.9, "cid": 0.5}.get, budget=20, progress=False)
    >>> found.best
    'bob'

    """
    checked_ones = arguments()
    checked_ones.engine.refuse_running_loop("find_best_async(…)")
    with ExitStack() as stack:
        run = _Run(stack, checked_ones)
        return run.engine.run(run.search, run.conclude)


@_with_parameters_of(_arguments)
async def find_best_async(arguments: Callable[[], _Arguments]) -> Found:
    """Do what `find_best` does from a running event loop; a plain function runs in threads, so the loop goes on.

    The parameters are those of `find_best`. Cancelling it cancels the evaluations and raises CancelledError, as always.
    Ctrl-C, or interrupting the cell of a notebook, does what it does there.
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
