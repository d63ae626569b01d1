"""inspect_ai: race prompts, solvers or models over a dataset, within a budget of samples, in one log."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, Final, NoReturn

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput, MissingExtra, TicketRefused
from boxthirding.find import Examples
from boxthirding.find.summary import names
from boxthirding.session import Recommendation, Session, Ticket
from boxthirding.session.labels import is_label
from boxthirding.types import Label, Policy

try:
    from inspect_ai import SampleSource, Task
except ImportError as _error:
    raise MissingExtra("racing", "inspect-ai", "inspect") from _error

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessageSystem, Model
from inspect_ai.scorer import Metric, SampleScore, metric, value_to_float
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.solver import generate as plain_generate

ARM: Final = "arm"  # the field of a sample's metadata that has the label of the arm which it evaluates

RACE: Final = "boxthirding"
"""The field of a log's metadata that says what decides its race: the direction, and which score."""

_SEVERAL: Final = (Mapping, list, tuple)  # scores that are several values
_SHOWN: Final = 10  # arms in a summary
_TRIES: Final = 3  # failures in a row after which an arm is given up, as everywhere


def racing(
    dataset: Sequence[Sample],
    arms: Mapping[str, Any] | Sequence[Any],
    *,
    budget: int,
    scorer: Any,
    solver: Any = None,
    score: str | None = None,
    workers: int = 10,
    policy: Policy | str | None = None,
    seed: int = 0,
    direction: str = "maximize",
    **task: Any,
) -> Task:
    """Return a task that finds the best of some prompts, solvers or models with a budget of samples.

    Parameters
    ----------
    dataset : Dataset or list of Sample
        What arms are tried on. All arms see its samples in the same random order.
    arms : mapping or list
        Prompts as texts (system messages), solvers, or models (`get_model(…)`), with their names, or in a list.
    budget : int
        How many samples to run in all.
    scorer : Scorer
        What scores a sample. Values such as "C" and "I" count as inspect_ai counts them.
    solver : Solver, optional
        What runs after a prompt was set. Default: `generate()`.
    score : str, optional
        Which score decides, where there are several.
    workers : int, default 10
        Samples in flight.
    policy : Policy or str, default "chase"
        What decides which arm is next.
    seed : int, default 0
        Decides the order of arms and samples.
    direction : {"maximize", "minimize"}, default "maximize"
        Whether larger scores are better.
    task : keyword arguments
        Anything else that `Task` takes, such as `name` or `sandbox`, but for `epochs`: a race runs a sample of the
        dataset once with an arm. `metrics` come after those of the race.

    Return it from a function marked `@task`. Results are taken in the order in which samples were begun, so a retry of
    a log (`eval_retry`) asks for the same samples under the same ids, and those that are there are not run again. The
    log ends with the means of the best arms as its metrics; `summary(log)` says it in words. A sample that failed is
    tried again twice, if `fail_on_error` lets the task go on, and then its arm is given up.

    """
    given = _labelled(arms)
    examples = Examples(dataset, seed)
    for case, times in Counter(_case(examples[pull], pull) for pull in range(len(dataset))).items():
        if times > 1:  # they could not be told apart in the log
            raise InvalidInput(f"{times} samples of the dataset have the id {case!r}, but ids must be unique")
    epochs = task.pop("epochs", None)
    if getattr(epochs, "epochs", epochs) not in (None, 1):
        _refuse_epochs(epochs)
    session = Session(given, policy, seed=seed, direction=direction, examples=len(dataset), patience=_TRIES)
    source = _Race(session, examples, whole("budget", budget, least=1), whole("workers", workers, least=1), score)
    metrics = task.pop("metrics", None) or []
    metadata = {**(task.pop("metadata", None) or {}), RACE: {"direction": direction, "score": score}}
    return Task(
        dataset=source,
        solver=_of_arm(given, plain_generate() if solver is None else solver),
        scorer=scorer,
        metrics=[best_arms(direction), *(metrics if isinstance(metrics, list) else [metrics])],
        metadata=metadata,
        **task,
    )


