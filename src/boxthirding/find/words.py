"""Words that several messages share."""

from collections.abc import Mapping
from typing import Any

from boxthirding._text import counted, cut, visible
from boxthirding.session import View
from boxthirding.types import Label

_NAMED = 3  # holders, or results, that are named
_LONGEST = 60  # characters of a label
_LONGEST_ARM = 100  # characters of an arm
_VALUE = 40  # characters of one of its values


def measured(mean: str, pulls: int) -> str:
    """Return a mean with what it is made of."""
    return f"mean {mean} over {counted(pulls, 'pull')}"


def named(label: Label) -> str:
    """Return a label on one line, shortened if it is a whole text."""
    return _cut(repr(label), _LONGEST)


def arm_in_words(label: Label, arm: Any) -> str:
    """Return an arm on one line.

    >>> (
    ...     arm_in_words(17, {"rate": 0.1, "depth": 3}),
    ...     arm_in_words("a", {"name": "a", "price": 2}),
    ...     arm_in_words("a", "a"),
    ... )
    ('rate=0.1, depth=3 (arm 17)', "'a': price=2", "'a'")
    """
    if is_label(arm, label):
        return named(label)
    if isinstance(arm, Mapping):
        is_named = isinstance(label, str)  # a number may be equal to a value by chance
        shown = (item for item in arm.items() if not (is_named and is_label(item[1], label)))
        text = _listed([f"{visible(key)}={_short(value, _VALUE)}" for key, value in shown], _LONGEST_ARM)
    else:
        text = _short(arm, _LONGEST_ARM)
    return f"{text} (arm {label})" if isinstance(label, int) else f"{named(label)}: {text}"


def is_label(value: Any, label: Label) -> bool:
    """Tell whether a value is a label itself; arrays and the like are not even compared."""
    return value is label or (type(value) is type(label) and value == label)


def _short(value: Any, longest: int) -> str:
    return _cut(visible(" ".join(repr(value).split())), longest)


def _cut(text: str, longest: int) -> str:
    """Return what Python writes for a value in at most so many letters; a text keeps its closing quotation mark.

    >>> print(_cut("'a long story'", 9), _cut("[1, 2, 3, 4]", 9), _cut("'short'", 9))
    'a long…' [1, 2, 3… 'short'
    """
    is_quoted = len(text) > longest and text[0] in "'\"" and text[-1] == text[0]
    return cut(text[:-1], longest - 1) + text[-1] if is_quoted else cut(text, longest)


def _listed(parts: list[str], longest: int) -> str:
    """Return as many parts as there is room for, whole, and dots for the others; the first is always there."""
    text = ", ".join(parts)
    while len(text) > longest and len(parts) > 1:
        parts = parts[:-1]
        text = f"{', '.join(parts)}, …"
    return cut(text, longest)


def the_next(arms: int) -> str:
    """Return the words for the arms behind the best.

    >>> the_next(1), the_next(3)
    ('the next arm', 'the next 3 arms')
    """
    return "the next arm" if arms == 1 else f"the next {arms:,} arms"


def having(holders: Mapping[str, int]) -> str:
    """Say which holders have how many tickets.

    >>> having({"plate-1.csv": 3, "the lab": 1})
    'plate-1.csv has 3, the lab has 1'
    """
    shown = [f"{holder} has {tickets:,}" for holder, tickets in list(holders.items())[:_NAMED]]
    rest = list(holders.values())[_NAMED:]
    return ", ".join([*shown, *([f"{counted(len(rest), 'other')} have {sum(rest):,}"] if rest else [])])


def aside_in_words(view: View) -> str:
    """Say which results are set aside, the latest last."""
    shown = [f"{named(row.label)} {row.reward:.6g}{_by_ticket(row.ticket)}" for row in view.set_aside[-_NAMED:]]
    dots = "…, " if view.aside > len(shown) else ""
    return f"{counted(view.aside, 'result')} set aside as wildly off: {dots}{', '.join(shown)}"


def _by_ticket(ticket: int | None) -> str:
    return "" if ticket is None else f" (ticket {ticket})"
