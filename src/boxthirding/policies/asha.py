"""ASHA (Li et al. 2020, "A system for massively parallel hyperparameter tuning"): rungs with asynchronous promotion.

An arm that is in the top 1/η of its rung is evaluated at the next one, at the level's cost, with fresh pulls; η is 2.
When no rung has such an arm, a new one starts at rung 0; when none is left, the best arm not yet promoted of the lowest
rung goes on. Anytime; many workers were what it was made for.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from boxthirding._checks import whole
from boxthirding._compile import kernel
from boxthirding.policies.arrays import copied, zeros
from boxthirding.policies.treap import champion_among, first, insert, refresh_path, remove
from boxthirding.schedules import Schedule
from boxthirding.streams import TIES, advance, spawn
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

SEEN: Final = 1  # numbers 0 … SEEN - 1 have been asked for
TOP: Final = 2  # the highest rung with a result
STAYS: Final = 3  # stays at a rung so far
_SCALARS = 4

WITHDRAWN: Final = -2
"""Instead of the latest stay of an arm that is gone."""


class State(NamedTuple):
    """K arms, S stays and R rungs of room; a stay is one arm at one rung, and its number is the job's."""

    scalars: Ints
    ties: Ints  # [6]
    costs: Ints  # [R]
    latest: Ints  # [K] the arm's stay at its highest rung
    arm: Ints  # [S]
    rung: Ints  # [S]
    earlier: Ints  # [S] the same arm's stay one rung below, or NONE
    due: Ints  # [S] pulls it still waits for
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
def reset(state: State) -> None:
    """Empty every rung."""
    for i in range(1, _SCALARS):
        state.scalars[i] = 0
    state.root[:] = NONE


@kernel
def ask(state: State) -> tuple[int, int, int]:
    """Promote from the highest rung that can, else start a new arm, else promote from the lowest rung that can."""
    scalars = state.scalars
    unseen = scalars[N_ARMS] - scalars[SEEN]
    full = scalars[STAYS] == len(state.arm) or (unseen > 0 and scalars[SEEN] == len(state.latest))
    if full or scalars[TOP] + 2 >= len(state.costs):
        return GROW, NONE, 0
    for rung in range(scalars[TOP], -1, -1):
        stay = promotable(state, rung, members(state, rung) // 2)
        if stay != NONE:
            return promote(state, stay)
    if unseen > 0:
        arm = scalars[SEEN]
        scalars[SEEN] += 1
        return enter(state, arm, 0, NONE)
    for rung in range(scalars[TOP] + 1):
        stay = promotable(state, rung, members(state, rung))
        if stay != NONE:
            return promote(state, stay)
    return WAIT, NONE, 0


@kernel
def tell(state: State, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Collect the pulls of a stay; with the last one it joins the rung."""
    state.due[job] -= times
    state.total[job] += total
    if state.due[job] == 0:
        rung = state.rung[job]
        mean = state.total[job] / state.costs[rung]
        insert(state, rung, job, mean, mean)
        state.scalars[TOP] = max(state.scalars[TOP], rung)


@kernel
def drop(state: State, arm: int) -> None:
    """Withdraw an arm from every rung it has been at."""
    stay = state.latest[arm]
    state.latest[arm] = WITHDRAWN
    while stay >= 0:
        if state.due[stay] == 0:
            remove(state, state.rung[stay], stay)
        stay = state.earlier[stay]


@kernel
def recommend(state: State) -> int:
    """Return the best arm of the highest rung that has one."""
    for rung in range(state.scalars[TOP], -1, -1):
        stay = first(state, rung)
        if stay != NONE:
            return state.arm[stay]
    return NONE


@kernel
def members(state: State, rung: int) -> int:
    """Return how many arms have a result at a rung, promoted or not."""
    return 0 if state.root[rung] == NONE else state.weight[state.root[rung]]


@kernel
def promotable(state: State, rung: int, k: int) -> int:
    """Return the best stay of a rung's first k that has not been promoted, or NONE."""
    stay = champion_among(state, rung, k)
    return NONE if stay == NONE or state.upper[stay] == -math.inf else stay


@kernel
def promote(state: State, stay: int) -> tuple[int, int, int]:
    """Send an arm to the next rung; in flight, it counts as promoted."""
    state.upper[stay] = -math.inf
    refresh_path(state, stay)
    return enter(state, state.arm[stay], state.rung[stay] + 1, stay)


@kernel
def enter(state: State, arm: int, rung: int, earlier: int) -> tuple[int, int, int]:
    """Start a stay at a rung."""
    stay = state.scalars[STAYS]
    state.scalars[STAYS] += 1
    state.latest[arm] = stay
    state.arm[stay] = arm
    state.rung[stay] = rung
    state.earlier[stay] = earlier
    state.due[stay] = state.costs[rung]
    state.total[stay] = 0.0
    state.luck[stay] = advance(state.ties)
    return stay, arm, state.costs[rung]


@dataclass(frozen=True)
class Asha:
    """ASHA: anytime, halving at every rung, with the costs of Box Thirding's levels."""

    growth: float | None = None

    name: ClassVar[str] = "asha"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend)
    told: ClassVar[frozenset[str]] = frozenset()
    squares: ClassVar[bool] = False
    open_ended: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Schedule(growth=self.growth)

    def new(self, n_arms: int, seed: int, capacity: int) -> State:
        """Return a state in which nothing has happened yet."""
        room = max(1, min(capacity, whole("the number of arms", n_arms, least=1)))
        state = self._empty(room, 2 * room, rungs=24)
        state.scalars[N_ARMS] = n_arms
        state.ties[:] = spawn(seed, 0, 1)[0, TIES]
        return state

    def grow(self, state: State) -> State:
        """Return the same state with twice the room for arms and stays, and for rungs if these have run out."""
        rungs = len(state.costs) * (2 if state.scalars[TOP] + 2 >= len(state.costs) else 1)
        larger = self._empty(2 * len(state.latest), 2 * len(state.arm), rungs)
        return copied(state, larger, but=("costs",))

    def ranking(self, state: State) -> list[int]:
        """Return the arms by the highest rung they have a result at, then by mean there."""
        best: dict[int, tuple[int, float, int]] = {}
        for stay in range(int(state.scalars[STAYS])):
            arm = int(state.arm[stay])
            if state.due[stay] == 0 and state.latest[arm] != WITHDRAWN:
                best[arm] = (int(state.rung[stay]), float(state.lower[stay]), int(state.luck[stay]))
        return sorted(best, key=lambda arm: best[arm], reverse=True)

    def _empty(self, arms: int, stays: int, rungs: int) -> State:
        state = zeros(State, stays, scalars=_SCALARS, latest=arms, root=rungs, costs=rungs)
        state.costs[:] = Schedule(growth=self.growth).costs(rungs)
        reset(state)
        return state
