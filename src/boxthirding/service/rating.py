"""What a rater does: start, get the next arm, rate it, skip it, correct the last rating. No web in here."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from boxthirding.errors import AlreadyTold, ArmWithdrawn, InvalidInput, StudyFinished, TicketRefused
from boxthirding.service import pictures
from boxthirding.service.batches import Rated, Steps, serve_together
from boxthirding.service.links import Rater, is_rater
from boxthirding.service.problems import Refusal
from boxthirding.service.rater_stats import LATE, SKIPPED
from boxthirding.service.request_models import RatingIn
from boxthirding.service.studies import Served
from boxthirding.session import Ticket
from boxthirding.storage.server_records import Records
from boxthirding.study import Exchange
from boxthirding.types import Label

LEASE: Final = 600.0  # seconds after which a rater's ticket goes to another

AHEAD: Final = 3
"""Tickets of a rater at a time: the arm whose rating can still be undone, the one that is shown, and the next."""

_GUESTS: Final = 10  # open tickets of one id, where several browsers use it

_PICTURE: Final = re.compile(pictures.ID)

_REMEMBERED: Final = 20_000  # arms of open tickets, which are few

FLAGGED: Final = 5  # raters who skipped an arm, after which it is flagged


class Rating:
    """What one rater does in a study."""

    def __init__(self, served: Served, rater: Rater, clock: Callable[[], float] = time.time) -> None:
        self._served, self._rater, self._clock = served, rater, clock
        self.study = served.study

    @property
    def holder(self) -> str:
        """The name of the rater as a holder."""
        return self._rater.holder

    def sitting(self) -> dict[str, Any]:
        """Return what the page shows around an arm, and how far the rater is."""
        about = self._served.about.as_dict()
        scale = [answer["label"] for answer in about.pop("scale")]
        shown = ("question", "description", "picture", "instructions", "consent")
        who = {"rater": self._rater.holder, "scale": scale}
        return {**{name: about[name] for name in shown}, **who, **self.progress()}

    def progress(self) -> dict[str, Any]:
        """Return how far the rater is; one who came under another's id is not told."""
        about = self._served.about
        rated = self._rated()
        is_done = about.sitting is not None and rated >= about.sitting
        said: dict[str, Any] = {"rated": None if self._rater.is_guest else rated, "of": about.sitting, "done": is_done}
        return {**said, "thanks": about.thanks, "completion": about.completion} if is_done else said

    def rate(self, ratings: Iterable[RatingIn], count: int = 0) -> Rated:
        """Take ratings, and return the outcome of each, and the arms that the rater has and has not rated.

        These are up to `count`, new ones after those it holds. A rating is stored, again (it was there already) or
        refused. All is one commit.
        """
        (rated,) = serve_together(self.study, [self.steps(ratings, count)])
        if isinstance(rated, BaseException):
            raise rated
        return rated

    def steps(self, ratings: Iterable[RatingIn], count: int) -> Steps:
        """Yield the exchange with the study, be sent what it has handed out, and return what `rate` does."""
        about, holder = self._served.about, self.holder
        release_late(self._served, self._clock())
        rows = [(rated, self._reward(rated)) for rated in ratings]
        fit = [(rated.ticket, reward, self._details(rated)) for rated, reward in rows if isinstance(reward, float)]
        before = self._served.tally.held_by(holder)
        answered = {ticket for ticket, _, _ in fit}
        held = [ticket for ticket in before if ticket not in answered]
        shown_here = [ticket for ticket in held if not self._is_elsewhere(ticket)]
        mine = [] if self._rater.is_guest else self._arms(shown_here)  # a guest reads nothing
        room = min(count, AHEAD) - len(mine)
        if self._rater.is_guest:
            room = min(room, _GUESTS - len(held))
        elif about.sitting is not None:
            room = min(room, about.sitting - self._rated() - len(before))
        problems: Iterable[InvalidInput | None] = ()
        if fit or room > 0:
            handed = yield Exchange(holder, fit, max(0, room), unseen=not about.repeats)
            problems = handed.problems
            mine += map(self._remember, handed.tickets)
        remaining = iter(problems)
        outcomes = [self._outcome(rated.ticket, reward, remaining) for rated, reward in rows]
        return outcomes, self._next(mine, count)

    def _next(self, mine: list[dict[str, Any]], count: int) -> dict[str, Any]:
        progress = self.progress()
        arms = [] if progress["done"] else mine[:count]
        return {"arms": arms, **progress, **({} if arms else {"why": self._why_none(done=progress["done"])})}

    def skip(self, ticket: int) -> None:
        """Skip an arm: another rater gets it, and this one is not shown it again."""
        if ticket not in self._served.tally.held_by(self._rater.holder) or self._is_elsewhere(ticket):
            raise Refusal(409, f"ticket {ticket} is not yours or is rated, so it cannot be skipped", "get the next one")
        self.study.release(ticket, why=SKIPPED)

    def correct(self, ticket: int, answer: str) -> None:
        """Replace the rater's last rating."""
        reward = self._served.about.reward(answer)
        if self._rater.is_guest or self._served.tally.holder(self._rater.holder).latest != ticket:
            raise Refusal(409, f"ticket {ticket} is not your last rating, the only one to correct", "rate the next one")
        self.study.correct(ticket, reward)

    def _details(self, rated: RatingIn) -> dict[str, Any]:
        """Return what is kept with a rating."""
        details: dict[str, Any] = {"answer": rated.answer}
        if rated.seconds is not None:
            details["seconds"] = round(rated.seconds, 3)
        return details | self._rater.claims

    def _reward(self, rated: RatingIn) -> float | InvalidInput:
        """Return the reward of a rating, or what is wrong with it."""
        if self._is_elsewhere(rated.ticket):
            return TicketRefused("another browser has it, under your id")
        try:
            return float(self._served.about.reward(rated.answer))
        except InvalidInput as problem:
            return problem

    def _is_elsewhere(self, ticket: int) -> bool:
        """Return whether a ticket was given to another browser with the same id; not known after a restart."""
        return ticket in self._served.arms and (ticket in self._served.guests) != self._rater.is_guest

    def _outcome(
        self, ticket: int, reward: float | InvalidInput, problems: Iterator[InvalidInput | None]
    ) -> dict[str, Any]:
        """Describe what became of a rating; one with a reward takes the next of the problems."""
        if not isinstance(reward, float):
            return {"ticket": ticket, "outcome": "refused", "why": str(reward)}
        match next(problems):
            case None:
                self._served.arms.pop(ticket, None)
                self._served.guests.discard(ticket)
                return {"ticket": ticket, "outcome": "stored"}
            case AlreadyTold():
                said = {"ticket": ticket, "outcome": "again"}
                if self.study.reward_of(ticket) == reward:  # most often the reply was lost
                    return said
                return {**said, "why": "it was rated before with another answer, perhaps in another browser"}
            case StudyFinished():
                why = "the study was finished before it arrived"
            case ArmWithdrawn():
                why = "the arm was taken out of the race"
            case TicketRefused():
                why = "it was not given to you"
            case problem:
                raise problem
        return {"ticket": ticket, "outcome": "refused", "why": why}

    def _rated(self) -> int:
        return self._served.tally.holder(self._rater.holder).told

    def _why_none(self, *, done: bool) -> str:
        if done:
            return "done"
        status = self.study.status
        return status if status in ("paused", "finished") else "none left for now"

    def _arms(self, tickets: list[int]) -> list[dict[str, Any]]:
        """Return what the rater sees of open tickets."""
        known = self._served.arms
        if any(ticket not in known for ticket in tickets):  # given by a server before this one
            return [self._remember(ticket) for ticket in self.study.held(self._rater.holder) if ticket.id in tickets]
        return [known[ticket] for ticket in tickets]

    def _remember(self, ticket: Ticket) -> dict[str, Any]:
        """Return what a rater sees of a ticket, and remember it while it is open."""
        known, guests = self._served.arms, self._served.guests
        if len(known) > _REMEMBERED:
            known.clear()
            guests.clear()
        known[ticket.id] = ticket_row(ticket)
        guests.discard(ticket.id)
        if self._rater.is_guest:
            guests.add(ticket.id)
        return known[ticket.id]


