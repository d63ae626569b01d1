"""UCB-E (Audibert, Bubeck, Munos 2010, "Best arm identification in multi-armed bandits"); knows the budget.

One pull each, then the arm with the largest `mean + √(a / n)`; recommend the largest mean. The exploration a is your
own number, the paper's (25/36) (T - N) / H₁ from an oracle that knows the gaps, or the paper's adaptive estimate
T / Ĥ₂, renewed at the times t_k at which Successive Rejects would drop an arm.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._checks import LARGEST_FLOAT, is_finite, not_negative, whole
from boxthirding._compile import kernel
from boxthirding.errors import InvalidInput
from boxthirding.policies.base_policy import BasePolicy, zeros
from boxthirding.policies.roster import ROSTER_SCALARS, SEEN, Roster, admit, mean, new_record, short_of_arms, withdraw
from boxthirding.policies.structures.sorting import in_order, sort
from boxthirding.policies.structures.tournament import Tournament, best, clear, play_all, set_value
from boxthirding.rng import advance
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

ASKED: Final = ROSTER_SCALARS  # pulls asked for: t
LATEST: Final = ROSTER_SCALARS + 1  # the arm asked for last, until it plays with its new n, or NONE
LARGEST: Final = ROSTER_SCALARS + 2  # the largest n
PHASE: Final = ROSTER_SCALARS + 3  # phases of the adaptive estimate that have begun
HARDEST: Final = ROSTER_SCALARS + 4  # the rank that had the worst ratio when the last one began
RANKED: Final = ROSTER_SCALARS + 5  # means in `ranked`
MOVED: Final = ROSTER_SCALARS + 6  # arms in `moved`
_SCALARS = ROSTER_SCALARS + 7

BLOCK: Final = 32
"""Ranks that are passed over together when none of them can have the worst ratio."""


class UCBEState(NamedTuple):
    """K arms of room, P phases."""

    scalars: Ints
    ties: Ints  # [6]
    exploration: Floats  # [1] a
    phase_at: Ints  # [P] pulls asked for when a phase begins
    phase: Ints  # [P] its k
    budget: Ints  # [1] T
    arms: Roster  # an arm that is gone has no pulls
    n: Ints  # [K] pulls told or in flight
    luck: Ints  # [K] the larger one wins a tie
    leader: Tournament  # of means, -∞ before the first result and after a withdrawal
    boldest: Tournament  # of indices, likewise
    bonus: Floats  # [K] √(a / n) for each n there was when a phase began, if they were fewer than arms
    ranked: Floats  # [K] the means in order, largest first, as of the last phase
    moved: Ints  # [K] the arms whose means have changed since
    has_moved: Ints  # [K] 1 for each of them
    before: Floats  # [K] the mean that it had, -∞ for none
    scratch: Ints  # [K] room for sorting


@kernel
def reset(state: UCBEState) -> None:
    """Forget every arm."""
    for i in range(1, _SCALARS):
        state.scalars[i] = 0
    state.scalars[LATEST] = NONE
    clear(state.leader)
    clear(state.boldest)
    state.has_moved[:] = 0


@kernel
def ask(state: UCBEState) -> tuple[int, int, int]:
    """Return one pull of an arm not met yet, else of the one with the largest index."""
    scalars = state.scalars
    if scalars[LATEST] != NONE:
        set_index(state, scalars[LATEST])
    if scalars[SEEN] < scalars[N_ARMS]:
        if short_of_arms(state):
            return GROW, NONE, 0
        arm = enter(state)
    else:
        renew(state)
        arm = best(state.boldest)
        if arm == NONE:
            return WAIT, NONE, 0
    scalars[ASKED] += 1
    state.n[arm] += 1
    scalars[LARGEST] = max(scalars[LARGEST], state.n[arm])
    scalars[LATEST] = arm  # with one worker its reward comes next, and it plays once instead of twice
    return arm, arm, 1


@kernel
def tell(state: UCBEState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add a reward to its arm."""
    state.arms.pulls[job] += times
    state.arms.total[job] += total
    set_mean(state, job, mean(state.arms, job))


@kernel
def drop(state: UCBEState, arm: int) -> None:
    """Withdraw an arm."""
    withdraw(state, arm)
    state.arms.pulls[arm] = 0
    set_mean(state, arm, -math.inf)


@kernel
def recommend(state: UCBEState) -> int:
    """Return the arm with the largest mean."""
    return best(state.leader)


