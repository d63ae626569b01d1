"""Jobs with pulls that no holder has been given yet: the one at hand, and those that wait for a holder who may."""

from collections.abc import Container, Mapping
from typing import Any

from boxthirding.session.tickets import Job


class Wanted:
    """The job at hand is handed out before any other; those put aside are found by arm, the longest waiting first."""

    def __init__(self) -> None:
        self.at_hand: Job | None = None
        self._aside: dict[int, list[Job]] = {}  # by arm

    @property
    def pulls(self) -> int:
        """How many pulls are wanted."""
        aside = sum(job.left for jobs in self._aside.values() for job in jobs)
        return aside + (0 if self.at_hand is None else self.at_hand.left)

    @property
    def jobs(self) -> int:
        """How many jobs they belong to."""
        return sum(map(len, self._aside.values())) + (self.at_hand is not None)

    def of(self, arm: int) -> int:
        """Return how many pulls of an arm are wanted."""
        aside = sum(job.left for job in self._aside.get(arm, ()))
        return aside + (self.at_hand.left if self.at_hand is not None and self.at_hand.arm == arm else 0)

    def first(self) -> Job | None:
        """Return the job to hand out next."""
        if self.at_hand is None and self._aside:
            return next(iter(self._aside.values()))[0]
        return self.at_hand

    def first_but(self, seen: Container[int]) -> Job | None:
        """Return the job to hand out next of an arm that is not among those seen."""
        if self.at_hand is not None and self.at_hand.arm not in seen:
            return self.at_hand
        for arm, jobs in self._aside.items():
            if arm not in seen:
                return jobs[0]
        return None

    def put_aside(self) -> None:
        """Let the job at hand wait for a holder who may have it."""
        job, self.at_hand = self.at_hand, None
        if job is not None:
            self._aside.setdefault(job.arm, []).append(job)

    def done_with(self, job: Job) -> None:
        """The last pull of a job is handed out."""
        if job is self.at_hand:
            self.at_hand = None
            return
        jobs = self._aside[job.arm]
        jobs.remove(job)
        if not jobs:
            del self._aside[job.arm]

    def give_back(self, job: Job) -> None:
        """One more pull of a job is wanted after all."""
        job.left += 1
        if job is not self.at_hand and job.left == 1:
            self._aside.setdefault(job.arm, []).append(job)

    def drop(self, arm: int) -> None:
        """Want no pull of an arm."""
        self._aside.pop(arm, None)
        if self.at_hand is not None and self.at_hand.arm == arm:
            self.at_hand = None

    def save(self) -> dict[str, Any]:
        """Return the jobs by their ids."""
        aside = [[arm, [job.id for job in jobs]] for arm, jobs in self._aside.items()]
        return {"at_hand": None if self.at_hand is None else self.at_hand.id, "aside": aside}

    def load(self, facts: Mapping[str, Any], jobs: Mapping[int, Job]) -> None:
        """Go on from what was saved."""
        self.at_hand = None if facts["at_hand"] is None else jobs[facts["at_hand"]]
        self._aside = {arm: [jobs[job_id] for job_id in ids] for arm, ids in facts["aside"]}
