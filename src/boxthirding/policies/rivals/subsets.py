"""Arms in play, for rules that pull every arm first: all of them, or a random subset that doubles.

With more arms than pulls such a rule is `us` under another name; on a subset it is not. A subset has room for 2^level
arms. Numbers are exchangeable, so the first of them are a random subset, and a withdrawn arm makes room for another.
When n log₂n results are told, n becomes 2n: after 2, 8, 24, 64, … results, when Katz-Samuels and Jamieson (2020) open
their brackets. Unlike a bracket, and unlike the doubling trick of an unknown horizon (Besson, Kaufmann 2018, "What
doubling tricks can and can't do for multi-armed bandits"), nothing starts again: the arms that are there keep their
results.

What is recommended is the largest mean of the arms that were in play before the last doubling, as `dsh` recommends the
winner of the last run that is over: among the newcomers, the largest mean is the luck of a single pull.
"""

import math
from typing import Any, Final

import numpy as np

from boxthirding._checks import one_of
from boxthirding._compile import kernel
from boxthirding.policies.base_policy import BasePolicy
from boxthirding.policies.structures.sorting import in_order
from boxthirding.policies.structures.tournament import beats, play_all, player, replay
from boxthirding.rng import advance
from boxthirding.types import N_ARMS, NONE

SEEN: Final = 1  # numbers 0 … SEEN - 1 have been in play
LIVE: Final = 2  # of them, how many are not withdrawn
TOLD: Final = 3  # results, as the next doubling counts them
RATED: Final = 4  # numbers 0 … RATED - 1 may be recommended
LEVEL: Final = 5  # 2^LEVEL arms may be in play
FIRST_LEVEL: Final = 6
SUBSET_SCALARS: Final = 7

Subset = Any
"""A rule's own state, if it has these fields:

    scalars: Ints  # its first places as above
    ties: Ints  # [6]
    pulls: Ints  # [K] pulls told, or WITHDRAWN
    out: Ints  # [K] pulls asked for and not told
    total: Floats  # [K]
    mean: Floats  # [K] -∞ without a result
    rating: Floats  # [K] the mean of an arm that may be recommended, else -∞
    luck: Ints  # [K] drawn once for each arm: the larger one wins a tie
    best: Ints  # [K] the tournament of ratings
"""

WITHDRAWN: Final = -1
"""Instead of the pulls of an arm that is gone."""

ALL: Final = 48
"""The level of a subset that never doubles: there are never 2^48 arms, nor 48 · 2^48 results."""

FIRST_LEVELS: Final = {"all": ALL, "doubling": 1}
"""By what `subset=` says."""


@kernel
def clear(state: Subset) -> None:
    """Forget every arm."""
    for i in range(1, LEVEL):
        state.scalars[i] = 0
    state.scalars[LEVEL] = state.scalars[FIRST_LEVEL]
    state.mean[:] = -math.inf
    state.rating[:] = -math.inf
    state.best[:] = NONE


@kernel
def has_new(state: Subset) -> bool:
    """Tell whether one more arm may come into play."""
    scalars = state.scalars
    return scalars[SEEN] < scalars[N_ARMS] and scalars[LIVE] < 1 << scalars[LEVEL]


@kernel
def admit(state: Subset) -> int:
    """Let the next arm in."""
    arm = state.scalars[SEEN]
    state.scalars[SEEN] += 1
    state.scalars[LIVE] += 1
    if state.scalars[LEVEL] == ALL:
        state.scalars[RATED] = state.scalars[SEEN]
    state.pulls[arm] = 0
    state.out[arm] = 0
    state.total[arm] = 0.0
    state.luck[arm] = advance(state.ties)
    return arm


@kernel
def record(state: Subset, arm: int, times: int, total: float) -> None:
    """Take the results of a job; if they are enough, the subset doubles."""
    state.out[arm] -= times
    add(state, arm, times, total)
    state.scalars[TOLD] += times
    double(state)


@kernel
def double(state: Subset) -> None:
    """Double the subset as often as the results are enough for."""
    scalars = state.scalars
    level = scalars[LEVEL]
    while scalars[TOLD] >= level << level:
        level += 1
    if level > scalars[LEVEL]:
        scalars[LEVEL] = level
        for arm in range(scalars[RATED], scalars[SEEN]):
            rate(state, arm)
        scalars[RATED] = scalars[SEEN]


@kernel
def know(state: Subset, arm: int, times: int, total: float) -> None:
    """Add results that no job asked for, or take some out; the subset doubles with the next result of a job."""
    state.scalars[TOLD] += times
    add(state, arm, times, total)


@kernel
def add(state: Subset, arm: int, times: int, total: float) -> None:
    """Add results to an arm, or take some out."""
    state.pulls[arm] += times
    state.total[arm] += total
    if state.pulls[arm] <= 0:
        state.pulls[arm] = 0
        state.total[arm] = 0.0
    set_mean(state, arm, state.total[arm] / state.pulls[arm] if state.pulls[arm] > 0 else -math.inf)


@kernel
def withdraw(state: Subset, arm: int) -> None:
    """Take an arm that is not withdrawn yet out of play."""
    state.scalars[LIVE] -= 1
    state.pulls[arm] = WITHDRAWN
    set_mean(state, arm, -math.inf)


@kernel
def set_mean(state: Subset, arm: int, mean: float) -> None:
    """Let an arm compete with another mean."""
    state.mean[arm] = mean
    if arm < state.scalars[RATED]:
        rate(state, arm)


@kernel
def rate(state: Subset, arm: int) -> None:
    """Let an arm be recommended for its mean."""
    state.rating[arm] = state.mean[arm]
    replay(state.best, 0, len(state.rating), arm, state.rating, state.luck)


@kernel
def recommend(state: Subset) -> int:
    """Return the arm with the largest mean of those that may be recommended; where none of them has one, of all."""
    arm = player(state.best, 0, len(state.rating), 1)
    if arm != NONE and state.rating[arm] > -math.inf:
        return arm
    arm = NONE
    for other in range(state.scalars[RATED], state.scalars[SEEN]):
        if state.pulls[other] > 0 and (arm == NONE or beats(state.mean, state.luck, other, arm)):
            arm = other
    return arm


class SubsetPolicy(BasePolicy):
    """A policy with a field `subset`, which says which arms are in play."""

    subset: str

    def __post_init__(self) -> None:
        one_of("subset", self.subset, FIRST_LEVELS)

    def begun(self, state: Subset, n_arms: int, seed: int) -> Subset:
        """Return a state with its number of arms, its random stream and the level it starts at."""
        state.scalars[FIRST_LEVEL] = FIRST_LEVELS[self.subset]
        return super().begun(state, n_arms, seed)

    def grown(self, state: Subset, larger: Subset) -> Subset:
        """Copy a state into one with more room, where the tournament is another one."""
        super().grown(state, larger)
        play_all(larger.best, 0, len(larger.rating), larger.rating, larger.luck)
        return larger

    def ranking(self, state: Subset, k: int | None = None) -> list[int]:
        """Return the arms that may be recommended by mean, then the others."""
        arms = np.flatnonzero(state.pulls[: int(state.scalars[SEEN])] > 0)
        return in_order(arms, state.rating[arms], state.mean[arms], state.luck[arms], k=k)
