"""What a rater does: start, get the next arm, rate it, skip it, correct the last rating. No web in here."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from boxthirding.errors import AlreadyTold, ArmWithdrawn, InvalidInput, StudyFinished, TicketRefused
from boxthirding.service.links import HOLDER, Rater
from boxthirding.service.problems import Refusal
from boxthirding.service.studies import Served
from boxthirding.service.tally import LATE, SKIPPED
from boxthirding.session import Ticket

LEASE: Final = 600.0
"""Seconds after which a rater's ticket goes to another."""

AHEAD: Final = 2
"""Tickets of a rater at a time: the arm that is shown, and the next."""

_GUESTS: Final = 10  # open tickets of one id, where several browsers use it

_REMEMBERED: Final = 20_000  # arms of open tickets, which are few

FLAGGED: Final = 5
"""Raters who skipped an arm, after which it is flagged."""


class Rated(NamedTuple):
    """One rating as it comes in."""

    ticket: int
    answer: str
    seconds: float | None = None


class Rating:
    """A rater at work on a study."""

    def __init__(self, served: Served, rater: Rater, clock: Callable[[], float] = time.time) -> None:
        self._served, self._rater, self._clock = served, rater, clock
        self._study = served.study

    def sitting(self) -> dict[str, Any]:
        """Return what the page shows around an arm, and how far the rater is."""
        about = self._served.about.as_dict()
        scale = [answer["label"] for answer in about.pop("scale")]
        shown = ("question", "description", "picture", "instructions", "consent")
        return {**{name: about[name] for name in shown}, "scale": scale, **self.progress()}

    def progress(self) -> dict[str, Any]:
        """Return how far the rater is; one who came under another's id is not told."""
        about = self._served.about
        rated = self._told()
        is_done = about.sitting is not None and rated >= about.sitting
        said: dict[str, Any] = {"rated": None if self._rater.is_guest else rated, "of": about.sitting, "done": is_done}
        return {**said, "thanks": about.thanks, "completion": about.completion} if is_done else said

    def next(self, count: int = 1) -> dict[str, Any]:
        """Return the arms that the rater has and has not rated, up to `count`, new ones after those it holds."""
        self._release_late()
        about, holder = self._served.about, self._rater.holder
        held = self._served.tally.held_by(holder)
        mine = [] if self._rater.is_guest else self._arms(held)  # another browser shows those
        room = min(count, AHEAD) - len(mine)
        if self._rater.is_guest:
            room = min(room, _GUESTS - len(held))
        elif about.sitting is not None:
            room = min(room, about.sitting - self._told() - len(held))
        if room > 0:
            with suppress(StudyFinished):
                mine += map(self._shown, self._study.ask(room, holder=holder, unseen=not about.repeats))
        progress = self.progress()
        arms = [] if progress["done"] else mine[:count]
        return {"arms": arms, **progress, **({} if arms else {"why": self._why_none(done=progress["done"])})}

    def rate(self, ratings: Iterable[Rated]) -> list[dict[str, Any]]:
        """Take ratings, one by one; return what became of each: stored, again (it was there already) or refused."""
        return [self._rate(rated) for rated in ratings]

    def skip(self, ticket: int) -> None:
        """Let another rater have an arm; this one is not shown it again."""
        if ticket not in self._served.tally.held_by(self._rater.holder):
            raise Refusal(
                409, f"ticket {ticket} is not yours, or is rated, so it cannot be skipped", "get the next one"
            )
        self._study.release(ticket, why=SKIPPED)

    def correct(self, ticket: int, answer: str) -> None:
        """Replace the rater's last rating."""
        reward = self._served.about.reward(answer)
        if self._rater.is_guest or self._served.tally.holder(self._rater.holder).latest != ticket:
            raise Refusal(409, f"ticket {ticket} is not your last rating, and only that can be corrected")
        self._study.correct(ticket, reward)

    def _rate(self, rated: Rated) -> dict[str, Any]:
        try:
            reward = self._served.about.reward(rated.answer)
        except InvalidInput as problem:
            return {"ticket": rated.ticket, "outcome": "refused", "why": str(problem)}
        details: dict[str, Any] = {"answer": rated.answer}
        if rated.seconds is not None:
            details["seconds"] = round(rated.seconds, 3)
        details |= self._rater.claims
        try:
            self._study.tell(rated.ticket, reward, holder=self._rater.holder, details=details)
            self._served.arms.pop(rated.ticket, None)
        except AlreadyTold:
            return {"ticket": rated.ticket, "outcome": "again"}
        except ArmWithdrawn:
            return {"ticket": rated.ticket, "outcome": "refused", "why": "the arm was taken out of the race"}
        except TicketRefused:
            return {"ticket": rated.ticket, "outcome": "refused", "why": "it was not given to you"}
        return {"ticket": rated.ticket, "outcome": "stored"}

    def _told(self) -> int:
        return self._served.tally.holder(self._rater.holder).told

    def _release_late(self) -> None:
        """Take tickets back that raters have had for longer than their lease."""
        for ticket, holder, _ in self._served.tally.held_since(self._clock() - LEASE):
            if holder.startswith(HOLDER):
                with suppress(TicketRefused, StudyFinished):
                    self._study.release(ticket, why=LATE)

    def _why_none(self, *, done: bool) -> str:
        if done:
            return "done"
        status = self._study.status
        return status if status in ("paused", "finished") else "none left for now"

    def _arms(self, tickets: list[int]) -> list[dict[str, Any]]:
        """Return what the rater sees of open tickets."""
        known = self._served.arms
        if any(ticket not in known for ticket in tickets):  # given by a server before this one
            return [self._shown(ticket) for ticket in self._study.held(self._rater.holder)]
        return [known[ticket] for ticket in tickets]

    def _shown(self, ticket: Ticket) -> dict[str, Any]:
        """Return what a rater sees of a ticket, and remember it while it is open."""
        known = self._served.arms
        if len(known) > _REMEMBERED:
            known.clear()
        known[ticket.id] = shown(ticket)
        return known[ticket.id]


def shown(ticket: Ticket) -> dict[str, Any]:
    """Return what a rater sees of an arm: its text and picture, and nothing else of its payload."""
    payload = ticket.payload if isinstance(ticket.payload, dict) else {}
    text, picture = payload.get("text"), payload.get("picture")
    return {
        "ticket": ticket.id,
        "text": text if isinstance(text, str) else str(ticket.label),
        "picture": picture if isinstance(picture, str) else None,
    }
