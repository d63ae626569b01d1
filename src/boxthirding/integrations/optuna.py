"""Optuna: repeat promising parameters, recommend what is best on average, and race the candidates of a study."""

import json
import math
import secrets
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Final

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.integrations.race import Candidates
from boxthirding.session import Session, Ticket
from boxthirding.types import Label, Policy

try:
    import optuna
except ImportError as _error:
    raise MissingExtra("boxthirding.integrations.optuna", "optuna", "optuna") from _error

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FixedTrial, FrozenTrial, TrialState

ARM: Final = "boxthirding:arm"
"""The system attribute of a trial that says which candidate it evaluates."""

Params = dict[str, Any]


class Recommended:
    """The best parameters of a study, judged by the mean of all their trials."""

    def __init__(self, params: Params, value: float, trials: Sequence[FrozenTrial]) -> None:
        self.params = params
        self.value = value
        """The mean of its trials' values: still a little better than the truth, because it was selected."""
        self.trials = list(trials)

    def __repr__(self) -> str:
        return f"Recommended(params={self.params!r}, value={self.value:.6g}, trials={len(self.trials)})"


def recommend(study: optuna.Study, policy: Policy | str | None = None) -> Recommended:
    """Return the parameters that are best on average, instead of the lucky `study.best_trial`.

    Parameters
    ----------
    study : optuna.Study
        Any study with one objective. Trials with the same parameters are evaluations of one candidate.
    policy : Policy or str, default "b3auto"
        What weighs a good mean of few trials against one of many.

    """
    groups = _groups(study)
    known: dict[Label, list[float]] = {label: [trial.value for trial in trials] for label, trials in groups.items()}
    best = Session(list(known), policy, direction=_direction(study), known=known).recommend()
    if best is None:
        raise InvalidInput(f"the policy {policy!r} recommends nothing from known results: leave it out")
    trials = groups[int(best.label)]
    return Recommended(dict(trials[0].params), best.mean, trials)


def from_optuna(study: optuna.Study) -> Candidates:
    """Return the completed trials of a study as candidates for `race`: their parameters, and their values as known.

    Trials with the same parameters are one candidate, and its label is the number of the first. Failed and pruned
    trials are left out, since their values are none of the objective.
    """
    groups = _groups(study)
    names = {frozenset(trials[0].params) for trials in groups.values()}
    if len(names) > 1:
        some = sorted(frozenset.union(*names) - frozenset.intersection(*names))
        warnings.warn(
            f"The parameters differ between trials of the study: {', '.join(some)} are not in all of them. Each trial "
            "is raced with the parameters that it has.",
            UserWarning,
            stacklevel=2,
        )
    arms: dict[Label, Params] = {label: dict(trials[0].params) for label, trials in groups.items()}
    known: dict[Label, list[float]] = {
        label: [float(trial.value) for trial in trials] for label, trials in groups.items()
    }
    return Candidates(arms, known, _direction(study))


def from_objective(objective: Callable[[Any], float]) -> Callable[[Params], float]:
    """Return an objective of Optuna as a function of parameters, which `race` can call.

    >>> from_objective(lambda trial: trial.suggest_float("x", 0, 1) + 1)({"x": 0.5})
    1.5
    """

    def evaluate(params: Params) -> float:
        return objective(FixedTrial(params))

    return evaluate


