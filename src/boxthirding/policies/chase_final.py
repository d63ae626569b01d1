"""The final of chase, and what it learns from results: the noise, the spread of arms, and which results are outliers.

Rules are cited by their number in chase.py.
"""

import math
from typing import Final, NamedTuple

from boxthirding._compile import kernel
from boxthirding.policies.noise import (
    FAR,
    SHARE,
    Noise,
    is_outlier,
    learn,
    outlier_value,
    sigma,
    spread,
    squares_of,
    usual_variance,
)
from boxthirding.policies.roster import KNOWN, ROSTER_SCALARS, Jobs, Roster, has_result, mean
from boxthirding.policies.structures.tournament import Tournament
from boxthirding.policies.structures.treap import Treap, champion_among, insert, keeps_place, refresh_path, remove
from boxthirding.types import NONE, Floats, Ints

TOLD: Final = ROSTER_SCALARS  # results so far
CREDIT: Final = ROSTER_SCALARS + 1  # pulls that the final has earned and not had
TURN: Final = ROSTER_SCALARS + 2  # the final's next pull is among 2^TURN
ALL_MET: Final = ROSTER_SCALARS + 3  # 1 once every arm has been tried
NEXT_FIT: Final = ROSTER_SCALARS + 4  # how many results there must be for the next fit
OUT: Final = ROSTER_SCALARS + 5  # pulls of the final in flight
AMENDED: Final = ROSTER_SCALARS + 6  # results amended since the last fit
OWN: Final = ROSTER_SCALARS + 7  # results of its own jobs
N_OUTLIERS: Final = ROSTER_SCALARS + 8  # results excluded as outliers
N_SCALARS: Final = ROSTER_SCALARS + 9

ORIGIN: Final = 0  # the first reward: all others are counted from it
SIGMA: Final = 1
CENTRE: Final = 2  # m
RATIO: Final = 3  # ρ
VARIANCE: Final = 4  # σ², by which results are judged; 0 while they are not
N_FACTS: Final = 5

LOWER: Final = 2.0  # standard errors
UPPER: Final = 1.0
UPPER_OF_ALL: Final = 2.0  # when every arm has been tried
TYPICAL_RATIO: Final = 5.0
RATIO_STEP: Final = 1.25
LEAST_RATIO: Final = 2.0  # a few arms far below all others must not pass for a large spread
AMENDED_SHARE: Final = 8  # a batch that amends one result in eight causes a fit


class ChaseState(NamedTuple):
    """K arms of room."""

    scalars: Ints
    ties: Ints  # [6]
    facts: Floats  # [N_FACTS] what is known of all arms
    arms: Roster
    noise: Noise
    tree: Treap  # the arms in the final by lower bound; in its upper, a pull in flight counts in n, not in the mean
    leader: Tournament  # by score
    chaser: Tournament  # by merit, which must be at least the leader's mean to keep up
    finalist: Ints  # [K] 1 while the arm is in the final, which all are that have a result
    sent: Ints  # [1] whose upper bound does not count its last pull in flight yet, or NONE
    jobs: Jobs  # of the chase
    new_squares: Floats  # [K] the squares of their results, summed
    out: Ints  # [K] its pulls in the final in flight
    first_mean: Floats  # [K] its first result
    amended: Ints  # [K] results known without a job, less those taken out
    amended_total: Floats  # [K] their sum
    n_outliers: Ints  # [K] how many of its results were excluded as outliers
    outlier: Floats  # [K] the latest of them


# The sums of an arm


@kernel
def from_origin(state: ChaseState, times: int, total: float, squares: float) -> tuple[float, float]:
    """Return sums as they are when rewards are counted from the first one, which these may be."""
    if state.scalars[TOLD] == 0 and times > 0:
        state.facts[ORIGIN] = total / times
    origin = state.facts[ORIGIN]
    squares += origin * (origin * times - 2.0 * total)
    return total - origin * times, squares


@kernel
def count(state: ChaseState, arm: int, times: int, total: float, squares: float) -> None:
    """Learn from results that an arm is about to get."""
    pulls = state.arms.pulls[arm]
    if pulls == 0:
        state.first_mean[arm] = total / times
    learn(state.noise, arm, pulls, times, total, squares)


@kernel
def take_in(state: ChaseState, arm: int, times: int, total: float, squares: float) -> None:
    """Add results to an arm's record, and judge them."""
    arms = state.arms
    known = spread_of(state, arm)
    expected = mean(arms, arm) if arms.pulls[arm] > 1 else state.facts[CENTRE]  # until two results agree
    count(state, arm, times, total, squares)
    arms.pulls[arm] += times
    arms.total[arm] += total
    judge(state, arm, times, known, expected)


