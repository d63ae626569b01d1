"""What the pages show of a study: its counts, boxes or ladder, answer, curves and arms. Each reply is bounded in size.

An arm goes by its key, long texts are cut, and what grows with the study is thinned or left out.
"""

import ast
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from boxthirding._text import apart, cut, sentence
from boxthirding.errors import UnknownLabel
from boxthirding.find.intervals import ScoreNoise
from boxthirding.find.summary import certainty
from boxthirding.service.links import is_rater
from boxthirding.service.rating import seen
from boxthirding.service.reply_size import fitted, with_text
from boxthirding.service.studies import Served
from boxthirding.session import ArmSummary, Box, Climber, Lineage, Recommendation, Rival, Rung, View
from boxthirding.session.values import folded, percent
from boxthirding.types import Label

UPPER: Final = 4  # levels from the top that are shown with their arms; those below as numbers, until they are opened

SEATS: Final = 6  # arms of a box that are shown; there are seldom more than three

CLIMBERS: Final = 4  # arms of a rung that are shown

MOMENTS: Final = 300  # moments of the answer's history that are sent

NEXT: Final = 5  # arms behind the answer that are listed

MOST: Final = 100  # arms of a page

_PLAIN: Final = (
    *("name", "status", "policy", "direction", "arms", "tried", "untried", "withdrawn", "pulls", "spent"),
    *("open", "n_outliers", "per_minute"),
)
_LOOKED_AT: Final = 24  # arms of a box; of those that are not shown the page knows where they are
_CARDS: Final = 240  # arms of the boxes, in all
_KEY: Final = 80  # letters of an arm's key; a longer one is its digest
_NAME: Final = 60  # letters of an arm where there is little room
_BEST: Final = 5  # arms of a preview
_ALONE: Final = 5_000  # letters of an arm that is shown alone
_PAGE: Final = 1_000  # labels looked through at a time


class Looks:
    """What people see of arms, looked up once for a reply."""

    def __init__(self, one: Served) -> None:
        self._study = one.study
        self._known: dict[Label, dict[str, Any]] = {}

    def of(self, label: Label) -> dict[str, Any]:
        """Return the key, the text and the picture of an arm."""
        if label not in self._known:
            look = seen(label, self._study.payload(label))
            text = look["text"] or str(label)  # a picture has a name for operators
            self._known[label] = {"key": key_of(label), "text": text, "picture": look["picture"]}
        return self._known[label].copy()

    def card(self, arm: Rival | Climber | Recommendation | ArmSummary | Lineage) -> dict[str, Any]:
        """Return an arm as a small card: what it is, and how it does."""
        return {**self.of(arm.label), "mean": arm.mean, "pulls": arm.pulls}

    def seat(self, arm: Rival | Climber) -> dict[str, Any]:
        """Return the card of an arm in a box or on a rung; of the latter, also whether it leads or keeps up."""
        return self.card(arm) | ({"standing": arm.standing} if isinstance(arm, Climber) else {})


def view(one: Served) -> dict[str, Any]:
    """Return the counts of a study, the latest outliers, and what raters are shown."""
    seq = one.study.seq  # first: a stream from there on leaves nothing out
    now, looks = one.study.view(), Looks(one)
    outliers = [looks.of(result.label) | result._asdict() for result in now.outliers]
    for row in outliers:
        del row["label"]
    return fitted({**_counts(one, now), "outliers": outliers, "seq": seq, "about": one.about.as_dict()})


def row(one: Served) -> dict[str, Any]:
    """Return a study as the list of studies has it: its counts, its question, and the arm that leads."""
    now = one.study.view()
    leads = None if now.recommendation is None else Looks(one).card(now.recommendation)
    return fitted({**_counts(one, now), "question": one.about.question, "leads": leads, "error": None})


