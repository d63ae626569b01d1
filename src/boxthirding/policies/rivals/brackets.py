"""Brackets: ever larger random subsets of the arms that take turns, one pull each.

Bracket b = 1, 2, … opens before the first pull t ≥ (b - 1) 2^(b - 1), so at t = 1, 2, 8, 24, 64, …, with min(2^b, N)
arms drawn without replacement, independently of the other brackets; none opens after one that holds all arms. An arm
may sit in several brackets, so what plays is a *slot*: one arm in one bracket. Many arms are drawn long before their
first pull, and only that gives them their number, so a slot holds an *entrant*: the k-th arm that was ever drawn.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final

from boxthirding._compile import kernel
from boxthirding.policies.base_policy import BasePolicy
from boxthirding.rng import below
from boxthirding.types import GROW, N_ARMS, NONE, WAIT

SEEN: Final = 1  # numbers 0 … SEEN - 1 have been asked for
DRAWN: Final = 2  # entrants 0 … DRAWN - 1 have been drawn into a bracket
POOLED: Final = 3  # of them, how many are not withdrawn
UNMET: Final = 4  # of those, how many have not been asked for
PLAYING: Final = 5  # slots that are not withdrawn, in all brackets
OPENED: Final = 6  # brackets open
ASKED: Final = 7  # pulls asked for
TURN: Final = 8  # the bracket whose turn it is
FIRST: Final = 9  # the first arm that was told, or NONE
BRACKET_SCALARS: Final = 10

MOST: Final = 48
"""Brackets there is room for: the last would open after 2^53 pulls."""

Brackets = Any
"""A rule's own state, if it has these fields:

    scalars: Ints  # its first places as above
    ties: Ints  # [6]
    start: Ints  # [MOST + 1] the first slot of each bracket, and where the next one will begin
    alive: Ints  # [MOST] slots of each bracket that are not withdrawn
    pool: Ints  # [K] the entrants that are not withdrawn, in any order
    number: Ints  # [K] the number of each entrant, NONE before it is asked for
    known: Ints  # [K] the entrant behind each number
    entrant: Ints  # [S] who plays in each slot, or WITHDRAWN
"""

WITHDRAWN: Final = -2
"""Instead of a slot's entrant, when that is gone."""

# The rule's own functions: every rule gets a copy of `ask` with these names bound to them.
begin: Callable[[Brackets, int], None]  # set up a bracket that has been opened
next_slot: Callable[[Brackets, int], int]  # the slot of a bracket to pull now, or NONE
retire: Callable[[Brackets, int], None]  # take a withdrawn entrant out of every bracket


@kernel
def reset(state: Brackets) -> None:
    """Forget every arm and every bracket."""
    for i in range(1, BRACKET_SCALARS):
        state.scalars[i] = 0
    state.scalars[FIRST] = NONE
    state.start[0] = 0


@kernel
def ask(state: Brackets) -> tuple[int, int, int]:
    """Open a bracket when it is time, then return one pull for the next bracket that can start one."""
    scalars = state.scalars
    entrant = gone_unmet(state)
    while entrant != NONE:
        retire(state, entrant)
        entrant = gone_unmet(state)
    if is_due(state):
        if not has_room(state):
            return GROW, NONE, 0
        begin(state, open_bracket(state))
    for _ in range(scalars[OPENED]):
        bracket = scalars[TURN] if scalars[TURN] < scalars[OPENED] else 0
        scalars[TURN] = bracket + 1
        slot = next_slot(state, bracket)
        if slot != NONE:
            scalars[ASKED] += 1
            return slot, arm_of(state, slot), 1
    return WAIT, NONE, 0


class BracketPolicy(BasePolicy):
    """A policy whose rule plays in brackets."""

    open_ended: ClassVar[bool] = False

    def grow(self, state: Brackets) -> Brackets:
        """Return the same state with room for twice as many arms and slots."""
        return self.grown(state, self.empty(2 * len(state.pool)))


def room_for(arms: int) -> dict[str, int]:
    """Return how long the arrays are of which there is not one entry for each slot."""
    return {"scalars": BRACKET_SCALARS, "start": MOST + 1, "alive": MOST, "pool": arms, "number": arms, "known": arms}


