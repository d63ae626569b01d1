"""ASHA (Li et al. 2020, "A system for massively parallel hyperparameter tuning"): rungs with asynchronous promotion.

An arm that is in the top 1/η of its rung is evaluated at the next one, at the level's cost, with fresh pulls; η is 2.
When no rung has such an arm, a new one starts at rung 0; when none is left, the best arm not yet promoted of the lowest
rung goes on. Anytime, and designed for many workers.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._compile import bound, kernel
from boxthirding.policies.base_policy import BasePolicy, zeros
from boxthirding.policies.roster import (
    KNOWN,
    ROSTER_SCALARS,
    SEEN,
    WITHDRAWN,
    Jobs,
    Roster,
    add,
    admit,
    amend,
    collect,
    new_record,
    open_job,
    short_of_arms,
    withdraw,
)
from boxthirding.policies.structures.sorting import in_order
from boxthirding.policies.structures.treap import Treap, champion_among, first, following, insert, refresh_path, remove
from boxthirding.rng import advance
from boxthirding.schedules import Schedule
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Ints, Rule

TOP: Final = ROSTER_SCALARS  # the highest rung with a result
STAYS: Final = ROSTER_SCALARS + 1  # stays at a rung so far
_SCALARS = ROSTER_SCALARS + 2

LOWEST: Final = -1.7976931348623157e308
"""The upper of a stay without a result that was not promoted, smaller than all others; -∞ is that of promoted ones."""


class Stays(NamedTuple):
    """S stays of room; a stay is one arm at one rung, and its number is the job's."""

    arm: Ints  # [S]
    rung: Ints  # [S]
    earlier: Ints  # [S] the same arm's stay one rung below, or NONE


class AshaState(NamedTuple):
    """K arms, S stays and R rungs of room."""

    scalars: Ints
    ties: Ints  # [6]
    costs: Ints  # [R]
    arms: Roster  # what was amended before the arm's first stay ended, and its stay at its highest rung, or NONE
    stays: Stays
    jobs: Jobs  # of stays; what is in remains as the stay's record
    rungs: Treap  # of stays, one tree for each rung, by mean; a stay's upper is its mean until it is promoted


@kernel
def reset(state: AshaState) -> None:
    """Empty every rung."""
    for i in range(1, _SCALARS):
        state.scalars[i] = 0
    state.rungs.root[:] = NONE


