"""Beliefs about the true means and the noise, as equally likely draws: from estimates or from a pilot.

The band of a plan is how far its answer differs between these draws.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from boxthirding.lab import Bernoulli, Gaussian, Instance, RewardModel
from boxthirding.planning.pilots import Pilot
from boxthirding.planning.shapes import ONE_IN_TEN, PLAUSIBLE, Shape, bent, good_above_ordinary, nodes
from boxthirding.types import Floats

TYPICAL_RATIO: Final = 5.0
"""The noise in standard deviations of the true means, before anything is known: what `chase` starts from."""

_WIDTH_OF_RATIO: Final = 1.0  # the standard deviation of its logarithm, also that of `chase`
_DEVIATIONS: Final = np.geomspace(0.03, 2.0, 40)  # of the true means, tried in units of the arms' scatter
_NOISES: Final = 7  # noise levels tried where repeats are few
_MANY_REPEATS: Final = 2_000  # from here on the noise is as good as known
_CLOSE: Final = 0.002  # no arm of 0/1 scores succeeds, or fails, more often than this lets it


@dataclass(frozen=True)
class Belief:
    """One way the world may be."""

    centre: float
    deviation: float  # the standard deviation of the true means
    shape: Shape
    noise: float
    zero_one: bool = False

    @property
    def spread(self) -> float:
        """How far one of the best in ten is above an ordinary one, the median."""
        if not self.zero_one:
            return self.deviation * good_above_ordinary(self.shape)
        ordinary, good = _chances(self.centre, self.deviation * bent(np.array([0.0, ONE_IN_TEN]), self.shape)).tolist()
        return float(good - ordinary)

    @property
    def ratio(self) -> float:
        """Noise over spread; infinite where ordinary arms succeed as often as the best."""
        return self.noise / self.spread if self.spread > 0 else math.inf

    def instance(self, arms: int, random: np.random.Generator) -> Instance:
        """Return true means for so many arms."""
        z = random.standard_normal(arms)
        offsets = self.deviation * bent(z, self.shape)
        return Instance("believed", _chances(self.centre, offsets) if self.zero_one else self.centre + offsets)

    @property
    def rewards(self) -> RewardModel:
        """Reward model of the belief."""
        return Bernoulli() if self.zero_one else Gaussian(self.noise)


def guessed(noise: float, spread: float, count: int) -> list[Belief]:
    """Return draws that have the noise and the spread that were guessed, and plausible shapes."""
    shapes = list(PLAUSIBLE)
    chosen = _systematic(np.array(list(PLAUSIBLE.values()), float), count)
    drawn = [shapes[place] for place in chosen.tolist()]
    return [Belief(0.0, spread / good_above_ordinary(shape), shape, noise) for shape in drawn]


def learned(pilot: Pilot, count: int) -> list[Belief]:
    """Return draws from what is believed after a pilot: noise, deviation and shape, each in proportion to its chance.

    Before it, the logarithm of noise over deviation is normal around that of 5, and shapes are as plausible as
    `PLAUSIBLE` says; the likelihood of the arms' means is exact for 0/1 scores and normal noise.
    """
    deviations = _DEVIATIONS * math.sqrt(float(np.var(pilot.means)) + pilot.noise**2 / pilot.pulls)
    noises = _plausible_noises(pilot)
    grid = [(float(deviation), noise, shape) for deviation in deviations for noise in noises for shape in PLAUSIBLE]
    heights = _log_likelihoods(pilot, grid) + np.array([_log_plausibility(*place) for place in grid])
    drawn = [grid[place] for place in _systematic(np.exp(heights - heights.max()), count).tolist()]
    # What 0/1 scores of one arm differ by follows from its chance, and is said as it was seen.
    return [
        Belief(pilot.centre, deviation, shape, pilot.noise if pilot.zero_one else noise, pilot.zero_one)
        for deviation, noise, shape in drawn
    ]


def _chances(centre: float, offsets: Floats) -> Floats:
    """Return how often arms of 0/1 scores succeed: true means that cannot leave 0 to 1."""
    return np.clip(centre + offsets, _CLOSE, 1 - _CLOSE)


def _log_likelihoods(pilot: Pilot, grid: Iterable[tuple[float, float, Shape]]) -> Floats:
    """Return the log-likelihood of a pilot at each grid point, up to a constant; equal records are grouped."""
    close = pilot.means
    if not pilot.zero_one:
        error = pilot.noise / np.sqrt(pilot.counts)
        step = np.where(error > 0, error / 20, 1.0)  # means that are closer than this are one
        close = np.round((close - pilot.centre) / step) * step if pilot.noise > 0 else close - pilot.centre
    records, times = np.unique(np.stack([pilot.counts, close]), axis=1, return_counts=True)
    counts, means = records[:, :, None]
    z, weights = nodes()

    def likelihood(deviation: float, noise: float, shape: Shape) -> float:
        places = deviation * bent(z, shape)
        if pilot.zero_one:
            chance = _chances(pilot.centre, places)
            wins = counts * means
            logs = wins * np.log(chance) + (counts - wins) * np.log1p(-chance)
        else:
            width = deviation * (z[1] - z[0]) / 2  # the nodes stand for all that lies between them
            variance = noise**2 / counts + width**2
            logs = -0.5 * ((means - places) ** 2 / variance + np.log(variance))
        most = logs.max(axis=1, keepdims=True)
        return float(times @ (most[:, 0] + np.log(np.exp(logs - most) @ weights)))

    return np.array([likelihood(*place) for place in grid])


def _log_plausibility(deviation: float, noise: float, shape: Shape) -> float:
    """Return the log of the prior density, up to a constant."""
    ratio = math.log(noise / deviation / TYPICAL_RATIO) / _WIDTH_OF_RATIO if noise else 0.0
    return math.log(PLAUSIBLE[shape]) - 0.5 * ratio**2


def _plausible_noises(pilot: Pilot) -> list[float]:
    """Return equally likely noise levels, or one if there are many repeats or the noise follows from the mean."""
    if pilot.zero_one:
        return [math.sqrt(pilot.centre * (1 - pilot.centre))]
    if pilot.noise == 0 or pilot.freedom >= _MANY_REPEATS:
        return [pilot.noise]
    small = 2 / (9 * pilot.freedom)
    normal = NormalDist()
    roots = [1 - small + normal.inv_cdf((k + 0.5) / _NOISES) * math.sqrt(small) for k in range(_NOISES)]
    return [pilot.noise / max(root, 0.1) ** 1.5 for root in roots]  # Wilson and Hilferty: chi-squared is a cube


def _systematic(weights: Floats, count: int) -> np.ndarray:
    """Return `count` places, evenly through the weights: each as often as its weight says, but for rounding."""
    edges = np.cumsum(weights) / np.sum(weights)
    places = np.searchsorted(edges, (np.arange(count) + 0.5) / count)
    return np.minimum(places, len(weights) - 1)
