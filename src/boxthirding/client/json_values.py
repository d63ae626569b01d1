"""Conversion between the JSON of a server and the values of `AskTell`."""

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from boxthirding.errors import InvalidInput, UnknownLabel
from boxthirding.session import Glance, Known, Ticket
from boxthirding.session.amendments import listed
from boxthirding.session.labels import is_label, labelled, rows_of
from boxthirding.study.arm_payloads import digest, is_json
from boxthirding.study.settings import given
from boxthirding.types import Label

T = TypeVar("T")

DIGEST: Final = "boxthirding-digest"  # the one key of what stands for an arm that JSON cannot hold


def made(kind: type[T], row: Mapping[str, Any]) -> T:
    """Return a value of a type from JSON, by the annotations of its fields. What else the JSON has is left out.

    A field that an older server does not send has its default.
    """
    value: T = _made(kind, row)
    return value


def _made(kind: Any, row: Any) -> Any:
    if get_origin(kind) is tuple:
        return tuple(_made(get_args(kind)[0], part) for part in row)
    of, fields = _fields(kind)
    if row is None or of is None:
        return row
    return of(**{name: _made(field, row[name]) for name, field in fields.items() if name in row})


@cache
def _fields(kind: Any) -> tuple[Any, dict[str, Any]]:
    """Return the named tuple or data class that a type is or allows, with the types of its fields; None without one."""
    for one in get_args(kind) or (kind,):
        if is_dataclass(one) or hasattr(one, "_fields"):
            return one, get_type_hints(one)
    return None, {}


def ticket(row: Mapping[str, Any], payloads: Mapping[Label, Any]) -> Ticket:
    """Return a ticket, with what this process was given as its arm."""
    label = row["label"]
    payload = payloads[label] if label in payloads else payload_of(row)
    full = Ticket(row["id"], row["arm"], label, row["pull"], payload)
    full.origin = row["origin"]
    return full


def payload_of(row: Mapping[str, Any]) -> Any:
    """Return the object given as an arm, or its label if no other object was given or only its digest is stored."""
    payload = row.get("payload", row["label"])
    return row["label"] if isinstance(payload, dict) and [*payload] == [DIGEST] else payload


def glance(row: Mapping[str, Any]) -> Glance:
    """Return a glance; a view has all that is needed for it."""
    return made(Glance, row if "held" in row else {**row, "held": sum(row["holders"].values())})


def known_rows(results: Known) -> list[dict[str, Any]]:
    """Return known results one by one, as plain JSON."""
    return [without_none(label=plain_label(label), reward=reward, pull=pull) for label, reward, pull in listed(results)]


def without_none(**fields: Any) -> dict[str, Any]:
    """Return the fields of a request that were given, which are those that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def plain_label(label: object) -> Label:
    """Return a label as JSON has it; refuse what can be none."""
    if not is_label(label):
        raise UnknownLabel(f"label {label!r} does not exist", advice="labels are texts or whole numbers")
    return label if isinstance(label, str) else int(label)  # type: ignore[call-overload]  # it is a label


def to_send(arms: Any) -> tuple[int | list[Any], dict[Label, Any]]:
    """Return arms as plain JSON, and what was given as them where that is not the label.

    An arm that JSON cannot hold, such as a function, goes as a digest: every process is given its own, and others under
    the same labels are noticed.
    """
    sorted_out = given(arms)
    if sorted_out.iterator is not None:
        raise InvalidInput("arms is an iterator, but a server must be given all arms at once: give list(arms)")
    labels, payloads = sorted_out.labels or (), sorted_out.payloads
    if isinstance(labels, range) and labels == range(len(labels)) and not payloads and labels:
        return len(labels), {}
    return [_sent(label, payloads) for label in labels], payloads


def _sent(label: Label, payloads: Mapping[Label, Any]) -> Any:
    if label not in payloads:
        return label
    payload = payloads[label]
    can_send = payload is not None and is_json(payload)  # without a payload an arm is its label
    return {"label": label, "payload": payload if can_send else {DIGEST: digest(payload)}}


def to_add(arms: Any) -> tuple[list[Any], dict[Label, Any]]:
    """Return arms to add as plain JSON, and what was given as them where that is not the label."""
    rows = rows_of(arms)
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise InvalidInput(f"arms to add is {arms!r}, but must be a sequence of arms or a mapping of labels to arms")
    rows = rows if isinstance(rows, Mapping) else list(rows)
    if not isinstance(rows, Mapping) and not all(map(is_label, rows)):
        raise InvalidInput("an arm to add is neither a text nor a whole number: give a mapping of labels to arms")
    payloads = {label: payload for label, payload in labelled(rows, 0) if payload is not label}
    return [_sent(label, payloads) for label, _ in labelled(rows, 0)], payloads
