"""Sequential Halving (SH): pull all arms alike, keep the better half, spend as much on it again; knows the budget.

Karnin, Koren, Somekh 2013, "Almost optimal exploration in multi-armed bandits", algorithm 3, and the two variants with
growing pulls a round that the Box Thirding paper compares with. When the budget is too small for all arms, a random
subset plays, as large as fits.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._checks import whole
from boxthirding._compile import kernel
from boxthirding.errors import InvalidInput
from boxthirding.policies.ranking import rank
from boxthirding.schedules import Schedule
from boxthirding.streams import TIES, below, spawn
from boxthirding.types import N_ARMS, NONE, WAIT, Floats, Ints, Rule

ROUND: Final = 1
SIZE: Final = 2  # arms that play in this round
NEXT: Final = 3  # the position of the next of them to ask for
ENDED: Final = 4  # of them, how many have all their pulls or are withdrawn
RANKED: Final = 5  # arms that the last complete round has ranked
BEST: Final = 6  # before a round is complete: the largest mean
TIED: Final = 7  # and how many arms share it
PLAYERS: Final = 8
_SCALARS = 9

WITHDRAWN: Final = -1
"""Instead of the pulls still due from an arm that is gone."""

MODES: Final = ("karnin", "paper", "fit")


class State(NamedTuple):
    """n arms that play, R rounds."""

    scalars: Ints
    ties: Ints  # [6]
    plan: Ints  # [R] pulls of each arm in each round
    standing: Ints  # [n] the arms of this round first, then the rest of the last complete round, each best first
    due: Ints  # [n] pulls of this round that an arm still waits for
    total: Floats  # [n] the sum of this round's rewards
    scratch: Ints  # [n] room for sorting


@kernel
def reset(state: State) -> None:
    """Put every arm into the first round."""
    scalars = state.scalars
    players = len(state.standing)
    for i in range(1, _SCALARS):
        scalars[i] = 0
    scalars[PLAYERS] = players
    scalars[BEST] = NONE
    for arm in range(players):
        state.standing[arm] = arm  # numbers are exchangeable: the first n are a random subset
        state.due[arm] = 0
    begin_round(state, players)


@kernel
def ask(state: State) -> tuple[int, int, int]:
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
def tell(state: State, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Collect the rewards of this round; the last one ends it."""
    state.total[job] += total
    state.due[job] -= times
    if state.due[job] == 0:
        if state.scalars[RANKED] == 0:
            consider(state, job)
        end_one(state)


@kernel
def drop(state: State, arm: int) -> None:
    """Withdraw an arm: it counts as told in the round it plays in."""
    if arm >= state.scalars[PLAYERS] or state.due[arm] == WITHDRAWN:
        return
    ended = state.due[arm] == 0
    best = state.scalars[BEST]
    state.due[arm] = WITHDRAWN
    if not ended:
        end_one(state)
    elif arm == best:
        state.scalars[BEST] = NONE
        for other in range(state.scalars[SIZE]):
            if state.due[other] == 0:
                consider(state, other)
    elif best != NONE and state.total[arm] == state.total[best]:
        state.scalars[TIED] -= 1


@kernel
def recommend(state: State) -> int:
    """Return the largest mean of the last complete round; before one, of the arms that have been pulled."""
    for position in range(state.scalars[RANKED]):
        arm = state.standing[position]
        if state.due[arm] != WITHDRAWN:
            return arm
    return state.scalars[BEST]


