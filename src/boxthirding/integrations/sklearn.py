"""scikit-learn: a search over hyperparameters that pays for folds one by one, most of them for good candidates."""

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from numbers import Integral
from pathlib import Path
from types import FunctionType
from typing import Any, Final, Self, cast

import numpy as np

from boxthirding.errors import ArmWithdrawn, InvalidInput, MissingExtra, StudyChanged, StudyDiffers
from boxthirding.executors import adapter_for
from boxthirding.executors.dask import client_of
from boxthirding.find.opening import open_place, place_and_name
from boxthirding.integrations._sklearn_fits import TIMES, Blocks, CvResults, Fit, Fits, Futures, Out, Scores
from boxthirding.policies.spec import POLICIES, as_policy
from boxthirding.session import AskTell, Session, Ticket
from boxthirding.study import Study
from boxthirding.study.arm_payloads import digest
from boxthirding.types import Label, Policy

try:
    import sklearn
except ImportError as _error:
    raise MissingExtra("BoxThirdingSearchCV", "scikit-learn", "sklearn") from _error

from joblib import effective_n_jobs, parallel_config
from joblib.parallel import LokyBackend, ThreadingBackend, get_active_backend
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid, ParameterSampler, check_cv
from sklearn.model_selection._search import BaseSearchCV
from sklearn.model_selection._validation import _fit_and_score, _warn_or_raise_about_fit_failures
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.parallel import Parallel, delayed

_CANDIDATES: Final = 10  # as many as RandomizedSearchCV evaluates by default
_MEANWHILE: Final = ("_routed", "_data", "_race")  # what a search holds while it fits


