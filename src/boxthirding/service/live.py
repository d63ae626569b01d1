"""What the page of a study shows as it happens: boxes or ladder, answer, curves. Each is bounded in size."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from boxthirding._text import apart, sentence
from boxthirding.find.intervals import ScoreNoise
from boxthirding.find.summary import certainty
from boxthirding.service.rating import seen
from boxthirding.service.sizes import Cut, fitted
from boxthirding.service.studies import Served
from boxthirding.session import Box, Climber, Recommendation, Rival, Rung, Screening
from boxthirding.session.values import percent
from boxthirding.types import Label

UPPER: Final = 4
"""Levels from the top that are shown with their arms; those below as numbers, until they are opened."""

SEATS: Final = 6
"""Arms of a box that are shown; there are seldom more than three."""

CLIMBERS: Final = 4
"""Arms of a rung that are shown."""

MOMENTS: Final = 300
"""Moments of the answer's history that are sent."""

NEXT: Final = 5
"""Arms behind the answer that are listed."""

_LOOKED_AT: Final = 24  # arms of a box; of those that are not shown the page knows where they are
_CARDS: Final = 240  # arms of the boxes, in all
_KEY: Final = 80  # letters of an arm's key; a longer one is its digest
_NAME: Final = 60  # letters of an arm where there is little room


class Card(NamedTuple):
    """An arm as a small card: what it is, and how it does."""

    label: Label
    mean: float | None
    pulls: int

    @classmethod
    def of(cls, arm: Rival | Climber | Recommendation) -> "Card":
        """Return the card of an arm in a box, on the ladder, or on top."""
        return cls(arm.label, arm.mean, arm.pulls)


def grid(one: Served, opened: frozenset[int] = frozenset()) -> dict[str, Any]:
    """Return the boxes, levels from the top, the upper ones and those opened with their arms; or else the ladder."""
    study = one.study
    seq, view = study.seq, study.view()
    boxed = study.has_boxes
    found = study.boxes(count=_LOOKED_AT) if view.boxes else []
    ladder = [] if boxed else study.ladder(count=CLIMBERS)
    looks = Looks(one)
    best = None if view.recommendation is None else key_of(view.recommendation.label)

    def made(short: Cut) -> dict[str, Any]:
        return {
            "seq": seq,
            "arms": view.arms,
            "tried": view.tried,
            "untried": view.untried,
            "pulls": view.pulls,
            "direction": view.direction,
            "policy": view.policy,
            "boxed": boxed,
            "anew": boxed and study.policy.forgets,
            "answer": best,
            "levels": _levels(found, opened, looks, short),
            "ladder": [_rung(rung, looks, short) for rung in reversed(ladder)],
        }

    return fitted(lambda short: looks.told_apart(made(short)))


def box(one: Served, level: int, deferment: int | None, first: int, count: int) -> dict[str, Any]:
    """Return a page of the arms of a box, or of a pile (deferment None)."""
    wanted = one.study.boxes(level, first, count)
    return _page(one, next((found for found in wanted if found.deferment == deferment), None), first)


def rung(one: Served, pulls: int, first: int, count: int) -> dict[str, Any]:
    """Return a page of the arms of the rung of some pulls."""
    return _page(one, next(iter(one.study.ladder(pulls, first, count)), None), first)


def _page(one: Served, here: Box | Rung | None, first: int) -> dict[str, Any]:
    looks = Looks(one)

    def made(short: Cut) -> dict[str, Any]:
        arms = () if here is None else here.arms
        size = 0 if here is None else here.size
        return {"size": size, "first": first, "arms": [_seated(arm, looks, short) for arm in arms]}

    return fitted(lambda short: looks.told_apart(made(short)))


def answer(one: Served, now: float) -> dict[str, Any]:
    """Return the answer: what it is, its interval, since when, the next arms, and whether it could still change."""
    study = one.study
    view, since, history = study.view(), study.since(), study.history()
    noise = ScoreNoise(study.spread(arm.label for arm in view.top), [answer.reward for answer in one.about.scale])
    looks = Looks(one)
    told = certainty(view, noise, [looks.of(arm.label)["text"] for arm in view.top])
    chance = view.screening
    held = None
    if since is not None and since.at is not None:
        results = history[-1].results - since.results
        held = {"at": since.at, "seconds": max(0.0, now - since.at), "results": results}

    def made(short: Cut) -> dict[str, Any]:
        rows = [
            {
                **looks.card(Card.of(arm), short),
                "level": arm.level,
                **_interval(arm, noise),
                "close": arm in told.close,
            }
            for arm in view.top[: 1 + NEXT]
        ]
        return {
            "answer": rows[0] if rows else None,
            "next": rows[1:],
            "since": held,
            "words": told.words,
            "is_clear": told.is_clear,
            "pulls": view.pulls,
            "status": view.status,
            "screening": None if chance is None else {**asdict(chance), **_chance(chance)},
        }

    return fitted(lambda short: looks.told_apart(made(short)))


