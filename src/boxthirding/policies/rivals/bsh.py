"""Bracketing Sequential Halving (BSH; Zhao, Stephens, Szepesvári, Jun 2023): anytime halving on random subsets.

Each bracket runs Sequential Halving on its n arms with a budget of n⌈log₂n⌉, keeps the winner and its mean in the last
round, doubles the budget and starts again. The recommendation is the winner with the largest kept mean.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from boxthirding._compile import bound, kernel
from boxthirding.policies.rivals import brackets
from boxthirding.policies.rivals.brackets import FIRST, MOST, OPENED, Brackets, arm_of, bracket_of, retired
from boxthirding.policies.roster import WITHDRAWN
from boxthirding.policies.structures.sorting import rank
from boxthirding.rng import advance
from boxthirding.types import NONE, Floats, Ints, Rule

SIZE: Final = 0  # slots that play in this round
NEXT: Final = 1  # the position of the next of them to ask for
ENDED: Final = 2  # of them, how many have all their pulls or are withdrawn
EACH: Final = 3  # pulls of each in this round
BUDGET: Final = 4  # of this run
ROUNDS: Final = 5  # rounds of this run, ⌈log₂n⌉
KEPT: Final = 6  # the arm that won the last run that ended, or NONE
LUCK: Final = 7  # decides between winners with equal means
_COLUMNS = 8


class BSHState(NamedTuple):
    """K arms and S slots of room."""

    scalars: Ints
    ties: Ints  # [6]
    brackets: Brackets
    run: Ints  # [MOST, 8] where the run of each bracket stands
    kept_mean: Floats  # [MOST] the mean of the kept winner in its last round
    standing: Ints  # [S] the slots of each bracket, those that play first
    left: Ints  # [S] pulls of this round still to be asked for
    due: Ints  # [S] pulls of this round still to be told
    total: Floats  # [S] the sum of this round's rewards
    told: Ints  # [S] 1 when there has been a result
    scratch: Ints  # [S]


@kernel
def tell(state: BSHState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add a reward to its slot; the last one of a round halves the bracket."""
    if state.scalars[FIRST] == NONE:
        state.scalars[FIRST] = arm_of(state, job)
    state.told[job] = 1
    state.total[job] += total
    state.due[job] -= times
    if state.due[job] == 0:
        end_one(state, bracket_of(state.brackets, job))


@kernel
def drop(state: BSHState, arm: int) -> None:
    """Withdraw an arm from every bracket."""
    retire(state, state.brackets.known[arm])
    for bracket in range(state.scalars[OPENED]):
        if state.run[bracket, KEPT] == arm:
            state.run[bracket, KEPT] = NONE


@kernel
def recommend(state: BSHState) -> int:
    """Return the winner with the largest kept mean; before there is one, the first arm pulled."""
    best = NONE
    for bracket in range(state.scalars[OPENED]):
        if state.run[bracket, KEPT] != NONE and (best == NONE or beats(state, bracket, best)):
            best = bracket
    return state.scalars[FIRST] if best == NONE else state.run[best, KEPT]


@kernel
def beats(state: BSHState, bracket: int, other: int) -> bool:
    """Return whether a bracket's winner has the larger mean. Ties are broken at random."""
    mine, theirs = state.kept_mean[bracket], state.kept_mean[other]
    return mine > theirs or (mine == theirs and state.run[bracket, LUCK] > state.run[other, LUCK])


@kernel
def emptied(state: BSHState, bracket: int, slot: int) -> None:
    """Count a slot without an arm as told in the round it plays in."""
    state.left[slot] = 0
    if state.due[slot] > 0:
        state.due[slot] = 0
        end_one(state, bracket)


retire = bound(retired, emptied=emptied)


@kernel
def next_slot(state: BSHState, bracket: int) -> int:
    """Return the slot whose pull is next in a bracket's round, or NONE when all of them are out."""
    run = state.run[bracket]
    while run[NEXT] < run[SIZE]:
        slot = state.standing[state.brackets.start[bracket] + run[NEXT]]
        if state.left[slot] > 0:
            state.left[slot] -= 1
            return slot
        run[NEXT] += 1
    return NONE