@kernel
def enter(state: UCBEState) -> int:
    """Add the next arm."""
    arm = new_record(state, 0)
    state.n[arm] = 0
    state.luck[arm] = advance(state.ties)
    return admit(state)


@kernel
def set_mean(state: UCBEState, arm: int, value: float) -> None:
    """Update an arm's mean in the tournament."""
    if state.has_moved[arm] == 0:
        state.has_moved[arm] = 1
        state.before[arm] = state.leader.value[arm]
        state.moved[state.scalars[MOVED]] = arm
        state.scalars[MOVED] += 1
    set_value(state.leader, state.luck, arm, value)
    set_index(state, arm)


@kernel
def set_index(state: UCBEState, arm: int) -> None:
    """Update an arm's index in the tournament. Pulls in flight count in n but not in the mean."""
    index = state.leader.value[arm] + math.sqrt(state.exploration[0] / state.n[arm])
    set_value(state.boldest, state.luck, arm, index)
    if state.scalars[LATEST] == arm:
        state.scalars[LATEST] = NONE


@kernel
def renew(state: UCBEState) -> None:
    """Adapt a = T / Ĥ₂,k when phase k begins; Ĥ₂,0 is the number of arms."""
    scalars = state.scalars
    begun = scalars[PHASE]
    while scalars[PHASE] < len(state.phase_at) and state.phase_at[scalars[PHASE]] <= scalars[ASKED]:
        scalars[PHASE] += 1
    if scalars[PHASE] > begun:
        k = state.phase[scalars[PHASE] - 1]
        hardness = float(max(1, scalars[N_ARMS]) if k == 0 else worst_ratio(state, k))  # all arms may be withdrawn
        state.exploration[0] = min(float(state.budget[0]) / hardness, LARGEST_FLOAT)  # -∞ + ∞ would be no index
        renew_indices(state)
        play_all(state.boldest, 0, len(state.n), state.luck)


@kernel
def renew_indices(state: UCBEState) -> None:
    """Give every arm the index of a new exploration."""
    scalars, means, indices = state.scalars, state.leader.value, state.boldest.value
    if scalars[LARGEST] < scalars[SEEN]:  # then a square root for each n costs less than one for each arm
        for n in range(1, scalars[LARGEST] + 1):
            state.bonus[n] = math.sqrt(state.exploration[0] / n)
        for arm in range(scalars[SEEN]):
            indices[arm] = means[arm] + state.bonus[state.n[arm]]
    else:
        for arm in range(scalars[SEEN]):
            indices[arm] = means[arm] + math.sqrt(state.exploration[0] / state.n[arm])


@kernel
def worst_ratio(state: UCBEState, k: int) -> float:
    """Return the largest i Δ̂₍ᵢ₎⁻² over the k arms with the largest gaps, i counting from the smallest gap."""
    scalars = state.scalars
    rank_again(state)
    arms = scalars[RANKED]
    start = max(2, arms - k + 1)
    largest = 0.0
    if start <= scalars[HARDEST] <= arms:  # mostly it still is, and then few blocks need a look
        largest = ratio(state, scalars[HARDEST], scalars[HARDEST])
    for first in range(start, arms + 1, BLOCK):
        last = min(first + BLOCK - 1, arms)
        if ratio(state, last, first) > largest:  # no i of the block is larger, no gap smaller
            for i in range(first, last + 1):
                if ratio(state, i, i) > largest:
                    largest = ratio(state, i, i)
                    scalars[HARDEST] = i
    return largest if largest > 0.0 else math.inf


@kernel
def rank_again(state: UCBEState) -> None:
    """Bring `ranked` up to date: cheap when few means have changed."""
    scalars, ranked, moved, means = state.scalars, state.ranked, state.moved, state.leader.value
    sort(moved, 0, scalars[MOVED], state.before, state.scratch)
    gone = 0
    for i in range(scalars[RANKED]):
        if gone < scalars[MOVED] and ranked[i] == state.before[moved[gone]]:
            gone += 1
        else:
            ranked[i - gone] = ranked[i]
    above = scalars[RANKED] - gone
    sort(moved, 0, scalars[MOVED], means, state.scratch)
    new = 0
    for i in range(scalars[MOVED]):
        state.has_moved[moved[i]] = 0
        if means[moved[i]] > -math.inf:
            new += 1
    scalars[MOVED] = 0
    scalars[RANKED] = above + new
    for waiting in range(new, 0, -1):  # the smallest first: those below it make way for all that are waiting
        value = means[moved[waiting - 1]]
        while above > 0 and ranked[above - 1] < value:
            ranked[above - 1 + waiting] = ranked[above - 1]
            above -= 1
        ranked[above - 1 + waiting] = value


