"""Chase, the default: arms are pulled on as long as they keep up with the leader.

It is told neither the budget nor the noise, and has nothing to tune.

    1. New arms are pulled once.
    2. The chase. An arm with n results keeps up while its mean - 0.3 σ/√n is at least the leader's mean (9). The one
       with the largest such value gets half as many pulls as it has had, rounded up. Only the final pulls the leader.
       When no arm keeps up, a new one is tried.
    3. Noise. σ² is the pooled variance within arms. While arms are untried and repeats of the final, those in flight
       included, number at most log₂(t) - 2 after t results, the leader is pulled again, before all else.
    4. Spread. ρ = σ/τ is the noise in units of what sets arms apart, by maximum likelihood of all means: those of arms
       with n pulls have variance τ² + σ²/n around m, the mean over arms of their first job's mean, and ln ρ is normal
       around ln 5 with deviation 1. Starting from 5, ρ moves in steps of 1.25, and stops below 2.
    5. The final, of all arms. Three pulls of the chase, or of new arms, earn it two, which go before the chase.
    6. Its turns. Among the k arms with the largest mean - 2σ/√n, the one with the largest mean + σ/√n is pulled;
       k = 1, 2, 4, … until it covers all arms, then 1 again. A pull in flight counts in the latter n. Equals are told
       apart by a number drawn when an arm is tried.
    7. When no arm's upper bound exceeds the largest lower bound by more than σ/3, the answer is clear: the final loses
       what it has earned, and the chase goes on.
    8. When every arm has been tried, the chase ends; the final needs no earning, and the upper bound is mean + 2σ/√n.
       Arms that are added open the chase again.
    9. The leader, which is also the answer, has the largest m + (mean - m) n/(n + k) - 2σ/√(n + k), k = (ρ/1.8)², over
       all arms; without noise, the largest mean.
    10. Fits. σ, m and ρ are computed again at the end of a job when results have doubled, and at the end of a batch of
        amendments when these are an eighth of the results.
    11. Outliers. When n results of an arm add more than (20² + 10 n) σ² to its squared distances, the one that explains
        them is excluded; with one result before, the one further from m. At a fit every arm is judged by a variance
        that seven arms in eight do not exceed. A single result more than 20σ above m is repeated before all else, if
        its arm is the leader. Of an arm, at most one result in eight is excluded, or its first. Nothing is judged while
        fewer than eight arms have repeats, or if the results of most of these never differ.

Rewards are counted from the first one and compared with each other only, so neither their unit nor their zero matters.
chase_final.py has rules 4, 6, 10 and 11, noise.py rule 3. docs/chase.md has what each rule is worth.
A pull that an arm has in the chase, or its first one, is of the job 2 · arm; its pulls in the final are of 2 · arm + 1.
`facts[RATIO]` is ρ, `facts[CENTRE]` is m.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from boxthirding._compile import bound, kernel
from boxthirding.policies.base_policy import BasePolicy, zeros
from boxthirding.policies.chase_final import (
    ALL_MET,
    CENTRE,
    CREDIT,
    N_FACTS,
    N_OUTLIERS,
    N_SCALARS,
    NEXT_FIT,
    ORIGIN,
    OUT,
    OWN,
    RATIO,
    SIGMA,
    TOLD,
    TYPICAL_RATIO,
    ChaseState,
    count_sent,
    fit_is_due,
    from_origin,
    is_unbelievable,
    learn_amended,
    learn_anew,
    lower_bound,
    next_in_turn,
    seat,
    take_in,
    upper_bound,
)
from boxthirding.policies.noise import too_few_repeats
from boxthirding.policies.roster import (
    KNOWN,
    SEEN,
    WITHDRAWN,
    add_known,
    collect,
    has_result,
    mean,
    new_record,
    open_job,
    short_of_arms,
)
from boxthirding.policies.roster import amend as amend_record
from boxthirding.policies.structures.sorting import in_order
from boxthirding.policies.structures.tournament import best, play_all, play_first, runner_up, set_value
from boxthirding.policies.structures.treap import build, first
from boxthirding.rng import advance
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Rule

LEAD: Final = 0.3  # standard errors above the leader that an arm must be to keep up
EARNED: Final = 2  # by a pull of the chase
PRICE: Final = 3  # of a pull in the final
CLEAR: Final = 1 / 3  # of σ
CAUTION: Final = 2.0  # standard errors below the shrunk mean
FARTHER: Final = 1.8  # the best arms are farther out than ρ says, which is of all arms


@kernel
def reset(state: ChaseState) -> None:
    """Forget every arm."""
    for i in range(1, N_SCALARS):
        state.scalars[i] = 0
    state.facts[:] = 0.0
    state.facts[RATIO] = TYPICAL_RATIO
    state.noise.repeats[0] = 0
    state.tree.root[0] = NONE
    state.sent[0] = NONE
    state.leader.value[:] = -math.inf
    state.chaser.value[:] = -math.inf
    play_both(state)


@kernel
def ask(state: ChaseState) -> tuple[int, int, int]:
    """Pull a finalist whose turn it is, or an arm that keeps up with the leader, or a new one."""
    scalars = state.scalars
    pass_over_known(state)
    if short_of_arms(state):
        return GROW, NONE, 0
    all_met = 1 if scalars[SEEN] == scalars[N_ARMS] else 0
    if all_met != scalars[ALL_MET]:  # rule 8, and back when arms are added
        scalars[ALL_MET] = all_met
        draw_up(state)
    count_sent(state)
    arm = best(state.chaser)
    if arm == NONE or state.chaser.value[arm] < math.inf:
        arm = next_finalist(state)
        if arm != NONE:
            return 2 * arm + 1, arm, send(state, arm)
        arm = next_chaser(state)
        if arm == NONE:
            if all_met == 1:
                return WAIT, NONE, 0
            arm = scalars[SEEN]
            if arm == scalars[KNOWN]:
                begin_record(state)
            scalars[SEEN] = arm + 1
    due = max(1, (state.arms.pulls[arm] + 1) // 2)
    open_job(state.jobs, arm, due)
    scalars[CREDIT] += EARNED * due
    set_value(state.chaser, state.tree.luck, arm, merit_of(state, arm))
    return 2 * arm, arm, due


@kernel
def tell(state: ChaseState, job: int, times: int, total: float, squares: float) -> None:
    """Count rewards from the first one; those of the chase are kept apart until the last one of their job is in."""
    scalars = state.scalars
    total, squares = from_origin(state, times, total, squares)
    if times == 1:  # without the rounding of what was subtracted
        squares = total * total
    scalars[TOLD] += times
    scalars[OWN] += times
    arm = job // 2
    if job % 2 == 1:
        scalars[OUT] -= times
        state.out[arm] -= times
        take_in(state, arm, times, total, squares)
    else:
        jobs = state.jobs
        state.new_squares[arm] += squares
        if not collect(jobs, arm, times, total):
            return
        times, total, squares = jobs.pulls[arm], jobs.total[arm], state.new_squares[arm]
        open_job(state.jobs, arm, 0)
        state.new_squares[arm] = 0.0
        if times > 0:  # else all of them were taken out again
            take_in(state, arm, times, total, squares)
    rate(state, arm)
    if scalars[TOLD] >= scalars[NEXT_FIT]:
        fit(state)


@kernel
def drop(state: ChaseState, arm: int) -> None:
    """Withdraw an arm from the chase, from the final and from the answer."""
    if state.arms.place[arm] == WITHDRAWN:
        return
    state.arms.place[arm] = WITHDRAWN
    open_job(state.jobs, arm, 0)
    state.new_squares[arm] = 0.0
    state.scalars[OUT] -= state.out[arm]
    state.out[arm] = 0
    rate(state, arm)


@kernel
def recommend(state: ChaseState) -> int:
    """Return the leader (rule 9)."""
    return best(state.leader)


@kernel
def amend(state: ChaseState, arm: int, times: int, total: float, squares: float) -> int:
    """Add sums to an arm's record and update its score; σ, m and ρ follow at the end of a batch, if it was large."""
    if arm == NONE and fit_is_due(state):
        fit(state)
    return change_record(state, arm, times, total, squares)


