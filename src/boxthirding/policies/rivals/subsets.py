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

from typing import Any, Final, NamedTuple, Protocol

import numpy as np

from boxthirding._checks import one_of
from boxthirding._compile import kernel
from boxthirding.policies.base_policy import BasePolicy
from boxthirding.policies.roster import (
    LIVE,
    ROSTER_SCALARS,
    SEEN,
    WithArms,
    add,
    has_larger_mean,
    has_result,
    mean,
    new_record,
)
from boxthirding.policies.roster import admit as admit_record
from boxthirding.policies.roster import withdraw as withdraw_record
from boxthirding.policies.structures.sorting import in_order
from boxthirding.policies.structures.tournament import Tournament, best, play_all, set_value
from boxthirding.policies.structures.tournament import clear as clear_tournament
from boxthirding.rng import advance
from boxthirding.types import N_ARMS, NONE, Ints

TOLD: Final = ROSTER_SCALARS  # results, as the next doubling counts them
RATED: Final = ROSTER_SCALARS + 1  # numbers 0 … RATED - 1 may be recommended
LEVEL: Final = ROSTER_SCALARS + 2  # 2^LEVEL arms may be in play
FIRST_LEVEL: Final = ROSTER_SCALARS + 3
SUBSET_SCALARS: Final = ROSTER_SCALARS + 4


class Subset(NamedTuple):
    """K arms of room."""

    out: Ints  # [K] pulls asked for and not told
    luck: Ints  # [K] drawn once for each arm: the larger one wins a tie
    rated: Tournament  # the means of arms that may be recommended


class WithSubset(WithArms, Protocol):
    """A state with arms in play; the first places of its scalars are as above. An arm that is gone has no pulls."""

    @property
    def subset(self) -> Subset:
        """Arms in the current subset."""


ALL: Final = 48
"""The level of a subset that never doubles: there are never 2^48 arms, nor 48 · 2^48 results."""

FIRST_LEVELS: Final = {"all": ALL, "doubling": 1}
"""By what `subset=` says."""


@kernel
def clear(state: WithSubset) -> None:
    """Forget every arm."""
    for i in range(1, LEVEL):
        state.scalars[i] = 0
    state.scalars[LEVEL] = state.scalars[FIRST_LEVEL]
    clear_tournament(state.subset.rated)


@kernel
def has_new(state: WithSubset) -> bool:
    """Return whether the subset may take one more arm."""
    scalars = state.scalars
    return scalars[SEEN] < scalars[N_ARMS] and scalars[LIVE] < 1 << scalars[LEVEL]


@kernel
def admit(state: WithSubset) -> int:
    """Add the next arm."""
    arm = new_record(state, 0)
    admit_record(state)
    if state.scalars[LEVEL] == ALL:
        state.scalars[RATED] = state.scalars[SEEN]
    state.subset.out[arm] = 0
    state.subset.luck[arm] = advance(state.ties)
    return arm


@kernel
def record(state: WithSubset, arm: int, times: int, total: float) -> None:
    """Add the results of a job, and double the subset if they are enough."""
    state.subset.out[arm] -= times
    know(state, arm, times, total, 0.0)
    double(state)


@kernel
def double(state: WithSubset) -> None:
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
def know(state: WithSubset, arm: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # as `change`
    """Add results that no job asked for, or take some out; the subset doubles with the next result of a job."""
    state.scalars[TOLD] += times
    add(state.arms, arm, times, total)
    rate_again(state, arm)


@kernel
def withdraw(state: WithSubset, arm: int) -> None:
    """Withdraw an arm that is not withdrawn yet."""
    withdraw_record(state, arm)
    state.arms.pulls[arm] = 0
    rate_again(state, arm)


@kernel
def rate_again(state: WithSubset, arm: int) -> None:
    """Update the mean that an arm is recommended for, if it may be recommended."""
    if arm < state.scalars[RATED]:
        rate(state, arm)


@kernel
def rate(state: WithSubset, arm: int) -> None:
    """Enter an arm into the tournament of recommendations with its mean."""
    set_value(state.subset.rated, state.subset.luck, arm, mean(state.arms, arm))


@kernel
def recommend(state: WithSubset) -> int:
    """Return the arm with the largest mean among those that may be recommended, or among all if these have none."""
    arm = best(state.subset.rated)
    if arm == NONE:
        for other in range(state.scalars[RATED], state.scalars[SEEN]):
            if has_result(state.arms, other) and (
                arm == NONE or has_larger_mean(state.arms, state.subset.luck, other, arm)
            ):
                arm = other
    return arm


class SubsetPolicy(BasePolicy):
    """A policy with a field `subset`, which says which arms are in play."""

    subset: str

    def __post_init__(self) -> None:
        one_of("subset", self.subset, FIRST_LEVELS)

    def begun(self, state: Any, n_arms: int, seed: int) -> Any:
        """Return a state with its number of arms, its random stream and the level it starts at."""
        state.scalars[FIRST_LEVEL] = FIRST_LEVELS[self.subset]
        return super().begun(state, n_arms, seed)

    def grown(self, state: Any, larger: Any) -> Any:
        """Copy a state into a larger one, and rebuild the tournament."""
        super().grown(state, larger)
        rated, luck = larger.subset.rated, larger.subset.luck
        play_all(rated, 0, len(luck), luck)
        return larger

    def ranking(self, state: Any, k: int | None = None) -> list[int]:
        """Return the arms that may be recommended by mean, then the others."""
        pulls, luck = state.arms.pulls, state.subset.luck
        arms = np.flatnonzero(pulls[: int(state.scalars[SEEN])] > 0)
        return in_order(arms, state.subset.rated.value[arms], state.arms.total[arms] / pulls[arms], luck[arms], k=k)
