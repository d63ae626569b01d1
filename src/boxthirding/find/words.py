"""Words that several messages share."""

from collections.abc import Iterable, Mapping
from typing import Any

from boxthirding._text import apart, counted, cut, visible
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
    return names([label])[label]


def names(labels: Iterable[Label]) -> dict[Label, str]:
    """Return labels that are shown together, by themselves: whole texts are shortened, but can be told apart.

    >>> [*names([2, 70 * "long " + "story", 70 * "long " + "tale"]).values()]
    ['2', "'long long long long long lo…story'", "'long long long long long lo…tale'"]
    """
    written = {label: repr(label) for label in labels}
    quotes = {label: text[0] if isinstance(label, str) else "" for label, text in written.items()}
    plain = {label: text[1:-1] if quotes[label] else text for label, text in written.items()}
    short = apart(plain.values(), _LONGEST - 2)
    return {label: f"{quotes[label]}{short[plain[label]]}{quotes[label]}" for label in written}


def arms_in_words(arms: Iterable[tuple[Label, Any]]) -> list[str]:
    """Return arms that are shown together, on one line each."""
    arms = [*arms]
    name = names(label for label, _ in arms)
    return [arm_in_words(label, arm, name[label]) for label, arm in arms]


def arm_in_words(label: Label, arm: Any, name: str | None = None) -> str:
    """Return an arm on one line; `name` is what it is called among others.

    >>> (
    ...     arm_in_words(17, {"rate": 0.1, "depth": 3}),
    ...     arm_in_words("a", {"name": "a", "price": 2}),
    ...     arm_in_words("a", "a"),
    ... )
    ('rate=0.1, depth=3 (arm 17)', "'a': price=2", "'a'")
    """
    name = named(label) if name is None else name
    if is_label(arm, label):
        return name
    if isinstance(arm, Mapping):
        is_named = isinstance(label, str)  # a number may be equal to a value by chance
        shown = (item for item in arm.items() if not (is_named and is_label(item[1], label)))
        text = _listed([f"{visible(key)}={_short(value, _VALUE)}" for key, value in shown], _LONGEST_ARM)
    else:
        text = _short(arm, _LONGEST_ARM)
    return f"{text} (arm {label})" if isinstance(label, int) else f"{name}: {text}"


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


def order_in_words(means: Iterable[float | None], direction: str, unit: str = "pull") -> str:
    """Say why arms that are listed best first are not in the order of their means; nothing, where they are.

    >>> order_in_words([26_495, 22_694], "minimize"), order_in_words([0.9, 0.8], "maximize")
    ('Best first, and not simply by mean: a mean of few pulls is trusted less.', '')
    """
    known = [mean for mean in means if mean is not None]
    if known == sorted(known, reverse=direction == "maximize"):
        return ""
    return f"Best first, and not simply by mean: a mean of few {unit}s is trusted less."


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
    rows = view.set_aside[-_NAMED:]
    name = names(row.label for row in rows)
    shown = [f"{name[row.label]} {row.reward:.6g}{_by_ticket(row.ticket)}" for row in rows]
    dots = "…, " if view.aside > len(shown) else ""
    return f"{counted(view.aside, 'result')} set aside as wildly off: {dots}{', '.join(shown)}"


def _by_ticket(ticket: int | None) -> str:
    return "" if ticket is None else f" (ticket {ticket})"
