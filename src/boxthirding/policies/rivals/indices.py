"""A list of arms by an upper bound, gone down from the top and renewed now and then: what klucb and lilucb share.

So NEXT runs both in the caption contest (its app CardinalBandits; Jamieson and others 2015, "NEXT: a system for
real-world development, evaluation, and application of active learning"): arms without a result stand at the top, each
query takes the next arm of the list, and after each answer the list is made anew with probability 1/10. A policy's own
`ask` gives the arms that have moved since then their bounds.

NEXT leaves open what is recommended: here it is the largest mean, see subsets.py. A list that has been gone through is
made anew, where NEXT begins it again; an arm whose first pull is in flight is not asked for again.
"""

import math
from typing import Final, NamedTuple

from boxthirding._compile import kernel
from boxthirding.policies.arrays import copied, zeros
from boxthirding.policies.rivals.subsets import (
    SEEN,
    SUBSET_SCALARS,
    WITHDRAWN,
    begin,
    clear,
    has_new,
    know,
    meet,
    room,
    take,
    withdraw,
)
from boxthirding.policies.structures.tournament import play_all, player, replay
from boxthirding.rng import below
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints

MOVED: Final = SUBSET_SCALARS  # arms in `moved`
RENEW: Final = SUBSET_SCALARS + 1  # 1 when the list is to be made anew
BATCH: Final = SUBSET_SCALARS + 2  # results from one list to the next, on average
_SCALARS = SUBSET_SCALARS + 3


class State(NamedTuple):
    """K arms of room."""

    scalars: Ints
    ties: Ints  # [6]
    told: Floats  # [3] what the bound needs to know
    pulls: Ints  # [K] pulls to best: what subsets.py keeps
    out: Ints  # [K]
    total: Floats  # [K]
    mean: Floats  # [K]
    rating: Floats  # [K]
    luck: Ints  # [K]
    best: Ints  # [K]
    listed: Floats  # [K] the bound; +∞ before the first pull, -∞ for an arm that the list has passed or that is gone
    boldest: Ints  # [K] the tournament of bounds
    moved: Ints  # [K] the arms that were asked for, told or amended since the list was made
    has_moved: Ints  # [K] 1 for each of them


@kernel
def reset(state: State) -> None:
    """Forget every arm."""
    clear(state)
    state.scalars[MOVED] = 0
    state.scalars[RENEW] = 0
    state.listed[:] = -math.inf
    state.boldest[:] = NONE
    state.has_moved[:] = 0


@kernel
def is_due(state: State) -> bool:
    """Tell whether the list is to be made anew: it is old, or has been gone through."""
    return state.scalars[RENEW] == 1 or (not has_new(state) and top(state) == NONE)


@kernel
def place(state: State, i: int, bound: float) -> None:
    """Put the i-th arm that has moved in its place; only one with a result has a bound."""
    arm = state.moved[i]
    state.has_moved[arm] = 0
    if state.pulls[arm] == 0:
        list_as(state, arm, -math.inf if state.out[arm] > 0 else math.inf)
    elif state.pulls[arm] > 0:
        list_as(state, arm, bound)


@kernel
def pull_next(state: State) -> tuple[int, int, int]:
    """Return one pull of the next arm of the list, or of a new one; those without a pull come first.

    Where all arms in play are in flight and none has a result, a worker gets a new one rather than wait.
    """
    scalars = state.scalars
    arm = top(state)
    if (arm == NONE and scalars[SEEN] < scalars[N_ARMS]) or (has_new(state) and state.listed[arm] < math.inf):
        if scalars[SEEN] == len(state.pulls):
            return GROW, NONE, 0
        arm = enter(state)
    if arm == NONE:
        return WAIT, NONE, 0
    state.out[arm] += 1
    note_move(state, arm)
    list_as(state, arm, -math.inf)
    return arm, arm, 1


@kernel
def tell(state: State, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add a reward to its arm; its bound changes when the list is made anew, on average after BATCH results."""
    take(state, job, times, total)
    note_move(state, job)
    if below(state.ties, state.scalars[BATCH]) == 0:
        state.scalars[RENEW] = 1


@kernel
def drop(state: State, arm: int) -> None:
    """Withdraw an arm."""
    if state.pulls[arm] != WITHDRAWN:
        withdraw(state, arm)
        list_as(state, arm, -math.inf)


@kernel
def amend(state: State, arm: int, times: int, total: float, squares: float) -> int:  # noqa: ARG001  # the contract's
    """Add sums to an arm, and make the list anew; one that was not met is met now, and so are those before it."""
    if arm == NONE:
        return 0
    while state.scalars[SEEN] <= arm:
        if state.scalars[SEEN] == len(state.pulls):
            return GROW
        enter(state)
    if state.pulls[arm] != WITHDRAWN:
        know(state, arm, times, total)
        note_move(state, arm)
        state.scalars[RENEW] = 1
    return 0


@kernel
def enter(state: State) -> int:
    """Let the next arm in, at the top of the list."""
    arm = meet(state)
    list_as(state, arm, math.inf)
    return arm


@kernel
def top(state: State) -> int:
    """Return the next arm of the list, or NONE."""
    arm = player(state.boldest, 0, len(state.listed), 1)
    return arm if arm != NONE and state.listed[arm] > -math.inf else NONE


@kernel
def note_move(state: State, arm: int) -> None:
    """Note that an arm needs another place in the next list."""
    if state.has_moved[arm] == 0:
        state.has_moved[arm] = 1
        state.moved[state.scalars[MOVED]] = arm
        state.scalars[MOVED] += 1


@kernel
def list_as(state: State, arm: int, value: float) -> None:
    """Let an arm play with another bound."""
    state.listed[arm] = value
    replay(state.boldest, 0, len(state.listed), arm, state.listed, state.luck)


def new_state(n_arms: int, seed: int, capacity: int, *, subset: str, batch: int, told: tuple[float, ...]) -> State:
    """Return a state in which nothing has happened yet."""
    state = _empty(room(n_arms, capacity))
    begin(state, n_arms, seed, subset)
    state.scalars[BATCH] = batch
    state.told[: len(told)] = told
    return state


def grow(state: State) -> State:
    """Return the same state with room for twice as many arms."""
    larger = copied(state, _empty(2 * len(state.pulls)), but=("best", "boldest"))
    play_all(larger.best, 0, len(larger.rating), larger.rating, larger.luck)
    play_all(larger.boldest, 0, len(larger.listed), larger.listed, larger.luck)
    return larger


def _empty(room: int) -> State:
    state = zeros(State, room, scalars=_SCALARS, told=3)
    reset(state)
    return state
