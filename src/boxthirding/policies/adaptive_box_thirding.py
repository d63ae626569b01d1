"""Adaptive Box Thirding (b3auto): boxes of three and a final among the best, told neither the budget nor the noise.

    1. Boxes. Arms meet in boxes of three; the best is lifted, the middle one shifted, the worst discarded (S6). The
       highest level comes first, and on it the most deferred box; when none holds three, a new arm is met. [Growth 2
       instead of r₀: .982, quiet .361]
    2. Nothing is thrown away. An arm's mean is that of all its pulls, and a lift to level l only tops them up to
       max(1, ⌈t₀ r₀^l⌉). [Every lift afresh: 1.345; pooled, not topped up: 1.062]
    3. Noise. σ² is the pooled variance within arms. While arms are unseen and repeats, those in flight included, number
       at most log₂(t) - 2 after t results, the recommended arm is pulled again, before all else. [Without: 2.683]
    4. Depth. t₀ = 0.22 ρ^0.6, where ρ is the noise in units of what sets arms apart, by maximum likelihood of all
       means: those of arms with n pulls have variance τ² + σ²/n around m, the mean over arms of their first job's mean,
       ρ = σ/τ, and ln ρ is normal around ln 5 with deviation 1. Starting from 5, ρ moves in steps of 1.25, and no
       further than below 2. Without noise t₀ is 0: every arm is pulled once, but for the repeats of rule 3. [ρ = 5
       always: quiet .342; t₀ = 0.3: .981; ρ down to .25: ten times the regret when 5 of 5,000 arms are far below all]
    5. The final. A job of the boxes earns the final as many pulls as it has. Finalists are the arms of the top five
       levels, also those discarded there. What the final has earned goes before the boxes. [No final: 1.213; of all
       levels: bounded top 1.048]
    6. Its turns. Among the k finalists with the largest mean - 2σ/√n, the one with the largest mean + σ/√n is pulled;
       k = 1, 2, 4, … until it covers the final, then 1 again. A pull in flight counts in the latter n. Equals are told
       apart by a number drawn when an arm is met. [k covers the final at once: .985, 128 arms 1.064]
    7. When it is clear. If no finalist's upper bound exceeds the largest lower bound by more than half the standard
       deviation of the finalists' means, what the final had earned is forgone, and the boxes go on. [Never clear:
       .981, quiet .594]
    8. When every arm has been met, the boxes close; all arms are in the final, which needs no earning, and the upper
       bound is mean + 2σ/√n. Arms that are added open the boxes again. [Boxes stay open: 128 arms 1.079, 1,024 arms
       1.522]
    9. The answer, over all arms: the largest m + (mean - m) n/(n + ρ²) - σ/√(n + ρ²); without noise, the largest mean.
       [The largest mean: 3.643; without the last term: bounded top 1.079]
    10. σ, m, ρ and the final are worked out anew at the end of a job when results have doubled, and at the end of a
        batch of amendments when these are an eighth of the results. [Grown by a quarter: .960]

In brackets is what another rule would have: regret relative to PROSE told σ over the noisy problems that the rules were
chosen on, where this policy has .957; quiet .281, bounded top .954, 128 arms .944, 1,024 arms 1.087. docs/b3auto.md has
the whole table, how the rules were chosen, and what did not help. Rewards are counted from the first one and compared
with each other only, so neither their unit nor their zero matters.

growth is r₀, `facts[EFFORT]` is t₀, `facts[RATIO]` is ρ, `facts[CENTRE]` is m. The boxes, and what moves arms between
them, are those of box_thirding.py with topped-up lifts. A lift of an arm is the job 2 · arm, its pulls in the final are
2 · arm + 1.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

import numpy as np

from boxthirding._checks import whole
from boxthirding._compile import kernel
from boxthirding.policies.arrays import copied, zeros
from boxthirding.policies.box_thirding import TOPUP, add_to_record, arrange, commit, introduce
from boxthirding.policies.box_thirding import drop as drop_from_boxes
from boxthirding.policies.boxes import (
    KNOWN,
    READY,
    REUSE,
    SCALARS,
    SEEN,
    TOP,
    WIDTH,
    WITHDRAWN,
    begin_record,
    highest,
    larger_room,
    mean,
    shapes,
    short_of_arms,
    short_of_levels,
)
from boxthirding.policies.boxes import reset as empty_boxes
from boxthirding.policies.noise import learn, more_repeats, sigma, squares_of, too_few_repeats
from boxthirding.policies.ranking import in_order
from boxthirding.policies.records import Record
from boxthirding.policies.tournament import play_all, player, replay
from boxthirding.policies.treap import champion_among, first, insert, refresh_path, remove
from boxthirding.schedules import GEOMETRIC_GROWTH
from boxthirding.streams import TIES, advance, spawn
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

TOLD: Final = SCALARS  # results so far
CREDIT: Final = SCALARS + 1  # pulls that the final has earned and not had
TURN: Final = SCALARS + 2  # the final's next pull is among 2^TURN
FLOOR: Final = SCALARS + 3  # the lowest level of the final
ALL_MET: Final = SCALARS + 4  # 1 once every arm has been met
NEXT_FIT: Final = SCALARS + 5  # how many results there must be for the next fit
OUT: Final = SCALARS + 6  # pulls of the final in flight
REPEATS: Final = SCALARS + 7  # results of arms that had one before
AMENDED: Final = SCALARS + 8  # results amended since the last fit
OWN: Final = SCALARS + 9  # results of its own jobs
_SCALARS: Final = SCALARS + 10

ORIGIN: Final = 0  # the first reward: all others are counted from it
SIGMA: Final = 1
CENTRE: Final = 2  # m
RATIO: Final = 3  # ρ
EFFORT: Final = 4  # t₀
SPREAD: Final = 5  # the standard deviation of the finalists' means
_FACTS: Final = 6

DEPTH: Final = 4  # levels of the final below the top one
EARNED: Final = 1  # final pulls for each pull of the boxes
LOWER: Final = 2.0  # standard errors
UPPER: Final = 1.0
UPPER_OF_ALL: Final = 2.0  # when every arm has been met
CLEAR: Final = 0.5  # of SPREAD
CAUTION: Final = 1.0  # standard errors below the shrunk mean
EFFORT_AT_ONE: Final = 0.22
EFFORT_POWER: Final = 0.6
TYPICAL_RATIO: Final = 5.0
RATIO_STEP: Final = 1.25
LEAST_RATIO: Final = 2.0  # a few arms far below all others must not pass for a large spread
AMENDED_SHARE: Final = 8  # a batch that amended one result in so many has everything worked out anew
_SLACK: Final = 1e-12  # as in every schedule: a power that is an integer but for rounding is that integer
_MOST_PULLS: Final = float(1 << 60)  # of a level that no arm will reach


class State(NamedTuple):
    """K arms of room, M levels of room; scalars to lifting are those of boxes.State, root to luck a treap."""

    scalars: Ints
    ties: Ints
    costs: Ints
    pulls: Ints
    total: Floats
    place: Ints
    before: Ints
    after: Ints
    lifter: Ints
    target: Ints
    due: Ints
    new_pulls: Ints
    new_total: Floats
    middle: Ints
    worst: Ints
    waiting: Ints
    queued: Ints
    met: Ints
    first: Ints
    last: Ints
    size: Ints
    free: Ints
    first_free: Ints
    ready: Ints
    lifting: Ints
    powers: Floats  # [M] r₀^l
    new_squares: Floats  # [K] of the pulls its LIFT has had
    out: Ints  # [K] its pulls in the final in flight
    base: Floats  # [K] base to reach: what noise.py keeps
    apart: Floats  # [K]
    around: Floats  # [K]
    reach: Floats  # [K]
    first_mean: Floats  # [K] the mean of the arm's first job
    amended: Ints  # [K] results known without a job, less those taken out
    amended_total: Floats  # [K] their sum
    facts: Floats  # [6]
    finalist: Ints  # [K] 1 while the arm is in the final
    root: Ints  # [1]
    left: Ints  # [K]
    right: Ints  # [K]
    parent: Ints  # [K]
    weight: Ints  # [K]
    champion: Ints  # [K]
    lower: Floats  # [K]
    upper: Floats  # [K] a pull in flight counts in n, not in the mean
    luck: Ints  # [K] drawn once for each arm: the larger one wins a tie
    score: Floats  # [K] what the answer has most of
    leader: Ints  # [K] a tournament by score


@kernel
def reset(state: State) -> None:
    """Forget every arm."""
    empty_boxes(state)
    for i in range(SCALARS, _SCALARS):
        state.scalars[i] = 0
    state.facts[:] = 0.0
    state.facts[RATIO] = TYPICAL_RATIO
    state.root[0] = NONE
    state.score[:] = -math.inf
    play_all(state.leader, 0, len(state.score), state.score, state.luck)
    set_costs(state)


@kernel
def ask(state: State) -> tuple[int, int, int]:
    """Pull a finalist whose turn it is, or arrange the highest box that holds three, or meet a new arm."""
    scalars = state.scalars
    while True:
        if short_of_levels(state) or short_of_arms(state):  # asked first: after growing, ask starts again here
            return GROW, NONE, 0
        all_met = 1 if scalars[SEEN] == scalars[N_ARMS] else 0
        if all_met != scalars[ALL_MET]:  # rule 8, and back when arms are added
            scalars[ALL_MET] = all_met
            draw_up_final(state)
        arm = next_finalist(state)
        if arm != NONE:
            return 2 * arm + 1, arm, send(state, arm)
        if all_met == 1:
            return WAIT, NONE, 0
        arm = arrange(state, highest_ready(state)) if scalars[READY] > 0 else meet(state)
        if state.due[arm] > 0:
            scalars[CREDIT] += EARNED * state.due[arm]
            return 2 * arm, arm, state.due[arm]
        settle(state, arm)  # S15


@kernel
def tell(state: State, job: int, times: int, total: float, squares: float) -> None:
    """Count rewards from the first one; those of a LIFT are kept apart until the last one is in (S8)."""
    scalars, facts = state.scalars, state.facts
    if scalars[TOLD] == 0:
        facts[ORIGIN] = total / times
    origin = facts[ORIGIN]
    squares += origin * (origin * times - 2.0 * total)
    total -= origin * times
    if times == 1:  # without the rounding of what was subtracted
        squares = total * total
    scalars[TOLD] += times
    scalars[OWN] += times
    arm = job // 2
    if job % 2 == 1:
        scalars[OUT] -= times
        state.out[arm] -= times
        count(state, arm, times, total, squares)
        state.pulls[arm] += times
        state.total[arm] += total
        rate(state, arm)
    else:
        state.due[arm] -= times
        state.new_pulls[arm] += times
        state.new_total[arm] += total
        state.new_squares[arm] += squares
        if state.due[arm] > 0:
            return
        settle(state, arm)
    if scalars[TOLD] >= scalars[NEXT_FIT]:
        fit(state)


@kernel
def drop(state: State, arm: int) -> None:
    """Withdraw an arm from its box, from the final and from the answer."""
    if state.place[arm] == WITHDRAWN:
        return
    drop_from_boxes(state, arm)
    if state.finalist[arm] == 1:
        remove(state, 0, arm)
        state.finalist[arm] = 0
    state.scalars[OUT] -= state.out[arm]
    state.out[arm] = 0
    state.score[arm] = -math.inf
    replay(state.leader, 0, len(state.score), arm, state.score, state.luck)


@kernel
def recommend(state: State) -> int:
    """Return the arm with the largest score (rule 9)."""
    arm = player(state.leader, 0, len(state.score), 1)
    return arm if state.score[arm] > -math.inf else NONE


@kernel
def amend(state: State, arm: int, times: int, total: float, squares: float) -> int:
    """Add sums to an arm's record and rate it anew; σ, m and ρ follow at the end of a batch, if it was large."""
    scalars, facts = state.scalars, state.facts
    if arm == NONE:
        few = AMENDED_SHARE * scalars[AMENDED] < scalars[TOLD]
        if scalars[AMENDED] > 0 and (scalars[NEXT_FIT] == 0 or scalars[TOLD] >= scalars[NEXT_FIT] or not few):
            fit(state)
        return 0
    while scalars[KNOWN] <= arm:
        if scalars[KNOWN] == len(state.place):
            return GROW
        begin_full_record(state)
    if state.place[arm] == WITHDRAWN or (times == 0 and total == 0.0 and squares == 0.0):
        return 0
    if scalars[TOLD] == 0 and times > 0:
        facts[ORIGIN] = total / times
    origin = facts[ORIGIN]
    size = abs(squares)
    squares += origin * (origin * times - 2.0 * total)
    total -= origin * times
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
    if state.pulls[arm] + times <= 0 and state.lifter[arm] == arm:  # as in add_to_record
        state.new_squares[arm] += squares
    add_to_record(state, arm, times, total)
    rate(state, arm)
    return 0