@kernel
def ratio(state: UCBEState, i: int, rank: int) -> float:
    """Return i Δ̂⁻² for the gap at a rank, counted from 1."""
    gap = state.ranked[0] - state.ranked[rank - 1]
    return i / (gap * gap) if gap * gap > 0.0 else math.inf


@dataclass(frozen=True)
class UCBE(BasePolicy):
    """UCB-E with a known budget; `exploration` is "adaptive", "oracle" (then `hardness` is H₁) or a number a ≥ 0."""

    budget: int
    exploration: float | str = "adaptive"
    hardness: float | None = None

    name: ClassVar[str] = "ucbe"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend)
    told: ClassVar[frozenset[str]] = frozenset({"budget", "hardness"})
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
            if not _is_hardness(self.hardness):
                raise InvalidInput(
                    f"hardness is {self.hardness!r}, but the oracle must be told H₁ > 0, the sum of 1 / gap²"
                )
        elif self.hardness is not None:
            raise InvalidInput(
                f"hardness is {self.hardness!r}, but only the oracle is told one: say exploration=oracle"
            )

    def new(self, n_arms: int, seed: int, capacity: int) -> UCBEState:
        """Return a state in which nothing has happened yet."""
        room = max(1, min(capacity, whole("the number of arms", n_arms, least=1)))
        phases = self.phases(n_arms) if self.exploration == "adaptive" else np.zeros((2, 0), np.int64)
        state = self.begun(self.planned(room, phases), n_arms, seed)
        if self.exploration == "oracle":
            spare = 25 / 36 * max(0, self.budget - n_arms)
            state.exploration[0] = min(spare / float(self.hardness or math.inf), LARGEST_FLOAT)
        elif not isinstance(self.exploration, str):
            state.exploration[0] = self.exploration
        return state

    def planned(self, room: int, phases: Ints) -> UCBEState:
        """Return a state with room for a number of arms, and with its phases."""
        by_phase = dict.fromkeys(("phase_at", "phase"), len(phases[0]))
        state = zeros(UCBEState, room, scalars=_SCALARS, exploration=1, budget=1, **by_phase)
        state.budget[0] = self.budget
        state.phase_at[:], state.phase[:] = phases
        return state

    def grow(self, state: UCBEState) -> UCBEState:
        """Return the same state with room for twice as many arms."""
        phases = np.stack([state.phase_at, state.phase])
        larger = self.grown(state, self.planned(2 * len(state.n), phases))
        play_all(larger.leader, 0, len(larger.n), larger.luck)
        play_all(larger.boldest, 0, len(larger.n), larger.luck)
        return larger

    def ranking(self, state: UCBEState, k: int | None = None) -> list[int]:
        """Return the arms by mean."""
        pulls = state.arms.pulls
        arms = np.flatnonzero(pulls[: int(state.scalars[SEEN])] > 0)
        return in_order(arms, state.arms.total[arms] / pulls[arms], state.luck[arms], k=k)

    def phases(self, n_arms: int) -> Ints:
        """Return when the phases of the adaptive estimate begin, and their k; empty ones are left out, [2, P]."""
        k = np.arange(1, n_arms)
        log_bar = 0.5 + np.sum(1 / np.arange(2, n_arms + 1))
        each = np.ceil(np.maximum(0, self.budget - n_arms) / (log_bar * (n_arms + 1 - k)) - 1e-12).astype(np.int64)
        begin = np.concatenate([[0], np.cumsum(each) - each + (n_arms - k + 1) * each])  # t_0, t_1, …
        lasts = np.append(np.diff(begin) > 0, True)  # the last one begins before T: a ceiling adds less than 1
        return np.stack([begin, np.arange(n_arms)])[:, lasts]


def oracle_hardness(means: Floats) -> float:
    """Return H₁ = Σ Δᵢ⁻², the best arm counted at the smallest gap; infinite when the best arm is tied."""
    gaps = np.sort(means.max() - means)[1:]
    if len(gaps) == 0 or gaps[0] == 0:
        return math.inf
    with np.errstate(over="ignore"):  # so near a tie that it is one
        return float(np.sum(gaps**-2.0) + gaps[0] ** -2.0)


def _is_hardness(value: float | None) -> bool:
    return value == math.inf or (value is not None and is_finite(value) and value > 0)
