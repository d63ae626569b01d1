"""Uniform sampling (US): every arm in turn, round after round; recommend the largest mean.

The simplest rule there is, and the right one when rewards have no noise.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._compile import bound, kernel
from boxthirding.policies.base_policy import BasePolicy, zeros
from boxthirding.policies.roster import (
    KNOWN,
    LIVE,
    ROSTER_SCALARS,
    SEEN,
    WITHDRAWN,
    Roster,
    add,
    admit,
    amend,
    has_larger_mean,
    has_result,
    mean,
    new_record,
    short_of_arms,
    withdraw,
)
from boxthirding.policies.structures.sorting import in_order
from boxthirding.rng import advance
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Ints, Rule

NEXT: Final = ROSTER_SCALARS  # the number whose turn it is
BEST: Final = ROSTER_SCALARS + 1  # the largest mean, if it is known
STALE: Final = ROSTER_SCALARS + 2  # 1 when the best arm has got worse, so that all must be compared again
ROUND: Final = ROSTER_SCALARS + 3  # rounds that are over: an arm with more results than that has had its turn
_SCALARS = ROSTER_SCALARS + 4


class UniformState(NamedTuple):
    """K arms of room."""

    scalars: Ints
    ties: Ints  # [6]
    arms: Roster
    luck: Ints  # [K] drawn once for each arm: the larger one wins a tie


@kernel
def reset(state: UniformState) -> None:
    """Forget every arm."""
    for i in range(1, _SCALARS):
        state.scalars[i] = 0
    state.scalars[BEST] = NONE


@kernel
def ask(state: UniformState) -> tuple[int, int, int]:
    """Return one pull of the next arm that is still there and has not more results than the round gives it."""
    scalars, arms = state.scalars, state.arms
    if scalars[LIVE] == 0 and scalars[SEEN] == scalars[N_ARMS]:
        return WAIT, NONE, 0
    while True:
        if scalars[NEXT] >= scalars[N_ARMS]:
            scalars[NEXT] = 0
            scalars[ROUND] += 1
        arm = scalars[NEXT]
        if arm == scalars[SEEN]:
            if short_of_arms(state):
                return GROW, NONE, 0
            if arm == scalars[KNOWN]:
                begin_record(state)
            admit(state)
        scalars[NEXT] += 1
        if arms.place[arm] != WITHDRAWN and arms.pulls[arm] <= scalars[ROUND]:
            return arm, arm, 1


@kernel
def tell(state: UniformState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add a reward to its arm, and keep the best arm known where that is cheap."""
    arms, best = state.arms, state.scalars[BEST]
    was = mean(arms, job) if job == best else 0.0
    arms.pulls[job] += times
    arms.total[job] += total
    if job == best:
        state.scalars[STALE] |= 1 if mean(arms, job) < was else 0
    elif best == NONE or has_larger_mean(arms, state.luck, job, best):
        state.scalars[BEST] = job


@kernel
def drop(state: UniformState, arm: int) -> None:
    """Withdraw an arm: its turns are passed over."""
    if state.arms.place[arm] != WITHDRAWN:
        withdraw(state, arm)
        forget_if_best(state, arm)


@kernel
def recommend(state: UniformState) -> int:
    """Return the arm with the largest mean, one of them at random among equals."""
    scalars = state.scalars
    if scalars[STALE] == 1:
        scalars[STALE] = 0
        scalars[BEST] = NONE
        for arm in range(scalars[KNOWN]):
            consider(state, arm)
    return scalars[BEST]


@kernel
def change(state: UniformState, arm: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add sums to an arm's record; what it has beyond the rounds so far spares it turns."""
    add(state.arms, arm, times, total)
    forget_if_best(state, arm)
    consider(state, arm)


@kernel
def begin_record(state: UniformState) -> None:
    """Create an empty record for the next arm without one."""
    state.luck[new_record(state, 0)] = advance(state.ties)


@kernel
def consider(state: UniformState, arm: int) -> None:
    """Make an arm the best one if its mean is larger."""
    best = state.scalars[BEST]
    if has_result(state.arms, arm) and (best == NONE or has_larger_mean(state.arms, state.luck, arm, best)):
        state.scalars[BEST] = arm


@kernel
def forget_if_best(state: UniformState, arm: int) -> None:
    """Compare all arms again, if this one was the best."""
    if state.scalars[BEST] == arm:
        state.scalars[BEST] = NONE
        state.scalars[STALE] = 1


@dataclass(frozen=True)
class Uniform(BasePolicy):
    """Uniform sampling: anytime, nothing to tune, and no better with more pulls of the same arms than it must be."""

    name: ClassVar[str] = "us"
    rule: ClassVar[Rule] = Rule(
        reset, ask, tell, drop, recommend, bound(amend, begin_record=begin_record, change=change)
    )

    def empty(self, room: int) -> UniformState:
        """Return a state with room for a number of arms."""
        return zeros(UniformState, room, scalars=_SCALARS)

    def ranking(self, state: UniformState, k: int | None = None) -> list[int]:
        """Return the arms by mean."""
        known = int(state.scalars[KNOWN])
        pulls, place, total = state.arms.pulls[:known], state.arms.place[:known], state.arms.total
        arms = np.flatnonzero((pulls > 0) & (place != WITHDRAWN))
        return in_order(arms, total[arms] / pulls[arms], state.luck[arms], k=k)
