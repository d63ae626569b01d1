"""Searches of scikit-learn and Optuna beside ours, with the same budget of evaluations, as tables for the docs.

    python -m benchmarks.integrations [--seeds 20] [sklearn] [optuna] [dask]

Regret is how far the true score of what was chosen is below that of the best candidate, in thousandths, mean ± standard
error over the seeds; lower is better. The true score of a candidate of scikit-learn is the mean over 40 random splits
of all the data; the functions for Optuna are known without their noise. Searches of scikit-learn may make fewer fits
than their budget: how many, on average, stands in brackets.
"""

import argparse
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optuna
from optuna.pruners import WilcoxonPruner
from optuna.samplers import RandomSampler, TPESampler
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.experimental import enable_halving_search_cv  # noqa: F401  # makes the next import possible
from sklearn.model_selection import (
    HalvingRandomSearchCV,
    ParameterSampler,
    RandomizedSearchCV,
    RepeatedKFold,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks import clusters
from boxthirding.integrations import race
from boxthirding.integrations.optuna import BoxThirdingSampler, from_objective, from_optuna, recommend
from boxthirding.integrations.sklearn import BoxThirdingSearchCV

FITS = 100
TRIALS = 200
POOL = 60
LEAST_SEEDS = 2

SPACE = {
    "max_depth": list(range(1, 16)),
    "min_samples_leaf": list(range(1, 31)),
    "max_features": [0.1, 0.2, 0.3, 0.5, 0.7, 1.0],
    "ccp_alpha": [0.0, 0.001, 0.003, 0.01, 0.03],
}
DATA = {
    "breast cancer": (load_breast_cancer, DecisionTreeClassifier),
    "digits": (load_digits, DecisionTreeClassifier),
    "diabetes": (load_diabetes, DecisionTreeRegressor),
}


def main(arguments: list[str] | None = None) -> None:
    """Print the tables that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="sklearn, optuna, dask; all of them by default")
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args(arguments)
    parts = {"sklearn": _sklearn, "optuna": _optuna, "dask": _dask}
    for name in options.parts:
        if name not in parts:
            parser.error(f"there is no part {name!r}: name some of {', '.join(parts)}, or none for all of them")
    if options.seeds < LEAST_SEEDS:
        parser.error(f"--seeds is {options.seeds}, but must be at least {LEAST_SEEDS}: a standard error needs as many")
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for name in options.parts or parts:
        for line in parts[name](options.seeds):
            print(line, flush=True)


# scikit-learn: which of 60 trees, with 100 fits


def _sklearn(seeds: int) -> Iterator[str]:
    searches = {"RandomizedSearchCV": _randomized, "HalvingRandomSearchCV": _halving, "BoxThirdingSearchCV": _ours}
    yield f"| at most {FITS} fits | {' | '.join(DATA)} |"
    yield f"|---|{'---|' * len(DATA)}"
    truths = {name: _truth(load(return_X_y=True), tree) for name, (load, tree) in DATA.items()}
    for title, search in searches.items():
        cells = []
        for name, (load, tree) in DATA.items():
            x, y = load(return_X_y=True)
            pool, truth = truths[name]
            regrets, fits = [], []
            for seed in range(seeds):
                half = np.random.default_rng(seed).permutation(len(x))[: len(x) // 2]
                model = tree(random_state=seed)
                best = search(model, [{k: [v] for k, v in one.items()} for one in pool], seed).fit(x[half], y[half])
                regrets.append(max(truth) - truth[pool.index(best.best_params_)])
                fits.append(_fits(best))
            cells.append(f"{_cell(regrets)} ({np.mean(fits):.0f})")
        yield f"| `{title}` | {' | '.join(cells)} |"


def _truth(data: tuple[Any, Any], tree: Callable[..., Any]) -> tuple[list[dict[str, Any]], list[float]]:
    x, y = data
    pool = list(ParameterSampler(SPACE, POOL, random_state=0))
    splits = ShuffleSplit(40, train_size=0.4, random_state=0)
    return pool, [float(cross_val_score(tree(random_state=0, **one), x, y, cv=splits).mean()) for one in pool]


def _fits(search: Any) -> int:
    """Return how many fits a search made."""
    folds = search.cv_results_.get("n_folds")
    return len(search.cv_results_["params"]) * search.n_splits_ if folds is None else int(folds.sum())


def _randomized(model: Any, pool: Any, seed: int) -> Any:
    return RandomizedSearchCV(model, pool, n_iter=FITS // 5, cv=5, random_state=seed, refit=False)


def _halving(model: Any, pool: Any, seed: int) -> Any:
    """Begin with 13 candidates: 13 + 5 + 2 of them on 5 folds each are 100 fits, most of them on fewer samples.

    Where the data are too few for three rounds, or the samples of the first, it makes fewer.
    """
    return HalvingRandomSearchCV(model, pool, n_candidates=13, cv=5, random_state=seed, refit=False)


def _ours(model: Any, pool: Any, seed: int) -> Any:
    folds = RepeatedKFold(n_splits=5, n_repeats=4, random_state=seed)
    return BoxThirdingSearchCV(model, pool, budget=FITS, cv=folds, random_state=seed, refit=False)


# Optuna: three functions with noise, 200 evaluations


def _optuna(seeds: int) -> Iterator[str]:
    searches = {
        "random, `best_trial`": _best_of(lambda seed: RandomSampler(seed=seed)),
        "TPE, `best_trial`": _best_of(lambda seed: TPESampler(seed=seed)),
        "TPE and `WilcoxonPruner`, `best_trial`": _wilcoxon,
        "`BoxThirdingSampler(40)`, `recommend`": _sampler,
        "TPE for 100, then `race` for 100": _race,
    }
    yield f"| {TRIALS} evaluations | {' | '.join(FUNCTIONS)} |"
    yield f"|---|{'---|' * len(FUNCTIONS)}"
    for title, search in searches.items():
        cells = [_cell([function(search(function, seed)) for seed in range(seeds)]) for function in FUNCTIONS.values()]
        yield f"| {title} | {' | '.join(cells)} |"


def _bowl(params: dict[str, Any]) -> float:
    return sum((params[name] - best) ** 2 for name, best in {"x": 0.3, "y": 0.6}.items())


def _branin(params: dict[str, Any]) -> float:
    x, y = 15 * params["x"] - 5, 15 * params["y"]
    curve = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return (curve**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10 - 0.397887) / 300


def _rough(params: dict[str, Any]) -> float:
    """Return a value that neighbours tell nothing about, as of prompts or random seeds."""
    cell = int(params["x"] * 20) * 20 + int(params["y"] * 20)
    return float(np.random.default_rng(cell).random())


FUNCTIONS = {"a bowl": _bowl, "Branin": _branin, "without structure": _rough}
NOISE = 0.3


def _objective(function: Callable[..., float], seed: int) -> Callable[[Any], float]:
    draw = np.random.default_rng([seed, 7])

    def objective(trial: Any) -> float:
        params = {name: trial.suggest_float(name, 0, 1) for name in ("x", "y")}
        return function(params) + NOISE * float(draw.standard_normal())

    return objective


def _best_of(sampler: Callable[[int], Any]) -> Callable[..., dict[str, Any]]:
    def search(function: Callable[..., float], seed: int) -> dict[str, Any]:
        study = optuna.create_study(sampler=sampler(seed))
        study.optimize(_objective(function, seed), n_trials=TRIALS)
        return dict(study.best_params)

    return search


def _wilcoxon(function: Callable[..., float], seed: int) -> dict[str, Any]:
    """Evaluate each trial up to 10 times, unless it is pruned."""
    study = optuna.create_study(sampler=TPESampler(seed=seed), pruner=WilcoxonPruner())
    noisy, left = _objective(function, seed), TRIALS

    def objective(trial: Any) -> float:
        nonlocal left
        values: list[float] = []
        for step in range(10):
            if left == 0:
                break
            left -= 1
            values.append(noisy(trial))
            trial.report(values[-1], step)
            if trial.should_prune():
                break
        return float(np.mean(values))

    while left:
        study.optimize(objective, n_trials=1)
    return dict(study.best_params)


def _sampler(function: Callable[..., float], seed: int) -> dict[str, Any]:
    study = optuna.create_study(sampler=BoxThirdingSampler(40, seed=seed))
    study.optimize(_objective(function, seed), n_trials=TRIALS)
    return recommend(study).params


def _race(function: Callable[..., float], seed: int) -> dict[str, Any]:
    study = optuna.create_study(sampler=TPESampler(seed=seed))
    objective = _objective(function, seed)
    study.optimize(objective, n_trials=TRIALS // 2)
    found = race(from_optuna(study), from_objective(objective), budget=TRIALS // 2, seed=seed, progress=False)
    return dict(found.best)


# Dask: evaluations of 50 ms on one worker and on two


def _dask(_: int) -> Iterator[str]:
    workers, decision = clusters.measure()
    one, two = workers["per_second"]
    yield f"Dask, 50 ms: {one} a second with 1 worker, {two} with 2: {workers['ratio']:.2f} times"
    yield f"A decision of ours: {decision['milliseconds']} ms a pull"


def _cell(regrets: list[float]) -> str:
    values = 1e3 * np.array(regrets)
    return f"{values.mean():.1f} ± {values.std(ddof=1) / math.sqrt(len(values)):.1f}"


if __name__ == "__main__":
    sys.exit(main())