class _Race(SampleSource):
    """Samples as a session asks for them, one for each pull."""

    def __init__(self, session: Session, examples: Examples, budget: int, workers: int, score: str | None) -> None:
        self._session, self._examples, self._budget, self._workers = session, examples, budget, workers
        self._score = score  # that decides
        self._waiting: list[tuple[str, Ticket]] = []  # in the order in which they were begun
        self._outcomes: dict[str, float | None] = {}
        self._tries: dict[tuple[Label, int], int] = {}
        self._failures = 0

    def initial_samples(self) -> list[Sample]:
        """Begin as many samples as may be in flight."""
        return self._begun()

    async def next_samples(self) -> list[Sample] | None:
        """Begin more when none is in flight; None, when the budget is spent or nothing is left to try."""
        return self._begun() or None

    async def sample_complete(self, sample: Any) -> list[Sample] | None:
        """Take what became of a sample."""
        if sample.epoch > 1:
            _refuse_epochs(sample.epoch)
        return self._taken(str(sample.id), None if sample.error is not None else self._value(sample.scores))

    async def sample_abandoned(self, sample: Sample, epoch: int) -> list[Sample] | None:
        """Take a sample that was cancelled for one that failed."""
        del epoch
        return self._taken(str(sample.id), None)

    def _taken(self, sample_id: str, value: float | None) -> list[Sample] | None:
        """Tell results in the order in which they began, so that the outcome does not depend on speed."""
        self._outcomes[sample_id] = value
        begun: list[Sample] = []
        while self._waiting and self._waiting[0][0] in self._outcomes:
            first, ticket = self._waiting.pop(0)
            reward = self._outcomes.pop(first)
            self._failures += reward is None
            with suppress(TicketRefused):  # its arm was given up meanwhile
                if reward is None:
                    self._session.fail(ticket)
                else:
                    self._session.tell(ticket, reward)
            begun += self._begun()  # after each: how many results it goes by must not depend on who was faster
        return begun or None

    def _begun(self) -> list[Sample]:
        """Begin as many samples as there is room for."""
        begun = []
        while len(self._waiting) < self._workers:
            tickets = self._session.ask(limit=max(0, self._budget - self._failures))
            if not tickets:
                break
            begun.append(self._sample(tickets[0]))
        return begun

    def _sample(self, ticket: Ticket) -> Sample:
        pair = ticket.label, ticket.pull
        self._tries[pair] = self._tries.get(pair, 0) + 1
        sample: Sample = self._examples[ticket.pull]
        name = f"{ticket.label} on {_case(sample, ticket.pull)}"
        name += "" if self._tries[pair] == 1 else f", try {self._tries[pair]}"
        self._waiting.append((name, ticket))
        return sample.model_copy(update={"id": name, "metadata": {**(sample.metadata or {}), ARM: ticket.label}})

    def _value(self, scores: Mapping[str, Any] | None) -> float | None:
        """Return the score that decides; None, if it is no finite number."""
        if not scores:
            return None
        if self._score is None and len(scores) > 1:
            raise InvalidInput(f"there are the scores {', '.join(scores)}: name the one that decides, score=…")
        one = next(iter(scores.values())) if self._score is None else scores.get(self._score)
        if one is None:
            raise InvalidInput(f"score is {self._score!r}, but there are only {', '.join(scores)}")
        if isinstance(one.value, _SEVERAL):
            raise InvalidInput(
                f"a score is {one.value!r}, but must be one value: give a scorer of the one that decides"
            )
        value = _number(one.value)
        return value if math.isfinite(value) else None


