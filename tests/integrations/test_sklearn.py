"""`BoxThirdingSearchCV`: folds one by one, in the form that users of scikit-learn expect."""

import pickle
import signal
import subprocess
import sys
import threading

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from one_slow_fit import one_slow_fit
from scipy.stats import loguniform, uniform
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from boxthirding import open_study
from boxthirding.integrations.sklearn import BoxThirdingSearchCV
from boxthirding.study.events import Asked

X, Y = make_classification(120, 6, flip_y=0.2, random_state=1)
TREE = DecisionTreeClassifier(random_state=0)
DEPTHS = {"max_depth": [1, 2, 3, 4, 5, 6, 7, 8]}
ALPHAS = {"ccp_alpha": uniform(0, 0.1)}
BACKENDS = ("sequential", "loky", "threading", "multiprocessing")
SPACE = {"C": loguniform(1e-3, 1e3)}
FITS = []


class Scored(ClassifierMixin, BaseEstimator):
    """A classifier whose score is its parameter, less what the fold costs; it notes its fits, and may fail."""

    def __init__(self, quality=0.0, fails=False):
        self.quality, self.fails = quality, fails

    def fit(self, x, y):
        FITS.append((self.quality, len(x), float(x.sum())))
        if self.fails:
            raise RuntimeError("no fit")
        self.classes_ = np.unique(y)
        return self

    def score(self, x, y=None):  # noqa: ARG002  # what every score is given
        return self.quality + float(np.mean(x)) * 0.01


@pytest.fixture(autouse=True)
def no_fits():
    FITS.clear()


# What is fitted


def test_good_candidates_are_fitted_on_more_folds_and_the_best_is_returned():
    search = BoxThirdingSearchCV(
        DecisionTreeClassifier(random_state=0),
        {"max_depth": [1, 2, 3, 4, 5, 6, 7, 8], "min_samples_leaf": [1, 5, 10, 50]},
        budget=150,
        cv=RepeatedKFold(n_splits=5, n_repeats=6, random_state=0),
        random_state=0,
    ).fit(X, Y)
    folds = search.cv_results_["n_folds"]
    assert folds.sum() == 150
    assert len(folds) == 32  # the whole grid
    assert folds[search.best_index_] >= 20
    assert np.median(folds) <= 5
    assert search.best_params_ == search.cv_results_["params"][search.best_index_]
    assert search.best_estimator_.predict(X).shape == Y.shape


def test_candidates_see_the_same_folds_each_once_even_of_a_splitter_that_is_random_each_time():
    search = BoxThirdingSearchCV(
        Scored(),
        {"quality": uniform(0, 1)},
        n_candidates=9,
        budget=60,
        cv=ShuffleSplit(8, random_state=None),
        random_state=1,
        refit=False,
    ).fit(X, Y)
    by_candidate = {}
    for quality, _, data in FITS:
        by_candidate.setdefault(quality, []).append(data)
    assert len({data for seen in by_candidate.values() for data in seen}) == 8
    assert all(len(set(seen)) == len(seen) for seen in by_candidate.values())
    assert len({seen[0] for seen in by_candidate.values()}) > 1
    results = search.cv_results_
    for row, number in enumerate(results["n_folds"]):
        scores = [results[f"split{fold}_test_score"][row] for fold in range(8)]
        assert np.isfinite(scores).sum() == number
        assert results["mean_test_score"][row] == pytest.approx(np.nanmean(scores))
        assert results["std_test_score"][row] == pytest.approx(np.nanstd(scores))


def test_candidates_are_drawn_when_they_are_needed():
    class Counting:
        drawn = 0

        def rvs(self, random_state=None):
            Counting.drawn += 1
            return random_state.uniform()

    BoxThirdingSearchCV(Scored(), {"quality": Counting()}, budget=10, cv=5, random_state=1, refit=False).fit(X, Y)
    assert Counting.drawn <= 12


