"""Bracketing UCB (BUCB; Katz-Samuels, Jamieson 2020): upper confidence bounds on random subsets; told the noise.

Each bracket first pulls each of its arms once, then the one with the largest `mean + U(n, δ)`, with statistics of its
own. The recommendation is the largest `mean - U(n, δ / (|A_r| r²))` over all brackets r.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._checks import is_number, not_negative
from boxthirding._compile import bound, kernel
from boxthirding.errors import InvalidInput
from boxthirding.policies.base_policy import zeros
from boxthirding.policies.rivals.brackets import (
    FIRST,
    MOST,
    OPENED,
    WITHDRAWN,
    BracketPolicy,
    arm_of,
    ask,
    bracket_of,
    forget,
    reset,
    room_for,
    vacate,
)
from boxthirding.policies.structures.sorting import in_order
from boxthirding.policies.structures.tournament import beats, play_all, player, replay
from boxthirding.rng import advance
from boxthirding.types import NONE, Floats, Ints, Rule

SIGMA: Final = 0
DELTA: Final = 1


class BUCBState(NamedTuple):
    """K arms and S slots of room."""

    scalars: Ints
    ties: Ints  # [6]
    told: Floats  # [2] σ and δ
    start: Ints  # [MOST + 1]
    alive: Ints  # [MOST]
    pool: Ints  # [K]
    number: Ints  # [K]
    known: Ints  # [K]
    entrant: Ints  # [S]
    tried: Ints  # [MOST] slots of each bracket that have been asked for at least once
    pulls: Ints  # [S] pulls told
    out: Ints  # [S] pulls asked for and not told
    total: Floats  # [S]
    upper: Floats  # [S] the index; -∞ before the first result
    lower: Floats  # [S]
    luck: Ints  # [S] the larger one wins a tie
    boldest: Ints  # [S] tournament trees of upper, one for each bracket
    safest: Ints  # [S] and of lower


@kernel
def tell(state: BUCBState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add a reward to its slot and play its games again."""
    if state.scalars[FIRST] == NONE:
        state.scalars[FIRST] = arm_of(state, job)
    state.out[job] -= times
    state.pulls[job] += times
    state.total[job] += total
    bracket = bracket_of(state, job)
    set_upper(state, bracket, job)
    size = state.start[bracket + 1] - state.start[bracket]
    doubt = state.told[DELTA] / (size * (bracket + 1) ** 2)
    width = deviation(state.told[SIGMA], state.pulls[job], doubt)
    state.lower[job] = state.total[job] / state.pulls[job] - width
    play_again(state, state.safest, bracket, job, state.lower)


@kernel
def drop(state: BUCBState, arm: int) -> None:
    """Withdraw an arm from every bracket."""
    retire(state, state.known[arm])


@kernel
def recommend(state: BUCBState) -> int:
    """Return the arm with the largest lower bound over all brackets; before there is one, the first arm pulled."""
    best = NONE
    for bracket in range(state.scalars[OPENED]):
        slot = player(state.safest, state.start[bracket], state.start[bracket + 1], 1)
        if state.lower[slot] > -math.inf and (best == NONE or beats(state.lower, state.luck, slot, best)):
            best = slot
    return state.scalars[FIRST] if best == NONE else arm_of(state, best)


@kernel
def retire(state: BUCBState, entrant: int) -> None:
    """Take an entrant out of every bracket."""
    forget(state, entrant)
    for bracket in range(state.scalars[OPENED]):
        slot = vacate(state, bracket, entrant)
        if slot != NONE:
            state.upper[slot] = -math.inf
            state.lower[slot] = -math.inf
            play_again(state, state.boldest, bracket, slot, state.upper)
            play_again(state, state.safest, bracket, slot, state.lower)


@kernel
def begin(state: BUCBState, bracket: int) -> None:
    """Set up the slots of a new bracket."""
    state.tried[bracket] = 0
    for slot in range(state.start[bracket], state.start[bracket + 1]):
        state.pulls[slot] = 0
        state.out[slot] = 0
        state.total[slot] = 0.0
        state.upper[slot] = -math.inf
        state.lower[slot] = -math.inf
        state.luck[slot] = advance(state.ties)
    first, stop = state.start[bracket], state.start[bracket + 1]
    play_all(state.boldest, first, stop, state.upper, state.luck)
    play_all(state.safest, first, stop, state.lower, state.luck)


@kernel
def next_slot(state: BUCBState, bracket: int) -> int:
    """Return the next slot not yet pulled, else the one with the largest upper bound, else NONE."""
    first, stop = state.start[bracket], state.start[bracket + 1]
    while first + state.tried[bracket] < stop:
        slot = first + state.tried[bracket]
        state.tried[bracket] += 1
        if state.entrant[slot] != WITHDRAWN:
            state.out[slot] += 1
            return slot
    slot = player(state.boldest, first, stop, 1)
    if state.upper[slot] == -math.inf:
        return NONE
    state.out[slot] += 1
    set_upper(state, bracket, slot)
    return slot


@kernel
def set_upper(state: BUCBState, bracket: int, slot: int) -> None:
    """Renew a slot's index: a pull in flight counts in n, not in the mean."""
    width = deviation(state.told[SIGMA], state.pulls[slot] + state.out[slot], state.told[DELTA])
    state.upper[slot] = state.total[slot] / state.pulls[slot] + width
    play_again(state, state.boldest, bracket, slot, state.upper)


@kernel
def play_again(state: BUCBState, winner: Ints, bracket: int, slot: int, values: Floats) -> None:
    """Renew a bracket's tournament after a slot's value has changed."""
    replay(winner, state.start[bracket], state.start[bracket + 1], slot, values, state.luck)


@kernel
def deviation(sigma: float, n: int, doubt: float) -> float:
    """Return U(n, d), the bound on how far a mean of n pulls strays."""
    log = math.log(1.0 / doubt)
    return sigma * math.sqrt(
        2.0 * (log + 3.0 * math.log(log) + 1.5 * math.log(max(1.0, math.log(math.e * n / 2.0)))) / n
    )


@dataclass(frozen=True)
class BracketingUCB(BracketPolicy):
    """Bracketing UCB: anytime, told the standard deviation of the noise, needs to know how many arms there are."""

    sigma: float
    delta: float = 0.1

    name: ClassVar[str] = "bucb"
    rule: ClassVar[Rule] = Rule(
        reset, bound(ask, begin=begin, next_slot=next_slot, retire=retire), tell, drop, recommend
    )
    told: ClassVar[frozenset[str]] = frozenset({"sigma"})

    def __post_init__(self) -> None:
        not_negative("sigma", self.sigma)
        if not (is_number(self.delta) and 0 < self.delta < 1 / math.e):
            raise InvalidInput(f"delta is {self.delta!r}, but must lie in (0, 1/e), below 0.3679")

    def empty(self, room: int) -> BUCBState:
        """Return a state with room for a number of arms."""
        state = zeros(BUCBState, 2 * room, told=2, tried=MOST, **room_for(room))
        state.told[:] = self.sigma, self.delta
        return state

    def ranking(self, state: BUCBState, k: int | None = None) -> list[int]:
        """Return the arms by their largest lower bound."""
        opened = int(state.scalars[OPENED])
        end = int(state.start[opened])
        told = np.flatnonzero((state.entrant[:end] != WITHDRAWN) & (state.pulls[:end] > 0))
        several = None if k is None else k * max(1, opened)  # an arm has a slot in each bracket at the most
        slots = in_order(told, state.lower[told], state.luck[told], k=several)
        return list(dict.fromkeys(state.number[state.entrant[slots]].tolist()))
