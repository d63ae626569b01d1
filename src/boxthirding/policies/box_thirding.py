"""Box Thirding (B3): arms meet in boxes of three; the best is lifted, the middle one waits, the worst is dropped.

The paper is "Box Thirding"; rules S1 to S16 are those of docs/rules.md, cited at the line that does them.
growth is r₀, effort is t₀, `costs[l]` is ⌈t₀ r₀^l⌉; box (l, j) is Box(l, j), j the deferment count;
`scalars[TOP]` is L, `scalars[BASE]` is l_B; the pile of level l is D_l, and unseen and waiting arms are W.
boxes.py has the boxes themselves; this file has the rules.

With one job open at a time this is the paper, job by job. With more, a box is a queue: its first three are taken
whenever it holds three, so that no worker waits for a box above to empty.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from boxthirding._checks import one_of
from boxthirding._compile import bound, kernel
from boxthirding.policies.base_policy import BasePolicy, zeros
from boxthirding.policies.boxes import (
    ARRANGED,
    BASE,
    FULL,
    NEW,
    NEW_SWEEP,
    NEXT,
    OPEN,
    PILE,
    READY,
    REUSE,
    SCALARS,
    SWEEP,
    TOP,
    WAITING,
    WIDTH,
    BoxesState,
    above,
    claim,
    enter,
    leave,
    note,
    refresh_ready,
    reset,
    short_of_levels,
)
from boxthirding.policies.lineage import BoxRecord
from boxthirding.policies.roster import (
    KNOWN,
    LIVE,
    SEEN,
    WITHDRAWN,
    Roster,
    add,
    add_known,
    admit,
    amend,
    collect,
    has_result,
    mean,
    new_record,
    open_job,
    short_of_arms,
    withdraw,
)
from boxthirding.policies.structures.sorting import in_order
from boxthirding.rng import below, shuffle
from boxthirding.schedules import Schedule
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Ints, Rule

FRESH: Final = 0
POOL: Final = 1
TOPUP: Final = 2
REUSES: Final = {"none": FRESH, "pool": POOL, "topup": TOPUP}


@kernel
def ask(state: BoxesState) -> tuple[int, int, int]:
    """Continue the sweep, else introduce an arm, else raise the base: the first of these that needs pulls."""
    scalars = state.scalars
    while True:
        if short_of_levels(state) or short_of_arms(state):  # asked first: after growing, ask starts again here
            return GROW, NONE, 0
        box = next_ready(state)
        if box != NONE:
            scalars[SWEEP] = box if scalars[OPEN] == 0 else NEW_SWEEP
            scalars[ARRANGED] += 1
            arm = arrange(state, box)
        else:
            arranged = scalars[ARRANGED]
            scalars[SWEEP] = NEW_SWEEP
            scalars[ARRANGED] = 0
            if scalars[SEEN] < scalars[N_ARMS] or scalars[WAITING] > 0:
                if scalars[OPEN] == 0 and state.boxes.free[scalars[BASE] * WIDTH] >= FULL:
                    continue  # S7: the next sweep comes first
                arm = introduce(state)
            elif scalars[LIVE] == 0 or state.lifts.lifting[scalars[BASE]] > 0:
                return WAIT, NONE, 0
            else:
                if arranged == 0 or scalars[OPEN] > 0:  # S9
                    raise_base(state)
                continue
        due = state.jobs.due[arm]
        if due > 0:
            return arm, arm, due
        commit(state, arm)  # S15


@kernel
def tell(state: BoxesState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Collect the pulls of a LIFT apart from the arm's mean until the last one is in (S8)."""
    if collect(state.jobs, job, times, total):
        commit(state, job)


@kernel
def drop(state: BoxesState, arm: int) -> None:
    """Withdraw an arm from wherever it stands (S16)."""
    if state.arms.place[arm] == WITHDRAWN:
        return
    lifts, lifter = state.lifts, state.lifts.lifter[arm]
    if state.queued[arm] == 1:
        state.queued[arm] = 0
        state.scalars[WAITING] -= 1
    if lifter == arm:
        close(state, arm)
        settle_others(state, arm)
    elif lifter != NONE:
        if lifts.middle[lifter] == arm:
            lifts.middle[lifter] = NONE
        else:
            lifts.worst[lifter] = NONE
    if state.arms.place[arm] >= 0:
        leave(state, arm)
    lifts.lifter[arm] = NONE
    withdraw(state, arm)