@kernel
def begin(state: BSHState, bracket: int) -> None:
    """Set up a new bracket and its first run."""
    start, stop = state.brackets.start[bracket], state.brackets.start[bracket + 1]
    for slot in range(start, stop):
        state.told[slot] = 0
        state.left[slot] = 0
        state.due[slot] = 0
    state.run[bracket, KEPT] = NONE
    state.run[bracket, BUDGET] = (stop - start) * max(1, log2_ceiling(stop - start))
    begin_run(state, bracket)


@kernel
def begin_run(state: BSHState, bracket: int) -> None:
    """Start the first round of a bracket with every slot whose arm is not withdrawn."""
    start = state.brackets.start[bracket]
    size = 0
    for slot in range(start, state.brackets.start[bracket + 1]):
        if state.brackets.entrant[slot] != WITHDRAWN:
            state.standing[start + size] = slot
            size += 1
    state.run[bracket, ROUNDS] = max(1, log2_ceiling(size))
    begin_round(state, bracket, size)


@kernel
def begin_round(state: BSHState, bracket: int, size: int) -> None:
    """Start a round with the first `size` slots of the standing, and reset their means."""
    run = state.run[bracket]
    run[SIZE] = size
    run[NEXT] = 0
    run[ENDED] = 0
    run[EACH] = max(1, run[BUDGET] // (max(1, size) * run[ROUNDS]))
    for position in range(state.brackets.start[bracket], state.brackets.start[bracket] + size):
        slot = state.standing[position]
        state.total[slot] = 0.0
        state.left[slot] = run[EACH]
        state.due[slot] = run[EACH]


@kernel
def end_one(state: BSHState, bracket: int) -> None:
    """Note that one more slot of the round is through; halve the bracket when it was the last."""
    run = state.run[bracket]
    run[ENDED] += 1
    if run[ENDED] < run[SIZE]:
        return
    start = state.brackets.start[bracket]
    stay = 0
    for position in range(start, start + run[SIZE]):
        slot = state.standing[position]
        if state.brackets.entrant[slot] != WITHDRAWN:
            state.standing[start + stay] = slot
            stay += 1
    rank(state.standing, start, start + stay, state.total, state.scratch, state.ties)
    if run[SIZE] > 2 and stay > 0:  # noqa: PLR2004  # two or fewer play the last round
        begin_round(state, bracket, (stay + 1) // 2)
        return
    if stay > 0:
        winner = state.standing[start]
        run[KEPT] = arm_of(state, winner)
        run[LUCK] = advance(state.ties)
        state.kept_mean[bracket] = state.total[winner] / run[EACH]
    run[BUDGET] *= 2
    begin_run(state, bracket)


@kernel
def log2_ceiling(n: int) -> int:
    """Return ⌈log₂n⌉ of n ≥ 1."""
    rounds = 0
    while 2**rounds < n:
        rounds += 1
    return rounds


@dataclass(frozen=True)
class BracketingSequentialHalving(brackets.BracketPolicy):
    """Bracketing Sequential Halving: anytime, nothing to tune, needs to know how many arms there are."""

    name: ClassVar[str] = "bsh"
    rule: ClassVar[Rule] = Rule(
        brackets.reset, bound(brackets.ask, begin=begin, next_slot=next_slot, retire=retire), tell, drop, recommend
    )

    def empty(self, room: int) -> BSHState:
        """Return a state with room for a number of arms."""
        return brackets.with_room(BSHState, room, run=(MOST, _COLUMNS), kept_mean=MOST)

    def ranking(self, state: BSHState, k: int | None = None) -> list[int]:
        """Return the winners of the brackets by kept mean, then the others by the largest bracket's standing."""
        opened = int(state.scalars[OPENED])
        kept = [b for b in range(opened) if state.run[b, KEPT] != NONE]
        kept.sort(key=lambda b: (float(state.kept_mean[b]), int(state.run[b, LUCK])), reverse=True)
        arms = [int(state.run[b, KEPT]) for b in kept]
        if not kept and state.scalars[FIRST] != NONE:
            arms = [int(state.scalars[FIRST])]
        for b in reversed(range(opened)):
            if k is not None and len(set(arms)) >= k:
                break
            slots = state.standing[state.brackets.start[b] : state.brackets.start[b + 1]]
            told = slots[(state.told[slots] == 1) & (state.brackets.entrant[slots] != WITHDRAWN)]
            new = told if k is None else told[: k + len(arms)]
            arms += state.brackets.number[state.brackets.entrant[new]].tolist()
        return list(dict.fromkeys(arms))