class BoxThirdingSampler(BaseSampler):
    """An Optuna sampler that evaluates promising parameters again, so that the best is not the luckiest.

    Parameters
    ----------
    candidates : int or list of dict
        How many parameter sets to draw at the most, or the parameter sets themselves.
    policy : Policy or str, default "b3auto"
        What decides which candidate is next.
    seed : int, optional
        Decides the order of candidates and what `sampler` draws. Default: another one every time, so that several
        processes on one storage do not begin with the same candidates.
    sampler : optuna.samplers.BaseSampler, optional
        What draws the parameters of a new candidate, and a parameter that a given set lacks. Default: `RandomSampler`.

    Use `recommend(study)` for the answer: `study.best_trial` is the luckiest trial. All that the sampler knows is in
    the trials of the study, so it resumes where the study was, and any number of processes may share a storage. It is
    for one objective; pruned and failed trials, infinite values and parameters that are out of range count as failures,
    and a candidate that failed three times in a row is given up.

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
        self._policy = policy
        self._seed = secrets.randbits(31) if seed is None else whole("seed", seed, least=0)
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
        self._sampler.before_trial(study, trial)
        with self._lock:
            if study.study_name not in self._races:
                session = Session(self._number, self._policy, seed=self._seed, direction=_direction(study))
                self._races[study.study_name] = _Race(session, self._number, self._sets)
            race = self._races[study.study_name]
            race.catch_up(study)
            race.begin(study, trial)

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """Return what the sampler of new candidates draws together; nothing, for a candidate that is there."""
        _direction(study)
        candidate = self._candidate(study, trial)
        if candidate is not None and candidate.params:
            return {}
        space: dict[str, BaseDistribution] = self._sampler.infer_relative_search_space(study, trial)
        return space

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> Params:
        """Draw parameters of a new candidate together."""
        _direction(study)
        drawn: Params = self._sampler.sample_relative(study, trial, search_space)
        candidate = self._candidate(study, trial)
        if candidate is None:
            return drawn
        with self._lock:
            return {name: candidate.params.setdefault(name, value) for name, value in drawn.items()}

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Return the candidate's value of a parameter; draw one, if it has none yet."""
        _direction(study)
        with self._lock:
            race, candidate = self._races.get(study.study_name), self._candidate(study, trial)
            if race is not None and candidate is not None and param_name in candidate.params:
                value = candidate.params[param_name]
                if _fits(param_distribution, value):
                    return value
                race.astray.add(trial.number)
                warnings.warn(
                    f"The parameter {param_name!r} of trial {trial.number} is {value!r} in its candidate, which is out "
                    f"of range for {param_distribution}: another is drawn, and the trial counts as a failure of the "
                    "candidate.",
                    UserWarning,
                    stacklevel=2,
                )
            value = self._sampler.sample_independent(study, trial, param_name, param_distribution)
            if candidate is not None and param_name not in candidate.params:
                if candidate.is_given:
                    warnings.warn(
                        f"The parameter {param_name!r} of trial {trial.number} is not in its candidate: a value is "
                        "drawn once and kept.",
                        UserWarning,
                        stacklevel=2,
                    )
                candidate.params[param_name] = value
            return value

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Take the value of a trial."""
        with self._lock:
            race = self._races.get(study.study_name)
            if race is not None:
                race.end(trial, state, values)
        self._sampler.after_trial(study, trial, state, values)

    def _candidate(self, study: optuna.Study, trial: FrozenTrial) -> "_Candidate | None":
        with self._lock:
            race = self._races.get(study.study_name)
            return None if race is None else race.under_way.get(trial.number, (None, None))[0]


@dataclass
class _Candidate:
    """Parameters that are evaluated together, again and again."""

    name: int
    """Its place in the list of those given, else the number of its first trial: the same in every process."""
    params: Params = field(default_factory=dict)
    is_given: bool = False

    def is_in(self, params: Params) -> bool:
        """Tell whether a trial with these parameters evaluated it."""
        return all(params.get(name, value) == value for name, value in self.params.items())


class _Race:
    """A study as its trials tell of it: a session, whose labels are the places of candidates."""

    def __init__(self, session: Session, number: int, sets: list[Params] | None) -> None:
        self._session, self._sets = session, sets
        self._candidates: dict[Label, _Candidate] = {}  # by label
        self._labels: dict[int, Label] = {}  # by the candidate's name
        self._by_params: dict[str, int] = {}  # names
        self._free = number - 1  # labels from here down may belong to no candidate yet
        self._seen: set[int] = set()  # trials whose outcome is in the session
        self.under_way: dict[int, tuple[_Candidate, Ticket | None]] = {}
        self.astray: set[int] = set()  # of them, those whose parameters are not their candidate's
        for place, params in enumerate(sets or ()):
            self._enter(place, _Candidate(place, dict(params), is_given=True))

    def catch_up(self, study: optuna.Study) -> None:
        """Take the values of trials that other processes, or runs before this one, have completed."""
        for trial in study.get_trials(deepcopy=False):
            if trial.number in self._seen or trial.number in self.under_way or not trial.state.is_finished():
                continue
            self._seen.add(trial.number)
            if trial.state == TrialState.COMPLETE and math.isfinite(trial.value):
                label = self._label_of(trial)
                if label is not None:
                    self._session.observe(label, trial.value)

    def begin(self, study: optuna.Study, trial: FrozenTrial) -> None:
        """Give a trial its candidate."""
        tickets = self._session.ask()
        if tickets:
            label: Label | None = tickets[0].label
        else:  # the policy waits for results, or has come to its end: one more of the best is never wrong
            best = self._session.recommend()
            label = None if best is None else best.label
        if label is None:
            return
        if label not in self._candidates:
            self._enter(label, _Candidate(trial.number))
        candidate = self._candidates[label]
        self.under_way[trial.number] = candidate, tickets[0] if tickets else None
        study._storage.set_trial_system_attr(trial._trial_id, ARM, candidate.name)  # noqa: SLF001  # as its samplers do

    def end(self, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Take what became of a trial."""
        if trial.number not in self.under_way:
            return
        candidate, ticket = self.under_way.pop(trial.number)
        if trial.number in self.astray:
            self.astray.discard(trial.number)
            if ticket is not None:
                self._session.fail(ticket)
            return  # the next time, it is taken for what it is
        self._seen.add(trial.number)
        if state != TrialState.COMPLETE or values is None or not math.isfinite(values[0]):
            if ticket is not None:
                self._session.fail(ticket)
        elif ticket is not None:
            self._session.tell(ticket, values[0])
        else:
            self._session.observe(self._labels[candidate.name], values[0])

    def _label_of(self, trial: FrozenTrial) -> Label | None:
        """Return the label of the candidate that a trial of another process evaluated; None, if there is no room."""
        name = trial.system_attrs.get(ARM)
        label = self._labels.get(name)
        if label is not None and self._candidates[label].is_in(trial.params):
            return label
        found = self._by_params.get(_key(trial.params))
        if found is not None:
            return self._labels[found]
        new = self._free_label() if self._sets is None else None
        if new is not None:
            self._enter(new, _Candidate(trial.number if name in self._labels or name is None else name, trial.params))
        return new

    def _free_label(self) -> Label | None:
        while self._free >= 0 and self._free in self._candidates:
            self._free -= 1
        return self._free if self._free >= 0 else None

    def _enter(self, label: Label, candidate: _Candidate) -> None:
        self._candidates[label] = candidate
        self._labels[candidate.name] = label
        if candidate.params:
            self._by_params.setdefault(_key(candidate.params), candidate.name)


def _parameter_sets(candidates: Any) -> list[Params]:
    if isinstance(candidates, Sequence) and all(isinstance(params, Mapping) for params in candidates):
        return [dict(params) for params in candidates]
    raise InvalidInput(
        f"candidates is {candidates!r}, but must be a whole number, or a list of parameter sets such as [{{'x': 0.1}}, "
        "{'x': 0.2}]"
    )


def _groups(study: optuna.Study) -> dict[int, list[FrozenTrial]]:
    """Return the completed trials of a study by candidate, under the number of its first trial."""
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
        warnings.warn(
            f"{len(groups) - len(finite)} of {len(groups)} candidates are left out: they have infinite values, which "
            "have no mean.",
            UserWarning,
            stacklevel=3,
        )
    return finite


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
