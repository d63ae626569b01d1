"""What the rule of a policy is asked and told: the next job, the results of jobs, and later changes of results."""

from collections.abc import Container, Mapping
from typing import Any, Final

import numpy as np

from boxthirding.errors import CannotAmend, InvalidInput
from boxthirding.policies.base_policy import arrays_of, with_arrays
from boxthirding.policies.lineage import Record, record_for
from boxthirding.policies.rule_runner import LiveState
from boxthirding.rng import ORDER, spawn
from boxthirding.session.effects import Effects
from boxthirding.session.examples import ExampleDraws, ExampleTracker
from boxthirding.session.job_queue import Change, Job, JobQueue
from boxthirding.session.labels import Labels
from boxthirding.session.ledger import Ledger
from boxthirding.session.outliers import Outliers
from boxthirding.session.tickets import PullNumbers, Tickets
from boxthirding.types import NONE, Floats, Ints, Policy

PASSED_OVER: Final = 64
"""Jobs in a row that a holder may not have, or that wait for results, after which it gets nothing for now."""

_ROOM: Final = 64  # arms that a new state has room for; it grows


class RuleFeed:
    """Asks the rule of a policy for jobs, and tells it the results that count.

    While no rule is run, as its policy is not installed, nothing is asked or told.
    """

    def __init__(
        self,
        labels: Labels,
        ledger: Ledger,
        tickets: Tickets,
        jobs: JobQueue,
        pulls: PullNumbers | ExampleDraws,
        examples: ExampleTracker,
        effects: Effects,
        seed: int,
    ) -> None:
        self._labels, self._ledger, self._tickets, self._pulls = labels, ledger, tickets, pulls
        self._examples, self._effects, self._seed = examples, effects, seed
        self._jobs = jobs
        self.outliers = Outliers(labels, ledger, jobs)
        self.live: LiveState | None = None
        """None while no rule is run."""
        self.record = Record()
        self.amends = True
        """Whether the policy can be amended, or the last one could."""
        self._forgets = False  # whether the policy does
        self.passed_over = 0
        """Jobs in a row, since something happened, that no ticket was cut for."""

    @property
    def policy(self) -> Policy:
        """What decides which arm is next."""
        return self.running.policy

    @property
    def running(self) -> LiveState:
        """The rule's state."""
        if self.live is None:
            raise InvalidInput("no policy decides, as the one that wrote this journal is not installed: use() another")
        return self.live

    @property
    def arrays(self) -> Any:
        """The rule's state as a record reads it; None while no rule is run."""
        return None if self.live is None else self.live.arrays

    def start(self, policy: Policy, era: int = 0) -> None:
        """Switch to a policy; it starts from every result that counts.

        `era` counts the policies before it: each draws the order of the arms that are left from a stream of its own.
        """
        live = self._start_of(policy)
        self._labels.draw_from(spawn(self._seed, era, 1)[0, ORDER])
        self._forget_jobs()
        self.run(live)
        self.outliers.update(live)
        self.reconsider()

    def stop(self) -> None:
        """Stop running a rule: from now on only the ledger and the tickets are kept."""
        self.live, self.record = None, Record()
        self._forget_jobs()

    def _forget_jobs(self) -> None:
        """Forget the jobs of a rule that no longer decides; results of its tickets are amended."""
        for entry in self._tickets.open.values():
            entry.job = None
        self._jobs.clear()
        self._examples.forget_jobs()
        self.outliers.clear()
        self._ledger.include_outliers()
        self.passed_over = 0

    def run(self, live: LiveState) -> None:
        """Continue with the policy of a state, as it stands."""
        policy = live.policy
        self.live, self.record = live, record_for(policy)
        self.amends, self._forgets = policy.rule.amend is not None, policy.forgets

    def check_policy(self, policy: Policy) -> None:
        """Raise if a policy cannot start from the results that are there."""
        if self._labels.open_ended and not policy.open_ended:
            raise InvalidInput(f"policy {policy.name} must know how many arms there are: give a sequence or a number")
        policy.new(max(1, self._labels.in_sight), self._seed, 1)
        if policy.rule.amend is None and (self._ledger.rows or self._tickets.open or self._labels.withdrawn):
            raise CannotAmend(
                f"policy {policy.name} cannot start from results and open tickets that are there, as it only knows "
                "results of its own jobs",
                advice="use one that can, such as chase",
            )

    def _start_of(self, policy: Policy) -> LiveState:
        """Return the state that a policy starts from: every result that counts, arms in their old order.

        Excluded outliers are among them: each rule judges for itself.
        """
        self.check_policy(policy)
        n_arms = self._labels.available()
        if self._labels.count == 0:
            raise InvalidInput("the iterator gave no arm, but at least one is needed")
        numbered, withdrawn = len(self._labels.numbered), self._labels.withdrawn
        live = LiveState(policy, max(1, n_arms), self._seed, capacity=max(_ROOM, numbered))
        live.n_arms = n_arms  # 0, if all were withdrawn before one had a number
        if policy.rule.amend is None:
            return live
        if numbered > 0:  # so that each of them has a record, and can be dropped
            live.amend(numbered - 1, 0, 0.0, 0.0)
        for arm, times, total, squares in self._ledger.sums(self._ledger.counting(outliers=True)):
            if arm not in withdrawn:
                live.amend(arm, times, total, squares)
        for arm in sorted(withdrawn):
            live.drop(arm)
        live.amend(NONE, 0, 0.0, 0.0)
        return live

    def next_job(self, seen: Container[int]) -> Job | None:
        """Ask the rule until a job has a pull of an arm that is not among those seen.

        When it waits, or 64 jobs in a row were passed over, it is not asked again before something has happened.
        """
        live = self.live or self.running  # which raises if there is none
        while True:
            if self._labels.open_ended and (available := self._labels.available()) != live.n_arms:
                live.n_arms = available
                self.passed_over = 0
            if self.passed_over >= PASSED_OVER or self._examples.are_exhausted:
                return None
            if self._jobs.at_hand is not None:
                self._jobs.postpone()
            name, arm, times = live.ask()
            self.record.note(live.views, self._ledger.pulls)
            if name < 0:
                self.passed_over = PASSED_OVER
                continue
            job = self._jobs.add(name, arm, times)
            self._labels.number(arm)
            if arm >= len(self._ledger.counts):
                self.make_room(arm + 1)
            if self._examples.count is not None and self._examples.limit(job):
                self._answer(arm)
            if job.left:
                self._jobs.at_hand = job
                if arm not in seen:
                    return job
            if job.untold:  # else it was answered, free, and that has an end of its own
                self.passed_over += 1

    def make_room(self, arms: int) -> None:
        """Have room for the first `arms` arms, and for some that come next."""
        if arms > len(self._ledger.counts):
            room = -(-arms // _ROOM) * _ROOM
            self._ledger.make_room(room)
            self._pulls.make_room(room)

    def tell(self, job: Job, times: int, total: float, squares: float) -> None:
        """Tell the rule results of a job; when it has all, tell it what was amended meanwhile."""
        live = self.live or self.running  # which raises if there is none
        live.tell(job.name, times, total, squares)
        job.untold -= times
        if job.untold:
            return
        arm = job.arm
        del self._jobs.open[job.id]
        if self._forgets and self._pulls.count(arm) != job.times and self._restarts_record(job):
            self._jobs.restart_record(job, self._ledger.rows)
        if job.changes is not None:
            for change in job.changes:
                live.amend(arm, *change)
        if arm in self.outliers.rounded:
            self.outliers.recompute(live, arm)
        if live.n_outliers is not None and live.n_outliers(live.views) != self.outliers.count:  # for every job: no call
            self.outliers.update(live)

    def _restarts_record(self, job: Job) -> bool:
        """Return whether the record of an arm consists of the results of a job that has just ended, and no others."""
        if self._jobs.has_restarted(job.arm) or (job.changes is None and self._ledger.counts[job.arm] == job.times):
            return True  # no need to look
        return self.running.record_pulls(job.arm) == job.times

    def amend(self, row: int, change: Change, *, job_id: int, taken_out: float = 0.0) -> None:
        """Tell the rule that a result has changed, if it is part of what the rule knows."""
        arm = self._ledger.result(row).arm
        if self.live is None or arm in self._labels.withdrawn:
            return
        job = self._jobs.open.get(job_id)
        if job is not None:  # the rule keeps the results of an open job apart
            job.changes = [*(job.changes or ()), change]
        elif self._jobs.is_in_record(arm, job_id, row):
            self.live.amend(arm, *change)
        else:
            return
        if self._ledger.dwarfs(arm, taken_out):
            self.outliers.rounded.add(arm)

    def refit(self, *, from_scratch: bool = False) -> None:
        """Estimate the effects of examples again, and tell the rule what that changes."""
        if self.amends:
            self._adjust(*self._effects.refit(from_scratch=from_scratch))
            self.end_amendments()

    def _adjust(self, rows: Ints, effects: Floats) -> None:
        """Replace the effects of results, and tell the rule by how much the sums of their arms change."""
        ledger, jobs, live = self._ledger, self._jobs, self.live
        before = ledger.table(rows)
        ledger.adjust(rows, effects)
        if live is None:
            return
        values, after = (ledger.sign * (before.rewards - effect) for effect in (before.effects, effects))
        changes = zip(after - values, after * after - values * values, strict=True)
        counts = np.isin(rows, ledger.counting()).tolist()
        sums: dict[int, tuple[float, float]] = {}
        columns = zip(before.arms.tolist(), before.jobs.tolist(), rows.tolist(), counts, changes, strict=True)
        for arm, job_id, row, is_counted, (total, squares) in columns:
            if not is_counted or arm in self._labels.withdrawn:
                continue
            job = jobs.open.get(job_id)
            if job is not None:  # the rule keeps the results of an open job apart
                job.changes = [*(job.changes or ()), (0, total, squares)]
            elif jobs.is_in_record(arm, job_id, row):
                so_far = sums.get(arm, (0.0, 0.0))
                sums[arm] = so_far[0] + total, so_far[1] + squares
        for arm, (total, squares) in sums.items():
            live.amend(arm, 0, total, squares)

    def end_amendments(self) -> None:
        """Complete a series of amendments: the rule refits its estimates."""
        if self.live is not None and self.amends:
            for arm in sorted(self.outliers.rounded):
                self.outliers.recompute(self.live, arm)
            self.live.amend(NONE, 0, 0.0, 0.0)
            self.outliers.update(self.live)
        self.reconsider()

    def note_example(self, arm: int) -> None:
        """Answer what is owed of an arm, if the last of its examples has come in."""
        if self._examples.has_completed(arm):
            if self._effects.fit is not None:  # from now on its mean over all examples is known
                rows = self._ledger.rows_of_arm(arm)
                self._adjust(rows, np.zeros(len(rows)))
            self._answer(arm)

    def reconsider(self) -> None:
        """Ask the rule again: other results count, or there are other arms."""
        self.passed_over = 0
        for arm in self._examples.reconsider():
            self._answer(arm)

    def _answer(self, arm: int) -> None:
        """Answer the pulls that are owed of a complete arm with its mean, free."""
        count = self._ledger.counts[arm]
        if self.live is None or count == 0:  # all its results are excluded: nothing is known of it for now
            return
        mean = self._ledger.totals[arm] / count
        for job, times in self._examples.owed.pop(arm, ()):
            self.tell(job, times, times * mean, times * mean * mean)

    # Saved and restored

    def save(self) -> dict[str, Any]:
        """Return everything as plain values and arrays, but for the policy and the jobs."""
        saved = {
            "amends": self.amends,
            "passed_over": self.passed_over,
            "outliers": self.outliers.save(),
            "state": None,
        }
        if self.live is not None:
            arrays = arrays_of(self.live.arrays)
            spent = {name: arrays[name].shape for name in self.record.spent}
            kept = {name: array.copy() for name, array in arrays.items() if name not in spent}
            saved["state"] = {"spent": spent, "arrays": kept, "record": self.record.save()}
        return saved

    def load(self, saved: Mapping[str, Any], policy: Policy | None) -> None:
        """Restore what was saved."""
        self.live, self.amends, self.passed_over = None, saved["amends"], saved["passed_over"]
        self.outliers.load(saved["outliers"])
        state = saved["state"]
        if state is not None and policy is not None:
            live = LiveState(policy, 1, self._seed)
            spent = {name: np.zeros(shape, np.int64) for name, shape in state["spent"].items()}
            live.hold(with_arrays(live.arrays, {**state["arrays"], **spent}))
            self.run(live)
            self.record.load(state["record"])
