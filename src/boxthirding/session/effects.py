"""What examples and raters add to results: some examples are hard, some raters are severe.

A result is level + arm + effect + noise, where the effect is that of its example or of its rater. Arms and effects are
random, with variances of their own, and are estimated in turn from all results that count; the policy is told results
less their effects. The estimates of arms that effects are measured against are shrunk towards the level: the arms that
have met many examples did well on their first ones, partly by luck, so against their raw means later examples would
look harder than they are.
"""

import math
import sys
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from boxthirding.session.ledger import Ledger, ResultColumns
from boxthirding.session.values import Difficulty
from boxthirding.types import NONE, Floats, Ints

FIRST_FIT: Final = 32
"""Results at which effects are estimated for the first time."""
GROWTH: Final = 2.0
"""How much more results there are at the next fit."""
MATERIAL: Final = 0.3
"""Standard errors by which an arm's adjusted mean must move at a fit for the policy to be told."""

_COLD: Final = 30  # rounds of a fit from nothing
_WARM: Final = 4  # rounds of one from the estimates before
_SHARE: Final = 4  # at first, a quarter of the variance is taken to be that of arms, and as much that of effects
_TINY: Final = 1e-12  # of the variance of all results, below which no variance is estimated


class Fit(NamedTuple):
    """Estimates from all results, in the units of rewards."""

    level: float
    arms: Floats  # [K] shrunk, less the level
    effects: Floats  # [G] shrunk; their mean over the groups with results is 0
    errors: Floats  # [G] their standard errors
    noise: float  # variance of a result
    between_arms: float  # variance
    between_groups: float  # variance