def release_late(served: Served, now: float) -> None:
    """Take tickets back that raters have had for longer than their lease."""
    for ticket, holder, _ in served.tally.held_since(now - LEASE):
        if is_rater(holder):
            with suppress(TicketRefused, StudyFinished):
                served.study.release(ticket, why=LATE)


def ticket_row(ticket: Ticket) -> dict[str, Any]:
    """Return what a rater sees of an arm: its text and picture, and nothing else of its payload."""
    return {"ticket": ticket.id, **seen(ticket.label, ticket.payload)}


def seen(label: Label, payload: Any) -> dict[str, Any]:
    """Return the text and the picture of an arm: those in its payload, else its label and none."""
    kept = payload if isinstance(payload, dict) else {}
    text, picture = kept.get("text"), kept.get("picture")
    return {
        "text": text if isinstance(text, str) else str(label),
        "picture": picture if isinstance(picture, str) and _PICTURE.match(picture) else None,
    }


def check_arms(arms: Mapping[Label, Any] | range, records: Records, *, for_raters: bool) -> None:
    """Raise if a picture of an arm is missing or, for raters, if there is nothing to see of an arm."""
    if isinstance(arms, range):
        return
    looks = {label: seen(label, payload) for label, payload in arms.items()}
    for place, (label, look) in enumerate(looks.items()):
        is_empty = not str(label).strip() or (look["picture"] is None and not look["text"].strip())
        if for_raters and is_empty:
            raise InvalidInput(
                f"the arm at position {place}, {label!r}, is empty, so raters would see nothing: give it a label and, "
                f"where that is not to be seen, a text or a picture"
            )
    pictures.check(records, (look["picture"] for look in looks.values()))
