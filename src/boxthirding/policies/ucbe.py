"""UCB-E (Audibert, Bubeck, Munos 2010, "Best arm identification in multi-armed bandits"); knows the budget.

One pull each, then the arm with the largest `mean + √(a / n)`; recommend the largest mean. The exploration a is your
own number, the paper's (25/36) (T - N) / H₁ from an oracle that knows the gaps, or the paper's adaptive estimate
T / Ĥ₂, renewed at the times t_k at which Successive Rejects would drop an arm.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._checks import is_number, not_negative, whole
from boxthirding._compile import kernel
from boxthirding.errors import InvalidInput
from boxthirding.policies.arrays import copied, zeros
from boxthirding.policies.treap import first, insert, member, next_above, next_below, remove
from boxthirding.streams import TIES, advance, spawn
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

SEEN: Final = 1  # numbers 0 … SEEN - 1 have been asked for
TOLD: Final = 2  # of them, how many have a result and are not withdrawn
ASKED: Final = 3  # pulls asked for: t
PHASE: Final = 4  # phases of the adaptive estimate that have begun
FIRST_GROUP: Final = 5  # the smallest n that an arm has
_SCALARS = 6

ALL: Final = 0
"""The tree of all arms with a result; tree n holds those whose pulls, told or in flight, are n."""

WITHDRAWN: Final = -1
"""Instead of the pulls of an arm that is gone."""


class State(NamedTuple):
    """K arms of room, T pulls; arms of equal n are ordered by mean alone, so a new a changes no order.

    Arm i is node 2 i in the tree of its n and node 2 i + 1 in the tree of all.
    """

    scalars: Ints
    ties: Ints  # [6]
    exploration: Floats  # [1] a
    phase_at: Ints  # [P] pulls asked for when a phase begins
    phase: Ints  # [P] its k
    budget: Ints  # [1] T
    pulls: Ints  # [K] pulls told
    out: Ints  # [K] pulls asked for and not told
    total: Floats  # [K]
    after: Ints  # [T + 2] the next larger n that an arm has, or NONE
    before: Ints  # [T + 2] the next smaller one
    root: Ints  # [T + 2]
    left: Ints  # [2 K]
    right: Ints  # [2 K]
    parent: Ints  # [2 K]
    size: Ints  # [2 K]
    champion: Ints  # [2 K]
    lower: Floats  # [2 K]
    upper: Floats  # [2 K]
    luck: Ints  # [2 K] the larger one wins a tie


@kernel
def reset(state: State) -> None:
    """Forget every arm."""
    for i in range(1, _SCALARS):
        state.scalars[i] = 0
    state.scalars[FIRST_GROUP] = NONE
    state.root[:] = NONE


@kernel
def ask(state: State) -> tuple[int, int, int]:
    """Return one pull of an arm not met yet, else of the one with the largest index."""
    scalars = state.scalars
    if scalars[SEEN] < scalars[N_ARMS]:
        if scalars[SEEN] == len(state.pulls):
            return GROW, NONE, 0
        arm = meet(state)
    else:
        renew(state)
        arm = boldest(state)
        if arm == NONE:
            return WAIT, NONE, 0
        leave_group(state, arm)
    scalars[ASKED] += 1
    state.out[arm] += 1
    if state.pulls[arm] > 0:
        join_group(state, arm)
    return arm, arm, 1


@kernel
def tell(state: State, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add a reward to its arm."""
    if state.pulls[job] > 0:
        leave_group(state, job)
        remove(state, ALL, 2 * job + 1)
    else:
        state.scalars[TOLD] += 1
    state.out[job] -= times
    state.pulls[job] += times
    state.total[job] += total
    join_group(state, job)
    insert(state, ALL, 2 * job + 1, state.total[job] / state.pulls[job], 0.0)


@kernel
def drop(state: State, arm: int) -> None:
    """Withdraw an arm."""
    if state.pulls[arm] == WITHDRAWN:
        return
    if state.pulls[arm] > 0:
        leave_group(state, arm)
        remove(state, ALL, 2 * arm + 1)
        state.scalars[TOLD] -= 1
    state.pulls[arm] = WITHDRAWN


