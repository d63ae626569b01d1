"""The loops that play a rule against simulated rewards: the whole experiment, interpreted or compiled.

`drive` has one worker. `drive_parallel` has many: one pull a ticket, exponential latencies, results in any order. It
hands out tickets as a live session does: first what is left of the job at hand, then a new job.
"""

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from boxthirding import _compile
from boxthirding._compile import kernel
from boxthirding.lab.reward_draws import Source, draw
from boxthirding.rng import LATENCY, ORDER, REWARDS, TIES, below, uniform
from boxthirding.types import GROW, NONE, WAIT, Floats, Ints, Rule

REPLICATE: Final = 0
BEGUN: Final = 1  # 1 while a replicate is under way
PULLS: Final = 2  # its pulls so far
CHECKED: Final = 3  # checkpoints it has passed
NUMBERED: Final = 4  # arms that have a number
POSITIONS: Final = 5

# With many workers, there are more:
JOB: Final = POSITIONS  # the job that is being handed out
ARM: Final = POSITIONS + 1  # its arm
LEFT: Final = POSITIONS + 2  # its pulls still to be handed out
OUT: Final = POSITIONS + 3  # tickets out
FIRST: Final = POSITIONS + 4  # the lowest number with a result
PARALLEL_POSITIONS: Final = POSITIONS + 5

DONE: Final = 0
STOPPED: Final = 1


# The rule's own functions: every policy gets copies of the loops with these names bound to them.
reset: Callable[[Any], None]
ask: Callable[[Any], tuple[int, int, int]]
tell: Callable[[Any, int, int, float, float], None]
recommend: Callable[[Any], int]


@lru_cache(maxsize=64)
def loop_of(rule: Rule, *, compiled: bool, parallel: bool) -> Callable[..., int]:
    """Return the copy of a loop that is bound to a rule."""
    make, loop = _compile.compiled if compiled else _compile.bound, drive_parallel if parallel else drive
    return make(loop, reset=rule.reset, ask=rule.ask, tell=rule.tell, recommend=rule.recommend)


@kernel
def drive(
    state: Any,
    source: Source,
    with_squares: bool,
    streams: Ints,  # [R, 4, 6]
    order: Ints,  # [N] room for the random order: number k is arm order[k]
    budget: int,
    checkpoints: Ints,  # [C] ascending
    at: Ints,  # [POSITIONS] where the run stands
    recommended: Ints,  # [R, C] filled in: the arm recommended at each checkpoint
) -> int:
    """Run replicates from where `at` says until all are done (DONE) or the state must grow (GROW; call again).

    STOPPED: the source says that the run is to end; replicates before at[REPLICATE] are complete.
    """
    while at[REPLICATE] < len(recommended):
        replicate = at[REPLICATE]
        if at[BEGUN] == 0:
            reset(state)
            begin(state.ties, streams[replicate, TIES], order)
            at[BEGUN] = 1
            at[PULLS] = 0
            at[CHECKED] = 0
            at[NUMBERED] = 0
        row = recommended[replicate]
        while at[CHECKED] < len(checkpoints):
            job, arm, times = ask(state)
            if job == GROW:
                return GROW
            if job == WAIT:  # the rule has spent what it can: its answer stands
                times = budget + 1
            else:
                number(order, streams[replicate, ORDER], at, arm)
            after = at[PULLS] + times
            # Checkpoints inside a job read the answer that holds until it ends, and before any, the arm being pulled.
            while at[CHECKED] < len(checkpoints) and checkpoints[at[CHECKED]] < after:
                answer = recommend(state)
                row[at[CHECKED]] = order[arm if answer == NONE else answer]
                at[CHECKED] += 1
            if after <= budget:
                total, squares = draw(source, order[arm], times, with_squares, streams[replicate, REWARDS])
                if source.stop[0] != 0:
                    return STOPPED
                tell(state, job, times, total, squares)
                at[PULLS] = after
                if at[CHECKED] < len(checkpoints) and checkpoints[at[CHECKED]] == after:
                    answer = recommend(state)
                    row[at[CHECKED]] = order[arm if answer == NONE else answer]
                    at[CHECKED] += 1
        at[REPLICATE] += 1
        at[BEGUN] = 0
    return DONE


@kernel
def begin(ties: Ints, stream: Ints, order: Ints) -> None:
    """Start a replicate's own streams and forget the last one's order."""
    for i in range(len(stream)):
        ties[i] = stream[i]
    for i in range(len(order)):
        order[i] = i


