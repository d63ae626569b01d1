"""KL-UCB and lil'UCB as the caption contest runs them: a list of arms by an upper bound, renewed now and then.

So NEXT runs both (its app CardinalBandits; Jamieson and others 2015, "NEXT: a system for real-world development,
evaluation, and application of active learning"): arms without a result stand at the top, each query takes the next arm
of the list, and after each answer the list is rebuilt with probability 1/10. The two differ in the bound of an arm.

KL-UCB (NEXT's KLUCB; bounds of Kaufmann, Kalyanakrishnan 2013) is told the range: the bound is the largest q with
n · kl(mean, q) ≤ log(2 n² / δ), kl between two coins, rewards scaled to [0, 1].

lil'UCB (NEXT's LilUCB, after Jamieson and others 2014) is told the noise: the bound is
mean + √(2 σ² log(4 n² / δ) / n). That is what NEXT computes; the paper's own bound has an iterated logarithm, and three
constants to tune.

NEXT does not specify the recommendation: we return the largest mean, see subsets.py. A list that was used up is
rebuilt, while NEXT starts it again; an arm whose first pull is in flight is not asked for again.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from boxthirding._checks import fraction, is_finite, not_negative, whole
from boxthirding._compile import bound, kernel
from boxthirding.errors import InvalidInput
from boxthirding.policies.base_policy import zeros
from boxthirding.policies.rivals import subsets
from boxthirding.policies.rivals.subsets import SUBSET_SCALARS, Subset, admit, clear, has_new, know, record, withdraw
from boxthirding.policies.roster import SEEN, WITHDRAWN, Roster, amend, mean, short_of_arms
from boxthirding.policies.structures.tournament import Tournament, best, play_all, set_value
from boxthirding.policies.structures.tournament import clear as clear_tournament
from boxthirding.rng import below
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

MOVED: Final = SUBSET_SCALARS  # arms in `moved`
RENEW: Final = SUBSET_SCALARS + 1  # 1 when the list must be rebuilt
BATCH: Final = SUBSET_SCALARS + 2  # results from one list to the next, on average
_SCALARS = SUBSET_SCALARS + 3

DELTA: Final = 0  # of what the bound needs to know
LOW: Final = 1
WIDTH: Final = 2
SIGMA: Final = 1

_ACCURACY: Final = 1e-6  # of a bound, as in NEXT


class IndicesState(NamedTuple):
    """K arms of room."""

    scalars: Ints
    ties: Ints  # [6]
    told: Floats  # [3] what the bound needs to know
    arms: Roster
    subset: Subset
    listed: Tournament  # the bounds; +∞ before the first pull, -∞ for an arm that the list has passed or that is gone
    moved: Ints  # [K] the arms that were asked for, told or amended since the list was made
    has_moved: Ints  # [K] 1 for each of them


@kernel
def reset(state: IndicesState) -> None:
    """Forget every arm."""
    clear(state)
    state.scalars[MOVED] = 0
    state.scalars[RENEW] = 0
    clear_tournament(state.listed)
    state.has_moved[:] = 0


# The bound of an arm with a result: every rule gets a copy of `ask` with its own function bound to this name.
bound_of: Callable[[IndicesState, int], float]


@kernel
def ask(state: IndicesState) -> tuple[int, int, int]:
    """Return one pull of the next arm of the list, or of a new one; those without a pull come first.

    The list is rebuilt when it is old, or has been gone through. Where all arms in play are in flight and none has a
    result, a worker gets a new one rather than wait.
    """
    scalars, pulls, out, listed = state.scalars, state.arms.pulls, state.subset.out, state.listed
    if scalars[RENEW] == 1 or (not has_new(state) and best(listed) == NONE):
        for i in range(scalars[MOVED]):
            arm = state.moved[i]
            state.has_moved[arm] = 0
            if pulls[arm] > 0:
                list_as(state, arm, bound_of(state, arm))
            elif state.arms.place[arm] != WITHDRAWN:
                list_as(state, arm, -math.inf if out[arm] > 0 else math.inf)
        scalars[MOVED] = 0
        scalars[RENEW] = 0
    arm = best(listed)
    if (arm == NONE and scalars[SEEN] < scalars[N_ARMS]) or (has_new(state) and listed.value[arm] < math.inf):
        if short_of_arms(state):
            return GROW, NONE, 0
        arm = enter(state)
    if arm == NONE:
        return WAIT, NONE, 0
    out[arm] += 1
    note_move(state, arm)
    list_as(state, arm, -math.inf)
    return arm, arm, 1


@kernel
def tell(state: IndicesState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add a reward to its arm; its bound changes when the list is rebuilt, on average after BATCH results."""
    record(state, job, times, total)
    note_move(state, job)
    if below(state.ties, state.scalars[BATCH]) == 0:
        state.scalars[RENEW] = 1


@kernel
def drop(state: IndicesState, arm: int) -> None:
    """Withdraw an arm."""
    if state.arms.place[arm] != WITHDRAWN:
        withdraw(state, arm)
        list_as(state, arm, -math.inf)


@kernel
def change(state: IndicesState, arm: int, times: int, total: float, squares: float) -> None:
    """Add sums to an arm, and rebuild the list."""
    know(state, arm, times, total, squares)
    note_move(state, arm)
    state.scalars[RENEW] = 1


@kernel
def enter(state: IndicesState) -> int:
    """Add the next arm, at the top of the list."""
    arm = admit(state)
    list_as(state, arm, math.inf)
    return arm