@kernel
def recommend(state: State) -> int:
    """Return the arm with the largest mean."""
    node = first(state, ALL)
    return NONE if node == NONE else node // 2


@kernel
def meet(state: State) -> int:
    """Let the next arm in."""
    arm = state.scalars[SEEN]
    state.scalars[SEEN] += 1
    state.pulls[arm] = 0
    state.out[arm] = 0
    state.total[arm] = 0.0
    luck = advance(state.ties)
    state.luck[2 * arm] = luck
    state.luck[2 * arm + 1] = luck
    return arm


@kernel
def boldest(state: State) -> int:
    """Return the arm with the largest index: the best mean of each n, with that n's bonus."""
    best = NONE
    largest = -math.inf
    group = state.scalars[FIRST_GROUP]
    while group != NONE:
        node = first(state, group)
        index = state.lower[node] + math.sqrt(state.exploration[0] / group)
        if best == NONE or index > largest or (index == largest and state.luck[node] > state.luck[best]):
            best = node
            largest = index
        group = state.after[group]
    return NONE if best == NONE else best // 2


@kernel
def join_group(state: State, arm: int) -> None:
    """Put an arm with a result into the tree of its n; a pull in flight counts in n, not in the mean."""
    n = min(state.pulls[arm] + state.out[arm], len(state.root) - 1)
    if state.root[n] == NONE:  # an n that nobody had: link it behind the next smaller one, which is mostly n - 1
        smaller = n - 1
        while smaller > 0 and state.root[smaller] == NONE:
            smaller -= 1
        larger = state.scalars[FIRST_GROUP] if smaller == 0 else state.after[smaller]
        state.after[n] = larger
        state.before[n] = smaller
        if larger != NONE:
            state.before[larger] = n
        if smaller == 0:
            state.scalars[FIRST_GROUP] = n
        else:
            state.after[smaller] = n
    insert(state, n, 2 * arm, state.total[arm] / state.pulls[arm], 0.0)


@kernel
def leave_group(state: State, arm: int) -> None:
    """Take an arm out of the tree of its n."""
    n = min(state.pulls[arm] + state.out[arm], len(state.root) - 1)
    remove(state, n, 2 * arm)
    if state.root[n] == NONE:
        smaller, larger = state.before[n], state.after[n]
        if larger != NONE:
            state.before[larger] = smaller
        if smaller == 0:
            state.scalars[FIRST_GROUP] = larger
        else:
            state.after[smaller] = larger


@kernel
def renew(state: State) -> None:
    """Adapt a = T / Ĥ₂,k when phase k begins; Ĥ₂,0 is the number of arms."""
    scalars = state.scalars
    begun = scalars[PHASE]
    while scalars[PHASE] < len(state.phase_at) and state.phase_at[scalars[PHASE]] <= scalars[ASKED]:
        scalars[PHASE] += 1
    if scalars[PHASE] > begun:
        k = state.phase[scalars[PHASE] - 1]
        hardness = float(scalars[N_ARMS]) if k == 0 else worst_ratio(state, k)
        state.exploration[0] = state.budget[0] / hardness


@kernel
def worst_ratio(state: State, k: int) -> float:
    """Return the largest i Δ̂₍ᵢ₎⁻² over the k arms with the largest gaps, i counting from the smallest gap."""
    arms = state.scalars[TOLD]
    if arms == 0:
        return math.inf
    best = state.lower[first(state, ALL)]
    rank = max(2, arms - k + 1)
    node = member(state, ALL, rank)
    largest = 0.0
    while node != NONE:
        gap = best - state.lower[node]
        if gap * gap == 0.0:
            return math.inf
        largest = max(largest, rank / (gap * gap))
        right = state.right[node]
        behind = 0 if right == NONE else state.size[right]
        if behind > 0 and (rank + behind) / (gap * gap) > largest:
            node = next_below(state, node)
            rank += 1
        else:  # their gaps are larger, and the last of them has that rank: none beats the largest ratio so far
            node = next_above(state, node)
            rank += behind + 1
    return largest if largest > 0.0 else math.inf


