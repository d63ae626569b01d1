"""What is wrong with a request that does not fit its description: each place, its value and the rule."""

import json
import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from boxthirding._text import cut

_VALUE: Final = 60  # letters of a value that is shown
_LONGEST: Final = 300  # letters of what is wrong in one place
_SHOWN: Final = 20  # places
_LOOKED_AT: Final = 200  # problems: a list may have a million

_PATTERNS: Final[Mapping[str, str]] = {
    r"^[^/\x00-\x1f\x7f]+$": "text in one line without a slash",
    r"^(https://\S+)?$": "an address that begins with https://",
    r"^[0-9a-f]{32}$": "the id of an uploaded picture",
    r"^(\d{1,4}(,\d{1,4}){0,99})?$": "numbers of levels with commas between them",
    r"^(pile|\d{1,2})$": "how often arms have waited, or pile",
    r"^find_best-[0-9]{1,20}$": "the name of a worker, such as find_best-271828",
}

Place = tuple[str | int, ...]


def format_problems(problems: Iterable[Mapping[str, Any]], body: object) -> list[dict[str, str]]:
    """Return each place that does not fit, and what is wrong there; it names all the kinds that a value may be of."""
    found: dict[Place, list[Mapping[str, Any]]] = {}
    for problem in islice(problems, _LOOKED_AT):
        found.setdefault(_place(problem, body), []).append(problem)
    deepest = [place for place in found if not any(_is_within(other, place) for other in found)]
    return [
        {"where": ".".join(map(str, place)) or "body", "what": cut(_what(found[place]), _LONGEST)}
        for place in deepest[:_SHOWN]
    ]


def _place(problem: Mapping[str, Any], body: object) -> Place:
    """Return where a problem is; the names of the kinds that a value may have are no part of it."""
    kind, *parts = problem["loc"]
    if kind != "body":
        return tuple(parts)
    place: list[str | int] = []
    here = body
    for number, part in enumerate(parts, 1):
        is_there = part in here if isinstance(here, dict) else isinstance(here, list) and isinstance(part, int)
        if is_there:
            here = here[part]  # type: ignore[index]  # looked up just now
            place.append(part)
        elif problem["type"] == "missing" and number == len(parts):
            place.append(part)
    return tuple(place)


def _is_within(place: Place, other: Place) -> bool:
    return len(place) > len(other) and place[: len(other)] == other


def _what(problems: list[Mapping[str, Any]]) -> str:
    first = problems[0]
    if first["type"] == "missing":
        return "is missing"
    if first["type"] == "extra_forbidden":
        return "is not known here"
    if first["type"] == "json_invalid":
        return f"is not JSON: {first.get('ctx', {}).get('error', first['msg'])} at character {first['loc'][-1]}"
    rules = dict.fromkeys(map(_rule, problems))
    value = cut(json.dumps(first.get("input"), default=repr, ensure_ascii=False), _VALUE)
    return f"is {value}, but must {' or '.join(rules)}"


def _rule(problem: Mapping[str, Any]) -> str:
    """Return what a value must do, in Pydantic's words, but for regular expressions."""
    if problem["type"] == "string_pattern_mismatch":
        return f"be {_PATTERNS.get(problem['ctx']['pattern'], 'as described')}"
    return re.sub(r"^\w+ should ", "", problem["msg"])
