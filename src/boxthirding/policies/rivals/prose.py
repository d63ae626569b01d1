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
from boxthirding._compile import kernel
from boxthirding.errors import InvalidInput
from boxthirding.policies.base_policy import BasePolicy, zeros
from boxthirding.policies.noise import learn, more_repeats, too_few_repeats
from boxthirding.policies.noise import sigma as estimated_sigma
from boxthirding.policies.structures.sorting import in_order
from boxthirding.policies.structures.treap import champion_among, first, insert, refresh_path, remove
from boxthirding.rng import advance
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

SEEN: Final = 1  # numbers 0 … SEEN - 1 have been asked for
LIVE: Final = 2  # of them, how many are not withdrawn
ASKED: Final = 3  # pulls asked for
SWEEP: Final = 4  # where the sweep of Z stands: J
OUT: Final = 5  # pulls asked for and not told
TOLD: Final = 6
NEXT_FIT: Final = 7  # how many pulls must be told for the next estimate of the noise
REPEATS: Final = 8  # results of arms that had one before
AMENDED: Final = 9  # results amended since the noise was last estimated
LEARNS: Final = 10  # 1 if the noise is estimated
_SCALARS = 11

AMENDED_SHARE: Final = 8  # after a batch that amended one result in eight, the noise is estimated again

_SLACK: Final = 1e-13  # a power that is an integer but for rounding is that integer: 343^(3/9) = 7

ESTIMATED: Final = "estimated"

WITHDRAWN: Final = -1
"""Instead of the pulls in flight of an arm that is gone; its results stay part of the noise."""


class ProseState(NamedTuple):
    """K arms of room; root to luck are a treap of the arms seen, by lower bound."""

    scalars: Ints
    ties: Ints  # [6]
    width: Floats  # [1] √β σ
    root_beta: Floats  # [1] √β
    pulls: Ints  # [K] pulls told
    out: Ints  # [K] pulls asked for and not told, or WITHDRAWN
    total: Floats  # [K]
    base: Floats  # [K] base to reach: what noise.py keeps
    apart: Floats  # [K]
    around: Floats  # [K]
    reach: Floats  # [K]
    root: Ints  # [1]
    left: Ints  # [K]
    right: Ints  # [K]
    parent: Ints  # [K]
    weight: Ints  # [K]
    champion: Ints  # [K]
    lower: Floats  # [K] from the pulls told
    upper: Floats  # [K] from those in flight too: a pull in flight counts in n, not in the mean
    luck: Ints  # [K] drawn once for each arm: the larger one wins a tie


@kernel
def reset(state: ProseState) -> None:
    """Forget every arm."""
    for i in range(1, LEARNS):
        state.scalars[i] = 0
    if state.scalars[LEARNS] == 1:
        state.width[0] = 0.0
    state.root[0] = NONE


@kernel
def ask(state: ProseState) -> tuple[int, int, int]:
    """Move Z on, and pull a new arm if it has outgrown those seen, else the boldest of the first Z."""
    scalars = state.scalars
    unseen = scalars[N_ARMS] - scalars[SEEN]
    if unseen > 0 and scalars[SEEN] == len(state.pulls):
        return GROW, NONE, 0
    if unseen == 0 and scalars[LIVE] == 0:
        return WAIT, NONE, 0
    if scalars[LEARNS] == 1 and too_few_repeats(scalars[REPEATS], scalars[TOLD], scalars[OUT]):
        arm = recommend(state)
        if arm != NONE:
            return send(state, arm)
    t = scalars[ASKED] + 1
    j_max = bits(t)
    j = scalars[SWEEP] + 1 if scalars[SWEEP] < j_max else 1
    z = scope(t, j, j_max)
    arm = NONE
    if z <= scalars[LIVE] or unseen == 0:
        arm = champion_among(state, 0, z)
        if state.upper[arm] == -math.inf:  # its first pull is still in flight, and so is that of all of the first Z
            arm = NONE
            if unseen == 0:
                arm = champion_among(state, 0, scalars[LIVE])
                if state.upper[arm] == -math.inf:
                    return WAIT, NONE, 0
    if arm == NONE:
        arm = admit(state)
    scalars[SWEEP] = j
    return send(state, arm)


@kernel
def tell(state: ProseState, job: int, times: int, total: float, squares: float) -> None:
    """Add a reward to its arm and put it in its new place."""
    scalars = state.scalars
    remove(state, 0, job)
    if scalars[LEARNS] == 1:
        scalars[REPEATS] += more_repeats(state.pulls[job], times)
        learn(state, job, times, total, squares)
    scalars[TOLD] += times
    scalars[OUT] -= times
    state.out[job] -= times
    state.pulls[job] += times
    state.total[job] += total
    put_back(state, job)
    if scalars[LEARNS] == 1 and scalars[TOLD] >= scalars[NEXT_FIT]:
        estimate_noise(state)