@kernel
def next_finalist(state: State) -> int:
    """Return whom the final pulls now, or NONE if the boxes go on."""
    scalars = state.scalars
    root = state.root[0]
    if root == NONE:
        return NONE
    if scalars[ALL_MET] == 0:
        if too_few_repeats(scalars[REPEATS], scalars[TOLD], scalars[OUT]):  # rule 3
            return recommend(state)
        if scalars[CREDIT] < 1:
            return NONE
        if is_clear(state):
            scalars[CREDIT] = 0
            return NONE
    among = min(1 << scalars[TURN], state.weight[root])
    scalars[TURN] = 0 if among == state.weight[root] else scalars[TURN] + 1
    return champion_among(state, 0, among)


@kernel
def is_clear(state: State) -> bool:
    """Tell whether no arm of the final is worth another pull (rule 7)."""
    boldest = champion_among(state, 0, state.weight[state.root[0]])
    return state.upper[boldest] <= state.lower[first(state, 0)] + CLEAR * state.facts[SPREAD]


@kernel
def send(state: State, arm: int) -> int:
    """Hand out one pull in the final."""
    state.scalars[CREDIT] = max(0, state.scalars[CREDIT] - 1)
    state.scalars[OUT] += 1
    state.out[arm] += 1
    if state.finalist[arm] == 1:
        set_upper(state, arm)
        refresh_path(state, arm)
    return 1