def grid(one: Served, opened: frozenset[int] = frozenset()) -> dict[str, Any]:
    """Return the boxes, levels from the top, the upper ones and those opened with their arms; or else the ladder."""
    study = one.study
    seq, view = study.seq, study.view()
    boxed = study.has_boxes
    found = study.boxes(count=_LOOKED_AT) if view.boxes else []
    ladder = [] if boxed else study.ladder(count=CLIMBERS)
    looks = Looks(one)
    return _with_names(
        {
            "seq": seq,
            **{name: getattr(view, name) for name in ("arms", "tried", "untried", "pulls", "direction", "policy")},
            "boxed": boxed,
            "anew": boxed and study.policy.forgets,
            "answer": None if view.recommendation is None else key_of(view.recommendation.label),
            "levels": _levels(found, opened, looks),
            "ladder": [{**rung._asdict(), "arms": [*map(looks.seat, rung.arms)]} for rung in reversed(folded(ladder))],
        }
    )


def box(one: Served, level: int, deferment: int | None, first: int, count: int) -> dict[str, Any]:
    """Return a page of the arms of a box, or of a pile (deferment None)."""
    wanted = one.study.boxes(level, first, count)
    return _page(one, next((found for found in wanted if found.deferment == deferment), None), first)


def rung(one: Served, pulls: int, first: int, count: int) -> dict[str, Any]:
    """Return a page of the arms of the rung of some pulls."""
    return _page(one, next(iter(one.study.ladder(pulls, first, count)), None), first)


def answer(one: Served, now: float) -> dict[str, Any]:
    """Return the answer: what it is, its interval, since when, the next arms, and whether it could still change."""
    study = one.study
    view, since, history = study.view(), study.since(), study.history()
    noise = ScoreNoise(study.spread(arm.label for arm in view.top), [answer.reward for answer in one.about.scale])
    looks = Looks(one)
    told = certainty(view, noise, [looks.of(arm.label)["text"] for arm in view.top])
    held = None
    if since is not None and since.at is not None:
        results = history[-1].results - since.results
        held = {"at": since.at, "seconds": max(0.0, now - since.at), "results": results}
    rows = []
    for arm in view.top[: 1 + NEXT]:
        low, high = noise.of(arm) or (None, None)
        rows.append({**looks.card(arm), "level": arm.level, "low": low, "high": high, "close": arm in told.close})
    chance = None
    if view.screening is not None:
        words = {"percent": percent(view.screening.probability), "words": sentence(view.screening)}
        chance = {**asdict(view.screening), **words}
    return _with_names(
        {
            "answer": rows[0] if rows else None,
            "next": rows[1:],
            "since": held,
            "words": told.words,
            "is_clear": told.is_clear,
            "pulls": view.pulls,
            "status": view.status,
            "screening": chance,
        }
    )


def curves(one: Served) -> dict[str, Any]:
    """Return what the answer was over time, results by time, and how long they took."""
    one.tally.update()
    moments, view, pace, looks = one.study.history(), one.study.view(), one.tally.pace, Looks(one)
    is_left_out = bool(view.excluded or view.n_outliers)
    pulls = view.pulls if is_left_out or not moments else moments[-1].results  # else a result may have come between
    if len(moments) > MOMENTS:
        step = -(-len(moments) // MOMENTS)
        moments = [*moments[:-1:step], moments[-1]]
    names = {moment.label: looks.of(moment.label)["text"] for moment in moments}
    shorter = apart(names.values(), _NAME)
    words = {label: {"label": key_of(label), "text": shorter[text]} for label, text in names.items()}
    rows = [moment._asdict() | words[moment.label] for moment in moments]
    return fitted(
        {
            "moments": rows,
            "pulls": pulls,
            "rate": pace.bars()._asdict(),
            "seconds": {**pace.times()._asdict(), "median": pace.median_seconds()},
        }
    )


def arms(one: Served, found: Iterable[ArmSummary], skipped: Mapping[Label, int]) -> dict[str, Any]:
    """Return a page of arms."""
    looks = Looks(one)
    rows = [
        looks.card(arm) | {"level": arm.level, "withdrawn": arm.withdrawn, "skipped": skipped.get(arm.label)}
        for arm in found
    ]
    return fitted({"arms": rows})


def arm(one: Served, story: Lineage, skipped: int) -> dict[str, Any]:
    """Return one arm, with its story."""
    looks = Looks(one)
    shown = looks.card(story)
    shown["text"] = cut(shown["text"], _ALONE)
    steps = [{**step._asdict(), "rivals": [*map(looks.card, step.rivals)]} for step in story.steps]
    return {**shown, "place": story.place, "skipped": skipped, **fitted({"steps": steps})}


def preview(one: Served, now: View, then: View, *, excluded: bool) -> dict[str, Any]:
    """Return the best arms now, and as they would be."""
    looks = Looks(one)
    parts = {
        name: {"pulls": seen.pulls, "top": [*map(looks.card, seen.top[:_BEST])]}
        for name, seen in (("now", now), ("then", then))
    }
    return fitted({"excluded": excluded, **parts})


def key_of(label: Label) -> str:
    """Return a short text that is another one for every label."""
    text = repr(label)
    return text if len(text) <= _KEY else hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:24]