def test_no_more_candidates_are_tried_than_wanted():
    search = BoxThirdingSearchCV(Scored(), {"quality": uniform()}, n_candidates=4, budget=15, random_state=1).fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert len(FITS) <= 15 + 1  # and the refit; fewer, where nothing that matters is left to fit


def test_the_default_budget_is_what_a_randomized_search_pays():
    search = BoxThirdingSearchCV(Scored(), {"quality": uniform()}, cv=3, random_state=1, refit=False).fit(X, Y)
    assert search.cv_results_["n_folds"].sum() == 30


def test_the_same_random_state_gives_the_same_search():
    one, two = (
        BoxThirdingSearchCV(LogisticRegression(), SPACE, budget=30, cv=5, random_state=4).fit(X, Y) for _ in range(2)
    )
    assert one.best_params_ == two.best_params_
    assert (one.cv_results_["n_folds"] == two.cv_results_["n_folds"]).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_fits_in_parallel_are_as_many_and_of_the_same_form(backend):
    with joblib.parallel_config(backend=backend):
        search = BoxThirdingSearchCV(TREE, ALPHAS, budget=20, cv=4, n_jobs=2, random_state=4).fit(X, Y)
    results = search.cv_results_
    assert results["n_folds"].sum() == 20
    assert search.n_splits_ == 4
    for row, number in enumerate(results["n_folds"]):
        scores = [results[f"split{fold}_test_score"][row] for fold in range(4)]
        assert np.isfinite(scores).sum() == number


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_a_fit_that_takes_long_keeps_no_other_waiting(backend, tmp_path):
    slow = one_slow_fit(Scored, tmp_path)
    search = BoxThirdingSearchCV(
        slow(), {"quality": uniform()}, budget=20, cv=4, n_jobs=2, random_state=3, error_score="raise", refit=False
    )
    with joblib.parallel_config(backend=backend):
        assert search.fit(X, Y).cv_results_["n_folds"].sum() == 20


def test_large_data_is_shared_with_other_processes_in_one_search_after_another():
    x = np.random.default_rng(1).normal(size=(20_000, 20))
    for seed in (1, 2):
        search = BoxThirdingSearchCV(TREE, DEPTHS, budget=9, cv=3, n_jobs=2, random_state=seed)
        assert search.fit(x, x[:, 0] > 0, sample_weight=np.ones(len(x))).best_score_ == 1


def test_an_error_in_parallel_is_raised_and_fits_that_ended_are_kept(tmp_path):
    settings = {"budget": 12, "cv": 4, "n_jobs": 2, "random_state": 2, "study": tmp_path / "search.db"}
    search = BoxThirdingSearchCV(TREE, {"max_depth": [1, 2, 3, 4, 5, -1]}, error_score="raise", **settings)
    with joblib.parallel_config(backend="threading"), pytest.raises(ValueError, match="'max_depth' parameter"):
        search.fit(X, Y)
    with open_study(tmp_path / "search.db") as kept:
        assert kept.view().spent >= 2
        assert kept.view().holders == {}


# The form


def test_results_have_the_columns_of_a_randomized_search_and_one_more():
    settings = {"cv": 3, "random_state": 0, "return_train_score": True}
    theirs = RandomizedSearchCV(LogisticRegression(), SPACE, n_iter=3, **settings).fit(X, Y)
    ours = BoxThirdingSearchCV(LogisticRegression(), SPACE, budget=12, **settings).fit(X, Y)
    assert [name for name in ours.cv_results_ if name != "n_folds"] == list(theirs.cv_results_)
    for name, column in theirs.cv_results_.items():
        assert type(ours.cv_results_[name]) is type(column)
        if name != "params":
            assert ours.cv_results_[name].dtype == column.dtype
    assert {name for name in vars(theirs) if name.endswith("_")} == {name for name in vars(ours) if name.endswith("_")}
    assert ours.cv_results_["rank_test_score"][ours.best_index_] == 1
    assert ours.best_score_ == ours.cv_results_["mean_test_score"][ours.best_index_]