@kernel
def highest_ready(state: State) -> int:
    """Return the highest box that holds three, the most deferred of its level; there is one."""
    level = state.scalars[TOP]
    while state.ready[level] == 0:
        level -= 1
    j = 0
    while state.ready[level] >> (j + 1) != 0:
        j += 1
    return level * WIDTH + j


@kernel
def meet(state: State) -> int:
    """Let the next arm in (S7)."""
    if state.scalars[SEEN] == state.scalars[KNOWN]:
        begin_full_record(state)
    return introduce(state)


@kernel
def begin_full_record(state: State) -> None:
    """Give the next number that has none an empty record."""
    arm = state.scalars[KNOWN]
    begin_record(state)
    state.luck[arm] = advance(state.ties)
    state.out[arm] = 0
    state.finalist[arm] = 0
    state.new_squares[arm] = 0.0
    state.amended[arm] = 0
    state.amended_total[arm] = 0.0


@kernel
def settle(state: State, arm: int) -> None:
    """The last pull of a LIFT is in: learn from its pulls, and let the three change places."""
    times = state.new_pulls[arm]
    if times > 0:
        count(state, arm, times, state.new_total[arm], state.new_squares[arm])
        state.new_squares[arm] = 0.0
    commit(state, arm)
    rate(state, arm)