@kernel
def number(order: Ints, stream: Ints, at: Ints, arm: int) -> None:
    """Give numbers up to `arm` to arms drawn uniformly from those that have none yet (S4)."""
    while at[NUMBERED] <= arm:
        k = at[NUMBERED]
        other = k + below(stream, len(order) - k)
        order[k], order[other] = order[other], order[k]
        at[NUMBERED] += 1


@kernel
def drive_parallel(  # noqa: C901, PLR0913, PLR0917  # a rule's functions are bound to one function's names
    state: Any,
    source: Source,
    with_squares: bool,
    streams: Ints,  # [R, 4, 6]
    order: Ints,  # [N]
    budget: int,
    checkpoints: Ints,  # [C]
    at: Ints,  # [PARALLEL_POSITIONS]
    recommended: Ints,  # [R, C]
    ends: Floats,  # [W] a heap: when the tickets that are out will be told, the earliest first
    tickets: Ints,  # [W, 2] their jobs and arms
    clock: Floats,  # [1]
    idle: Ints,  # [R] filled in: results that came in while another worker had nothing to do
) -> int:
    """Run replicates with W workers from where `at` says; DONE, GROW or STOPPED as in `drive`."""
    while at[REPLICATE] < len(recommended):
        replicate = at[REPLICATE]
        row = recommended[replicate]
        if at[BEGUN] == 0:
            reset(state)
            begin(state.ties, streams[replicate, TIES], order)
            for i in range(BEGUN, PARALLEL_POSITIONS):
                at[i] = 0
            at[BEGUN] = 1
            at[FIRST] = NONE
            clock[0] = 0.0
        while at[CHECKED] < len(checkpoints):
            while at[OUT] < len(ends) and at[PULLS] + at[OUT] < budget:
                if at[LEFT] == 0:
                    job, arm, times = ask(state)
                    if job == GROW:
                        return GROW
                    if job == WAIT:
                        break
                    number(order, streams[replicate, ORDER], at, arm)
                    at[JOB] = job
                    at[ARM] = arm
                    at[LEFT] = times
                at[LEFT] -= 1
                push(ends, tickets, at, clock[0] - math.log(uniform(streams[replicate, LATENCY])))
            if at[OUT] == 0:  # the rule has ended: its answer stands
                while at[CHECKED] < len(checkpoints):
                    row[at[CHECKED]] = order[first_if_none(recommend(state), at)]
                    at[CHECKED] += 1
                break
            if at[OUT] < len(ends) and at[PULLS] + at[OUT] < budget:
                idle[replicate] += 1
            clock[0] = ends[0]
            job, arm = pop(ends, tickets, at)
            total, squares = draw(source, order[arm], 1, with_squares, streams[replicate, REWARDS])
            if source.stop[0] != 0:
                return STOPPED
            tell(state, job, 1, total, squares)
            at[PULLS] += 1
            at[FIRST] = arm if at[FIRST] == NONE else min(at[FIRST], arm)
            if checkpoints[at[CHECKED]] == at[PULLS]:
                row[at[CHECKED]] = order[first_if_none(recommend(state), at)]
                at[CHECKED] += 1
        at[REPLICATE] += 1
        at[BEGUN] = 0
    return DONE


@kernel
def first_if_none(answer: int, at: Ints) -> int:
    """Return the answer, or before there is one, an arm that has a result (S12)."""
    return at[FIRST] if answer == NONE else answer


@kernel
def push(ends: Floats, tickets: Ints, at: Ints, end: float) -> None:
    """Add a ticket of the job at hand to the heap."""
    child = at[OUT]
    at[OUT] += 1
    while child > 0 and ends[(child - 1) // 2] > end:
        parent = (child - 1) // 2
        ends[child] = ends[parent]
        tickets[child, 0] = tickets[parent, 0]
        tickets[child, 1] = tickets[parent, 1]
        child = parent
    ends[child] = end
    tickets[child, 0] = at[JOB]
    tickets[child, 1] = at[ARM]


@kernel
def pop(ends: Floats, tickets: Ints, at: Ints) -> tuple[int, int]:
    """Take the earliest ticket out of the heap; return its job and arm."""
    job, arm = tickets[0, 0], tickets[0, 1]
    at[OUT] -= 1
    last = at[OUT]
    end, last_job, last_arm = ends[last], tickets[last, 0], tickets[last, 1]
    parent = 0
    while 2 * parent + 1 < last:
        child = 2 * parent + 1
        if child + 1 < last and ends[child + 1] < ends[child]:
            child += 1
        if ends[child] >= end:
            break
        ends[parent] = ends[child]
        tickets[parent, 0] = tickets[child, 0]
        tickets[parent, 1] = tickets[child, 1]
        parent = child
    ends[parent] = end
    tickets[parent, 0] = last_job
    tickets[parent, 1] = last_arm
    return job, arm
