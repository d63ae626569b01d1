"""A study as the source of a search: tickets, results and budget are shared with all who work on it, now or before."""

import re
import time
import weakref
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from boxthirding.errors import InvalidInput
from boxthirding.find.budget import counted
from boxthirding.find.slots import Slots
from boxthirding.session import Ticket
from boxthirding.storage import open_study
from boxthirding.study import Lent, Study
from boxthirding.types import Label, Policy

NAME: Final = "main"
"""The study of a database when nobody says which."""

Place = str | Path | tuple[str | Path, str]
"""A path or URL, or that and the name of a study in it."""

_PAIR = 2


class Shared:
    """A study that is asked and told here, and perhaps elsewhere at the same time.

    We have a name of our own while we live, so whoever comes after a crash takes the name and has our tickets.
    """

    study: Study

    def __init__(
        self,
        place: Place,
        arms: int | Iterable[Any] | Mapping[Label, Any],
        policy: Policy | None,
        *,
        seed: int,
        direction: str,
        limit: int | None,
    ) -> None:
        self.url, self.name = _parts(place)
        self._limit = limit
        self._slots = Slots(self.url, self.name)
        holder = self._slots.take_first()
        self._names = {holder}
        self._spare: list[Ticket] = []  # ours, and not under way
        self._told = 0
        self._keeper: weakref.finalize[[], Any] | None = None
        with ExitStack() as undo:
            undo.callback(self._slots.release)
            self.study = undo.enter_context(
                open_study(self.url, self.name, arms=arms, policy=policy, seed=seed, direction=direction, holder=holder)
            )
            self._take_over_from_the_dead()
            undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._slots.release()
        if self._keeper is None:
            self.study.disconnect()

    def live_as_long_as(self, result: object) -> None:
        """Let the study be read, when we have left, for as long as somebody has the result."""
        self._keeper = weakref.finalize(result, self.study.disconnect)

    def greeting(self) -> str:
        """Say what was there before."""
        there, out = self.study.pulls, self.study.waiting
        going_on = f"going on from {counted(there, 'pull')}" if there or out else "new"
        return f"Study {self.name!r} in {without_password(self.url)}: {going_on}" + (
            f", {counted(out, 'ticket')} out." if out else "."
        )

    @property
    def made(self) -> int:
        """How many results came from elsewhere: before, or from other processes."""
        return self.study.pulls - self._told

    @property
    def under_way(self) -> int:
        """How many tickets others have."""
        return len(self._elsewhere())

    def ask(self, n: int = 1) -> list[Ticket]:
        """Return up to n tickets: those left behind, then new ones, but none beyond the budget of the whole study."""
        tickets, self._spare = self._spare[:n], self._spare[n:]
        while len(tickets) < n and (more := self.study.ask(n - len(tickets), limit=self._limit)):
            tickets += more
        if not tickets:
            return []
        # More may have been left behind than this budget has room for: the tickets with the larger numbers wait.
        out = sorted(lent.ticket.id for lent in self.study.lent() if lent.holder is not None)
        allowed = set(out if self._limit is None else out[: max(0, self._limit - self.study.pulls)])
        self._spare += [ticket for ticket in tickets if ticket.id in out and ticket.id not in allowed]
        return [ticket for ticket in tickets if ticket.id in allowed]

    def tell(self, ticket: int | Ticket, reward: float) -> None:
        """Take a result."""
        self.study.tell(ticket, reward)
        self._told += 1

    def fail(self, ticket: int | Ticket) -> None:
        """Take note of a failure."""
        self.study.fail(ticket)

    def reason_to_wait(self, *, room: bool) -> str:
        """Say why there may soon be a ticket for us, though none is there and none of ours is under way; or nothing.

        With no room in the budget, we wait only for processes of this machine: if they end, their tickets are ours.
        """
        if self._take_over_from_the_dead() or (room and self._spare):
            return "Taking over tickets that were left behind."
        if room and self.study.status == "paused":
            return "The study is paused: waiting until it is resumed."
        others = self._elsewhere()
        if any(room or self._slots.is_here(str(lent.holder)) for lent in others):
            return "Waiting for results that others have under way."
        return ""

    def payloads(self) -> dict[Label, Any]:
        """Return what rides along with the labels, as far as we were given it."""
        return self.study._desk.payloads  # noqa: SLF001  # a study hands them out with tickets only

    def _elsewhere(self) -> list[Lent]:
        """Return the tickets that others have, but for those whose lease has run out: they are anybody's."""
        lease, now = self.study.lease, time.time()
        return [
            lent
            for lent in self.study.lent()
            if lent.holder not in {*self._names, None} and (lease is None or lent.at is None or lent.at + lease > now)
        ]

    def _take_over_from_the_dead(self) -> bool:
        """Take the tickets of processes of this machine that have ended; return whether there were any."""
        theirs = self._elsewhere()
        dead = {lent.holder for lent in theirs if lent.holder is not None and self._slots.take(lent.holder)}
        self._names |= dead
        self._spare += [lent.ticket for lent in theirs if lent.holder in dead]
        return bool(dead)


def without_password(url: str) -> str:
    """Return a URL as it may be shown.

    >>> without_password("postgresql://ann:secret@host/lab")
    'postgresql://ann:...@host/lab'
    """
    return re.sub(r"(://[^:/@]*:)[^@/]*@", r"\1...@", url)


def _parts(place: Place) -> tuple[str, str]:
    """Return the URL and the name of a study."""
    if isinstance(place, str | Path):
        return str(place), NAME
    if len(place) == _PAIR:
        return str(place[0]), place[1]
    raise InvalidInput(f"study is {place!r}, but must be a path or URL, or a pair of that and the name of a study")
