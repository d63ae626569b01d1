"""EB-TCε (Jourdan, Degenne, Kaufmann 2023, "An ε-best-arm identification algorithm for fixed-confidence and beyond").

An anytime Top Two algorithm. After one pull of every arm, the leader B is the arm with the largest mean (EB). The
challenger is the arm i with the smallest (mean_B - mean_i + ε) / √(1/n_B + 1/n_i) (TC, the transportation cost of
Gaussian rewards; their variance cancels out). Leaders are tracked separately: in the rounds that an arm leads, it gets
a share β of the pulls, and the challengers get the rest. The arm with the largest mean is recommended.

ε is a slack in the units of rewards; the defaults 0.1 and β = ½ are for rewards of about unit size. The paper's
alternative to a fixed β (IDS) is for fixed confidence and is not implemented. Choices that the paper leaves open: ties
in cost are broken by the larger mean, then at random; pulls in flight count in n but not in the mean.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from boxthirding._checks import fraction, positive
from boxthirding._compile import bound, kernel
from boxthirding.policies.base_policy import zeros
from boxthirding.policies.rivals import subsets
from boxthirding.policies.rivals.subsets import SUBSET_SCALARS, Subset, admit, clear, has_new, know, record, withdraw
from boxthirding.policies.roster import SEEN, WITHDRAWN, Roster, amend, mean, short_of_arms
from boxthirding.policies.structures.tournament import Tournament, beats, best, play_all, player, set_value
from boxthirding.policies.structures.tournament import clear as clear_tournament
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

NEXT: Final = SUBSET_SCALARS  # all arms below it have a result, a pull in flight, or are withdrawn
_SCALARS = SUBSET_SCALARS + 1

EPSILON: Final = 0
BETA: Final = 1

NO_CHALLENGER: Final = 1 << 60
"""Pull count that stands for an arm that cannot be the challenger."""


class EBTCState(NamedTuple):
    """State with capacity for K arms."""

    scalars: Ints
    ties: Ints  # [6]
    tuning: Floats  # [2] ε and β
    arms: Roster
    subset: Subset
    leader: Tournament  # tournament tree over the means
    n: Ints  # [K] pulls, finished and in flight, of an arm with a result, else NO_CHALLENGER
    fewest: Ints  # [K] minimum of n below each inner node of `leader`
    led: Ints  # [K] L_i, rounds that the arm led
    own: Ints  # [K] N_i^i, pulls of the arm in these rounds


@kernel
def reset(state: EBTCState) -> None:
    """Forget every arm."""
    clear(state)
    state.scalars[NEXT] = 0
    clear_tournament(state.leader)
    state.n[:] = NO_CHALLENGER
    state.fewest[:] = NO_CHALLENGER


@kernel
def ask(state: EBTCState) -> tuple[int, int, int]:
    """Return (job, arm, number of pulls): an unpulled arm first, then the leader or its challenger."""
    arm = without_pull(state)
    if arm == NONE:
        arm = one_of_two(state)
    if arm == NONE and state.scalars[SEEN] < state.scalars[N_ARMS]:  # rather than wait, add one more arm
        arm = enter(state)
    if arm == GROW:
        return GROW, NONE, 0
    if arm == NONE:
        return WAIT, NONE, 0
    state.subset.out[arm] += 1
    count(state, arm)
    return arm, arm, 1


@kernel
def tell(state: EBTCState, job: int, times: int, total: float, squares: float) -> None:  # noqa: ARG001  # the contract's
    """Add `times` results with this sum and sum of squares to an arm."""
    record(state, job, times, total)
    play_again(state, job)


@kernel
def drop(state: EBTCState, arm: int) -> None:
    """Withdraw an arm."""
    if state.arms.place[arm] != WITHDRAWN:
        withdraw(state, arm)
        play_again(state, arm)


@kernel
def change(state: EBTCState, arm: int, times: int, total: float, squares: float) -> None:
    """Add the sums of `times` known, corrected or removed results to an arm."""
    know(state, arm, times, total, squares)
    play_again(state, arm)
    if state.arms.pulls[arm] == 0:
        state.scalars[NEXT] = min(state.scalars[NEXT], arm)


@kernel
def without_pull(state: EBTCState) -> int:
    """Return an arm without a pull; GROW if the state is full, or NONE if every arm has a pull."""
    scalars, arms = state.scalars, state.arms
    while scalars[NEXT] < scalars[SEEN]:
        arm = scalars[NEXT]
        if arms.pulls[arm] == 0 and state.subset.out[arm] == 0 and arms.place[arm] != WITHDRAWN:
            return arm
        scalars[NEXT] += 1
    return enter(state) if has_new(state) else NONE


@kernel
def enter(state: EBTCState) -> int:
    """Add the next arm and return it, or GROW if the state is full."""
    if short_of_arms(state):
        return GROW
    arm = admit(state)
    state.led[arm] = 0
    state.own[arm] = 0
    return arm


@kernel
def one_of_two(state: EBTCState) -> int:
    """Return the leader, or its challenger if the leader has had its share, or NONE if no arm has a result."""
    leader = best(state.leader)
    if leader == NONE:
        return NONE
    state.led[leader] += 1
    if state.own[leader] > state.tuning[BETA] * state.led[leader]:  # tracking: N_B^B ≤ β L_B pulls the leader
        challenger = least_cost(state, leader)
        if challenger != NONE:
            return challenger
    state.own[leader] += 1
    return leader


@kernel
def least_cost(state: EBTCState, leader: int) -> int:
    """Return the arm with the smallest transportation cost against the leader, or NONE if there is no other arm.

    Branch and bound from the root: skip a subtree if its lower bound (cost of its largest mean with its smallest n)
    exceeds the smallest cost found. If one arm attains both, the bound is exact, and the subtree need not be searched.
    """
    winner, means, arms = state.leader.winner, state.leader.value, len(state.n)
    challenger = NONE
    least = math.inf
    node = 1
    while node > 0:
        arm = player(winner, 0, arms, node)
        fewest = state.n[arm] if node >= arms else state.fewest[node]
        down = False
        if arm != NONE and fewest != NO_CHALLENGER:
            bound = cost(state, leader, means[arm], fewest)
            if bound <= least:
                down = node < arms and (arm == leader or state.n[arm] > fewest)
                if not down and arm != leader:
                    if bound < least or beats(means, state.subset.luck, arm, challenger):
                        challenger = arm
                    least = bound
        node = 2 * node if down else following(node)
    return challenger


@kernel
def following(node: int) -> int:
    """Return the next node in preorder that is not below this one, or 0."""
    while node & 1 == 1:
        node >>= 1
    return node + 1 if node > 0 else 0


@kernel
def cost(state: EBTCState, leader: int, mean: float, n: int) -> float:
    """Return (mean_B - mean + ε) / √(1/n_B + 1/n)."""
    return (state.leader.value[leader] - mean + state.tuning[EPSILON]) / math.sqrt(1.0 / state.n[leader] + 1.0 / n)


@kernel
def play_again(state: EBTCState, arm: int) -> None:
    """Update an arm's mean in the tournament, and its pull count."""
    set_value(state.leader, state.subset.luck, arm, mean(state.arms, arm))
    count(state, arm)


