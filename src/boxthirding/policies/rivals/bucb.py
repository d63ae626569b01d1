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
from boxthirding.policies.rivals import brackets
from boxthirding.policies.rivals.brackets import FIRST, MOST, OPENED, Brackets, arm_of, bracket_of, retired
from boxthirding.policies.roster import WITHDRAWN
from boxthirding.policies.structures.sorting import in_order
from boxthirding.policies.structures.tournament import Tournament, beats, play_all, player, replay
from boxthirding.rng import advance
from boxthirding.types import NONE, Floats, Ints, Rule

SIGMA: Final = 0
DELTA: Final = 1


class BUCBState(NamedTuple):
    """K arms and S slots of room."""

    scalars: Ints
    ties: Ints  # [6]
    told: Floats  # [2] σ and δ
    brackets: Brackets
    tried: Ints  # [MOST] slots of each bracket that have been asked for at least once
    pulls: Ints  # [S] pulls told
    out: Ints  # [S] pulls asked for and not told
    total: Floats  # [S]
    luck: Ints  # [S] the larger one wins a tie
    boldest: Tournament  # a tree for each bracket, of the indices of its slots, -∞ before the first result
    safest: Tournament  # and of their lower bounds


@kernel
def tell(state: BUCBState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add a reward to its slot and play its games again."""
    if state.scalars[FIRST] == NONE:
        state.scalars[FIRST] = arm_of(state, job)
    state.out[job] -= times
    state.pulls[job] += times
    state.total[job] += total
    bracket = bracket_of(state.brackets, job)
    set_upper(state, bracket, job)
    size = state.brackets.start[bracket + 1] - state.brackets.start[bracket]
    doubt = state.told[DELTA] / (size * (bracket + 1) ** 2)
    width = deviation(state.told[SIGMA], state.pulls[job], doubt)
    play_again(state, state.safest, bracket, job, state.total[job] / state.pulls[job] - width)


@kernel
def drop(state: BUCBState, arm: int) -> None:
    """Withdraw an arm from every bracket."""
    retire(state, state.brackets.known[arm])


@kernel
def recommend(state: BUCBState) -> int:
    """Return the arm with the largest lower bound over all brackets; before there is one, the first arm pulled."""
    best, start, lower = NONE, state.brackets.start, state.safest.value
    for bracket in range(state.scalars[OPENED]):
        slot = player(state.safest.winner, start[bracket], start[bracket + 1], 1)
        if lower[slot] > -math.inf and (best == NONE or beats(lower, state.luck, slot, best)):
            best = slot
    return state.scalars[FIRST] if best == NONE else arm_of(state, best)


@kernel
def emptied(state: BUCBState, bracket: int, slot: int) -> None:
    """Make sure that a slot without an arm never wins."""
    play_again(state, state.boldest, bracket, slot, -math.inf)
    play_again(state, state.safest, bracket, slot, -math.inf)


retire = bound(retired, emptied=emptied)


@kernel
def begin(state: BUCBState, bracket: int) -> None:
    """Set up the slots of a new bracket."""
    state.tried[bracket] = 0
    first, stop = state.brackets.start[bracket], state.brackets.start[bracket + 1]
    for slot in range(first, stop):
        state.pulls[slot] = 0
        state.out[slot] = 0
        state.total[slot] = 0.0
        state.boldest.value[slot] = -math.inf
        state.safest.value[slot] = -math.inf
        state.luck[slot] = advance(state.ties)
    play_all(state.boldest, first, stop, state.luck)
    play_all(state.safest, first, stop, state.luck)


@kernel
def next_slot(state: BUCBState, bracket: int) -> int:
    """Return the next slot not yet pulled, else the one with the largest upper bound, else NONE."""
    first, stop = state.brackets.start[bracket], state.brackets.start[bracket + 1]
    while first + state.tried[bracket] < stop:
        slot = first + state.tried[bracket]
        state.tried[bracket] += 1
        if state.brackets.entrant[slot] != WITHDRAWN:
            state.out[slot] += 1
            return slot
    slot = player(state.boldest.winner, first, stop, 1)
    if state.boldest.value[slot] == -math.inf:
        return NONE
    state.out[slot] += 1
    set_upper(state, bracket, slot)
    return slot


@kernel
def set_upper(state: BUCBState, bracket: int, slot: int) -> None:
    """Renew a slot's index: a pull in flight counts in n, not in the mean."""
    width = deviation(state.told[SIGMA], state.pulls[slot] + state.out[slot], state.told[DELTA])
    play_again(state, state.boldest, bracket, slot, state.total[slot] / state.pulls[slot] + width)


@kernel
def play_again(state: BUCBState, tree: Tournament, bracket: int, slot: int, value: float) -> None:
    """Update the value of a slot in its bracket."""
    tree.value[slot] = value
    replay(tree, state.brackets.start[bracket], state.brackets.start[bracket + 1], slot, state.luck)


@kernel
def deviation(sigma: float, n: int, doubt: float) -> float:
    """Return U(n, d), the bound on how far a mean of n pulls strays."""
    log = math.log(1.0 / doubt)
    return sigma * math.sqrt(
        2.0 * (log + 3.0 * math.log(log) + 1.5 * math.log(max(1.0, math.log(math.e * n / 2.0)))) / n
    )


@dataclass(frozen=True)
class BracketingUCB(brackets.BracketPolicy):
    """Bracketing UCB: anytime, told the standard deviation of the noise, needs to know how many arms there are."""

    sigma: float
    delta: float = 0.1

    name: ClassVar[str] = "bucb"
    rule: ClassVar[Rule] = Rule(
        brackets.reset, bound(brackets.ask, begin=begin, next_slot=next_slot, retire=retire), tell, drop, recommend
    )
    told: ClassVar[frozenset[str]] = frozenset({"sigma"})

    def __post_init__(self) -> None:
        not_negative("sigma", self.sigma)
        if not (is_number(self.delta) and 0 < self.delta < 1 / math.e):
            raise InvalidInput(f"delta is {self.delta!r}, but must lie in (0, 1/e), below 0.3679")

    def empty(self, room: int) -> BUCBState:
        """Return a state with room for a number of arms."""
        state = brackets.with_room(BUCBState, room, told=2, tried=MOST)
        state.told[:] = self.sigma, self.delta
        return state

    def ranking(self, state: BUCBState, k: int | None = None) -> list[int]:
        """Return the arms by their largest lower bound."""
        opened = int(state.scalars[OPENED])
        end = int(state.brackets.start[opened])
        told = np.flatnonzero((state.brackets.entrant[:end] != WITHDRAWN) & (state.pulls[:end] > 0))
        several = None if k is None else k * max(1, opened)  # an arm has a slot in each bracket at the most
        slots = in_order(told, state.safest.value[told], state.luck[told], k=several)
        return list(dict.fromkeys(state.brackets.number[state.brackets.entrant[slots]].tolist()))
