"""The one-liner: your arms, your function, a budget."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import replace
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

from boxthirding._checks import is_number
from boxthirding.errors import InvalidInput
from boxthirding.find.budget import Limits
from boxthirding.find.engine import engine
from boxthirding.find.opening import Arms, Place, RunSettings, open_for_run
from boxthirding.find.progress import Callback, RunReporter, checked
from boxthirding.find.result import Found
from boxthirding.find.retry import Errors, Retry
from boxthirding.find.run import Run
from boxthirding.find.task import Examples, Task
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


def _with_advice(function: Callable[P, T]) -> Callable[P, T]:
    """Say which parameter is meant by one that other tools have."""

    @wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> T:
        for name in _OTHER_NAMES.keys() & options.keys():
            raise TypeError(
                f"{function.__name__}() has no parameter {name!r}: write {_OTHER_NAMES[name](options[name])}"
            )
        return function(*args, **options)

    return called


@_with_advice
def find_best(  # noqa: PLR0913  # two that are needed, and an option for each way to use them
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
) -> Found:
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
        What `evaluate` is called with beside the arm; of a table its rows, as dictionaries. Pull k of every arm sees
        the same example, and a pair of arm and example is evaluated once, ever, unless it is `Examples(…,
        repeat=True)`. The run ends as "known" when no example that is left could change the answer. A study refuses
        other examples than it was made with; their order may differ.
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
    limits, hearing = _limits(budget, cost, seconds), checked(callbacks)
    crew = engine(_task(evaluate, examples, seed, retry), workers, executor, on_error, catch)
    crew.refuse_running_loop("find_best_async(…)")
    chosen = None if policy is None else as_policy(policy, budget=limits.pulls)
    settings = RunSettings(arms, chosen, seed, direction, known, crew.task.examples)
    with ExitStack() as stack:
        opened = open_for_run(stack, study, settings, _SHORT)
        crew = replace(crew, task=replace(crew.task, examples=opened.examples))
        run = Run(opened, crew, limits, RunReporter(progress), hearing, stack)
        return crew.carry_out(run.search, run.conclude)


@_with_advice
async def find_best_async(  # noqa: PLR0913  # the same
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
) -> Found:
    """Do what `find_best` does from a running event loop; a plain function runs in threads, so the loop goes on.

    The parameters are those of `find_best`. Cancelling it cancels the evaluations and raises CancelledError, as always.
    Ctrl-C, or interrupting the cell of a notebook, does what it does there.
    """
    from boxthirding.find.awaiting import carry_out  # noqa: PLC0415  # asyncio takes its time to import

    limits, hearing = _limits(budget, cost, seconds), checked(callbacks)
    crew = engine(_task(evaluate, examples, seed, retry), workers, executor, on_error, catch)
    chosen = None if policy is None else as_policy(policy, budget=limits.pulls)
    settings = RunSettings(arms, chosen, seed, direction, known, crew.task.examples)
    with ExitStack() as stack:
        opened = open_for_run(stack, study, settings, _SHORT)
        crew = replace(crew, task=replace(crew.task, examples=opened.examples))
        run = Run(opened, crew, limits, RunReporter(progress), hearing, stack)
        return await carry_out(crew, run.search, run.conclude)


def _limits(budget: int | None, cost: float | None, seconds: float | None) -> Limits:
    if budget is None and cost is None and seconds is None:
        raise InvalidInput("there is no budget: give budget= pulls, cost= in your own unit, or seconds=")
    return Limits(budget, cost, seconds)


def _task(
    evaluate: Callable[..., Any], examples: Sequence[Any] | Examples | None, seed: int | None, retry: Retry | None
) -> Task:
    if examples is None or isinstance(examples, Examples):
        return Task(evaluate, examples, retry)
    return Task(evaluate, Examples(examples, seed), retry)
