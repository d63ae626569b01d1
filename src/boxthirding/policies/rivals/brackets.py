"""Brackets: ever larger random subsets of the arms that take turns, one pull each.

Bracket b = 1, 2, … opens before the first pull t ≥ (b - 1) 2^(b - 1), so at t = 1, 2, 8, 24, 64, …, with min(2^b, N)
arms drawn without replacement, independently of the other brackets; none opens after one that holds all arms. An arm
may sit in several brackets, so what plays is a *slot*: one arm in one bracket. Many arms are drawn long before their
first pull, and only that gives them their number, so a slot holds an *entrant*: the k-th arm that was ever drawn.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final, NamedTuple, Protocol

from boxthirding._compile import kernel
from boxthirding.policies.base_policy import BasePolicy, S, zeros
from boxthirding.policies.roster import WITHDRAWN
from boxthirding.rng import below
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Ints, State

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


class Brackets(NamedTuple):
    """K arms and S slots of room."""

    start: Ints  # [MOST + 1] the first slot of each bracket, and where the next one will begin
    alive: Ints  # [MOST] slots of each bracket that are not withdrawn
    pool: Ints  # [K] the entrants that are not withdrawn, in any order
    number: Ints  # [K] the number of each entrant, NONE before it is asked for
    known: Ints  # [K] the entrant behind each number
    entrant: Ints  # [S] who plays in each slot, or WITHDRAWN


class WithBrackets(State, Protocol):
    """A state with brackets; the first places of its scalars are as above."""

    @property
    def brackets(self) -> Brackets:
        """Who plays where."""


# The rule's own functions: every rule gets a copy of `ask` with these names bound to them.
begin: Callable[[Any, int], None]  # set up a bracket that has been opened
next_slot: Callable[[Any, int], int]  # the slot of a bracket to pull now, or NONE
retire: Callable[[Any, int], None]  # take a withdrawn entrant out of every bracket: this rule's copy of `retired`
emptied: Callable[[Any, int, int], None]  # note that a slot of a bracket has lost its entrant


@kernel
def reset(state: WithBrackets) -> None:
    """Forget every arm and every bracket."""
    for i in range(1, BRACKET_SCALARS):
        state.scalars[i] = 0
    state.scalars[FIRST] = NONE
    state.brackets.start[0] = 0


@kernel
def ask(state: WithBrackets) -> tuple[int, int, int]:
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

    def grow(self, state: WithBrackets) -> Any:
        """Return the same state with room for twice as many arms and slots."""
        return self.grown(state, self.empty(2 * len(state.brackets.pool)))


def with_room(kind: type[S], arms: int, **shapes: int | tuple[int, ...]) -> S:
    """Return a state of this kind with room for a number of arms, and for twice as many slots."""
    by_arm = dict.fromkeys(("pool", "number", "known"), arms)
    return zeros(kind, 2 * arms, scalars=BRACKET_SCALARS, start=MOST + 1, alive=MOST, **by_arm, **shapes)


@kernel
def live_arms(state: WithBrackets) -> int:
    """Return how many arms there are, drawn or not."""
    scalars = state.scalars
    return scalars[POOLED] + max(0, scalars[N_ARMS] - scalars[SEEN] - scalars[UNMET])


@kernel
def is_due(state: WithBrackets) -> bool:
    """Return whether the next bracket opens now. If no arm is left in any bracket, all of them start again."""
    scalars = state.scalars
    if scalars[PLAYING] == 0:
        scalars[OPENED] = 0
        scalars[TURN] = 0
        return live_arms(state) > 0
    opened = scalars[OPENED]
    if opened == MOST or scalars[ASKED] + 1 < opened * 2**opened:
        return False
    return state.brackets.alive[opened - 1] < live_arms(state)


@kernel
def next_size(state: WithBrackets) -> int:
    """Return how many arms the next bracket takes."""
    return min(2 ** (state.scalars[OPENED] + 1), live_arms(state))


@kernel
def has_room(state: WithBrackets) -> bool:
    """Return whether the next bracket fits into the arrays."""
    brackets, size = state.brackets, next_size(state)
    slots = brackets.start[state.scalars[OPENED]]
    return state.scalars[DRAWN] + size <= len(brackets.pool) and slots + size <= len(brackets.entrant)


@kernel
def open_bracket(state: WithBrackets) -> int:
    """Draw the arms of the next bracket; return its index.

    A draw is an entrant already there, or a new one, with the right odds: arms never drawn are exchangeable.
    """
    scalars, brackets, pool = state.scalars, state.brackets, state.brackets.pool
    bracket = scalars[OPENED]
    first = brackets.start[bracket]
    size = next_size(state)
    live = live_arms(state)
    for i in range(size):
        place = i + below(state.ties, live - i)
        if place >= scalars[POOLED]:
            place = scalars[POOLED]
            pool[place] = scalars[DRAWN]
            brackets.number[scalars[DRAWN]] = NONE
            scalars[POOLED] += 1
            scalars[UNMET] += 1
            scalars[DRAWN] += 1
        pool[i], pool[place] = pool[place], pool[i]
        brackets.entrant[first + i] = pool[i]
    brackets.start[bracket + 1] = first + size
    brackets.alive[bracket] = size
    scalars[PLAYING] += size
    scalars[OPENED] += 1
    return bracket


@kernel
def arm_of(state: WithBrackets, slot: int) -> int:
    """Return the number of a slot's arm: the next one, if it has none yet."""
    scalars, number = state.scalars, state.brackets.number
    entrant = state.brackets.entrant[slot]
    if number[entrant] == NONE:
        number[entrant] = scalars[SEEN]
        state.brackets.known[scalars[SEEN]] = entrant
        scalars[SEEN] += 1
        scalars[UNMET] -= 1
    return number[entrant]


