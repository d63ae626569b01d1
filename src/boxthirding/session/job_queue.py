"""The jobs of a rule: pulls of one arm that it asked for, handed out one by one to holders who may have them."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

Change = tuple[int, float, float]
"""By how much the results, their sum and the sum of their squares change."""


@dataclass(slots=True, eq=False)
class Job:
    """Pulls of one arm that a rule asked for."""

    id: int
    """Counted over all jobs: a rule may use a name again."""
    name: int
    """What the rule calls it."""
    arm: int
    times: int
    """Pulls that it has in all."""
    left: int
    """Pulls that no ticket was cut for."""
    untold: int
    """Pulls whose results the rule has not been told."""
    changes: list[Change] | None = None
    """Amendments of its results, which the rule is told when the job has ended."""


class JobQueue:
    """All open jobs, and the order in which their pulls are handed out.

    The job at hand goes first; jobs whose arm the last holder could not have wait by arm, the oldest first.
    """

    def __init__(self) -> None:
        self.begun = 0
        """How many jobs there were, ever."""
        self.clear()

    def clear(self) -> None:
        """Forget all jobs: their rule no longer decides."""
        self.open: dict[int, Job] = {}
        """Jobs whose results are not all told, by id."""
        self.at_hand: Job | None = None
        self._waiting: dict[int, list[Job]] = {}  # by arm
        self._restarts: dict[int, tuple[int, int]] = {}  # by arm whose record began again: job and first row

    @property
    def queued(self) -> list[Job]:
        """Jobs that have pulls without a ticket, the one at hand first."""
        waiting = [job for jobs in self._waiting.values() for job in jobs]
        return waiting if self.at_hand is None else [self.at_hand, *waiting]

    def pulls_of(self, arm: int) -> int:
        """Return how many pulls of an arm have no ticket yet."""
        waiting = sum(job.left for job in self._waiting.get(arm, ()))
        return waiting + (self.at_hand.left if self.at_hand is not None and self.at_hand.arm == arm else 0)

    def add(self, name: int, arm: int, times: int) -> Job:
        """Begin a job."""
        job = self.open[self.begun] = Job(self.begun, name, arm, times, times, times)
        self.begun += 1
        return job

    def first(self, seen: Container[int] = ()) -> Job | None:
        """Return the next job to hand out, of an arm that is not among those seen."""
        if self.at_hand is not None and self.at_hand.arm not in seen:
            return self.at_hand
        for arm, jobs in self._waiting.items():
            if arm not in seen:
                return jobs[0]
        return None

    def postpone(self) -> None:
        """Postpone the job at hand until a holder comes who may have its arm."""
        job, self.at_hand = self.at_hand, None
        if job is not None:
            self._waiting.setdefault(job.arm, []).append(job)

    def take_pull(self, job: Job) -> None:
        """Take one pull from a job, for a ticket; the last one takes the job out of the queue."""
        job.left -= 1
        if job.left:
            return
        if job is self.at_hand:
            self.at_hand = None
            return
        jobs = self._waiting[job.arm]
        jobs.remove(job)
        if not jobs:
            del self._waiting[job.arm]

    def give_back(self, job: Job) -> None:
        """Put a pull back, to be handed out again."""
        job.left += 1
        if job is not self.at_hand and job.left == 1:
            self._waiting.setdefault(job.arm, []).append(job)

    def drop(self, arm: int) -> None:
        """Forget the jobs of a withdrawn arm."""
        self.open = {job_id: job for job_id, job in self.open.items() if job.arm != arm}
        self._waiting.pop(arm, None)
        if self.at_hand is not None and self.at_hand.arm == arm:
            self.at_hand = None

    def restart_record(self, job: Job, rows: int) -> None:
        """Record that an arm's record has the results of a job, and those told after a row of the ledger."""
        self._restarts[job.arm] = (job.id, rows)

    def has_restarted(self, arm: int) -> bool:
        """Return whether the record of an arm began again with a job."""
        return arm in self._restarts

    def is_in_record(self, arm: int, job_id: int, row: int) -> bool:
        """Return whether a result is part of the record that its arm competes with."""
        start, rows = self._restarts.get(arm, (job_id, 0))
        return job_id == start or row >= rows

    def save(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "begun": self.begun,
            "open": [
                [job.id, job.name, job.arm, job.times, job.left, job.untold, job.changes] for job in self.open.values()
            ],
            "at_hand": None if self.at_hand is None else self.at_hand.id,
            "waiting": [[arm, [job.id for job in jobs]] for arm, jobs in self._waiting.items()],
            "restarts": [[arm, *since] for arm, since in self._restarts.items()],
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what was saved."""
        self.clear()
        self.begun = saved["begun"]
        for job_id, name, arm, times, left, untold, changes in saved["open"]:
            amended = None if changes is None else [(count, total, squares) for count, total, squares in changes]
            self.open[job_id] = Job(job_id, name, arm, times, left, untold, amended)
        self.at_hand = self.open.get(saved["at_hand"])
        self._waiting = {arm: [self.open[job_id] for job_id in ids] for arm, ids in saved["waiting"]}
        self._restarts = {arm: (job_id, rows) for arm, job_id, rows in saved["restarts"]}
