"""An arm's record taken out of a rule and put in again, from the ledger: sums that a huge number was in are rounded."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from boxthirding.session.core import Core


def renew(core: "Core", arm: int, change: tuple[int, float, float] = (0, 0.0, 0.0)) -> None:
    """Let the rule know exactly what counts of an arm; `change` is by how much that is more than what it knows.

    A rule begins an arm's sums anew when the last result is taken out, but what rounding has left may stay with a job
    under way: then the record is renewed once more when that has ended.
    """
    ledger = core.ledger
    rows = [(row, ledger.result(row)) for row in ledger.counting_of(arm).tolist()]
    values = [
        core.sign * result.reward
        for row, result in rows
        if result.job not in core.jobs and is_in_record(core, arm, result.job, row)
    ]
    times, total, squares = len(values), sum(values), sum(value * value for value in values)
    core.running.amend(arm, change[0] - times, change[1] - total, change[2] - squares)
    core.running.amend(arm, times, total, squares)
    if any(job.arm == arm for job in core.jobs.values()):
        core.rounded.add(arm)
    else:
        core.rounded.discard(arm)


def is_in_record(core: "Core", arm: int, job_id: int, row: int) -> bool:
    """Tell whether a result is part of the record that its arm competes with."""
    if arm not in core.renewed:
        return True
    job, rows = core.renewed[arm]
    return job_id == job or row >= rows