def curves(one: Served) -> dict[str, Any]:
    """Return what the answer was over time, results by time, and how long they took."""
    one.tally.update()
    moments, view, pace, looks = one.study.history(), one.study.view(), one.tally.pace, Looks(one)
    is_left_out = bool(view.excluded or view.aside)
    pulls = view.pulls if is_left_out or not moments else moments[-1].results  # else a result may have come between
    if len(moments) > MOMENTS:
        step = -(-len(moments) // MOMENTS)
        moments = [*moments[:-1:step], moments[-1]]
    bars, times = pace.bars(), pace.times()
    names = {moment.label: looks.of(moment.label)["text"] for moment in moments}
    shorter = apart(names.values(), _NAME)

    def made(short: Cut) -> dict[str, Any]:
        rows = [
            {**moment._asdict(), "label": key_of(moment.label), "text": short(shorter[names[moment.label]])}
            for moment in moments
        ]
        return {
            "moments": rows,
            "pulls": pulls,
            "rate": {"start": bars.start, "minutes": bars.minutes, "counts": bars.counts},
            "seconds": {**times._asdict(), "median": pace.median_seconds()},
        }

    return fitted(made)


def key_of(label: Label) -> str:
    """Return a short text that is another one for every label."""
    text = repr(label)
    return text if len(text) <= _KEY else hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:24]


class Looks:
    """What people see of arms, looked up once for a reply."""

    def __init__(self, one: Served) -> None:
        self._study = one.study
        self._known: dict[Label, dict[str, Any]] = {}

    def of(self, label: Label) -> dict[str, Any]:
        """Return the text and the picture of an arm."""
        if label not in self._known:
            look = seen(label, self._study.payload(label))
            self._known[label] = {**look, "text": look["text"] or str(label)}  # a picture has a name for operators
        return self._known[label]

    def card(self, card: Card, short: Cut) -> dict[str, Any]:
        """Return an arm as a page shows it."""
        look = self.of(card.label)
        text, picture = short(look["text"]), look["picture"]
        return {"key": key_of(card.label), "text": text, "picture": picture, "mean": card.mean, "pulls": card.pulls}

    def told_apart(self, reply: dict[str, Any]) -> dict[str, Any]:
        """Give each arm of a reply a name for where there is little room, which tells it from the other arms."""
        whole = {key_of(label): look["text"] for label, look in self._known.items()}
        cards = [*_cards(reply)]
        names = apart((whole[card["key"]] for card in cards), _NAME)
        for card in cards:
            card["name"] = names[whole[card["key"]]]
        return reply


def _cards(part: Any) -> Iterator[dict[str, Any]]:
    if isinstance(part, list):
        for one in part:
            yield from _cards(one)
    elif isinstance(part, dict) and "key" in part:
        yield part
    elif isinstance(part, dict):
        yield from _cards([*part.values()])


def _chance(screening: Screening) -> dict[str, str]:
    return {"percent": percent(screening.probability), "words": sentence(screening)}


def _levels(found: Sequence[Box], opened: frozenset[int], looks: Looks, short: Cut) -> list[dict[str, Any]]:
    """Return the levels from the top, as long as there is room with their arms."""
    by_level: dict[int, list[Box]] = {}
    for one in found:
        if one.level is not None:
            by_level.setdefault(one.level, []).append(one)
    rows, room = [], _CARDS
    for place, level in enumerate(sorted(by_level, reverse=True)):
        boxes = [one for one in by_level[level] if one.deferment is not None]
        is_open = (place < UPPER or level in opened) and room > 0
        cells = []
        for one in boxes:
            cards = [looks.card(Card.of(arm), short) for arm in one.arms[:SEATS]] if is_open else []
            room -= len(cards)
            rest = [key_of(arm.label) for arm in one.arms[SEATS:]] if is_open else []
            cells.append({"deferment": one.deferment, "size": one.size, "arms": cards, "rest": rest})
        piled = sum(one.size for one in by_level[level] if one.deferment is None)
        pulls = _pulls(arm.pulls for one in boxes for arm in one.arms)
        is_upper = place < UPPER
        rows.append({"level": level, "upper": is_upper, "open": is_open, "pulls": pulls, "boxes": cells, "pile": piled})
    return rows


def _rung(rung: Rung, looks: Looks, short: Cut) -> dict[str, Any]:
    return {**rung._asdict(), "arms": [_seated(arm, looks, short) for arm in rung.arms]}


def _seated(arm: Rival | Climber, looks: Looks, short: Cut) -> dict[str, Any]:
    """Return the card of an arm in a box or on a rung; of the latter, also whether it leads or keeps up."""
    card = looks.card(Card.of(arm), short)
    return {**card, "standing": arm.standing} if isinstance(arm, Climber) else card


def _pulls(pulls: Iterable[int]) -> list[int] | None:
    """Return the fewest and the most pulls of arms; None without any."""
    every = list(pulls)
    return [min(every), max(every)] if every else None


def _interval(arm: Recommendation, noise: ScoreNoise) -> dict[str, Any]:
    low, high = noise.of(arm) if noise.is_known and arm.pulls else (None, None)
    return {"low": low, "high": high}
