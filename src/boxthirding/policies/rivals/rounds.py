"""Rounds: all arms get the same number of pulls, and the better ones advance.

This is what Sequential Halving, its doubling and Successive Rejects share. A plan says how many pulls each arm gets in
each round. Its arms are numbers 0 … n - 1, a random subset of all.
"""

from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._compile import kernel
from boxthirding.policies.base_policy import BasePolicy, zeros
from boxthirding.policies.structures.sorting import in_order, rank
from boxthirding.rng import below
from boxthirding.types import N_ARMS, NONE, WAIT, Floats, Ints, Rule

ROUND: Final = 1
SIZE: Final = 2  # arms that play in this round
NEXT: Final = 3  # the position of the next of them to ask for
ENDED: Final = 4  # of them, how many have all their pulls or are withdrawn
RANKED: Final = 5  # arms that the last complete round has ranked
BEST: Final = 6  # before a round is complete: the largest mean
TIED: Final = 7  # and how many arms share it
PLAYERS: Final = 8
PACE: Final = 9  # how many arms advance after a round: HALF of those left, or as PLANNED
MEMORY: Final = 10  # what a mean is made of: this ROUND_ONLY, or ALL_ROUNDS
RUNS: Final = 11  # runs completed, for a rule that starts again with twice the budget; NONE for one that does not
KEPT: Final = 12  # the winner of the last of them, or NONE
_SCALARS = 13

HALF: Final = 0
PLANNED: Final = 1
ROUND_ONLY: Final = 0
ALL_ROUNDS: Final = 1

WITHDRAWN: Final = -1
"""Instead of the pulls still due from an arm that is gone."""


class RoundsState(NamedTuple):
    """n arms that play, R rounds."""

    scalars: Ints
    ties: Ints  # [6]
    plan: Ints  # [R] pulls of each arm in each round
    sizes: Ints  # [R] arms that play in each round, unless some are withdrawn
    standing: Ints  # [n] the arms of this round first, then the rest of the last complete round, each best first
    due: Ints  # [n] pulls of this round that an arm still waits for
    total: Floats  # [n] the sum of this round's rewards, or of all rounds'
    scratch: Ints  # [n] room for sorting


@kernel
def reset(state: RoundsState) -> None:
    """Start the first round with every arm."""
    scalars = state.scalars
    players = len(state.standing)
    for i in range(1, PACE):
        scalars[i] = 0
    scalars[PLAYERS] = players
    scalars[BEST] = NONE
    scalars[KEPT] = NONE
    if scalars[RUNS] > 0:
        plan_run(state, 0)
    for arm in range(players):
        state.standing[arm] = arm  # numbers are exchangeable: the first n are a random subset
        state.due[arm] = 0
        state.total[arm] = 0.0
    begin_round(state, players)


@kernel
def ask(state: RoundsState) -> tuple[int, int, int]:
    """Return the whole round of the next arm; when all of the round are out, wait for them."""
    scalars = state.scalars
    while scalars[ROUND] < len(state.plan) and scalars[NEXT] < scalars[SIZE]:
        arm = state.standing[scalars[NEXT]]
        scalars[NEXT] += 1
        if arm >= scalars[N_ARMS]:  # withdrawn before it was ever met
            drop(state, arm)
        elif state.due[arm] != WITHDRAWN:
            return arm, arm, state.due[arm]
    return WAIT, NONE, 0