@dataclass(frozen=True)
class UCBE:
    """UCB-E with a known budget; `exploration` is "adaptive", "oracle" (then `hardness` is H₁) or a number a ≥ 0."""

    budget: int
    exploration: float | str = "adaptive"
    hardness: float | None = None

    name: ClassVar[str] = "ucbe"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend)
    told: ClassVar[frozenset[str]] = frozenset({"budget", "hardness"})
    squares: ClassVar[bool] = False
    open_ended: ClassVar[bool] = False

    def __post_init__(self) -> None:
        whole("budget", self.budget, least=1)
        if isinstance(self.exploration, str):
            if self.exploration not in ("adaptive", "oracle"):
                raise InvalidInput(
                    f"exploration is {self.exploration!r}, but must be adaptive, oracle or a number of at least 0"
                )
        else:
            not_negative("exploration", self.exploration)
        if self.exploration == "oracle":
            if not (is_number(self.hardness) and (self.hardness or 0) > 0):
                raise InvalidInput(
                    f"hardness is {self.hardness!r}, but the oracle must be told H₁ > 0, the sum of 1 / gap²"
                )
        elif self.hardness is not None:
            raise InvalidInput(
                f"hardness is {self.hardness!r}, but only the oracle is told one: say exploration=oracle"
            )

    def new(self, n_arms: int, seed: int, capacity: int) -> State:
        """Return a state in which nothing has happened yet."""
        room = max(1, min(capacity, whole("the number of arms", n_arms, least=1)))
        phases = self.phases(n_arms) if self.exploration == "adaptive" else np.zeros((2, 0), np.int64)
        state = self._empty(room, phases)
        state.scalars[N_ARMS] = n_arms
        state.ties[:] = spawn(seed, 0, 1)[0, TIES]
        if self.exploration == "oracle":
            state.exploration[0] = max(0.0, 25 / 36 * (self.budget - n_arms) / (self.hardness or math.inf))
        elif not isinstance(self.exploration, str):
            state.exploration[0] = self.exploration
        return state

    def grow(self, state: State) -> State:
        """Return the same state with room for twice as many arms."""
        return copied(state, self._empty(2 * len(state.pulls), np.stack([state.phase_at, state.phase])))

    def ranking(self, state: State) -> list[int]:
        """Return the arms by mean."""
        arms = np.flatnonzero(state.pulls[: int(state.scalars[SEEN])] > 0)
        order = np.lexsort((-state.luck[2 * arms], -state.total[arms] / state.pulls[arms]))
        return [int(arm) for arm in arms[order]]

    def phases(self, n_arms: int) -> Ints:
        """Return when the phases of the adaptive estimate begin, and their k; empty ones are left out, [2, P]."""
        k = np.arange(1, n_arms)
        log_bar = 0.5 + np.sum(1 / np.arange(2, n_arms + 1))
        each = np.ceil(np.maximum(0, self.budget - n_arms) / (log_bar * (n_arms + 1 - k)) - 1e-12).astype(np.int64)
        begin = np.concatenate([[0], np.cumsum(each) - each + (n_arms - k + 1) * each])  # t_0, t_1, …
        until = np.append(begin[1:], self.budget)
        return np.stack([begin, np.arange(n_arms)])[:, until > begin]

    def _empty(self, room: int, phases: Ints) -> State:
        by_arm = {"pulls": room, "out": room, "total": room}
        by_pulls = dict.fromkeys(("after", "before", "root"), self.budget + 2)
        by_phase = dict.fromkeys(("phase_at", "phase"), len(phases[0]))
        state = zeros(State, 2 * room, scalars=_SCALARS, exploration=1, budget=1, **by_arm, **by_pulls, **by_phase)
        state.budget[0] = self.budget
        state.phase_at[:], state.phase[:] = phases
        reset(state)
        return state


def oracle_hardness(means: Floats) -> float:
    """Return H₁ = Σ Δᵢ⁻², the best arm counted at the smallest gap; infinite when the best arm is tied."""
    gaps = np.sort(means.max() - means)[1:]
    if len(gaps) == 0 or gaps[0] == 0:
        return math.inf
    return float(np.sum(gaps**-2.0) + gaps[0] ** -2.0)