@kernel
def note_move(state: IndicesState, arm: int) -> None:
    """Note that an arm needs another place in the next list."""
    if state.has_moved[arm] == 0:
        state.has_moved[arm] = 1
        state.moved[state.scalars[MOVED]] = arm
        state.scalars[MOVED] += 1


@kernel
def list_as(state: IndicesState, arm: int, value: float) -> None:
    """Update an arm's bound in the tournament."""
    set_value(state.listed, state.subset.luck, arm, value)


@kernel
def kl_bound(state: IndicesState, arm: int) -> float:
    """Return the bound of KL-UCB."""
    n = state.arms.pulls[arm]
    share = (mean(state.arms, arm) - state.told[LOW]) / state.told[WIDTH]  # NEXT: (mean - 1) / 2, for answers 1 to 3
    return upper(share, math.log(2.0 * n * n / state.told[DELTA]) / n)


@kernel
def upper(share: float, most: float) -> float:
    """Return the largest q with kl(share, q) ≤ most, by bisection; a share outside [0, 1] counts as the nearest end."""
    low = min(1.0, max(0.0, share))
    high = 1.0
    p = low
    while high - low > _ACCURACY:
        q = (low + high) / 2.0
        if divergence(p, q) < most:
            low = q
        else:
            high = q
    return (low + high) / 2.0


@kernel
def divergence(p: float, q: float) -> float:
    """Return kl(p, q) for q in (p, 1)."""
    less = (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return less + p * math.log(p / q) if p > 0.0 else less


@kernel
def lil_bound(state: IndicesState, arm: int) -> float:
    """Return the bound of lil'UCB."""
    return mean(state.arms, arm) + deviation(state.told[SIGMA], state.arms.pulls[arm], state.told[DELTA])


@kernel
def deviation(sigma: float, n: int, delta: float) -> float:
    """Return how far a mean of n pulls strays at most."""
    return sigma * math.sqrt(2.0 * math.log(4.0 * n * n / delta) / n)


amend_indices = bound(amend, begin_record=enter, change=change)


class IndicesPolicy(subsets.SubsetPolicy):
    """A policy that goes down a list: the two differ in their bounds, and in what these need to know."""

    delta: float
    batch: int

    def __post_init__(self) -> None:
        fraction("delta", self.delta)
        whole("batch", self.batch, least=1)
        super().__post_init__()

    def with_room(self, room: int, *told: float) -> IndicesState:
        """Return a state with room for a number of arms, told what its bound needs to know beside delta."""
        state = zeros(IndicesState, room, scalars=_SCALARS, told=3)
        state.scalars[BATCH] = self.batch
        state.told[: 1 + len(told)] = self.delta, *told
        return state

    def grown(self, state: IndicesState, larger: IndicesState) -> IndicesState:
        """Copy a state into a larger one, and rebuild both tournaments."""
        super().grown(state, larger)
        play_all(larger.listed, 0, len(larger.moved), larger.subset.luck)
        return larger


@dataclass(frozen=True)
class KLUCB(IndicesPolicy):
    """KL-UCB as the caption contest runs it: anytime, and told what rewards lie between.

    Parameters
    ----------
    low, high : float, default 0 and 1
        What rewards lie between; a mean outside counts as the nearest of the two.
    delta : float, default 0.05
        How often a bound may be wrong, in (0, 1); the contest's value.
    batch : int, default 10
        The list of bounds is rebuilt after each result with probability 1/batch, in the contest 1/10.
    subset : str, default "all"
        "all": every arm is pulled first. "doubling": a random subset of them that doubles.

    """

    low: float = 0.0
    high: float = 1.0
    delta: float = 0.05
    batch: int = 10
    subset: str = "all"

    name: ClassVar[str] = "klucb"
    rule: ClassVar[Rule] = Rule(reset, bound(ask, bound_of=kl_bound), tell, drop, subsets.recommend, amend_indices)

    def __post_init__(self) -> None:
        if not (is_finite(self.low) and is_finite(self.high) and self.low < self.high):
            raise InvalidInput(
                f"low is {self.low!r} and high {self.high!r}, but low must be a finite number below high"
            )
        super().__post_init__()

    def empty(self, room: int) -> IndicesState:
        """Return a state with room for a number of arms."""
        return self.with_room(room, self.low, self.high - self.low)


@dataclass(frozen=True)
class LilUCB(IndicesPolicy):
    """lil'UCB as the caption contest runs it: anytime, told the standard deviation of the noise.

    Parameters
    ----------
    sigma : float
        The noise of one pull; the contest sets 1 for answers 1, 2 and 3, half of the range.
    delta : float, default 0.05
        How often a bound may be wrong, in (0, 1); the contest's value.
    batch : int, default 10
        The list of bounds is rebuilt after each result with probability 1/batch, in the contest 1/10.
    subset : str, default "all"
        "all": every arm is pulled first. "doubling": a random subset of them that doubles.

    """

    sigma: float
    delta: float = 0.05
    batch: int = 10
    subset: str = "all"

    name: ClassVar[str] = "lilucb"
    rule: ClassVar[Rule] = Rule(reset, bound(ask, bound_of=lil_bound), tell, drop, subsets.recommend, amend_indices)
    told: ClassVar[frozenset[str]] = frozenset({"sigma"})

    def __post_init__(self) -> None:
        not_negative("sigma", self.sigma)
        super().__post_init__()

    def empty(self, room: int) -> IndicesState:
        """Return a state with room for a number of arms."""
        return self.with_room(room, self.sigma)