@kernel
def count(state: State, arm: int, times: int, total: float, squares: float) -> None:
    """Learn from results that an arm is about to get."""
    if state.pulls[arm] == 0:
        state.first_mean[arm] = total / times
        state.scalars[REPEATS] -= 1
    state.scalars[REPEATS] += times
    learn(state, arm, times, total, squares)


@kernel
def rate(state: State, arm: int) -> None:
    """Work out an arm's bounds and score, and give it its place in the final, if it has one."""
    if state.finalist[arm] == 1:
        remove(state, 0, arm)
    state.finalist[arm] = 0
    if is_in_final(state, arm):
        seat(state, arm)
    set_score(state, arm)
    replay(state.leader, 0, len(state.score), arm, state.score, state.luck)


@kernel
def is_in_final(state: State, arm: int) -> bool:
    """Tell whether an arm that is not withdrawn belongs in the final (rules 5 and 8)."""
    if state.scalars[ALL_MET] == 0:
        return state.place[arm] // WIDTH >= state.scalars[FLOOR] and state.pulls[arm] > 0
    if state.pulls[arm] > 0:
        return arm < state.scalars[SEEN]
    return state.place[arm] >= 0 and state.lifter[arm] != arm  # its results were taken out: only the final pulls it now


@kernel
def seat(state: State, arm: int) -> None:
    """Put an arm into the final."""
    state.finalist[arm] = 1
    set_upper(state, arm)
    n = state.pulls[arm]
    lower = state.total[arm] / n - LOWER * state.facts[SIGMA] / math.sqrt(n) if n > 0 else -math.inf
    insert(state, 0, arm, lower, state.upper[arm])


