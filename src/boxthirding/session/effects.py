"""What examples add to results: some are hard, and an arm that has seen those is no worse for it.

A result is level + arm + effect of its example + noise. Arms and effects are random, with variances of their own, and
are estimated in turn from all results that count; the policy is told results less their effects.

Effects are measured against arms that are shrunk towards the level. Arms that have seen many examples did well on their
first ones, partly by luck; measured against their raw means, later examples would look harder than they are.
"""

import math
import sys
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import numpy as np

from boxthirding.session.ledger import Ledger
from boxthirding.session.values import Difficulty
from boxthirding.types import Floats, Ints

FIRST_FIT: Final = 32  # results at which effects are estimated for the first time
GROWTH: Final = 2.0  # by which results are multiplied until the next fit
MATERIAL: Final = 0.3  # standard errors by which an arm's adjusted mean must move for the policy to be told

_COLD: Final = 30  # rounds of a fit from nothing
_WARM: Final = 4  # rounds of one from the estimates before
_SHARE: Final = 4  # at first, a quarter of the variance is taken to be that of arms, and as much that of effects
_TINY: Final = 1e-12  # of the variance of all results, below which no variance is estimated


class Estimates(NamedTuple):
    """Estimates from all results, in the units of rewards."""

    level: float
    arms: Floats  # [K] shrunk, less the level
    effects: Floats  # [E] shrunk; their mean over the examples with results is 0
    noise: float  # variance of a result
    between_arms: float  # variance
    between_examples: float  # variance


class Effects:
    """The effects of examples, as far as results tell."""

    def __init__(self, n_examples: int | None, ledger: Ledger) -> None:
        self._n_examples, self._ledger = n_examples or 1, ledger
        self._first = FIRST_FIT if n_examples else sys.maxsize
        self.fit: Estimates | None = None  # None before the first
        self._next = self._first

    def of(self, pull: int) -> float:
        """Return the effect of the example that a pull sees; 0 before the first fit."""
        return 0.0 if self.fit is None else float(self.fit.effects[pull])

    @property
    def is_due(self) -> bool:
        """Whether results have grown enough for another fit."""
        return self._ledger.rows >= self._next

    def refit(self, *, from_scratch: bool = False) -> tuple[Ints, Floats]:
        """Estimate all effects again; return the results whose effect changes, with their effects.

        An arm whose mean would hardly move keeps the effects that it has, unless it is `from_scratch`, after
        results were corrected or excluded: then nothing is left of what those had led to.
        """
        ledger = self._ledger
        self._next = max(self._first, math.ceil(GROWTH * ledger.rows))
        counting = ledger.table(ledger.counting())
        n_arms = len(ledger.counts)
        if len(counting.rows) == 0:
            return counting.rows, counting.effects
        start = None if from_scratch else self.fit
        self.fit = fit(counting.arms, counting.pulls, counting.rewards, n_arms, self._n_examples, start)
        table = ledger.table(np.arange(ledger.rows))
        effects = self.fit.effects[table.pulls]
        counts = np.asarray(ledger.counts)
        change = np.bincount(table.arms, effects - table.effects, n_arms)
        material = 0.0 if from_scratch else MATERIAL * math.sqrt(self.fit.noise)
        moves = (np.abs(change) > material * np.sqrt(counts))[table.arms] & (effects != table.effects)
        return table.rows[moves], effects[moves]

    def difficulties(self) -> list[Difficulty]:
        """Return how hard each example is that has a result, in their order."""
        ledger, size = self._ledger, self._n_examples
        table = ledger.table(ledger.counting())
        if len(table.rows) == 0:
            return []
        now = fit(table.arms, table.pulls, table.rewards, len(ledger.counts), size)
        results = np.bincount(table.pulls, minlength=size)  # an arm sees an example once
        means = np.bincount(table.pulls, table.rewards, size) / np.maximum(results, 1)
        error = math.sqrt(now.noise + now.between_arms)
        quality = now.arms[table.arms]
        # The slope of results against the quality of arms, shrunk to 1 as far as the quality of arms says little
        rest = table.rewards - now.level - now.effects[table.pulls] - quality
        weight = np.bincount(table.pulls, quality**2, size) + now.noise
        slopes = 1 + np.bincount(table.pulls, quality * rest, size) / np.where(weight > 0, weight, 1.0)
        return [
            Difficulty(
                place,
                -ledger.sign * float(now.effects[place]) + 0.0,  # never -0
                error / math.sqrt(results[place]),
                float(means[place]),
                int(results[place]),
                float(slopes[place]),
            )
            for place in np.flatnonzero(results).tolist()
        ]

    def save(self) -> dict[str, Any]:
        """Return everything as plain values and arrays."""
        return {"fit": None if self.fit is None else self.fit._asdict(), "next": self._next}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what was saved."""
        self.fit, self._next = None if saved["fit"] is None else Estimates(**saved["fit"]), saved["next"]


def fit(
    arms: Ints, examples: Ints, rewards: Floats, n_arms: int, n_examples: int, start: Estimates | None = None
) -> Estimates:
    """Estimate level, arms, effects and variances by expectation maximisation, from nothing or from earlier estimates.

    Sums are sequential loops (`bincount`, `cumsum`), so the same results give the same estimates to the last bit.
    """
    per_arm, per_example = (np.bincount(of, minlength=n) for of, n in ((arms, n_arms), (examples, n_examples)))
    has_arm, has_example = per_arm > 0, per_example > 0
    level = _mean(rewards)
    variance = _mean((rewards - level) ** 2)
    least = _TINY * variance
    effects, quality = np.zeros(n_examples), np.zeros(n_arms)
    noise, between_arms, between_examples = variance, variance / _SHARE, variance / _SHARE
    if start is not None:
        level, noise, between_arms, between_examples = (
            start.level,
            start.noise,
            start.between_arms,
            start.between_examples,
        )
        effects = start.effects
    for _ in range(_COLD if start is None else _WARM):
        if noise <= least:  # nothing is left to explain
            break
        of_arm = 1 / (per_arm + noise / max(between_arms, least))
        of_example = 1 / (per_example + noise / max(between_examples, least))
        quality = np.bincount(arms, rewards - level - effects[examples], n_arms) * of_arm
        effects = np.bincount(examples, rewards - level - quality[arms], n_examples) * of_example
        rest = rewards - quality[arms] - effects[examples]
        level = _mean(rest)
        unsure = noise * (of_arm[arms] + of_example[examples])  # the variance of both estimates
        between_arms = _mean((quality**2 + noise * of_arm)[has_arm])
        between_examples = _mean((effects**2 + noise * of_example)[has_example])
        noise = _mean((rest - level) ** 2 + unsure)
    shift = _mean(effects[has_example])
    effects = np.where(has_example, effects - shift, 0.0)
    return Estimates(level + shift, quality, effects, noise, between_arms, between_examples)


def _mean(values: Floats) -> float:
    return float(np.cumsum(values)[-1]) / len(values)