@kernel
def bracket_of(brackets: Brackets, slot: int) -> int:
    """Return the bracket that a slot belongs to."""
    bracket = 0
    while brackets.start[bracket + 1] <= slot:
        bracket += 1
    return bracket


@kernel
def gone_unmet(state: WithBrackets) -> int:
    """Return an entrant without an arm, or NONE: more were drawn than arms are left that have not been asked for.

    So it is when arms are withdrawn before they were ever met; as nothing is known of them, any of them will do.
    """
    scalars = state.scalars
    if scalars[UNMET] <= max(0, scalars[N_ARMS] - scalars[SEEN]):
        return NONE
    place = scalars[POOLED] - 1
    brackets = state.brackets
    while brackets.number[brackets.pool[place]] != NONE:
        place -= 1
    return brackets.pool[place]


@kernel
def forget(state: WithBrackets, entrant: int) -> None:
    """Remove a withdrawn entrant from the pool, so that no later bracket draws it."""
    scalars, pool, number = state.scalars, state.brackets.pool, state.brackets.number[entrant]
    if number == NONE:
        scalars[UNMET] -= 1
    elif scalars[FIRST] == number:
        scalars[FIRST] = NONE
    for i in range(scalars[POOLED]):
        if pool[i] == entrant:
            scalars[POOLED] -= 1
            pool[i] = pool[scalars[POOLED]]
            break


@kernel
def retired(state: WithBrackets, entrant: int) -> None:
    """Remove a withdrawn entrant from every bracket."""
    forget(state, entrant)
    for bracket in range(state.scalars[OPENED]):
        slot = vacate(state, bracket, entrant)
        if slot != NONE:
            emptied(state, bracket, slot)


@kernel
def vacate(state: WithBrackets, bracket: int, entrant: int) -> int:
    """Empty an entrant's slot in a bracket; return it, or NONE if it has none there."""
    brackets = state.brackets
    for slot in range(brackets.start[bracket], brackets.start[bracket + 1]):
        if brackets.entrant[slot] == entrant:
            brackets.entrant[slot] = WITHDRAWN
            brackets.alive[bracket] -= 1
            state.scalars[PLAYING] -= 1
            return slot
    return NONE