@kernel
def count(state: EBTCState, arm: int) -> None:
    """Update n of an arm and the minima above it."""
    pulls = state.arms.pulls[arm]
    n = pulls + state.subset.out[arm] if pulls > 0 else NO_CHALLENGER
    if state.n[arm] == n:
        return
    state.n[arm] = n
    node = (len(state.n) + arm) >> 1
    while node > 0:
        n = fewer(state, node)
        if state.fewest[node] == n:
            return
        state.fewest[node] = n
        node >>= 1


@kernel
def fewer(state: EBTCState, node: int) -> int:
    """Return the least n of a node's two children."""
    arms = len(state.n)
    one = state.fewest[2 * node] if 2 * node < arms else state.n[2 * node - arms]
    two = state.fewest[2 * node + 1] if 2 * node + 1 < arms else state.n[2 * node + 1 - arms]
    return min(one, two)


@dataclass(frozen=True)
class EBTC(subsets.SubsetPolicy):
    """EB-TCε, an anytime Top Two policy.

    Parameters
    ----------
    epsilon : float, default 0.1
        Slack, in the units of rewards: an arm within epsilon of the best counts as good enough; positive.
    beta : float, default 0.5
        The leader's share of the pulls, in (0, 1).
    subset : str, default "all"
        "all": every arm is pulled first. "doubling": a random subset of them that doubles.

    """

    epsilon: float = 0.1
    beta: float = 0.5
    subset: str = "all"

    name: ClassVar[str] = "ebtc"
    rule: ClassVar[Rule] = Rule(
        reset, ask, tell, drop, subsets.recommend, bound(amend, begin_record=enter, change=change)
    )

    def __post_init__(self) -> None:
        positive("epsilon", self.epsilon)
        fraction("beta", self.beta)
        super().__post_init__()

    def empty(self, room: int) -> EBTCState:
        """Return a state with capacity for `room` arms."""
        state = zeros(EBTCState, room, scalars=_SCALARS, tuning=2)
        state.tuning[:] = self.epsilon, self.beta
        return state

    def grown(self, state: EBTCState, larger: EBTCState) -> EBTCState:
        """Copy a state into a larger one, and rebuild both trees."""
        super().grown(state, larger)
        play_all(larger.leader, 0, len(larger.n), larger.subset.luck)
        for node in range(len(larger.n) - 1, 0, -1):
            larger.fewest[node] = fewer(larger, node)
        return larger