def test_a_regressor_in_a_pipeline_beats_its_default():
    x, y = load_diabetes(return_X_y=True)
    model = make_pipeline(StandardScaler(), Ridge())
    search = BoxThirdingSearchCV(model, {"ridge__alpha": loguniform(1e-6, 1e6)}, budget=60, random_state=1).fit(x, y)
    assert search.best_score_ > 0.45
    assert search.score(x, y) == pytest.approx(search.best_estimator_.score(x, y))
    assert clone(search).get_params()["budget"] == 60


def test_several_metrics_are_kept_and_one_decides():
    search = BoxThirdingSearchCV(
        LogisticRegression(),
        SPACE,
        budget=30,
        cv=3,
        random_state=1,
        scoring=["accuracy", "neg_log_loss"],
        refit="neg_log_loss",
    ).fit(X, Y)
    results = search.cv_results_
    assert search.multimetric_
    assert results["rank_test_neg_log_loss"][search.best_index_] == 1
    assert np.isfinite(results["mean_test_accuracy"]).all()
    assert results["rank_test_accuracy"].min() == 1
    assert search.best_score_ == results["mean_test_neg_log_loss"][search.best_index_]


def test_a_function_chooses_the_best_if_it_is_given():
    search = BoxThirdingSearchCV(
        LogisticRegression(), SPACE, budget=20, random_state=1, refit=lambda results: len(results["params"]) - 1
    ).fit(X, Y)
    assert search.best_index_ == len(search.cv_results_["params"]) - 1


def test_groups_and_routed_metadata_reach_their_places():
    groups = np.arange(len(X)) % 6
    search = BoxThirdingSearchCV(LogisticRegression(), SPACE, budget=20, cv=GroupKFold(3), random_state=1)
    assert search.fit(X, Y, groups=groups).n_splits_ == 3
    weights = np.linspace(1, 2, len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        scorer = get_scorer("accuracy").set_score_request(sample_weight=True)
        routed = BoxThirdingSearchCV(model, SPACE, scoring=scorer, budget=20, cv=GroupKFold(3), random_state=1)
        routed.fit(X, Y, sample_weight=weights, groups=groups)
        plain = LogisticRegression(**routed.best_params_).fit(X, Y, sample_weight=weights)
    assert np.allclose(routed.best_estimator_.coef_, plain.coef_)


def test_a_data_frame_gives_its_names_and_the_fitted_search_can_be_pickled():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    search = BoxThirdingSearchCV(
        make_pipeline(StandardScaler(), TREE), {"decisiontreeclassifier__max_depth": [1, 2, 3]}, budget=9, cv=3
    ).fit(frame, pd.Series(Y))
    assert (list(search.feature_names_in_), search.n_features_in_) == (list("abcdef"), 6)
    again = pickle.loads(pickle.dumps(search))  # noqa: S301  # our own
    assert (again.predict_proba(frame) == search.predict_proba(frame)).all()
    assert len(pd.DataFrame(again.cv_results_)) == 3
    assert not [name for name in vars(search) if name.startswith("_") and name != "_checked_cv_orig"]


def test_what_has_no_target_is_searched_and_transforms():
    search = BoxThirdingSearchCV(PCA(), {"n_components": [1, 2, 3]}, budget=9, cv=iter(list(KFold(3).split(X)))).fit(X)
    assert search.n_splits_ == 3
    assert search.transform(X).shape == (len(X), search.best_params_["n_components"])


def test_what_is_fitted_is_said_as_loudly_as_wanted(capsys):
    search = BoxThirdingSearchCV(TREE, DEPTHS, budget=6, cv=3, random_state=1)
    search.set_params(verbose=2).fit(X, Y)
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "Fitting candidates on 3 folds one by one, totalling at most 6 fits"
    assert len(lines) == 6
    assert all(line.startswith("[CV] END") for line in lines)
    search.set_params(verbose=0).fit(X, Y)
    assert capsys.readouterr().out == ""


class Noting:
    """A callback of scikit-learn that notes its calls."""

    def __init__(self):
        self.heard = []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):  # noqa: ARG002  # what every callback is given
        self.heard.append(("begins", context.task_name))

    def on_fit_task_end(self, estimator, context):  # noqa: ARG002  # the same
        self.heard.append(("ends", context.task_name))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_such_as_a_progress_bar_hear_of_every_fit(n_jobs):
    noted = []
    settings = {"cv": 3, "random_state": 1, "n_jobs": n_jobs}
    with joblib.parallel_config(backend="threading"):
        for search in (
            RandomizedSearchCV(TREE, ALPHAS, n_iter=3, **settings),
            BoxThirdingSearchCV(TREE, ALPHAS, budget=9, **settings),
        ):
            noting = Noting()
            search.set_callbacks(noting).fit(X, Y)
            noted.append(noting.heard)
    theirs, ours = noted
    assert sorted(ours) == sorted(theirs)