@kernel
def change(state: ChaseState, arm: int, times: int, total: float, squares: float) -> None:
    """Add sums to the record of an arm that is there."""
    if times == 0 and total == 0.0 and squares == 0.0:
        return
    total, squares = learn_amended(state, arm, times, total, squares)
    if state.arms.pulls[arm] + times <= 0 and state.jobs.due[arm] > 0:
        state.new_squares[arm] += squares
    add_known(state.arms, state.jobs, arm, times, total)
    rate(state, arm)


@kernel
def next_finalist(state: ChaseState) -> int:
    """Return the finalist to pull now, or NONE if the chase continues."""
    scalars = state.scalars
    leader = recommend(state)
    if leader == NONE:
        return NONE
    if is_unbelievable(state, leader):
        return leader
    if scalars[ALL_MET] == 0:
        if too_few_repeats(state.noise.repeats[0], scalars[TOLD], scalars[OUT]):  # rule 3
            return leader
        if scalars[CREDIT] < PRICE:
            return NONE
        tree = state.tree
        boldest = tree.champion[tree.root[0]]
        if tree.upper[boldest] <= tree.lower[first(tree, 0)] + CLEAR * state.facts[SIGMA]:  # rule 7
            scalars[CREDIT] = 0
            return NONE
    return next_in_turn(state)


