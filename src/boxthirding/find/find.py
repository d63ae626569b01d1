"""The one-liner: your arms, your function, a budget."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any

from boxthirding.errors import ArmsUnavailable, InvalidInput
from boxthirding.find.budget import Account, Limits
from boxthirding.find.engine import Engine, engine
from boxthirding.find.found import Found, raise_error
from boxthirding.find.plan import Progress, measured, named, plan
from boxthirding.find.search import TROUBLE, Search, unavailable
from boxthirding.find.task import Examples, Task
from boxthirding.find.workers import Breakable
from boxthirding.policies import parse_policy
from boxthirding.session import AskTell, Session
from boxthirding.types import Label, Policy

if TYPE_CHECKING:
    from boxthirding.find.shared import Place, Shared


def find_best(  # noqa: PLR0913  # two that are needed, and an option for each way to use them
    arms: int | Iterable[Any] | Mapping[Label, Any],
    evaluate: Callable[..., Any],
    *,
    budget: int | None = None,
    seconds: float | None = None,
    cost: float | None = None,
    examples: Sequence[Any] | Examples | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    policy: Policy | str | None = None,
    seed: int | None = None,
    direction: str | None = None,
    on_error: str = "raise",
    study: "Place | None" = None,
    progress: bool = True,
) -> Found:
    """Find the best arm by evaluating arms within a budget; Ctrl-C or a deadline returns the best so far.

    `arms` is a sequence, a mapping of labels to arms, an iterator, or a number. `evaluate(arm)` returns a number, or
    (number, cost); with `examples` it is `evaluate(arm, example)`, and pull k of every arm sees the same example.

    The budget is one of `budget` pulls, a total `cost` (that of a result must be above 0, and is 1 where none is
    returned), or `seconds`; seconds may also stand beside the other two, and whichever ends first counts. An evaluation
    that fails is paid for as well: a pull, and the mean cost so far. Evaluations already under way when a cost is
    reached are waited for, so it may be exceeded by the last of them.

    A plain function runs in the calling thread, or in `workers` threads, or in an `executor` with so many evaluations
    in flight as there are workers (as many as the executor says it has, unless given). A coroutine function is
    awaited, `workers` at a time. With `seconds`, one worker is a thread too: what hangs past the deadline, or when
    Ctrl-C is pressed, cannot be killed, but is not waited for, and a thread of ours does not keep the program alive.
    An iterator of arms, and a coroutine that blocks the loop, run in the calling thread: Ctrl-C breaks them off, but a
    deadline is looked at only when they are done.

    `policy` is `b3auto` unless given, as an object or as a SPEC such as "sh" or "b3:reuse=topup"; `seed`, 0 unless
    given, decides the order of arms and examples; `direction` is "maximize" unless given, or "minimize". A study that
    is gone on with has its own, so all three may be left out. When an evaluation raises, or returns no finite number,
    `on_error="raise"` lets those under way finish and raises `EvaluationFailed`, whose `found` is the best so far;
    "withdraw" tries again, and withdraws the arm after three failures in a row. With `progress`, the plan, and in the
    end what was spent, are printed to stderr.

    With `study`, the path of an SQLite file or another URL that `open_study` takes, or a pair of that and a name
    ("main" unless given), the run is kept there: the same call goes on where it was after Ctrl-C, a crash or a kill,
    and several processes may make it at once. `budget` then counts the results of the whole study; `cost`, `seconds`
    and failures count in the call that has them, so after failures the same call tries once more for the results that
    are missing. Arms, policy, seed and direction must stay the same. Nothing is handed out while the study is paused,
    and the call waits; once it is closed, it returns. While the database is away, for up to a minute, nothing new is
    started, and results that have come in are kept.

    >>> found = find_best(["ann", "bob", "cid"], {"ann": 0.1, "bob": 0.9, "cid": 0.5}.get, budget=20, progress=False)
    >>> found.best
    'bob'
    """
    limits = _limits(budget, cost, seconds)
    crew = engine(_task(evaluate, examples, seed), workers, executor, on_error)
    crew.refuse_running_loop("find_best_async(…)")
    chosen = _policy(policy, limits)
    if study is None:
        session = _session(arms, chosen, seed, direction)
        return crew.carry_out(*begin(session, crew, limits, policy=session.policy, progress=progress))
    with _shared(study, arms, chosen, seed, direction, limits) as shared:
        crew = crew.seeded(shared.study.seed)
        return crew.carry_out(
            *begin(shared.study, crew, limits, policy=shared.study.policy, progress=progress, shared=shared)
        )


async def find_best_async(  # noqa: PLR0913  # the same
    arms: int | Iterable[Any] | Mapping[Label, Any],
    evaluate: Callable[..., Any],
    *,
    budget: int | None = None,
    seconds: float | None = None,
    cost: float | None = None,
    examples: Sequence[Any] | Examples | None = None,
    workers: int | None = None,
    executor: Executor | None = None,
    policy: Policy | str | None = None,
    seed: int | None = None,
    direction: str | None = None,
    on_error: str = "raise",
    study: "Place | None" = None,
    progress: bool = True,
) -> Found:
    """Do what `find_best` does from a running event loop; a plain function runs in threads, so the loop goes on.

    Cancelling it cancels the evaluations and raises CancelledError, as always. Ctrl-C returns the best so far.
    """
    from boxthirding.find.awaiting import carry_out  # noqa: PLC0415  # asyncio takes its time to import

    limits = _limits(budget, cost, seconds)
    crew = engine(_task(evaluate, examples, seed), workers, executor, on_error)
    chosen = _policy(policy, limits)
    if study is None:
        session = _session(arms, chosen, seed, direction)
        return await carry_out(crew, *begin(session, crew, limits, policy=session.policy, progress=progress))
    with _shared(study, arms, chosen, seed, direction, limits) as shared:
        crew = crew.seeded(shared.study.seed)
        return await carry_out(
            crew, *begin(shared.study, crew, limits, policy=shared.study.policy, progress=progress, shared=shared)
        )


def begin(
    session: AskTell,
    crew: Engine,
    limits: Limits,
    *,
    policy: Policy | None,
    progress: bool,
    shared: "Shared | None" = None,
) -> tuple[Search, Callable[[], Found]]:
    """Print the plan; return the search for a session's best arm, and what makes the result of it."""
    shown = Progress(wanted=progress)
    if progress:
        shown.say(*plan(limits, session.screening(1).arms, crew.workers, policy))
        if shared is not None:
            shown.say(shared.greeting())
    history: list[tuple[int, Label]] = []
    account = Account(limits, others=shared)

    def told() -> None:
        best = session.recommend()
        if best is not None and (not history or history[-1][1] != best.label):
            history.append((session.pulls, best.label))
        shown.update(account.pulls + account.others.made, limits, session)

    def patient(room: bool) -> bool:  # noqa: FBT001  # the one thing that a search knows
        reason = "" if shared is None else shared.reason_to_wait(room=room)
        shown.say_once(reason)
        return bool(reason)

    source = session if shared is None else shared
    search = Search(
        source,
        account,
        workers=crew.workers,
        on_error=crew.on_error,
        told=told,
        patient=patient,
        away=lambda trouble: shown.say_once(f"The study cannot be reached, trying again: {trouble}"),
    )

    def conclude() -> Found:
        search.close()
        try:
            arms, out = (None, None) if shared is None else (shared.payloads(), shared.holders())
            found = Found(session, search, crew, history, arms, out)
        except TROUBLE as trouble:
            if isinstance(search.error, TROUBLE):
                raise search.error from trouble
            raise trouble from search.error or trouble.__cause__
        if shared is not None:
            shared.live_as_long_as(found)
        best = found.recommendation
        answer = "No result" if best is None else f"Best: {named(best.label)}, {measured(best.mean, best.pulls)}"
        shown.say(f"{answer}; {found.account()[0]}.", *found.account()[1:])
        raise_error(search, found)
        return found

    return search, conclude


