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
    text = repr(label)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]}…'"


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
        text = cut(", ".join(f"{visible(key)}={_short(value, _VALUE)}" for key, value in shown), _LONGEST_ARM)
    else:
        text = _short(arm, _LONGEST_ARM)
    return f"{text} (arm {label})" if isinstance(label, int) else f"{named(label)}: {text}"


def is_label(value: Any, label: Label) -> bool:
    """Tell whether a value is a label itself; arrays and the like are not even compared."""
    return value is label or (type(value) is type(label) and value == label)


def _short(value: Any, longest: int) -> str:
    return cut(visible(" ".join(repr(value).split())), longest)


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
