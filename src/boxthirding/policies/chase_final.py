"""The final of chase, and what it learns from results: the noise, the spread of arms, and which results are outliers.

Rules are cited by their number in chase.py.
"""

import math
from typing import Final, NamedTuple

from boxthirding._compile import kernel
from boxthirding.policies.boxes import KNOWN, SCALARS, WITHDRAWN, mean
from boxthirding.policies.noise import (
    FAR,
    SHARE,
    is_outlier,
    learn,
    more_repeats,
    outlier_value,
    sigma,
    spread,
    squares_of,
    usual_variance,
)
from boxthirding.policies.structures.treap import champion_among, insert, keeps_place, refresh_path, remove
from boxthirding.types import NONE, Floats, Ints

TOLD: Final = SCALARS  # results so far
CREDIT: Final = SCALARS + 1  # pulls that the final has earned and not had
TURN: Final = SCALARS + 2  # the final's next pull is among 2^TURN
ALL_MET: Final = SCALARS + 3  # 1 once every arm has been tried
NEXT_FIT: Final = SCALARS + 4  # how many results there must be for the next fit
OUT: Final = SCALARS + 5  # pulls of the final in flight
REPEATS: Final = SCALARS + 6  # results of arms that had one before
AMENDED: Final = SCALARS + 7  # results amended since the last fit
OWN: Final = SCALARS + 8  # results of its own jobs
N_OUTLIERS: Final = SCALARS + 9  # results excluded as outliers
N_SCALARS: Final = SCALARS + 10

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
    """K arms of room; root to luck are a treap of all arms by lower bound."""

    scalars: Ints
    ties: Ints
    pulls: Ints  # [K]
    total: Floats  # [K]
    place: Ints  # [K] WITHDRAWN, or 0
    due: Ints  # [K] pulls of its job in the chase that are still to come
    new_pulls: Ints  # [K] those that are in: they count when the last one is
    new_total: Floats  # [K]
    new_squares: Floats  # [K]
    out: Ints  # [K] its pulls in the final in flight
    base: Floats  # [K] base to reach: what noise.py keeps
    apart: Floats  # [K]
    around: Floats  # [K]
    reach: Floats  # [K]
    first_mean: Floats  # [K] its first result
    amended: Ints  # [K] results known without a job, less those taken out
    amended_total: Floats  # [K] their sum
    n_outliers: Ints  # [K] how many of its results were excluded as outliers
    outlier: Floats  # [K] the latest of them
    facts: Floats  # [N_FACTS] what is known of all arms
    finalist: Ints  # [K] 1 while the arm is in the final, which all are that have a result
    root: Ints  # [1]
    left: Ints  # [K]
    right: Ints  # [K]
    parent: Ints  # [K]
    weight: Ints  # [K]
    champion: Ints  # [K]
    lower: Floats  # [K]
    upper: Floats  # [K] a pull in flight counts in n, not in the mean
    sent: Ints  # [1] whose upper bound does not count its last pull in flight yet, or NONE
    luck: Ints  # [K] drawn once for each arm: the larger one wins a tie
    score: Floats  # [K] what the leader has most of
    leader: Ints  # [K] a tournament by score
    merit: Floats  # [K] what must be at least the leader's mean to keep up
    chaser: Ints  # [K] a tournament by merit


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
    if state.pulls[arm] == 0:
        state.first_mean[arm] = total / times
        state.scalars[REPEATS] -= 1
    state.scalars[REPEATS] += times
    learn(state, arm, times, total, squares)


@kernel
def take_in(state: ChaseState, arm: int, times: int, total: float, squares: float) -> None:
    """Add results to an arm's record, and judge them."""
    known, expected = spread_of(state, arm), expectation(state, arm)
    count(state, arm, times, total, squares)
    state.pulls[arm] += times
    state.total[arm] += total
    judge(state, arm, times, known, expected)


