"""A study as the source of a search: tickets, results and budget are shared with all who work on it, now or before."""

import re
import shlex
import time
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from boxthirding.errors import AlreadyTold, InvalidInput, StudyUnavailable, TicketRefused
from boxthirding.find.budget import counted
from boxthirding.find.plan import having
from boxthirding.find.slots import Slots, is_run
from boxthirding.session import Ticket
from boxthirding.storage.opening import open_journal
from boxthirding.study import Lent, Settings, Study
from boxthirding.types import Label, Policy

NAME: Final = "main"
"""The study of a database when nobody says which."""

Place = str | Path | tuple[str | Path, str]
"""A path or URL, or that and the name of a study in it."""

_PAIR = 2
_SHORT = 2.0  # seconds to wait for a file that is locked: a search waits longer, and heeds deadlines and Ctrl-C


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
        seed: int | None,
        direction: str | None,
        limit: int | None,
    ) -> None:
        self.url, self.name = _parts(place)
        self._limit = limit
        self._spare: list[Ticket] = []  # ours, and not under way
        self._under_way: set[int] = set()
        self._unsure: set[int] = set()  # tickets whose tell or fail was broken off: it may have been carried out
        self._told = 0
        self._keeper: weakref.finalize[[], Any] | None = None
        with ExitStack() as undo:
            journal = open_journal(self.url, self.name, _SHORT)
            undo.callback(journal.close)
            self._slots = Slots(journal.names())
            undo.callback(self._slots.release)
            settings = Settings(arms, policy, seed, direction)
            self.study = Study(self.name, journal, settings, holder=self._slots.own)
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
        """Return up to n tickets: those left behind, then new ones, but none beyond the budget of the whole study.

        None of them is under way here already, even if its lease has run out meanwhile.
        """
        self._slots.keep(self.study._go_on_as)  # noqa: SLF001  # nobody else has names that can be lost
        while len(self._spare) < n and (more := self.study.ask(n - len(self._spare), limit=self._limit)):
            new = self._unknown(more)
            self._spare += new
            if not new:
                break
        if not self._spare:
            return []
        # More may have been left behind than this budget has room for: the tickets with the larger numbers wait.
        out = {lent.ticket.id: lent.holder for lent in self.study.lent() if lent.holder is not None}
        allowed = set(sorted(out)[: None if self._limit is None else max(0, self._limit - self.study.pulls)])
        ours = [ticket for ticket in self._spare if out.get(ticket.id) in self._slots]
        chosen = [ticket for ticket in ours if ticket.id in allowed][:n]
        self._under_way.update(ticket.id for ticket in chosen)
        self._spare = [ticket for ticket in ours if ticket.id not in self._under_way]
        return chosen

    def tell(self, ticket: Ticket, reward: float) -> None:
        """Take a result; one that was written and not heard of is taken once."""
        was_unsure = ticket.id in self._unsure
        try:
            with self._handing_in(ticket):
                self.study.tell(ticket, reward)
        except AlreadyTold:
            if not was_unsure:
                raise
        self._told += 1

    def fail(self, ticket: Ticket) -> None:
        """Take note of a failure; one that was written and not heard of is noted once: others may have the ticket."""
        with self._handing_in(ticket):
            if ticket.id not in self._unsure or self._has(ticket):
                self.study.fail(ticket)

    def reason_to_wait(self, *, room: bool) -> str:
        """Say why there may soon be a ticket for us, though none is there and none of ours is under way; or nothing.

        With no room in the budget, we wait only for runs that live: if they end, their tickets are ours.
        """
        if self._take_over_from_the_dead() or (room and self._spare):
            return "Taking over tickets that were left behind."
        if room and self.study.status == "paused":
            return "The study is paused: waiting until it is resumed."
        others = self.holders()
        people = {holder: tickets for holder, tickets in others.items() if not is_run(holder)}
        if room and people:
            way_out = self._way_out(next(iter(people)))
            return f"Waiting for results that others have under way: {having(people)}. {way_out}"
        return "Waiting for results that other runs have under way." if len(others) > len(people) else ""

    def holders(self) -> dict[str, int]:
        """Return who else has tickets under way, and how many; those with the most first."""
        return dict(Counter(str(lent.holder) for lent in self._elsewhere()).most_common())

    def payloads(self) -> dict[Label, Any]:
        """Return what rides along with the labels, as far as we were given it."""
        return self.study._desk.payloads  # noqa: SLF001  # a study hands them out with tickets only

    @contextmanager
    def _handing_in(self, ticket: Ticket) -> Iterator[None]:
        """Note that a ticket is not under way any more, unless the study could not be reached."""
        try:
            yield
        except StudyUnavailable:
            self._unsure.add(ticket.id)
            raise
        except TicketRefused:
            self._settled(ticket)
            raise
        self._settled(ticket)

    def _settled(self, ticket: Ticket) -> None:
        self._under_way.discard(ticket.id)
        self._unsure.discard(ticket.id)

    def _has(self, ticket: Ticket) -> bool:
        """Tell whether a ticket is still out under one of our names."""
        return any(lent.ticket.id == ticket.id and lent.holder in self._slots for lent in self.study.lent())

    def _elsewhere(self) -> list[Lent]:
        """Return the tickets that others have, but for those whose lease has run out: they are anybody's."""
        lease, now = self.study.lease, time.time()
        return [
            lent
            for lent in self.study.lent()
            if lent.holder is not None
            and lent.holder not in self._slots
            and (lease is None or lent.at is None or now - lease < lent.at <= now + lease)
        ]

    def _take_over_from_the_dead(self) -> bool:
        """Take the tickets of runs that have ended; return whether there were any."""
        self._slots.keep(self.study._go_on_as)  # noqa: SLF001  # the same
        for holder in self.holders():
            self._slots.inherit(holder)
        left = [lent.ticket for lent in self.study.lent() if lent.holder in self._slots.inherited]
        new = self._unknown(left)
        self._spare += new
        return bool(new)

    def _unknown(self, tickets: Iterable[Ticket]) -> list[Ticket]:
        """Return those of our tickets that are neither under way nor waiting here."""
        known = self._under_way | {ticket.id for ticket in self._spare}
        return [ticket for ticket in tickets if ticket.id not in known]

    def _way_out(self, holder: str) -> str:
        """Say what to do about a holder that does not come back."""
        words = ["boxthirding", "study", "release", without_password(self.url), "--holder", holder]
        words += ["--name", self.name] if self.name != NAME else []
        return f"If they are gone for good, hand their tickets on: {shlex.join(words)}"


def without_password(url: str) -> str:
    """Return a URL as it may be shown.

    >>> without_password("postgresql://ann:secret@host/lab?sslmode=require&password=secret")
    'postgresql://ann:...@host/lab?sslmode=require&password=...'
    """
    url = re.sub(r"(://[^:/?#@]*:)[^/?#]*@", r"\1...@", url)
    return re.sub(r"([?&](?:ssl)?password=)[^&#]*", r"\1...", url, flags=re.IGNORECASE)


def _parts(place: object) -> tuple[str, str]:
    """Return the URL and the name of a study."""
    if isinstance(place, str | Path):
        return str(place), NAME
    if isinstance(place, tuple | list) and len(place) == _PAIR and isinstance(place[0], str | Path):
        return str(place[0]), place[1]
    opened = "; an open study cannot be given, so name the place that it is in" if isinstance(place, Study) else ""
    raise InvalidInput(
        f"study is {place!r}, but must be a path or URL, or a pair of that and the name of a study{opened}"
    )
