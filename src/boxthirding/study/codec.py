"""Events as text: a JSON object with the event's kind, its fields by name, and a check.

    {"event":"told","at":1763.25,"ticket":7,"reward":0.5,"check":"5f2d9e0c1b7a4e36"}

Fields that have their default are left out, so a new field keeps old journals readable. Any other change raises
`FORMAT`, which `Created` holds. The check is a hash of the text before it and of the check of the event before: so it
depends on all events before, and a snapshot that carries the check of an event belongs to that journal and no other. A
text whose check is right is what was written, so the types of its fields are not checked one by one.
"""

import json
from collections.abc import Callable
from dataclasses import MISSING, fields
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from boxthirding.errors import JournalBroken, UnreadableData
from boxthirding.study.events import KINDS, Asked, Created, Damaged, Entry, Event, Told

FORMAT: Final = 1  # the version of what is written here

DAMAGED: Final = "damaged"  # what an export calls an event that cannot be read

START: Final = ""  # the check before the first event

_DIGITS: Final = 16
_TAIL: Final = len(',"check":""}') + _DIGITS
_MARK: Final = ',"check":"'


class Written(NamedTuple):
    """An event as text, and its check."""

    text: str
    check: str


_FIELDS: Final = {cls: {field.name: field.default for field in fields(cls)} for cls in KINDS.values()}

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
        tickets = _write(event.tickets)
        head = f'{{"event":"asked","at":{event.at!r},"holder":{_quoted(event.holder)},"tickets":{tickets}'
    else:
        head = _write(as_object(event))[:-1]
    check = _check(head, before)
    return Written(f'{head}{_MARK}{check}"}}', check)


def as_object(event: Event) -> dict[str, Any]:
    """Return an event as a JSON object: its kind, and the fields that differ from their default."""
    row: dict[str, Any] = {"event": name_of(event)}
    if type(event) is Created:
        row["format"] = FORMAT
    for name, default in _FIELDS[type(event)].items():
        value = getattr(event, name)
        if default is MISSING or value != default:
            row[name] = {"range": [value.start, value.stop, value.step]} if type(value) is range else value
    return row


def entry_line(entry: Entry | Damaged) -> str:
    """Return an event of a journal as a line of an export, a JSON object, whether it can be read or not."""
    if isinstance(entry, Damaged):
        row = {"seq": entry.seq, "event": DAMAGED, "problem": entry.problem, "text": entry.text}
    else:
        row = {"seq": entry.seq, **as_object(entry.event)}
    return json.dumps(row) + "\n"


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
    return event


RESTORE: Final = "restore it from a backup, or save what can be read with `boxthirding study export`"


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
