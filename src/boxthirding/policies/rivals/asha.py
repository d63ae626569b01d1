"""ASHA (Li et al. 2020, "A system for massively parallel hyperparameter tuning"): rungs with asynchronous promotion.

An arm that is in the top 1/η of its rung is evaluated at the next one, at the level's cost, with fresh pulls; η is 2.
When no rung has such an arm, a new one starts at rung 0; when none is left, the best arm not yet promoted of the lowest
rung goes on. Anytime; many workers were what it was made for.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._compile import kernel
from boxthirding.policies.base_policy import BasePolicy, zeros
from boxthirding.policies.structures.sorting import in_order
from boxthirding.policies.structures.treap import champion_among, first, following, insert, refresh_path, remove
from boxthirding.rng import advance
from boxthirding.schedules import Schedule
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

SEEN: Final = 1  # numbers 0 … SEEN - 1 have been asked for
TOP: Final = 2  # the highest rung with a result
STAYS: Final = 3  # stays at a rung so far
KNOWN: Final = 4  # numbers 0 … KNOWN - 1 have a record
_SCALARS = 5

LOWEST: Final = -1.7976931348623157e308
"""The upper of a stay without a result that was not promoted, smaller than all others; -∞ is that of promoted ones."""

WITHDRAWN: Final = -2
"""Instead of the latest stay of an arm that is gone."""


class AshaState(NamedTuple):
    """K arms, S stays and R rungs of room; a stay is one arm at one rung, and its number is the job's."""

    scalars: Ints
    ties: Ints  # [6]
    costs: Ints  # [R]
    latest: Ints  # [K] the arm's stay at its highest rung, NONE or WITHDRAWN
    known: Ints  # [K] results amended before the arm's first stay ended; they become part of it
    known_total: Floats  # [K] their sum
    arm: Ints  # [S]
    rung: Ints  # [S]
    earlier: Ints  # [S] the same arm's stay one rung below, or NONE
    due: Ints  # [S] pulls it still waits for
    pulls: Ints  # [S]
    total: Floats  # [S]
    root: Ints  # [R] a treap for each rung, by mean; a stay's upper is its mean until it is promoted
    left: Ints  # [S]
    right: Ints  # [S]
    parent: Ints  # [S]
    weight: Ints  # [S]
    champion: Ints  # [S]
    lower: Floats  # [S]
    upper: Floats  # [S]
    luck: Ints  # [S] the larger one wins a tie


@kernel
def reset(state: AshaState) -> None:
    """Empty every rung."""
    for i in range(1, _SCALARS):
        state.scalars[i] = 0
    state.root[:] = NONE


