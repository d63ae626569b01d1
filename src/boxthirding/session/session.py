"""A session in memory: ask a policy for tickets and tell their results, in any order and from any thread."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from boxthirding._checks import as_reward, positive, whole
from boxthirding.errors import BoxThirdingError, InvalidInput
from boxthirding.policies.spec import as_policy
from boxthirding.session import amendments, reading
from boxthirding.session.amendments import check_details, listed
from boxthirding.session.core import Core
from boxthirding.session.tickets import WORKER, check_holder
from boxthirding.session.values import Details, Glance, Known, KnownResult, Ticket, View, in_brief
from boxthirding.types import Label, Policy

HOLDER: Final = "session"
"""The holder, if none is named."""


_EXACT: Final = 200  # results up to which the answer is noted after each; then after every 1/200 more


class Session(reading.CoreReader):
    """A run of a policy over arms, in memory.

    Parameters
    ----------
    arms
        A sequence, a mapping of labels to arms, an iterator, a range, a number of arms, or a pandas or polars
        DataFrame or a pyarrow Table, whose rows are the arms, as dictionaries.
    policy : Policy or str, default "chase"
        The policy, or its SPEC, such as "b3:reuse=topup".
    seed : int, default 0
        The seed that decides the order of arms.
    direction : {"maximize", "minimize"}, default "maximize"
        Whether larger rewards are better.
    lease : float, optional
        Seconds after which a ticket that was not told is given to the next holder who asks. Default: never.
    clock : callable, default time.monotonic
        The clock of the leases.
    patience : int, default 3
        Failures in a row after which an arm is withdrawn.
    examples : int, optional
        How many different pulls an arm has. An arm that has had them all is known exactly, and is not handed out again.
    known : mapping or pairs, optional
        Results from before the first pull: {label: reward}, {label: [reward, …]} or (label, reward) pairs.

    All methods may be called from several threads, for any number of holders. `AskTell` says what each verb does.

    >>> session = Session(["ann", "bob", "cid"])
    >>> for _ in range(20):
    ...     for ticket in session.ask():
    ...         session.tell(ticket, {"ann": 0.1, "bob": 0.9, "cid": 0.5}[ticket.label])
    >>> session.recommend().label
    'bob'

    """

    def __init__(
        self,
        arms: int | Iterable[Any] | Mapping[Label, Any],
        policy: Policy | str | None = None,
        *,
        seed: int = 0,
        direction: str = "maximize",
        lease: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        patience: int = 3,
        examples: int | None = None,
        known: Known | None = None,
    ) -> None:
        chosen = as_policy(policy)
        self._core = Core(arms, seed=seed, direction=direction, patience=patience, examples=examples)
        self._core.rule.start(chosen)
        self._lease = None if lease is None else positive("lease", lease)
        self._clock = clock
        self._lock = threading.RLock()
        self._trouble: BoxThirdingError | None = None
        self._workers = 0
        self._next_look = 0  # the number of results at which the answer is noted again
        self._eras = 0
        if known is not None:
            rows = listed(known)
            amendments.observe_all(self._core, rows)
            self._core.note_answer()

    def __repr__(self) -> str:
        view = self.view()
        return f"<Session of {in_brief(view.arms, view.policy, view.pulls)}>"

    @property
    def seed(self) -> int:
        return self._core.seed

    @property
    def policy(self) -> Policy:
        return self._core.rule.policy

    @property
    def direction(self) -> str:
        """Whether larger rewards are better: maximize or minimize."""
        return self._core.direction

    @property
    def examples(self) -> int | None:
        return self._core.examples.count

    @contextmanager
    def _reading(self) -> Iterator[Core]:
        with self._lock:
            yield self._core

    @contextmanager
    def _changing(self) -> Iterator[Core]:
        """Hold the lock, and note afterwards what the answer is."""
        with self._lock:
            yield self._core
            self._core.note_answer()

    def ask(
        self, n: int = 1, *, holder: str | None = None, unseen: bool = False, limit: int | None = None
    ) -> list[Ticket]:
        if n != 1 or n is True:  # nearly always it is
            whole("the number of tickets", n, least=1)
        holder = HOLDER if holder is None else check_holder(holder)
        if limit is not None:
            whole("limit", limit, least=0)
        core, lease = self._core, self._lease
        tickets: list[Ticket] = []
        with self._lock:
            if self._trouble is not None:
                trouble, self._trouble = self._trouble, None
                raise trouble
            now = 0.0 if lease is None else self._clock()
            if core.tickets.free or lease is not None:
                ids = core.tickets.to_give(n, holder, now, lease, limit, unseen=unseen)
                tickets = [core.tickets.give(ticket_id, holder, now) for ticket_id in ids]
            try:
                core.hand_out(core.room(n - len(tickets), limit), holder, now, tickets, unseen=unseen)
            except BoxThirdingError as trouble:
                if not tickets:
                    raise
                self._trouble = trouble  # the tickets in hand go out first; the next ask raises the error
        return tickets

    def tell(
        self, ticket: int | Ticket, reward: float, *, holder: str | None = None, details: Details | None = None
    ) -> None:
        value = as_reward(reward)
        if details is not None:
            check_details(details)
        core = self._core
        with self._lock:
            core.tell(ticket, value, holder)
            rows = core.ledger.rows
            if rows >= self._next_look:  # looking takes a tenth as long as the rest
                self._next_look = rows + 1 + rows // _EXACT
                core.note_answer()

    def tell_all(self, results: Iterable[tuple[int | Ticket, float]]) -> None:
        """Take the results of many tickets, all or none of them: (ticket, reward) pairs."""
        pairs = [(ticket, as_reward(reward)) for ticket, reward in results]
        with self._lock:
            self._core.check_all(ticket for ticket, _ in pairs)
            for ticket, reward in pairs:
                self._core.tell(ticket, reward)
                self._core.note_answer()

    def fail(self, ticket: int | Ticket) -> None:
        with self._lock:
            _, arm, label, *_ = self._core.tickets.expected(ticket).ticket
            self._core.fail(ticket)
            if self._core.failed[arm] >= self._core.patience:
                self.withdraw(label)

    def held(self, holder: str | None = None) -> list[Ticket]:
        with self._lock:
            return self._core.tickets.held(HOLDER if holder is None else check_holder(holder))

    def release(self, *tickets: int | Ticket, holder: str | None = None) -> list[int]:
        with self._lock:
            ids = self._core.tickets.to_release(tickets, holder)
            for ticket_id in ids:
                self._core.tickets.take_back(ticket_id)
            return ids

    def worker(self) -> str:
        """Return a holder's name that no one else has."""
        with self._lock:
            self._workers += 1
            return f"{WORKER}{self._workers}"

    def reclaim(self) -> int:
        """Release the tickets of workers that have ended: none, as a session ends with its process."""
        return 0

    def observe(self, label: Label, reward: float, *, pull: int | None = None) -> None:
        known = KnownResult(label, as_reward(reward), pull)
        with self._changing() as core:
            amendments.observe_all(core, [known])

    def observe_all(self, results: Known) -> None:
        rows = listed(results)
        with self._changing() as core:
            amendments.observe_all(core, rows)

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        value = as_reward(reward)
        with self._changing() as core:
            amendments.correct(core, ticket, value)

    def exclude(self, holder: str) -> int:
        with self._changing() as core:
            return amendments.exclude(core, holder)

    def include(self, holder: str) -> int:
        with self._changing() as core:
            return amendments.include(core, holder)

    def pair(self, examples: Sequence[Mapping[str, Any]], order: Sequence[int], *, force: bool = False) -> list[int]:
        """Return by pull the place of the example that every arm sees; raise for other examples than those known here.

        Parameters
        ----------
        examples : sequence
            The examples, as a journal stores them: {"json": value}, or {"digest": text} for what JSON cannot hold.
        order : sequence of int
            Their places by pull, which hold the first time, when the examples are not known yet.
        force : bool, default False
            Continue with these examples, even if they differ from the known ones.

        """
        with self._lock:
            places = self._core.examples.pair(examples, order, force=force)
            self._core.examples.stored = [examples[place] for place in places]
            return places

    def use(self, policy: Policy | str) -> None:
        chosen = as_policy(policy)
        with self._lock:
            self._core.rule.start(chosen, self._eras + 1)
            self._eras += 1

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        with self._lock:
            self._core.add(arms)

    def withdraw(self, label: Label) -> None:
        with self._changing() as core:
            core.withdraw(label)

    def payload(self, label: Label) -> Any:
        with self._lock:
            return self._core.labels.payload_of(label)

    def view(self) -> View:
        with self._lock:
            return reading.view(self._core, name=None, status="open", per_minute=None)

    def glance(self) -> Glance:
        """Return the counts and the answer now."""
        with self._lock:
            return reading.glance(self._core)

    def __getstate__(self) -> dict[str, Any]:
        if self._core.labels.open_ended:
            raise InvalidInput("the arms of this session come from an iterator, which cannot be pickled: give a list")
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()
