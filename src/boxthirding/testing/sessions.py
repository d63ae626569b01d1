"""The contract of a policy in a live session, or a study: any order of tells, failures, arms that come and go."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

import numpy as np

from boxthirding.errors import AlreadyTold, ArmWithdrawn, BoxThirdingError, InvalidInput, UnknownTicket
from boxthirding.session import AskTell, Recommendation, Session, Ticket
from boxthirding.testing.plans import Plan, broken, expect
from boxthirding.testing.rules import is_endless
from boxthirding.types import Label, Policy

_PATIENCE = 3
_LEASE = 10.0


class Watched:
    """A policy that lets the state of its session be seen."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.state: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def new(self, n_arms: int, seed: int, capacity: int) -> Any:
        """Make a state and keep sight of it."""
        self.state = self._policy.new(n_arms, seed, capacity)
        return self.state

    def grow(self, state: Any) -> Any:
        """Grow a state and keep sight of it."""
        self.state = self._policy.grow(state)
        return self.state


class Maker(Protocol):
    """What makes the thing that is put to the contract, and a way to see all of its state."""

    def __call__(
        self,
        arms: int | Iterable[Label],
        policy: Policy,
        *,
        seed: int,
        lease: float,
        clock: Callable[[], float],
        patience: int,
    ) -> tuple[AskTell, Callable[[], bytes]]:
        """Return the two."""


def live(arms: int | Iterable[Label], policy: Policy, **settings: Any) -> tuple[AskTell, Callable[[], bytes]]:
    """Make a session."""
    watched: Any = Watched(policy)
    session = Session(arms, watched, **settings)
    return session, lambda: b"".join(np.asarray(array).tobytes() for array in watched.state)


