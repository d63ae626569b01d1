"""The loop that plays a rule against simulated rewards: the whole experiment, written once, interpreted or compiled."""

from collections.abc import Callable
from typing import Any, Final

from boxthirding._compile import kernel
from boxthirding.lab.reward_draws import Source, draw
from boxthirding.rng import ORDER, REWARDS, TIES, below
from boxthirding.types import GROW, NONE, WAIT, Ints, Rule

REPLICATE: Final = 0
BEGUN: Final = 1  # 1 while a replicate is under way
PULLS: Final = 2  # its pulls so far
CHECKED: Final = 3  # checkpoints it has passed
NUMBERED: Final = 4  # arms that have a number
POSITIONS: Final = 5

DONE: Final = 0
STOPPED: Final = 1


# The rule's own functions: every policy gets a copy of `drive` with these names bound to them.
reset: Callable[[Any], None]
ask: Callable[[Any], tuple[int, int, int]]
tell: Callable[[Any, int, int, float, float], None]
recommend: Callable[[Any], int]


def bindings(rule: Rule) -> dict[str, Callable[..., Any]]:
    """Return the names that a copy of `drive` needs."""
    return {"reset": rule.reset, "ask": rule.ask, "tell": rule.tell, "recommend": rule.recommend}


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