@kernel
def next_chaser(state: ChaseState) -> int:
    """Return the arm that is furthest ahead of the leader by its merit, or NONE if none keeps up (rule 2)."""
    leader = recommend(state)
    if leader == NONE:
        return NONE
    arm = best(state.chaser)
    if arm == leader:
        arm = runner_up(state.chaser, 0, len(state.chaser.value), state.tree.luck)
    return arm if arm != NONE and state.chaser.value[arm] >= mean(state.arms, leader) else NONE


@kernel
def send(state: ChaseState, arm: int) -> int:
    """Hand out one pull in the final."""
    state.scalars[CREDIT] = max(0, state.scalars[CREDIT] - PRICE)
    state.scalars[OUT] += 1
    state.out[arm] += 1
    state.sent[0] = arm
    return 1


@kernel
def pass_over_known(state: ChaseState) -> None:
    """Leave out those of the next numbers that need no first pull: something was known of them before."""
    scalars = state.scalars
    while scalars[SEEN] < scalars[KNOWN]:
        arm = scalars[SEEN]
        known = state.arms.pulls[arm] + state.jobs.due[arm] + state.out[arm]
        if known == 0 and state.arms.place[arm] != WITHDRAWN:
            return
        scalars[SEEN] = arm + 1


@kernel
def begin_record(state: ChaseState) -> None:
    """Create an empty record for the next arm without one."""
    arm = new_record(state, 0)
    state.tree.luck[arm] = advance(state.ties)
    open_job(state.jobs, arm, 0)
    state.new_squares[arm] = 0.0
    state.out[arm] = 0
    state.finalist[arm] = 0
    state.amended[arm] = 0
    state.amended_total[arm] = 0.0
    state.n_outliers[arm] = 0
    state.outlier[arm] = 0.0


change_record = bound(amend_record, begin_record=begin_record, change=change)
"""Change an arm's record, also of an arm that has none yet."""


@kernel
def rate(state: ChaseState, arm: int) -> None:
    """Work out an arm's bounds, score and merit, and give it its place in the final, if it has one."""
    seat(state, arm, has_result(state.arms, arm))
    set_value(state.leader, state.tree.luck, arm, score_of(state, arm))
    set_value(state.chaser, state.tree.luck, arm, merit_of(state, arm))


@kernel
def score_of(state: ChaseState, arm: int) -> float:
    """Return the lower bound of an arm's shrunk mean (rule 9)."""
    facts, arms = state.facts, state.arms
    if not has_result(arms, arm):
        return -math.inf
    score = mean(arms, arm)
    if facts[SIGMA] > 0.0:
        n = float(arms.pulls[arm])
        known = n + prior_pulls(state)
        shrunk = facts[CENTRE] + (score - facts[CENTRE]) * (n / known)
        score = shrunk - CAUTION * facts[SIGMA] / math.sqrt(known)
    return score


@kernel
def prior_pulls(state: ChaseState) -> float:
    """Return how many pulls of an arm the prior mean m counts as (rule 9)."""
    ratio = state.facts[RATIO] / FARTHER
    return ratio * ratio


