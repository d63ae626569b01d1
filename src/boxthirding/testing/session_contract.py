"""The contract of a policy in a live session, or a study: whatever happens, in any order, by any number of holders.

A naive model of a session is kept beside it, and the answers of the two are compared.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from boxthirding import errors
from boxthirding.policies.base_policy import arrays_of
from boxthirding.policies.spec import parse_policy
from boxthirding.session import AskTell, Recommendation, Session, Ticket
from boxthirding.testing.rules import is_endless
from boxthirding.testing.scenarios import RARE, Scenario, broken, expect, expect_refusal
from boxthirding.types import Label, Policy

PATIENCE = 3
LEASE = 10.0
OTHERS = ("b3", "b3:reuse=topup", "chase", "us", "prose:sigma=0.5", "asha")
"""Policies that can take over from one another."""


class Result(NamedTuple):
    """A result that the session has taken."""

    label: Label
    reward: float
    holder: str  # who told it; empty for a known result
    ticket: int | None  # what `correct` may name


Maker = Callable[..., tuple[AskTell, Callable[[], bytes]]]
"""Makes what is put to the contract, and a way to see all of its state.

It is called with arms and a policy, and with `seed`, `lease`, `clock` and `patience` by name.
"""


class SessionModel:
    """What should be true of a session, kept beside it; each verb does something to both."""

    def __init__(self, policy: Policy, scenario: Scenario, make: Maker) -> None:
        self.policy, self.scenario, self.rng = policy, scenario, scenario.rng()
        self.now = 0.0
        self.labels: list[Label] = [i if scenario.given == "number" else f"arm {i}" for i in range(scenario.n_arms)]
        by_iterator = scenario.given == "iterator" and policy.open_ended
        arms: Any = scenario.n_arms if scenario.given == "number" else tuple(self.labels)
        settings: dict[str, Any] = {"seed": scenario.seed, "lease": LEASE, "patience": PATIENCE}
        self.session, self.see = make(iter(arms) if by_iterator else arms, policy, clock=lambda: self.now, **settings)
        self.holders = [f"holder {i}" for i in range(scenario.workers)]
        self.raters = set(self.holders[: scenario.raters])
        self.reachable = set() if by_iterator else set(self.labels)  # labels that the session knows of
        self.withdrawn: set[Label] = set()
        self.number: dict[Label, int] = {}
        self.results: list[Result] = []
        self.excluded: set[str] = set()
        self.taken: Counter[Label] = Counter()  # pulls that are handed out or known
        self.tickets: dict[int, Ticket] = {}
        self.open: dict[int, str | None] = {}  # by ticket: its holder
        self.given_at: dict[int, float] = {}
        self.earlier: dict[int, list[str]] = {}  # by ticket: holders before, who have not told it
        self.handed: dict[str, set[Label]] = {}  # by holder: arms that it was ever handed
        self.told: list[int] = []
        self.void: list[int] = []
        self.failures: Counter[Label] = Counter()

    @property
    def can_amend(self) -> bool:
        """Whether the policy takes results that no job of its own asked for."""
        return self.policy.rule.amend is not None

    def ask(self) -> None:
        """Ask for some tickets and check each."""
        holder = self.rng.choice(self.holders)
        unseen = holder in self.raters
        n = self.rng.randint(1, max(1, self.scenario.workers - len(self.open)))
        spent = sum(1 for result in self.results if result.holder)
        limit = spent + len(self.open) + self.rng.randint(0, 2) if self.rng.randrange(8) == 0 else None
        before, free = dict(self.open), [ticket for ticket, has in self.open.items() if has is None]
        tickets = self.session.ask(n, holder=holder, unseen=unseen, limit=limit)
        expect(len(tickets) <= n, f"asked for {n} tickets, got {len(tickets)}")
        new = [ticket for ticket in tickets if ticket.id not in before]
        expect(limit is None or spent + len(before) + len(new) <= limit, f"{len(new)} tickets are beyond {limit}")
        for ticket in tickets:
            if ticket.id in before:
                self._check_given_again(ticket, holder)
            else:
                self._check_new(ticket)
            self._record_holder(ticket, holder, unseen=unseen)
        is_all_drawn = self.scenario.given != "iterator"  # what is not drawn may wait
        if unseen and limit is None and self.can_amend and is_all_drawn:
            left = set(self.labels) - self.withdrawn - self.handed.get(holder, set())
            expect(len(tickets) == n or not left, f"{holder!r} got {len(tickets)} of {n}, and was not handed {left}")
        if unseen or limit is not None:
            return
        expect(len(tickets) == n or not set(free) & self._free(), "a ticket without a holder was not given")
        if not tickets and not self.open and is_endless(self.policy, added=len(self.labels) > self.scenario.n_arms):
            expect(set(self.labels) <= self.withdrawn, "no ticket was given, though none is open and an arm is left")

    def _check_given_again(self, ticket: Ticket, holder: str) -> None:
        late = self.given_at[ticket.id] + LEASE <= self.now
        expect(self.open[ticket.id] is None or late, f"ticket {ticket.id} was given to {holder!r} before its time")
        expect(ticket == self.tickets[ticket.id], f"ticket {ticket.id} has changed when it was given again")

    def _check_new(self, ticket: Ticket) -> None:
        label = ticket.label
        expect(ticket.id == len(self.tickets), f"ticket {ticket.id} comes after {len(self.tickets)} others")
        expect(label in self.labels, f"ticket {ticket.id} is for {label!r}, which was never given")
        expect(label not in self.withdrawn, f"ticket {ticket.id} is for {label!r}, which is withdrawn")
        expect(self.number.setdefault(label, ticket.arm) == ticket.arm, f"{label!r} has two numbers")
        expect(len(set(self.number.values())) == len(self.number), f"number {ticket.arm} has two labels")
        due = self.taken[label]
        expect(ticket.pull == due, f"ticket {ticket.id} is pull {ticket.pull} of {label!r}, but must be {due}")
        expect(ticket.payload == label, f"ticket {ticket.id} carries {ticket.payload!r} instead of {label!r}")
        self.taken[label] += 1
        self.reachable.add(label)
        self.tickets[ticket.id] = ticket

    def _record_holder(self, ticket: Ticket, holder: str, *, unseen: bool) -> None:
        handed = self.handed.setdefault(holder, set())
        expect(not (unseen and ticket.label in handed), f"{holder!r} was handed {ticket.label!r} twice")
        handed.add(ticket.label)
        self._let_go(ticket.id)
        if holder in self.earlier.get(ticket.id, ()):
            self.earlier[ticket.id].remove(holder)
        self.open[ticket.id] = holder
        self.given_at[ticket.id] = self.now

    def _let_go(self, ticket_id: int) -> None:
        """A ticket has no holder any more."""
        holder = self.open.get(ticket_id)
        if holder is not None:
            self.earlier.setdefault(ticket_id, []).append(holder)
            self.open[ticket_id] = None

    def _free(self) -> set[int]:
        return {ticket for ticket, holder in self.open.items() if holder is None}

    def tell(self) -> None:
        """Tell an open ticket, not the oldest first, as its holder or without a name."""
        ticket = self.tickets[self.rng.choice(sorted(self.open))]
        reward = self.scenario.reward(ticket.arm, self.rng)
        holder = self.open[ticket.id]
        named = holder if self.rng.randrange(2) else None
        who = holder or self.earlier[ticket.id][-1]  # without a holder: the last one who had it
        self.session.tell(ticket if self.rng.randrange(2) else ticket.id, reward, holder=named)
        self._record_result(ticket, reward, who)

    def _record_result(self, ticket: Ticket, reward: float, who: str) -> None:
        """An open ticket has been told."""
        self._let_go(ticket.id)
        self.earlier[ticket.id].remove(who)
        del self.open[ticket.id]
        self.told.append(ticket.id)
        self.results.append(Result(ticket.label, reward, who, ticket.id))
        self.failures.pop(ticket.label, None)

    def tell_late(self) -> None:
        """Tell a ticket as one who held it before: one more result of its arm, if the policy supports that."""
        late = sorted(ticket for ticket, who in self.earlier.items() if who and ticket not in self.void)
        if not late:
            return
        ticket = self.tickets[self.rng.choice(late)]
        who = self.rng.choice(self.earlier[ticket.id])
        reward = self.scenario.reward(ticket.arm, self.rng)
        is_open = ticket.id in self.open
        if not is_open and not self.can_amend:
            expect_refusal(
                errors.AlreadyTold, partial(self.session.tell, ticket, reward, holder=who), "a result told twice"
            )
            return
        self.session.tell(ticket.id, reward, holder=who)
        if is_open and (self.open[ticket.id] is None or not self.can_amend):
            self._record_result(ticket, reward, who)
            return
        self.earlier[ticket.id].remove(who)
        self.results.append(Result(ticket.label, reward, who, None))
        self.taken[ticket.label] += 1
        self.failures.pop(ticket.label, None)

    def fail(self) -> None:
        """Let a ticket fail; at the third failure in a row its arm is withdrawn."""
        held = sorted(set(self.open) - self._free())
        if not held:
            return
        ticket = self.tickets[self.rng.choice(held)]
        self.session.fail(ticket.id)
        self.failures[ticket.label] += 1
        self._let_go(ticket.id)
        if self.failures[ticket.label] == PATIENCE:
            self._record_withdrawal(ticket.label)

    def release(self) -> None:
        """Take a ticket from its holder, or all that one has."""
        held = sorted(set(self.open) - self._free())
        if not held:
            return
        ticket = self.rng.choice(held)
        if self.rng.randrange(2):
            expect(self.session.release(ticket) == [ticket], f"ticket {ticket} was not released")
            self._let_go(ticket)
            return
        holder = self.open[ticket]
        theirs = [other for other in held if self.open[other] == holder]
        expect(sorted(self.session.release(holder=holder)) == theirs, f"{holder!r} has others than {theirs}")
        for other in theirs:
            self._let_go(other)

    def withdraw(self) -> None:
        """Withdraw any arm, tried or not."""
        there = [label for label in self.labels if label in self.reachable and label not in self.withdrawn]
        if there:
            best = self.session.recommend()
            label = best.label if best is not None and self.rng.randrange(2) else self.rng.choice(there)
            self.session.withdraw(label)
            self._record_withdrawal(label)

    def _record_withdrawal(self, label: Label) -> None:
        self.withdrawn.add(label)
        for ticket_id in [ticket for ticket in self.open if self.tickets[ticket].label == label]:
            del self.open[ticket_id]
            self.void.append(ticket_id)

    def add(self) -> None:
        """Add a few arms."""
        labels = [f"new {len(self.labels) + i}" for i in range(self.rng.randint(1, 3))]
        self.session.add(labels)
        self.labels += labels
        self.reachable.update(labels)

    def observe(self) -> None:
        """Take known results, of arms that are tried or not."""
        there = sorted(self.reachable - self.withdrawn, key=str)
        if not there:
            return
        pairs = [
            (label, self.scenario.reward(0, self.rng)) for label in self.rng.choices(there, k=self.rng.randint(1, 4))
        ]
        if not self.can_amend:
            expect_refusal(errors.CannotAmend, partial(self.session.observe, *pairs[0]), "a known result")
            expect_refusal(errors.CannotAmend, partial(self.session.observe_all, pairs), "known results")
            return
        if len(pairs) == 1:
            self.session.observe(*pairs[0])
        else:
            self.session.observe_all(pairs)
        for label, reward in pairs:
            self.results.append(Result(label, reward, "", None))
            self.taken[label] += 1

    def correct(self) -> None:
        """Correct a result that was told, whether it counts or not."""
        if not self.told:
            return
        ticket = self.rng.choice(self.told)
        reward = self.scenario.reward(0, self.rng)
        if not self.can_amend:
            expect_refusal(errors.CannotAmend, partial(self.session.correct, ticket, reward), "a correction")
            return
        self.session.correct(ticket, reward)
        row = next(row for row, result in enumerate(self.results) if result.ticket == ticket)
        self.results[row] = self.results[row]._replace(reward=reward)

    def doubt(self) -> None:
        """Exclude a holder, for now or for a moment, or include one again."""
        tellers = sorted({result.holder for result in self.results if result.holder})
        if not tellers:
            return
        holder = self.rng.choice(tellers)
        if not self.can_amend:
            expect_refusal(errors.CannotAmend, partial(self.session.exclude, holder), "the exclusion of a holder")
            return
        told = sum(1 for result in self.results if result.holder == holder)
        if holder in self.excluded:
            expect(self.session.include(holder) == told, f"{holder!r} has told {told} results")
            self.excluded.remove(holder)
            return
        before = self._sums()
        expect(self.session.exclude(holder) == told, f"{holder!r} has told {told} results")
        self.excluded.add(holder)
        if self.rng.randrange(2):
            self.check()
            self.session.include(holder)
            self.excluded.remove(holder)
            expect(self._sums() == before, f"{holder!r} was excluded and included, and the sums are not as before")

    def use(self) -> None:
        """Switch to another policy."""
        if not self.can_amend:
            return
        spec = self.rng.choice(OTHERS)
        self.session.use(spec)
        self.policy = parse_policy(spec)

    def refuse(self) -> None:
        """Try what must be refused, and see that nothing has changed."""
        before, refusals = self.everything(), self._refusals()
        for refusal, attempt in refusals:
            expect_refusal(refusal, attempt, "what breaks a rule")
        names = ", ".join(sorted({refusal.__name__ for refusal, _ in refusals}))
        expect(before == self.everything(), f"one of these refusals changed the session: {names}")

    def _refusals(self) -> list[tuple[type[errors.BoxThirdingError], Callable[[], object]]]:
        session = self.session
        refusals: list[tuple[type[errors.BoxThirdingError], Callable[[], object]]] = [
            (errors.UnknownTicket, lambda: session.tell(len(self.tickets), 0.5)),
            (errors.UnknownTicket, lambda: session.fail(-1)),
            (errors.UnknownLabel, lambda: session.withdraw("nobody")),
            (errors.InvalidInput, lambda: session.add(["half done", "half done"])),
            (errors.InvalidInput, lambda: session.include("nobody")),
            (errors.InvalidInput, lambda: session.ask(holder="x" * 10_000)),
        ]
        if self.can_amend:
            first = next((label for label in self.labels if label in self.reachable - self.withdrawn), "nobody")
            refusals += [
                (errors.UnknownLabel, lambda: session.observe("nobody", 0.5)),
                (errors.InvalidInput, lambda: session.observe_all([(first, 0.5), ("nobody", 0.5)])),
                (errors.InvalidInput, lambda: session.exclude("nobody")),
                (errors.UnknownTicket, lambda: session.correct(len(self.tickets), 0.5)),
            ]
        if len(self.results) or self.open:
            refusals.append(
                (
                    errors.CannotAmend if self.scenario.given != "iterator" else errors.InvalidInput,
                    lambda: session.use("dsh"),
                )
            )
        for ids, refusal in ((self.told, errors.AlreadyTold), (self.void, errors.ArmWithdrawn)):
            if ids:
                ended = self.tickets[self.rng.choice(ids)]
                refusals += [(refusal, partial(session.tell, ended, 0.5))]
                refusals += [(refusal, partial(session.tell, ended, 0.5, holder="nobody"))]
                refusals += [(refusal, partial(session.fail, ended.id))]
        if self.void and self.can_amend:
            refusals.append((errors.ArmWithdrawn, partial(session.correct, self.rng.choice(self.void), 0.5)))
        if self.open:
            ticket = self.tickets[self.rng.choice(sorted(self.open))]
            wrong: tuple[Any, ...] = (math.nan, math.inf, "0.5", None)
            refusals += [(errors.InvalidInput, partial(session.tell, ticket, reward)) for reward in wrong]
            refusals += [(errors.InvalidInput, partial(session.tell, ticket, 0.5, details={"seconds": math.nan}))]
            never = [*self.holders, "nobody"]
            had = {self.open[ticket.id], *self.earlier.get(ticket.id, ())}
            never = [holder for holder in never if holder not in had]
            refusals += [(errors.TicketRefused, partial(session.tell, ticket, 0.5, holder=self.rng.choice(never)))]
            if self.can_amend:
                refusals.append((errors.TicketRefused, partial(session.correct, ticket, 0.5)))
        return refusals

    def everything(self) -> list[object]:
        """Return all that can be seen of the session, the rule's arrays included."""
        return [self.session.view(), self._sums(), [self.session.held(holder) for holder in self.holders], self.see()]

    def _sums(self) -> list[tuple[Label, float | None, int]]:
        return [(arm.label, arm.mean, arm.pulls) for arm in self.session.arms(0, 1_000_000, order="tried")]

    def counting(self) -> dict[Label, list[float]]:
        """Return the rewards that count, by arm."""
        rewards: dict[Label, list[float]] = {}
        for result in self.results:
            if result.holder not in self.excluded:
                rewards.setdefault(result.label, []).append(result.reward)
        return rewards

    def check(self) -> None:
        """Hold what the session says against the model."""
        pulls, spent, is_open, _, best = self.session.glance()
        rewards = self.counting()
        count = sum(map(len, rewards.values()))
        paid = sum(1 for result in self.results if result.holder)
        expect(pulls == count, f"{count} results count, but pulls is {pulls}")
        expect(spent == paid, f"{paid} results were told, but spent is {spent}")
        expect(is_open == len(self.open), f"{len(self.open)} tickets are open, not {is_open}")
        if best is None:
            expect(self.withdrawn.issuperset(rewards), "nothing is recommended, though there is a result")
        else:
            self._check_answer(best, rewards)

    def check_all(self) -> None:
        """Hold everything against the model, as far as that takes long."""
        rewards = self.counting()
        best = self.session.recommend()
        top = self.session.top(10)
        expect(top[:1] == ([] if best is None else [best]), f"top begins with {top[:1]}, but {best} is recommended")
        expect(len({row.label for row in top}) == len(top), f"top names a label twice: {top}")
        for row in top:
            self._check_answer(row, rewards)
        arms = self.session.arms(0, 1_000_000)
        expect(len({arm.label for arm in arms}) == len(arms), "a label stands in the list of arms twice")
        expect({arm.label for arm in arms} == set(rewards), "the arms listed are not those with a result that counts")
        for arm in arms:
            story = self.session.why(arm.label)
            expect((story.mean, story.pulls) == (arm.mean, arm.pulls), f"{arm.label!r} has two means")
            told = rewards[arm.label]
            expect(arm.pulls == len(told), f"{arm.label!r} has {len(told)} results that count, not {arm.pulls}")
            expect(arm.mean == sum(told) / len(told), f"{arm.label!r} has the mean {sum(told) / len(told)}")
        for label in self.reachable:
            place = self.session.why(label).place
            expect((place == "withdrawn") == (label in self.withdrawn), f"{label!r} is said to be {place!r}")
        self._check_holders()
        screening = self.session.screening(0.1)
        if screening is None:
            expect(any(not result.holder for result in self.results), "screening is None, though nothing was known")
        else:
            expect(0 <= screening.probability <= 1, f"a chance of {screening.probability} is none")

    def _check_holders(self) -> None:
        counts = Counter(holder for holder in self.open.values() if holder is not None)
        view = self.session.view()
        expect(view.holders == dict(counts), f"open tickets by holder are {view.holders}, but must be {dict(counts)}")
        for holder in self.holders:
            held = {ticket.id for ticket in self.session.held(holder)}
            expect(len(held) == counts[holder], f"{holder!r} holds {counts[holder]} tickets, not {len(held)}")
            expect(all(self.open.get(ticket) == holder for ticket in held), f"{holder!r} holds what it has not")
        expect(set(view.excluded) == self.excluded, f"excluded are {view.excluded}, but must be {self.excluded}")

    def _check_answer(self, answer: Recommendation, counting: dict[Label, list[float]]) -> None:
        rewards = counting.get(answer.label, [])
        expect(bool(rewards), f"{answer.label!r} is recommended, but has no result that counts")
        expect(answer.label not in self.withdrawn, f"{answer.label!r} is recommended, but is withdrawn")
        expect(answer.pulls == len(rewards), f"{answer.label!r} has {len(rewards)} results, not {answer.pulls}")
        mean = sum(rewards) / len(rewards)
        expect(answer.mean == mean, f"{answer.label!r} has the mean {mean}, not {answer.mean}")


