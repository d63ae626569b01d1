"""What a server sends, as the values of `AskTell`; and what goes to it, as plain JSON."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from boxthirding.errors import InvalidInput, UnknownLabel
from boxthirding.session import (
    ArmSummary,
    Box,
    Climber,
    Glance,
    Known,
    Lineage,
    Recommendation,
    Rung,
    Screening,
    Ticket,
    View,
)
from boxthirding.session.amendments import listed
from boxthirding.session.labels import is_label, labelled, rows_of
from boxthirding.session.values import BoxSize, Rival, SetAside, Step
from boxthirding.study.payloads import digest, is_json
from boxthirding.study.settings import given
from boxthirding.types import Label

DIGEST: Final = "boxthirding-digest"
"""The one key of what stands for an arm that JSON cannot hold."""

_VIEW: Final = (
    *("name", "status", "policy", "seed", "direction", "arms", "tried", "untried", "withdrawn", "pulls", "spent"),
    *("open", "wanted", "holders", "aside", "per_minute"),
)


def ticket(row: Mapping[str, Any], payloads: Mapping[Label, Any]) -> Ticket:
    """Return a ticket, with what this process was given as its arm."""
    label = row["label"]
    payload = payloads[label] if label in payloads else payload_of(row)
    full = Ticket(row["id"], row["arm"], label, row["pull"], payload)
    full.origin = row["origin"]
    return full


def payload_of(row: Mapping[str, Any]) -> Any:
    """Return what was given as an arm; its label, where nothing else was, or where only its digest is kept."""
    payload = row.get("payload", row["label"])
    return row["label"] if isinstance(payload, dict) and [*payload] == [DIGEST] else payload


def recommendation(row: Mapping[str, Any] | None) -> Recommendation | None:
    """Return an answer."""
    return None if row is None else Recommendation(row["label"], row["mean"], row["pulls"], row["level"])


def best(rows: Iterable[Mapping[str, Any]]) -> list[Recommendation]:
    """Return the best arms."""
    return [Recommendation(row["label"], row["mean"], row["pulls"], row["level"]) for row in rows]


def glance(row: Mapping[str, Any]) -> Glance:
    """Return a glance; a view has all that is needed for it."""
    held = row["held"] if "held" in row else sum(row["holders"].values())
    return Glance(row["pulls"], row["spent"], row["open"], held, recommendation(row["recommendation"]))


def view(row: Mapping[str, Any]) -> View:
    """Return a view."""
    return View(
        **{name: row[name] for name in _VIEW},
        excluded=tuple(row["excluded"]),
        set_aside=tuple(SetAside(**result) for result in row["set_aside"]),
        recommendation=recommendation(row["recommendation"]),
        top=tuple(best(row["top"])),
        boxes=tuple(BoxSize(box["level"], box["deferment"], box["arms"]) for box in row["boxes"]),
        screening=screening(row["screening"]),
    )


def screening(row: Mapping[str, Any] | None) -> Screening | None:
    """Return a chance."""
    return None if row is None else Screening(**row)


def arm(row: Mapping[str, Any]) -> ArmSummary:
    """Return an arm of a list."""
    return ArmSummary(row["label"], row["mean"], row["pulls"], row["level"], row["withdrawn"])


def box(row: Mapping[str, Any]) -> Box:
    """Return a box."""
    return Box(row["level"], row["deferment"], row["size"], tuple(map(_rival, row["arms"])))


def rung(row: Mapping[str, Any]) -> Rung:
    """Return a rung."""
    return Rung(**{**row, "arms": tuple(Climber(**arm) for arm in row["arms"])})


def lineage(row: Mapping[str, Any]) -> Lineage:
    """Return the story of an arm."""
    steps = [Step(**{**step, "rivals": tuple(map(_rival, step["rivals"]))}) for step in row["steps"]]
    return Lineage(row["label"], row["mean"], row["pulls"], tuple(steps), row["place"])


def _rival(row: Mapping[str, Any]) -> Rival:
    return Rival(row["label"], row["mean"], row["pulls"])


def known_rows(results: Known) -> list[dict[str, Any]]:
    """Return known results one by one, as plain JSON."""
    rows = []
    for label, reward, pull in listed(results):
        plain = plain_label(label)
        rows.append({"label": plain, "reward": reward} | ({} if pull is None else {"pull": pull}))
    return rows


def plain_label(label: object) -> Label:
    """Return a label as JSON has it; refuse what can be none."""
    if not is_label(label):
        raise UnknownLabel(
            f"label {label!r} does not exist", advice="labels are texts or whole numbers, as the arms were given"
        )
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
    return {"label": label, "payload": payload if _can_send(payload) else {DIGEST: digest(payload)}}


def _can_send(payload: Any) -> bool:
    return payload is not None and is_json(payload)  # without a payload an arm is its label


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
