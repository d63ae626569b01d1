"""Optuna: repeat promising parameters, recommend what is best on average, and race the candidates of a study."""

import json
import math
import secrets
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Final

import numpy as np

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.integrations.race import Candidates
from boxthirding.policies.spec import POLICIES, as_policy
from boxthirding.session import Session, Ticket
from boxthirding.types import Label, Policy

try:
    import optuna
except ImportError as _error:
    raise MissingExtra("boxthirding.integrations.optuna", "optuna", "optuna") from _error

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FixedTrial, FrozenTrial, TrialState

ARM: Final = "boxthirding:arm"  # the system attribute of a trial that says which candidate it evaluates

FIXED: Final = "fixed_params"  # the system attribute with which Optuna marks an enqueued trial

PATIENCE: Final = 3  # failures in a row after which a candidate is given up, as everywhere

Params = dict[str, Any]


@dataclass(repr=False)
class Recommended:
    """The best parameters of a study, judged by the mean of all their trials."""

    params: Params
    value: float
    """The mean of its trials' values: still a little better than the truth, because it was selected."""
    trials: list[FrozenTrial]

    def __repr__(self) -> str:
        return f"Recommended(params={self.params!r}, value={self.value:.6g}, trials={len(self.trials)})"


def recommend(study: optuna.Study, policy: Policy | str | None = None) -> Recommended:
    """Return the parameters that are best on average, instead of the lucky `study.best_trial`.

    Parameters
    ----------
    study : optuna.Study
        Any study with one objective. Trials with the same parameters are evaluations of one candidate.
    policy : Policy or str, default "chase"
        What weighs a good mean of few trials against one of many. It must take known results, as chase does.

    """
    groups, known = _groups(study)
    best = Session(list(known), _amendable(policy), direction=_direction(study), known=known).recommend()
    if best is None:
        raise InvalidInput(f"the policy {policy!r} recommends nothing from known results: leave it out")
    trials = groups[int(best.label)]
    return Recommended(dict(trials[0].params), best.mean, trials)


def from_optuna(study: optuna.Study) -> Candidates:
    """Return the completed trials of a study as candidates for `race`: their parameters, and their values as known.

    Trials with the same parameters are one candidate, and its label is the number of the first. Failed and pruned
    trials are left out, since their values are none of the objective.
    """
    groups, known = _groups(study)
    names = {frozenset(trials[0].params) for trials in groups.values()}
    if len(names) > 1:
        some = sorted(frozenset.union(*names) - frozenset.intersection(*names))
        _warn(
            f"The parameters differ between trials of the study: {', '.join(some)} are not in all of them. Each trial "
            "is raced with the parameters that it has."
        )
    arms: dict[Label, Params] = {label: dict(trials[0].params) for label, trials in groups.items()}
    return Candidates(arms, known, _direction(study))


def from_objective(objective: Callable[[Any], float]) -> Callable[[Params], float]:
    """Return an objective of Optuna as a function of parameters, which `race` can call.

    >>> from_objective(lambda trial: trial.suggest_float("x", 0, 1) + 1)({"x": 0.5})
    1.5
    """
    return lambda params: objective(FixedTrial(params))


