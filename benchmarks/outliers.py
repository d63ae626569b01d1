"""What outliers do to chase, with and without the rule that excludes them, and to b3.

Rewards lie around the means of an instance as no reward model of the package has them. Each law is a table of noise and
probabilities, so that runs are compiled like all others: 256 equally likely pieces of the noise, the outermost halved
down to a millionth. `python -m benchmarks.beyond` prints the tables.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Final

import numpy as np

from benchmarks.ablation import VARIANTS, policy_of
from boxthirding.lab import Gaussian, Instance, RewardModel, Table, simulate
from boxthirding.policies import parse_policy
from boxthirding.types import Floats, Policy

SIGMA: Final = 0.3
BUDGETS: Final = (500, 1_000, 2_500, 5_000, 10_000)
SHOWN: Final = 5_000
CASES: Final = {
    "clean": f"none: normal, σ = {SIGMA}",
    "high": "0.1 % of results 100 too high",
    "low": "1 % of results at −10",
    "student": f"Student t with 2 degrees, scale {SIGMA}",
    "timings": "timings: −lognormal(0, 1.5) / 10",
}
OURS, WITHOUT, PAPER = "chase", "no result excluded", "b3"
NOISY: Final = (0.2, 0.5, 1.0)
_PIECES: Final = 256
_HALVINGS: Final = 12


def normal(p: float) -> float:
    """Return a quantile of normal noise."""
    return SIGMA * NormalDist().inv_cdf(p)


def student(p: float) -> float:
    """Return a quantile of Student's t with 2 degrees of freedom."""
    return SIGMA * (2 * p - 1) / math.sqrt(2 * p * (1 - p))


def timing(p: float) -> float:
    """Return a quantile of minus a lognormal time: most are short, a few very long."""
    return -math.exp(1.5 * NormalDist().inv_cdf(1 - p)) / 10


def pieces(quantile: Callable[[float], float]) -> tuple[Floats, Floats]:
    """Return values of a law and their probabilities."""
    tail = 2.0 ** -np.arange(_HALVINGS, 0, -1) / _PIECES
    edges = np.concatenate([[0.0], tail, np.arange(1, _PIECES) / _PIECES, 1 - tail[::-1], [1.0]])
    middles = (edges[1:] + edges[:-1]) / 2
    return np.array([quantile(float(p)) for p in middles]), np.diff(edges)


def table(case: str, instance: Instance) -> Table:
    """Return the rewards of a case on an instance."""
    noise, chances = pieces({"student": student, "timings": timing}.get(case, normal))
    values = instance.means[:, None] + noise
    if case in ("high", "low"):
        share, outlier = (0.001, instance.means + 100) if case == "high" else (0.01, np.full(instance.n_arms, -10.0))
        values, chances = np.column_stack([values, outlier]), np.append(chances * (1 - share), share)
    return Table(values, np.tile(chances, (instance.n_arms, 1)), case)


@dataclass(frozen=True)
class Outliers:
    """The instances, those that the rule was chosen on first, and how often each case is run."""

    instances: tuple[Instance, ...]
    replicates: int
    seed: int

    @cache  # noqa: B019  # there is one
    def regrets(self, place: int, model: str | float, policy: str) -> Floats:
        """Return the mean regrets of a policy on an instance at every budget, 0.001 added."""
        instance = self.instances[place]
        rewards: RewardModel = table(model, instance) if isinstance(model, str) else Gaussian(model)
        run = simulate(
            instance,
            rewards,
            _policy(policy),
            budget=max(BUDGETS),
            checkpoints=BUDGETS,
            replicates=self.replicates,
            seed=self.seed,
        )
        found: Floats = run.regret.mean(axis=0) + 0.001
        return found

    def relative(self, place: int, case: str, policy: str) -> Floats:
        """Return the regrets in a case relative to those of the same policy without outliers."""
        return self.regrets(place, case, policy) / self.regrets(place, "clean", policy)

    def rows(self) -> Iterator[str]:
        """Yield the tables, row by row as they are measured."""
        names = [instance.name for instance in self.instances]
        policies = (OURS, WITHOUT, PAPER)
        both = [f"{policy}, {name}" for name in names for policy in (OURS, WITHOUT)]
        yield f"| outliers | {' | '.join(both)} | {PAPER}, {names[0]} | {' | '.join(policies)} |"
        yield "|---" * (2 + len(both) + len(policies)) + "|"
        for case, words in CASES.items():
            cells = [self.relative(place, case, policy) for place in range(len(names)) for policy in (OURS, WITHOUT)]
            cells.append(self.relative(0, case, PAPER))
            at = BUDGETS.index(SHOWN)
            shown = [f"{self.regrets(0, case, policy)[at] - 0.001:.4f}" for policy in policies]
            yield f"| {words} | {' | '.join(f'{_geometric(cell):.3f}' for cell in cells)} | {' | '.join(shown)} |"
        yield ""
        beside = " | ".join(f"{OURS} relative to {WITHOUT}, {name}" for name in names)
        yield f"| side by side | {beside} | worst cell |"
        yield "|---" * (2 + len(names)) + "|"
        for sigma in NOISY:
            ratios = [
                self.regrets(place, sigma, OURS) / self.regrets(place, sigma, WITHOUT) for place in range(len(names))
            ]
            means = [f"{_geometric(ratio):.4f}" for ratio in ratios]
            yield f"| no outliers, σ = {sigma:g} | {' | '.join(means)} | {np.max(ratios):.4f} |"


@cache
def _policy(name: str) -> Policy:
    """Return a policy of the tables; WITHOUT is chase without the rule that excludes outliers."""
    if name != WITHOUT:
        return parse_policy(name)
    return policy_of(next(variant for variant in VARIANTS if variant.name == WITHOUT))


def _geometric(ratios: Floats) -> float:
    return float(np.exp(np.mean(np.log(ratios))))
