"""Words that several messages share."""

from collections.abc import Mapping

from boxthirding._text import counted
from boxthirding.types import Label

_NAMED = 3  # holders that are named
_LONGEST = 60  # characters of a label


def measured(mean: float, pulls: int) -> str:
    """Return a mean with what it is made of."""
    return f"mean {mean:.4g} over {counted(pulls, 'pull')}"


def named(label: Label) -> str:
    """Return a label on one line, shortened if it is a whole text."""
    text = repr(label)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]}…'"


def having(holders: Mapping[str, int]) -> str:
    """Say which holders have how many tickets.

    >>> having({"plate-1.csv": 3, "the lab": 1})
    'plate-1.csv has 3, the lab has 1'
    """
    shown = [f"{holder} has {tickets:,}" for holder, tickets in list(holders.items())[:_NAMED]]
    rest = list(holders.values())[_NAMED:]
    return ", ".join([*shown, *([f"{counted(len(rest), 'other')} have {sum(rest):,}"] if rest else [])])