@kernel
def learn_amended(state: ChaseState, arm: int, times: int, total: float, squares: float) -> tuple[float, float]:
    """Learn from sums that are about to be added to an arm's record without a job, or taken out.

    Returns what is added to its total, and the squares of all its results, both counted from the first reward.
    """
    scalars, noise, pulls = state.scalars, state.noise, state.arms.pulls[arm]
    size = abs(squares)
    total, squares = from_origin(state, times, total, squares)
    scalars[TOLD] += times
    scalars[AMENDED] += max(1, abs(times))
    state.amended[arm] += times
    state.amended_total[arm] += total
    if pulls > 0:
        learn(noise, arm, pulls, times, total, squares)
        squares = squares_of(noise, arm, pulls + times)
    elif times > 0:
        count(state, arm, times, total, squares)
    if times != 1 and times != -1:  # else no square was rounded
        noise.reach[arm] = max(noise.reach[arm], size)
    return total, squares


@kernel
def fit_is_due(state: ChaseState) -> bool:
    """Return whether a batch of amendments has changed so much that all estimates must be refitted (rule 10)."""
    scalars = state.scalars
    few = AMENDED_SHARE * scalars[AMENDED] < scalars[TOLD]
    return scalars[AMENDED] > 0 and (scalars[NEXT_FIT] == 0 or scalars[TOLD] >= scalars[NEXT_FIT] or not few)


@kernel
def spread_of(state: ChaseState, arm: int) -> float:
    """Return the squared distances of an arm's results from their mean, summed."""
    pulls = state.arms.pulls[arm]
    return spread(state.noise, arm, pulls) if pulls > 1 else 0.0


# Outliers (rule 11)


@kernel
def judge(state: ChaseState, arm: int, times: int, known: float, expected: float) -> None:
    """Exclude the outlier among an arm's last results, if there is one there and none among those before.

    `known` was their spread, and `expected` what the arm was like.
    """
    variance, n = state.facts[VARIANCE], state.arms.pulls[arm]
    if variance > 0.0 and may_have_outlier(state, arm) and not is_outlier(known, n - times, variance):
        squares = spread_of(state, arm) - known
        if is_outlier(squares, times, variance):
            squares -= (times - 1) * variance
            exclude_outlier(state, arm, outlier_value(mean(state.arms, arm), n, squares, expected))


@kernel
def may_have_outlier(state: ChaseState, arm: int) -> bool:
    """Return whether one more result of an arm may be excluded."""
    return state.arms.pulls[arm] > max(1, SHARE * state.n_outliers[arm])


@kernel
def is_unbelievable(state: ChaseState, arm: int) -> bool:
    """Return whether an arm's only result is so high that a second one must agree, and none is in flight."""
    facts = state.facts
    if state.arms.pulls[arm] != 1 or state.out[arm] > 0 or facts[VARIANCE] == 0.0:
        return False
    variance = facts[VARIANCE] * (1.0 + 1.0 / (facts[RATIO] * facts[RATIO]))
    return state.arms.total[arm] - facts[CENTRE] > FAR * math.sqrt(variance)


@kernel
def exclude_outlier(state: ChaseState, arm: int, reward: float) -> None:
    """Remove a result from an arm's record without a trace."""
    scalars, arms = state.scalars, state.arms
    scalars[N_OUTLIERS] += 1
    state.n_outliers[arm] += 1
    state.outlier[arm] = reward
    scalars[TOLD] -= 1
    learn(state.noise, arm, arms.pulls[arm], -1, -reward, -reward * reward)
    arms.pulls[arm] -= 1
    arms.total[arm] -= reward
    state.amended[arm] -= 1
    state.amended_total[arm] -= reward


@kernel
def exclude_outliers(state: ChaseState, usual: float) -> None:
    """Exclude the outlier of every arm that has one, judged by the usual variance (rule 11)."""
    for arm in range(state.scalars[KNOWN]):
        n = state.arms.pulls[arm]
        if may_have_outlier(state, arm):
            squares = spread_of(state, arm)
            if is_outlier(squares, n, usual):
                exclude_outlier(state, arm, outlier_value(mean(state.arms, arm), n, squares, state.facts[CENTRE]))


# The final (rules 6 and 8)


@kernel
def next_in_turn(state: ChaseState) -> int:
    """Return whom the final pulls: the boldest of the 1, 2, 4, ... finalists with the largest lower bounds."""
    scalars = state.scalars
    finalists = state.tree.weight[state.tree.root[0]]
    among = min(1 << scalars[TURN], finalists)
    scalars[TURN] = 0 if among == finalists else scalars[TURN] + 1
    return champion_among(state.tree, 0, among)