@kernel
def ask(state: AshaState) -> tuple[int, int, int]:
    """Promote from the highest rung that can, else start a new arm, else promote from the lowest rung that can."""
    scalars = state.scalars
    while True:
        unseen = scalars[N_ARMS] - scalars[SEEN]
        full = scalars[STAYS] == len(state.arm) or (unseen > 0 and scalars[SEEN] == len(state.latest))
        if full or scalars[TOP] + 2 >= len(state.costs):
            return GROW, NONE, 0
        for rung in range(scalars[TOP], -1, -1):
            stay = promotable(state, rung, members(state, rung) // 2)
            if stay != NONE:
                return promote(state, stay)
        if unseen == 0:
            break
        stay = start(state)
        if state.due[stay] > 0:
            return stay, state.arm[stay], state.due[stay]
        end(state, stay)  # all its pulls were known
    for rung in range(scalars[TOP] + 1):
        stay = promotable(state, rung, members(state, rung))
        if stay != NONE:
            return promote(state, stay)
    return WAIT, NONE, 0


@kernel
def tell(state: AshaState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Collect the pulls of a stay; with the last one it joins the rung."""
    state.due[job] -= times
    state.pulls[job] += times
    state.total[job] += total
    if state.due[job] == 0:
        end(state, job)


@kernel
def drop(state: AshaState, arm: int) -> None:
    """Withdraw an arm from every rung it has been at."""
    stay = state.latest[arm]
    state.latest[arm] = WITHDRAWN
    while stay >= 0:
        if state.due[stay] == 0:
            remove(state, state.rung[stay], stay)
        stay = state.earlier[stay]
    if arm >= state.scalars[SEEN]:
        pass_over_withdrawn(state)


@kernel
def recommend(state: AshaState) -> int:
    """Return the best arm of the highest rung that has one; an arm that has no result left higher up is passed over."""
    for rung in range(state.scalars[TOP], -1, -1):
        stay = first(state, rung)
        while stay != NONE and state.lower[stay] > -math.inf:
            if latest_ended(state, state.arm[stay]) == stay:
                return state.arm[stay]
            stay = following(state, stay)
    return NONE


@kernel
def amend(state: AshaState, arm: int, times: int, total: float, squares: float) -> int:  # noqa: ARG001  # the contract's
    """Add sums to the arm's latest stay that has ended; before there is one, they wait for the first."""
    if arm == NONE:
        return 0
    while state.scalars[KNOWN] <= arm:
        if state.scalars[KNOWN] == len(state.latest):
            return GROW
        begin_record(state)
    if state.latest[arm] == WITHDRAWN:
        return 0
    stay = latest_ended(state, arm)
    if stay == NONE:  # with its first stay under way, they may be below 0: what is taken out was told there
        state.known[arm] += times
        state.known_total[arm] += total
        if state.latest[arm] == NONE and state.known[arm] <= 0:
            state.known[arm] = 0
            state.known_total[arm] = 0.0
        return 0
    rung = state.rung[stay]
    was_promoted = state.upper[stay] == -math.inf
    remove(state, rung, stay)
    state.pulls[stay] = max(0, state.pulls[stay] + times)
    state.total[stay] = state.total[stay] + total if state.pulls[stay] > 0 else 0.0
    join(state, stay)
    if was_promoted:
        state.upper[stay] = -math.inf
        refresh_path(state, stay)
    return 0


@kernel
def begin_record(state: AshaState) -> None:
    """Give the next number that has none an empty record."""
    arm = state.scalars[KNOWN]
    state.scalars[KNOWN] = arm + 1
    state.latest[arm] = NONE
    state.known[arm] = 0
    state.known_total[arm] = 0.0


@kernel
def pass_over_withdrawn(state: AshaState) -> None:
    """Let the next arm to be met be one that is still there."""
    scalars = state.scalars
    while scalars[SEEN] < scalars[KNOWN] and state.latest[scalars[SEEN]] == WITHDRAWN:
        scalars[SEEN] += 1


@kernel
def latest_ended(state: AshaState, arm: int) -> int:
    """Return the stay that an arm's mean comes from, or NONE."""
    stay = state.latest[arm]
    return state.earlier[stay] if stay >= 0 and state.due[stay] > 0 else stay


@kernel
def start(state: AshaState) -> int:
    """Let the next arm in at rung 0; results that are known of it count."""
    scalars = state.scalars
    arm = scalars[SEEN]
    if arm == scalars[KNOWN]:
        begin_record(state)
    scalars[SEEN] += 1
    if scalars[SEEN] < scalars[KNOWN]:
        pass_over_withdrawn(state)
    stay = enter(state, arm, 0, NONE)
    state.due[stay] = max(0, state.due[stay] - state.known[arm])
    return stay


@kernel
def end(state: AshaState, stay: int) -> None:
    """The last pull of a stay is in: it joins the rung."""
    if state.earlier[stay] == NONE:
        state.pulls[stay] += state.known[state.arm[stay]]
        state.total[stay] += state.known_total[state.arm[stay]]
    join(state, stay)
    state.scalars[TOP] = max(state.scalars[TOP], state.rung[stay])


@kernel
def join(state: AshaState, stay: int) -> None:
    """Give a stay its place in its rung."""
    if state.pulls[stay] > 0:
        mean = state.total[stay] / state.pulls[stay]
        insert(state, state.rung[stay], stay, mean, mean)
    else:
        insert(state, state.rung[stay], stay, -math.inf, LOWEST)


@kernel
def members(state: AshaState, rung: int) -> int:
    """Return how many arms have a result at a rung, promoted or not."""
    return 0 if state.root[rung] == NONE else state.weight[state.root[rung]]


@kernel
def promotable(state: AshaState, rung: int, k: int) -> int:
    """Return the best stay of a rung's first k that has not been promoted, or NONE."""
    stay = champion_among(state, rung, k)
    return NONE if stay == NONE or state.upper[stay] == -math.inf else stay


@kernel
def promote(state: AshaState, stay: int) -> tuple[int, int, int]:
    """Send an arm to the next rung; in flight, it counts as promoted."""
    state.upper[stay] = -math.inf
    refresh_path(state, stay)
    higher = enter(state, state.arm[stay], state.rung[stay] + 1, stay)
    return higher, state.arm[stay], state.due[higher]


@kernel
def enter(state: AshaState, arm: int, rung: int, earlier: int) -> int:
    """Start a stay at a rung; return it."""
    stay = state.scalars[STAYS]
    state.scalars[STAYS] += 1
    state.latest[arm] = stay
    state.arm[stay] = arm
    state.rung[stay] = rung
    state.earlier[stay] = earlier
    state.due[stay] = state.costs[rung]
    state.pulls[stay] = 0
    state.total[stay] = 0.0
    state.luck[stay] = advance(state.ties)
    return stay


@dataclass(frozen=True)
class Asha(BasePolicy):
    """ASHA: anytime, halving at every rung, with the costs of Box Thirding's levels."""

    growth: float | None = None

    name: ClassVar[str] = "asha"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend, amend)

    def __post_init__(self) -> None:
        Schedule(growth=self.growth)

    @property
    def forgets(self) -> bool:
        """Whether each job starts a new record of its arm: it does at every rung."""
        return True

    def empty(self, room: int, rungs: int = 24) -> AshaState:
        """Return a state with room for a number of arms and rungs, and for twice as many stays as arms."""
        by_arm = dict.fromkeys(("latest", "known", "known_total"), room)
        state = zeros(AshaState, 2 * room, scalars=_SCALARS, root=rungs, costs=rungs, **by_arm)
        state.costs[:] = Schedule(growth=self.growth).costs(rungs)
        return state

    def grow(self, state: AshaState) -> AshaState:
        """Return the same state with twice the room for arms and stays, and for rungs if these have run out."""
        rungs = len(state.costs) * (2 if state.scalars[TOP] + 2 >= len(state.costs) else 1)
        return self.grown(state, self.empty(2 * len(state.latest), rungs))

    def record_pulls(self, state: AshaState, arm: int) -> int:
        """Return how many results the mean is of that an arm competes with."""
        stay = latest_ended(state, arm)
        return int(state.known[arm] if stay == NONE else state.pulls[stay])

    def ranking(self, state: AshaState, k: int | None = None) -> list[int]:
        """Return the arms by the highest rung they have ended a stay at, then by mean there; last those with none."""
        arms: dict[int, bool] = {}  # whether it has a result there, best first
        for rung in range(int(state.scalars[TOP]), -1, -1):
            stay = int(first(state, rung))
            while stay != NONE and (k is None or len(arms) < k):
                arms.setdefault(int(state.arm[stay]), bool(state.lower[stay] > -math.inf))
                stay = int(following(state, stay))
        ranked = [arm for arm, has_result in arms.items() if has_result]
        if k is not None and len(arms) >= k:
            return ranked if len(ranked) >= k else self.ranking(state)
        known = np.flatnonzero(state.known[: int(state.scalars[KNOWN])] > 0)
        waiting = known[[int(arm) not in arms and state.latest[arm] != WITHDRAWN for arm in known]]
        return ranked + in_order(waiting, state.known_total[waiting] / state.known[waiting])
