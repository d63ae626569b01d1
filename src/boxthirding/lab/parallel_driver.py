"""The same loop with many workers: one pull a ticket, exponential latencies, results in any order.

It hands out tickets as a live session does: first what is left of the job at hand, then a new job.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from boxthirding._compile import kernel
from boxthirding.lab.driver import BEGUN, CHECKED, DONE, POSITIONS, PULLS, REPLICATE, STOPPED, begin, number
from boxthirding.lab.reward_draws import Source, draw
from boxthirding.rng import LATENCY, ORDER, REWARDS, TIES, uniform
from boxthirding.types import GROW, NONE, WAIT, Floats, Ints

JOB: Final = POSITIONS  # the job that is being handed out
ARM: Final = POSITIONS + 1  # its arm
LEFT: Final = POSITIONS + 2  # its pulls still to be handed out
OUT: Final = POSITIONS + 3  # tickets out
FIRST: Final = POSITIONS + 4  # the lowest number with a result
PARALLEL_POSITIONS: Final = POSITIONS + 5

# The rule's own functions, as in driver.py.
reset: Callable[[Any], None]
ask: Callable[[Any], tuple[int, int, int]]
tell: Callable[[Any, int, int, float, float], None]
recommend: Callable[[Any], int]


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