class BoxThirdingSampler(BaseSampler):
    """An Optuna sampler that evaluates promising parameters again, so that the best is not the luckiest.

    Parameters
    ----------
    candidates : int or list of dict
        How many parameter sets to draw at the most, or the parameter sets themselves. Processes that draw at the same
        moment may draw a few more.
    policy : Policy or str, default "chase"
        What decides which candidate is next. It must take known results, as chase does.
    seed : int, optional
        Decides the order of candidates and what the default `sampler` draws, together with the number of trials that
        the study has: a resumed study draws new ones. Default: another one every time.
    sampler : optuna.samplers.BaseSampler, optional
        What draws the parameters of a new candidate, and a parameter that a given set lacks. Default: `RandomSampler`.

    Use `recommend(study)` for the answer: `study.best_trial` is the luckiest trial. All that the sampler knows is in
    the trials of the study, so it resumes where the study was, and any number of processes may share a storage. It is
    for one objective; pruned and failed trials, infinite values and parameters that are out of range count as failures,
    and a candidate that failed three times in a row is given up. When all are, `study.optimize` ends with a warning.

    >>> study = optuna.create_study(sampler=BoxThirdingSampler([{"x": 0}, {"x": 1}], seed=1))
    >>> study.optimize(lambda trial: trial.suggest_int("x", 0, 9), n_trials=5)
    >>> recommend(study).params
    {'x': 0}

    """

    def __init__(
        self,
        candidates: int | Sequence[Mapping[str, Any]],
        *,
        policy: Policy | str | None = None,
        seed: int | None = None,
        sampler: "BaseSampler | None" = None,  # as text: where the documentation is built, there is no Optuna
    ) -> None:
        self._sets = None if isinstance(candidates, Integral) else _parameter_sets(candidates)
        self._number = whole("candidates", candidates if self._sets is None else len(self._sets), least=1)
        self._policy = _amendable(policy)
        self._seed = secrets.randbits(31) if seed is None else whole("seed", seed, least=0)
        self._draws_by_seed = sampler is None
        self._sampler = RandomSampler(seed=seed) if sampler is None else sampler
        self._lock = threading.RLock()
        self._races: dict[str, _Race] = {}  # by the name of the study

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_races": {}}  # rebuilt from the trials

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def reseed_rng(self) -> None:
        """Draw differently from now on: called in every new process."""
        self._sampler.reseed_rng()

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Decide which candidate the trial evaluates."""
        _direction(study)
        with self._lock:
            if study.study_name not in self._races:
                session = Session(self._number, self._policy, seed=self._seed, direction=_direction(study))
                self._races[study.study_name] = _Race(session, self._number, self._sets)
                if self._draws_by_seed:
                    drawn = np.random.SeedSequence((self._seed, trial.number)).generate_state(1)
                    self._sampler = RandomSampler(seed=int(drawn[0]))
            self._sampler.before_trial(study, trial)
            race = self._races[study.study_name]
            race.catch_up(study)
            if race.is_over:
                self._stop(study)
            race.begin(study, trial)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return what the sampler of new candidates draws together; nothing, for a candidate that is there."""
        candidate = self._candidate(study, trial)
        if candidate is not None and candidate.params:
            return {}
        space: dict[str, BaseDistribution] = self._sampler.infer_relative_search_space(study, trial)
        return space

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> Params:
        """Draw parameters of a new candidate together."""
        candidate = self._candidate(study, trial)
        drawn: Params = self._sampler.sample_relative(study, trial, search_space)
        if candidate is None:
            return drawn
        with self._lock:
            return {name: candidate.params.setdefault(name, value) for name, value in drawn.items()}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the candidate's value of a parameter; draw one, if it has none yet."""
        with self._lock:
            candidate = self._candidate(study, trial)
            params = {} if candidate is None else candidate.params
            what = f"The parameter {param_name!r} of trial {trial.number} is"
            if param_name in params:
                value = params[param_name]
                if _fits(param_distribution, value):
                    return value
                _warn(
                    f"{what} {value!r} in its candidate, which is out of range for {param_distribution}: another is "
                    "drawn, and the trial counts as a failure of the candidate."
                )
            elif candidate is not None and candidate.is_given:
                _warn(f"{what} not in its candidate: a value is drawn once and kept.")
            value = self._sampler.sample_independent(study, trial, param_name, param_distribution)
            params.setdefault(param_name, value)
            return value

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Take the value of a trial."""
        with self._lock:
            race = self._races.get(study.study_name)
            if race is not None:
                was_over = race.is_over
                race.end(trial, state, values)
                if race.is_over and not was_over:
                    self._stop(study)
        self._sampler.after_trial(study, trial, state, values)

    def _stop(self, study: optuna.Study) -> None:
        """End `study.optimize`, as there is nothing left to evaluate."""
        _warn(
            f"Every candidate failed {PATIENCE} times in a row and was given up, so none is left to evaluate: the "
            "study stops. Mend the objective, or give other candidates in a new study.",
            stacklevel=4,
        )
        with suppress(RuntimeError):  # in a loop of the user's own, which only the user can stop
            study.stop()

    def _candidate(self, study: optuna.Study, trial: FrozenTrial) -> "_Candidate | None":
        _direction(study)
        with self._lock:
            race = self._races.get(study.study_name)
            return None if race is None else race.under_way.get(trial.number, (None, None))[0]


@dataclass
class _Candidate:
    """Parameters that are evaluated together, again and again."""

    name: int | str
    """The number of its first trial, or its place in the list of those given, "set 0": the same in every process."""
    params: Params = field(default_factory=dict)
    is_given: bool = False

    def is_in(self, params: Params) -> bool:
        """Return whether a trial with these parameters evaluated it."""
        return all(params.get(name, value) == value for name, value in self.params.items())


class _Race:
    """A study as its trials tell of it: a session, whose labels are the places of candidates."""

    def __init__(self, session: Session, number: int, sets: list[Params] | None) -> None:
        self._session, self._sets = session, sets
        self._candidates: dict[Label, _Candidate] = {}  # by label
        self._labels: dict[int | str, Label] = {}  # by the candidate's name
        self._by_params: dict[str, Label] = {}
        self._number = number  # of labels
        self._free = number - 1  # labels from here down may belong to no candidate yet
        self._failures: dict[Label, int] = {}  # in a row
        self._withdrawn: set[Label] = set()
        self._seen: set[int] = set()  # trials whose outcome is in the session
        self.under_way: dict[int, tuple[_Candidate, Ticket | None]] = {}
        for place, params in enumerate(sets or ()):
            self._enter(place, _Candidate(f"set {place}", dict(params), is_given=True))
            self._by_params[_key(params)] = place

    @property
    def is_over(self) -> bool:
        """Whether every candidate was given up."""
        return len(self._withdrawn) == self._number

    def catch_up(self, study: optuna.Study) -> None:
        """Take what became of trials that other processes or runs before this one began, or that were enqueued."""
        for trial in study.get_trials(deepcopy=False):
            if trial.number not in self._seen and trial.number not in self.under_way and trial.state.is_finished():
                self._take(trial, _value(trial.state, trial.values))

    def begin(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Give a trial its candidate, unless it comes with parameters of its own: then it is one."""
        if trial.params or FIXED in trial.system_attrs:
            return
        tickets = self._session.ask()
        label = tickets[0].label if tickets else self._label_beside()
        if label not in self._candidates:
            self._enter(label, _Candidate(trial.number))
        candidate = self._candidates[label]
        self.under_way[trial.number] = candidate, tickets[0] if tickets else None
        study._storage.set_trial_system_attr(trial._trial_id, ARM, candidate.name)  # noqa: SLF001  # as its samplers do

    def end(self, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Take what became of a trial that was given a candidate."""
        if trial.number not in self.under_way:
            return
        candidate, ticket = self.under_way.pop(trial.number)
        label = self._labels[candidate.name]
        if candidate.is_in(trial.params):
            self._take(trial, _value(state, values), label, ticket)
        else:  # it was out of range; the next time, the trial is taken for what it is
            self._fail(label, ticket)

    def _label_beside(self) -> Label:
        """Return a candidate when the policy waits for results or has come to its end: the best is never wrong."""
        best = self._session.recommend()
        return best.label if best is not None else min(self._candidates, key=self._withdrawn.__contains__)

    def _take(
        self, trial: FrozenTrial, value: float | None, label: Label | None = None, ticket: Ticket | None = None
    ) -> None:
        """Take the value of a trial; None is a failure."""
        self._seen.add(trial.number)
        if label is None:
            label = self._label_of(trial, is_failure=value is None)
        if label is None:
            return
        if value is None:
            self._fail(label, ticket)
            return
        self._by_params.setdefault(_key(trial.params), label)
        self._failures.pop(label, None)
        if label in self._withdrawn:
            return
        if ticket is None:
            self._session.observe(label, value)
        else:
            self._session.tell(ticket, value)

    def _fail(self, label: Label, ticket: Ticket | None) -> None:
        """Count a failure of a candidate, and give it up after three in a row."""
        if label in self._withdrawn:
            return
        if ticket is not None:
            self._session.release(ticket)
        self._failures[label] = self._failures.get(label, 0) + 1
        if self._failures[label] == PATIENCE:
            self._session.withdraw(label)
            self._withdrawn.add(label)

    def _label_of(self, trial: FrozenTrial, *, is_failure: bool) -> Label | None:
        """Return the label of the candidate that a trial evaluated; None, if that is no candidate of ours."""
        name = trial.system_attrs.get(ARM)
        label = self._labels.get(name)
        if label is not None and self._candidates[label].is_in(trial.params):
            candidate = self._candidates[label]
            candidate.params = {**trial.params, **candidate.params}  # one that failed early has not had all of them
            return label
        label = self._by_params.get(_key(trial.params))
        is_ours = FIXED in trial.system_attrs or self._sets is None
        if label is None and is_ours and not (is_failure and name is None):  # what failed under others is not tried
            label = self._free_label()
            new = trial.number if name is None or name in self._labels else name
            self._enter(label, _Candidate(new, dict(trial.params)))
        return label

    def _free_label(self) -> Label:
        """Return a label that belongs to no candidate; there is one more, if all do."""
        while self._free >= 0 and self._free in self._candidates:
            self._free -= 1
        if self._free >= 0:
            return self._free
        self._session.add([self._number])
        self._number += 1
        return self._number - 1

    def _enter(self, label: Label, candidate: _Candidate) -> None:
        self._candidates[label] = candidate
        self._labels[candidate.name] = label


def _value(state: TrialState, values: Sequence[float] | None) -> float | None:
    """Return the value of a trial that is done; None, if it failed."""
    if state != TrialState.COMPLETE or values is None or not math.isfinite(values[0]):
        return None
    return float(values[0])


def _amendable(policy: Policy | str | None) -> Policy:
    """Return a policy; refuse one that cannot take the values of trials which it did not ask for."""
    chosen = as_policy(policy)
    if chosen.rule.amend is None:
        able = ", ".join(name for name, cls in POLICIES.items() if cls.rule.amend is not None)
        raise InvalidInput(
            f"policy is {policy!r}, but must be one that takes the values of trials which it did not ask for, as those "
            f"of a resumed study are: leave it out, or give one of {able}"
        )
    return chosen


def _parameter_sets(candidates: Any) -> list[Params]:
    if isinstance(candidates, Sequence) and candidates and all(isinstance(params, Mapping) for params in candidates):
        return list({_key(params): dict(params) for params in candidates}.values())  # equal ones are one candidate
    raise InvalidInput(
        f"candidates is {candidates!r}, but must be a whole number, or a list of parameter sets such as [{{'x': 0.1}}, "
        "{'x': 0.2}]"
    )


def _groups(study: optuna.Study) -> tuple[dict[int, list[FrozenTrial]], dict[Label, list[float]]]:
    """Return the completed trials of a study by candidate, under the number of its first trial, and their values."""
    if not isinstance(study, optuna.Study):
        raise TypeError(f"study is {study!r}, but must be an optuna.Study, as optuna.load_study returns it")
    _direction(study)
    firsts: dict[str, int] = {}
    groups: dict[int, list[FrozenTrial]] = {}
    for trial in study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
        groups.setdefault(firsts.setdefault(_key(trial.params), trial.number), []).append(trial)
    if not groups:
        raise ValueError("No trials are completed yet.")  # what `best_trial` says
    finite = {label: trials for label, trials in groups.items() if all(math.isfinite(trial.value) for trial in trials)}
    if not finite:
        raise ValueError(f"All {len(groups)} candidates of the study have infinite values, which have no mean.")
    if len(finite) < len(groups):
        _warn(
            f"{len(groups) - len(finite)} of {len(groups)} candidates are left out: they have infinite values, which "
            "have no mean.",
            stacklevel=4,
        )
    return finite, {label: [float(trial.value) for trial in trials] for label, trials in finite.items()}


def _warn(problem: str, stacklevel: int = 3) -> None:
    """Warn at the line that called the function which calls this."""
    warnings.warn(problem, UserWarning, stacklevel=stacklevel)


def _direction(study: optuna.Study) -> str:
    """Return the direction of a study; refuse one with several objectives, as Optuna's own samplers do."""
    if len(study.directions) > 1:
        raise ValueError(
            f"the study has {len(study.directions)} objectives, but the best on average is defined for one only"
        )
    return str(study.direction.name).lower()


def _key(params: Mapping[str, Any]) -> str:
    return json.dumps(params, sort_keys=True, default=repr)


def _fits(distribution: BaseDistribution, value: Any) -> bool:
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))  # noqa: SLF001  # there is no other way
    except (TypeError, ValueError):
        return False
