"""What the operator's pages list, cut to a size: an arm goes by its key, long texts are cut, what grows is left out."""

import ast
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Final

from boxthirding._text import cut
from boxthirding.errors import UnknownLabel
from boxthirding.service.links import is_rater
from boxthirding.service.live import Card, Looks, key_of
from boxthirding.service.sizes import Cut, fitted
from boxthirding.service.studies import Served
from boxthirding.session import ArmSummary, Lineage, SetAside, View
from boxthirding.types import Label

MOST: Final = 100
"""Arms of a page."""

_PLAIN: Final = (
    *("name", "status", "policy", "direction", "arms", "tried", "untried", "withdrawn", "pulls", "spent"),
    *("open", "aside", "per_minute"),
)
_BEST: Final = 5  # arms of a preview
_ALONE: Final = 5_000  # letters of an arm that is shown alone
_PAGE: Final = 1_000  # labels looked through at a time


def view(one: Served) -> dict[str, Any]:
    """Return the counts of a study, the results that were set aside last, and what raters are shown."""
    seq = one.study.seq  # first: a stream from there on leaves nothing out
    now, looks = one.study.view(), Looks(one)
    counts = _counts(one, now)

    def made(short: Cut) -> dict[str, Any]:
        aside = [_set_aside(result, looks, short) for result in now.set_aside]
        return {**counts, "set_aside": aside, "seq": seq, "about": one.about.as_dict()}

    return fitted(made)


def row(one: Served) -> dict[str, Any]:
    """Return a study as the list of studies has it: its counts, its question, and the arm that leads."""
    now, looks = one.study.view(), Looks(one)
    counts = _counts(one, now)
    best = None if now.recommendation is None else Card.of(now.recommendation)

    def made(short: Cut) -> dict[str, Any]:
        leads = None if best is None else looks.card(best, short)
        return {**counts, "question": one.about.question, "leads": leads, "error": None}

    return fitted(made)


def arms(one: Served, found: Iterable[ArmSummary], skipped: Mapping[Label, int]) -> dict[str, Any]:
    """Return a page of arms."""
    looks, page = Looks(one), list(found)

    def made(short: Cut) -> dict[str, Any]:
        rows = [
            {
                **looks.card(Card(arm.label, arm.mean, arm.pulls), short),
                "level": arm.level,
                "withdrawn": arm.withdrawn,
                "skipped": skipped.get(arm.label),
            }
            for arm in page
        ]
        return {"arms": rows}

    return fitted(made)


def arm(one: Served, story: Lineage, skipped: int) -> dict[str, Any]:
    """Return one arm, with its story."""
    looks = Looks(one)

    def made(short: Cut) -> dict[str, Any]:
        steps = [
            {**step._asdict(), "rivals": [looks.card(Card.of(rival), short) for rival in step.rivals]}
            for step in story.steps
        ]
        shown = looks.card(Card(story.label, story.mean, story.pulls), partial(cut, longest=_ALONE))
        return {**shown, "place": story.place, "skipped": skipped, "steps": steps}

    return fitted(made)


def preview(one: Served, now: View, then: View, *, excluded: bool) -> dict[str, Any]:
    """Return the best arms now, and as they would be."""
    looks = Looks(one)

    def made(short: Cut) -> dict[str, Any]:
        parts = {
            name: {"pulls": seen.pulls, "top": [looks.card(Card.of(best), short) for best in seen.top[:_BEST]]}
            for name, seen in (("now", now), ("then", then))
        }
        return {"excluded": excluded, **parts}

    return fitted(made)


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


def _set_aside(result: SetAside, looks: Looks, short: Cut) -> dict[str, Any]:
    look = looks.of(result.label)
    row = {name: value for name, value in result._asdict().items() if name != "label"}
    return {"key": key_of(result.label), "text": short(look["text"]), "picture": look["picture"], **row}


def _counts(one: Served, now: View) -> dict[str, Any]:
    plain = {name: getattr(now, name) for name in _PLAIN}
    return {**plain, "n_holders": len(now.holders), "n_raters": sum(map(is_rater, one.active()))}
