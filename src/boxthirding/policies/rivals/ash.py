"""Anytime Sequential Halving (Sagers, Winands, Soemers 2024, arXiv 2411.07171): small passes of halving, one by one.

A pass begins with one pull of every arm; the better half of those left gets twice the pulls of the phase before, until
two have played; then all arms play the next pass. Arms are halved by the mean of all their pulls, those of earlier
passes too, and the largest mean is recommended, as in the authors' own program. That program gives each phase as many
pulls as there are arms; where their number is no power of two, 2, 4, 8, … pulls of each arm are about as many.

On a subset that doubles, the better one of the last two of the last pass is recommended instead, as by `dsh`: whenever
a pass begins with a pull of every arm, the largest mean is the luck of an arm that has hardly been pulled.
"""

from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from boxthirding._compile import bound, kernel
from boxthirding.policies.base_policy import zeros
from boxthirding.policies.rivals.subsets import (
    ALL,
    LEVEL,
    SUBSET_SCALARS,
    Subset,
    SubsetPolicy,
    admit,
    clear,
    double,
    has_new,
    know,
    withdraw,
)
from boxthirding.policies.rivals.subsets import recommend as largest_mean
from boxthirding.policies.roster import (
    LIVE,
    SEEN,
    WITHDRAWN,
    Roster,
    amend,
    has_larger_mean,
    has_result,
    mean,
    short_of_arms,
)
from boxthirding.policies.structures.sorting import rank
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

PHASE: Final = SUBSET_SCALARS  # each arm of a phase has 2^PHASE pulls
TURN: Final = SUBSET_SCALARS + 1  # of them, how many each arm has been asked for
NEXT: Final = SUBSET_SCALARS + 2  # whose turn it is: a place in `standing`, in the first phase a number
SIZE: Final = SUBSET_SCALARS + 3  # arms in `standing`
OUT: Final = SUBSET_SCALARS + 4  # pulls of the phase asked for and not told
KEPT: Final = SUBSET_SCALARS + 5  # the winner of the last pass of a subset, or NONE
_SCALARS = SUBSET_SCALARS + 6


class AshState(NamedTuple):
    """K arms of room."""

    scalars: Ints
    ties: Ints  # [6]
    arms: Roster
    subset: Subset
    standing: Ints  # [K] the arms that play in this phase; in the first phase all do
    mean: Floats  # [K] the means that the last phase has ended with
    scratch: Ints  # [K] room for sorting


@kernel
def reset(state: AshState) -> None:
    """Forget every arm."""
    clear(state)
    for i in range(SUBSET_SCALARS, KEPT):
        state.scalars[i] = 0
    state.scalars[KEPT] = NONE


@kernel
def ask(state: AshState) -> tuple[int, int, int]:
    """Return one pull of the next arm of the phase; when all of its pulls are out, wait for them."""
    scalars = state.scalars
    while True:
        arm = next_arm(state)
        if arm == GROW:
            return GROW, NONE, 0
        if arm != NONE:
            state.subset.out[arm] += 1
            scalars[OUT] += 1
            return arm, arm, 1
        if scalars[OUT] > 0 or (scalars[LIVE] == 0 and scalars[SEEN] == scalars[N_ARMS]):
            return WAIT, NONE, 0
        end_phase(state)


@kernel
def tell(state: AshState, job: int, times: int, total: float, squares: float) -> None:
    """Add a reward to its arm."""
    state.scalars[OUT] -= times
    state.subset.out[job] -= times
    know(state, job, times, total, squares)


@kernel
def drop(state: AshState, arm: int) -> None:
    """Withdraw an arm: its turns are passed over."""
    if state.arms.place[arm] != WITHDRAWN:
        state.scalars[OUT] -= state.subset.out[arm]
        withdraw(state, arm)


@kernel
def recommend(state: AshState) -> int:
    """Return the winner of the last pass of a subset, else the largest mean."""
    kept = state.scalars[KEPT]
    return kept if kept != NONE and has_result(state.arms, kept) else largest_mean(state)


@kernel
def next_arm(state: AshState) -> int:
    """Return whose turn it is; NONE when the phase has asked for all its pulls, GROW when a new arm needs room."""
    scalars, place = state.scalars, state.arms.place
    if scalars[PHASE] == 0:
        while scalars[NEXT] < scalars[SEEN] or has_new(state):
            arm = scalars[NEXT]
            if arm == scalars[SEEN]:
                if short_of_arms(state):
                    return GROW
                admit(state)
            scalars[NEXT] += 1
            if place[arm] != WITHDRAWN:
                return arm
        return NONE
    while scalars[TURN] < 1 << scalars[PHASE]:
        while scalars[NEXT] < scalars[SIZE]:
            arm = state.standing[scalars[NEXT]]
            scalars[NEXT] += 1
            if place[arm] != WITHDRAWN:
                return arm
        scalars[NEXT] = 0
        scalars[TURN] += 1
    return NONE


@kernel
def end_phase(state: AshState) -> None:
    """Keep the better half of the arms. After a round of two, start again with all, or with a doubled subset."""
    scalars = state.scalars
    played = scalars[SEEN] if scalars[PHASE] == 0 else scalars[SIZE]
    left = 0
    for i in range(played):
        arm = i if scalars[PHASE] == 0 else state.standing[i]
        if state.arms.place[arm] != WITHDRAWN:
            state.standing[left] = arm
            state.mean[arm] = mean(state.arms, arm)
            left += 1
    scalars[NEXT] = 0
    scalars[TURN] = 0
    if left <= 2:  # noqa: PLR2004  # the two of the last phase
        scalars[PHASE] = 0
        if scalars[LEVEL] != ALL and left > 0:
            one, two = state.standing[0], state.standing[left - 1]
            scalars[KEPT] = two if has_larger_mean(state.arms, state.subset.luck, two, one) else one
        double(state)
    else:
        rank(state.standing, 0, left, state.mean, state.scratch, state.ties)
        scalars[SIZE] = (left + 1) // 2
        scalars[PHASE] += 1


@dataclass(frozen=True)
class AnytimeSequentialHalving(SubsetPolicy):
    """Anytime Sequential Halving: told nothing, and can be stopped at any time.

    Parameters
    ----------
    subset : str, default "all"
        "all": a pass begins with every arm. "doubling": with a random subset that doubles from pass to pass.

    """

    subset: str = "all"

    name: ClassVar[str] = "ash"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend, bound(amend, begin_record=admit, change=know))

    def empty(self, room: int) -> AshState:
        """Return a state with room for a number of arms."""
        return zeros(AshState, room, scalars=_SCALARS)

    def ranking(self, state: AshState, k: int | None = None) -> list[int]:
        """Return the recommended arm, then the others by mean."""
        best, arms = int(recommend(state)), super().ranking(state, k)
        return arms if best == NONE else [best, *(arm for arm in arms if arm != best)]