@kernel
def learn_amended(state: ChaseState, arm: int, times: int, total: float, squares: float) -> tuple[float, float]:
    """Learn from sums that are about to be added to an arm's record without a job, or taken out.

    Returns what is added to its total, and the squares of all its results, both counted from the first reward.
    """
    scalars = state.scalars
    size = abs(squares)
    total, squares = from_origin(state, times, total, squares)
    scalars[TOLD] += times
    scalars[AMENDED] += max(1, abs(times))
    state.amended[arm] += times
    state.amended_total[arm] += total
    if state.pulls[arm] > 0:
        scalars[REPEATS] += more_repeats(state.pulls[arm], times)
        learn(state, arm, times, total, squares)
        squares = squares_of(state, arm, state.pulls[arm] + times)
    elif times > 0:
        count(state, arm, times, total, squares)
    if times != 1 and times != -1:  # else no square was rounded
        state.reach[arm] = max(state.reach[arm], size)
    return total, squares


@kernel
def fit_is_due(state: ChaseState) -> bool:
    """Tell whether a batch of amendments has changed so much that all estimates must be refitted (rule 10)."""
    scalars = state.scalars
    few = AMENDED_SHARE * scalars[AMENDED] < scalars[TOLD]
    return scalars[AMENDED] > 0 and (scalars[NEXT_FIT] == 0 or scalars[TOLD] >= scalars[NEXT_FIT] or not few)


@kernel
def spread_of(state: ChaseState, arm: int) -> float:
    """Return the squared distances of an arm's results from their mean, summed."""
    return spread(state, arm, state.pulls[arm]) if state.pulls[arm] > 1 else 0.0


@kernel
def expectation(state: ChaseState, arm: int) -> float:
    """Return what results of an arm should be like: its mean, once two of them agree, and before that m."""
    return mean(state, arm) if state.pulls[arm] > 1 else state.facts[CENTRE]


@kernel
def has_result(state: ChaseState, arm: int) -> bool:
    """Tell whether an arm has been pulled and is still there."""
    return state.pulls[arm] > 0 and state.place[arm] != WITHDRAWN


# Wild results (rule 11)


@kernel
def judge(state: ChaseState, arm: int, times: int, known: float, expected: float) -> None:
    """Exclude the outlier among an arm's last results, if there is one there and none among those before.

    `known` was their spread, and `expected` what the arm was like.
    """
    variance = state.facts[VARIANCE]
    if variance > 0.0 and may_have_outlier(state, arm) and not is_outlier(known, state.pulls[arm] - times, variance):
        squares = spread_of(state, arm) - known
        if is_outlier(squares, times, variance):
            squares -= (times - 1) * variance
            exclude_outlier(state, arm, outlier_value(mean(state, arm), state.pulls[arm], squares, expected))


@kernel
def may_have_outlier(state: ChaseState, arm: int) -> bool:
    """Tell whether one more result of an arm may be excluded."""
    return state.pulls[arm] > max(1, SHARE * state.n_outliers[arm])


@kernel
def is_unbelievable(state: ChaseState, arm: int) -> bool:
    """Tell whether an arm's only result is so high that another one must agree, and none is under way."""
    facts = state.facts
    if state.pulls[arm] != 1 or state.out[arm] > 0 or facts[VARIANCE] == 0.0:
        return False
    variance = facts[VARIANCE] * (1.0 + 1.0 / (facts[RATIO] * facts[RATIO]))
    return state.total[arm] - facts[CENTRE] > FAR * math.sqrt(variance)


@kernel
def exclude_outlier(state: ChaseState, arm: int, reward: float) -> None:
    """Take a result out of an arm's record, as if it had never been there."""
    scalars = state.scalars
    scalars[N_OUTLIERS] += 1
    state.n_outliers[arm] += 1
    state.outlier[arm] = reward
    scalars[TOLD] -= 1
    scalars[REPEATS] -= 1
    learn(state, arm, -1, -reward, -reward * reward)
    state.pulls[arm] -= 1
    state.total[arm] -= reward
    state.amended[arm] -= 1
    state.amended_total[arm] -= reward


