"""Boxes as queues over arrays: where every arm stands, and how it enters, leaves and is taken.

Box (l, j) is Box(l, j) of the paper, j the deferment count; the last box of a level is the pile D_l of what was
discarded there. What moves an arm, and when, is the rule's business: see box_thirding.py.
"""

import math
from typing import Any, Final, NamedTuple

from boxthirding._compile import kernel
from boxthirding.types import N_ARMS, NONE, Floats, Ints

SEEN: Final = 1  # numbers 0 … SEEN - 1 have been introduced
LIVE: Final = 2  # of them, how many are not withdrawn
TOP: Final = 3  # the highest level that an arm has ever entered
BASE: Final = 4  # the level at which arms are introduced
SWEEP: Final = 5  # the box that the sweep looked at last; it goes on below
ARRANGED: Final = 6  # ARRANGEs since the sweep began
OPEN: Final = 7  # jobs asked for and not ended
READY: Final = 8  # boxes with three arms free to be arranged
WAITING: Final = 9  # arms in `waiting` still to be introduced again
NEXT: Final = 10  # where in `waiting` the next one stands
MET: Final = 11  # rows written to `met` so far
KNOWN: Final = 12  # numbers 0 … KNOWN - 1 have a record, and those from SEEN on wait with it to be introduced
REUSE: Final = 13
SCALARS: Final = 14

NEW_SWEEP: Final = 1 << 40
"""Above every box: the sweep has not begun."""

WIDTH: Final = 32
"""Boxes a level has room for: Box(l, j) needs 3^j arms, so j never comes near; the last one is the pile D_l."""
PILE: Final = WIDTH - 1
FULL: Final = 3

WITHDRAWN: Final = -2
"""The place of an arm that is gone; NONE is the place of one that is in W after a base update."""

NEW: Final = -3
"""The place of an arm that was never in a box."""


class BoxesState(NamedTuple):
    """K arms of room, M levels of room; a box's index is level * WIDTH + j."""

    scalars: Ints
    ties: Ints  # [6]
    costs: Ints  # [M] pulls of a LIFT to each level
    pulls: Ints  # [K] pulls behind the arm's mean
    total: Floats  # [K] their sum
    place: Ints  # [K] the box the arm stands in, NONE, WITHDRAWN or NEW
    before: Ints  # [K] its neighbours in that box
    after: Ints  # [K]
    lifter: Ints  # [K] the arm whose LIFT will move it (itself, if it is the one lifted), or NONE
    target: Ints  # [K] the level its LIFT goes to
    due: Ints  # [K] pulls its LIFT still waits for
    new_pulls: Ints  # [K] pulls its LIFT has had
    new_total: Floats  # [K] their sum
    middle: Ints  # [K] whom its ARRANGE will SHIFT, or NONE
    worst: Ints  # [K] whom its ARRANGE will DISCARD, or NONE
    waiting: Ints  # [K] W after a base update, in order
    queued: Ints  # [K] 1 while the arm is in `waiting`
    met: Ints  # [Q, 4] the latest rows of who met whom: box, best, middle, worst; the rule itself never reads them
    first: Ints  # [M * WIDTH] the box's earliest entry
    last: Ints  # [M * WIDTH] its latest
    size: Ints  # [M * WIDTH] arms standing in it
    free: Ints  # [M * WIDTH] of them, not taken by an ARRANGE
    first_free: Ints  # [M * WIDTH] the earliest of those
    ready: Ints  # [M] bit j: Box(l, j) holds three free arms
    lifting: Ints  # [M] open jobs by the lowest level they touch


ArmRecords = Any
"""The state of any rule that has these fields of a `BoxesState`: scalars, pulls, total and place."""


@kernel
def reset(state: BoxesState) -> None:
    """Empty every box; arms are set up when they are introduced."""
    for i in range(1, REUSE):
        state.scalars[i] = 0
    state.scalars[SWEEP] = NEW_SWEEP
    state.first[:] = NONE
    state.last[:] = NONE
    state.size[:] = 0
    state.free[:] = 0
    state.first_free[:] = NONE
    state.ready[:] = 0
    state.lifting[:] = 0


@kernel
def short_of_levels(state: BoxesState) -> bool:
    """Tell whether the next ARRANGE or base update might need a level that there is no room for."""
    return max(state.scalars[TOP], state.scalars[BASE]) + 2 >= len(state.costs)


