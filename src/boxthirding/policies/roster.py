"""The arms that a rule has records of: their sums, how they come in one after the other, and how they go.

Numbers 0 … KNOWN - 1 have a record. Those from SEEN on have not been asked for: something was known of them before, and
it waits with them.
"""

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from boxthirding._compile import kernel
from boxthirding.types import GROW, N_ARMS, NONE, Floats, Ints, State

SEEN: Final = 1  # numbers 0 … SEEN - 1 have been asked for
LIVE: Final = 2  # of them, how many are not withdrawn; chase does not count them
KNOWN: Final = 3  # numbers 0 … KNOWN - 1 have a record
ROSTER_SCALARS: Final = 4

WITHDRAWN: Final = -2
"""The place of an arm that is gone."""


class Roster(NamedTuple):
    """K arms of room."""

    pulls: Ints  # [K] results behind the arm's mean
    total: Floats  # [K] their sum
    place: Ints  # [K] WITHDRAWN, or the position of the arm, whose meaning is up to the rule


class Jobs(NamedTuple):
    """Sums of jobs in flight: they are added to the arm when the last result of the job is in."""

    due: Ints  # [K] pulls that are still to come
    pulls: Ints  # [K] those that are in
    total: Floats  # [K] their sum


class WithArms(State, Protocol):
    """A state with a roster; the first places of its scalars are as above."""

    @property
    def arms(self) -> Roster:
        """The arms that have a record."""


# The rule's own functions: every rule that uses `amend` gets a copy of it with these names bound to them.
begin_record: Callable[[Any], object]  # give the next number that has none an empty record
change: Callable[[Any, int, int, float, float], None]  # add sums to the record of an arm that is there


@kernel
def amend(state: WithArms, arm: int, times: int, total: float, squares: float) -> int:
    """Add sums to an arm's record; it may be an arm that has none yet."""
    if arm == NONE:
        return 0
    while state.scalars[KNOWN] <= arm:
        if state.scalars[KNOWN] == len(state.arms.place):
            return GROW
        begin_record(state)
    if state.arms.place[arm] != WITHDRAWN:
        change(state, arm, times, total, squares)
    return 0


@kernel
def short_of_arms(state: WithArms) -> bool:
    """Return whether there is no room for the next unseen arm."""
    return state.scalars[SEEN] == len(state.arms.place) and state.scalars[SEEN] < state.scalars[N_ARMS]


@kernel
def new_record(state: WithArms, place: int) -> int:
    """Create an empty record for the next arm without one, and return the number of the arm."""
    arms, arm = state.arms, state.scalars[KNOWN]
    state.scalars[KNOWN] = arm + 1
    arms.pulls[arm] = 0
    arms.total[arm] = 0.0
    arms.place[arm] = place
    return arm


@kernel
def admit(state: WithArms) -> int:
    """Count the next arm, which has a record, as seen; return it. The arm after it is one that is still there."""
    scalars = state.scalars
    arm = scalars[SEEN]
    scalars[SEEN] = arm + 1
    scalars[LIVE] += 1
    if arm + 1 < scalars[KNOWN]:
        pass_over_withdrawn(state)
    return arm


@kernel
def withdraw(state: WithArms, arm: int) -> None:
    """Withdraw an arm that has a record and is not withdrawn yet."""
    state.arms.place[arm] = WITHDRAWN
    if arm < state.scalars[SEEN]:
        state.scalars[LIVE] -= 1
    else:
        pass_over_withdrawn(state)


@kernel
def pass_over_withdrawn(state: WithArms) -> None:
    """Skip withdrawn arms among those not seen yet."""
    scalars = state.scalars
    while scalars[SEEN] < scalars[KNOWN] and state.arms.place[scalars[SEEN]] == WITHDRAWN:
        scalars[SEEN] += 1


@kernel
def add(arms: Roster, arm: int, times: int, total: float) -> None:
    """Add results to an arm's sums, or take some out; sums are exactly 0 when the last result has been taken out."""
    arms.pulls[arm] += times
    arms.total[arm] += total
    if arms.pulls[arm] <= 0:
        arms.pulls[arm] = 0
        arms.total[arm] = 0.0


@kernel
def add_known(arms: Roster, jobs: Jobs, arm: int, times: int, total: float) -> None:
    """Add results without a job. Sums removed beyond the arm's results come from its job in flight."""
    left = arms.pulls[arm] + times
    if left <= 0 and jobs.due[arm] > 0:
        jobs.pulls[arm] += left
        jobs.total[arm] += arms.total[arm] + total
    add(arms, arm, times, total)


@kernel
def open_job(jobs: Jobs, job: int, due: int) -> None:
    """Begin a job, or with nothing due, forget what it has brought."""
    jobs.due[job] = due
    jobs.pulls[job] = 0
    jobs.total[job] = 0.0


@kernel
def collect(jobs: Jobs, job: int, times: int, total: float) -> bool:
    """Add results of a job, and return whether they are its last."""
    jobs.due[job] -= times
    jobs.pulls[job] += times
    jobs.total[job] += total
    return jobs.due[job] == 0


@kernel
def mean(arms: Roster, arm: int) -> float:
    """Return the mean an arm competes with; -∞ without a result."""
    return arms.total[arm] / arms.pulls[arm] if arms.pulls[arm] > 0 else -math.inf


@kernel
def has_result(arms: Roster, arm: int) -> bool:
    """Return whether an arm has a result and is not withdrawn."""
    return arms.pulls[arm] > 0 and arms.place[arm] != WITHDRAWN


@kernel
def has_larger_mean(arms: Roster, luck: Ints, arm: int, other: int) -> bool:
    """Return whether an arm's mean is larger than another's. Ties are broken at random."""
    pulls, total = arms.pulls, arms.total
    mine = total[arm] / pulls[arm] if pulls[arm] > 0 else -math.inf  # not `mean`: this runs at every tell
    theirs = total[other] / pulls[other] if pulls[other] > 0 else -math.inf
    return mine > theirs or (mine == theirs and luck[arm] > luck[other])
