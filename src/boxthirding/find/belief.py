"""How far to believe the answer of a study, in sentences that pages and reports share."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from boxthirding._text import apart, counted
from boxthirding.find.intervals import Noise
from boxthirding.find.words import the_next
from boxthirding.session import Recommendation, View

_NAMED: Final = 2  # of them, how many are named
_LETTERS: Final = 60  # of a name


class Belief(NamedTuple):
    """Whether the answer could still change, in words."""

    close: tuple[Recommendation, ...]
    """Of the other top arms of the view, those that may be as good as the answer, or better."""
    is_clear: bool
    """Whether it leads the next arms by more than noise explains."""
    words: str


def belief(view: View, noise: Noise, names: Sequence[str] = ()) -> Belief:
    """Return how far the answer of a view is to be believed; `names` are those of its top arms, the answer first."""
    best, others = view.recommendation, view.top[1:]
    if best is None:
        return Belief((), is_clear=False, words="There is no answer before the first result.")
    untried = _untried(view)
    if not noise.is_known:
        return Belief(others, is_clear=False, words="It could change with every result: there are too few to say more.")
    is_close = [may_be_as_good(view, noise, other) for other in others]
    close = tuple(other for other, near in zip(others, is_close, strict=True) if near)
    if noise.is_none:
        return Belief(close, is_clear=not close, words=f"Results {noise.alike()}{untried}")
    if not close:
        ahead = f"It leads {the_next(len(others))} by more than noise explains." if others else ""
        return Belief((), is_clear=True, words=f"{ahead}{untried}".strip())
    short = apart(names, _LETTERS)
    named = [short[name] for name, near in zip(names[1:], is_close, strict=False) if near]
    some = f"{len(close)} of the next {len(others)} arms"
    if len(close) == len(others):
        more = ", and perhaps more," if view.tried > len(view.top) else ""
        some = f"each of the next {len(others)} arms{more}"
    may = _named(named) if len(close) <= _NAMED and named else some
    over = "This is the answer, though" if view.status == "finished" else "It could still change:"
    return Belief(close, is_clear=False, words=f"{over} {may} may be as good or better.")


def may_be_as_good(view: View, noise: Noise, other: Recommendation) -> bool:
    """Return whether another arm may be as good as the answer of a view, or better: noise explains the lead."""
    best = view.recommendation
    if best is None or not noise.is_known:
        return True
    sign = 1 if view.direction == "maximize" else -1
    return not noise.is_ahead(best, other, sign)


def _named(names: Sequence[str]) -> str:
    return " and ".join(f"“{name}”" for name in names)


def _untried(view: View) -> str:
    """Say that an arm without a result may be better, where there is one."""
    if view.untried is None:
        return " An arm that was not tried yet could be better."
    if not view.untried:
        return ""
    were = "was" if view.untried == 1 else "were"
    return f" {counted(view.untried, 'arm')} {were} not tried yet, and could be better."
