"""A policy at work on arms: its state, the ledger and the tickets. Pure: no lock, no clock, no thread, no file.

The same calls give the same tickets, so a study is a core to which the events of its journal have happened. What
happens to a ticket is in this file; what can be read is in answers.py.
"""

from collections.abc import Container, Iterable, Mapping
from itertools import chain
from typing import Any, Final

import numpy as np

from boxthirding._checks import whole
from boxthirding.errors import AlreadyTold, CannotAmend, InvalidInput, TicketRefused
from boxthirding.policies.live_state import LiveState
from boxthirding.policies.records import PlainRecord, Record, record_for
from boxthirding.session.known import KnownResult
from boxthirding.session.labels import Labels
from boxthirding.session.ledger import Ledger, Sums
from boxthirding.session.protocol import Ticket
from boxthirding.session.pulls import Pulls
from boxthirding.session.saved import Saved, named
from boxthirding.session.tickets import OPEN, Job, OpenTicket, Tickets, shortened
from boxthirding.session.wanted import Wanted
from boxthirding.streams import ORDER, spawn
from boxthirding.types import NONE, Label, Policy

PASSED_OVER: Final = 64
"""Jobs in a row that a holder may not have, or that wait for results, after which it gets nothing for now."""

_ROOM: Final = 64  # for arms to begin with; a state grows


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
        self._amends = True  # whether the policy can be amended, or the last one could
        self._forgets = False  # whether the policy does
        self._pulls = Pulls()
        self._jobs: dict[int, Job] = {}  # open ones by id
        self._jobs_begun = 0
        self._passed_over = 0  # jobs in a row, since something happened, that no ticket was cut for
        self._owed: dict[int, list[tuple[Job, int]]] = {}  # by arm: pulls to be answered when all its examples are in
        self._answered = 0  # pulls in a row that were answered with a mean, free
        self._complete: set[int] = set()  # arms whose examples are all in
        self._failed: dict[int, int] = {}  # by arm: failures in a row
        self._seen: dict[str, set[int]] | None = None  # by holder: arms that it was handed; worked out when needed
        self._renewed: dict[int, tuple[int, int]] = {}  # by arm whose record began anew: the job, and the rows by then

    @property
    def policy(self) -> Policy:
        """What decides which arm is next."""
        return self.running.policy

    @property
    def running(self) -> LiveState:
        """The rule's state."""
        if self.live is None:
            raise InvalidInput("no policy is at work: the rule that wrote the journal is not here, so call use(policy)")
        return self.live

    @property
    def arms_there(self) -> int:
        """How many arms are known and not withdrawn."""
        return self.labels.known - len(self.withdrawn)

    # What a policy asks for

    def check_can_take_over(self, policy: Policy) -> None:
        """Refuse a policy that cannot start from the results that are there."""
        if self.labels.open_ended and not policy.open_ended:
            raise InvalidInput(f"policy {policy.name} must know how many arms there are: give a sequence or a number")
        policy.new(max(1, self.labels.in_sight), self.seed, 1)
        if policy.rule.amend is None and (self.ledger.rows or self.tickets.open or self.withdrawn):
            raise CannotAmend(
                f"policy {policy.name} cannot start from results and open tickets that are there, as it only knows "
                "results of its own jobs: use one that can, such as b3auto"
            )

    def prepared(self, policy: Policy) -> LiveState:
        """Return the state that a policy starts from: every result that counts, arms in their old order."""
        self.check_can_take_over(policy)
        n_arms = self.labels.available()
        if self.labels.count == 0:
            raise InvalidInput("the iterator gave no arm, but at least one is needed")
        live = LiveState(policy, max(1, n_arms), self.seed, capacity=max(_ROOM, self.labels.numbered))
        live.n_arms = n_arms  # 0, if all were withdrawn before one had a number
        if policy.rule.amend is not None:
            _amend_all(live, self.labels.numbered, self.ledger.sums(self.ledger.counting()), self.withdrawn)
        return live

    def start(self, policy: Policy, era: int = 0, prepared: LiveState | None = None) -> None:
        """Let a policy decide from now on; it starts from every result that counts.

        `era` counts the policies before it: each draws the order of the arms that are left from a stream of its own.
        `prepared` is the state that it starts from, if nothing has happened since that was made.
        """
        live = self.prepared(policy) if prepared is None else prepared
        self.labels.draw_from(spawn(self.seed, era, 1)[0, ORDER])
        self._let_go()
        self._run(live)
        self._consider_examples()

    def stop(self) -> None:
        """Let no policy decide: from now on only the ledger and the tickets are kept."""
        self.live = None
        self._let_go()

    def _let_go(self) -> None:
        """Forget the jobs of a rule that decides no more; results of its tickets are amended."""
        for entry in self.tickets.open.values():
            entry.job = None
        self.wanted = Wanted()
        self._jobs, self._owed, self._renewed = {}, {}, {}
        self._answered = self._passed_over = 0
        self.is_known = False

    def _run(self, live: LiveState) -> None:
        policy = live.policy
        self.live, self.record = live, record_for(policy)
        self._amends, self._forgets = policy.rule.amend is not None, policy.forgets

    def cut(self, n: int, holder: str, at: float, tickets: list[Ticket], *, unseen: bool = False) -> bool:
        """Add up to n new tickets for a holder to a list; return whether the rule had no more to give.

        Should an iterator of arms raise, the tickets before are in the list.
        """
        for _ in range(n):
            job = self._job_for(holder) if unseen else self.wanted.first() or self._next_job(())
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
        if limit is not None:  # more may be open than a limit allows: the tickets that are held go first
            n = min(n, limit - self.ledger.spent - len(tickets.open) + len(tickets.free))
        found: list[int] = []
        taken = set(self._handed_to(holder)) if unseen else set()
        for ticket_id in chain(tickets.free, tickets.overdue(now, lease)):
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
        if self._seen is not None:
            self.seen_by(holder).add(ticket.arm)
        return ticket

    @property
    def asked_so_far(self) -> tuple[int, int, Job | None]:
        """What tells whether a question that gave no ticket has changed something all the same."""
        return self._jobs_begun, self._passed_over, self.wanted.at_hand

    def _handed_to(self, holder: str) -> set[int]:
        """Return the arms that a holder was ever handed, and change nothing."""
        seen = self._seen_so_far() if self._seen is None else self._seen
        return seen.get(holder, set())

    def seen_by(self, holder: str) -> set[int]:
        """Return the arms that a holder was ever handed."""
        if self._seen is None:
            self._seen = self._seen_so_far()
        return self._seen.setdefault(holder, set())

    def _job_for(self, holder: str) -> Job | None:
        """Return a job of an arm that a holder was never handed; the others wait for other holders."""
        seen = self.seen_by(holder)
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
            if self._passed_over >= PASSED_OVER or self.is_known:
                return None
            if self.wanted.at_hand is not None:
                self.wanted.put_aside()
            job = self._new_job()
            if job is None:
                self._passed_over = PASSED_OVER
            elif job.left and job.arm not in seen:
                return job
            elif job.untold:  # else it was answered, free, and that has an end of its own
                self._passed_over += 1

    def _look_for_arms(self) -> None:
        """Let the rule know of an arm that an iterator has given."""
        live, there = self.running, self.labels.available()
        if there != live.n_arms:
            live.n_arms = there
            self._passed_over = 0

    def _new_job(self) -> Job | None:
        """Ask the rule for a job; if it has pulls that can be handed out, it is the one at hand."""
        live = self.live or self.running  # which says why there is none
        name, arm, times = live.ask()
        self.record.note(live.views, self.ledger.pulls)
        if name < 0:
            return None
        job = Job(self._jobs_begun, name, arm, times)
        self._jobs_begun += 1
        self._jobs[job.id] = job
        if arm >= self.labels.numbered:
            self.labels.number(arm)
            self._make_room(arm + 1)
        if self.examples is not None:
            self._keep_to_examples(job)
        if job.left:
            self.wanted.at_hand = job
        return job

    def _cut(self, job: Job, holder: str, at: float) -> Ticket:
        arm = job.arm
        self._passed_over = 0
        job.left -= 1
        if job.left == 0:
            self.wanted.done_with(job)
        if self._seen is not None:
            self.seen_by(holder).add(arm)
        label, payload = self.labels.arm(arm)
        return self.tickets.cut(arm, label, self._pulls.take_next(arm), payload, job, holder, at)

    def _claim(self, label: Label) -> int:
        """Return the number of a label; it comes before all unseen ones from now on."""
        arm = self.labels.claim(label)
        self._make_room(arm + 1)
        return arm

    def _make_room(self, arms: int) -> None:
        """Have room for the first `arms` arms, and for some that come next."""
        if arms > len(self.ledger.counts):
            room = -(-arms // _ROOM) * _ROOM
            self.ledger.make_room(room)
            self._pulls.make_room(room)

    # Examples that run out

    def _keep_to_examples(self, job: Job) -> None:
        """Let a job have no more pulls than its arm has examples; the others are answered with the arm's mean."""
        arm = job.arm
        over = min(job.left, job.left - self._examples_left(arm))
        if over > 0:
            job.left -= over
            self._owed.setdefault(arm, []).append((job, over))
        if job.left or arm not in self._complete:
            self._answered = 0
            return
        self._answered += over
        self.is_known = self.is_known or self._answered >= max(1, self.ledger.spent)
        self._answer(arm)

    def _examples_left(self, arm: int) -> int:
        """Return how many examples of an arm are neither handed out nor known nor wanted."""
        return max(0, (self.examples or 0) - self._pulls.taken(arm) - self.wanted.of(arm))

    def _answer(self, arm: int) -> None:
        """Answer the pulls that are owed of a complete arm with its mean, free."""
        count = self.ledger.counts[arm]
        if self.live is None or count == 0:  # all its results are excluded: nothing is known of it for now
            return
        mean = self.ledger.totals[arm] / count
        for job, times in self._owed.pop(arm, ()):
            self._take(job, times, times * mean, times * mean * mean)

    def _note_examples(self, arm: int) -> None:
        """See whether the last example of an arm has come in, and answer what waited for that."""
        if self.examples is None or arm in self._complete or self._pulls.taken(arm) < self.examples:
            return
        if any(entry.ticket.arm == arm for entry in self.tickets.open.values()):
            return
        self._complete.add(arm)
        self._answer(arm)
        self._see_whether_known()

    def _consider_examples(self) -> None:
        """Other results count now: the policy may want other arms, and what was owed can perhaps be answered."""
        if self.examples is None:
            return
        self.is_known, self._answered = False, 0
        for arm in [arm for arm in self._owed if arm in self._complete]:
            self._answer(arm)
        self._see_whether_known()

    def _see_whether_known(self) -> None:
        if not self.labels.open_ended and len(self._complete - self.withdrawn) >= self.arms_there:
            self.is_known = True

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
        if self._failed:
            self._failed.pop(arm, None)
        self._passed_over = 0
        if self.live is not None:
            value = self.sign * reward
            if job is None:
                if counts:
                    self.live.amend(arm, 1, value, value * value)
            elif counts:
                self._take(job, 1, value, value * value)
            else:
                self._want_again(job)
        if self.examples is not None:
            self._note_examples(arm)

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
        return self._amends and self.examples is None

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
        self._failed.pop(arm, None)
        self._passed_over = 0
        self._add_known(arm, reward, holder, self._pulls.take_next(arm))

    def _has_told(self, ticket_id: int, holder: str) -> None:
        earlier = self.tickets.earlier.get(ticket_id)
        if earlier is not None and holder in earlier:
            earlier.remove(holder)
        if earlier is not None and not earlier:
            del self.tickets.earlier[ticket_id]

    def _take(self, job: Job, times: int, total: float, squares: float) -> None:
        """Let the rule have results of a job; when it has all, what was amended meanwhile."""
        live = self.live or self.running  # which says why there is none
        live.tell(job.name, times, total, squares)
        job.untold -= times
        if job.untold == 0:
            del self._jobs[job.id]
            if self._forgets and self._pulls.taken(job.arm) != job.times and self._begins_anew(job):
                self._renewed[job.arm] = (job.id, self.ledger.rows)
            if job.changes is not None:
                for change in job.changes:
                    live.amend(job.arm, *change)

    def _begins_anew(self, job: Job) -> bool:
        """Tell whether the record of an arm is made of the results of a job that has just ended, and of no others."""
        arm = job.arm
        if arm in self._renewed or (job.changes is None and self.ledger.counts[arm] == job.times):
            return True  # no need to look
        return self.running.record_pulls(arm) == job.times

    def _want_again(self, job: Job) -> None:
        """A result of a job does not count: its pull is wanted of another holder, if an example is left for it."""
        if self.examples is not None and self._examples_left(job.arm) == 0:
            self._owed.setdefault(job.arm, []).append((job, 1))
        else:
            self.wanted.give_back(job)

    def failures_in_a_row(self, arm: int) -> int:
        """Return how often an arm has failed since its last result; at `patience` it is to be withdrawn."""
        return self._failed.get(arm, 0)

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated, so that it is given out again."""
        entry = self.tickets.expected(ticket)
        ticket_id, arm = entry.ticket.id, entry.ticket.arm
        if entry.holder is None:
            raise TicketRefused(f"ticket {ticket_id} has no holder, so it cannot fail: it waits to be given out again")
        self._failed[arm] = self._failed.get(arm, 0) + 1
        self.tickets.take_back(ticket_id)

    # What is known without a ticket, and what turns out to be wrong

    def observe(self, label: Label, reward: float, pull: int | None = None) -> None:
        """Take a known result of an arm."""
        self.check_known(label, pull)
        is_unseen = self.labels.find(label) is None
        arm = self._claim(label)
        if is_unseen:
            self.is_in_random_order = False
        if pull is None:
            pull = self._pulls.take_next(arm)
        else:
            self._pulls.take(arm, pull)
        self._add_known(arm, reward, "", pull)

    def check_known(self, label: Label, pull: int | None = None) -> None:
        """Refuse a known result that cannot be taken."""
        self.check_can_amend("take known results")
        arm = self.labels.find(label)
        if arm in self.withdrawn or (arm is None and self.labels.is_gone(label)):
            raise InvalidInput(f"label {label!r} is withdrawn, so no result of it can be taken")
        if self.examples is None:
            if pull is not None:
                raise InvalidInput(f"pull is {pull!r}, but there are no examples, so leave it out")
            return
        if pull is None:
            raise InvalidInput(
                f"the result of {label!r} names no example, but must: give pull= 0 to {self.examples - 1}, the place "
                "of its example in the order of the examples"
            )
        if not whole("pull", pull, least=0) < self.examples:
            raise InvalidInput(f"pull is {pull}, but there are {self.examples} examples: give 0 to {self.examples - 1}")
        if self.has_pull(label, pull):
            raise InvalidInput(f"pull {pull} of {label!r} is told or handed out already, and counts once")

    def check_all_known(self, rows: Iterable[KnownResult]) -> None:
        """Refuse known results of which one cannot be taken, or that name a pull twice."""
        there: set[tuple[Label, int]] = set()
        for label, _, pull in rows:
            self.check_known(label, pull)
            if pull is not None:
                if (label, pull) in there:
                    raise InvalidInput(f"pull {pull} of {label!r} stands in the known results twice, but counts once")
                there.add((label, pull))

    def known_results(self, arm: int) -> int:
        """Return how many results of an arm are known without a ticket."""
        return sum(1 for result in self.ledger.results_of(arm) if not result.holder)

    def has_pull(self, label: Label, pull: int) -> bool:
        """Tell whether a pull of an arm is told, known or handed out."""
        arm = self.labels.find(label)
        return arm is not None and self._pulls.has(arm, pull)

    def end_batch(self) -> None:
        """What was observed or corrected is complete: let the rule work out anew what it learned from all results."""
        if self.live is not None and self._amends:
            self.live.amend(NONE, 0, 0.0, 0.0)
        self._passed_over = 0
        self._consider_examples()

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        """Replace the reward of a ticket that was told."""
        self.check_can_amend("take corrections")
        row = self.tickets.told_row(ticket)
        before = self.ledger.result(row)
        change = self.ledger.correct(row, reward)
        if change:
            squares = reward * reward - before.reward * before.reward
            self._amend_result(before.arm, before.job, row, (0, change, squares))

    def exclude(self, holder: str) -> int:
        """Let the results of a holder not count, now and later; return how many were told."""
        self.check_can_exclude(holder)
        return self._change_all(holder, counts=False)

    def include(self, holder: str) -> int:
        """Let the results of an excluded holder count again; return how many there are."""
        self.check_can_include(holder)
        return self._change_all(holder, counts=True)

    def check_can_exclude(self, holder: str) -> None:
        """Refuse to exclude a holder who told nothing, or is excluded."""
        self.check_can_amend("leave results out")
        if not self.ledger.has_told(holder):
            told = [name for name in self.ledger.holders if name][:5]
            raise InvalidInput(
                f"holder {shortened(holder)} has told no result, so there is nothing to exclude: holders who have are "
                f"{', '.join(map(repr, told)) or 'none'}"
            )
        if holder in self.ledger.excluded:
            raise InvalidInput(f"holder {holder!r} is excluded already: include() lets its results count again")

    def check_can_include(self, holder: object) -> None:
        """Refuse to include a holder that is not excluded."""
        if not (isinstance(holder, str) and holder in self.ledger.excluded):
            excluded = ", ".join(map(repr, sorted(self.ledger.excluded))) or "none"
            raise InvalidInput(f"holder {shortened(holder)} is not excluded: excluded holders are {excluded}")

    def check_can_amend(self, what: str) -> None:
        """Refuse what the policy cannot take."""
        if self.live is not None and not self._amends:
            raise CannotAmend(
                f"policy {self.policy.name} cannot {what}, as it only knows the results of its own jobs: go on with "
                "one that can, by use('b3auto') for example"
            )

    def _add_known(self, arm: int, reward: float, holder: str, pull: int) -> None:
        """Take a result that no job asked for."""
        counts = self.ledger.add(arm, pull, reward, holder, NONE, NONE)
        if counts and self.live is not None and arm not in self.withdrawn:
            value = self.sign * reward
            self.live.amend(arm, 1, value, value * value)
        self._note_examples(arm)

    def _change_all(self, holder: str, *, counts: bool) -> int:
        """Let all results of a holder count, or not."""
        rows = self.ledger.rows_of(holder)
        (self.ledger.include if counts else self.ledger.exclude)(holder)
        times = 1 if counts else -1
        if self.live is not None:
            for row in rows.tolist():
                result = self.ledger.result(row)
                value = self.sign * result.reward
                self._amend_result(result.arm, result.job, row, (times, times * value, times * value * value))
        self.end_batch()
        return len(rows)

    def _amend_result(self, arm: int, job_id: int, row: int, change: tuple[int, float, float]) -> None:
        """Let the rule know that a result has changed, if it is part of what the rule knows."""
        if self.live is None or arm in self.withdrawn:
            return
        job = self._jobs.get(job_id)
        if job is not None:  # the rule keeps the results of an open job apart
            job.changes = [*(job.changes or ()), change]
        elif self._is_in_record(arm, job_id, row):
            self.live.amend(arm, *change)

    def _is_in_record(self, arm: int, job_id: int, row: int) -> bool:
        """Tell whether a result is part of the record that its arm competes with."""
        if arm not in self._renewed:
            return True
        job, rows = self._renewed[arm]
        return job_id == job or row >= rows

    # Arms that come and go

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them."""
        self.labels.add(arms)
        self._passed_over = 0
        self._consider_examples()
        if self.live is not None:
            self.live.n_arms = self.labels.in_sight

    def check_can_withdraw(self, label: Label) -> None:
        """Refuse a label that does not exist, or is withdrawn."""
        arm = self.labels.find(label)
        if arm in self.withdrawn or (arm is None and self.labels.is_gone(label)):
            raise InvalidInput(f"label {label!r} is withdrawn already")

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
            self.tickets.void(arm)
            self.wanted.drop(arm)
            self._owed.pop(arm, None)
            self._jobs = {job_id: job for job_id, job in self._jobs.items() if job.arm != arm}
            if self.live is not None:
                self.live.drop(arm)
        self._passed_over = 0
        self._consider_examples()

    # A journal that is read without its rule

    def number_as(self, labels: Iterable[Label]) -> None:
        """Give labels their numbers, in the order that a journal has."""
        for label in labels:
            self._claim(label)

    def restore(self, ticket_id: int, label: Label, pull: int, holder: str, at: float) -> Ticket:
        """Cut a ticket that a journal says was cut, without asking a rule."""
        arm = self._claim(label)
        if ticket_id != self.tickets.issued:
            raise InvalidInput(f"ticket {ticket_id} follows {self.tickets.issued - 1}")
        self._pulls.take_up_to(arm, pull)
        if self._seen is not None:
            self.seen_by(holder).add(arm)
        return self.tickets.cut(arm, label, pull, self.labels.payload_of(label), None, holder, at)

    # A core put down as plain facts and arrays

    def save(self) -> Saved:
        """Return everything as plain facts and arrays, without payloads."""
        labels, label_arrays = self.labels.save(self.given)
        tickets, ticket_arrays = self.tickets.save()
        ledger, ledger_arrays = self.ledger.save()
        beyond, following = self._pulls.save()
        facts = {
            "labels": labels,
            "tickets": tickets,
            "ledger": ledger,
            "jobs": [
                [job.id, job.name, job.arm, job.times, job.left, job.untold, job.changes] for job in self._jobs.values()
            ],
            "wanted": self.wanted.save(),
            "owed": [[arm, [[job.id, times] for job, times in jobs]] for arm, jobs in self._owed.items()],
            "beyond": beyond,
            "begun": self._jobs_begun,
            "answered": self._answered,
            "passed_over": self._passed_over,
            "known": self.is_known,
            "random": self.is_in_random_order,
            "renewed": [[arm, *since] for arm, since in self._renewed.items()],
            "amends": self._amends,
            "failed": list(self._failed.items()),
            "state": None,
        }
        own = {
            "next": following,
            "withdrawn": np.array(sorted(self.withdrawn), np.int64),
            "complete": np.array(sorted(self._complete), np.int64),
        }
        parts = named(own=own, labels=label_arrays, tickets=ticket_arrays, ledger=ledger_arrays)
        if self.live is not None:
            state = self.live.arrays
            spent = {name: getattr(state, name).shape for name in self.record.spent}
            facts["state"] = {"spent": spent}
            kept = {name: array.copy() for name, array in state._asdict().items() if name not in spent}
            parts |= named(state=kept, record=self.record.save())
        return Saved(facts, parts)

    def load(self, saved: Saved, policy: Policy | None) -> None:
        """Go on from where another core was saved that had the same arms, seed and settings as this one."""
        facts, own = saved.facts, saved.part("own")
        self.labels.load(facts["labels"], saved.part("labels"), self.given)
        self.ledger.load(facts["ledger"], saved.part("ledger"))
        jobs = {}
        for job_id, name, arm, times, left, untold, changes in facts["jobs"]:
            job = jobs[job_id] = Job(job_id, name, arm, times)
            job.left, job.untold = left, untold
            job.changes = None if changes is None else [(count, total, squares) for count, total, squares in changes]
        self._jobs = jobs
        self.tickets.load(facts["tickets"], saved.part("tickets"), jobs, self.labels.arm)
        self.wanted.load(facts["wanted"], jobs)
        self._owed = {arm: [(jobs[job_id], times) for job_id, times in owed] for arm, owed in facts["owed"]}
        self._pulls.load(facts["beyond"], own["next"])
        self._jobs_begun, self._answered, self._passed_over = facts["begun"], facts["answered"], facts["passed_over"]
        self.is_known, self.is_in_random_order = facts["known"], facts["random"]
        self._renewed = {arm: (job_id, rows) for arm, job_id, rows in facts["renewed"]}
        self._seen = None
        self._failed = dict(facts["failed"])
        self.withdrawn = set(own["withdrawn"].tolist())
        self._complete = set(own["complete"].tolist())
        self.live, self._amends = None, facts["amends"]
        if facts["state"] is not None and policy is not None:
            live = LiveState(policy, 1, self.seed)
            spent = {name: np.zeros(shape, np.int64) for name, shape in facts["state"]["spent"].items()}
            live.hold(type(live.arrays)(**saved.part("state"), **spent))
            self._run(live)
            self.record.load(saved.part("record"))

    def _seen_so_far(self) -> dict[str, set[int]]:
        """Return the arms that each holder was handed, from the ledger and the tickets."""
        seen = self.ledger.arms_by_holder()
        for entry in self.tickets.open.values():
            for holder in (entry.holder, *self.tickets.earlier.get(entry.ticket.id, ())):
                if holder is not None:
                    seen.setdefault(holder, set()).add(entry.ticket.arm)
        for ticket_id, holders in self.tickets.earlier.items():
            row = self.tickets.ended[ticket_id]
            if row != OPEN:
                arm = self.ledger.result(row).arm
                for holder in holders:
                    seen.setdefault(holder, set()).add(arm)
        return seen


def _amend_all(live: LiveState, numbered: int, sums: Sums, withdrawn: set[int]) -> None:
    """Let a fresh state know all that is known of every arm; arms with a number have a record, and can be dropped."""
    if numbered > 0:
        live.amend(numbered - 1, 0, 0.0, 0.0)
    rows = zip(*(column.tolist() for column in sums), strict=True)
    for arm, times, total, squares in rows:
        if arm not in withdrawn:
            live.amend(arm, times, total, squares)
    for arm in sorted(withdrawn):
        live.drop(arm)
    live.amend(NONE, 0, 0.0, 0.0)
