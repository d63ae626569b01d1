"""Boxes as queues over arrays: where every arm stands, and how it enters, leaves and is taken.

Box (l, j) is Box(l, j) of the paper, j the deferment count; the last box of a level is the pile D_l of what was
discarded there. What moves an arm, and when, is the rule's business: see box_thirding.py.
"""

from typing import Final, NamedTuple

from boxthirding._compile import kernel
from boxthirding.policies.roster import ROSTER_SCALARS, Jobs, Roster, mean
from boxthirding.types import NONE, Ints

TOP: Final = ROSTER_SCALARS  # the highest level that an arm has ever entered
BASE: Final = ROSTER_SCALARS + 1  # the level at which arms are introduced
SWEEP: Final = ROSTER_SCALARS + 2  # the box that the sweep looked at last; it goes on below
ARRANGED: Final = ROSTER_SCALARS + 3  # ARRANGEs since the sweep began
OPEN: Final = ROSTER_SCALARS + 4  # jobs asked for and not ended
READY: Final = ROSTER_SCALARS + 5  # boxes with three arms free to be arranged
WAITING: Final = ROSTER_SCALARS + 6  # arms in `waiting` still to be introduced again
NEXT: Final = ROSTER_SCALARS + 7  # where in `waiting` the next one stands
MET: Final = ROSTER_SCALARS + 8  # rows written to `met` so far
REUSE: Final = ROSTER_SCALARS + 9
SCALARS: Final = ROSTER_SCALARS + 10

NEW_SWEEP: Final = 1 << 40
"""Above every box: the sweep has not begun."""

WIDTH: Final = 32
"""Boxes a level has room for: Box(l, j) needs 3^j arms, so j never comes near; the last one is the pile D_l."""
PILE: Final = WIDTH - 1
FULL: Final = 3

NEW: Final = -3
"""The place of an arm that was never in a box; NONE is the place of one that is in W after a base update."""


class Boxes(NamedTuple):
    """Lists of arms, each in the order of entry; a box's index is level * WIDTH + j."""

    before: Ints  # [K] an arm's neighbours in its box
    after: Ints  # [K]
    first: Ints  # [M * WIDTH] the box's earliest entry
    last: Ints  # [M * WIDTH] its latest
    size: Ints  # [M * WIDTH] arms standing in it
    free: Ints  # [M * WIDTH] of them, not taken by an ARRANGE
    first_free: Ints  # [M * WIDTH] the earliest of those
    ready: Ints  # [M] bit j: Box(l, j) holds three free arms


class Lifts(NamedTuple):
    """Who moves when a job ends."""

    lifter: Ints  # [K] the arm whose LIFT will move it (itself, if it is the one lifted), or NONE
    target: Ints  # [K] the level its LIFT goes to
    middle: Ints  # [K] whom its ARRANGE will SHIFT, or NONE
    worst: Ints  # [K] whom its ARRANGE will DISCARD, or NONE
    lifting: Ints  # [M] open jobs by the lowest level they touch


class BoxesState(NamedTuple):
    """K arms of room, M levels of room."""

    scalars: Ints
    ties: Ints  # [6]
    costs: Ints  # [M] pulls of a LIFT to each level
    arms: Roster  # its place is the box an arm stands in, NONE, WITHDRAWN or NEW
    boxes: Boxes
    lifts: Lifts
    jobs: Jobs  # the pulls of LIFTs
    waiting: Ints  # [K] W after a base update, in order
    queued: Ints  # [K] 1 while the arm is in `waiting`
    met: Ints  # [Q, 4] the latest rows of who met whom: box, best, middle, worst; the rule itself never reads them


@kernel
def reset(state: BoxesState) -> None:
    """Empty every box; arms are set up when they are introduced."""
    for i in range(1, REUSE):
        state.scalars[i] = 0
    state.scalars[SWEEP] = NEW_SWEEP
    boxes = state.boxes
    boxes.first[:] = NONE
    boxes.last[:] = NONE
    boxes.size[:] = 0
    boxes.free[:] = 0
    boxes.first_free[:] = NONE
    boxes.ready[:] = 0
    state.lifts.lifting[:] = 0


@kernel
def short_of_levels(state: BoxesState) -> bool:
    """Return whether the next ARRANGE or base update might need a level beyond the capacity of the arrays."""
    return max(state.scalars[TOP], state.scalars[BASE]) + 2 >= len(state.costs)


@kernel
def enter(state: BoxesState, arm: int, box: int) -> None:
    """Append an arm to a box."""
    boxes, last = state.boxes, state.boxes.last[box]
    state.arms.place[arm] = box
    boxes.before[arm] = last
    boxes.after[arm] = NONE
    if last == NONE:
        boxes.first[box] = arm
    else:
        boxes.after[last] = arm
    boxes.last[box] = arm
    boxes.size[box] += 1
    boxes.free[box] += 1
    if boxes.first_free[box] == NONE:
        boxes.first_free[box] = arm
    refresh_ready(state, box)
    if box // WIDTH > state.scalars[TOP]:
        state.scalars[TOP] = box // WIDTH


@kernel
def leave(state: BoxesState, arm: int) -> None:
    """Remove an arm from its box."""
    boxes, box = state.boxes, state.arms.place[arm]
    before = boxes.before[arm]
    after = boxes.after[arm]
    if before == NONE:
        boxes.first[box] = after
    else:
        boxes.after[before] = after
    if after == NONE:
        boxes.last[box] = before
    else:
        boxes.before[after] = before
    boxes.size[box] -= 1
    state.arms.place[arm] = NONE
    if state.lifts.lifter[arm] == NONE:  # an arm that an ARRANGE has taken is not free already
        if boxes.first_free[box] == arm:
            boxes.first_free[box] = after
        boxes.free[box] -= 1
        refresh_ready(state, box)


@kernel
def claim(boxes: Boxes, box: int) -> int:
    """Return the earliest free arm of a box; from now on it is not free."""
    arm = boxes.first_free[box]
    boxes.first_free[box] = boxes.after[arm]
    return arm


@kernel
def refresh_ready(state: BoxesState, box: int) -> None:
    """Keep the bit that says whether a box holds three free arms, and the count of such boxes."""
    level, j = box // WIDTH, box % WIDTH
    if j == PILE:
        return
    boxes = state.boxes
    is_ready = 1 if boxes.free[box] >= FULL else 0
    was_ready = (boxes.ready[level] >> j) & 1
    if is_ready != was_ready:
        boxes.ready[level] ^= 1 << j
        state.scalars[READY] += is_ready - was_ready


@kernel
def highest(state: BoxesState) -> int:
    """Return Box(L, 0), the highest Box(·, 0) that is not empty, or NONE."""
    for level in range(state.scalars[TOP], -1, -1):
        if state.boxes.size[level * WIDTH] > 0:
            return level * WIDTH
    return NONE


@kernel
def above(arms: Roster, arm: int, other: int) -> bool:
    """Return whether an arm has more pulls than another, or as many and a larger mean.

    Levels would not do: a base update takes arms out of the pile though no job has ended.
    """
    more = arms.pulls[arm] - arms.pulls[other]
    return more > 0 or (more == 0 and mean(arms, arm) > mean(arms, other))


@kernel
def note(state: BoxesState, box: int, best: int, middle: int, worst: int) -> None:
    """Write down an ARRANGE, or an introduction, so that the story of an arm can be told."""
    row = state.scalars[MET] % len(state.met)
    state.met[row, 0] = box
    state.met[row, 1] = best
    state.met[row, 2] = middle
    state.met[row, 3] = worst
    state.scalars[MET] += 1
