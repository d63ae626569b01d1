"""Events as text: a JSON object with the event's kind, its fields by name, and a check.

    {"event":"told","at":1763.25,"ticket":7,"reward":0.5,"check":"5f2d9e0c1b7a4e36"}

Fields that have their default are left out, so a new field keeps old journals readable. Any other change raises
`FORMAT`, which `Created` holds. The check is a hash of the text before it and of the check of the event before: so it
depends on all events before, and a snapshot that carries the check of an event belongs to that journal and no other.
"""

import json
import math
from collections.abc import Callable
from dataclasses import MISSING, fields
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from boxthirding.errors import JournalBroken, UnreadableData
from boxthirding.study.events import KINDS, Asked, Created, Event, Labels, Payloads, Told
from boxthirding.types import Label

FORMAT: Final = 1
"""The version of what is written here."""

START: Final = ""
"""The check before the first event."""

_DIGITS: Final = 16
_TAIL: Final = len(',"check":""}') + _DIGITS
_MARK: Final = ',"check":"'


class Written(NamedTuple):
    """An event as text, and its check."""

    text: str
    check: str


def _is(*kinds: type) -> Callable[[object], bool]:
    return lambda value: type(value) in kinds


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -math.inf < value < math.inf


def _all(is_right: Callable[[Any], bool]) -> Callable[[object], bool]:
    return lambda value: type(value) is tuple and all(map(is_right, value))


def _is_payload(value: Any) -> bool:
    return value is None or (type(value) is dict and ("json" in value or type(value.get("digest")) is str))


def _is_ticket(value: Any) -> bool:
    return type(value) is tuple and [*map(type, value[::2])] == [int, int] and _is_label(value[1])


def _is_result(value: Any) -> bool:
    return type(value) is tuple and _is_label(value[0]) and _is_number(value[1]) and type(value[2]) in (int, _NULL)


_NULL: Final = type(None)
_is_label: Final = _is(str, int)

_RULES: Final[dict[Any, tuple[Callable[[Any], bool], str]]] = {
    float: (_is_number, "a finite number"),
    float | None: (lambda value: value is None or _is_number(value), "a finite number or null"),
    int: (_is(int), "a whole number"),
    int | None: (_is(int, _NULL), "a whole number or null"),
    str: (_is(str), "a text"),
    str | None: (_is(str, _NULL), "a text or null"),
    bool: (_is(bool), "true or false"),
    Label: (_is_label, "a label, which is a text or a whole number"),
    tuple[Label, ...]: (_all(_is_label), "a list of labels, which are texts or whole numbers"),
    tuple[int, ...]: (_all(_is(int)), "a list of whole numbers"),
    Labels | None: (lambda value: type(value) in (range, _NULL) or _all(_is_label)(value), "labels or null"),
    Payloads | None: (lambda value: value is None or _all(_is_payload)(value), "a list of payloads or null"),
    dict[str, Any] | None: (_is(dict, _NULL), "an object or null"),
    tuple[tuple[int, Label, int], ...]: (_all(_is_ticket), "a list of tickets: id, label, pull"),
    tuple[tuple[Label, float, int | None], ...]: (_all(_is_result), "a list of results: label, reward, pull or null"),
}
"""What a field of a type must hold, as a test and in words."""

_FIELDS: Final = {
    cls: {field.name: (field.default, *_RULES[field.type]) for field in fields(cls)} for cls in KINDS.values()
}

_quoted: Final = json.encoder.encode_basestring_ascii
_write: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_read: Final[Callable[[str], Any]] = json.JSONDecoder().decode


def name_of(event: Event) -> str:
    """Return the kind of an event as a journal calls it."""
    return type(event).__name__.lower()