@kernel
def tell(state: RoundsState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Collect the rewards of this round; the last one ends it."""
    state.total[job] += total
    state.due[job] -= times
    if state.due[job] == 0:
        if state.scalars[RANKED] == 0:
            consider(state, job)
        end_one(state)


@kernel
def drop(state: RoundsState, arm: int) -> None:
    """Withdraw an arm: it counts as told in the round it plays in."""
    if arm >= state.scalars[PLAYERS] or state.due[arm] == WITHDRAWN:
        return
    ended = state.due[arm] == 0
    best = state.scalars[BEST]
    state.due[arm] = WITHDRAWN
    if state.scalars[KEPT] == arm:
        state.scalars[KEPT] = NONE
    if not ended:
        end_one(state)
    elif arm == best:
        state.scalars[BEST] = NONE
        for position in range(state.scalars[SIZE]):
            if state.due[state.standing[position]] == 0:
                consider(state, state.standing[position])
    elif best != NONE and state.total[arm] == state.total[best]:
        state.scalars[TIED] -= 1


@kernel
def recommend(state: RoundsState) -> int:
    """Return the winner of the last complete run, else the largest mean of the last complete round.

    Before a round is complete it is the largest mean of the arms that have been pulled.
    """
    if state.scalars[KEPT] != NONE:
        return state.scalars[KEPT]
    for position in range(state.scalars[RANKED]):
        arm = state.standing[position]
        if state.due[arm] != WITHDRAWN:
            return arm
    return state.scalars[BEST]


@kernel
def consider(state: RoundsState, arm: int) -> None:
    """Keep the largest mean of the first round, one of the equals at random; all arms have the same pulls there."""
    scalars = state.scalars
    best = scalars[BEST]
    if best == NONE or state.total[arm] > state.total[best]:
        scalars[BEST] = arm
        scalars[TIED] = 1
    elif state.total[arm] == state.total[best]:
        scalars[TIED] += 1
        if below(state.ties, scalars[TIED]) == 0:
            scalars[BEST] = arm


@kernel
def end_one(state: RoundsState) -> None:
    """Record that one more arm has finished the round; after the last one, rank them and start the next round."""
    scalars = state.scalars
    scalars[ENDED] += 1
    if scalars[ENDED] < scalars[SIZE]:
        return
    left = 0
    for position in range(scalars[SIZE]):
        arm = state.standing[position]
        if state.due[arm] != WITHDRAWN:
            state.standing[left] = arm
            left += 1
    if left == 0:  # all of them withdrawn: what the round before said stands
        scalars[ROUND] = len(state.plan)
        if scalars[RUNS] != NONE:
            scalars[KEPT] = recommend(state)
            start_again(state)
        return
    rank(state.standing, 0, left, state.total, state.scratch, state.ties)
    scalars[RANKED] = left
    scalars[BEST] = NONE
    scalars[ROUND] += 1
    if scalars[ROUND] < len(state.plan):
        half = (left + 1) // 2
        begin_round(state, half if scalars[PACE] == HALF else min(left, state.sizes[scalars[ROUND]]))
    elif scalars[RUNS] != NONE:
        scalars[KEPT] = state.standing[0]
        start_again(state)


@kernel
def begin_round(state: RoundsState, size: int) -> None:
    """Start a round with the first `size` arms of the standing."""
    scalars = state.scalars
    scalars[SIZE] = size
    scalars[NEXT] = 0
    scalars[ENDED] = 0
    for position in range(size):
        arm = state.standing[position]
        if scalars[MEMORY] == ROUND_ONLY:
            state.total[arm] = 0.0
        state.due[arm] = state.plan[scalars[ROUND]]


@kernel
def start_again(state: RoundsState) -> None:
    """Double the budget and let everybody who is still there play from the start."""
    scalars = state.scalars
    scalars[ROUND] = 0
    scalars[RANKED] = 0
    plan_run(state, scalars[RUNS] + 1)
    size = 0
    for arm in range(scalars[PLAYERS]):
        if state.due[arm] != WITHDRAWN:
            state.standing[size] = arm
            size += 1
    begin_round(state, size)


@kernel
def plan_run(state: RoundsState, runs: int) -> None:
    """Spread a budget of 2^runs N⌈log₂N⌉ alike over the ⌈log₂N⌉ rounds."""
    state.scalars[RUNS] = runs
    for i in range(len(state.plan)):
        state.plan[i] = (state.sizes[0] << runs) // state.sizes[i]


class RoundsPolicy(BasePolicy):
    """A policy that makes a plan, which this rule carries out."""

    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend)
    open_ended: ClassVar[bool] = False

    def grow(self, state: RoundsState) -> RoundsState:
        """Return the state itself: it has room for all that play."""
        return state

    def ranking(self, state: RoundsState, k: int | None = None) -> list[int]:
        """Return the recommended arm, then the others by the last round they were ranked in, before one by mean."""
        best, ranked = int(recommend(state)), int(state.scalars[RANKED])
        if ranked:
            # Behind those of the last round stand those left out before; a withdrawn arm's place may name another.
            there = state.standing[state.due[state.standing] != WITHDRAWN]
            arms = list(dict.fromkeys(there.tolist() if k is None else there[: 2 * k].tolist()))
            if k is not None and len(arms) < min(k, len(there)):
                return self.ranking(state)
        else:
            pulled = np.flatnonzero(state.due == 0)
            arms = in_order(pulled, state.total[pulled], k=k)
        return arms if best == NONE else [best, *(arm for arm in arms if arm != best)]


def planned(plan: list[int], sizes: list[int], *, pace: int, memory: int, runs: int) -> RoundsState:
    """Return a state for a plan in which the first sizes[0] arms play."""
    state = zeros(RoundsState, sizes[0], scalars=_SCALARS, plan=len(plan), sizes=len(sizes))
    state.plan[:] = plan
    state.sizes[:] = sizes
    state.scalars[PACE] = pace
    state.scalars[MEMORY] = memory
    state.scalars[RUNS] = runs
    return state


def halved(players: int, rounds: int) -> list[int]:
    """Return how many arms play in each round when each round keeps ⌈half⌉."""
    return [-(-players // 2**k) for k in range(rounds)]


def spent(sizes: list[int], pulls: list[int]) -> int:
    """Return the pulls of a whole plan."""
    return sum(size * n for size, n in zip(sizes, pulls, strict=True))