class Ledger:
    """A session, and a plain account of what it has been told that every answer is held against."""

    def __init__(self, policy: Policy, plan: Plan, make: Maker) -> None:
        self.policy, self.plan, self.rng = policy, plan, plan.rng()
        self.now = 0.0
        self.labels: list[Label] = [i if plan.given == "number" else f"arm {i}" for i in range(plan.n_arms)]
        by_iterator = plan.given == "iterator" and policy.open_ended
        self.session, self.see = make(
            _given(plan, self.labels, by_iterator=by_iterator),
            policy,
            seed=plan.seed,
            lease=_LEASE,
            clock=lambda: self.now,
            patience=_PATIENCE,
        )
        self.reachable = set() if by_iterator else set(self.labels)  # labels that the session knows of
        self.withdrawn: set[Label] = set()
        self.number: dict[Label, int] = {}
        self.rewards: dict[Label, list[float]] = {}
        self.tickets: dict[int, Ticket] = {}
        self.out: dict[int, float] = {}  # open tickets, and when they may be issued again
        self.told: list[int] = []
        self.void: list[int] = []
        self.failures: dict[Label, int] = {}
        self.pulls = 0

    def ask(self) -> None:
        """Ask for some tickets and check each."""
        n = self.rng.randint(1, max(1, self.plan.workers - len(self.out)))
        before = set(self.out)
        tickets = self.session.ask(n)
        expect(len(tickets) <= n, f"asked for {n} tickets, got {len(tickets)}")
        for ticket in tickets:
            if ticket.id in self.tickets:
                expect(ticket.id in before, f"ticket {ticket.id} was issued again after its end")
                expect(self.out[ticket.id] <= self.now, f"ticket {ticket.id} was issued again before its time")
                expect(ticket == self.tickets[ticket.id], f"ticket {ticket.id} has changed on its second issue")
            else:
                self._check_new(ticket)
            self.out[ticket.id] = self.now + _LEASE
        if not tickets and not self.out and is_endless(self.policy, added=len(self.labels) > self.plan.n_arms):
            expect(set(self.labels) <= self.withdrawn, "no ticket was given, though none is out and an arm is left")

    def _check_new(self, ticket: Ticket) -> None:
        label = ticket.label
        expect(label in self.labels, f"ticket {ticket.id} is for {label!r}, which was never given")
        expect(label not in self.withdrawn, f"ticket {ticket.id} is for {label!r}, which is withdrawn")
        expect(self.number.setdefault(label, ticket.arm) == ticket.arm, f"{label!r} has two numbers")
        expect(len(set(self.number.values())) == len(self.number), f"number {ticket.arm} has two labels")
        earlier = sum(other.label == label for other in self.tickets.values())
        expect(ticket.pull == earlier, f"ticket {ticket.id} is pull {ticket.pull} of {label!r}, but must be {earlier}")
        expect(ticket.payload == label, f"ticket {ticket.id} carries {ticket.payload!r} instead of {label!r}")
        self.reachable.add(label)
        self.tickets[ticket.id] = ticket

    def tell(self) -> None:
        """Tell an open ticket, not the oldest first; it may have been issued twice."""
        ticket = self.tickets[self.rng.choice(sorted(self.out))]
        reward = self.plan.reward(ticket.arm, self.rng)
        self.session.tell(ticket if self.rng.randrange(2) else ticket.id, reward)
        del self.out[ticket.id]
        self.told.append(ticket.id)
        self.rewards.setdefault(ticket.label, []).append(reward)
        self.failures.pop(ticket.label, None)
        self.pulls += 1

    def fail(self) -> None:
        """Let a ticket fail; at the third failure in a row its arm is withdrawn."""
        held = sorted(i for i, until in self.out.items() if until > self.now)
        if not held:
            return
        ticket = self.tickets[self.rng.choice(held)]
        self.session.fail(ticket.id)
        self.failures[ticket.label] = self.failures.get(ticket.label, 0) + 1
        self.out[ticket.id] = self.now
        if self.failures[ticket.label] == _PATIENCE:
            self._gone(ticket.label)

    def withdraw(self) -> None:
        """Withdraw any arm, met or not."""
        there = [label for label in self.labels if label in self.reachable and label not in self.withdrawn]
        if there:
            best = self.session.recommend()
            label = best.label if best is not None and self.rng.randrange(2) else self.rng.choice(there)
            self.session.withdraw(label)
            self._gone(label)

    def _gone(self, label: Label) -> None:
        self.withdrawn.add(label)
        for ticket_id in [i for i in self.out if self.tickets[i].label == label]:
            del self.out[ticket_id]
            self.void.append(ticket_id)

    def add(self) -> None:
        """Add a few arms."""
        labels = [f"new {len(self.labels) + i}" for i in range(self.rng.randint(1, 3))]
        self.session.add(labels)
        self.labels += labels
        self.reachable.update(labels)

    def refuse(self) -> None:
        """Try what must be refused, and see that nothing has changed."""
        attempts = self._refusals()
        before = self.everything()
        for refusal, attempt in attempts:
            try:
                attempt()
            except refusal:
                continue
            broken(f"what must be refused with {refusal.__name__} was taken")
        expect(before == self.everything(), "a refusal changed the session")

    def _refusals(self) -> list[tuple[type[BoxThirdingError], Callable[[], object]]]:
        refusals: list[tuple[type[BoxThirdingError], Callable[[], object]]] = [
            (UnknownTicket, lambda: self.session.tell(len(self.tickets), 0.5)),
            (UnknownTicket, lambda: self.session.fail(-1)),
            (InvalidInput, lambda: self.session.withdraw("nobody")),
            (InvalidInput, lambda: self.session.add(["half done", "half done"])),
        ]
        for ids, refusal in ((self.told, AlreadyTold), (self.void, ArmWithdrawn)):
            if ids:
                ended = self.tickets[self.rng.choice(ids)]
                refusals += [(refusal, partial(self.session.tell, ended, 0.5))]
                refusals += [(refusal, partial(self.session.fail, ended.id))]
        if self.out:
            ticket = self.tickets[self.rng.choice(sorted(self.out))]
            wrong: tuple[Any, ...] = (float("nan"), float("inf"), "0.5", None)
            refusals += [(InvalidInput, partial(self.session.tell, ticket, reward)) for reward in wrong]
        return refusals

    def everything(self) -> list[object]:
        """Return all that can be seen of the session, the rule's arrays included."""
        return [self.session.recommend(), self.session.top(5), self.session.pulls, self.session.waiting, self.see()]

    def check(self) -> None:
        """Hold what the session says against the account."""
        expect(self.session.pulls == self.pulls, f"{self.pulls} results were taken, but pulls is {self.session.pulls}")
        expect(self.session.waiting == len(self.out), f"{len(self.out)} tickets are out, not {self.session.waiting}")
        best = self.session.recommend()
        if best is None:
            expect(self.withdrawn.issuperset(self.rewards), "nothing is recommended, though there is a result")
        else:
            self._check_answer(best)

    def check_all(self) -> None:
        """Hold everything against the account, as far as that takes long."""
        best = self.session.recommend()
        top = self.session.top(10)
        expect(top[:1] == ([] if best is None else [best]), f"top begins with {top[:1]}, but {best} is recommended")
        expect(len({row.label for row in top}) == len(top), f"top names a label twice: {top}")
        for row in top:
            self._check_answer(row)
        stories = [self.session.why(label) for label in sorted(self.reachable, key=str)]
        expect(sum(story.pulls for story in stories) == self.pulls, "the pulls of the arms do not sum to all pulls")
        for story in stories:
            told = self.rewards.get(story.label, [])
            expect(story.pulls == len(told), f"{story.label!r} was told {len(told)} times, not {story.pulls}")
            gone = story.label in self.withdrawn
            expect((story.place == "withdrawn") == gone, f"{story.label!r} is said to be {story.place!r}")
        screening = self.session.screening(0.1)
        expect(0 <= screening.probability <= 1, f"a chance of {screening.probability} is none")
        expect(best is None or screening.candidates >= 1, "an arm is recommended, but none could be returned")

    def _check_answer(self, answer: Recommendation) -> None:
        rewards = self.rewards.get(answer.label, [])
        expect(bool(rewards), f"{answer.label!r} is recommended, but has no result")
        expect(answer.label not in self.withdrawn, f"{answer.label!r} is recommended, but is withdrawn")
        expect(answer.pulls == len(rewards), f"{answer.label!r} has {len(rewards)} results, not {answer.pulls}")
        mean = sum(rewards) / len(rewards)
        expect(answer.mean == mean, f"{answer.label!r} has the mean {mean}, not {answer.mean}")


