"""A policy at work on arms: its state, the ledger and the tickets. Pure: no lock, no clock, no thread, no file.

The same calls give the same tickets, so a study is a core to which the events of its journal have happened. What
happens to a ticket is in this file; what is known without one, or turns out to be wrong, in amendments.py; what follows
when an arm's examples run out in examples.py; what a policy starts from in take_over.py; what can be read in
answers.py; how a core is put down and taken up in saved.py.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from boxthirding._checks import whole
from boxthirding.errors import AlreadyTold, InvalidInput, TicketRefused
from boxthirding.policies.lineage import PlainRecord, Record, record_for
from boxthirding.policies.rule_runner import LiveState
from boxthirding.rng import ORDER, spawn
from boxthirding.session import examples
from boxthirding.session import policy_switch as take_over
from boxthirding.session.history import History
from boxthirding.session.job_queue import Wanted
from boxthirding.session.labels import Labels
from boxthirding.session.ledger import Ledger
from boxthirding.session.outliers import name_strays
from boxthirding.session.pulls import Pulls
from boxthirding.session.recompute import renew
from boxthirding.session.seen_arms import Seen
from boxthirding.session.tickets import Job, OpenTicket, Tickets, shortened
from boxthirding.session.values import Ticket
from boxthirding.types import NONE, Label, Policy

PASSED_OVER: Final = 64
"""Jobs in a row that a holder may not have, or that wait for results, after which it gets nothing for now."""


class Core:
    """The state of a session. Every method either happens as a whole or is refused and changes nothing.

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
        self.examples = None if examples is None else whole("the number of examples", examples, least=1)
        """How many different pulls an arm has; None without end."""
        self.labels = Labels(arms, spawn(self.seed, 0, 1)[0, ORDER])
        self.given = self.labels.count
        """Arms there from the start; what comes later is saved with the rest."""
        self.ledger = Ledger(self.sign)
        self.tickets = Tickets(origin)
        self.withdrawn: set[int] = set()
        """Numbers."""
        self.is_in_random_order = True
        """Whether no known result has put an arm before others."""
        self.live: LiveState | None = None
        """None, while no rule is run."""
        self.record: Record = PlainRecord()
        self.wanted = Wanted()
        self.is_known = False
        """Whether the examples have run out: nothing that the policy wants is left to evaluate."""
        self.amends = True
        """Whether the policy can be amended, or the last one could."""
        self._forgets = False  # whether the policy does
        self.pulls = Pulls()
        self.jobs: dict[int, Job] = {}
        """Open ones, by id."""
        self.jobs_begun = 0
        self.passed_over = 0
        """Jobs in a row, since something happened, that no ticket was cut for."""
        self.owed: dict[int, list[tuple[Job, int]]] = {}
        """By arm: pulls of jobs that are answered when all its examples are in."""
        self.answered = 0
        """Pulls in a row that were answered with a mean, free."""
        self.complete: set[int] = set()
        """Arms whose examples are all in."""
        self.example_payloads: Sequence[Mapping[str, Any]] = ()
        """What the examples are, by the pull that sees them, as a journal keeps them; empty while that is not known."""
        self.failed: dict[int, int] = {}
        """By arm: failures in a row."""
        self.seen = Seen(self.ledger, self.tickets)
        self.history = History()
        self.strays: dict[int, int] = {}
        """By arm: results that the rule has set aside, and that were looked for."""
        self.rounded: set[int] = set()
        """Arms whose sums the rule has rounded, as a huge result was taken out of them."""
        self.renewed: dict[int, tuple[int, int]] = {}
        """By arm whose record began anew: the job that it began with, and the rows by then."""

    @property
    def policy(self) -> Policy:
        """What decides which arm is next."""
        return self.running.policy

    @property
    def running(self) -> LiveState:
        """The rule's state."""
        if self.live is None:
            raise InvalidInput(
                "no policy is at work: the rule that wrote the journal is not here, so let another one decide"
            )
        return self.live

    @property
    def arms_there(self) -> int:
        """How many arms are known and not withdrawn."""
        return self.labels.known - len(self.withdrawn)

    # What a policy asks for

    def start(self, policy: Policy, era: int = 0, prepared: LiveState | None = None) -> None:
        """Let a policy decide from now on; it starts from every result that counts.

        `era` counts the policies before it: each draws the order of the arms that are left from a stream of its own.
        `prepared` is the state that it starts from, if nothing has happened since that was made.
        """
        live = take_over.prepared(self, policy) if prepared is None else prepared
        self.labels.draw_from(spawn(self.seed, era, 1)[0, ORDER])
        self._let_go()
        self.run(live)
        self.look_for_strays()
        examples.consider(self)

    def stop(self) -> None:
        """Let no policy decide: from now on only the ledger and the tickets are kept."""
        self.live, self.record = None, PlainRecord()
        self._let_go()

    def _let_go(self) -> None:
        """Forget the jobs of a rule that decides no more; results of its tickets are amended."""
        for entry in self.tickets.open.values():
            entry.job = None
        self.wanted = Wanted()
        self.jobs, self.owed, self.renewed, self.strays = {}, {}, {}, {}
        self.rounded = set()
        self.ledger.count_aside()
        self.answered = self.passed_over = 0
        self.is_known = False

    def run(self, live: LiveState) -> None:
        """Let the policy of a state decide from now on, as it stands."""
        policy = live.policy
        self.live, self.record = live, record_for(policy)
        self.amends, self._forgets = policy.rule.amend is not None, policy.forgets

    def cut(self, n: int, holder: str, at: float, tickets: list[Ticket], *, unseen: bool = False) -> bool:
        """Add up to n new tickets for a holder to a list; return whether the rule had no more to give.

        Should an iterator of arms raise, the tickets before are in the list.
        """
        wanted = self.wanted
        for _ in range(n):
            job = self._job_for(holder) if unseen else wanted.at_hand or wanted.first() or self._next_job(())
            if job is None:
                return True
            tickets.append(self._cut(job, holder, at))
        return False

    def room(self, n: int, limit: int | None) -> int:
        """Return how many of n new tickets a limit on results and open tickets allows."""
        return n if limit is None else min(n, limit - self.ledger.spent - len(self.tickets.open))

    def to_give(
        self, n: int, holder: str, now: float, lease: float | None, limit: int | None, *, unseen: bool
    ) -> list[int]:
        """Return up to n open tickets for a holder: those without a holder, then those whose lease has run out."""
        tickets = self.tickets
        overdue = tickets.overdue(now, lease)
        if limit is not None:  # more may be open than a limit allows: the tickets that are held in time go first
            overdue = [*overdue]
            held = len(tickets.open) - len(tickets.free) - len(overdue)
            n = min(n, limit - self.ledger.spent - held)
        found: list[int] = []
        taken = set(self.seen.by(holder)) if unseen else set()
        for ticket_id in chain(tickets.free, overdue):
            arm = tickets.open[ticket_id].ticket.arm
            if len(found) >= n:
                break
            if arm not in taken:
                found.append(ticket_id)
                if unseen:
                    taken.add(arm)
        return found

    def give(self, ticket_id: int, holder: str, at: float) -> Ticket:
        """Give an open ticket to a holder."""
        ticket = self.tickets.give(ticket_id, holder, at)
        self.seen.note(holder, ticket.arm)
        return ticket

    @property
    def asked_so_far(self) -> tuple[int, int, Job | None]:
        """What tells whether a question that gave no ticket has changed something all the same."""
        return self.jobs_begun, self.passed_over, self.wanted.at_hand

    def _job_for(self, holder: str) -> Job | None:
        """Return a job of an arm that a holder was never handed; the others wait for other holders."""
        seen = self.seen.by(holder)
        if not self.labels.open_ended and len(seen - self.withdrawn) >= self.arms_there:
            return None
        return self.wanted.first_but(seen) or self._next_job(seen)

    def _next_job(self, seen: Container[int]) -> Job | None:
        """Ask the rule until a job has a pull of an arm that is not among those seen.

        When it waits, or 64 jobs in a row were passed over, it is not asked again before something has happened.
        """
        while True:
            if self.labels.open_ended:
                self._look_for_arms()
            if self.passed_over >= PASSED_OVER or self.is_known:
                return None
            if self.wanted.at_hand is not None:
                self.wanted.put_aside()
            job = self._new_job()
            if job is None:
                self.passed_over = PASSED_OVER
            elif job.left and job.arm not in seen:
                return job
            elif job.untold:  # else it was answered, free, and that has an end of its own
                self.passed_over += 1

    def _look_for_arms(self) -> None:
        """Let the rule know of an arm that an iterator has given."""
        live, there = self.running, self.labels.available()
        if there != live.n_arms:
            live.n_arms = there
            self.passed_over = 0

    def _new_job(self) -> Job | None:
        """Ask the rule for a job; if it has pulls that can be handed out, it is the one at hand."""
        live = self.live or self.running  # which says why there is none
        name, arm, times = live.ask()
        self.record.note(live.views, self.ledger.pulls)
        if name < 0:
            return None
        job = Job(self.jobs_begun, name, arm, times)
        self.jobs_begun += 1
        self.jobs[job.id] = job
        if arm >= self.labels.numbered:
            self.labels.number(arm)
            self._make_room(arm + 1)
        if self.examples is not None:
            examples.keep_to(self, job)
        if job.left:
            self.wanted.at_hand = job
        return job

    def _cut(self, job: Job, holder: str, at: float) -> Ticket:
        arm = job.arm
        self.passed_over = 0
        job.left -= 1
        if job.left == 0:
            self.wanted.done_with(job)
        return self._ticket(arm, job, holder, at)

    def cut_extra(self, arm: int, holder: str, at: float) -> Ticket:
        """Cut a ticket that no job asked for: its result is amended."""
        return self._ticket(arm, None, holder, at)

    def _ticket(self, arm: int, job: Job | None, holder: str, at: float) -> Ticket:
        if self.seen.is_kept:
            self.seen.note(holder, arm)
        label, payload = self.labels.arm(arm)
        return self.tickets.cut(arm, label, self.pulls.take_next(arm), payload, job, holder, at)

    def number_next(self) -> int:
        """Give the next number to an arm of the pool, begin its record, and return it."""
        arm = self.labels.numbered
        self.labels.number(arm)
        self._make_room(arm + 1)
        self.running.amend(arm, 0, 0.0, 0.0)
        return arm

    def claim(self, label: Label) -> int:
        """Return the number of a label; it comes before all unseen ones from now on."""
        arm = self.labels.claim(label)
        self._make_room(arm + 1)
        return arm

    def _make_room(self, arms: int) -> None:
        """Have room for the first `arms` arms, and for some that come next."""
        if arms > len(self.ledger.counts):
            room = -(-arms // take_over.ROOM) * take_over.ROOM
            self.ledger.make_room(room)
            self.pulls.make_room(room)

    # What comes back

    def tell(self, ticket: int | Ticket, reward: float, holder: str | None = None) -> None:
        """Take the result of a ticket: of its holder, or of one who held it before."""
        tickets = self.tickets
        entry = tickets.expected(ticket) if holder is None else self.expected(ticket, holder)
        if entry is None or (holder is not None and entry.holder is not None and holder != entry.holder):
            self._tell_late(tickets.find(ticket), reward, str(holder))
            return
        ticket_id, arm, _, pull, _ = entry.ticket
        job = entry.job
        who = holder or entry.holder or tickets.earlier[ticket_id][-1]
        ledger = self.ledger
        tickets.close(ticket_id, ledger.rows)
        if tickets.earlier:
            self._has_told(ticket_id, who)
        counts = ledger.add(arm, pull, reward, who, ticket_id, NONE if job is None else job.id)
        if self.failed:
            self.failed.pop(arm, None)
        self.passed_over = 0
        if self.live is not None:
            value = self.sign * reward
            if job is None:
                self.is_known = False  # perhaps: with this, the rule may want something
                if counts:
                    self.live.amend(arm, 1, value, value * value)
            elif counts:
                self.take(job, 1, value, value * value)
            else:
                self._want_again(job)
        if self.examples is not None:
            examples.note(self, arm)

    def check_all(self, tickets: Iterable[int | Ticket]) -> list[int]:
        """Return the ids of open tickets that are to be told together; refuse one that is there twice."""
        ids: dict[int, None] = {}
        for ticket in tickets:
            ticket_id = self.tickets.expected(ticket).ticket.id
            if ticket_id in ids:
                raise AlreadyTold(
                    f"ticket {ticket_id} stands in the results more than once, but the first answer counts"
                )
            ids[ticket_id] = None
        return list(ids)

    def expected(self, ticket: int | Ticket, holder: str | None) -> OpenTicket | None:
        """Return the open ticket that a holder may tell; None, if its late result counts as one more of its arm."""
        if holder is None:
            return self.tickets.expected(ticket)
        ticket_id = self.tickets.find(ticket)
        entry = self.tickets.open.get(ticket_id)
        if entry is not None and entry.holder == holder:
            return entry
        if holder in self.tickets.earlier.get(ticket_id, ()):
            if entry is not None or (self.tickets.ended[ticket_id] >= 0 and self._takes_late_ones):
                return entry
        elif entry is not None:
            raise TicketRefused(
                f"ticket {ticket_id} was never given to {shortened(holder)}: tell it as the holder who asked"
            )
        raise self.tickets.refusal(ticket_id)

    @property
    def _takes_late_ones(self) -> bool:
        """Whether a second result of a ticket is one more result of its arm: with examples it would be the same one."""
        return self.amends and self.examples is None

    def _tell_late(self, ticket_id: int, reward: float, holder: str) -> None:
        """Take the result of a ticket that was given to another holder meanwhile."""
        entry = self.tickets.open.get(ticket_id)
        if entry is not None and not self._takes_late_ones:  # the first answer counts
            self.tickets.take_back(ticket_id)
            self.tell(ticket_id, reward, holder)
            return
        self._has_told(ticket_id, holder)
        row = self.tickets.ended[ticket_id]
        arm = entry.ticket.arm if entry is not None else self.ledger.result(row).arm
        self.failed.pop(arm, None)
        self.passed_over = 0
        self.add_known(arm, reward, holder, self.pulls.take_next(arm))

    def _has_told(self, ticket_id: int, holder: str) -> None:
        earlier = self.tickets.earlier.get(ticket_id)
        if earlier is not None and holder in earlier:
            earlier.remove(holder)
        if earlier is not None and not earlier:
            del self.tickets.earlier[ticket_id]

    def take(self, job: Job, times: int, total: float, squares: float) -> None:
        """Let the rule have results of a job; when it has all, what was amended meanwhile."""
        live = self.live or self.running  # which says why there is none
        live.tell(job.name, times, total, squares)
        job.untold -= times
        if job.untold == 0:
            del self.jobs[job.id]
            if self._forgets and self.pulls.taken(job.arm) != job.times and self._begins_anew(job):
                self.renewed[job.arm] = (job.id, self.ledger.rows)
            if job.changes is not None:
                for change in job.changes:
                    live.amend(job.arm, *change)
            if job.arm in self.rounded:
                renew(self, job.arm)
            self.look_for_strays()

    def look_for_strays(self) -> None:
        """See whether the rule has set results aside."""
        live = self.live
        if live is not None and live.set_aside is not None and live.set_aside(live.views) != sum(self.strays.values()):
            name_strays(self)

    def _begins_anew(self, job: Job) -> bool:
        """Tell whether the record of an arm is made of the results of a job that has just ended, and of no others."""
        arm = job.arm
        if arm in self.renewed or (job.changes is None and self.ledger.counts[arm] == job.times):
            return True  # no need to look
        return self.running.record_pulls(arm) == job.times

    def _want_again(self, job: Job) -> None:
        """A result of a job does not count: its pull is wanted of another holder, if an example is left for it."""
        if self.examples is not None and examples.left(self, job.arm) == 0:
            self.owed.setdefault(job.arm, []).append((job, 1))
        else:
            self.wanted.give_back(job)

    def failures_in_a_row(self, arm: int) -> int:
        """Return how often an arm has failed since its last result; at `patience` it is to be withdrawn."""
        return self.failed.get(arm, 0)

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated, so that it is given out again."""
        entry = self.tickets.expected(ticket)
        ticket_id, arm = entry.ticket.id, entry.ticket.arm
        if entry.holder is None:
            raise TicketRefused(f"ticket {ticket_id} has no holder, so it cannot fail: it waits to be given out again")
        self.failed[arm] = self.failed.get(arm, 0) + 1
        self.tickets.take_back(ticket_id)

    def add_known(self, arm: int, reward: float, holder: str, pull: int) -> None:
        """Take a result that no job asked for."""
        counts = self.ledger.add(arm, pull, reward, holder, NONE, NONE)
        if counts and self.live is not None and arm not in self.withdrawn:
            value = self.sign * reward
            self.live.amend(arm, 1, value, value * value)
        examples.note(self, arm)

    # Arms that come and go

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them."""
        self.labels.add(arms)
        self.passed_over = 0
        examples.consider(self)
        if self.live is not None:
            self.live.n_arms = self.labels.in_sight

    def check_can_withdraw(self, label: Label) -> None:
        """Refuse a label that does not exist, or is withdrawn."""
        arm = self.labels.find(label)
        if arm in self.withdrawn or (arm is None and self.labels.is_gone(label)):
            raise InvalidInput(
                f"label {label!r} is withdrawn already: to try the arm again, add it under another label"
            )

    def withdraw(self, label: Label) -> None:
        """Take an arm out of the race for good; its open tickets become void."""
        self.check_can_withdraw(label)
        arm = self.labels.find(label)
        if arm is None:
            self.labels.remove(label)
            if self.live is not None:
                self.live.n_arms = self.labels.in_sight
        else:
            self.withdrawn.add(arm)
            self.rounded.discard(arm)
            self.tickets.void(arm)
            self.wanted.drop(arm)
            self.owed.pop(arm, None)
            self.jobs = {job_id: job for job_id, job in self.jobs.items() if job.arm != arm}
            if self.live is not None:
                self.live.drop(arm)
        self.passed_over = 0
        examples.consider(self)

    # A journal that is read without its rule

    def number_as(self, labels: Iterable[Label]) -> None:
        """Give labels their numbers, in the order that a journal has."""
        for label in labels:
            self.claim(label)

    def restore(self, ticket_id: int, label: Label, pull: int, holder: str, at: float) -> Ticket:
        """Cut a ticket that a journal says was cut, without asking a rule."""
        arm = self.claim(label)
        if ticket_id != self.tickets.issued:
            raise InvalidInput(f"ticket {ticket_id} follows {self.tickets.issued - 1}")
        self.pulls.take_up_to(arm, pull)
        self.seen.note(holder, arm)
        return self.tickets.cut(arm, label, pull, self.labels.payload_of(label), None, holder, at)