# Studies


def search_in(place, budget, **settings):
    return BoxThirdingSearchCV(
        Scored(), {"quality": uniform()}, budget=budget, cv=4, random_state=3, study=place, **settings
    )


def test_a_search_resumes_from_its_study_with_all_columns(tmp_path):
    place = str(tmp_path / "search.db")
    first = search_in(place, 20).fit(X, Y)
    assert len(FITS) == 21
    FITS.clear()
    more = search_in(place, 36).fit(X, Y)
    assert len(FITS) == 16 + 1
    FITS.clear()
    alone = search_in(None, 36).fit(X, Y)
    assert more.best_params_ == alone.best_params_
    assert more.cv_results_["n_folds"].sum() == 36
    assert np.isfinite(more.cv_results_["mean_fit_time"]).all()
    at = [more.cv_results_["params"].index(params) for params in first.cv_results_["params"]]
    assert (more.cv_results_["n_folds"][at] >= first.cv_results_["n_folds"]).all()


def test_a_search_with_nothing_left_to_fit_says_the_same_again(tmp_path):
    first, again = (search_in((tmp_path / "search.db", "mine"), 20).fit(X, Y) for _ in range(2))
    assert first.best_params_ == again.best_params_
    assert list(first.cv_results_["mean_test_score"]) == list(again.cv_results_["mean_test_score"])
    assert len(FITS) == 20 + 1 + 1 + 1  # the search, two refits, and a fold that gives the form


def test_a_search_that_was_broken_off_loses_no_fit(tmp_path):
    class Tired(Scored):
        def fit(self, x, y):
            if len(FITS) == 11:
                raise KeyboardInterrupt
            return super().fit(x, y)

    place = str(tmp_path / "search.db")
    search = search_in(place, 30)
    search.estimator = Tired()
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    FITS.append("so that it is not tired again")
    done = search.fit(X, Y)
    assert done.cv_results_["n_folds"].sum() == 30
    assert len(FITS) == 30 + 1 + 1


def test_a_search_over_a_grid_draws_the_same_candidates_when_it_resumes_with_more(tmp_path):
    grid = {"max_depth": list(range(1, 13)), "min_samples_leaf": [1, 2, 5]}
    settings = {"cv": 4, "random_state": 2, "refit": False}
    for budget in (8, 20, 60):
        more = BoxThirdingSearchCV(TREE, grid, budget=budget, study=tmp_path / "search.db", **settings).fit(X, Y)
    alone = BoxThirdingSearchCV(TREE, grid, budget=60, study=tmp_path / "alone.db", **settings).fit(X, Y)
    assert more.cv_results_["n_folds"].sum() == 60
    assert more.cv_results_["params"] == alone.cv_results_["params"]
    assert list(more.cv_results_["mean_test_score"]) == list(alone.cv_results_["mean_test_score"])


