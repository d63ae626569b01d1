"""The one-liner: your arms, your function, a budget."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from boxthirding._checks import is_number
from boxthirding._text import counted
from boxthirding.errors import ArmsUnavailable, InvalidInput, StudyDiffers, UnknownStudy
from boxthirding.find.budget import Limits
from boxthirding.find.callbacks import Callback, checked
from boxthirding.find.engine import engine
from boxthirding.find.interrupts import Breakable
from boxthirding.find.progress import Reporter
from boxthirding.find.result import Found
from boxthirding.find.retry import Errors, Retry
from boxthirding.find.run import Opened, Run
from boxthirding.find.search import unavailable
from boxthirding.find.task import Examples, Task
from boxthirding.policies.spec import as_policy
from boxthirding.session import AskTell, Known, Session
from boxthirding.session.known_results import pairs_of
from boxthirding.session.labels import is_label
from boxthirding.types import Label, Policy, Progress

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
    from boxthirding.study import Study

Arms = int | Iterable[Any] | Mapping[Label, Any]
Place = str | Path | tuple[str | Path, str]
"""A path or URL, or that and the name of a study in it."""

P = ParamSpec("P")
T = TypeVar("T")

_PAIR = 2
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
    with ExitStack() as stack:
        opened = _opened(stack, study, arms, policy, seed, direction, known, crew.task.examples, limits)
        crew = crew.paired(opened.study, is_new=not opened.is_shared)
        run = Run(opened, crew, limits, Reporter(progress), hearing, stack)
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
    with ExitStack() as stack:
        opened = _opened(stack, study, arms, policy, seed, direction, known, crew.task.examples, limits)
        crew = crew.paired(opened.study, is_new=not opened.is_shared)
        run = Run(opened, crew, limits, Reporter(progress), hearing, stack)
        return await carry_out(crew, run.search, run.conclude)


def _opened(  # what find_best was given
    stack: ExitStack,
    study: Place | AskTell | None,
    arms: Arms | None,
    policy: Policy | str | None,
    seed: int | None,
    direction: str | None,
    known: Known | None,
    examples: Examples | None,
    limits: Limits,
) -> Opened:
    """Return what to ask and tell: a session of our own, a study that is opened for this run, or what is open."""
    chosen = None if policy is None else as_policy(policy, budget=limits.pulls)
    most = None if examples is None else examples.most
    try:
        if study is None:
            if arms is None:
                raise InvalidInput("arms is None, but only a study that is there has arms of its own: give arms")
            given = _by_pull(known, examples, 0 if seed is None else seed)
            settings = {"seed": seed, "direction": direction, "known": given}
            kept = {name: value for name, value in settings.items() if value is not None}
            return Opened(Session(_breakable(arms), chosen, examples=most, **kept), None, is_shared=False)  # type: ignore[arg-type]  # each has its own type
        if hasattr(study, "ask") and not isinstance(study, type):
            return _given_open(study, arms, chosen, seed, direction, known, examples)
        return _in_database(stack, study, arms, chosen, seed, direction, known, examples)
    except ArmsUnavailable as error:  # from the first arm
        raise unavailable(error) from error.__cause__


def _in_database(  # the same
    stack: ExitStack,
    place: Place,
    arms: Arms | None,
    policy: Policy | None,
    seed: int | None,
    direction: str | None,
    known: Known | None,
    examples: Examples | None,
) -> Opened:
    url, name = _parts(place)
    of_examples = known if examples is not None else None
    if of_examples is not None:  # a study that is there says which pull sees an example
        known = None if _is_there(url, name) else _by_pull(known, examples, 0 if seed is None else seed)
    settings: dict[str, Any] = {
        "arms": None if arms is None else _breakable(arms),
        "policy": policy,
        "seed": seed,
        "direction": direction,
        "examples": None if examples is None else examples.most,
        "known": known,
        "timeout": _SHORT,
    }
    opened = _open(url, name, settings)
    stack.callback(opened.close)
    _check_examples(opened, examples)
    _check_arms(opened)
    if of_examples is not None and examples is not None:
        opened.add_known(_by_pull(of_examples, examples.seeded(opened.seed).paired(opened), opened.seed))
    return Opened(opened, opened.place, is_shared=True, is_ours=True)


def _is_there(url: str, name: str | None) -> bool:
    """Tell whether there is a study."""
    try:
        _open(url, name, {"timeout": _SHORT}).close()
    except UnknownStudy:
        return False
    return True


def _open(url: str, name: str | None, settings: dict[str, Any]) -> "Study | RemoteStudy":
    """Open a study in a database or of a server; what that needs is loaded only then."""
    from boxthirding.client.addresses import is_remote  # noqa: PLC0415  # most runs keep none

    if is_remote(url):
        from boxthirding.client import RemoteStudy  # noqa: PLC0415

        return RemoteStudy(url, name=name, **settings)
    from boxthirding.storage.opening import NAME, open_study  # noqa: PLC0415

    return open_study(url, NAME if name is None else name, **settings)


def _given_open(
    study: Any,
    arms: Arms | None,
    policy: Policy | None,
    seed: int | None,
    direction: str | None,
    known: Known | None,
    examples: Examples | None,
) -> Opened:
    """Return an `AskTell` that is open, after a look at what was given beside it."""
    for what, value in {"policy": policy, "seed": seed, "direction": direction}.items():
        if value is not None:
            raise InvalidInput(f"{what} is {value!r}, but the open study has its own: leave it out")
    if arms is not None:
        raise InvalidInput("arms were given, but the open study has its own: give None instead")
    if known is not None:  # the same call may be made again, and nothing tells which of them are there already
        raise InvalidInput("known results were given beside an open study: call its observe_all() with them, once")
    _check_examples(study, examples)
    _check_arms(study)
    return Opened(study, getattr(study, "place", None), is_shared=True)


def _check_arms(study: Any) -> None:
    """Refuse a study that knows arms by their digest alone: `evaluate` would be called with their labels."""
    missing = study.not_here() if hasattr(study, "not_here") else []
    if missing:
        more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
        raise InvalidInput(
            f"arm {missing[0]!r}{more} of the study cannot be evaluated here, as an arm that is no JSON is not stored",
            advice="give the same arms again, here or to open_study()",
        )


def _check_examples(study: AskTell, examples: Examples | None) -> None:
    """Refuse examples that are not those of a study: its pulls would be of other pairs of arm and example."""
    most = None if examples is None else examples.most
    if most != study.examples:
        has = "no examples" if study.examples is None else f"{counted(study.examples, 'example')} that run out"
        given = "none" if examples is None else f"{len(examples):,}{' that may be repeated' if most is None else ''}"
        raise StudyDiffers(
            f"the study has {has}, but {given} {'is' if given == '1' else 'are'} given: give examples= as when it was "
            "made, or use another study"
        )


def _by_pull(known: Known | None, examples: Examples | None, seed: int) -> Known | None:
    """Return known results with the pulls that see their examples; where those may be repeated, it does not matter."""
    if known is None or examples is None or (examples.repeat and not isinstance(known, Mapping)):
        return known
    order = examples.seeded(seed)
    by_pull: dict[Label, Any] = {}
    for label, rewards in pairs_of(known):
        if not is_label(label):
            raise InvalidInput(f"a known result is of {label!r}, but a label must be a string or an integer")
        if isinstance(rewards, Mapping):
            pulls = by_pull.setdefault(label, {})
            for example, reward in rewards.items():
                pull = order.pull_of(example)
                if pull in pulls:
                    raise InvalidInput(
                        f"example {example} of {label!r} stands in the known results twice, but counts once"
                    )
                pulls[pull] = reward
        elif examples.repeat:
            by_pull[label] = rewards
        else:
            raise InvalidInput(
                f"the known result of {label!r} is {rewards!r} and names no example, but must: give known={{label: "
                "{index of the example: reward}}"
            )
    if examples.repeat:  # a mapping was given, so each label is there once
        return {label: [*known.values()] if isinstance(known, dict) else known for label, known in by_pull.items()}
    return by_pull


def _parts(place: object) -> tuple[str, str | None]:
    """Return the URL and the name of a study, if it is named beside it."""
    if isinstance(place, str | Path):
        return str(place), None
    if isinstance(place, tuple | list) and len(place) == _PAIR and isinstance(place[0], str | Path):
        return str(place[0]), place[1]
    raise InvalidInput(
        f"study is {place!r}, but must be a path or URL, a pair of that and the name of a study, or an open study"
    )


def _breakable(arms: Arms) -> Arms:
    """Let Ctrl-C interrupt an iterator of arms."""
    return Breakable(arms) if isinstance(arms, Iterator) else arms


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
