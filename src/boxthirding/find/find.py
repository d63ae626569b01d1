"""The one-liner: your arms, your function, a budget."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from typing import Any

from boxthirding.errors import ArmsUnavailable, InvalidInput
from boxthirding.find.budget import Account, Limits
from boxthirding.find.engine import Engine, engine
from boxthirding.find.found import Found, raise_error
from boxthirding.find.plan import Progress, measured, named, plan
from boxthirding.find.search import Search, unavailable
from boxthirding.find.task import Examples, Task
from boxthirding.find.workers import Breakable
from boxthirding.policies import BoxThirding, parse_policy
from boxthirding.session import AskTell, Session
from boxthirding.types import Label, Policy


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
    seed: int = 0,
    direction: str = "maximize",
    on_error: str = "raise",
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

    `policy` is Box Thirding unless given, as an object or as a SPEC such as "sh" or "b3:reuse=topup"; `seed` decides
    the order of arms and examples. When an evaluation raises, or returns no finite number, `on_error="raise"` lets
    those under way finish and raises `EvaluationFailed`, whose `found` is the best so far; "withdraw" tries again, and
    withdraws the arm after three failures in a row. With `progress`, the plan, and in the end what was spent, are
    printed to stderr.

    >>> found = find_best(["ann", "bob", "cid"], {"ann": 0.1, "bob": 0.9, "cid": 0.5}.get, budget=20, progress=False)
    >>> found.best
    'bob'
    """
    limits = _limits(budget, cost, seconds)
    crew = engine(_task(evaluate, examples, seed), workers, executor, on_error)
    crew.refuse_running_loop("find_best_async(…)")
    chosen = _policy(policy, limits)
    session = _session(arms, chosen, seed, direction)
    search, conclude = begin(session, crew, limits, policy=chosen, progress=progress)
    return crew.carry_out(search, conclude)


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
    seed: int = 0,
    direction: str = "maximize",
    on_error: str = "raise",
    progress: bool = True,
) -> Found:
    """Do what `find_best` does from a running event loop; a plain function runs in threads, so the loop goes on.

    Cancelling it cancels the evaluations and raises CancelledError, as always. Ctrl-C returns the best so far.
    """
    from boxthirding.find.awaiting import carry_out  # noqa: PLC0415  # asyncio takes its time to import

    limits = _limits(budget, cost, seconds)
    crew = engine(_task(evaluate, examples, seed), workers, executor, on_error)
    chosen = _policy(policy, limits)
    session = _session(arms, chosen, seed, direction)
    search, conclude = begin(session, crew, limits, policy=chosen, progress=progress)
    return await carry_out(crew, search, conclude)


def begin(
    session: AskTell, crew: Engine, limits: Limits, *, policy: Policy | None, progress: bool
) -> tuple[Search, Callable[[], Found]]:
    """Print the plan; return the search for a session's best arm, and what makes the result of it."""
    shown = Progress(wanted=progress)
    if progress:
        shown.say(*plan(limits, session.screening(1).arms, crew.workers, policy))
    history: list[tuple[int, Label]] = []

    def told() -> None:
        best = session.recommend()
        if best is not None and (not history or history[-1][1] != best.label):
            history.append((session.pulls, best.label))
        shown.update(search.account.pulls, limits, session)

    search = Search(session, Account(limits), workers=crew.workers, on_error=crew.on_error, told=told)

    def conclude() -> Found:
        found = Found(session, search, crew, history)
        best = found.recommendation
        answer = "No result" if best is None else f"Best: {named(best.label)}, {measured(best.mean, best.pulls)}"
        shown.say(f"{answer}; {found.account()[0]}.", *found.account()[1:])
        raise_error(search, found)
        return found

    return search, conclude


def _session(arms: int | Iterable[Any] | Mapping[Label, Any], policy: Policy, seed: int, direction: str) -> Session:
    arms = Breakable(arms) if isinstance(arms, Iterator) else arms
    try:
        return Session(arms, policy, seed=seed, direction=direction)
    except ArmsUnavailable as error:  # from the first arm
        raise unavailable(error) from error.__cause__


def _limits(budget: int | None, cost: float | None, seconds: float | None) -> Limits:
    if budget is None and cost is None and seconds is None:
        raise InvalidInput("there is no budget: give budget= pulls, cost= in your own unit, or seconds=")
    return Limits(budget, cost, seconds)


def _task(evaluate: Callable[..., Any], examples: Sequence[Any] | Examples | None, seed: int) -> Task:
    if examples is None or isinstance(examples, Examples):
        return Task(evaluate, examples)
    return Task(evaluate, Examples(examples, seed))


def _policy(policy: Policy | str | None, limits: Limits) -> Policy:
    if policy is None:
        return BoxThirding()
    if isinstance(policy, str):
        return parse_policy(policy, budget=limits.pulls)
    if isinstance(policy, type) or not hasattr(policy, "rule"):
        raise InvalidInput(
            f"policy is {policy!r}, but must be an instance of a policy, such as BoxThirding(), or a SPEC, such as 'b3'"
        )
    return policy
