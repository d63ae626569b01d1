"""Live: a policy that you ask and tell in your own loop, one pull a ticket, results in any order, from any thread."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from boxthirding._checks import as_reward, is_number, whole
from boxthirding.errors import BoxThirdingError, InvalidInput
from boxthirding.policies.spec import as_policy
from boxthirding.session import amendments, answers
from boxthirding.session.core import Core
from boxthirding.session.known import check_details, listed
from boxthirding.session.protocol import (
    PAGE,
    ArmSummary,
    Box,
    Glance,
    Known,
    Lineage,
    Recommendation,
    Screening,
    Ticket,
    View,
)
from boxthirding.session.tickets import WORKER, check_holder, to_release
from boxthirding.types import Label, Policy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HOLDER: Final = "session"
"""Who asks, when no holder is named."""


class Session:
    """A live run of a policy over arms, in memory.

    Parameters
    ----------
    arms
        A sequence, a mapping of labels to arms, an iterator, a range, a number of arms, or a pandas or polars
        DataFrame, whose rows are the arms, as dictionaries.
    policy : Policy or str, default "b3auto"
        What decides which arm is next: an object, or a SPEC such as "b3:reuse=topup".
    seed : int, default 0
        Decides the order of arms.
    direction : {"maximize", "minimize"}, default "maximize"
        Whether larger rewards are better.
    lease : float, optional
        Seconds after which a ticket that was not told is given to the next holder who asks. Default: never.
    clock : callable, default time.monotonic
        What leases go by.
    patience : int, default 3
        Failures in a row after which an arm is withdrawn.
    examples : int, optional
        How many different pulls an arm has. An arm that has had them all is known exactly, and is not handed out again.
    known : mapping or pairs, optional
        Results that are there before the first pull: {label: reward}, {label: [reward, …]} or (label, reward) pairs.

    All methods may be called from several threads, for any number of holders.

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
        check_lease(lease)
        chosen = as_policy(policy)
        self._core = Core(arms, seed=seed, direction=direction, patience=patience, examples=examples)
        self._core.start(chosen)
        self._lease, self._clock = lease, clock
        self._lock = threading.RLock()
        self._trouble: BoxThirdingError | None = None
        self._workers = 0
        self._eras = 0
        if known is not None:
            self.observe_all(known)

    @property
    def seed(self) -> int:
        """The seed that it was made with."""
        return self._core.seed

    @property
    def policy(self) -> Policy:
        """What decides which arm is next."""
        return self._core.policy

    @property
    def direction(self) -> str:
        """Whether larger rewards are better: maximize or minimize."""
        return self._core.direction

    @property
    def examples(self) -> int | None:
        """How many different pulls an arm has; None without end."""
        return self._core.examples

    @property
    def pulls(self) -> int:
        """How many results count."""
        return self._core.ledger.pulls

    @property
    def spent(self) -> int:
        """How many results were told through tickets, excluded ones too."""
        return self._core.ledger.spent

    @property
    def open(self) -> int:
        """How many tickets are neither told nor void."""
        return len(self._core.tickets.open)

    def ask(
        self, n: int = 1, *, holder: str | None = None, unseen: bool = False, limit: int | None = None
    ) -> list[Ticket]:
        """Return up to n tickets; fewer, perhaps none, when the policy needs a result first or no arm is left.

        Parameters
        ----------
        n : int, default 1
            How many tickets are wanted.
        holder : str, optional
            Who asks: a worker or a rater. Default: the session itself.
        unseen : bool, default False
            Give only arms that this holder was never handed, as raters must see no arm twice.
        limit : int, optional
            Make no new ticket when `spent` and open tickets number as many.

        """
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
                ids = core.to_give(n, holder, now, lease, limit, unseen=unseen)
                tickets = [core.give(ticket_id, holder, now) for ticket_id in ids]
            wanted = n - len(tickets) if limit is None else core.room(n - len(tickets), limit)
            try:
                core.cut(wanted, holder, now, tickets, unseen=unseen)
            except BoxThirdingError as trouble:
                if not tickets:
                    raise
                self._trouble = trouble  # what is in hand goes out first; the next ask says what is wrong
        return tickets

    def tell(
        self,
        ticket: int | Ticket,
        reward: float,
        *,
        holder: str | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the result of a ticket; refuse it, changing nothing, if it is not finite or not expected.

        Parameters
        ----------
        ticket : Ticket or int
            What `ask` returned, or its id.
        reward : float
            What the pull gave.
        holder : str, optional
            Who tells; one to whom the ticket was never given is refused. Default: the ticket's holder.
        details : mapping, optional
            A small JSON object to keep with the result. A session keeps none, and only checks it; a study does.

        """
        value = as_reward(reward)
        if details is not None:
            check_details(details)
        with self._lock:
            self._core.tell(ticket, value, holder)

    def tell_all(self, results: Iterable[tuple[int | Ticket, float]]) -> None:
        """Take the results of many tickets, all or none of them: (ticket, reward) pairs."""
        pairs = [(ticket, as_reward(reward)) for ticket, reward in results]
        with self._lock:
            self._core.check_all(ticket for ticket, _ in pairs)
            for ticket, reward in pairs:
                self._core.tell(ticket, reward)

    def fail(self, ticket: int | Ticket) -> None:
        """Note that a ticket could not be evaluated: the next to ask is given it.

        An arm that failed `patience` times in a row is withdrawn.
        """
        with self._lock:
            _, arm, label, *_ = self._core.tickets.expected(ticket).ticket
            self._core.fail(ticket)
            if self._core.failures_in_a_row(arm) >= self._core.patience:
                self._core.withdraw(label)

    def held(self, holder: str | None = None) -> list[Ticket]:
        """Return the open tickets of a holder, in the order in which they were given."""
        with self._lock:
            return self._core.tickets.held(HOLDER if holder is None else holder)

    def release(self, *tickets: int | Ticket, holder: str | None = None) -> list[int]:
        """Take open tickets, or all that a holder has, from their holders: the next to ask is given them.

        That is no failure of their arms. It returns their ids.
        """
        with self._lock:
            ids = to_release(self._core.tickets, tickets, holder)
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
        """Take a known result of an arm, without a ticket: it is not paid for.

        With examples, `pull` says which example it is of: its place in the order of the examples.
        """
        value = as_reward(reward)
        with self._lock:
            amendments.observe(self._core, label, value, pull)
            amendments.end_batch(self._core)

    def observe_all(self, results: Known) -> None:
        """Take known results of many arms, all or none of them.

        They are {label: reward}, {label: [reward, …]}, with examples {label: {pull: reward}}, or (label, reward) pairs.
        """
        rows = listed(results)
        with self._lock:
            amendments.check_all_known(self._core, rows)
            for label, reward, pull in rows:
                amendments.observe(self._core, label, reward, pull)
            amendments.end_batch(self._core)

    def correct(self, ticket: int | Ticket, reward: float) -> None:
        """Replace the reward of a ticket that was told: the answer is right at once, and nothing is run again."""
        value = as_reward(reward)
        with self._lock:
            amendments.correct(self._core, ticket, value)
            amendments.end_batch(self._core)

    def exclude(self, holder: str) -> int:
        """Let the results of a holder not count, those told and those still to come; return how many were told."""
        with self._lock:
            return amendments.exclude(self._core, holder)

    def include(self, holder: str) -> int:
        """Let the results of an excluded holder count again; return how many there are."""
        with self._lock:
            return amendments.include(self._core, holder)

    def use(self, policy: Policy | str) -> None:
        """Go on with another policy: it starts from every result that counts, and open tickets stay valid."""
        chosen = as_policy(policy)
        with self._lock:
            self._core.start(chosen, self._eras + 1)
            self._eras += 1

    def add(self, arms: Iterable[Any] | Mapping[Label, Any]) -> None:
        """Add arms, all or none of them; a policy whose plan is made at the start (sh, sr, dsh) does not play them."""
        with self._lock:
            self._core.add(arms)

    def withdraw(self, label: Label) -> None:
        """Take an arm out of the race for good; its open tickets become void."""
        with self._lock:
            self._core.withdraw(label)

    def recommend(self) -> Recommendation | None:
        """Return the best arm so far, or None before the first result."""
        with self._lock:
            return answers.recommend(self._core)

    def top(self, k: int) -> list[Recommendation]:
        """Return the k best arms so far, the recommended one first."""
        with self._lock:
            return answers.top(self._core, k)

    def arms(
        self, first: int = 0, count: int = PAGE, *, order: str = "best", search: str | None = None
    ) -> list[ArmSummary]:
        """Return a page of the arms that were tried.

        Parameters
        ----------
        first : int, default 0
            How many to pass over.
        count : int, default 100
            How many to return at most.
        order : {"best", "tried", "given"}, default "best"
            Best first, in the order in which they were first tried, or as given: then also those that were not tried.
        search : str, optional
            Only arms whose label has this text in it, in capitals or not.

        """
        with self._lock:
            return answers.arms(self._core, first, count, order, search)

    def boxes(self, level: int | str | None = None, first: int = 0, count: int = PAGE) -> list[Box]:
        """Return the boxes and piles that hold an arm; none, if the policy has no boxes.

        Parameters
        ----------
        level : int or "final", optional
            Only those of this level. Default: all, from the lowest up, the final last.
        first, count : int, default 0 and 100
            Of each box, which page of its arms to return.

        """
        with self._lock:
            return answers.boxes(self._core, level, first, count)

    def payload(self, label: Label) -> Any:
        """Return what was given as an arm; its label, where nothing else was."""
        with self._lock:
            return self._core.labels.payload_of(label)

    def why(self, label: Label) -> Lineage:
        """Return the story of an arm: the boxes it was in, its rivals there, and where it stands now."""
        with self._lock:
            return answers.why(self._core, label)

    def screening(self, share: float) -> Screening | None:
        """Return the chance, exact, that an arm of the best `share` of all is among those that could still be returned.

        It is None where known results have put some arms before others; with an iterator, it is the chance for
        infinitely many arms.
        """
        with self._lock:
            return answers.screening(self._core, share)

    def view(self) -> View:
        """Return all that can be read, at one moment."""
        with self._lock:
            return answers.view(self._core, name=None, status="open", per_minute=None)

    def glance(self) -> Glance:
        """Return the counts and the answer now."""
        with self._lock:
            return answers.glance(self._core)

    def plot(self, kind: str = "answer", ax: "Axes | None" = None) -> "Axes":
        """Draw what is known with Matplotlib, and return the axes.

        Parameters
        ----------
        kind : {"answer", "arms", "boxes"}, default "answer"
            The mean of the best arm over time; each arm by its pulls and mean; or how many arms stand in each box.
        ax : matplotlib.axes.Axes, optional
            Where to draw. Default: a new picture.

        """
        from boxthirding.session.plotting import plot  # noqa: PLC0415  # loaded when it is needed

        return plot(self, kind, ax)

    def __getstate__(self) -> dict[str, Any]:
        if self._core.labels.open_ended:
            raise InvalidInput("the arms of this session come from an iterator, which cannot be pickled: give a list")
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()


def check_lease(lease: float | None) -> None:
    """Refuse a lease that is none."""
    if lease is not None and not (is_number(lease) and 0 < lease < math.inf):
        raise InvalidInput(f"lease is {lease!r}, but must be a finite number of seconds above 0, or None")
