"""Adaptive Box Thirding (b3auto): boxes of three and a final among the best, told neither the budget nor the noise.

    1. Boxes. Arms meet in boxes of three; the best is lifted, the middle one shifted, the worst discarded (S6). The
       highest level comes first, and on it the most deferred box; when none holds three, a new arm is tried. [Growth 2
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
       apart by a number drawn when an arm is tried. [k covers the final at once: .985, 128 arms 1.064]
    7. When it is clear. If no finalist's upper bound exceeds the largest lower bound by more than half the standard
       deviation of the finalists' means, what the final had earned is forgone, and the boxes go on. [Never clear:
       .981, quiet .594]
    8. When every arm has been tried, the boxes close; all arms are in the final, which needs no earning, and the upper
       bound is mean + 2σ/√n. Arms that are added open the boxes again. [Boxes stay open: 128 arms 1.079, 1,024 arms
       1.522]
    9. The answer, over all arms: the largest m + (mean - m) n/(n + ρ²) - σ/√(n + ρ²); without noise, the largest mean.
       [The largest mean: 3.643; without the last term: bounded top 1.079]
    10. σ, m, ρ and the final are worked out anew at the end of a job when results have doubled, and at the end of a
        batch of amendments when these are an eighth of the results. [Grown by a quarter: .960]
    11. Wild results. When n results of an arm add more than (20² + 10 n) σ² to its squared distances, the one that
        explains them is set aside, as if it had never been there; with one result before, the one further from m. At a
        fit every arm is judged by a variance that seven arms in eight do not exceed. A single result more than 20σ
        above m is repeated before all else, if its arm is the answer. Of an arm, one result in eight at most is set
        aside, or its first. Nothing is judged while fewer than eight arms have repeats, and where most of these never
        differ. [Without it, 0.1 % of results 100 too high: 3.6 times the regret]

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
from boxthirding.policies.final import (
    ALL_MET,
    ASIDE,
    CENTRE,
    CREDIT,
    EFFORT,
    FLOOR,
    N_FACTS,
    N_SCALARS,
    NEXT_FIT,
    ORIGIN,
    OUT,
    OWN,
    RATIO,
    REPEATS,
    SIGMA,
    SPREAD,
    TOLD,
    TYPICAL_RATIO,
    count,
    count_sent,
    expectation,
    fit_is_due,
    from_origin,
    has_result,
    is_unbelievable,
    judge,
    learn_amended,
    learn_anew,
    lower_bound,
    next_in_turn,
    seat,
    spread_of,
    take_in,
    upper_bound,
)
from boxthirding.policies.noise import too_few_repeats
from boxthirding.policies.ranking import in_order
from boxthirding.policies.records import Record
from boxthirding.policies.tournament import play_all, play_first, player, replay
from boxthirding.policies.treap import build, first, remove
from boxthirding.schedules import GEOMETRIC_GROWTH
from boxthirding.streams import TIES, advance, spawn
from boxthirding.types import GROW, N_ARMS, NONE, WAIT, Floats, Ints, Rule

DEPTH: Final = 4  # levels of the final below the top one
EARNED: Final = 1  # final pulls for each pull of the boxes
CLEAR: Final = 0.5  # of SPREAD
CAUTION: Final = 1.0  # standard errors below the shrunk mean
EFFORT_AT_ONE: Final = 0.22
EFFORT_POWER: Final = 0.6
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
    aside: Ints  # [K] how many of its results were set aside, ever
    stray: Floats  # [K] the latest of them
    facts: Floats  # [7]
    finalist: Ints  # [K] 1 while the arm is in the final
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
    score: Floats  # [K] what the answer has most of
    leader: Ints  # [K] a tournament by score


@kernel
def reset(state: State) -> None:
    """Forget every arm."""
    empty_boxes(state)
    for i in range(SCALARS, N_SCALARS):
        state.scalars[i] = 0
    state.facts[:] = 0.0
    state.facts[RATIO] = TYPICAL_RATIO
    state.root[0] = NONE
    state.sent[0] = NONE
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
        count_sent(state)
        arm = next_finalist(state)
        if arm > NONE:
            return 2 * arm + 1, arm, send(state, arm)
        if all_met == 1:
            return WAIT, NONE, 0
        arm = arrange(state, highest_ready(state)) if scalars[READY] > 0 else meet(state)
        if state.due[arm] > 0:
            scalars[CREDIT] += EARNED * state.due[arm]
            return 2 * arm, arm, state.due[arm]
        settle(state, arm)  # S15
        rate(state, arm)


@kernel
def tell(state: State, job: int, times: int, total: float, squares: float) -> None:
    """Count rewards from the first one; those of a LIFT are kept apart until the last one is in (S8)."""
    scalars = state.scalars
    arm = job // 2
    if arm <= NONE:  # never: compiled code learns that no index below counts from the end, a tenth of a decision
        return
    total, squares = from_origin(state, times, total, squares)
    if times == 1:  # without the rounding of what was subtracted
        squares = total * total
    scalars[TOLD] += times
    scalars[OWN] += times
    if job % 2 == 1:
        scalars[OUT] -= times
        state.out[arm] -= times
        take_in(state, arm, times, total, squares)
    else:
        state.due[arm] -= times
        state.new_pulls[arm] += times
        state.new_total[arm] += total
        state.new_squares[arm] += squares
        if state.due[arm] > 0:
            return
        settle(state, arm)
    rate(state, arm)
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
    scalars = state.scalars
    if arm == NONE:
        if fit_is_due(state):
            fit(state)
        return 0
    while scalars[KNOWN] <= arm:
        if scalars[KNOWN] == len(state.place):
            return GROW
        begin_full_record(state)
    if state.place[arm] == WITHDRAWN or (times == 0 and total == 0.0 and squares == 0.0):
        return 0
    total, squares = learn_amended(state, arm, times, total, squares)
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
    best = recommend(state)
    if best > NONE and is_unbelievable(state, best):
        return best
    if scalars[ALL_MET] == 0:
        if too_few_repeats(scalars[REPEATS], scalars[TOLD], scalars[OUT]):  # rule 3
            return best
        if scalars[CREDIT] < 1:
            return NONE
        if is_clear(state):
            scalars[CREDIT] = 0
            return NONE
    return next_in_turn(state)


@kernel
def is_clear(state: State) -> bool:
    """Tell whether no arm of the final is worth another pull (rule 7)."""
    boldest = state.champion[state.root[0]]
    return state.upper[boldest] <= state.lower[first(state, 0)] + CLEAR * state.facts[SPREAD]


@kernel
def send(state: State, arm: int) -> int:
    """Hand out one pull in the final."""
    state.scalars[CREDIT] = max(0, state.scalars[CREDIT] - 1)
    state.scalars[OUT] += 1
    state.out[arm] += 1
    state.sent[0] = arm
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
    state.aside[arm] = 0
    state.stray[arm] = 0.0


@kernel
def settle(state: State, arm: int) -> None:
    """The last pull of a LIFT is in: learn from its pulls, and let the three change places."""
    times = state.new_pulls[arm]
    known, expected = spread_of(state, arm), expectation(state, arm)
    if times > 0:
        count(state, arm, times, state.new_total[arm], state.new_squares[arm])
        state.new_squares[arm] = 0.0
    commit(state, arm)
    if times > 0:
        judge(state, arm, times, known, expected)


@kernel
def rate(state: State, arm: int) -> None:
    """Work out an arm's bounds and score, and give it its place in the final, if it has one."""
    seat(state, arm, is_in_final(state, arm))
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
    learn_anew(state)
    facts = state.facts
    facts[EFFORT] = EFFORT_AT_ONE * math.pow(facts[RATIO], EFFORT_POWER) if facts[SIGMA] > 0.0 else 0.0
    set_costs(state)
    draw_up_final(state)
    known = state.scalars[KNOWN]
    for arm in range(known):
        if has_result(state, arm):
            set_score(state, arm)
    play_first(state.leader, 0, len(state.score), known, state.score, state.luck)


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
    scalars[FLOOR] = max(0, top // WIDTH - DEPTH) if top > NONE else 0
    chain = NONE
    arms = 0
    total = 0.0
    squares = 0.0
    for arm in range(scalars[SEEN]):
        state.finalist[arm] = 0
        if state.place[arm] != WITHDRAWN and is_in_final(state, arm):
            state.finalist[arm] = 1
            state.lower[arm], state.upper[arm] = lower_bound(state, arm), upper_bound(state, arm)
            state.right[arm] = chain
            chain = arm
            if state.pulls[arm] > 0:
                arms += 1
                total += mean(state, arm)
                squares += mean(state, arm) * mean(state, arm)
    build(state, 0, chain)
    if arms > 0:
        state.facts[SPREAD] = math.sqrt(max(0.0, squares / arms - total / arms * (total / arms)))


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

    def set_aside(self, state: State) -> int:
        """Return how many results the rule has set aside, ever (rule 11)."""
        return int(state.scalars[ASIDE])

    def strays(self, state: State) -> dict[int, tuple[int, float]]:
        """Return, by arm, how many of its results were set aside, and the latest of them."""
        rewards = state.stray + state.facts[ORIGIN]
        return {int(arm): (int(state.aside[arm]), float(rewards[arm])) for arm in np.flatnonzero(state.aside)}

    def record(self) -> Record:
        """Return an empty record of who met whom, and of the final."""
        from boxthirding.policies.final_record import FinalRecord  # noqa: PLC0415  # it reads this rule's state

        return FinalRecord()


def _empty(arms: int, levels: int) -> State:
    own = {"scalars": N_SCALARS, "powers": levels, "facts": N_FACTS, "root": 1, "sent": 1}
    state = zeros(State, arms, **(shapes(arms, levels) | own))
    state.scalars[REUSE] = TOPUP
    state.powers[:] = GEOMETRIC_GROWTH ** np.arange(levels)
    reset(state)
    return state