class Effects:
    """The effects of examples, as far as results tell."""

    def __init__(self, n_examples: int | None, ledger: Ledger) -> None:
        self._n_examples, self._ledger = n_examples or 1, ledger
        self._first = FIRST_FIT if n_examples else sys.maxsize
        self.fit: Fit | None = None
        """The estimates of the last fit; None before the first."""
        self._next = self._first

    def of(self, pull: int) -> float:
        """Return the effect of the example that a pull sees; 0 before the first fit."""
        return 0.0 if self.fit is None else float(self.fit.effects[pull % self._n_examples])

    @property
    def is_due(self) -> bool:
        """Whether results have grown enough for another fit."""
        return self._ledger.rows >= self._next

    def refit(self, *, anew: bool = False) -> tuple[Ints, Floats]:
        """Estimate all effects again; return the results whose effect changes, with their effects.

        An arm whose mean would hardly move keeps the effects that it has, unless the estimates are made `anew`, after
        results were corrected or excluded: then nothing is left of what those had led to.
        """
        ledger = self._ledger
        self._next = max(self._first, math.ceil(GROWTH * ledger.rows))
        counting = ledger.table(ledger.counting())
        n_arms = len(ledger.counts)
        if len(counting.rows) == 0:
            return counting.rows, counting.effects
        start = None if anew else self.fit
        self.fit = fit(counting.arms, self._groups(counting), counting.rewards, n_arms, self._n_examples, start)
        table = ledger.table(np.arange(ledger.rows))
        effects = self.fit.effects[self._groups(table)]
        counts = np.asarray(ledger.counts)
        effects[(counts >= self._n_examples)[table.arms]] = 0.0  # their means over all examples are known
        change = np.bincount(table.arms, effects - table.effects, n_arms)
        material = 0.0 if anew else MATERIAL * math.sqrt(self.fit.noise)
        moves = (np.abs(change) > material * np.sqrt(counts))[table.arms] & (effects != table.effects)
        return table.rows[moves], effects[moves]

    def difficulties(self) -> list[Difficulty]:
        """Return how hard each example is that has a result, in their order."""
        ledger, size = self._ledger, self._n_examples
        table = ledger.table(ledger.counting())
        if len(table.rows) == 0:
            return []
        groups = self._groups(table)
        now = fit(table.arms, groups, table.rewards, len(ledger.counts), size)
        results = np.bincount(groups, minlength=size)
        means = np.bincount(groups, table.rewards, size) / np.maximum(results, 1)
        quality = now.arms[table.arms]
        # The slope of results against the quality of arms, shrunk to 1 as far as the quality of arms says little
        rest = table.rewards - now.level - now.effects[groups] - quality
        weight = np.bincount(groups, quality**2, size) + now.noise
        slopes = 1 + np.bincount(groups, quality * rest, size) / np.where(weight > 0, weight, 1.0)
        seen = np.unique(np.stack([groups, table.arms]), axis=1)[0]
        arms = np.bincount(seen, minlength=size)
        return [
            Difficulty(
                place,
                -ledger.sign * float(now.effects[place]) + 0.0,  # never -0
                float(now.errors[place]),
                float(means[place]),
                int(arms[place]),
                float(slopes[place]),
            )
            for place in np.flatnonzero(results).tolist()
        ]

    def _groups(self, table: ResultColumns) -> Ints:
        return table.pulls % self._n_examples

    def save(self) -> dict[str, Any]:
        """Return everything as plain values and arrays."""
        return {"fit": None if self.fit is None else self.fit._asdict(), "next": self._next}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what was saved."""
        self.fit, self._next = None if saved["fit"] is None else Fit(**saved["fit"]), saved["next"]


def fit(arms: Ints, groups: Ints, rewards: Floats, n_arms: int, n_groups: int, start: Fit | None = None) -> Fit:
    """Estimate level, arms, effects and variances by expectation maximisation, from nothing or from earlier estimates.

    `groups` has the example or rater of each result, or NONE. Sums are sequential loops (`bincount`, `cumsum`), so the
    same results give the same estimates to the last bit.
    """
    groups = np.where(groups == NONE, n_groups, groups)  # the last group has no effect
    per_arm = np.bincount(arms, minlength=n_arms)
    per_group = np.bincount(groups, minlength=n_groups + 1).astype(np.float64)
    has_arm, has_group = per_arm > 0, per_group > 0
    has_group[n_groups] = False
    level = _mean(rewards)
    least = _TINY * _mean((rewards - level) ** 2)
    effects = np.zeros(n_groups + 1)
    if start is None:
        noise = _mean((rewards - level) ** 2)
        between_arms = between_groups = noise / _SHARE
    else:
        level, noise, between_arms, between_groups = start.level, start.noise, start.between_arms, start.between_groups
        effects[: len(start.effects)] = start.effects
    quality = np.zeros(n_arms)
    for _ in range(_COLD if start is None else _WARM):
        if noise <= least or not has_group.any():  # nothing is left to explain
            break
        arm_weight = 1 / (per_arm + noise / max(between_arms, least))
        group_weight = 1 / (per_group + noise / max(between_groups, least))
        quality = np.bincount(arms, rewards - level - effects[groups], n_arms) * arm_weight
        effects = np.bincount(groups, rewards - level - quality[arms], n_groups + 1) * group_weight
        effects[n_groups] = 0.0
        rest = rewards - quality[arms] - effects[groups]
        level = _mean(rest)
        unsure = noise * (arm_weight[arms] + np.where(has_group, group_weight, 0.0)[groups])
        between_arms = _mean((quality**2 + noise * arm_weight)[has_arm])
        between_groups = _mean((effects**2 + noise * group_weight)[has_group])
        noise = _mean((rest - level) ** 2 + unsure)
    shift = _mean(effects[has_group]) if has_group.any() else 0.0
    effects = np.where(has_group, effects - shift, 0.0)[:n_groups]
    unknown = noise / (per_arm + noise / max(between_arms, least)) if noise > least else np.zeros(n_arms)
    of_group = (noise + np.bincount(groups, unknown[arms], n_groups + 1) / np.maximum(per_group, 1))[:n_groups]
    errors = np.sqrt(of_group / np.maximum(per_group[:n_groups] + of_group / max(between_groups, least, 1e-300), 1e-300))
    return Fit(level + shift, quality, effects, errors, noise, between_arms, between_groups)


def _mean(values: Floats) -> float:
    return float(np.cumsum(values)[-1]) / len(values)