def label_of(one: Served, key: str) -> Label:
    """Return the label that has a key: a long one's is a digest, and is looked for among all."""
    try:
        label = ast.literal_eval(key)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        label = _with_digest(one, key)
    if not isinstance(label, str | int) or isinstance(label, bool) or key_of(label) != key:
        raise UnknownLabel(f"no arm has the key {key[:100]!r}: read the list of arms again")
    one.study.payload(label)
    return label


def _with_digest(one: Served, key: str) -> Label | None:
    first = 0
    while page := one.study.arms(first, _PAGE, order="given"):
        for found in page:
            if key_of(found.label) == key:
                return found.label
        first += _PAGE
    return None


def _counts(one: Served, now: View) -> dict[str, Any]:
    plain = {name: getattr(now, name) for name in _PLAIN}
    return {**plain, "n_holders": len(now.holders), "n_raters": sum(map(is_rater, one.active()))}


def _page(one: Served, here: Box | Rung | None, first: int) -> dict[str, Any]:
    arms = () if here is None else here.arms
    size = 0 if here is None else here.size
    return _with_names({"size": size, "first": first, "arms": [*map(Looks(one).seat, arms)]})


def _with_names(reply: dict[str, Any]) -> dict[str, Any]:
    """Give each arm of a reply a name for where there is little room, which tells it from the other arms."""
    cards = [*with_text(reply)]
    names = apart((card["text"] for card in cards), _NAME)
    for card in cards:
        card["name"] = names[card["text"]]
    return fitted(reply)


def _levels(found: Sequence[Box], opened: frozenset[int], looks: Looks) -> list[dict[str, Any]]:
    """Return the levels from the top, as long as there is room with their arms."""
    by_level: dict[int, list[Box]] = {}
    for one in found:
        if one.level is not None:
            by_level.setdefault(one.level, []).append(one)
    rows, room = [], _CARDS
    for place, level in enumerate(sorted(by_level, reverse=True)):
        boxes = [one for one in by_level[level] if one.deferment is not None]
        is_upper = place < UPPER
        is_open = (is_upper or level in opened) and room > 0
        cells = []
        for one in boxes:
            cards = [*map(looks.card, one.arms[:SEATS])] if is_open else []
            room -= len(cards)
            rest = [key_of(arm.label) for arm in one.arms[SEATS:]] if is_open else []
            cells.append({"deferment": one.deferment, "size": one.size, "arms": cards, "rest": rest})
        piled = sum(one.size for one in by_level[level] if one.deferment is None)
        tried = [arm.pulls for one in boxes for arm in one.arms]
        pulls = [min(tried), max(tried)] if tried else None
        rows.append({"level": level, "upper": is_upper, "open": is_open, "pulls": pulls, "boxes": cells, "pile": piled})
    return rows