@kernel
def exclude_outliers(state: ChaseState, usual: float) -> None:
    """Exclude the outlier of every arm that has one, judged by the usual variance (rule 11)."""
    for arm in range(state.scalars[KNOWN]):
        n = state.pulls[arm]
        if may_have_outlier(state, arm):
            squares = spread_of(state, arm)
            if is_outlier(squares, n, usual):
                exclude_outlier(state, arm, outlier_value(mean(state, arm), n, squares, state.facts[CENTRE]))


# The final (rules 6 and 8)


@kernel
def next_in_turn(state: ChaseState) -> int:
    """Return whom the final pulls: the boldest of the 1, 2, 4, ... finalists with the largest lower bounds."""
    scalars = state.scalars
    finalists = state.weight[state.root[0]]
    among = min(1 << scalars[TURN], finalists)
    scalars[TURN] = 0 if among == finalists else scalars[TURN] + 1
    return champion_among(state, 0, among)


@kernel
def count_sent(state: ChaseState) -> None:
    """Count the last pull in flight in its arm's upper bound: before the next pull, as its result may come first."""
    arm = state.sent[0]
    if arm > NONE and state.finalist[arm] == 1:
        state.upper[arm] = upper_bound(state, arm)
        refresh_path(state, arm)
    state.sent[0] = NONE


@kernel
def seat(state: ChaseState, arm: int, is_in: bool) -> None:  # kernels have no keywords
    """Give an arm its place in the final with its bounds as they are now, or none."""
    if state.sent[0] == arm:
        state.sent[0] = NONE
    was_in = state.finalist[arm] == 1
    lower = lower_bound(state, arm) if is_in else -math.inf
    if was_in and is_in and keeps_place(state, arm, lower):
        state.lower[arm] = lower
        state.upper[arm] = upper_bound(state, arm)
        refresh_path(state, arm)
    else:
        if was_in:
            remove(state, 0, arm)
        if is_in:
            insert(state, 0, arm, lower, upper_bound(state, arm))
        state.finalist[arm] = 1 if is_in else 0


@kernel
def lower_bound(state: ChaseState, arm: int) -> float:
    """Return a finalist's lower bound (rule 6)."""
    n = state.pulls[arm]
    return state.total[arm] / n - LOWER * state.facts[SIGMA] / math.sqrt(n) if n > 0 else -math.inf


@kernel
def upper_bound(state: ChaseState, arm: int) -> float:
    """Return a finalist's upper bound (rules 6 and 8)."""
    n, out = state.pulls[arm], state.out[arm]
    if n == 0:
        return -math.inf if out > 0 else math.inf
    width = UPPER_OF_ALL if state.scalars[ALL_MET] == 1 else UPPER
    return state.total[arm] / n + width * state.facts[SIGMA] / math.sqrt(n + out)


# The noise, and what sets arms apart (rules 3, 4 and 10)


@kernel
def learn_anew(state: ChaseState) -> None:
    """Refit σ, m and ρ without outliers (rule 10)."""
    scalars, facts = state.scalars, state.facts
    scalars[NEXT_FIT] = scalars[TOLD] + max(1, scalars[OWN])
    scalars[AMENDED] = 0
    usual = usual_variance(state, scalars[KNOWN])
    if usual > 0.0:
        exclude_outliers(state, usual)
    facts[SIGMA] = sigma(state, scalars[KNOWN], scalars[REPEATS])
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
    arms = 0
    for arm in range(state.scalars[KNOWN]):
        if state.pulls[arm] > 0:
            as_told = state.amended[arm] == 0 and state.amended_total[arm] == 0.0
            total += state.first_mean[arm] if as_told else mean(state, arm)
            arms += 1
    return total / max(1, arms)


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
    facts = state.facts
    variance = 1.0 / (ratio * ratio)  # τ²
    rise = -math.log(ratio / TYPICAL_RATIO)
    for arm in range(state.scalars[KNOWN]):
        if has_result(state, arm):
            away = (mean(state, arm) - facts[CENTRE]) / facts[SIGMA]
            of_mean = variance + 1.0 / state.pulls[arm]
            rise += variance / of_mean * (1.0 - away * away / of_mean)
    return rise