@kernel
def short_of_arms(state: ArmRecords) -> bool:
    """Tell whether there is no room for the next unseen arm."""
    return state.scalars[SEEN] == len(state.place) and state.scalars[SEEN] < state.scalars[N_ARMS]


@kernel
def mean(state: ArmRecords, arm: int) -> float:
    """Return the mean an arm competes with; -∞, if all its results were taken out."""
    return state.total[arm] / state.pulls[arm] if state.pulls[arm] > 0 else -math.inf


@kernel
def begin_record(state: BoxesState) -> None:
    """Give the next number that has none an empty record."""
    arm = state.scalars[KNOWN]
    state.scalars[KNOWN] = arm + 1
    state.pulls[arm] = 0
    state.total[arm] = 0.0
    state.place[arm] = NEW
    state.lifter[arm] = NONE
    state.queued[arm] = 0


@kernel
def pass_over_withdrawn(state: BoxesState) -> None:
    """Let the next arm to be introduced be one that is still there."""
    scalars = state.scalars
    while scalars[SEEN] < scalars[KNOWN] and state.place[scalars[SEEN]] == WITHDRAWN:
        scalars[SEEN] += 1


@kernel
def enter(state: BoxesState, arm: int, box: int) -> None:
    """Put an arm at the end of a box."""
    last = state.last[box]
    state.place[arm] = box
    state.before[arm] = last
    state.after[arm] = NONE
    if last == NONE:
        state.first[box] = arm
    else:
        state.after[last] = arm
    state.last[box] = arm
    state.size[box] += 1
    state.free[box] += 1
    if state.first_free[box] == NONE:
        state.first_free[box] = arm
    refresh_ready(state, box)
    if box // WIDTH > state.scalars[TOP]:
        state.scalars[TOP] = box // WIDTH


@kernel
def leave(state: BoxesState, arm: int) -> None:
    """Take an arm out of its box."""
    box = state.place[arm]
    before = state.before[arm]
    after = state.after[arm]
    if before == NONE:
        state.first[box] = after
    else:
        state.after[before] = after
    if after == NONE:
        state.last[box] = before
    else:
        state.before[after] = before
    state.size[box] -= 1
    state.place[arm] = NONE
    if state.lifter[arm] == NONE:  # an arm that an ARRANGE has taken is not free already
        if state.first_free[box] == arm:
            state.first_free[box] = after
        state.free[box] -= 1
        refresh_ready(state, box)


@kernel
def claim(state: BoxesState, box: int) -> int:
    """Return the earliest free arm of a box; from now on it is not free."""
    arm = state.first_free[box]
    state.first_free[box] = state.after[arm]
    return arm


@kernel
def refresh_ready(state: BoxesState, box: int) -> None:
    """Keep the bit that says whether a box holds three free arms, and the count of such boxes."""
    level, j = box // WIDTH, box % WIDTH
    if j == PILE:
        return
    is_ready = 1 if state.free[box] >= FULL else 0
    was_ready = (state.ready[level] >> j) & 1
    if is_ready != was_ready:
        state.ready[level] ^= 1 << j
        state.scalars[READY] += is_ready - was_ready


@kernel
def highest(state: BoxesState) -> int:
    """Return Box(L, 0), the highest Box(·, 0) that is not empty, or NONE."""
    for level in range(state.scalars[TOP], -1, -1):
        if state.size[level * WIDTH] > 0:
            return level * WIDTH
    return NONE


@kernel
def above(state: BoxesState, arm: int, other: int) -> bool:
    """Tell whether more pulls speak for an arm than for another, or as many with a larger mean.

    Levels would not do: a base update takes arms out of the pile though no job has ended.
    """
    more = state.pulls[arm] - state.pulls[other]
    return more > 0 or (more == 0 and mean(state, arm) > mean(state, other))


@kernel
def note(state: BoxesState, box: int, best: int, middle: int, worst: int) -> None:
    """Write down an ARRANGE, or an introduction, so that the story of an arm can be told."""
    row = state.scalars[MET] % len(state.met)
    state.met[row, 0] = box
    state.met[row, 1] = best
    state.met[row, 2] = middle
    state.met[row, 3] = worst
    state.scalars[MET] += 1
