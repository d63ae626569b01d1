"""Replies that stay small: a page of rows ends where it is full, and long texts are cut until a reply fits."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from boxthirding._text import apart

LARGEST: Final = 250_000  # bytes of a reply, about

_TEXTS: Final = (300, 80, 20)  # letters of an arm's text, the next where a reply is too large

Row = dict[str, Any]


def fits(value: object) -> bool:
    """Return whether a value is small enough for a reply."""
    return _size(value) <= LARGEST


def fitted(reply: Row) -> Row:
    """Shorten the texts of the arms in a reply by what tells them apart, until it is small enough; return it."""
    cards = [(card, card["text"]) for card in with_text(reply)]
    for longest in _TEXTS:
        short = apart((text for _, text in cards), longest)
        for card, text in cards:
            end = short[text]
            is_cut = "name" in card and len(text) > longest  # beside a short name, the text also has its beginning
            card["text"] = f"{text[: longest - len(end)]}{end}" if is_cut and end[0] == "…" else end
        if fits(reply):
            break
    return reply


def with_text(part: Any) -> Iterator[Row]:
    """Yield the objects in a reply that have a text: its arms."""
    if isinstance(part, dict) and "text" in part:
        yield part
    elif isinstance(part, dict | list):
        for one in part.values() if isinstance(part, dict) else part:
            yield from with_text(one)


def leading(rows: Iterable[Row], beside: object = None) -> list[Row]:
    """Return the rows that fit into a reply beside something else, from the first on: at least one, if there is one."""
    found: list[Row] = []
    room = LARGEST - _size(beside)
    for row in rows:
        room -= _size(row) + 1
        if found and room < 0:
            break
        found.append(row)
    return found


def paged(name: str, rows: list[Row], first: int, wanted: int) -> Row:
    """Return a page of rows, and where the next begins: None, if there are no more."""
    found = leading(rows)
    is_last = len(found) == len(rows) < wanted
    return {name: found, "next": None if is_last else first + len(found)}


def part(name: str, rows: Iterable[Row], first: int, size: int, beside: Row | None = None) -> Row:
    """Return a page of `size` rows in all, which are made as they are needed, and where the next begins."""
    found = leading(rows, beside)
    end = first + len(found)
    return {name: found, **(beside or {}), "next": end if found and end < size else None}


def without_long(row: Mapping[str, Any]) -> Row:
    """Return a row without its longest fields, as many as do not fit into a reply; `left_out` names them."""
    kept, left_out = dict(row), list[str]()
    while not fits(kept):
        left_out.append(max(kept, key=lambda name: _size(kept[name])))
        del kept[left_out[-1]]
    return {**kept, "left_out": left_out} if left_out else kept


def _size(value: object) -> int:
    return len(json.dumps(value, separators=(",", ":")))
