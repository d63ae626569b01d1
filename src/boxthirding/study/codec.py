"""Events as text: a JSON list of the event's kind and its fields in order, such as `["told", 1763.25, 7, 0.5]`.

Fields at the end that have their default are left out, so one that is added there keeps old journals readable. Whatever
else changes, `FORMAT` rises, and `Created`, which holds it, says so before anything else is read.
"""

import json
import math
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any, Final

from boxthirding.errors import JournalBroken, UnreadableData
from boxthirding.study.events import (
    ArmsAdded,
    ArmWithdrawn,
    Asked,
    Closed,
    Created,
    Event,
    Failed,
    Paused,
    Reissued,
    Released,
    Resumed,
    Told,
)
from boxthirding.types import Label

FORMAT: Final = 1
"""The version of what is written here."""

_KINDS: Final[dict[str, type[Any]]] = {
    "created": Created,
    "asked": Asked,
    "told": Told,
    "failed": Failed,
    "reissued": Reissued,
    "released": Released,
    "added": ArmsAdded,
    "withdrawn": ArmWithdrawn,
    "paused": Paused,
    "resumed": Resumed,
    "closed": Closed,
}
_NAMES: Final = {cls: name for name, cls in _KINDS.items()}
_FIELDS: Final = {cls: tuple((field.name, field.default) for field in fields(cls)) for cls in _NAMES}


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and -math.inf < value < math.inf  # type: ignore[operator]  # it is one


def _is_whole(value: object) -> bool:
    return type(value) is int


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_label(value: object) -> bool:
    return type(value) in (str, int)


def _are_labels(value: object) -> bool:
    return type(value) is tuple and all(map(_is_label, value))


_RULES: Final[dict[Any, tuple[Callable[[object], bool], str]]] = {
    float: (_is_number, "a finite number"),
    float | None: (lambda value: value is None or _is_number(value), "a finite number or null"),
    int: (_is_whole, "a whole number"),
    str: (_is_text, "a text"),
    bool: (lambda value: type(value) is bool, "true or false"),
    Label: (_is_label, "a label, which is a text or a whole number"),
    tuple[Label, ...]: (_are_labels, "a list of labels, which are texts or whole numbers"),
    tuple[int, ...]: (lambda value: type(value) is tuple and all(map(_is_whole, value)), "a list of whole numbers"),
    int | tuple[Label, ...] | None: (
        lambda value: value is None or _is_whole(value) or _are_labels(value),
        "a number of arms, a list of labels or null",
    ),
}
"""What a field of a type must hold, as a test and in words."""

_CHECKS: Final = {cls: tuple((field.name, *_RULES[field.type]) for field in fields(cls)) for cls in _NAMES}

_write: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_read: Final[Callable[[str], Any]] = json.JSONDecoder().decode


def name_of(event: Event) -> str:
    """Return the kind of an event as a journal calls it."""
    return _NAMES[type(event)]


def encode(event: Event) -> str:
    """Return an event as text."""
    if type(event) is Told:  # the most frequent one, written at a tenth of the cost
        return f'["told",{event.at!r},{event.ticket},{event.reward!r}]'
    values = [(getattr(event, name), default) for name, default in _FIELDS[type(event)]]
    while values and values[-1][1] is not MISSING and values[-1][0] == values[-1][1]:
        values.pop()
    row = [name_of(event), *(value for value, _ in values)]
    return _write([*row[:1], FORMAT, *row[1:]] if type(event) is Created else row)


def decode(text: str, seq: int) -> Event:
    """Return the event that text number `seq` stands for, or say that it is none, or one of a newer version."""
    try:
        name, *values = _read(text)
        cls = _KINDS[name]
        if cls is Created:
            check_format(values.pop(0))
        values = [tuple(value) if type(value) is list else value for value in values]
        event: Event = cls(*values)
    except UnreadableData:
        raise
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise JournalBroken(
            f"event {seq} reads {text[:80]!r}, which this version of boxthirding does not know ({error}): "
            "it was written by a newer version, or the journal is damaged"
        ) from None
    for (field, is_right, rule), value in zip(_CHECKS[cls], values, strict=False):
        if not is_right(value):
            raise JournalBroken(
                f"event {seq} ({name}) has {repr(value)[:80]} in its field {field}, which must be {rule}: "
                "the journal is damaged, restore it from a backup"
            )
    return event


def check_format(number: object) -> None:
    """Refuse a journal that a newer version has written."""
    if not isinstance(number, int) or number > FORMAT:
        raise UnreadableData(
            f"the study is of format {number}, but this version of boxthirding reads formats up to {FORMAT}: "
            "open it with a newer version"
        )