@kernel
def recommend(state: BoxesState) -> int:
    """Return the largest mean in Box(L, 0), the earliest entry among equals (S12).

    If the results of all arms there were taken out, the next Box(·, 0) below has the answer.
    """
    for level in range(state.scalars[TOP], -1, -1):
        best = best_in(state, level * WIDTH)
        if best != NONE:
            return best
    # No Box(·, 0) holds an arm with a result: nothing has committed yet, or it was withdrawn. Most pulls, then mean.
    best = NONE
    for arm in range(state.scalars[KNOWN]):
        if has_result(state.arms, arm) and (best == NONE or above(state.arms, arm, best)):
            best = arm
    return best


@kernel
def begin_record(state: BoxesState) -> None:
    """Create an empty record for the next arm without one."""
    arm = new_record(state, NEW)
    state.lifts.lifter[arm] = NONE
    state.jobs.due[arm] = 0
    state.queued[arm] = 0


@kernel
def change(state: BoxesState, arm: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add sums to the mean that an arm competes with; where it stands, and what its LIFT waits for, stays as it is."""
    add_known(state.arms, state.jobs, arm, times, total)


@kernel
def best_in(state: BoxesState, box: int) -> int:
    """Return the arm of a box with the largest mean, or NONE if none has a result."""
    best = NONE
    largest = -math.inf
    arm = state.boxes.first[box]
    while arm != NONE:
        its = mean(state.arms, arm)
        if its > largest:
            best, largest = arm, its
        arm = state.boxes.after[arm]
    return best


@kernel
def next_ready(state: BoxesState) -> int:
    """Return the next box to arrange, or NONE when the sweep is over.

    With no job open, the sweep goes down from where it was and passes by a box whose neighbours are full (S5). With
    jobs open there is no sweep: the highest box that holds three is next.
    """
    scalars, free = state.scalars, state.boxes.free
    if scalars[READY] == 0:
        return NONE
    alone = scalars[OPEN] == 0
    limit = (scalars[TOP] + 1) * WIDTH
    if alone:
        limit = min(limit, scalars[SWEEP])
    for level in range((limit - 1) // WIDTH, scalars[BASE] - 1, -1):
        bits = state.boxes.ready[level]
        if level == limit // WIDTH:
            bits &= (1 << (limit % WIDTH)) - 1
        while bits != 0:
            j = 0
            while bits >> (j + 1) != 0:
                j += 1
            box = level * WIDTH + j
            if not alone or (free[box + WIDTH - j] < FULL and free[box + 1] < FULL):
                return box
            bits ^= 1 << j
    return NONE


@kernel
def arrange(state: BoxesState, box: int) -> int:
    """ARRANGE (S6): take the first three of a box and start the LIFT of their best."""
    boxes, arms, lifts = state.boxes, state.arms, state.lifts
    best = claim(boxes, box)
    middle = claim(boxes, box)
    worst = claim(boxes, box)
    boxes.free[box] -= FULL
    refresh_ready(state, box)
    one, two, three = mean(arms, best), mean(arms, middle), mean(arms, worst)
    if one == two or two == three or one == three:  # S13: shuffled, so that the sort below breaks ties at random
        third = below(state.ties, 3)
        if third == 0:
            best, worst = worst, best
        elif third == 1:
            middle, worst = worst, middle
        if below(state.ties, 2) == 0:
            best, middle = middle, best
    if mean(arms, middle) > mean(arms, best):
        best, middle = middle, best
    if mean(arms, worst) > mean(arms, middle):
        middle, worst = worst, middle
        if mean(arms, middle) > mean(arms, best):
            best, middle = middle, best
    level = box // WIDTH
    open_lift(state, best, level + 1, level)
    lifts.middle[best] = middle
    lifts.worst[best] = worst
    lifts.lifter[middle] = best
    lifts.lifter[worst] = best
    note(state, box, best, middle, worst)
    return best


@kernel
def introduce(state: BoxesState) -> int:
    """Start the LIFT of the next arm of W to the base level (S7).

    W is the waiting arms in their order, and the unseen ones at random places among them (S16).
    """
    scalars = state.scalars
    unseen = scalars[N_ARMS] - scalars[SEEN]
    if unseen > 0 and (scalars[WAITING] == 0 or below(state.ties, unseen + scalars[WAITING]) < unseen):
        if scalars[SEEN] == scalars[KNOWN]:
            begin_record(state)
        arm = admit(state)
    else:
        while state.queued[state.waiting[scalars[NEXT]]] == 0:
            scalars[NEXT] += 1
        arm = state.waiting[scalars[NEXT]]
        scalars[NEXT] += 1
        scalars[WAITING] -= 1
        state.queued[arm] = 0
    open_lift(state, arm, scalars[BASE], scalars[BASE])
    state.lifts.middle[arm] = NONE
    state.lifts.worst[arm] = NONE
    note(state, scalars[BASE] * WIDTH, arm, NONE, NONE)
    return arm


@kernel
def raise_base(state: BoxesState) -> None:
    """Base update (S9): what is left at the base level, and what was discarded there, waits to be introduced again."""
    scalars, boxes = state.scalars, state.boxes
    base = scalars[BASE] * WIDTH
    scalars[NEXT] = 0
    end = 0
    for j in range(PILE):  # R stays in its frozen boxes until its own LIFT commits
        arm = boxes.first[base + j]
        while arm != NONE:
            state.waiting[end] = arm
            end += 1
            arm = boxes.after[arm]
    shuffle(state.ties, state.waiting, 0, end)
    sort_by_mean(state.arms, state.waiting, end)
    remaining = end
    while boxes.first[base + PILE] != NONE:
        arm = boxes.first[base + PILE]
        leave(state, arm)
        state.waiting[end] = arm
        end += 1
    shuffle(state.ties, state.waiting, remaining, end)
    for i in range(end):
        state.queued[state.waiting[i]] = 1
    scalars[WAITING] = end
    scalars[BASE] += 1


@kernel
def sort_by_mean(arms: Roster, waiting: Ints, stop: int) -> None:
    """Sort waiting[:stop], best mean first; stable, and short: two arms a box at the most, but for open jobs."""
    for i in range(1, stop):
        arm = waiting[i]
        k = i
        while k > 0 and mean(arms, arm) > mean(arms, waiting[k - 1]):
            waiting[k] = waiting[k - 1]
            k -= 1
        waiting[k] = arm


@kernel
def open_lift(state: BoxesState, arm: int, target: int, lowest: int) -> None:
    """LIFT: note how many pulls the level of arrival costs (S2), less those that the arm has when they count.

    They count when it is topped up; results that were known of an arm before it was introduced always do.
    """
    cost, lifts = state.costs[target], state.lifts
    if state.scalars[REUSE] == TOPUP or state.arms.place[arm] == NEW:
        cost = max(0, cost - state.arms.pulls[arm])
    lifts.lifter[arm] = arm
    lifts.target[arm] = target
    open_job(state.jobs, arm, cost)
    state.scalars[OPEN] += 1
    lifts.lifting[lowest] += 1


@kernel
def close(state: BoxesState, arm: int) -> None:
    """End the job of a LIFT."""
    lifts, target = state.lifts, state.lifts.target[arm]
    state.scalars[OPEN] -= 1
    # The base cannot rise while a job touches it, so an arm on its way to the base is one that was introduced.
    lifts.lifting[target if target == state.scalars[BASE] else target - 1] -= 1
    state.jobs.due[arm] = 0


@kernel
def commit(state: BoxesState, arm: int) -> None:
    """The last pull of a LIFT is in: the three change places, the mean is renewed (S3, S8)."""
    close(state, arm)
    settle_others(state, arm)
    arms, lifts = state.arms, state.lifts
    was_new = arms.place[arm] == NEW
    if arms.place[arm] >= 0:
        leave(state, arm)
    lifts.lifter[arm] = NONE
    if state.scalars[REUSE] == FRESH and not was_new:
        arms.pulls[arm] = 0
        arms.total[arm] = 0.0
    add(arms, arm, state.jobs.pulls[arm], state.jobs.total[arm])
    enter(state, arm, lifts.target[arm] * WIDTH)


@kernel
def settle_others(state: BoxesState, arm: int) -> None:
    """SHIFT the middle arm of an ARRANGE and DISCARD the worst, as far as they are still there."""
    lifts, place = state.lifts, state.arms.place
    middle = lifts.middle[arm]
    worst = lifts.worst[arm]
    if middle != NONE:
        box = place[middle]
        leave(state, middle)
        lifts.lifter[middle] = NONE
        enter(state, middle, box + 1)
    if worst != NONE:
        level = place[worst] // WIDTH
        leave(state, worst)
        lifts.lifter[worst] = NONE
        enter(state, worst, level * WIDTH + PILE)


@dataclass(frozen=True)
class BoxThirding(BasePolicy):
    """Box Thirding: anytime, told neither the budget nor the noise, nothing to tune.

    `reuse` is what an arm's mean is made of after a LIFT: its new pulls only ("none", the paper), all its pulls
    ("pool"), or all its pulls with the LIFT only topping them up to the level's cost ("topup").

    >>> policy = BoxThirding()
    >>> state = policy.new(n_arms=1_000_000, seed=0, capacity=8)
    >>> job, arm, times = policy.rule.ask(state)
    >>> int(arm), int(times)
    (0, 1)
    """

    growth: float | None = None
    effort: float = 1.0
    schedule: str | tuple[float, ...] = "geometric"
    reuse: str = "none"

    name: ClassVar[str] = "b3"
    rule: ClassVar[Rule] = Rule(
        reset, ask, tell, drop, recommend, bound(amend, begin_record=begin_record, change=change)
    )

    def __post_init__(self) -> None:
        self.costs()
        one_of("reuse", self.reuse, REUSES)

    def costs(self) -> Schedule:
        """Return the schedule of the costs of the levels."""
        return Schedule(self.schedule, self.growth, self.effort)

    def empty(self, room: int, levels: int = 24) -> BoxesState:
        """Return a state with room for a number of arms and levels."""
        by_box = dict.fromkeys(("first", "last", "size", "free", "first_free"), levels * WIDTH)
        by_level = dict.fromkeys(("costs", "ready", "lifting"), levels)
        meetings = 16 * room + 256  # far more than one ask writes
        state = zeros(BoxesState, room, **by_box, **by_level, scalars=SCALARS, met=(meetings, 4))
        state.costs[:] = self.costs().costs(levels)
        state.scalars[REUSE] = REUSES[self.reuse]
        return state

    def grow(self, state: BoxesState) -> BoxesState:
        """Return the same state with room for twice as many arms or levels, whichever has run short."""
        arms, levels = len(state.arms.place), len(state.costs)
        arms = 2 * arms if state.scalars[KNOWN] == arms else arms
        return self.grown(state, self.empty(arms, 2 * levels if short_of_levels(state) else levels))

    @property
    def forgets(self) -> bool:
        """Whether a LIFT starts a new mean of the arm."""
        return self.reuse == "none"

    def record_pulls(self, state: BoxesState, arm: int) -> int:
        """Return how many results the mean that an arm competes with covers."""
        return int(state.arms.pulls[arm])

    def ranking(self, state: BoxesState, k: int | None = None) -> list[int]:
        """Return the arms by level, those in boxes before the pile, then by mean; last those in no box."""
        known = int(state.scalars[KNOWN])
        place, pulls = state.arms.place[:known], state.arms.pulls[:known]
        if k is not None:  # whole levels from the top down, as long as they have fewer than k arms with a result
            level = int(state.scalars[TOP])
            arms = np.flatnonzero((place >= level * WIDTH) & (pulls > 0))
            while len(arms) < k and level > 0:
                level -= 1
                arms = np.flatnonzero((place >= level * WIDTH) & (pulls > 0))
        if k is None or len(arms) < k:
            arms = np.flatnonzero((place != WITHDRAWN) & (pulls > 0))
        levels, deferment = np.divmod(place[arms], WIDTH)
        on_pile = (deferment == PILE) & (levels >= 0)
        return in_order(arms, levels, -on_pile.astype(np.int64), state.arms.total[arms] / pulls[arms], k=k)

    def box_record(self) -> BoxRecord:
        """Return an empty record of who met whom."""
        return BoxRecord()
