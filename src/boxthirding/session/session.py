"""Live: a policy that asks and is told, one pull a ticket, results in any order."""

import math
import numbers
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from boxthirding._checks import is_number, whole
from boxthirding.errors import AlreadyTold, ArmWithdrawn, BoxThirdingError, InvalidInput, TicketRefused, UnknownTicket
from boxthirding.policies import BoxThirding, parse_policy
from boxthirding.policies.records import record_of
from boxthirding.session.labels import Labels
from boxthirding.session.protocol import Box, Lineage, Recommendation, Rival, Screening, Step, Ticket
from boxthirding.streams import ORDER, spawn
from boxthirding.theory import non_inclusion
from boxthirding.types import GROW, N_ARMS, NONE, Label, Policy

_CAPACITY = 64  # room for arms to begin with; the state grows
_LARGEST = 1e150  # so that squares of rewards stay finite

_OUTCOMES = ("lifted", "shifted", "discarded")


class _Out(NamedTuple):
    """A ticket whose result is not in."""

    ticket: Ticket
    job: int


class Session:
    """A live run of a policy over arms: a sequence, a mapping of labels to arms, an iterator, or a number.

    Tickets that are not told within `lease` seconds of `clock` are issued again; the first answer counts. An arm that
    fails `patience` times in a row is withdrawn. Methods may be called from several threads.

    >>> session = Session(["ann", "bob", "cid"])
    >>> for _ in range(20):
    ...     for ticket in session.ask():
    ...         session.tell(ticket, {"ann": 0.1, "bob": 0.9, "cid": 0.5}[ticket.label])
    >>> session.recommend().label
    'bob'
    """

    def __init__(  # each has a default but the first
        self,
        arms: int | Iterable[Any] | Mapping[Label, Any],
        policy: Policy | str | None = None,
        *,
        seed: int = 0,
        direction: str = "maximize",
        lease: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        patience: int = 3,
    ) -> None:
        if direction not in ("maximize", "minimize"):
            raise InvalidInput(f"direction is {direction!r}, but must be maximize or minimize")
        if lease is not None and not (is_number(lease) and 0 < lease < math.inf):
            raise InvalidInput(f"lease is {lease!r}, but must be a finite number of seconds above 0, or None")
        self.policy = _as_policy(policy)
        self._sign = 1.0 if direction == "maximize" else -1.0
        self._lease, self._clock = lease, clock
        self._patience = whole("patience", patience, least=1)
        self._labels = Labels(arms, spawn(seed, 0, 1)[0, ORDER])
        if self._labels.open_ended and not self.policy.open_ended:
            raise InvalidInput(
                f"policy {self.policy.name} must know how many arms there are: give a sequence or a number"
            )
        n_arms = self._labels.available()
        if n_arms == 0:
            raise InvalidInput("the iterator gave no arm, but at least one is needed")
        self._state = self.policy.new(n_arms, seed, _CAPACITY)
        self._record = record_of(self.policy)
        self._lock = threading.RLock()
        self._told = 0
        self._counts: list[int] = []  # by number: pulls told
        self._totals: list[float] = []  # by number: the sum of their rewards, larger is better
        self._handed: list[int] = []  # by number: pulls handed out
        self._failed: dict[int, int] = {}  # by number: failures in a row
        self._withdrawn: set[int] = set()  # numbers
        self._job = self._arm = self._left = 0  # the job that is being handed out, and how many of its pulls are left
        self._issued = 0
        self._origin = os.urandom(8).hex()  # marks tickets as ours, and decides nothing
        self._open: dict[int, _Out] = {}
        self._void: set[int] = set()  # tickets whose arm was withdrawn
        self._again: OrderedDict[int, None] = OrderedDict()  # tickets to be issued again
        self._leases: dict[int, float] = {}  # when each open ticket's runs out, the earliest first
        self._trouble: BoxThirdingError | None = None

    @property
    def pulls(self) -> int:
        """How many results have been told."""
        return self._told

    @property
    def waiting(self) -> int:
        """How many tickets are out, those to be issued again included."""
        return len(self._open)

    def ask(self, n: int = 1) -> list[Ticket]:
        """Return up to n tickets; fewer, perhaps none, when the policy needs a result first or no arm is left."""
        whole("the number of tickets", n, least=1)
        with self._lock:
            if self._trouble is not None:
                trouble, self._trouble = self._trouble, None
                raise trouble
            tickets: list[Ticket] = []
            if self._leases:
                self._collect_expired()
            try:
                while len(tickets) < n and (ticket := self._reissued() or self._fresh()) is not None:
                    tickets.append(ticket)
            except BoxThirdingError as trouble:
                if not tickets:
                    raise
                self._trouble = trouble  # what is in hand goes out first; the next ask says what is wrong
            return tickets

    def tell(self, ticket: int | Ticket, reward: float) -> None:
        """Take the result of a ticket; refuse it, changing nothing, if it is not finite or not expected."""
        value = reward if type(reward) is float else _as_float(reward)
        if not -_LARGEST < value < _LARGEST:  # false for NaN too
            raise InvalidInput(f"the reward is {reward!r}, but must be a finite number below 1e150 in size")
        with self._lock:
            out = self._expected(ticket)
            self._close(out.ticket.id)
            value *= self._sign
            arm = out.ticket.arm
            self._told += 1
            self._counts[arm] += 1
            self._totals[arm] += value
            if self._failed:
                self._failed.pop(arm, None)
            self.policy.rule.tell(self._state, out.job, 1, value, value * value)

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated: it is issued again, unless its arm has lost our patience."""
        with self._lock:
            out = self._expected(ticket)
            arm = out.ticket.arm
            if out.ticket.id in self._again:
                raise TicketRefused(f"ticket {out.ticket.id} is waiting to be issued again: it has failed or run out")
            self._failed[arm] = self._failed.get(arm, 0) + 1
            if self._failed[arm] >= self._patience:
                self._drop(arm)
            else:
                self._again[out.ticket.id] = None

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them; a policy whose plan is made at the start (sh, sr, dsh) does not play them."""
        with self._lock:
            self._labels.add(arms)
            self._state.scalars[N_ARMS] = self._labels.in_sight

    def withdraw(self, label: Label) -> None:
        """Take an arm out of the race for good; its open tickets will be refused."""
        with self._lock:
            arm = self._labels.find(label)
            if arm in self._withdrawn or (arm is None and self._labels.is_gone(label)):
                raise InvalidInput(f"label {label!r} is withdrawn already")
            if arm is None:
                self._labels.remove(label)
                self._state.scalars[N_ARMS] = self._labels.in_sight
            else:
                self._drop(arm)

    def recommend(self) -> Recommendation | None:
        """Return the best arm so far, or None before the first result."""
        with self._lock:
            arm = self._best()
            return None if arm == NONE else self._report(arm)

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms so far, the recommended one first."""
        whole("k", k, least=1)
        with self._lock:
            best = self._best()
            ranked = [arm for arm in self.policy.ranking(self._state) if arm != best and self._counts[arm]]
            return [self._report(arm) for arm in ([best] if best != NONE else [])[:k] + ranked[: k - 1]]

    def why(self, label: Label) -> Lineage:
        """Return the story of an arm: the boxes it was in, whom it met there, and where it stands now."""
        with self._lock:
            arm = self._labels.find(label)
            if arm is None:
                place = "withdrawn" if self._labels.is_gone(label) else "in the pool"
                return Lineage(label, None, 0, (), place)
            steps = []
            for meeting in self._record.meetings(arm):
                mine = [met.number for met in meeting.arms].index(arm)
                rivals = tuple(
                    Rival(self._labels.label(met.number), self._sign * met.mean, met.pulls)
                    for met in meeting.arms
                    if met.number != arm
                )
                outcome = _OUTCOMES[mine] if rivals else "introduced"
                _, mean, pulls = meeting.arms[mine]
                steps.append(
                    Step(meeting.at, outcome, meeting.level, meeting.deferment, self._sign * mean, pulls, rivals)
                )
            count = self._counts[arm]
            place = "withdrawn" if arm in self._withdrawn else self._record.place(self._state, arm)
            overall = self._sign * self._totals[arm] / count + 0.0 if count else None
            return Lineage(label, overall, count, tuple(steps), place)

    def boxes(self) -> list[Box]:
        """Return the boxes and piles that hold an arm, from the lowest level up; none, if the policy has no boxes."""
        with self._lock:
            return [
                Box(
                    box.level,
                    box.deferment,
                    tuple(Rival(self._labels.label(arm.number), self._sign * arm.mean, arm.pulls) for arm in box.arms),
                )
                for box in self._record.boxes(self._state)
            ]

    def screening(self, share: float) -> Screening:
        """Return the chance, exact, that an arm of the best `share` of all is among those that could still be returned.

        The candidate set is a random one of its size, whatever the rewards; with an iterator the chance is that for
        infinitely many arms.
        """
        if not (is_number(share) and 0 < share <= 1):
            raise InvalidInput(f"share is {share!r}, but must lie in (0, 1]: 0.01 for the top 1 %")
        with self._lock:
            told = [arm for arm, count in enumerate(self._counts) if count and arm not in self._withdrawn]
            candidates = len(self._record.candidates(self._state, told))
            if self._labels.open_ended:
                return Screening(1 - (1 - share) ** candidates, candidates, None, share)
            arms = self._labels.known - len(self._withdrawn)
            good = max(1, math.floor(share * arms + 1e-9)) if arms else 0
            chance = 1 - non_inclusion(arms, good, candidates) if arms else 0.0
            return Screening(chance, candidates, arms, share)

    def _fresh(self) -> Ticket | None:
        """Cut the next ticket from the job at hand, or from a new one."""
        while self._left == 0:
            if self._labels.open_ended:
                self._state.scalars[N_ARMS] = self._labels.available()
            job, arm, times = self.policy.rule.ask(self._state)
            self._record.note(self._state, self._told)
            if job == GROW:
                self._state = self.policy.grow(self._state)
            elif job < 0:
                return None
            else:
                self._job, self._arm, self._left = int(job), int(arm), int(times)
                self._meet(self._arm)
        self._left -= 1
        arm = self._arm
        ticket = Ticket(self._issued, arm, self._labels.label(arm), self._handed[arm], self._labels.payload(arm))
        ticket.origin = self._origin
        self._handed[arm] += 1
        self._issued += 1
        return self._hand_out(_Out(ticket, self._job))

    def _meet(self, arm: int) -> None:
        """Give an arm its label when its number is first needed."""
        self._labels.number(arm)
        while len(self._counts) <= arm:
            self._counts.append(0)
            self._totals.append(0.0)
            self._handed.append(0)

    def _reissued(self) -> Ticket | None:
        if not self._again:
            return None
        ticket_id, _ = self._again.popitem(last=False)
        return self._hand_out(self._open[ticket_id])

    def _hand_out(self, out: _Out) -> Ticket:
        self._open[out.ticket.id] = out
        if self._lease is not None:
            self._leases.pop(out.ticket.id, None)
            self._leases[out.ticket.id] = self._clock() + self._lease
        return out.ticket

    def _close(self, ticket_id: int) -> None:
        del self._open[ticket_id]
        self._leases.pop(ticket_id, None)
        self._again.pop(ticket_id, None)

    def _collect_expired(self) -> None:
        now = self._clock()
        while self._leases and self._leases[ticket_id := next(iter(self._leases))] <= now:
            del self._leases[ticket_id]
            self._again[ticket_id] = None

    def _expected(self, ticket: int | Ticket) -> _Out:
        ticket_id = ticket.id if isinstance(ticket, Ticket) else ticket
        out = self._open.get(ticket_id) if _is_id(ticket_id) else None
        if out is None:
            raise self._refusal(ticket_id)
        if isinstance(ticket, Ticket) and ticket is not out.ticket:
            foreign = ticket.origin not in (None, self._origin) or ticket[:4] != out.ticket[:4]
            if foreign:
                raise UnknownTicket(f"ticket {ticket_id} for {ticket.label!r} is not of this session")
        return out

    def _refusal(self, ticket_id: Any) -> TicketRefused:
        if not (_is_id(ticket_id) and 0 <= ticket_id < self._issued):
            return UnknownTicket(
                f"ticket {ticket_id!r} was not issued by this session: tell the id of a ticket from ask()"
            )
        if ticket_id in self._void:
            return ArmWithdrawn(f"ticket {ticket_id} is void: its arm was withdrawn")
        return AlreadyTold(f"ticket {ticket_id} was told already; the first answer counts")

    def _drop(self, arm: int) -> None:
        self._withdrawn.add(arm)
        if self._arm == arm:
            self._left = 0
        for ticket_id in [i for i, out in self._open.items() if out.ticket.arm == arm]:
            self._close(ticket_id)
            self._void.add(ticket_id)
        self.policy.rule.drop(self._state, arm)

    def _best(self) -> int:
        arm = int(self.policy.rule.recommend(self._state))
        if arm == NONE:  # no job has ended yet: an arm with a result, if there is one (S12)
            told = (i for i, count in enumerate(self._counts) if count and i not in self._withdrawn)
            return next(told, NONE)
        return arm

    def _report(self, arm: int) -> Recommendation:
        count = self._counts[arm]
        mean = self._sign * self._totals[arm] / count + 0.0  # never -0
        return Recommendation(self._labels.label(arm), mean, count, self._record.level(self._state, arm))


def _as_policy(policy: Policy | str | None) -> Policy:
    """Return a policy given as such, as a SPEC, or not at all."""
    if policy is None:
        return BoxThirding()
    if isinstance(policy, str):
        return parse_policy(policy)
    if isinstance(policy, type) or not hasattr(policy, "rule"):
        raise InvalidInput(f"policy is {policy!r}, but must be a policy such as BoxThirding() or a SPEC such as 'b3'")
    return policy


def _as_float(reward: object) -> float:
    """Return a reward as a float, or refuse it by type."""
    if isinstance(reward, numbers.Real | np.bool_ | Decimal) or (isinstance(reward, np.ndarray) and reward.ndim == 0):
        try:
            return float(reward)
        except OverflowError:
            return math.inf
    raise InvalidInput(f"the reward is {reward!r}, a {type(reward).__name__}, but must be a number")


def _is_id(value: object) -> bool:
    """Tell whether a value can be the id of a ticket; True is not 1 here."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
