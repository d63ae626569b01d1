"""The state of a session: the rule, the ledger and the tickets. Pure: no lock, no clock, no thread, no file.

The same calls give the same tickets, so a study is a core to which the events of its journal are applied. Amendments
(known results, corrections, exclusions) are in amendments.py, and what can be read is in reading.py.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np

from boxthirding._checks import whole
from boxthirding.errors import AlreadyTold, CannotAmend, InvalidInput, TicketRefused
from boxthirding.policies.base_policy import arrays_of, with_arrays
from boxthirding.policies.lineage import Record, record_for
from boxthirding.policies.rule_runner import LiveState
from boxthirding.rng import EXAMPLES, ORDER, spawn
from boxthirding.session.effects import Effects
from boxthirding.session.examples import ExampleDraws, ExampleTracker
from boxthirding.session.job_queue import Change, Job, JobQueue
from boxthirding.session.labels import Labels
from boxthirding.session.ledger import History, Ledger
from boxthirding.session.outliers import Outliers
from boxthirding.session.tickets import OpenTicket, PullNumbers, Tickets, shortened
from boxthirding.session.values import Ticket
from boxthirding.types import NONE, Floats, Ints, Label, Policy

PASSED_OVER: Final = 64
"""Jobs in a row that a holder may not have, or that wait for results, after which it gets nothing for now."""

MOST_WAITING: Final = 1_024
"""Queued jobs beyond which the rule is not asked again for a holder who may have none of them."""

_ROOM: Final = 64  # arms that a new state has room for; it grows

_PARTS: Final = ("labels", "ledger", "pulls", "jobs", "tickets", "examples", "effects", "outliers", "history")
"""Attributes of a core that save and load themselves; an earlier one needs no later one."""


class HandedOut(NamedTuple):
    """How `hand_out` ended."""

    short: bool
    """Whether the rule was asked, and had no more to give."""
    unscheduled: int
    """How many of the tickets, the last ones, belong to no job."""


class Core:
    """The state of a session. Every method either happens as a whole, or raises and changes nothing.

    Until `start` is called it only keeps the ledger and the tickets, for which no rule is run.
    """

    def __init__(
        self,
        arms: int | Iterable[Any] | Mapping[Label, Any],
        *,
        seed: int = 0,
        direction: str = "maximize",
        patience: int = 3,
        examples: int | None = None,
        origin: str | None = None,
    ) -> None:
        if direction not in ("maximize", "minimize"):
            raise InvalidInput(f"direction is {direction!r}, but must be maximize or minimize")
        self.seed, self.direction = whole("seed", seed, least=0), direction
        self.sign = 1.0 if direction == "maximize" else -1.0
        self.patience = whole("patience", patience, least=1)
        if examples is not None:
            examples = whole("the number of examples", examples, least=1)
        streams = spawn(self.seed, 0, 1)[0]
        self.labels = Labels(arms, streams[ORDER])
        self.ledger = Ledger(self.sign)
        draws = None if examples is None else ExampleDraws(examples, streams[EXAMPLES], self.ledger)
        self.pulls = draws or PullNumbers()
        self.jobs = JobQueue()
        self.tickets = Tickets(origin, self.labels, self.ledger, self.jobs)
        self.examples = ExampleTracker(examples, self.labels, self.ledger, self.tickets, draws, self.jobs)
        self.effects = Effects(examples, self.ledger)
        self.outliers = Outliers(self.labels, self.ledger, self.jobs)
        self.history = History()
        self.is_in_random_order = True
        """Whether no known result has put an arm before others."""
        self.live: LiveState | None = None
        """None while no rule is run."""
        self.record = Record()
        self.amends = True
        """Whether the policy can be amended, or the last one could."""
        self._forgets = False  # whether the policy does
        self.passed_over = 0
        """Jobs in a row, since something happened, that no ticket was cut for."""
        self.failed: dict[int, int] = {}
        """By arm: failures in a row; at `patience` it is to be withdrawn."""

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

    # Which rule decides

    def start(self, policy: Policy, era: int = 0) -> None:
        """Let a policy decide from now on; it starts from every result that counts.

        `era` counts the policies before it: each draws the order of the arms that are left from a stream of its own.
        """
        live = self._start_of(policy)
        self.labels.draw_from(spawn(self.seed, era, 1)[0, ORDER])
        self._forget_jobs()
        self.run(live)
        self.outliers.update(live)
        self._reconsider()

    def stop(self) -> None:
        """Let no policy decide: from now on only the ledger and the tickets are kept."""
        self.live, self.record = None, Record()
        self._forget_jobs()

    def _forget_jobs(self) -> None:
        """Forget the jobs of a rule that no longer decides; results of its tickets are amended."""
        for entry in self.tickets.open.values():
            entry.job = None
        self.jobs.clear()
        self.examples.forget_jobs()
        self.outliers.clear()
        self.ledger.include_outliers()
        self.passed_over = 0

    def run(self, live: LiveState) -> None:
        """Let the policy of a state decide from now on, as it stands."""
        policy = live.policy
        self.live, self.record = live, record_for(policy)
        self.amends, self._forgets = policy.rule.amend is not None, policy.forgets

    def check_policy(self, policy: Policy) -> None:
        """Raise if a policy cannot start from the results that are there."""
        if self.labels.open_ended and not policy.open_ended:
            raise InvalidInput(f"policy {policy.name} must know how many arms there are: give a sequence or a number")
        policy.new(max(1, self.labels.in_sight), self.seed, 1)
        if policy.rule.amend is None and (self.ledger.rows or self.tickets.open or self.labels.withdrawn):
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
        n_arms = self.labels.available()
        if self.labels.count == 0:
            raise InvalidInput("the iterator gave no arm, but at least one is needed")
        numbered, withdrawn = len(self.labels.numbered), self.labels.withdrawn
        live = LiveState(policy, max(1, n_arms), self.seed, capacity=max(_ROOM, numbered))
        live.n_arms = n_arms  # 0, if all were withdrawn before one had a number
        if policy.rule.amend is None:
            return live
        if numbered > 0:  # so that each of them has a record, and can be dropped
            live.amend(numbered - 1, 0, 0.0, 0.0)
        for arm, times, total, squares in self.ledger.sums(self.ledger.counting(outliers=True)):
            if arm not in withdrawn:
                live.amend(arm, times, total, squares)
        for arm in sorted(withdrawn):
            live.drop(arm)
        live.amend(NONE, 0, 0.0, 0.0)
        return live

    # Tickets that go out

    def room(self, n: int, limit: int | None) -> int:
        """Return how many of n new tickets a limit on results and open tickets allows."""
        return n if limit is None else min(n, limit - self.ledger.spent - len(self.tickets.open))

    def hand_out(self, n: int, holder: str, at: float, tickets: list[Ticket], *, unseen: bool) -> HandedOut:
        """Add up to n new tickets for a holder to a list: of jobs, and then unscheduled ones.

        A rater sees an arm once, so late in a small contest a rule may want only arms that the rater has seen: it gets
        the best arm that it has not seen. And where examples run out, a rule may want only complete arms, while
        another may be as good. The results of such tickets are amended, as known ones are. If an iterator of arms
        raises, the tickets before are in the list.
        """
        end, short = len(tickets) + n, False
        if unseen and self.amends:
            while len(tickets) < end and not short and not self._enough_wait(holder):
                short = self.cut(1, holder, at, tickets, unseen=True)
        else:
            short = self.cut(n, holder, at, tickets, unseen=unseen)
        scheduled = len(tickets)
        while len(tickets) < end and (arm := self._next_unscheduled(holder, unseen=unseen)) != NONE:
            tickets.append(self.issue(arm, None, holder, at))
        return HandedOut(short, len(tickets) - scheduled)

    def cut(self, n: int, holder: str, at: float, tickets: list[Ticket], *, unseen: bool = False) -> bool:
        """Add up to n new tickets of jobs to a list; return whether the rule had no more to give."""
        jobs = self.jobs
        for _ in range(n):
            job = self._job_for(holder) if unseen else jobs.at_hand or jobs.first() or self._next_job(())
            if job is None:
                return True
            self.passed_over = 0
            jobs.take_pull(job)
            tickets.append(self.issue(job.arm, job, holder, at))
        return False

    def issue(self, arm: int, job: Job | None, holder: str, at: float) -> Ticket:
        """Issue a ticket for the next pull of an arm."""
        label, payload = self.labels.arm(arm)
        return self.tickets.cut(arm, label, self.pulls.take_next(arm), payload, job, holder, at)

    def issue_again(self, label: Label, holder: str, at: float) -> Ticket:
        """Issue an unscheduled ticket that a journal has."""
        arm = self.labels.find(label)
        return self.issue(self._number_next() if arm is None else arm, None, holder, at)

    def restore_ticket(self, ticket_id: int, label: Label, pull: int, holder: str, at: float) -> None:
        """Issue a ticket that a journal has, without asking a rule."""
        arm = self.claim(label)
        if ticket_id != len(self.tickets.ended):
            raise InvalidInput(f"ticket {ticket_id} follows {len(self.tickets.ended) - 1}")
        expected = self.pulls.take_next(arm)
        if pull != expected:
            raise InvalidInput(f"pull {pull} of {label!r} follows pull {expected - 1}")
        self.tickets.cut(arm, label, pull, self.labels.payload_of(label), None, holder, at)

    @property
    def asked_so_far(self) -> tuple[int, int, Job | None]:
        """A value that differs after the rule was asked or jobs were postponed, even if no ticket was cut."""
        return self.jobs.begun, self.passed_over, self.jobs.at_hand

    @property
    def is_over(self) -> bool:
        """Whether nothing is left that could change the answer, as the examples have run out."""
        return self.examples.are_exhausted and (not self.amends or self.examples.rival() == NONE)

    def _job_for(self, holder: str) -> Job | None:
        """Return a job of an arm that a holder was never handed; the others wait for other holders."""
        seen = self.tickets.seen_by(holder)
        if not self.labels.open_ended and len(seen - self.labels.withdrawn) >= self.labels.in_race:
            return None
        return self.jobs.first(seen) or self._next_job(seen)

    def _next_job(self, seen: Container[int]) -> Job | None:
        """Ask the rule until a job has a pull of an arm that is not among those seen.

        When it waits, or 64 jobs in a row were passed over, it is not asked again before something has happened.
        """
        live = self.live or self.running  # which raises if there is none
        while True:
            if self.labels.open_ended and (available := self.labels.available()) != live.n_arms:
                live.n_arms = available
                self.passed_over = 0
            if self.passed_over >= PASSED_OVER or self.examples.are_exhausted:
                return None
            if self.jobs.at_hand is not None:
                self.jobs.postpone()
            name, arm, times = live.ask()
            self.record.note(live.views, self.ledger.pulls)
            if name < 0:
                self.passed_over = PASSED_OVER
                continue
            job = self.jobs.add(name, arm, times)
            self.labels.number(arm)
            if arm >= len(self.ledger.counts):
                self._make_room(arm + 1)
            if self.examples.count is not None and self.examples.limit(job):
                self._answer(arm)
            if job.left:
                self.jobs.at_hand = job
                if arm not in seen:
                    return job
            if job.untold:  # else it was answered, free, and that has an end of its own
                self.passed_over += 1

    def _enough_wait(self, holder: str) -> bool:
        """Return whether the number of jobs that wait for other holders has reached its limit."""
        if len(self.jobs.queued) < MOST_WAITING or self.labels.open_ended:
            return False
        return self.jobs.first(self.tickets.seen_by(holder)) is None

    def _next_unscheduled(self, holder: str, *, unseen: bool) -> int:
        """Return the arm of the next unscheduled ticket; NONE if there is none, or its result could not be amended."""
        if not self.amends:
            return NONE
        if not unseen:
            return self.examples.rival() if self.examples.are_exhausted else NONE
        if self.is_over:
            return NONE
        seen = self.tickets.seen_by(holder)  # else the best by rank, then those without a result, then a new one
        for arm in chain(self.running.ranking(len(seen) + 1), range(len(self.labels.numbered))):
            if arm not in seen and arm not in self.labels.withdrawn and self.examples.has_pull_left(arm):
                return arm
        return self._number_next()

    def _number_next(self) -> int:
        """Give the next number to an arm of the pool and begin its record; NONE if the pool is empty."""
        arm = len(self.labels.numbered)
        if arm >= self.labels.in_sight:
            return NONE
        self.labels.number(arm)
        self._make_room(arm + 1)
        self.running.amend(arm, 0, 0.0, 0.0)
        return arm

    def claim(self, label: Label) -> int:
        """Return the number of a label; it comes before all arms without a number from now on."""
        arm = self.labels.claim(label)
        self._make_room(arm + 1)
        return arm

    def _make_room(self, arms: int) -> None:
        """Have room for the first `arms` arms, and for some that come next."""
        if arms > len(self.ledger.counts):
            room = -(-arms // _ROOM) * _ROOM
            self.ledger.make_room(room)
            self.pulls.make_room(room)

    # Results that come in

    def expected(self, ticket: int | Ticket, holder: str | None) -> OpenTicket | None:
        """Return the open ticket that a holder may tell; None if its late result counts as one more of its arm."""
        tickets = self.tickets
        if holder is None:
            return tickets.expected(ticket)
        ticket_id = tickets.find(ticket)
        entry = tickets.open.get(ticket_id)
        if entry is not None and entry.holder == holder:
            return entry
        if holder in tickets.earlier.get(ticket_id, ()):
            if entry is not None or (tickets.ended[ticket_id] >= 0 and self._accepts_late_results):
                return entry
        elif entry is not None:
            raise TicketRefused(f"ticket {ticket_id} was never given to {shortened(holder)}: tell it as its holder")
        raise tickets.refusal(ticket_id)

    def check_all(self, tickets: Iterable[int | Ticket]) -> list[int]:
        """Return the ids of open tickets that are to be told together; raise if one is there twice."""
        ids: dict[int, None] = {}
        for ticket in tickets:
            ticket_id = self.tickets.expected(ticket).ticket.id
            if ticket_id in ids:
                raise AlreadyTold(f"ticket {ticket_id} stands in the results twice, but the first answer counts")
            ids[ticket_id] = None
        return list(ids)

    def tell(self, ticket: int | Ticket, reward: float, holder: str | None = None) -> None:
        """Take the result of a ticket: of its holder, or of one who held it before."""
        tickets, ledger = self.tickets, self.ledger
        entry = tickets.expected(ticket) if holder is None else self.expected(ticket, holder)
        if entry is None or (holder is not None and entry.holder is not None and holder != entry.holder):
            self._tell_late(tickets.find(ticket), reward, str(holder))
            return
        ticket_id, arm, _, pull, _ = entry.ticket
        job = entry.job
        who = holder or entry.holder or tickets.earlier[ticket_id][-1]
        tickets.close(ticket_id, ledger.rows)
        if tickets.earlier:
            tickets.has_told(ticket_id, who)
        effect = 0.0 if self.examples.count is None else self.effects.of(pull)
        counts = ledger.add(arm, pull, reward, who, ticket_id, NONE if job is None else job.id, effect)
        if self.failed:
            self.failed.pop(arm, None)
        self.passed_over = 0
        if self.live is not None:
            value = self.sign * (reward - effect)
            if job is None:
                self.examples.are_exhausted = False  # perhaps: with this, the rule may want something
                if counts:
                    self.live.amend(arm, 1, value, value * value)
            elif counts:
                self._tell_rule(job, 1, value, value * value)
            elif self.examples.has_pull_left(arm):  # it does not count: the pull goes to another holder
                self.jobs.give_back(job)
            else:
                self.examples.owe(job, 1)
        if self.examples.count is not None:
            self._note_example(arm)
            if self.effects.is_due:
                self.refit()

    @property
    def _accepts_late_results(self) -> bool:
        """Whether a second result of a ticket is one more result of its arm: with examples it would be the same one."""
        return self.amends and self.examples.count is None

    def _tell_late(self, ticket_id: int, reward: float, holder: str) -> None:
        """Take the result of a ticket that was given to another holder meanwhile."""
        entry = self.tickets.open.get(ticket_id)
        if entry is not None and not self._accepts_late_results:  # the first answer counts
            self.tickets.take_back(ticket_id)
            self.tell(ticket_id, reward, holder)
            return
        self.tickets.has_told(ticket_id, holder)
        row = self.tickets.ended[ticket_id]
        arm = entry.ticket.arm if entry is not None else self.ledger.result(row).arm
        self.failed.pop(arm, None)
        self.passed_over = 0
        self.add_known(arm, reward, holder, self.pulls.take_next(arm))

    def _tell_rule(self, job: Job, times: int, total: float, squares: float) -> None:
        """Tell the rule results of a job; when it has all, tell it what was amended meanwhile."""
        live = self.live or self.running  # which raises if there is none
        live.tell(job.name, times, total, squares)
        job.untold -= times
        if job.untold:
            return
        arm = job.arm
        del self.jobs.open[job.id]
        if self._forgets and self.pulls.count(arm) != job.times and self._restarts_record(job):
            self.jobs.restart_record(job, self.ledger.rows)
        if job.changes is not None:
            for change in job.changes:
                live.amend(arm, *change)
        if arm in self.outliers.rounded:
            self.outliers.recompute(live, arm)
        if live.n_outliers is not None:
            self.outliers.update(live)

    def _restarts_record(self, job: Job) -> bool:
        """Return whether the record of an arm consists of the results of a job that has just ended, and no others."""
        if self.jobs.has_restarted(job.arm) or (job.changes is None and self.ledger.counts[job.arm] == job.times):
            return True  # no need to look
        return self.running.record_pulls(job.arm) == job.times

    def add_known(self, arm: int, reward: float, holder: str, pull: int) -> None:
        """Take a result that no job asked for."""
        effect = self.effects.of(pull)
        counts = self.ledger.add(arm, pull, reward, holder, NONE, NONE, effect)
        if counts and self.live is not None and arm not in self.labels.withdrawn:
            value = self.sign * (reward - effect)
            self.live.amend(arm, 1, value, value * value)
        self._note_example(arm)

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated, so that it is given out again."""
        entry = self.tickets.expected(ticket)
        ticket_id, arm = entry.ticket.id, entry.ticket.arm
        if entry.holder is None:
            raise TicketRefused(f"ticket {ticket_id} has no holder, so it cannot fail: it waits to be given out again")
        self.failed[arm] = self.failed.get(arm, 0) + 1
        self.tickets.take_back(ticket_id)

    def amend(self, row: int, change: Change, *, job_id: int, taken_out: float = 0.0) -> None:
        """Tell the rule that a result has changed, if it is part of what the rule knows."""
        arm = self.ledger.result(row).arm
        if self.live is None or arm in self.labels.withdrawn:
            return
        job = self.jobs.open.get(job_id)
        if job is not None:  # the rule keeps the results of an open job apart
            job.changes = [*(job.changes or ()), change]
        elif self.jobs.is_in_record(arm, job_id, row):
            self.live.amend(arm, *change)
        else:
            return
        if self.ledger.dwarfs(arm, taken_out):
            self.outliers.rounded.add(arm)

    def refit(self, *, from_scratch: bool = False) -> None:
        """Estimate the effects of examples again, and tell the rule what that changes."""
        if self.amends:
            self._adjust(*self.effects.refit(from_scratch=from_scratch))
            self.end_amendments()

    def _adjust(self, rows: Ints, effects: Floats) -> None:
        """Let results have other effects, and tell the rule by how much the sums of their arms change."""
        ledger, jobs, live = self.ledger, self.jobs, self.live
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
            if not is_counted or arm in self.labels.withdrawn:
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
        """Let the rule refit its estimates: what was amended is complete."""
        if self.live is not None and self.amends:
            for arm in sorted(self.outliers.rounded):
                self.outliers.recompute(self.live, arm)
            self.live.amend(NONE, 0, 0.0, 0.0)
            self.outliers.update(self.live)
        self._reconsider()

    def _note_example(self, arm: int) -> None:
        if self.examples.has_completed(arm):
            if self.effects.fit is not None:  # from now on its mean over all examples is known
                rows = self.ledger.rows_of_arm(arm)
                self._adjust(rows, np.zeros(len(rows)))
            self._answer(arm)

    def _reconsider(self) -> None:
        """Ask the rule again: other results count, or there are other arms."""
        self.passed_over = 0
        for arm in self.examples.reconsider():
            self._answer(arm)

    def _answer(self, arm: int) -> None:
        """Answer the pulls that are owed of a complete arm with its mean, free."""
        count = self.ledger.counts[arm]
        if self.live is None or count == 0:  # all its results are excluded: nothing is known of it for now
            return
        mean = self.ledger.totals[arm] / count
        for job, times in self.examples.owed.pop(arm, ()):
            self._tell_rule(job, times, times * mean, times * mean * mean)

    # Arms that come and go

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them."""
        self.labels.add(arms)
        self._reconsider()
        if self.live is not None:
            self.live.n_arms = self.labels.in_sight

    def withdraw(self, label: Label) -> None:
        """Withdraw an arm for good; its open tickets become void."""
        arm = self.labels.withdraw(label)
        if arm is None:
            if self.live is not None:
                self.live.n_arms = self.labels.in_sight
        else:
            self.outliers.rounded.discard(arm)
            self.tickets.void(arm)
            self.jobs.drop(arm)
            self.examples.owed.pop(arm, None)
            if self.live is not None:
                self.live.drop(arm)
        self._reconsider()

    # The answer

    def best(self) -> int:
        """Return the number of the recommended arm, or NONE."""
        arm = NONE if self.live is None else self.live.recommend()
        ledger = self.ledger
        if arm != NONE and ledger.counts[arm]:
            return arm
        # No job has ended yet, or the rule does not know yet that results were excluded: an arm with a result (S12)
        return max(self.tried(), key=lambda arm: ledger.totals[arm] / ledger.counts[arm], default=NONE)

    def tried(self) -> Iterator[int]:
        """Return the arms in the race that have a result that counts, by number."""
        withdrawn = self.labels.withdrawn
        return (arm for arm, count in enumerate(self.ledger.counts) if count and arm not in withdrawn)

    def mean(self, arm: int) -> float:
        """Return the mean of the results of an arm that count."""
        return self.sign * self.ledger.totals[arm] / self.ledger.counts[arm] + 0.0  # never -0

    def note_answer(self, at: float | None = None) -> None:
        """Keep the answer in the history, if it or its mean has changed, or enough time has passed."""
        arm = NONE if self.live is None else self.best()
        if arm != NONE:
            ledger = self.ledger
            self.history.add(ledger.rows, self.labels.label(arm), self.mean(arm), ledger.tried, at)

    # Saved and restored

    def save(self) -> dict[str, Any]:
        """Return everything as plain values and arrays, but for the policy, payloads and the first arms."""
        saved = {
            **{part: getattr(self, part).save() for part in _PARTS},
            "random": self.is_in_random_order,
            "amends": self.amends,
            "passed_over": self.passed_over,
            "failed": list(self.failed.items()),
            "state": None,
        }
        if self.live is not None:
            arrays = arrays_of(self.live.arrays)
            spent = {name: arrays[name].shape for name in self.record.spent}
            kept = {name: array.copy() for name, array in arrays.items() if name not in spent}
            saved["state"] = {"spent": spent, "arrays": kept, "record": self.record.save()}
        return saved

    def load(self, saved: Mapping[str, Any], policy: Policy | None) -> None:
        """Restore what another core has saved that had the same arms, seed and settings as this one."""
        for part in _PARTS:
            getattr(self, part).load(saved[part])
        self.is_in_random_order, self.passed_over = saved["random"], saved["passed_over"]
        self.failed = dict(saved["failed"])
        self.live, self.amends = None, saved["amends"]
        state = saved["state"]
        if state is not None and policy is not None:
            live = LiveState(policy, 1, self.seed)
            spent = {name: np.zeros(shape, np.int64) for name, shape in state["spent"].items()}
            live.hold(with_arrays(live.arrays, {**state["arrays"], **spent}))
            self.run(live)
            self.record.load(state["record"])