class SessionInTheOpen(Session):
    """A session whose rule's state can be read."""

    def state(self) -> bytes:
        """Return all arrays of the rule's state."""
        return b"".join(np.asarray(array).tobytes() for array in arrays_of(self._core.rule.running.arrays).values())


def live(arms: int | Iterable[Label], policy: Policy, **settings: Any) -> tuple[AskTell, Callable[[], bytes]]:
    """Make a session, and what reads its state."""
    session = SessionInTheOpen(arms, policy, **settings)
    return session, session.state


def check_session(policy: Policy, scenario: Scenario, make: Maker = live) -> None:
    """Check a policy in a session that goes as a scenario says."""
    if not policy.open_ended:
        _check_iterator_refused(policy)
    model = SessionModel(policy, scenario, make)
    for _ in range(scenario.steps):
        chance = model.rng.randrange(100)
        for verb in RARE:
            if chance < scenario.shares[verb]:
                getattr(model, verb)()
                break
            chance -= scenario.shares[verb]
        else:
            if chance == 0:
                model.now += LEASE * model.rng.random()
            elif model.open and (len(model.open) >= scenario.workers or model.rng.randrange(2)):
                model.tell()
            else:
                model.ask()
        model.check()
    model.check_all()


def _check_iterator_refused(policy: Policy) -> None:
    drawn: list[int] = []
    try:
        Session(map(drawn.append, range(3)), policy)
    except errors.InvalidInput:
        expect(not drawn, "the iterator was drawn from before it was refused")
        return
    broken("an iterator was taken by a policy that must know how many arms there are")