def check_session(policy: Policy, plan: Plan, make: Maker = live) -> None:
    """Check a policy in a session that goes as a plan says."""
    if not policy.open_ended:
        _check_iterator_refused(policy)
    ledger = Ledger(policy, plan, make)
    bounds = np.cumsum([plan.withdrawn, plan.added, plan.failed, plan.refused, 2])
    for _ in range(plan.steps):
        chance = ledger.rng.randrange(100)
        verb = int(np.searchsorted(bounds, chance, side="right"))
        if verb in (0, 1, 3):
            (ledger.withdraw, ledger.add, ledger.ask, ledger.refuse)[verb]()
        elif verb == 4:  # noqa: PLR2004  # the last of the bounds
            ledger.now += _LEASE * ledger.rng.random()
        elif not ledger.out or (len(ledger.out) < plan.workers and ledger.rng.randrange(2)):
            ledger.ask()
        elif verb == 2:  # noqa: PLR2004
            ledger.fail()
        else:
            ledger.tell()
        ledger.check()
    ledger.check_all()


def _given(plan: Plan, labels: list[Label], *, by_iterator: bool) -> int | Iterable[Label]:
    if plan.given == "number":
        return plan.n_arms
    return iter(tuple(labels)) if by_iterator else tuple(labels)


def _check_iterator_refused(policy: Policy) -> None:
    drawn: list[int] = []
    try:
        Session(map(drawn.append, range(3)), policy)
    except InvalidInput:
        expect(not drawn, "the iterator was drawn from before it was refused")
        return
    broken("an iterator was taken by a policy that must know how many arms there are")