class BoxThirdingSearchCV(BaseSearchCV):
    """A search over hyperparameters that pays for folds one by one, most of them for good candidates.

    Parameters
    ----------
    estimator : estimator object
        What is fitted with each candidate's parameters.
    param_distributions : dict or list of dict
        Lists or distributions of values by the names of parameters, as for `RandomizedSearchCV`.
    n_candidates : int, optional
        How many candidates to draw at the most. They are drawn one by one, when they are needed. Default: as many as
        the budget reaches.
    budget : int, optional
        How many fits there may be, each of one candidate on one fold; a search may end before when what is left cannot
        change the answer. Default: 10 times the number of folds, which is what `RandomizedSearchCV` pays by default.
    cv : int, cross-validation generator or iterable, default 5-fold
        The folds. A candidate sees them in their order, and each once; with `RepeatedKFold` or `ShuffleSplit` there are
        more of them, and good candidates can be told apart better.
    scoring : str, callable, list, tuple or dict, optional
        As for `RandomizedSearchCV`. With several metrics, `refit` names the one that decides.
    policy : Policy or str, default "chase"
        What decides which candidate is next. It must do without the number of candidates, as chase does.
    refit : bool, str or callable, default True
        Whether to fit the best candidate on all data; with several metrics, the name of the one that decides.
    n_jobs : int, optional
        How many fits in parallel, by the joblib backend that is active.
    study : path, URL or (path or URL, name), optional
        Keep the search in a database; the same call resumes it after a crash, with the same data, and needs an integer
        as `random_state`. Another estimator or scoring, other data or folds are refused.
    random_state : int, RandomState instance or None, default None
        Decides which candidates are drawn, and in which order.
    verbose, error_score, return_train_score
        As for `RandomizedSearchCV`. A candidate with a fit that failed is given up, unless `error_score` is a number:
        that is its score then. One with a score that is not finite is given up.
    pre_dispatch : int or str, default "2*n_jobs"
        Without effect, as no more than `n_jobs` fits are sent out at a time; it is here because other searches have it.

    `cv_results_` has a row for each candidate that was tried and a column for each fold, with NaN where it was not
    fitted; `n_folds` says how many there are, and means are over those. `rank_test_score` is the order of the policy,
    which weighs few folds against many: `best_index_` has rank 1.

    """

    _parameter_constraints: dict[str, Any] = {  # noqa: RUF012  # as scikit-learn declares them
        **BaseSearchCV._parameter_constraints,  # noqa: SLF001  # the same
        "param_distributions": [dict, list],
        "n_candidates": [Interval(Integral, 1, None, closed="left"), None],
        "budget": [Interval(Integral, 1, None, closed="left"), None],
        "policy": [str, HasMethods(["new", "grow"]), None],
        "study": [str, Path, tuple, None],
        "random_state": ["random_state"],
    }

    def __init__(  # noqa: PLR0913  # as scikit-learn has it: an argument for each parameter
        self,
        estimator: Any,
        param_distributions: Any,
        *,
        n_candidates: int | None = None,
        budget: int | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        policy: Policy | str | None = None,
        study: Any = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
    ) -> None:
        self.param_distributions = param_distributions
        self.n_candidates = n_candidates
        self.budget = budget
        self.policy = policy
        self.study = study
        self.random_state = random_state
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )

    def __getstate__(self) -> Any:
        # Fits in other processes are sent the search that wants them, without what it holds meanwhile.
        return {name: value for name, value in super().__getstate__().items() if name not in _MEANWHILE}

    n_splits_: int
    _routed: Any
    _data: tuple[Any, Any, dict[str, Any]]
    _race: "_Race"

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:  # noqa: N803  # as scikit-learn names it
        """Race candidates and, unless `refit` is False, fit the best on all data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
            What is to be predicted.
        **params
            Passed to the estimator's `fit`, the scorer and the splitter, as `RandomizedSearchCV` does.

        """
        try:
            fitted: Self = super().fit(X, y, **params)
            return fitted
        finally:
            for name in _MEANWHILE:
                self.__dict__.pop(name, None)

    def _check_refit_for_multimetric(self, scores: Iterable[str]) -> None:
        """Raise if `refit` names no metric; scikit-learn calls it before anything is fitted, if metrics are known."""
        _deciding(self.refit, scores)

    def _get_routed_params_for_fit(self, params: Any) -> Any:
        self._routed = super()._get_routed_params_for_fit(params)
        return self._routed

    def _check_input_parameters(self, X: Any, y: Any, split_params: dict[str, Any]) -> None:  # noqa: N803  # the same
        """Keep the data: scikit-learn hands them over for checks of a search's own."""
        self._data = X, y, split_params

    def _run_search(self, evaluate_candidates: Callable[..., dict[str, Any]], *, callback_ctx: Any = None) -> None:
        """Race candidates, a fit being one of them on one fold."""
        n_splits = int(self.n_splits_)
        budget = self.budget or _CANDIDATES * n_splits
        with ExitStack() as stack:
            fit = self._fit_on_fold()
            study = self._opened(stack, fit)
            race = self._race = _Race(self, study, fit, evaluate_candidates)
            if self.verbose:
                print(f"Fitting candidates on {n_splits} folds one by one, totalling at most {budget} fits")  # noqa: T201  # asked for
            fits = callback_ctx.subcontext(task_name="search", max_subtasks=budget, sequential_subtasks=True)
            fits.call_on_fit_task_begin(estimator=self)
            race.run(budget, effective_n_jobs(self.n_jobs), lambda: _progress(self, fits))
            fits.call_on_fit_task_end(estimator=self)

    def _fit_on_fold(self) -> "_FitOnFold":
        x, y, split_params = self._data
        folds = list(self._checked_cv_orig.split(x, y, **split_params))
        if not folds:
            raise ValueError("No fits were performed. Was the CV iterator empty?")
        if len(folds) != self.n_splits_:
            raise ValueError(
                "cv.split and cv.get_n_splits return inconsistent results. "
                f"Expected {self.n_splits_} splits, got {len(folds)}"
            )
        settings = {
            "scorer": self._get_scorers()[0],
            "fit_params": self._routed.estimator.fit,
            "score_params": self._routed.scorer.score,
            "return_train_score": self.return_train_score,
            "return_times": True,
            "error_score": self.error_score,
            "verbose": self.verbose,
        }
        return _FitOnFold(self.estimator, x, y, folds, settings)

    def _format_results(
        self, candidate_params: list[Any], n_splits: int, out: list[Any], more_results: Any = None
    ) -> dict[str, Any]:
        """Take what fits of scikit-learn gave; the race makes results of them in the end."""
        del candidate_params, n_splits, more_results  # known to the race
        self._race.out = out
        return {}

    def _columns_of_params(self, params: list[Any]) -> dict[str, Any]:
        """Return the columns of `cv_results_` with the parameters, as scikit-learn makes them."""
        outs = [{"fit_time": 0.0, "score_time": 0.0, "test_scores": 0.0, "train_scores": 0.0} for _ in params]
        made = super()._format_results(params, 1, outs)
        return {name: column for name, column in made.items() if name == "params" or name.startswith("param_")}

    def _opened(self, stack: ExitStack, fit: "_FitOnFold") -> AskTell:
        """Return what to ask and tell: a session, or the study of a place."""
        if not as_policy(self.policy).open_ended:
            able = ", ".join(name for name, cls in POLICIES.items() if cls.open_ended)
            raise ValueError(
                f"policy is {self.policy!r}, but must be one that does without the number of candidates, as they are "
                f"drawn one by one: leave it out, or give one of {able}"
            )
        if self.study is None:
            random = sklearn.utils.check_random_state(self.random_state)
            seed = int(random.randint(2**31 - 1))
            return Session(self._candidates(), self.policy, seed=seed, examples=self.n_splits_)
        if not isinstance(self.random_state, Integral):
            raise ValueError(  # noqa: TRY004  # what is wrong is the value beside a study
                f"random_state is {self.random_state!r}, but a search that is kept in a study must draw the same "
                "candidates when it resumes: give an integer"
            )
        try:
            study = open_place(
                *place_and_name(self.study),
                arms=self._candidates(),
                policy=self.policy,
                seed=int(self.random_state),
                examples=self.n_splits_,
                details=self._details(fit),
            )
        except StudyDiffers as error:
            error.advice = "fit with what it was made with, or keep this search in another study"
            if not isinstance(error, StudyChanged):
                decide = "its arms are candidates, which param_distributions, n_candidates and random_state decide"
                error.advice = f"{decide}; {error.advice}"
            raise
        return stack.enter_context(study)

    def _details(self, fit: "_FitOnFold") -> dict[str, Any]:
        """Return what scores depend on: results of one study must all be of the same kind."""
        scoring = self.scoring
        if isinstance(scoring, list | tuple | set | dict):
            scoring = f"{', '.join(sorted(scoring))} by {self.refit}"
        elif not isinstance(scoring, str | None):
            scoring = _format_estimator(scoring)
        if callable(self.scoring) or isinstance(self.scoring, dict):
            scoring += f", {digest(_made_of(self.scoring))}"
        return {
            "estimator": f"{_format_estimator(self.estimator)}, {digest(_made_of(self.estimator))}",
            "scoring": scoring,
            "data": f"{len(fit.folds)} folds of {sum(map(len, fit.folds[0]))} samples, {digest(fit.data)}",
        }

    def _candidates(self) -> Iterator[dict[str, Any]]:
        """Draw candidates one by one, the same whatever the budget; a grid ends."""
        space, wanted = self.param_distributions, self.n_candidates
        ParameterSampler(space, 1)  # which refuses what is no space, as it does for RandomizedSearchCV
        spaces = space if isinstance(space, list) else [space]
        if any(hasattr(values, "rvs") for one in spaces for values in one.values()):
            return iter(ParameterSampler(space, wanted or sys.maxsize, random_state=self.random_state))
        grid = ParameterGrid(space)
        if wanted is not None and len(grid) < wanted:
            warnings.warn(
                f"The total space of parameters {len(grid)} is smaller than n_candidates={wanted}. Running "
                f"{len(grid)} candidates.",
                UserWarning,
                stacklevel=7,  # where `fit` is called
            )
        return islice(_shuffled(grid, sklearn.utils.check_random_state(self.random_state)), wanted)


