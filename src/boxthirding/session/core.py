"""The state of a session: the life of a ticket. Pure: no lock, no clock, no thread, no file.

The same calls give the same tickets, so a study is a core to which the events of its journal are applied. What the rule
of the policy is asked and told is in rule_feed.py, amendments (known results, corrections, exclusions) are in
amendments.py, and what can be read is in reading.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, NamedTuple

from boxthirding._checks import whole
from boxthirding.errors import AlreadyTold, InvalidInput, TicketRefused
from boxthirding.rng import EXAMPLES, ORDER, spawn
from boxthirding.session.effects import Effects
from boxthirding.session.examples import ExampleDraws, ExampleTracker
from boxthirding.session.job_queue import Job, JobQueue
from boxthirding.session.labels import Labels
from boxthirding.session.ledger import History, Ledger
from boxthirding.session.rule_feed import RuleFeed
from boxthirding.session.tickets import OpenTicket, PullNumbers, Tickets, shortened
from boxthirding.session.values import Ticket
from boxthirding.types import NONE, Label, Policy

MOST_WAITING: Final = 1_024
"""Queued jobs beyond which the rule is not asked again for a holder who may have none of them."""

_PARTS: Final = ("labels", "ledger", "pulls", "jobs", "tickets", "examples", "effects", "history")
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
        self.rule = RuleFeed(
            self.labels, self.ledger, self.tickets, self.jobs, self.pulls, self.examples, self.effects, self.seed
        )
        self.history = History()
        self.is_in_random_order = True
        """Whether no known result has put an arm before others."""
        self.failed: dict[int, int] = {}
        """By arm: failures in a row; at `patience` it is to be withdrawn."""

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
        if unseen and self.rule.amends:
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
            job = self._job_for(holder) if unseen else jobs.at_hand or jobs.first() or self.rule.next_job(())
            if job is None:
                return True
            self.rule.passed_over = 0
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
        ticket = self.issue(self.claim(label), None, holder, at)
        if ticket.id != ticket_id:
            raise InvalidInput(f"ticket {ticket_id} follows {ticket.id - 1}")
        if ticket.pull != pull:
            raise InvalidInput(f"pull {pull} of {label!r} follows pull {ticket.pull - 1}")

    @property
    def asked_so_far(self) -> tuple[int, int, Job | None]:
        """A value that differs after the rule was asked or jobs were postponed, even if no ticket was cut."""
        return self.jobs.begun, self.rule.passed_over, self.jobs.at_hand

    @property
    def is_over(self) -> bool:
        """Whether nothing is left that could change the answer, as the examples have run out."""
        return self.examples.are_exhausted and (not self.rule.amends or self.examples.rival() == NONE)

    def _job_for(self, holder: str) -> Job | None:
        """Return a job of an arm that a holder was never handed; the others wait for other holders."""
        seen = self.tickets.seen_by(holder)
        if not self.labels.open_ended and len(seen - self.labels.withdrawn) >= self.labels.in_race:
            return None
        return self.jobs.first(seen) or self.rule.next_job(seen)

    def _enough_wait(self, holder: str) -> bool:
        """Return whether the number of jobs that wait for other holders has reached its limit."""
        if len(self.jobs.queued) < MOST_WAITING or self.labels.open_ended:
            return False
        return self.jobs.first(self.tickets.seen_by(holder)) is None

    def _next_unscheduled(self, holder: str, *, unseen: bool) -> int:
        """Return the arm of the next unscheduled ticket; NONE if there is none, or its result could not be amended."""
        if not self.rule.amends:
            return NONE
        if not unseen:
            return self.examples.rival() if self.examples.are_exhausted else NONE
        if self.is_over:
            return NONE
        seen = self.tickets.seen_by(holder)  # else the best by rank, then those without a result, then a new one
        for arm in chain(self.rule.running.ranking(len(seen) + 1), range(len(self.labels.numbered))):
            if arm not in seen and arm not in self.labels.withdrawn and self.examples.has_pull_left(arm):
                return arm
        return self._number_next()

    def _number_next(self) -> int:
        """Give the next number to an arm of the pool and begin its record; NONE if the pool is empty."""
        arm = len(self.labels.numbered)
        if arm >= self.labels.in_sight:
            return NONE
        self.labels.number(arm)
        self.rule.make_room(arm + 1)
        self.rule.running.amend(arm, 0, 0.0, 0.0)
        return arm

    def claim(self, label: Label) -> int:
        """Return the number of a label; it comes before all arms without a number from now on."""
        arm = self.labels.claim(label)
        self.rule.make_room(arm + 1)
        return arm

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
        self.rule.passed_over = 0
        if self.rule.live is not None:
            value = self.sign * (reward - effect)
            if job is None:
                self.examples.are_exhausted = False  # perhaps: with this, the rule may want something
                if counts:
                    self.rule.live.amend(arm, 1, value, value * value)
            elif counts:
                self.rule.tell(job, 1, value, value * value)
            elif self.examples.has_pull_left(arm):  # it does not count: the pull goes to another holder
                self.jobs.give_back(job)
            else:
                self.examples.owe(job, 1)
        if self.examples.count is not None:
            self.rule.note_example(arm)
            if self.effects.is_due:
                self.rule.refit()

    @property
    def _accepts_late_results(self) -> bool:
        """Whether a second result of a ticket is one more result of its arm: with examples it would be the same one."""
        return self.rule.amends and self.examples.count is None

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
        self.rule.passed_over = 0
        self.add_known(arm, reward, holder, self.pulls.take_next(arm))

    def add_known(self, arm: int, reward: float, holder: str, pull: int) -> None:
        """Take a result that no job asked for."""
        effect = self.effects.of(pull)
        counts = self.ledger.add(arm, pull, reward, holder, NONE, NONE, effect)
        if counts and self.rule.live is not None and arm not in self.labels.withdrawn:
            value = self.sign * (reward - effect)
            self.rule.live.amend(arm, 1, value, value * value)
        self.rule.note_example(arm)

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated, so that it is given out again."""
        entry = self.tickets.expected(ticket)
        ticket_id, arm = entry.ticket.id, entry.ticket.arm
        if entry.holder is None:
            raise TicketRefused(f"ticket {ticket_id} has no holder, so it cannot fail: it waits to be given out again")
        self.failed[arm] = self.failed.get(arm, 0) + 1
        self.tickets.take_back(ticket_id)

    # Arms that come and go

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them."""
        self.labels.add(arms)
        self.rule.reconsider()
        if self.rule.live is not None:
            self.rule.live.n_arms = self.labels.in_sight

    def withdraw(self, label: Label) -> None:
        """Withdraw an arm permanently; its open tickets become void."""
        arm = self.labels.withdraw(label)
        if arm is None:
            if self.rule.live is not None:
                self.rule.live.n_arms = self.labels.in_sight
        else:
            self.rule.outliers.rounded.discard(arm)
            self.tickets.void(arm)
            self.jobs.drop(arm)
            self.examples.owed.pop(arm, None)
            if self.rule.live is not None:
                self.rule.live.drop(arm)
        self.rule.reconsider()

    # The answer

    def best(self) -> int:
        """Return the number of the recommended arm, or NONE."""
        arm = NONE if self.rule.live is None else self.rule.live.recommend()
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
        arm = NONE if self.rule.live is None else self.best()
        if arm != NONE:
            ledger = self.ledger
            self.history.add(ledger.rows, self.labels.label(arm), self.mean(arm), ledger.tried, at)

    # Saved and restored

    def save(self) -> dict[str, Any]:
        """Return everything as plain values and arrays, but for the policy, payloads and the first arms."""
        saved = {part: getattr(self, part).save() for part in _PARTS}
        return {**saved, "rule": self.rule.save(), "random": self.is_in_random_order, "failed": [*self.failed.items()]}

    def load(self, saved: Mapping[str, Any], policy: Policy | None) -> None:
        """Restore what another core has saved that had the same arms, seed and settings as this one."""
        for part in _PARTS:
            getattr(self, part).load(saved[part])
        self.rule.load(saved["rule"], policy)
        self.is_in_random_order, self.failed = saved["random"], dict(saved["failed"])