def _session(
    arms: int | Iterable[Any] | Mapping[Label, Any], policy: Policy | None, seed: int | None, direction: str | None
) -> Session:
    seed, direction = 0 if seed is None else seed, "maximize" if direction is None else direction
    try:
        return Session(_breakable(arms), policy, seed=seed, direction=direction)
    except ArmsUnavailable as error:  # from the first arm
        raise unavailable(error) from error.__cause__


def _shared(
    study: "Place",
    arms: int | Iterable[Any] | Mapping[Label, Any],
    policy: Policy | None,
    seed: int | None,
    direction: str | None,
    limits: Limits,
) -> "Shared":
    from boxthirding.find.shared import Shared  # noqa: PLC0415  # most programs do not keep a study

    try:
        return Shared(study, _breakable(arms), policy, seed=seed, direction=direction, limit=limits.pulls)
    except ArmsUnavailable as error:
        raise unavailable(error) from error.__cause__


def _breakable(arms: int | Iterable[Any] | Mapping[Label, Any]) -> int | Iterable[Any] | Mapping[Label, Any]:
    """Let Ctrl-C break off arms that come from an iterator."""
    return Breakable(arms) if isinstance(arms, Iterator) else arms


def _limits(budget: int | None, cost: float | None, seconds: float | None) -> Limits:
    if budget is None and cost is None and seconds is None:
        raise InvalidInput("there is no budget: give budget= pulls, cost= in your own unit, or seconds=")
    return Limits(budget, cost, seconds)


def _task(evaluate: Callable[..., Any], examples: Sequence[Any] | Examples | None, seed: int | None) -> Task:
    if examples is None or isinstance(examples, Examples):
        return Task(evaluate, examples)
    return Task(evaluate, Examples(examples, seed))


def _policy(policy: Policy | str | None, limits: Limits) -> Policy | None:
    """Return what was asked for; None is the session's default, or what the study has."""
    if policy is None:
        return None
    if isinstance(policy, str):
        return parse_policy(policy, budget=limits.pulls)
    if isinstance(policy, type) or not hasattr(policy, "rule"):
        raise InvalidInput(
            f"policy is {policy!r}, but must be an instance of a policy, such as BoxThirding(), or a SPEC, such as 'b3'"
        )
    return policy