@pytest.mark.parametrize("error_score", [np.nan, -1.0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more of the test scores")
def test_candidates_that_were_given_up_are_in_the_results_after_a_resume(tmp_path, error_score):
    space = {"quality": [0.1, 0.2, 0.3], "fails": [False, True]}
    search = BoxThirdingSearchCV(
        Scored(), space, budget=8, cv=4, random_state=1, study=tmp_path / "search.db", error_score=error_score
    )
    first = search.fit(X, Y).cv_results_
    FITS.clear()
    again = search.fit(X, Y).cv_results_
    assert len(FITS) == 1 + 1  # a fold that gives the form, and the refit: what failed has been paid for
    assert first["n_folds"].max() > 1
    for name, column in first.items():
        if "time" not in name:
            np.testing.assert_array_equal(again[name], column)


SEARCH = """
import os, signal, sys, time
from scipy.stats import uniform
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier
from boxthirding.integrations.sklearn import BoxThirdingSearchCV

class Tree(DecisionTreeClassifier):
    def fit(self, *data):
        with open(sys.argv[2], "a") as file:
            file.write("fit\\n")
        if sys.argv[3] == "killed" and os.path.getsize(sys.argv[2]) == 40:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(*data)

search = BoxThirdingSearchCV(
    Tree(random_state=0), {"ccp_alpha": uniform(0, 0.1)}, budget=30, cv=4, random_state=3, study=sys.argv[1]
)
search.set_params(refit=False).fit(*make_classification(120, 6, flip_y=0.2, random_state=1))
print(int(search.cv_results_["n_folds"].sum()), search.best_params_)
"""


def start(tmp_path, how):
    command = [sys.executable, "-c", SEARCH, str(tmp_path / "search.db"), str(tmp_path / "fits"), how]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_search_that_is_killed_loses_the_fit_under_way_and_no_other(tmp_path):
    killed = start(tmp_path, "killed")
    assert killed.communicate(timeout=300) == ("", None)
    assert killed.returncode == -signal.SIGKILL
    resumed, _ = start(tmp_path, "spared").communicate(timeout=300)
    assert resumed.startswith("30 ")
    assert len((tmp_path / "fits").read_text().splitlines()) == 30 + 1  # what was under way


def test_two_processes_search_together_in_one_study(tmp_path):
    both = [start(tmp_path, "spared") for _ in range(2)]
    said = [process.communicate(timeout=300)[0] for process in both]
    assert [text.split()[0] for text in said].count("30") >= 1  # the one that ended last
    assert len((tmp_path / "fits").read_text().splitlines()) <= 30 + 2


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning", "ignore:One or more of the test scores")
def test_a_candidate_that_another_process_gave_up_meanwhile_is_given_up_here_too(tmp_path, fails):
    class Meanwhile(Scored):
        def fit(self, x, y):
            if len(FITS) == 5:
                with open_study(tmp_path / "search.db") as other:
                    asked = [entry.event for entry in other.events() if isinstance(entry.event, Asked)]
                    other.withdraw(asked[-1].tickets[0][1])
                self.fails = fails
            return super().fit(x, y)

    search = search_in(tmp_path / "search.db", 20, refit=False).set_params(estimator=Meanwhile())
    results = search.fit(X, Y).cv_results_
    assert results["n_folds"].sum() == 20
    with open_study(tmp_path / "search.db") as kept:
        assert (kept.view().withdrawn, kept.view().spent) == (1, 19)


def of_code(sign):
    """Return functions of one name and another code."""
    return {1: lambda *given: float(np.mean(given[-1])), -1: lambda *given: float(-np.mean(given[-1]))}[sign]


def long_pipeline(middle):
    """Return a pipeline whose text scikit-learn cuts in the middle."""
    steps = [FunctionTransformer(inverse_func=np.log1p, check_inverse=False) for _ in range(16)]
    return make_pipeline(*steps[:8], FunctionTransformer(middle), *steps[8:], Scored())


DATA = "data '4 folds of 120 samples, .*, not '4 folds of 120 samples, "


@pytest.mark.parametrize(
    ("one", "other", "match"),
    [
        ({"estimator": long_pipeline(None)}, {"estimator": long_pipeline(np.negative)}, "made with estimator"),
        ({"estimator": long_pipeline(np.abs)}, {"estimator": long_pipeline(lambda x: x)}, "made with estimator"),
        ({"scoring": of_code(1)}, {"scoring": of_code(-1)}, "made with scoring"),
        ({"scoring": make_scorer(of_code(1))}, {"scoring": make_scorer(of_code(-1))}, "made with scoring"),
        (
            {"scoring": {"a": of_code(1)}, "refit": "a"},
            {"scoring": {"a": of_code(-1)}, "refit": "a"},
            "made with scoring",
        ),
        ({"x": X}, {"x": X[::-1]}, DATA),
        ({"y": Y}, {"y": 1 - Y}, DATA),
        ({}, {"given": {"sample_weight": np.ones(len(Y))}}, DATA),
        ({}, {"given": {"check_input": True}}, DATA),
    ],
)
def test_a_study_refuses_what_only_its_content_tells_apart_and_takes_the_same_again(one, other, match, tmp_path):
    def fit(budget, x=X, y=Y, given=(), **settings):
        model = DecisionTreeClassifier(random_state=0)
        search = BoxThirdingSearchCV(model, DEPTHS, budget=budget, cv=KFold(4), random_state=1, study=place)
        if "estimator" in settings:
            search.set_params(param_distributions={"scored__quality": [0.1, 0.2, 0.3]})
        return search.set_params(refit=False).set_params(**settings).fit(x, y, **dict(given))

    place = str(tmp_path / "search.db")
    fit(4, **one)
    assert fit(5, **one).cv_results_["n_folds"].sum() == 5
    with pytest.raises(ValueError, match=match):
        fit(8, **{**one, **other})


OTHERS = {
    "estimator": ({"estimator": Scored(0.7)}, X, r"estimator .*Scored\(\).*, not .*quality=0.7"),
    "scoring": ({"scoring": "accuracy"}, X, "scoring None, not 'accuracy'"),
    "folds": ({"cv": StratifiedKFold(4, shuffle=True, random_state=5)}, X, "data '4 folds of 120 samples, "),
    "number of folds": ({"cv": 3}, X, "4 examples, not 3"),
    "samples": ({}, X[:40], "data '4 folds of 120 samples, .*, not '4 folds of 40 samples, "),
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_study_takes_no_results_of_another_kind(other, tmp_path):
    place = str(tmp_path / "search.db")
    search_in(place, 20).fit(X, Y)
    FITS.clear()
    settings, samples, match = OTHERS[other]
    with pytest.raises(ValueError, match=match) as refused:
        search_in(place, 36).set_params(**settings).fit(samples, Y[: len(samples)])
    assert str(refused.value).endswith("; fit with what it was made with, or keep this search in another study")
    assert not FITS


def test_a_study_resumes_with_another_number_of_jobs(tmp_path):
    for jobs in (None, 2):
        forest = RandomForestClassifier(5, n_jobs=jobs, random_state=0)
        search = BoxThirdingSearchCV(
            forest,
            {"max_depth": [1, 2]},
            budget=2 * (jobs or 1),
            cv=4,
            random_state=1,
            study=str(tmp_path / "search.db"),
        ).fit(X, Y)
    assert search.cv_results_["n_folds"].sum() == 4


def test_a_study_needs_a_random_state_that_draws_the_same_again(tmp_path):
    search = search_in(str(tmp_path / "search.db"), 20).set_params(random_state=None)
    with pytest.raises(ValueError, match=r"random_state is None, but .* give an integer"):
        search.fit(X, Y)


# Bad input


def test_a_grid_smaller_than_the_candidates_wanted_is_said_and_used_up():
    search = BoxThirdingSearchCV(Scored(), {"quality": [0.1, 0.2, 0.3]}, n_candidates=10, cv=4, random_state=1)
    with pytest.warns(UserWarning, match="The total space of parameters 3 is smaller than n_candidates=10") as heard:
        search.fit(X, Y)
    assert [warning.filename for warning in heard] == [__file__]
    assert search.best_params_ == {"quality": 0.3}
    assert sorted(search.cv_results_["param_quality"]) == [0.1, 0.2, 0.3]


def test_a_candidate_that_cannot_be_fitted_is_given_up():
    space = {"quality": [0.1, 0.2, 0.3], "fails": [False, True]}
    search = BoxThirdingSearchCV(Scored(), space, budget=20, cv=5, random_state=1)
    with pytest.warns() as heard:
        search.fit(X, Y)
    assert {warning.category for warning in heard} == {FitFailedWarning, UserWarning}
    assert search.best_params_ == {"quality": 0.3, "fails": False}
    failed = np.array([params["fails"] for params in search.cv_results_["params"]])
    assert np.isnan(search.cv_results_["mean_test_score"][failed]).all()
    assert (search.cv_results_["n_folds"][failed] == 1).all()
    assert search.cv_results_["n_folds"].sum() <= 20


def test_error_score_is_the_score_of_a_fit_that_failed():
    space = {"quality": [0.1, 0.3], "fails": [False, True]}
    search = BoxThirdingSearchCV(Scored(), space, budget=20, cv=5, random_state=1, error_score=9.0)
    with pytest.warns(FitFailedWarning):
        search.set_params(refit=False).fit(X, Y)
    assert search.best_params_["fails"]
    assert search.best_score_ == 9.0


def test_error_score_raise_raises_the_first_failure():
    search = BoxThirdingSearchCV(Scored(), {"fails": [True]}, cv=3, error_score="raise")
    with pytest.raises(RuntimeError, match="no fit"):
        search.fit(X, Y)


def test_all_fits_failing_is_an_error_as_in_scikit_learn():
    search = BoxThirdingSearchCV(Scored(), {"quality": uniform(), "fails": [True]}, budget=7, cv=3, random_state=1)
    with pytest.raises(ValueError, match="fits failed"):
        search.fit(X, Y)
    assert len(FITS) == 7 + 1  # the first is fitted again, to see that it was the fit that failed


def test_a_metric_that_returns_nan_is_said_and_its_candidate_given_up():
    def metric(estimator, x, y):  # noqa: ARG001  # what every scorer is given
        return float("nan") if estimator.quality > 0.5 else estimator.quality

    search = BoxThirdingSearchCV(
        Scored(), {"quality": [0.1, 0.4, 0.9]}, budget=15, cv=5, scoring=metric, random_state=1
    )
    with pytest.warns(UserWarning, match="One or more of the test scores are non-finite") as heard:
        search.fit(X, Y)
    assert [warning.filename for warning in heard] == [__file__]
    assert search.best_params_ == {"quality": 0.4}


@pytest.mark.parametrize("refit", [True, False, max])
def test_several_metrics_without_the_one_that_decides_are_refused(refit):
    search = BoxThirdingSearchCV(Scored(), {"quality": uniform()}, scoring=["accuracy", "f1"], refit=refit, cv=3)
    with pytest.raises(
        ValueError, match="For multi-metric scoring, the parameter refit must be set to the scorer key that decides"
    ):
        search.fit(X, Y)
    assert FITS == []


@pytest.mark.parametrize("setting", [{"budget": 0}, {"n_candidates": 0}, {"policy": 3}, {"study": 3}])
def test_wrong_settings_are_refused_by_name(setting):
    (name,) = setting
    search = BoxThirdingSearchCV(LogisticRegression(), SPACE, **setting)
    with pytest.raises(ValueError, match=f"The '{name}' parameter of BoxThirdingSearchCV must be"):
        search.fit(X, Y)


@pytest.mark.parametrize("space", [[1, 2], [{"max_depth": 3}], {"max_depth": 3}])
def test_what_is_no_space_of_parameters_is_refused_as_by_a_randomized_search(space):
    with pytest.raises(TypeError, match="Parameter") as theirs:
        RandomizedSearchCV(TREE, space).fit(X, Y)
    with pytest.raises(TypeError) as ours:
        BoxThirdingSearchCV(TREE, space).fit(X, Y)
    assert str(ours.value) == str(theirs.value)


def test_a_splitter_without_folds_is_refused():
    with pytest.raises(ValueError, match="Was the CV iterator empty"):
        BoxThirdingSearchCV(TREE, DEPTHS, cv=[]).fit(X, Y)


def test_a_study_is_a_place_or_a_place_and_a_name():
    with pytest.raises(ValueError, match=r"study is \('a', 'b', 'c'\), but must be a path or URL, or a pair"):
        BoxThirdingSearchCV(TREE, DEPTHS, study=("a", "b", "c"), random_state=1).fit(X, Y)


def test_a_policy_that_must_know_the_number_of_candidates_is_refused():
    with pytest.raises(ValueError, match=r"policy is 'sh:budget=20', but must be .* give one of b3, chase"):
        BoxThirdingSearchCV(TREE, DEPTHS, n_candidates=4, policy="sh:budget=20").fit(X, Y)


def test_a_policy_that_does_not_exist_is_refused_by_name():
    with pytest.raises(ValueError, match="typo"):
        BoxThirdingSearchCV(LogisticRegression(), SPACE, policy="typo").fit(X, Y)


def test_wrong_names_of_parameters_and_scores_that_are_no_numbers_are_said_by_scikit_learn():
    with pytest.raises(ValueError, match="Invalid parameter 'nope' for estimator"):
        BoxThirdingSearchCV(TREE, {"nope": [1, 2]}, cv=3).fit(X, Y)
    with pytest.raises(ValueError, match="scoring must return a number, got much"):
        BoxThirdingSearchCV(TREE, DEPTHS, cv=3, scoring=lambda *_: "much").fit(X, Y)


def test_a_value_that_cannot_be_pickled_is_refused_by_scikit_learn_and_earlier_fits_are_kept(tmp_path):
    grid = {"max_depth": [1, 2, 3, threading.Lock()]}
    with pytest.raises(TypeError, match="cannot pickle"):
        RandomizedSearchCV(TREE, grid, n_iter=4).fit(X, Y)
    search = BoxThirdingSearchCV(TREE, grid, budget=20, cv=4, random_state=1, study=tmp_path / "search.db")
    with pytest.raises(TypeError, match="cannot pickle"):
        search.fit(X, Y)
    with open_study(tmp_path / "search.db") as kept:
        assert kept.view().spent == 3


def test_a_scorer_of_several_metrics_gives_failed_fits_its_names():
    def metrics(estimator, x, y):
        return {"own": estimator.score(x, y), "one": 1.0}

    space = {"quality": [0.1, 0.2, 0.3], "fails": [False, True]}
    settings = {"budget": 20, "cv": 3, "random_state": 1, "scoring": metrics, "refit": "own"}
    for error_score in (np.nan, -1.0):
        search = BoxThirdingSearchCV(Scored(), space, error_score=error_score, **settings)
        with pytest.warns() as heard:
            search.fit(X, Y)
        assert FitFailedWarning in {warning.category for warning in heard}
        results = search.cv_results_
        failed = np.array([params["fails"] for params in results["params"]])
        for name in ("own", "one"):
            np.testing.assert_array_equal(results[f"mean_test_{name}"][failed], error_score)
            assert (results[f"rank_test_{name}"][failed] > results[f"rank_test_{name}"][~failed].max()).all()
        assert search.best_params_ == {"quality": 0.3, "fails": False}


def test_it_works_with_scorers_made_of_metrics_on_real_data():
    x, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    scorer = make_scorer(lambda true, said: float(np.mean(true == said)))
    search = BoxThirdingSearchCV(
        model, {"logisticregression__C": loguniform(1e-4, 1e2)}, scoring=scorer, budget=40, cv=KFold(5), random_state=1
    ).fit(x, y)
    assert search.best_score_ > 0.96