@kernel
def consider(state: State, arm: int) -> None:
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
def end_one(state: State) -> None:
    """Note that one more arm of the round is through; rank them and halve when it was the last."""
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
    rank(state.standing, 0, left, state.total, state.scratch, state.ties)
    scalars[RANKED] = left
    scalars[BEST] = NONE
    scalars[ROUND] += 1
    if scalars[ROUND] < len(state.plan):
        begin_round(state, (left + 1) // 2)


@kernel
def begin_round(state: State, size: int) -> None:
    """Let the first `size` arms of the standing play a round with fresh means."""
    scalars = state.scalars
    scalars[SIZE] = size
    scalars[NEXT] = 0
    scalars[ENDED] = 0
    for position in range(size):
        arm = state.standing[position]
        state.total[arm] = 0.0
        state.due[arm] = state.plan[scalars[ROUND]]


@dataclass(frozen=True)
class SequentialHalving:
    """Sequential Halving with a known budget.

    `mode` is "karnin" (the original: the same budget for each of ⌈log₂N⌉ rounds), "paper" (⌊log₂N⌋ + 1 rounds of
    t₀⌈r₀^l⌉ pulls, t₀ the largest integer that fits) or "fit" (⌈log₂N⌉ rounds of ⌈t r₀^l⌉ pulls, t the largest real
    that fits, the remainder to the last two). The last two take a growth or a schedule. The budget is too small for N
    when a round would have no pull, or, with a growth, when t₀ or t would be below 1.

    >>> SequentialHalving(budget=896, mode="paper", growth=1.7).plan(128)
    [1, 2, 3, 5, 9, 15, 25, 42]
    """

    budget: int
    mode: str = "karnin"
    growth: float | None = None
    schedule: str | tuple[float, ...] = "geometric"

    name: ClassVar[str] = "sh"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend)
    told: ClassVar[frozenset[str]] = frozenset({"budget"})
    squares: ClassVar[bool] = False
    open_ended: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole("budget", self.budget, least=1)
        if self.mode not in MODES:
            raise InvalidInput(f"mode is {self.mode!r}, but must be one of {', '.join(MODES)}")
        if self.mode == "karnin" and (self.growth is not None or self.schedule != "geometric"):
            raise InvalidInput(
                "mode karnin spends alike on every round: for a growth or a schedule say mode=paper or mode=fit"
            )
        self._schedule()

    def new(self, n_arms: int, seed: int, capacity: int) -> State:  # noqa: ARG002  # it knows what it needs
        """Return a state in which nothing has happened yet."""
        players = self.players(whole("the number of arms", n_arms, least=1))
        state = State(
            scalars=np.zeros(_SCALARS, np.int64),
            ties=spawn(seed, 0, 1)[0, TIES],
            plan=np.array(self.plan(players), np.int64),
            standing=np.zeros(players, np.int64),
            due=np.zeros(players, np.int64),
            total=np.zeros(players),
            scratch=np.zeros(players, np.int64),
        )
        state.scalars[N_ARMS] = n_arms
        reset(state)
        return state

    def grow(self, state: State) -> State:
        """Return the state itself: it has room for all that play."""
        return state

    def ranking(self, state: State) -> list[int]:
        """Return the arms of the last complete round in its order; before one, those pulled by mean."""
        ranked = int(state.scalars[RANKED])
        if ranked:
            return [int(arm) for arm in state.standing[:ranked] if state.due[arm] != WITHDRAWN]
        pulled = np.flatnonzero(state.due == 0)
        return [int(arm) for arm in pulled[np.argsort(-state.total[pulled], kind="stable")]]

    def players(self, n_arms: int) -> int:
        """Return how many of the arms can play within the budget."""
        few, many = 1, n_arms
        while few < many:
            half = (few + many + 1) // 2
            few, many = (half, many) if self._fits(half) else (few, half - 1)
        return few

    def plan(self, players: int) -> list[int]:
        """Return the pulls of each arm, round by round."""
        rounds = (players - 1).bit_length()  # ⌈log₂ players⌉
        if self.mode == "karnin":
            sizes = _sizes(players, max(1, rounds))
            return [self.budget // (size * len(sizes)) for size in sizes]
        if self.mode == "paper":
            sizes = _sizes(players, players.bit_length())  # ⌊log₂ players⌋ + 1
            pulls = [self._schedule().cost(level) for level in range(len(sizes))]
            times = max(1, self.budget // _spent(sizes, pulls))
            return [times * n for n in pulls]
        sizes = _sizes(players, max(1, rounds))
        pulls = self._fitted(sizes)
        pulls[-1] += (self.budget - _spent(sizes, pulls)) // sizes[-1]
        return pulls

    def _schedule(self) -> Schedule:
        return Schedule(self.schedule, self.growth)

    def _fits(self, players: int) -> bool:
        plan = self.plan(players)
        if self.mode == "karnin":
            return plan[0] > 0
        sizes = _sizes(players, len(plan))
        return _spent(sizes, [self._schedule().cost(level) for level in range(len(sizes))]) <= self.budget

    def _fitted(self, sizes: list[int]) -> list[int]:
        """Return ⌈t w_l⌉ pulls for the largest t that fits, by bisection.

        Just below that t the ceilings are the same, and rounding cannot tell apart levels that step up together there.
        """
        weights = [self._schedule().weight(level) for level in range(len(sizes))]
        low, high = 0.0, float(self.budget)
        while (t := (low + high) / 2) not in (low, high):
            low, high = (t, high) if _spent(sizes, _ceilings(t, weights)) <= self.budget else (low, t)
        return _ceilings(low * (1 - 1e-10), weights)


def _sizes(players: int, rounds: int) -> list[int]:
    """Return how many arms play in each round: each round keeps ⌈half⌉."""
    return [-(-players // 2**k) for k in range(rounds)]


def _ceilings(t: float, weights: list[float]) -> list[int]:
    return [max(1, math.ceil(t * weight)) for weight in weights]


def _spent(sizes: list[int], pulls: list[int]) -> int:
    return sum(size * n for size, n in zip(sizes, pulls, strict=True))