def _format_estimator(thing: Any) -> str:
    """Return an estimator or a scorer as text that is the same in every process, and for any number of jobs."""
    if hasattr(thing, "get_params") and not isinstance(thing, type):
        thing = sklearn.clone(thing)
        thing.set_params(**{name: None for name in thing.get_params() if name.split("__")[-1] == "n_jobs"})
    with sklearn.config_context(print_changed_only=True):
        return re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(repr(thing).split()))


def _made_of(thing: Any) -> Any:
    """Return an estimator or a scorer as what makes its scores: its parameters; functions of libraries go by name."""
    if isinstance(thing, list | tuple):
        return [_made_of(one) for one in thing]
    if isinstance(thing, dict):
        return {name: _made_of(value) for name, value in thing.items() if name != "n_jobs"}
    if isinstance(thing, FunctionType) and thing.__module__ != "__main__" and "<" not in thing.__qualname__:
        return thing.__module__, thing.__qualname__
    if hasattr(thing, "get_params") and not isinstance(thing, type):
        return [type(thing).__qualname__, _made_of(thing.get_params(deep=False))]
    if hasattr(thing, "_score_func"):  # what make_scorer returns
        return [type(thing).__qualname__, _made_of(vars(thing))]
    return thing


class _FitOnFold:
    """Fits a candidate on a fold, in whichever process it is called."""

    def __init__(self, estimator: Any, x: Any, y: Any, folds: list[Any], settings: dict[str, Any]) -> None:
        self._estimator, self._x, self._y, self._settings = estimator, x, y, settings
        self.folds = folds
        self.data = [folds, x, y, settings["fit_params"], settings["score_params"]]
        self._number = len(folds)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "folds": None, "data": None}  # each fit is sent its own

    def __call__(self, params: Any, pull: int, fold: Any) -> Out:
        train, test = fold
        out: Out = _fit_and_score(
            sklearn.clone(self._estimator),
            self._x,
            self._y,
            train=train,
            test=test,
            parameters=params,
            split_progress=(pull, self._number),
            **self._settings,
        )
        return out