@kernel
def drop(state: ProseState, arm: int) -> None:
    """Withdraw an arm."""
    if state.out[arm] != WITHDRAWN:
        remove(state, 0, arm)
        state.scalars[OUT] -= state.out[arm]
        state.out[arm] = WITHDRAWN
        state.scalars[LIVE] -= 1


@kernel
def recommend(state: ProseState) -> int:
    """Return the arm with the largest lower bound."""
    arm = first(state, 0)
    return arm if arm != NONE and state.pulls[arm] > 0 else NONE


@kernel
def amend(state: ProseState, arm: int, times: int, total: float, squares: float) -> int:
    """Add sums to an arm and put it in its new place; one that was not met is met now, and so are those before it."""
    scalars = state.scalars
    if arm == NONE:
        few = AMENDED_SHARE * scalars[AMENDED] < scalars[TOLD] < scalars[NEXT_FIT]
        if scalars[LEARNS] == 1 and scalars[AMENDED] > 0 and not few:
            estimate_noise(state)
        return 0
    while scalars[SEEN] <= arm:
        if scalars[SEEN] == len(state.pulls):
            return GROW
        admit(state)
    if state.out[arm] == WITHDRAWN or (times == 0 and total == 0.0 and squares == 0.0):
        return 0
    remove(state, 0, arm)
    if state.pulls[arm] + times >= 0 and (state.pulls[arm] > 0 or times > 0):
        scalars[REPEATS] += more_repeats(state.pulls[arm], times)
        learn(state, arm, times, total, squares)
    scalars[ASKED] = max(0, scalars[ASKED] + times)
    scalars[TOLD] += times
    scalars[AMENDED] += max(1, abs(times))
    state.pulls[arm] += times
    state.total[arm] += total
    if state.pulls[arm] <= 0:
        state.pulls[arm] = 0
        state.total[arm] = 0.0
    put_back(state, arm)
    return 0


@kernel
def estimate_noise(state: ProseState) -> None:
    """Renew all bounds with what repeats say of the noise."""
    scalars = state.scalars
    scalars[NEXT_FIT] = scalars[TOLD] + max(1, scalars[TOLD] // 4)
    scalars[AMENDED] = 0
    state.width[0] = state.root_beta[0] * estimated_sigma(state, scalars[SEEN], scalars[REPEATS])
    renew(state)


@kernel
def admit(state: ProseState) -> int:
    """Let the next arm in, with bounds ±∞."""
    arm = state.scalars[SEEN]
    state.scalars[SEEN] += 1
    state.scalars[LIVE] += 1
    state.pulls[arm] = 0
    state.out[arm] = 0
    state.total[arm] = 0.0
    state.luck[arm] = advance(state.ties)
    insert(state, 0, arm, -math.inf, math.inf)
    return arm


@kernel
def send(state: ProseState, arm: int) -> tuple[int, int, int]:
    """Hand out a pull."""
    state.scalars[ASKED] += 1
    state.scalars[OUT] += 1
    state.out[arm] += 1
    set_upper(state, arm)
    refresh_path(state, arm)
    return arm, arm, 1


@kernel
def put_back(state: ProseState, arm: int) -> None:
    """Put an arm in the place that its bounds give it."""
    set_upper(state, arm)
    n = state.pulls[arm]
    lower = state.total[arm] / n - state.width[0] / math.sqrt(n) if n > 0 else -math.inf
    insert(state, 0, arm, lower, state.upper[arm])


@kernel
def renew(state: ProseState) -> None:
    """Update the place of every arm, because the noise estimate has changed."""
    state.root[0] = NONE
    for arm in range(state.scalars[SEEN]):
        if state.out[arm] != WITHDRAWN:
            put_back(state, arm)


@kernel
def set_upper(state: ProseState, arm: int) -> None:
    """Work out an arm's upper bound; one whose first pull is in flight is not asked for again."""
    if state.pulls[arm] == 0:
        state.upper[arm] = -math.inf if state.out[arm] > 0 else math.inf
    else:
        n = state.pulls[arm] + state.out[arm]
        state.upper[arm] = state.total[arm] / state.pulls[arm] + state.width[0] / math.sqrt(n)


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
        state = zeros(ProseState, room, scalars=_SCALARS, root=1, width=1, root_beta=1)
        state.root_beta[0] = math.sqrt(self.beta)
        if isinstance(self.sigma, str):
            state.scalars[LEARNS] = 1
        else:
            state.width[0] = state.root_beta[0] * self.sigma
        return state

    def ranking(self, state: ProseState, k: int | None = None) -> list[int]:
        """Return the arms by lower bound."""
        seen = int(state.scalars[SEEN])
        arms = np.flatnonzero((state.pulls[:seen] > 0) & (state.out[:seen] != WITHDRAWN))
        return in_order(arms, state.lower[arms], state.luck[arms], k=k)
