"""Words that several messages share."""

from collections.abc import Iterable, Mapping
from typing import Any

from boxthirding._text import apart, counted, cut, visible
from boxthirding.session import ArmSummary, Recommendation, View
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
    texts = {label: repr(label) for label in labels}
    short = _values(texts.values(), _LONGEST)
    return {label: short[text] for label, text in texts.items()}


def arms_in_words(arms: Iterable[tuple[Label, Any]]) -> list[str]:
    """Return arms that are shown together, on one line each: long values are shortened, but can be told apart.

    >>> arms_in_words([(17, {"rate": 0.1, "depth": 3}), ("a", {"name": "a", "price": 2}), ("b", "b")])
    ['rate=0.1, depth=3 (arm 17)', "'a': price=2", "'b'"]
    >>> prompts = [
    ...     "You are a helpful assistant of a shop. Be brief.",
    ...     "You are a helpful assistant of a shop. Be kind.",
    ... ]
    >>> arms_in_words((number, {"prompt": prompt}) for number, prompt in enumerate(prompts))
    ["prompt='…brief.' (arm 0)", "prompt='…kind.' (arm 1)"]
    """
    arms = [*arms]
    name = names(label for label, _ in arms)
    shown = [_shown(label, arm) for label, arm in arms]
    written: dict[str, list[str]] = {}
    for values in shown:
        for key, text in values.items():
            written.setdefault(key, []).append(text)
    short = {key: _values(texts, _VALUE if key else _LONGEST_ARM) for key, texts in written.items()}
    lines = []
    for (label, _), values in zip(arms, shown, strict=True):
        text = _listed([f"{key}{short[key][text]}" for key, text in values.items()], _LONGEST_ARM)
        is_number = isinstance(label, int)
        lines.append((f"{text} (arm {label})" if is_number else f"{name[label]}: {text}") if values else name[label])
    return lines


def _shown(label: Label, arm: Any) -> dict[str, str]:
    """Return what is shown of an arm beside its label: its values, by what is written before them."""
    if is_label(arm, label):
        return {}
    if not isinstance(arm, Mapping):
        return {"": _line(arm)}
    is_named = isinstance(label, str)  # a number may be equal to a value by chance
    return {f"{visible(key)}=": _line(value) for key, value in arm.items() if not (is_named and is_label(value, label))}


def is_label(value: Any, label: Label) -> bool:
    """Tell whether a value is a label itself; arrays and the like are not even compared."""
    return value is label or (type(value) is type(label) and value == label)


def _line(value: Any) -> str:
    return visible(" ".join(repr(value).split()))


def _values(texts: Iterable[str], longest: int) -> dict[str, str]:
    """Return what Python writes for values that are shown together, shortened; texts keep their quotation marks."""
    quotes = {text: text[0] if text[:1] in ("'", '"') and text[-1] == text[0] else "" for text in texts}
    plain = {text: text[1:-1] if quote else text for text, quote in quotes.items()}
    short = apart(plain.values(), longest - 2)
    return {text: f"{quote}{short[plain[text]]}{quote}" for text, quote in quotes.items()}


def _listed(parts: list[str], longest: int) -> str:
    """Return as many parts as there is room for, whole, and dots for the others; the first is always there."""
    text = ", ".join(parts)
    while len(text) > longest and len(parts) > 1:
        parts = parts[:-1]
        text = f"{', '.join(parts)}, …"
    return cut(text, longest)


def order_in_words(arms: Iterable[ArmSummary | Recommendation], direction: str, unit: str = "pull") -> str:
    """Say why arms that are listed best first are not in the order of their means; nothing, where they are.

    >>> low, high = Recommendation("a", 0.8, 1, None), Recommendation("b", 0.9, 1, None)
    >>> order_in_words([low, high], "maximize"), order_in_words([high, low], "maximize")
    ('Best first, and not simply by mean: a mean of few pulls is trusted less.', '')
    """
    arms = [*arms]
    means = [arm.mean for arm in arms if arm.mean is not None]
    if means == sorted(means, reverse=direction == "maximize"):
        return ""
    if any(arm.level is not None for arm in arms):
        return "Best first, and not simply by mean: arms of a higher level come first."
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
