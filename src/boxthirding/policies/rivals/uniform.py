"""Uniform sampling (US): every arm in turn, round after round; recommend the largest mean.

The simplest rule there is, and the right one when rewards have no noise.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._compile import kernel
from boxthirding.policies.base_policy import BasePolicy, zeros
from boxthirding.policies.structures.sorting import in_order
from boxthirding.rng import advance
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

SEEN: Final = 1  # numbers 0 … SEEN - 1 have been asked for
LIVE: Final = 2  # of them, how many are not withdrawn
NEXT: Final = 3  # the number whose turn it is
BEST: Final = 4  # the largest mean, if it is known
STALE: Final = 5  # 1 when the best arm has got worse, so that all must be compared again
ROUND: Final = 6  # rounds that are over: an arm with more results than that has had its turn
KNOWN: Final = 7  # numbers 0 … KNOWN - 1 have a record
_SCALARS = 8

WITHDRAWN: Final = -1
"""Instead of the pulls of an arm that is gone."""


class UniformState(NamedTuple):
    """K arms of room."""

    scalars: Ints
    ties: Ints  # [6]
    pulls: Ints  # [K]
    total: Floats  # [K]
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
    scalars = state.scalars
    if scalars[LIVE] == 0 and scalars[SEEN] == scalars[N_ARMS]:
        return WAIT, NONE, 0
    while True:
        if scalars[NEXT] >= scalars[N_ARMS]:
            scalars[NEXT] = 0
            scalars[ROUND] += 1
        arm = scalars[NEXT]
        if arm == scalars[SEEN]:
            if arm == scalars[KNOWN]:
                if arm == len(state.pulls):
                    return GROW, NONE, 0
                begin_record(state)
            scalars[SEEN] += 1
            scalars[LIVE] += 1
            if scalars[SEEN] < scalars[KNOWN]:
                pass_over_withdrawn(state)
        scalars[NEXT] += 1
        if WITHDRAWN < state.pulls[arm] <= scalars[ROUND]:
            return arm, arm, 1


@kernel
def tell(state: UniformState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add a reward to its arm, and keep the best arm known where that is cheap."""
    scalars = state.scalars
    best = scalars[BEST]
    was = state.total[job] / state.pulls[job] if job == best else 0.0
    state.pulls[job] += times
    state.total[job] += total
    if job == best:
        scalars[STALE] |= 1 if state.total[job] / state.pulls[job] < was else 0
    elif best == NONE or beats(state, job, best):
        scalars[BEST] = job


@kernel
def drop(state: UniformState, arm: int) -> None:
    """Withdraw an arm: its turns are passed over."""
    if state.pulls[arm] == WITHDRAWN:
        return
    state.pulls[arm] = WITHDRAWN
    if arm < state.scalars[SEEN]:
        state.scalars[LIVE] -= 1
    else:
        pass_over_withdrawn(state)
    if state.scalars[BEST] == arm:
        state.scalars[BEST] = NONE
        state.scalars[STALE] = 1


@kernel
def recommend(state: UniformState) -> int:
    """Return the arm with the largest mean, one of them at random among equals."""
    scalars = state.scalars
    if scalars[STALE] == 1:
        scalars[STALE] = 0
        scalars[BEST] = NONE
        for arm in range(scalars[KNOWN]):
            if state.pulls[arm] > 0 and (scalars[BEST] == NONE or beats(state, arm, scalars[BEST])):
                scalars[BEST] = arm
    return scalars[BEST]


@kernel
def amend(state: UniformState, arm: int, times: int, total: float, squares: float) -> int:  # noqa: ARG001  # the contract's
    """Add sums to an arm's record; what it has beyond the rounds so far spares it turns."""
    scalars = state.scalars
    if arm == NONE:
        return 0
    while scalars[KNOWN] <= arm:
        if scalars[KNOWN] == len(state.pulls):
            return GROW
        begin_record(state)
    if state.pulls[arm] == WITHDRAWN:
        return 0
    state.pulls[arm] += times
    state.total[arm] += total
    if state.pulls[arm] <= 0:
        state.pulls[arm] = 0
        state.total[arm] = 0.0
    if arm == scalars[BEST]:
        scalars[BEST] = NONE
        scalars[STALE] = 1
    elif state.pulls[arm] > 0 and (scalars[BEST] == NONE or beats(state, arm, scalars[BEST])):
        scalars[BEST] = arm
    return 0


@kernel
def begin_record(state: UniformState) -> None:
    """Give the next number that has none an empty record."""
    arm = state.scalars[KNOWN]
    state.scalars[KNOWN] = arm + 1
    state.pulls[arm] = 0
    state.total[arm] = 0.0
    state.luck[arm] = advance(state.ties)


@kernel
def pass_over_withdrawn(state: UniformState) -> None:
    """Let the next arm to be met be one that is still there."""
    scalars = state.scalars
    while scalars[SEEN] < scalars[KNOWN] and state.pulls[scalars[SEEN]] == WITHDRAWN:
        scalars[SEEN] += 1


@kernel
def beats(state: UniformState, arm: int, other: int) -> bool:
    """Tell whether an arm's mean is larger than another's, luck deciding between equals."""
    mine = state.total[arm] / state.pulls[arm]
    theirs = state.total[other] / state.pulls[other]
    return mine > theirs or (mine == theirs and state.luck[arm] > state.luck[other])


@dataclass(frozen=True)
class Uniform(BasePolicy):
    """Uniform sampling: anytime, nothing to tune, and no better with more pulls of the same arms than it must be."""

    name: ClassVar[str] = "us"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend, amend)

    def empty(self, room: int) -> UniformState:
        """Return a state with room for a number of arms."""
        return zeros(UniformState, room, scalars=_SCALARS)

    def ranking(self, state: UniformState, k: int | None = None) -> list[int]:
        """Return the arms by mean."""
        known = int(state.scalars[KNOWN])
        arms = np.flatnonzero(state.pulls[:known] > 0)
        return in_order(arms, state.total[arms] / state.pulls[arms], state.luck[arms], k=k)