@solver
def _of_arm(arms: Mapping[str, Any], then: Solver) -> Solver:
    """Solve a sample with its arm."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        arm = arms[state.metadata[ARM]]
        if isinstance(arm, str):
            state.messages.insert(0, ChatMessageSystem(content=arm))
            return await then(state, generate)
        if isinstance(arm, Model):
            state.output = await arm.generate(state.messages)
            state.messages.append(state.output.message)
            return state
        return await arm(state, generate)

    return solve


@metric
def best_arms(direction: str = "maximize") -> Metric:
    """Return the means of the arms that the race thinks best, the best first, as a metric of inspect_ai."""

    def standing(scores: list[SampleScore]) -> dict[str, float]:
        results = (((one.sample_metadata or {}).get(ARM), one.score.value) for one in scores)
        return {str(arm.label): arm.mean for arm in _standing(results, direction)}

    return standing


def standings(log: EvalLog, *, score: str | None = None, direction: str | None = None) -> list[Recommendation]:
    """Return the arms in the log of a race, best first: label, mean and pulls.

    Parameters
    ----------
    log : EvalLog
        The log, with its samples.
    score : str, optional
        Which score decides. Default: the one that decided the race.
    direction : {"maximize", "minimize"}, optional
        Whether larger scores are better. Default: that of the race.

    """
    race = (log.eval.metadata or {}).get(RACE, {})
    score, direction = score or race.get("score"), direction or race.get("direction", "maximize")
    results = []
    for sample in log.samples or ():
        scores = sample.scores or {}
        one = scores.get(score) if score is not None else next(iter(scores.values()), None)
        results += [] if one is None else [(sample.metadata.get(ARM), one.value)]
    return _standing(results, direction)


def summary(log: EvalLog, *, score: str | None = None, direction: str | None = None) -> str:
    """Describe which arm won the race of a log, and by how much; the parameters are those of `standings`."""
    found = standings(log, score=score, direction=direction)
    if not found:
        return "Nothing found: no sample has a score"
    name = names(arm.label for arm in found[:_SHOWN])
    width = max(map(len, name.values()))
    pulls = sum(arm.pulls for arm in found)
    lines = [f"Best: {name[found[0].label]}, the best of {len(found)} arms tried on {pulls:,} samples"]
    lines += [f"  {name[arm.label]:{width}}  mean {arm.mean:.4g} over {arm.pulls:,}" for arm in found[:_SHOWN]]
    return "\n".join([*lines, "  Winners look better than they are: run the best few again on fresh samples."])


def _standing(results: Iterable[tuple[Any, Any]], direction: str) -> list[Recommendation]:
    """Return the arms of results, pairs of a label and a score, the best first and the one with more pulls of two."""
    known: dict[Label, list[float]] = {}
    for label, score in results:
        value = _number(score)
        if label is not None and math.isfinite(value):
            known.setdefault(label, []).append(value)
    if not known:
        return []
    ranked = Session(list(known), direction=direction, known=known).top(len(known))
    ties = groupby(ranked, key=lambda arm: arm.mean)
    return [arm for _, tied in ties for arm in sorted(tied, key=lambda arm: -arm.pulls)]


def _case(sample: Sample, pull: int) -> str:
    """Return what a sample of the dataset is called: by its id, or by its place in the order of the race."""
    return str(pull if sample.id is None else sample.id)


def _refuse_epochs(epochs: Any) -> NoReturn:
    raise InvalidInput(
        f"epochs is {epochs!r}, but a race runs a sample once with an arm: leave it out, and raise the budget instead"
    )


def _number(value: Any) -> float:
    """Return a score as inspect_ai counts it; NaN, if it is none."""
    if isinstance(value, _SEVERAL):
        return math.nan  # which inspect_ai would take for 0
    try:
        return float(value_to_float()(value))
    except (TypeError, ValueError):
        return math.nan


def _labelled(arms: Mapping[str, Any] | Sequence[Any]) -> dict[str, Any]:
    """Return arms by their names: those given, the texts themselves, or places in the list."""
    if isinstance(arms, str) or not arms:
        raise InvalidInput(f"arms is {arms!r}, but must be a mapping or a list of prompts, solvers or models")
    if isinstance(arms, Mapping):
        given = dict(arms)
    else:
        given = {str(arm) if is_label(arm) else str(place): arm for place, arm in enumerate(arms)}
    for name, arm in given.items():
        if not (isinstance(arm, str | Model) or callable(arm)):
            raise InvalidInput(
                f"arm {name!r} is {arm!r}, but must be a prompt (a text), a solver, or a model, as get_model returns it"
            )
    return given