@kernel
def set_upper(state: State, arm: int) -> None:
    """Work out a finalist's upper bound (rules 6 and 8)."""
    n, out = state.pulls[arm], state.out[arm]
    if n == 0:
        state.upper[arm] = -math.inf if out > 0 else math.inf
        return
    width = UPPER_OF_ALL if state.scalars[ALL_MET] == 1 else UPPER
    state.upper[arm] = state.total[arm] / n + width * state.facts[SIGMA] / math.sqrt(n + out)


@kernel
def set_score(state: State, arm: int) -> None:
    """Work out the lower bound of an arm's shrunk mean (rule 9)."""
    facts = state.facts
    n = float(state.pulls[arm])
    score = mean(state, arm)
    if facts[SIGMA] > 0.0 and n > 0.0:
        known = n + facts[RATIO] * facts[RATIO]
        shrunk = facts[CENTRE] + (score - facts[CENTRE]) * (n / known)
        score = shrunk - CAUTION * facts[SIGMA] / math.sqrt(known)
    state.score[arm] = score


@kernel
def fit(state: State) -> None:
    """Work out σ, m, ρ and t₀ anew, and with them every bound and score (rule 10)."""
    scalars, facts = state.scalars, state.facts
    scalars[NEXT_FIT] = scalars[TOLD] + max(1, scalars[OWN])
    scalars[AMENDED] = 0
    facts[SIGMA] = sigma(state, scalars[KNOWN], scalars[REPEATS])
    facts[CENTRE] = centre(state)
    facts[EFFORT] = 0.0
    if facts[SIGMA] > 0.0:
        set_ratio(state)
        facts[EFFORT] = EFFORT_AT_ONE * math.pow(facts[RATIO], EFFORT_POWER)
    else:
        facts[RATIO] = TYPICAL_RATIO
    set_costs(state)
    draw_up_final(state)
    for arm in range(scalars[KNOWN]):
        if has_result(state, arm):
            set_score(state, arm)
    play_all(state.leader, 0, len(state.score), state.score, state.luck)


@kernel
def centre(state: State) -> float:
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
def set_ratio(state: State) -> None:
    """Move ρ in steps to where the likelihood no longer rises (rule 4)."""
    ratio = state.facts[RATIO]
    half = math.sqrt(RATIO_STEP)
    while slope(state, ratio * half) > 0.0:  # not for ever: ln ρ has its deviation
        ratio *= RATIO_STEP
    while ratio > LEAST_RATIO and slope(state, ratio / half) < 0.0:
        ratio /= RATIO_STEP
    state.facts[RATIO] = ratio