@kernel
def ask(state: AshaState) -> tuple[int, int, int]:
    """Promote from the highest rung that can, else start a new arm, else promote from the lowest rung that can."""
    scalars, stays = state.scalars, state.stays
    while True:
        unseen = scalars[N_ARMS] - scalars[SEEN]
        full = scalars[STAYS] == len(stays.arm) or short_of_arms(state)
        if full or scalars[TOP] + 2 >= len(state.costs):
            return GROW, NONE, 0
        for rung in range(scalars[TOP], -1, -1):
            stay = promotable(state.rungs, rung, members(state.rungs, rung) // 2)
            if stay != NONE:
                return promote(state, stay)
        if unseen == 0:
            break
        stay = start(state)
        due = state.jobs.due[stay]
        if due > 0:
            return stay, stays.arm[stay], due
        end(state, stay)  # all its pulls were known
    for rung in range(scalars[TOP] + 1):
        stay = promotable(state.rungs, rung, members(state.rungs, rung))
        if stay != NONE:
            return promote(state, stay)
    return WAIT, NONE, 0


@kernel
def tell(state: AshaState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Collect the pulls of a stay; with the last one it joins the rung."""
    if collect(state.jobs, job, times, total):
        end(state, job)


@kernel
def drop(state: AshaState, arm: int) -> None:
    """Withdraw an arm from every rung it has been at."""
    stays, stay = state.stays, state.arms.place[arm]
    while stay >= 0:
        if state.jobs.due[stay] == 0:
            remove(state.rungs, stays.rung[stay], stay)
        stay = stays.earlier[stay]
    if state.arms.place[arm] != WITHDRAWN:
        withdraw(state, arm)


@kernel
def recommend(state: AshaState) -> int:
    """Return the best arm of the highest rung that has one; an arm that has no result left higher up is passed over."""
    stays, rungs = state.stays, state.rungs
    for rung in range(state.scalars[TOP], -1, -1):
        stay = first(rungs, rung)
        while stay != NONE and rungs.lower[stay] > -math.inf:
            if latest_ended(state, stays.arm[stay]) == stay:
                return stays.arm[stay]
            stay = following(rungs, stay)
    return NONE


@kernel
def change(state: AshaState, arm: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add sums to the arm's latest stay that has ended; before there is one, they wait for the first."""
    arms, jobs, rungs = state.arms, state.jobs, state.rungs
    stay = latest_ended(state, arm)
    if stay == NONE:
        if arms.place[arm] == NONE:
            add(arms, arm, times, total)
        else:  # its first stay is unfinished: removed results belong to it, so these sums may be below 0
            arms.pulls[arm] += times
            arms.total[arm] += total
        return
    rung = state.stays.rung[stay]
    was_promoted = rungs.upper[stay] == -math.inf
    remove(rungs, rung, stay)
    jobs.pulls[stay] = max(0, jobs.pulls[stay] + times)
    jobs.total[stay] = jobs.total[stay] + total if jobs.pulls[stay] > 0 else 0.0
    join(state, stay)
    if was_promoted:
        rungs.upper[stay] = -math.inf
        refresh_path(rungs, stay)


@kernel
def begin_record(state: AshaState) -> None:
    """Create an empty record for the next arm without one."""
    new_record(state, NONE)


@kernel
def latest_ended(state: AshaState, arm: int) -> int:
    """Return the stay that an arm's mean comes from, or NONE."""
    stay = state.arms.place[arm]
    return state.stays.earlier[stay] if stay >= 0 and state.jobs.due[stay] > 0 else stay


@kernel
def start(state: AshaState) -> int:
    """Add the next arm at rung 0. Its known results count."""
    if state.scalars[SEEN] == state.scalars[KNOWN]:
        begin_record(state)
    arm = admit(state)
    stay = enter(state, arm, 0, NONE)
    state.jobs.due[stay] = max(0, state.jobs.due[stay] - state.arms.pulls[arm])
    return stay


@kernel
def end(state: AshaState, stay: int) -> None:
    """The last pull of a stay is in: it joins the rung."""
    arms, jobs, stays = state.arms, state.jobs, state.stays
    if stays.earlier[stay] == NONE:
        jobs.pulls[stay] += arms.pulls[stays.arm[stay]]
        jobs.total[stay] += arms.total[stays.arm[stay]]
    join(state, stay)
    state.scalars[TOP] = max(state.scalars[TOP], stays.rung[stay])


@kernel
def join(state: AshaState, stay: int) -> None:
    """Insert a stay into its rung."""
    jobs, rung = state.jobs, state.stays.rung[stay]
    if jobs.pulls[stay] > 0:
        mean = jobs.total[stay] / jobs.pulls[stay]
        insert(state.rungs, rung, stay, mean, mean)
    else:
        insert(state.rungs, rung, stay, -math.inf, LOWEST)


@kernel
def members(rungs: Treap, rung: int) -> int:
    """Return how many arms have a result at a rung, promoted or not."""
    return 0 if rungs.root[rung] == NONE else rungs.weight[rungs.root[rung]]


@kernel
def promotable(rungs: Treap, rung: int, k: int) -> int:
    """Return the best stay of a rung's first k that has not been promoted, or NONE."""
    stay = champion_among(rungs, rung, k)
    return NONE if stay == NONE or rungs.upper[stay] == -math.inf else stay


@kernel
def promote(state: AshaState, stay: int) -> tuple[int, int, int]:
    """Send an arm to the next rung; in flight, it counts as promoted."""
    stays = state.stays
    state.rungs.upper[stay] = -math.inf
    refresh_path(state.rungs, stay)
    higher = enter(state, stays.arm[stay], stays.rung[stay] + 1, stay)
    return higher, stays.arm[stay], state.jobs.due[higher]


@kernel
def enter(state: AshaState, arm: int, rung: int, earlier: int) -> int:
    """Start a stay at a rung; return it."""
    stays, stay = state.stays, state.scalars[STAYS]
    state.scalars[STAYS] += 1
    state.arms.place[arm] = stay
    stays.arm[stay] = arm
    stays.rung[stay] = rung
    stays.earlier[stay] = earlier
    open_job(state.jobs, stay, state.costs[rung])
    state.rungs.luck[stay] = advance(state.ties)
    return stay


@dataclass(frozen=True)
class Asha(BasePolicy):
    """ASHA: anytime, halving at every rung, with the costs of Box Thirding's levels."""

    growth: float | None = None

    name: ClassVar[str] = "asha"
    rule: ClassVar[Rule] = Rule(
        reset, ask, tell, drop, recommend, bound(amend, begin_record=begin_record, change=change)
    )

    def __post_init__(self) -> None:
        Schedule(growth=self.growth)

    @property
    def forgets(self) -> bool:
        """Whether each job starts a new record of its arm: it does at every rung."""
        return True

    def empty(self, room: int, rungs: int = 24) -> AshaState:
        """Return a state with room for a number of arms and rungs, and for twice as many stays as arms."""
        by_stay = dict.fromkeys(("stays", "jobs", "rungs"), 2 * room)
        state = zeros(AshaState, room, scalars=_SCALARS, root=rungs, costs=rungs, **by_stay)
        state.costs[:] = Schedule(growth=self.growth).costs(rungs)
        return state

    def grow(self, state: AshaState) -> AshaState:
        """Return the same state with twice the room for arms and stays, and for rungs if these have run out."""
        rungs = len(state.costs) * (2 if state.scalars[TOP] + 2 >= len(state.costs) else 1)
        return self.grown(state, self.empty(2 * len(state.arms.place), rungs))

    def record_pulls(self, state: AshaState, arm: int) -> int:
        """Return how many results the mean that an arm competes with covers."""
        stay = latest_ended(state, arm)
        return int(state.arms.pulls[arm] if stay == NONE else state.jobs.pulls[stay])

    def ranking(self, state: AshaState, k: int | None = None) -> list[int]:
        """Return the arms by the highest rung they have ended a stay at, then by mean there; last those with none."""
        stays, rungs = state.stays, state.rungs
        arms: dict[int, bool] = {}  # whether it has a result there, best first
        for rung in range(int(state.scalars[TOP]), -1, -1):
            stay = int(first(rungs, rung))
            while stay != NONE and (k is None or len(arms) < k):
                arms.setdefault(int(stays.arm[stay]), bool(rungs.lower[stay] > -math.inf))
                stay = int(following(rungs, stay))
        ranked = [arm for arm, has_result in arms.items() if has_result]
        if k is not None and len(arms) >= k:
            return ranked if len(ranked) >= k else self.ranking(state)
        pulls, total, place = state.arms
        known = np.flatnonzero(pulls[: int(state.scalars[KNOWN])] > 0)
        waiting = known[[int(arm) not in arms and place[arm] != WITHDRAWN for arm in known]]
        return ranked + in_order(waiting, total[waiting] / pulls[waiting])
