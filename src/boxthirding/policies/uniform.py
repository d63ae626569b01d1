"""Uniform sampling (US): every arm in turn, round after round; recommend the largest mean.

The simplest rule there is, and the right one when rewards have no noise.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._checks import whole
from boxthirding._compile import kernel
from boxthirding.policies.arrays import copied, zeros
from boxthirding.streams import TIES, advance, spawn
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

SEEN: Final = 1  # numbers 0 … SEEN - 1 have been asked for
LIVE: Final = 2  # of them, how many are not withdrawn
NEXT: Final = 3  # the number whose turn it is
BEST: Final = 4  # the largest mean, if it is known
STALE: Final = 5  # 1 when the best arm has got worse, so that all must be compared again
_SCALARS = 6

WITHDRAWN: Final = -1
"""Instead of the pulls of an arm that is gone."""


class State(NamedTuple):
    """K arms of room."""

    scalars: Ints
    ties: Ints  # [6]
    pulls: Ints  # [K]
    total: Floats  # [K]
    luck: Ints  # [K] drawn once for each arm: the larger one wins a tie


@kernel
def reset(state: State) -> None:
    """Forget every arm."""
    for i in range(1, _SCALARS):
        state.scalars[i] = 0
    state.scalars[BEST] = NONE


@kernel
def ask(state: State) -> tuple[int, int, int]:
    """Return one pull of the next arm that is still there."""
    scalars = state.scalars
    if scalars[LIVE] == 0 and scalars[SEEN] == scalars[N_ARMS]:
        return WAIT, NONE, 0
    while True:
        if scalars[NEXT] >= scalars[N_ARMS]:
            scalars[NEXT] = 0
        arm = scalars[NEXT]
        if arm == scalars[SEEN]:
            if arm == len(state.pulls):
                return GROW, NONE, 0
            state.pulls[arm] = 0
            state.total[arm] = 0.0
            state.luck[arm] = advance(state.ties)
            scalars[SEEN] += 1
            scalars[LIVE] += 1
        scalars[NEXT] += 1
        if state.pulls[arm] != WITHDRAWN:
            return arm, arm, 1


@kernel
def tell(state: State, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
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
def drop(state: State, arm: int) -> None:
    """Withdraw an arm: its turns are passed over."""
    if state.pulls[arm] == WITHDRAWN:
        return
    state.pulls[arm] = WITHDRAWN
    state.scalars[LIVE] -= 1
    if state.scalars[BEST] == arm:
        state.scalars[BEST] = NONE
        state.scalars[STALE] = 1


@kernel
def recommend(state: State) -> int:
    """Return the arm with the largest mean, one of them at random among equals."""
    scalars = state.scalars
    if scalars[STALE] == 1:
        scalars[STALE] = 0
        scalars[BEST] = NONE
        for arm in range(scalars[SEEN]):
            if state.pulls[arm] > 0 and (scalars[BEST] == NONE or beats(state, arm, scalars[BEST])):
                scalars[BEST] = arm
    return scalars[BEST]


@kernel
def beats(state: State, arm: int, other: int) -> bool:
    """Tell whether an arm's mean is larger than another's, luck deciding between equals."""
    mine = state.total[arm] / state.pulls[arm]
    theirs = state.total[other] / state.pulls[other]
    return mine > theirs or (mine == theirs and state.luck[arm] > state.luck[other])


@dataclass(frozen=True)
class Uniform:
    """Uniform sampling: anytime, nothing to tune, and no better with more pulls of the same arms than it must be."""

    name: ClassVar[str] = "us"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend)
    told: ClassVar[frozenset[str]] = frozenset()
    squares: ClassVar[bool] = False
    open_ended: ClassVar[bool] = True

    def new(self, n_arms: int, seed: int, capacity: int) -> State:
        """Return a state in which nothing has happened yet."""
        room = max(1, min(capacity, whole("the number of arms", n_arms, least=1)))
        state = zeros(State, room, scalars=_SCALARS)
        state.scalars[N_ARMS] = n_arms
        state.ties[:] = spawn(seed, 0, 1)[0, TIES]
        reset(state)
        return state

    def grow(self, state: State) -> State:
        """Return the same state with room for twice as many arms."""
        return copied(state, zeros(State, 2 * len(state.pulls), scalars=_SCALARS))

    def ranking(self, state: State) -> list[int]:
        """Return the arms by mean."""
        seen = int(state.scalars[SEEN])
        arms = np.flatnonzero(state.pulls[:seen] > 0)
        order = np.lexsort((-state.luck[arms], -state.total[arms] / state.pulls[arms]))
        return [int(arm) for arm in arms[order]]