class _Race:
    """Candidates, fold by fold: what to fit next, and what came of it."""

    def __init__(
        self, search: Any, study: AskTell, fit: _FitOnFold, evaluate_candidates: Callable[..., dict[str, Any]]
    ) -> None:
        self._search, self._study, self._fit, self._evaluate = search, study, fit, evaluate_candidates
        self._results: dict[str, Any] | None = None  # the object that scikit-learn goes on with
        self.out: list[Out] = []  # what its own fits gave
        self._is_refused = False  # whether scikit-learn made no results of its fit
        self._given_up: set[Label] = set()
        self.fits = Fits()
        self._metric = "score"
        self._error_score = np.nan if search.error_score == "raise" else float(search.error_score)
        study.reclaim()  # before we have a name, which may be that of a run that was killed
        self._holder = study.worker()

    def run(self, budget: int, n_jobs: int, progress: Callable[[], None]) -> None:
        """Fit until the budget is spent, or nothing is left to fit; write `cv_results_`."""
        self._progress = progress  # called after every fit
        self._release()
        if isinstance(self._study, Study):
            self.fits.recall(self._study)
        try:
            with _in_flight(self._fit, n_jobs, self._fitted_by_host) as flying:
                try:
                    self._run(flying, budget, n_jobs)
                except BaseException:
                    for ticket, out in flying.ended():
                        self._take(ticket, out)
                    raise
                self._write_results()
        finally:
            self._release()  # a fit raised: the next run begins with what is left

    def _release(self) -> None:
        if held := self._study.held(self._holder):
            self._study.release(*held)

    def _run(self, flying: Futures | Blocks, budget: int, n_jobs: int) -> None:
        while True:
            room = n_jobs - len(flying)
            limit = max(0, budget - len(self.fits.untold))
            tickets = self._study.ask(room, holder=self._holder, limit=limit) if room else []
            if not tickets and not len(flying):
                return
            if tickets and self._results is None and not self._is_refused:
                block = [ticket for ticket in tickets if ticket.pull == tickets[0].pull]
                tickets = [ticket for ticket in tickets if ticket not in block]
                for ticket, out in zip(block, self._fitted_by_host(block), strict=True):
                    self._take(ticket, out)
            for ticket in tickets:
                flying.submit(ticket)
            if len(flying):
                for ticket, out in flying.finished():
                    self._take(ticket, out)

    def _fitted_by_host(self, block: list[Ticket]) -> list[Out]:
        """Let scikit-learn fit candidates on the same fold: the form of its results comes from its own fits."""
        pull = block[0].pull
        try:
            self._form([ticket.payload for ticket in block], pull)
        except ValueError:
            if self._search.error_score == "raise":
                raise
            # It raises when all of its fits fail. Whether that is why, ours will show.
            self._is_refused = True
            return [self._fit(ticket.payload, pull, self._fit.folds[pull]) for ticket in block]
        return self.out[-len(block) :]

    def _form(self, params: list[Any], pull: int) -> None:
        search = self._search
        before = search.n_splits_, search.verbose
        search.n_splits_, search.verbose = 1, 0  # the fold is alone, and how many there are has been said
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FitFailedWarning)  # said in the end
                self._results = self._evaluate(params, cv=check_cv([self._fit.folds[pull]]))
        finally:
            search.n_splits_, search.verbose = before

    def _write_results(self) -> None:
        """Write `cv_results_` into what scikit-learn goes on with."""
        if isinstance(self._study, Study):
            self.fits.recall(self._study)  # other processes may have fitted too
        if not self.fits:
            raise ValueError("No fits were performed. Were there no candidates?")
        errors = [{"fit_error": fit.error} for fit in self.fits.values()]
        _warn_or_raise_about_fit_failures(errors, self._search.error_score)
        if self._results is None:
            label, pull = next(place for place, fit in self.fits.items() if fit.error is None)
            self._form([self._study.payload(label)], pull)
            self._flat(self.out[0])
        labels = self.fits.labels()
        columns = self._search._columns_of_params([self._study.payload(label) for label in labels])  # noqa: SLF001  # ours
        order = [arm.label for arm in self._study.top(len(labels))]
        table = CvResults(self.fits, self._search.n_splits_, self._error_score, f"test_{self._metric}", order)
        cast("dict[str, Any]", self._results).update(table.render(columns))

    def _take(self, ticket: Ticket, out: Out) -> None:
        """Take what came of a fit."""
        error = out["fit_error"]
        scores = self._flat(out) if error is None else {name: float(out[name]) for name in TIMES}
        score = self._error_score if error is not None else scores[f"test_{self._metric}"]
        fit = self.fits[ticket.label, ticket.pull] = Fit(scores, error)
        self._progress()
        if np.isfinite(score) and ticket.label not in self._given_up:
            with suppress(ArmWithdrawn):  # by another process, in which it failed
                self._study.tell(ticket, score, holder=self._holder, details=fit.details())
                return
        elif ticket.label not in self._given_up:
            with suppress(InvalidInput):  # another process was first
                self._study.withdraw(ticket.label)
        self._given_up.add(ticket.label)
        self.fits.untold.add((ticket.label, ticket.pull))

    def _flat(self, out: Out) -> Scores:
        """Return what a fit gave as numbers by name; find out, the first time, which of them decides."""
        flat = {name: float(out[name]) for name in TIMES}
        for part in ("test", "train"):
            scores = out.get(f"{part}_scores", {})
            if isinstance(scores, dict):
                if part == "test":
                    self._metric = _deciding(self._search.refit, scores)
                flat |= {f"{part}_{name}": float(score) for name, score in scores.items()}
            else:
                flat[f"{part}_score"] = float(scores)
        return flat


