"""PROSE (Pilliat 2025): arms by lower bound, the boldest of ever more of them; anytime, but told the noise.

β and σ are the paper's; J, J_max and Z carry their names below; t numbers the pulls from 1. Among the Z arms with
the largest lower bound `mean - √(β σ² / n)` the one with the largest upper bound is pulled; Z sweeps from 1 to t on a
logarithmic scale, again and again, and brings in a new arm whenever it exceeds those seen.

With sigma="estimated" it is not told the noise but learns it, by the estimate of chase (noise.py): while there are too
few repeats the recommended arm is pulled again, and all bounds are renewed whenever the pulls have grown by a quarter.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._checks import not_negative, positive
from boxthirding._compile import bound, kernel
from boxthirding.errors import InvalidInput
from boxthirding.policies.base_policy import BasePolicy, zeros
from boxthirding.policies.noise import Noise, learn, too_few_repeats
from boxthirding.policies.noise import sigma as estimated_sigma
from boxthirding.policies.roster import (
    LIVE,
    ROSTER_SCALARS,
    SEEN,
    WITHDRAWN,
    Roster,
    add,
    admit,
    new_record,
    short_of_arms,
    withdraw,
)
from boxthirding.policies.roster import amend as amend_record
from boxthirding.policies.structures.sorting import in_order
from boxthirding.policies.structures.treap import Treap, champion_among, first, insert, refresh_path, remove
from boxthirding.rng import advance
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

ASKED: Final = ROSTER_SCALARS  # pulls asked for
SWEEP: Final = ROSTER_SCALARS + 1  # where the sweep of Z stands: J
OUT: Final = ROSTER_SCALARS + 2  # pulls asked for and not told
TOLD: Final = ROSTER_SCALARS + 3
NEXT_FIT: Final = ROSTER_SCALARS + 4  # how many pulls must be told for the next estimate of the noise
AMENDED: Final = ROSTER_SCALARS + 5  # results amended since the noise was last estimated
LEARNS: Final = ROSTER_SCALARS + 6  # 1 if the noise is estimated
_SCALARS = ROSTER_SCALARS + 7

AMENDED_SHARE: Final = 8  # after a batch that amended one result in eight, the noise is estimated again

_SLACK: Final = 1e-13  # a power that is an integer but for rounding is that integer: 343^(3/9) = 7

ESTIMATED: Final = "estimated"


class ProseState(NamedTuple):
    """K arms of room."""

    scalars: Ints
    ties: Ints  # [6]
    width: Floats  # [1] √β σ
    root_beta: Floats  # [1] √β
    arms: Roster
    out: Ints  # [K] pulls asked for and not told
    noise: Noise  # of all arms, also of those that are gone
    tree: Treap  # by lower bound, of the pulls told; in its upper, a pull in flight counts in n, not in the mean


@kernel
def reset(state: ProseState) -> None:
    """Forget every arm."""
    for i in range(1, LEARNS):
        state.scalars[i] = 0
    if state.scalars[LEARNS] == 1:
        state.width[0] = 0.0
    state.noise.repeats[0] = 0
    state.tree.root[0] = NONE


@kernel
def ask(state: ProseState) -> tuple[int, int, int]:
    """Move Z on, and pull a new arm if it has outgrown those seen, else the boldest of the first Z."""
    scalars, tree = state.scalars, state.tree
    unseen = scalars[N_ARMS] - scalars[SEEN]
    if short_of_arms(state):
        return GROW, NONE, 0
    if unseen == 0 and scalars[LIVE] == 0:
        return WAIT, NONE, 0
    if scalars[LEARNS] == 1 and too_few_repeats(state.noise.repeats[0], scalars[TOLD], scalars[OUT]):
        arm = recommend(state)
        if arm != NONE:
            return send(state, arm)
    t = scalars[ASKED] + 1
    j_max = bits(t)
    j = scalars[SWEEP] + 1 if scalars[SWEEP] < j_max else 1
    z = scope(t, j, j_max)
    arm = NONE
    if z <= scalars[LIVE] or unseen == 0:
        arm = champion_among(tree, 0, z)
        if tree.upper[arm] == -math.inf:  # its first pull is still in flight, and so is that of all of the first Z
            arm = NONE
            if unseen == 0:
                arm = champion_among(tree, 0, scalars[LIVE])
                if tree.upper[arm] == -math.inf:
                    return WAIT, NONE, 0
    if arm == NONE:
        arm = enter(state)
    scalars[SWEEP] = j
    return send(state, arm)


@kernel
def tell(state: ProseState, job: int, times: int, total: float, squares: float) -> None:
    """Add a reward to its arm and put it in its new place."""
    scalars, arms = state.scalars, state.arms
    remove(state.tree, 0, job)
    if scalars[LEARNS] == 1:
        learn(state.noise, job, arms.pulls[job], times, total, squares)
    scalars[TOLD] += times
    scalars[OUT] -= times
    state.out[job] -= times
    arms.pulls[job] += times
    arms.total[job] += total
    put_back(state, job)
    if scalars[LEARNS] == 1 and scalars[TOLD] >= scalars[NEXT_FIT]:
        estimate_noise(state)


@kernel
def drop(state: ProseState, arm: int) -> None:
    """Withdraw an arm."""
    if state.arms.place[arm] != WITHDRAWN:
        remove(state.tree, 0, arm)
        state.scalars[OUT] -= state.out[arm]
        withdraw(state, arm)


@kernel
def recommend(state: ProseState) -> int:
    """Return the arm with the largest lower bound."""
    arm = first(state.tree, 0)
    return arm if arm != NONE and state.arms.pulls[arm] > 0 else NONE


@kernel
def amend(state: ProseState, arm: int, times: int, total: float, squares: float) -> int:
    """Add sums to an arm and put it in its new place; one that was not met is met now, and so are those before it."""
    scalars = state.scalars
    if arm == NONE and scalars[LEARNS] == 1 and scalars[AMENDED] > 0:
        few = AMENDED_SHARE * scalars[AMENDED] < scalars[TOLD] < scalars[NEXT_FIT]
        if not few:
            estimate_noise(state)
    return change_record(state, arm, times, total, squares)


@kernel
def change(state: ProseState, arm: int, times: int, total: float, squares: float) -> None:
    """Add sums to an arm that is there."""
    if times == 0 and total == 0.0 and squares == 0.0:
        return
    scalars, pulls = state.scalars, state.arms.pulls[arm]
    remove(state.tree, 0, arm)
    if pulls + times >= 0 and (pulls > 0 or times > 0):
        learn(state.noise, arm, pulls, times, total, squares)
    scalars[ASKED] = max(0, scalars[ASKED] + times)
    scalars[TOLD] += times
    scalars[AMENDED] += max(1, abs(times))
    add(state.arms, arm, times, total)
    put_back(state, arm)


@kernel
def estimate_noise(state: ProseState) -> None:
    """Renew all bounds with what repeats say of the noise."""
    scalars = state.scalars
    scalars[NEXT_FIT] = scalars[TOLD] + max(1, scalars[TOLD] // 4)
    scalars[AMENDED] = 0
    state.width[0] = state.root_beta[0] * estimated_sigma(state.noise, state.arms.pulls, scalars[SEEN])
    renew(state)


@kernel
def enter(state: ProseState) -> int:
    """Add the next arm, with bounds ±∞."""
    arm = new_record(state, 0)
    state.out[arm] = 0
    state.tree.luck[arm] = advance(state.ties)
    insert(state.tree, 0, arm, -math.inf, math.inf)
    return admit(state)


change_record = bound(amend_record, begin_record=enter, change=change)
"""Change an arm's record, also of an arm that was not met."""


