"""A policy at play over arms: what follows from asks and results alone. No clock, no lock, no thread."""

import math
import numbers
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput, TicketRefused
from boxthirding.policies.arrays import interpreted
from boxthirding.policies.records import record_for
from boxthirding.policies.spec import as_policy
from boxthirding.session.labels import Labels
from boxthirding.session.protocol import Ticket
from boxthirding.session.saved import Saved, named
from boxthirding.session.tickets import Tickets
from boxthirding.streams import ORDER, spawn
from boxthirding.types import GROW, N_ARMS, Label, Policy

_CAPACITY = 64  # room for arms to begin with; the state grows
_LARGEST = 1e150  # so that squares of rewards stay finite


class Play:
    """A run of a policy over arms, step by step; the same steps, the same tickets.

    A session adds a clock and a lock to it, a study a journal. Tickets carry their `origin`, by which those of another
    play are refused.
    """

    def __init__(
        self,
        arms: int | Iterable[Any] | Mapping[Label, Any],
        policy: Policy | str | None = None,
        *,
        seed: int = 0,
        direction: str = "maximize",
        patience: int = 3,
        origin: str | None = None,
    ) -> None:
        if direction not in ("maximize", "minimize"):
            raise InvalidInput(f"direction is {direction!r}, but must be maximize or minimize")
        self.policy = as_policy(policy)
        self._sign = 1.0 if direction == "maximize" else -1.0
        self._patience = whole("patience", patience, least=1)
        self._labels = Labels(arms, spawn(seed, 0, 1)[0, ORDER])
        if self._labels.open_ended and not self.policy.open_ended:
            raise InvalidInput(
                f"policy {self.policy.name} must know how many arms there are: give a sequence or a number"
            )
        self._given = self._labels.count  # arms there from the start; what comes later is saved with the rest
        n_arms = self._labels.available()
        if n_arms == 0:
            raise InvalidInput("the iterator gave no arm, but at least one is needed")
        self._hold(self.policy.new(n_arms, seed, _CAPACITY))
        self._record = record_for(self.policy)
        self._tickets = Tickets(origin)
        self._told = 0
        self._counts: list[int] = []  # by number: pulls told
        self._totals: list[float] = []  # by number: the sum of their rewards, larger is better
        self._handed: list[int] = []  # by number: pulls handed out
        self._failed: dict[int, int] = {}  # by number: failures in a row
        self._withdrawn: set[int] = set()  # numbers
        self._job = self._arm = self._left = 0  # the job that is being handed out, and how many of its pulls are left

    @property
    def pulls(self) -> int:
        """How many results have been told."""
        return self._told

    @property
    def waiting(self) -> int:
        """How many tickets are out, those to be issued again included."""
        return len(self._tickets.open)

    def fresh(self) -> Ticket | None:
        """Return a new ticket, cut from the job at hand or from a new one; None, if the rule has none to give."""
        while self._left == 0:
            if self._labels.open_ended:
                self._state.scalars[N_ARMS] = self._labels.available()
            job, arm, times = self.policy.rule.ask(self._seen)
            self._record.note(self._state, self._told)
            if job == GROW:
                self._hold(self.policy.grow(self._state))
            elif job < 0:
                return None
            else:
                self._job, self._arm, self._left = int(job), int(arm), int(times)
                self._meet(self._arm)
        self._left -= 1
        arm = self._arm
        pull = self._handed[arm]
        self._handed[arm] = pull + 1
        labels = self._labels
        return self._tickets.cut(arm, labels.label(arm), pull, labels.payload(arm), self._job)

    def reissue(self, ticket: int) -> Ticket:
        """Return an open ticket once more, whoever has it."""
        out = self._tickets.expected(ticket)
        self._tickets.again.pop(out.ticket.id, None)
        return out.ticket

    def release(self, ticket: int) -> None:
        """Let an open ticket be issued again to anybody; that is no failure."""
        self._tickets.again[self._tickets.expected(ticket).ticket.id] = None

    @property
    def to_be_reissued(self) -> list[int]:
        """The tickets that failed or were released and were not issued again, the earliest first."""
        return list(self._tickets.again)

    def check(self, ticket: int | Ticket) -> int:
        """Return the id of a ticket whose result is expected; refuse any other."""
        return self._tickets.expected(ticket).ticket.id

    def out(self) -> list[Ticket]:
        """Return the tickets that are out, those to be issued again included, in the order in which they were cut."""
        return [out.ticket for out in self._tickets.open.values()]

    def is_out(self, ticket: int) -> bool:
        """Tell whether the result of a ticket is not in, and its arm not withdrawn."""
        return ticket in self._tickets.open

    def tell(self, ticket: int | Ticket, reward: float) -> None:
        """Take the result of a ticket; refuse it, changing nothing, if it is not finite or not expected."""
        value = as_reward(reward)
        out = self._tickets.expected(ticket)
        self._tickets.close(out.ticket.id)
        value *= self._sign
        arm = out.ticket.arm
        self._told += 1
        self._counts[arm] += 1
        self._totals[arm] += value
        if self._failed:
            self._failed.pop(arm, None)
        self.policy.rule.tell(self._seen, out.job, 1, value, value * value)

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated: it is issued again, unless its arm has lost our patience."""
        out = self._tickets.expected(ticket)
        arm = out.ticket.arm
        if out.ticket.id in self._tickets.again:
            raise TicketRefused(f"ticket {out.ticket.id} is waiting to be issued again already")
        self._failed[arm] = self._failed.get(arm, 0) + 1
        if self._failed[arm] >= self._patience:
            self._drop(arm)
        else:
            self._tickets.again[out.ticket.id] = None

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them; a policy whose plan is made at the start (sh, sr, dsh) does not play them."""
        self._labels.add(arms)
        self._state.scalars[N_ARMS] = self._labels.in_sight

    def withdraw(self, label: Label) -> None:
        """Take an arm out of the race for good; its open tickets will be refused."""
        arm = self._labels.find(label)
        if arm in self._withdrawn or (arm is None and self._labels.is_gone(label)):
            raise InvalidInput(f"label {label!r} is withdrawn already")
        if arm is None:
            self._labels.remove(label)
            self._state.scalars[N_ARMS] = self._labels.in_sight
        else:
            self._drop(arm)

    @property
    def tickets_issued(self) -> int:
        """How many tickets have been cut; also the id of the next one."""
        return self._tickets.issued

    @property
    def arms_given(self) -> int:
        """How many arms have been given so far, withdrawn or not; from an iterator, those that were drawn."""
        return self._labels.count

    @property
    def open_ended(self) -> bool:
        """Whether an iterator may still give arms."""
        return self._labels.open_ended

    def labelled(self, arms: Iterable[Any] | Mapping[Label, Any]) -> list[tuple[Label, Any]]:
        """Return arms that could be added with the labels they would have."""
        return self._labels.labelled(arms)

    def knows(self, label: object) -> bool:
        """Tell whether there is, or was, an arm of that label."""
        return self._labels.knows(label)

    def arms_since(self, first: int) -> list[tuple[Label, Any]]:
        """Return the labels and payloads of the arms that were given after the first `first`."""
        return [(label, self._labels.payload_of(label)) for label in self._labels.since(first)]

    def save(self) -> Saved:
        """Return everything as plain facts and arrays, without payloads."""
        labels, label_arrays = self._labels.save(self._given)
        spent = {name: getattr(self._state, name).shape for name in self._record.spent}
        facts = {"labels": labels, "job": [self._job, self._arm, self._left], "told": self._told, "spent": spent}
        own = {
            "counts": np.array(self._counts, np.int64),
            "totals": np.array(self._totals, np.float64),
            "handed": np.array(self._handed, np.int64),
            "failed": np.array(list(self._failed.items()), np.int64).reshape(-1, 2),
            "withdrawn": np.array(sorted(self._withdrawn), np.int64),
        }
        state = {name: array.copy() for name, array in self._state._asdict().items() if name not in spent}
        parts = named(own=own, labels=label_arrays, state=state, record=self._record.save())
        return Saved(facts, parts | named(tickets=self._tickets.save()))

    def load(self, saved: Saved) -> None:
        """Go on from where another one was saved that had the same policy, arms, seed and settings as this one."""
        facts, own = saved.facts, saved.part("own")
        self._labels.load(facts["labels"], saved.part("labels"), self._given)
        self._tickets.load(saved.part("tickets"), self._labels.label)
        self._record.load(saved.part("record"))
        spent = {name: np.zeros(shape, np.int64) for name, shape in facts["spent"].items()}
        self._hold(type(self._state)(**saved.part("state"), **spent))
        self._job, self._arm, self._left = facts["job"]
        self._told = facts["told"]
        self._counts, self._totals, self._handed = (own[name].tolist() for name in ("counts", "totals", "handed"))
        self._failed = dict(own["failed"].tolist())
        self._withdrawn = set(own["withdrawn"].tolist())

    def _hold(self, state: Any) -> None:
        """Play on with a state: its arrays are for records and files, `_seen` is for the rule."""
        self._state, self._seen = state, interpreted(state)

    def _meet(self, arm: int) -> None:
        """Give an arm its label when its number is first needed."""
        self._labels.number(arm)
        while len(self._counts) <= arm:
            self._counts.append(0)
            self._totals.append(0.0)
            self._handed.append(0)

    def _drop(self, arm: int) -> None:
        self._withdrawn.add(arm)
        if self._arm == arm:
            self._left = 0
        self._tickets.close_all_of(arm)
        self.policy.rule.drop(self._seen, arm)


def as_reward(reward: object) -> float:
    """Return a reward as a float, or refuse it by its type or size."""
    value = reward if type(reward) is float else _as_float(reward)
    if not -_LARGEST < value < _LARGEST:  # false for NaN too
        raise InvalidInput(f"the reward is {reward!r}, but must be a finite number below 1e150 in size")
    return value


def _as_float(reward: object) -> float:
    """Return a reward as a float, or refuse it by type."""
    if isinstance(reward, numbers.Real | np.bool_ | Decimal) or (isinstance(reward, np.ndarray) and reward.ndim == 0):
        try:
            return float(reward)
        except OverflowError:
            return math.inf
    raise InvalidInput(f"the reward is {reward!r}, a {type(reward).__name__}, but must be a number")