def encode(event: Event, before: str) -> Written:
    """Return an event as text, after an event with this check."""
    if type(event) is Told and event.holder is None and event.details is None:
        # the most frequent ones have a short way, at a tenth of the cost
        head = f'{{"event":"told","at":{event.at!r},"ticket":{event.ticket},"reward":{event.reward!r}'
    elif type(event) is Asked and event == Asked(event.at, event.holder, event.tickets):
        rows = [f"[{id_},{_quoted(arm) if type(arm) is str else arm},{pull}]" for id_, arm, pull in event.tickets]
        head = f'{{"event":"asked","at":{event.at!r},"holder":{_quoted(event.holder)},"tickets":[{",".join(rows)}]'
    else:
        head = _write(as_object(event))[:-1]
    check = _check(head, before)
    return Written(f'{head}{_MARK}{check}"}}', check)


def as_object(event: Event) -> dict[str, Any]:
    """Return an event as a JSON object: its kind, and the fields that differ from their default."""
    row: dict[str, Any] = {"event": name_of(event)}
    if type(event) is Created:
        row["format"] = FORMAT
    for name, (default, _, _) in _FIELDS[type(event)].items():
        value = getattr(event, name)
        if default is MISSING or value != default:
            row[name] = {"range": [value.start, value.stop, value.step]} if type(value) is range else value
    return row


def check_of(text: str) -> str:
    """Return the check that a text carries; empty, if it has none."""
    return text[-2 - _DIGITS : -2] if text[-_TAIL:].startswith(_MARK) else ""


def check_for(text: str, before: str) -> str:
    """Return the check that a text should carry, after an event with this check."""
    return _check(text[:-_TAIL], before)


def decode(text: str, seq: int, before: str) -> Event:
    """Return the event that text number `seq` stands for, after an event with this check; raise if it is damaged."""
    if seq == 1:
        _refuse_newer(text)
    check = check_of(text)
    if not check or check != check_for(text, before):
        raise JournalBroken(
            f"event {seq} reads {text[:80]!r}, which is not what was written after the event before it: the journal is "
            "damaged",
            advice=RESTORE,
        )
    return read(text, seq)


def read(text: str, seq: int) -> Event:
    """Return the event that a text stands for, whether or not its check is right."""
    try:
        row = _read(text)
        name = row.pop("event")
        cls = KINDS[name]
        row.pop("check", None)
        if cls is Created:
            row.pop("format")
        for key, value in row.items():
            if type(value) in (list, dict):
                row[key] = _frozen(key, value)
        event: Event = cls(**row)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise JournalBroken(
            f"event {seq} reads {text[:80]!r}, which this version of boxthirding does not know ({error}): it was "
            "written by a newer version, or the journal is damaged",
            advice=RESTORE,
        ) from None
    fields = _FIELDS[cls]
    for field, value in row.items():
        _, is_right, rule = fields[field]
        if not _holds(is_right, value):
            raise JournalBroken(
                f"event {seq} ({name}) has {repr(value)[:80]} in its field {field}, which must be {rule}: the "
                "journal is damaged",
                advice=RESTORE,
            )
    return event


RESTORE: Final = "restore it from a backup, or save what can be read with `boxthirding study export`"


def _holds(is_right: Callable[[object], bool], value: object) -> bool:
    try:
        return is_right(value)
    except (TypeError, IndexError, ValueError):
        return False


def _frozen(key: str, value: Any) -> Any:
    """Return lists as tuples, and a range as such; JSON given by a caller stays as it is."""
    if key == "arms" and type(value) is dict:
        return range(*value["range"])
    if type(value) is list:
        return tuple([tuple(part) if type(part) is list else part for part in value])
    return value


def _check(head: str, before: str) -> str:
    return blake2b(f"{before}{head}".encode("utf-8", "surrogatepass"), digest_size=_DIGITS // 2).hexdigest()


def _refuse_newer(text: str) -> None:
    """Raise if a newer version has written the journal, before anything else is read."""
    try:
        number = _read(text)["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return
    if type(number) is int and number > FORMAT:
        raise UnreadableData(
            f"the study is of format {number}, but this version of boxthirding reads formats up to {FORMAT}: upgrade "
            "boxthirding to open it"
        )