@kernel
def send(state: ProseState, arm: int) -> tuple[int, int, int]:
    """Hand out a pull."""
    state.scalars[ASKED] += 1
    state.scalars[OUT] += 1
    state.out[arm] += 1
    set_upper(state, arm)
    refresh_path(state.tree, arm)
    return arm, arm, 1


@kernel
def put_back(state: ProseState, arm: int) -> None:
    """Place an arm according to its bounds."""
    set_upper(state, arm)
    n = state.arms.pulls[arm]
    lower = state.arms.total[arm] / n - state.width[0] / math.sqrt(n) if n > 0 else -math.inf
    insert(state.tree, 0, arm, lower, state.tree.upper[arm])


@kernel
def renew(state: ProseState) -> None:
    """Update the place of every arm, because the noise estimate has changed."""
    state.tree.root[0] = NONE
    for arm in range(state.scalars[SEEN]):
        if state.arms.place[arm] != WITHDRAWN:
            put_back(state, arm)


@kernel
def set_upper(state: ProseState, arm: int) -> None:
    """Work out an arm's upper bound; one whose first pull is in flight is not asked for again."""
    pulls, out, upper = state.arms.pulls[arm], state.out[arm], state.tree.upper
    if pulls == 0:
        upper[arm] = -math.inf if out > 0 else math.inf
    else:
        upper[arm] = state.arms.total[arm] / pulls + state.width[0] / math.sqrt(pulls + out)


@kernel
def scope(t: int, j: int, j_max: int) -> int:
    """Return Z = ⌊t^(J/J_max)⌋."""
    return t if j == j_max else int(math.pow(float(t), j / j_max) * (1.0 + _SLACK))


@kernel
def bits(t: int) -> int:
    """Return ⌈log₂(t + 1)⌉."""
    count = 0
    while t >> count != 0:
        count += 1
    return count


@dataclass(frozen=True)
class Prose(BasePolicy):
    """PROSE: anytime, told the standard deviation of the noise, unless `sigma` is "estimated"."""

    sigma: float | str
    beta: float = 4.0

    name: ClassVar[str] = "prose"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend, amend)
    told: ClassVar[frozenset[str]] = frozenset({"sigma"})

    def __post_init__(self) -> None:
        if isinstance(self.sigma, str):
            if self.sigma != ESTIMATED:
                raise InvalidInput(f"sigma is {self.sigma!r}, but must be a number of at least 0, or {ESTIMATED}")
        else:
            not_negative("sigma", self.sigma)
        positive("beta", self.beta)

    def empty(self, room: int) -> ProseState:
        """Return a state with room for a number of arms."""
        state = zeros(ProseState, room, scalars=_SCALARS, root=1, repeats=1, width=1, root_beta=1)
        state.root_beta[0] = math.sqrt(self.beta)
        if isinstance(self.sigma, str):
            state.scalars[LEARNS] = 1
        else:
            state.width[0] = state.root_beta[0] * self.sigma
        return state

    def ranking(self, state: ProseState, k: int | None = None) -> list[int]:
        """Return the arms by lower bound."""
        seen = int(state.scalars[SEEN])
        arms = np.flatnonzero((state.arms.pulls[:seen] > 0) & (state.arms.place[:seen] != WITHDRAWN))
        return in_order(arms, state.tree.lower[arms], state.tree.luck[arms], k=k)