def _fitted(fit: _FitOnFold, params: Any, pull: int, fold: Any, nested: tuple[Any, Any]) -> Out:
    """Fit, with what joblib has for parallel work inside of parallel work."""
    with parallel_config(backend=nested[0], n_jobs=nested[1]):
        return fit(params, pull, fold)


@contextmanager
def _in_flight(
    fit: _FitOnFold, n_jobs: int, by_host: Callable[[list[Ticket]], list[Out]]
) -> Iterator[Futures | Blocks]:
    """Return what fits: as soon as there is room, where the active backend of joblib has a way, else block by block."""
    backend, _ = get_active_backend()
    if n_jobs == 1:
        yield Blocks(lambda block: [fit(one.payload, one.pull, fit.folds[one.pull]) for one in block])
    elif isinstance(backend, LokyBackend):
        with Parallel(n_jobs=n_jobs) as parallel:
            loky = parallel._backend  # noqa: SLF001  # whose executor shares large arrays
            try:
                yield _futures(loky._workers, fit, loky.get_nested_backend())  # noqa: SLF001  # the same
            except BaseException:
                loky.abort_everything(ensure_ready=False)  # as joblib does: what runs on would keep the cores busy
                raise
    elif isinstance(backend, ThreadingBackend):
        with ThreadPoolExecutor(n_jobs) as threads:
            yield _futures(threads, fit, backend.get_nested_backend())
    elif client := client_of(getattr(backend, "client", None)):
        flying = _futures(client, fit, ("dask", None))
        try:
            yield flying
        except BaseException:
            flying.cancel()
            raise
    else:
        yield Blocks(by_host)


def _futures(executor: Any, fit: _FitOnFold, nested: Any) -> Futures:
    """Return fits by an executor, under the configuration and the warning filters that scikit-learn has here."""
    adapter = adapter_for(executor)
    function, _, _ = delayed(_fitted)()
    call = function.with_config_and_warning_filters(sklearn.get_config(), list(warnings.filters))
    return Futures(lambda one: adapter.submit(call, fit, one.payload, one.pull, fit.folds[one.pull], nested))


def _progress(search: Any, fits: Any) -> None:
    """Tell the callbacks of a search, such as a progress bar, that one more fit has ended."""
    one = fits.subcontext(task_name="candidate-split-evaluation")
    one.call_on_fit_task_begin(estimator=search)
    one.call_on_fit_task_end(estimator=search)


def _shuffled(grid: Any, random: Any) -> Iterator[dict[str, Any]]:
    """Yield the points of a grid in random order, drawn one by one: the first are the same however many follow."""
    moved: dict[int, int] = {}  # Fisher and Yates, where most cards still lie in their place
    for place in range(len(grid)):
        drawn = int(random.randint(place, len(grid)))
        yield grid[moved.get(drawn, drawn)]
        moved[drawn] = moved.get(place, place)


def _deciding(refit: Any, metrics: Iterable[str]) -> str:
    """Return which of several metrics decides."""
    if not isinstance(refit, str) or refit not in metrics:
        raise ValueError(
            "For multi-metric scoring, the parameter refit must be set to the scorer key that decides which "
            f"candidates are fitted on more folds: {' or '.join(map(repr, metrics))}. {refit!r} was passed."
        )
    return refit