@kernel
def live_arms(state: Brackets) -> int:
    """Return how many arms there are, drawn or not."""
    scalars = state.scalars
    return scalars[POOLED] + max(0, scalars[N_ARMS] - scalars[SEEN] - scalars[UNMET])


@kernel
def is_due(state: Brackets) -> bool:
    """Tell whether the next bracket opens now; when no arm is left in any, they start again."""
    scalars = state.scalars
    if scalars[PLAYING] == 0:
        scalars[OPENED] = 0
        scalars[TURN] = 0
        return live_arms(state) > 0
    opened = scalars[OPENED]
    if opened == MOST or scalars[ASKED] + 1 < opened * 2**opened:
        return False
    return state.alive[opened - 1] < live_arms(state)


@kernel
def next_size(state: Brackets) -> int:
    """Return how many arms the next bracket takes."""
    return min(2 ** (state.scalars[OPENED] + 1), live_arms(state))


@kernel
def has_room(state: Brackets) -> bool:
    """Tell whether the next bracket fits into the arrays."""
    size = next_size(state)
    slots = state.start[state.scalars[OPENED]]
    return state.scalars[DRAWN] + size <= len(state.pool) and slots + size <= len(state.entrant)


@kernel
def open_bracket(state: Brackets) -> int:
    """Draw the arms of the next bracket; return its index.

    A draw is an entrant already there, or a new one, with the right odds: arms never drawn are exchangeable.
    """
    scalars = state.scalars
    bracket = scalars[OPENED]
    first = state.start[bracket]
    size = next_size(state)
    live = live_arms(state)
    for i in range(size):
        place = i + below(state.ties, live - i)
        if place >= scalars[POOLED]:
            place = scalars[POOLED]
            state.pool[place] = scalars[DRAWN]
            state.number[scalars[DRAWN]] = NONE
            scalars[POOLED] += 1
            scalars[UNMET] += 1
            scalars[DRAWN] += 1
        state.pool[i], state.pool[place] = state.pool[place], state.pool[i]
        state.entrant[first + i] = state.pool[i]
    state.start[bracket + 1] = first + size
    state.alive[bracket] = size
    scalars[PLAYING] += size
    scalars[OPENED] += 1
    return bracket


@kernel
def arm_of(state: Brackets, slot: int) -> int:
    """Return the number of a slot's arm: the next one, if it has none yet."""
    scalars = state.scalars
    entrant = state.entrant[slot]
    if state.number[entrant] == NONE:
        state.number[entrant] = scalars[SEEN]
        state.known[scalars[SEEN]] = entrant
        scalars[SEEN] += 1
        scalars[UNMET] -= 1
    return state.number[entrant]


@kernel
def bracket_of(state: Brackets, slot: int) -> int:
    """Return the bracket that a slot belongs to."""
    bracket = 0
    while state.start[bracket + 1] <= slot:
        bracket += 1
    return bracket


@kernel
def gone_unmet(state: Brackets) -> int:
    """Return an entrant without an arm, or NONE: more were drawn than arms are left that have not been asked for.

    So it is when arms are withdrawn before they were ever met; as nothing is known of them, any of them will do.
    """
    scalars = state.scalars
    if scalars[UNMET] <= max(0, scalars[N_ARMS] - scalars[SEEN]):
        return NONE
    place = scalars[POOLED] - 1
    while state.number[state.pool[place]] != NONE:
        place -= 1
    return state.pool[place]


@kernel
def forget(state: Brackets, entrant: int) -> None:
    """Take a withdrawn entrant out of the pool, so that no later bracket draws it."""
    scalars = state.scalars
    if state.number[entrant] == NONE:
        scalars[UNMET] -= 1
    elif scalars[FIRST] == state.number[entrant]:
        scalars[FIRST] = NONE
    for i in range(scalars[POOLED]):
        if state.pool[i] == entrant:
            scalars[POOLED] -= 1
            state.pool[i] = state.pool[scalars[POOLED]]
            break


@kernel
def vacate(state: Brackets, bracket: int, entrant: int) -> int:
    """Empty an entrant's slot in a bracket; return it, or NONE if it has none there."""
    for slot in range(state.start[bracket], state.start[bracket + 1]):
        if state.entrant[slot] == entrant:
            state.entrant[slot] = WITHDRAWN
            state.alive[bracket] -= 1
            state.scalars[PLAYING] -= 1
            return slot
    return NONE