@kernel
def slope(state: State, ratio: float) -> float:
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


@kernel
def set_costs(state: State) -> None:
    """Give every level its cost ⌈t₀ r₀^l⌉, and at least 1, which only a new arm has yet to pay."""
    for level in range(len(state.costs)):
        cost = math.ceil(min(state.facts[EFFORT] * state.powers[level], _MOST_PULLS) - _SLACK)
        state.costs[level] = max(1, int(cost))


@kernel
def draw_up_final(state: State) -> None:
    """Seat the arms of the top levels, or all of them, and measure how far apart they are."""
    scalars = state.scalars
    top = highest(state)
    scalars[FLOOR] = max(0, top // WIDTH - DEPTH) if top != NONE else 0
    state.root[0] = NONE
    arms = 0
    total = 0.0
    squares = 0.0
    for arm in range(scalars[SEEN]):
        state.finalist[arm] = 0
        if state.place[arm] != WITHDRAWN and is_in_final(state, arm):
            seat(state, arm)
            if state.pulls[arm] > 0:
                arms += 1
                total += mean(state, arm)
                squares += mean(state, arm) * mean(state, arm)
    if arms > 0:
        state.facts[SPREAD] = math.sqrt(max(0.0, squares / arms - total / arms * (total / arms)))


@kernel
def has_result(state: State, arm: int) -> bool:
    """Tell whether an arm has been pulled and is still there."""
    return state.pulls[arm] > 0 and state.place[arm] != WITHDRAWN


@dataclass(frozen=True)
class AdaptiveBoxThirding:
    """Adaptive Box Thirding: anytime, told neither the budget nor the noise, nothing to tune.

    >>> policy = AdaptiveBoxThirding()
    >>> state = policy.new(n_arms=1_000_000, seed=0, capacity=8)
    >>> job, arm, times = policy.rule.ask(state)
    >>> int(arm), int(times)
    (0, 1)
    """

    name: ClassVar[str] = "b3auto"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend, amend)
    told: ClassVar[frozenset[str]] = frozenset()
    squares: ClassVar[bool] = True
    open_ended: ClassVar[bool] = True
    version: ClassVar[int] = 1
    forgets: ClassVar[bool] = False

    def new(self, n_arms: int, seed: int, capacity: int) -> State:
        """Return a state in which nothing has happened yet."""
        whole("the number of arms", n_arms, least=1)
        state = _empty(arms=max(1, min(capacity, n_arms)), levels=24)
        state.scalars[N_ARMS] = n_arms
        state.ties[:] = spawn(seed, 0, 1)[0, TIES]
        return state

    def grow(self, state: State) -> State:
        """Return the same state with twice the room for what has run short."""
        larger = _empty(*larger_room(state))
        copied(state, larger, but=("powers", "leader"))
        set_costs(larger)
        play_all(larger.leader, 0, len(larger.score), larger.score, larger.luck)
        return larger

    def ranking(self, state: State, k: int | None = None) -> list[int]:
        """Return the arms by score."""
        arms = np.flatnonzero(state.score > -math.inf)
        return in_order(arms, state.score[arms], state.luck[arms], k=k)

    def record(self) -> Record:
        """Return an empty record of who met whom, and of the final."""
        from boxthirding.policies.final_record import FinalRecord  # noqa: PLC0415  # it reads this rule's state

        return FinalRecord()


def _empty(arms: int, levels: int) -> State:
    own = {"scalars": _SCALARS, "powers": levels, "facts": _FACTS, "root": 1}
    state = zeros(State, arms, **(shapes(arms, levels) | own))
    state.scalars[REUSE] = TOPUP
    state.powers[:] = GEOMETRIC_GROWTH ** np.arange(levels)
    reset(state)
    return state