@kernel
def count_sent(state: ChaseState) -> None:
    """Count the last pull in flight in its arm's upper bound: before the next pull, as its result may come first."""
    arm = state.sent[0]
    if arm > NONE and state.finalist[arm] == 1:
        state.tree.upper[arm] = upper_bound(state, arm)
        refresh_path(state.tree, arm)
    state.sent[0] = NONE


@kernel
def seat(state: ChaseState, arm: int, is_in: bool) -> None:  # kernels have no keywords
    """Place an arm in the final by its current bounds, or remove it from the final."""
    if state.sent[0] == arm:
        state.sent[0] = NONE
    tree, was_in = state.tree, state.finalist[arm] == 1
    lower = lower_bound(state, arm) if is_in else -math.inf
    if was_in and is_in and keeps_place(tree, arm, lower):
        tree.lower[arm] = lower
        tree.upper[arm] = upper_bound(state, arm)
        refresh_path(tree, arm)
    else:
        if was_in:
            remove(tree, 0, arm)
        if is_in:
            insert(tree, 0, arm, lower, upper_bound(state, arm))
        state.finalist[arm] = 1 if is_in else 0


@kernel
def lower_bound(state: ChaseState, arm: int) -> float:
    """Return a finalist's lower bound (rule 6)."""
    n = state.arms.pulls[arm]
    return state.arms.total[arm] / n - LOWER * state.facts[SIGMA] / math.sqrt(n) if n > 0 else -math.inf


@kernel
def upper_bound(state: ChaseState, arm: int) -> float:
    """Return a finalist's upper bound (rules 6 and 8)."""
    n, out = state.arms.pulls[arm], state.out[arm]
    if n == 0:
        return -math.inf if out > 0 else math.inf
    width = UPPER_OF_ALL if state.scalars[ALL_MET] == 1 else UPPER
    return state.arms.total[arm] / n + width * state.facts[SIGMA] / math.sqrt(n + out)


# The noise, and what sets arms apart (rules 3, 4 and 10)


@kernel
def learn_anew(state: ChaseState) -> None:
    """Refit σ, m and ρ without outliers (rule 10)."""
    scalars, facts, pulls = state.scalars, state.facts, state.arms.pulls
    scalars[NEXT_FIT] = scalars[TOLD] + max(1, scalars[OWN])
    scalars[AMENDED] = 0
    usual = usual_variance(state.noise, pulls, scalars[KNOWN])
    if usual > 0.0:
        exclude_outliers(state, usual)
    facts[SIGMA] = sigma(state.noise, pulls, scalars[KNOWN])
    facts[VARIANCE] = facts[SIGMA] * facts[SIGMA] if usual > 0.0 else 0.0
    facts[CENTRE] = centre(state)
    if facts[SIGMA] > 0.0:
        set_ratio(state)
    else:
        facts[RATIO] = TYPICAL_RATIO


@kernel
def centre(state: ChaseState) -> float:
    """Return m, the mean over arms of their first job's mean; an amended arm has the mean of all its results."""
    total = 0.0
    n_arms = 0
    for arm in range(state.scalars[KNOWN]):
        if state.arms.pulls[arm] > 0:
            as_told = state.amended[arm] == 0 and state.amended_total[arm] == 0.0
            total += state.first_mean[arm] if as_told else mean(state.arms, arm)
            n_arms += 1
    return total / max(1, n_arms)


@kernel
def set_ratio(state: ChaseState) -> None:
    """Move ρ in steps to where the likelihood no longer rises (rule 4)."""
    ratio = state.facts[RATIO]
    half = math.sqrt(RATIO_STEP)
    while slope(state, ratio * half) > 0.0:  # not for ever: ln ρ has its deviation
        ratio *= RATIO_STEP
    while ratio > LEAST_RATIO and slope(state, ratio / half) < 0.0:
        ratio /= RATIO_STEP
    state.facts[RATIO] = ratio


@kernel
def slope(state: ChaseState, ratio: float) -> float:
    """Return the derivative of the log-likelihood by ln ρ, in units in which σ is 1."""
    facts, arms = state.facts, state.arms
    variance = 1.0 / (ratio * ratio)  # τ²
    rise = -math.log(ratio / TYPICAL_RATIO)
    for arm in range(state.scalars[KNOWN]):
        if has_result(arms, arm):
            away = (mean(arms, arm) - facts[CENTRE]) / facts[SIGMA]
            of_mean = variance + 1.0 / arms.pulls[arm]
            rise += variance / of_mean * (1.0 - away * away / of_mean)
    return rise
