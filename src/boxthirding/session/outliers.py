"""Results that the rule excludes as outliers, and arms whose sums it must be told again.

A rule knows sums only: the result that it excludes is found here, by arm and reward. It stays in the ledger and does
not count; one that a person has corrected is given back to the rule. Sums that a huge number was part of are rounded,
so the record of its arm is taken out of the rule and put in again, from the ledger.
"""

from collections.abc import Mapping
from typing import Any

from boxthirding.policies.rule_runner import LiveState
from boxthirding.session.job_queue import Change, JobQueue
from boxthirding.session.labels import Labels
from boxthirding.session.ledger import Ledger
from boxthirding.types import NONE


class Outliers:
    """What the rule has excluded, and which arms have rounded sums."""

    def __init__(self, labels: Labels, ledger: Ledger, jobs: JobQueue) -> None:
        self._labels, self._ledger, self._jobs = labels, ledger, jobs
        self.clear()

    def clear(self) -> None:
        """Forget what a rule has excluded that no longer decides."""
        self.excluded: dict[int, int] = {}
        """By arm: how many results the rule has excluded, as far as they were looked for."""
        self.count = 0  # of them all
        self.rounded: set[int] = set()
        """Arms whose sums the rule has rounded, as a huge result was taken out of them."""

    def update(self, live: LiveState) -> None:
        """Find the results that the rule has excluded since the last time, and tell it the exact sums without them."""
        if live.n_outliers is None or (count := live.n_outliers(live.views)) == self.count:
            return
        self.count = count
        for arm, (times, value) in live.outliers().items():
            if times == self.excluded.get(arm, 0):
                continue
            self.excluded[arm] = times
            row = self._ledger.outlier(arm, value)
            if row != NONE:
                self._ledger.exclude_outlier(row)
            if arm not in self._labels.withdrawn:
                self.recompute(live, arm, (1, value, value * value) if row == NONE else (0, 0.0, 0.0))

    def recompute(self, live: LiveState, arm: int, change: Change = (0, 0.0, 0.0)) -> None:
        """Tell the rule exactly what counts of an arm; `change` is by how much that is more than what it knows.

        A rule begins an arm's sums again when the last result is taken out, but what rounding has left may stay with
        an open job: then the record is recomputed once more when that has ended.
        """
        ledger, jobs = self._ledger, self._jobs
        rows = [(row, ledger.result(row)) for row in ledger.counting_of(arm).tolist()]
        values = [
            ledger.sign * (result.reward - result.effect)
            for row, result in rows
            if result.job not in jobs.open and jobs.is_in_record(arm, result.job, row)
        ]
        times, total, squares = len(values), sum(values), sum(value * value for value in values)
        live.amend(arm, change[0] - times, change[1] - total, change[2] - squares)
        live.amend(arm, times, total, squares)
        if any(job.arm == arm for job in jobs.open.values()):
            self.rounded.add(arm)
        else:
            self.rounded.discard(arm)

    def save(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {"excluded": list(self.excluded.items()), "rounded": sorted(self.rounded)}

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what was saved."""
        self.excluded, self.rounded = dict(saved["excluded"]), set(saved["rounded"])
        self.count = sum(self.excluded.values())