@kernel
def merit_of(state: ChaseState, arm: int) -> float:
    """Return an arm's merit (rule 2); one whose results were all taken out is pulled before all others."""
    arms = state.arms
    if arms.place[arm] == WITHDRAWN or state.jobs.due[arm] > 0:
        return -math.inf
    n = arms.pulls[arm]
    if n == 0:
        return math.inf if arm < state.scalars[SEEN] and state.out[arm] == 0 else -math.inf
    deviation = state.facts[SIGMA]
    if deviation == 0.0 or state.scalars[ALL_MET] == 1:
        return -math.inf
    return mean(arms, arm) - LEAD * deviation / math.sqrt(n)


@kernel
def fit(state: ChaseState) -> None:
    """Refit σ, m and ρ, and update every bound, score and merit (rule 10)."""
    learn_anew(state)
    draw_up(state)


@kernel
def draw_up(state: ChaseState) -> None:
    """Seat all arms, and update their scores."""
    known, tree, leader, chaser = state.scalars[KNOWN], state.tree, state.leader, state.chaser
    chain = NONE
    for arm in range(known):
        state.finalist[arm] = 0
        if has_result(state.arms, arm):
            state.finalist[arm] = 1
            tree.lower[arm], tree.upper[arm] = lower_bound(state, arm), upper_bound(state, arm)
            tree.right[arm] = chain
            chain = arm
        leader.value[arm] = score_of(state, arm)
        chaser.value[arm] = merit_of(state, arm)
    build(tree, 0, chain)
    play_first(leader, 0, len(leader.value), known, tree.luck)
    play_first(chaser, 0, len(chaser.value), known, tree.luck)


@kernel
def play_both(state: ChaseState) -> None:
    """Find the leader, and who is furthest ahead by merit."""
    play_all(state.leader, 0, len(state.leader.value), state.tree.luck)
    play_all(state.chaser, 0, len(state.chaser.value), state.tree.luck)


@dataclass(frozen=True)
class Chase(BasePolicy):
    """Chase: anytime, told neither the budget nor the noise, nothing to tune.

    >>> policy = Chase()
    >>> state = policy.new(n_arms=1_000_000, seed=0, capacity=8)
    >>> job, arm, times = policy.rule.ask(state)
    >>> int(arm), int(times)
    (0, 1)
    """

    name: ClassVar[str] = "chase"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend, amend)
    squares: ClassVar[bool] = True

    def empty(self, room: int) -> ChaseState:
        """Return a state with room for a number of arms."""
        return zeros(ChaseState, room, scalars=N_SCALARS, facts=N_FACTS, root=1, sent=1, repeats=1)

    def grown(self, state: ChaseState, larger: ChaseState) -> ChaseState:
        """Copy a state into a larger one, and rebuild both tournaments."""
        super().grown(state, larger)
        play_both(larger)
        return larger

    def ranking(self, state: ChaseState, k: int | None = None) -> list[int]:
        """Return the arms by score."""
        score = state.leader.value
        arms = np.flatnonzero(score > -math.inf)
        return in_order(arms, score[arms], state.tree.luck[arms], k=k)

    def n_outliers(self, state: ChaseState) -> int:
        """Return how many results the rule has excluded as outliers (rule 11)."""
        return int(state.scalars[N_OUTLIERS])

    def outliers(self, state: ChaseState) -> dict[int, tuple[int, float]]:
        """Return, by arm, how many of its results were excluded as outliers, and the latest of them."""
        rewards = state.outlier + state.facts[ORIGIN]
        return {int(arm): (int(state.n_outliers[arm]), float(rewards[arm])) for arm in np.flatnonzero(state.n_outliers)}

    def keeps_up(self, state: ChaseState) -> NDArray[np.bool_]:
        """Return, by arm, whether it keeps up with the leader (rule 2); the leader itself does not."""
        leader, arms = recommend(state), state.arms
        deviation = float(state.facts[SIGMA])
        has_results = (arms.pulls > 0) & (arms.place != WITHDRAWN)
        if leader == NONE or deviation == 0.0:
            return np.zeros(len(has_results), bool)
        n = np.maximum(arms.pulls, 1)
        merit = arms.total / n - LEAD * deviation / np.sqrt(n)
        kept: NDArray[np.bool_] = has_results & (merit >= mean(arms, leader))
        return kept
