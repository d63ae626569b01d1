"""What is wrong with a request that does not fit its description, in the words of people who send one."""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final

from boxthirding._text import counted, cut

_VALUE: Final = 60  # letters of a value that is shown
_LONGEST: Final = 300  # letters of what is wrong in one place
_SHOWN: Final = 20  # places
_LOOKED_AT: Final = 200  # problems: a list may have a million
_LARGE: Final = 1e16  # a number from which on its digits are not written out

_PATTERNS: Final[Mapping[str, str]] = {
    r"^[^/\x00-\x1f\x7f]+$": "text in one line without a slash",
    r"^(https://\S+)?$": "an address that begins with https://",
    r"^[0-9a-f]{32}$": "the id of an uploaded picture",
    r"^(\d{1,4}(,\d{1,4}){0,99})?$": "numbers of levels with commas between them",
    r"^(pile|\d{1,2})$": "how often arms have waited, or pile",
    r"^find_best-[0-9]{1,20}$": "the name of a worker, such as find_best-271828",
}

_RULES: Final[Mapping[str, Callable[[Mapping[str, Any]], str]]] = {
    "string_type": lambda _: "text",
    "int_type": lambda _: "a whole number",
    "int_parsing": lambda _: "a whole number",
    "int_from_float": lambda _: "a whole number",
    "float_type": lambda _: "a number",
    "float_parsing": lambda _: "a number",
    "finite_number": lambda _: "a finite number",
    "bool_type": lambda _: "true or false",
    "bool_parsing": lambda _: "true or false",
    "list_type": lambda _: "a list",
    "dict_type": lambda _: "an object",
    "model_type": lambda _: "an object",
    "model_attributes_type": lambda _: "an object",
    "greater_than": lambda rule: f"more than {_number(rule['gt'])}",
    "greater_than_equal": lambda rule: f"at least {_number(rule['ge'])}",
    "less_than": lambda rule: f"less than {_number(rule['lt'])}",
    "less_than_equal": lambda rule: f"at most {_number(rule['le'])}",
    "string_too_short": lambda rule: f"text of at least {counted(rule['min_length'], 'letter')}",
    "string_too_long": lambda rule: f"text of at most {counted(rule['max_length'], 'letter')}",
    "too_short": lambda rule: f"a list with at least {rule['min_length']} in it",
    "too_long": lambda rule: f"a list with at most {rule['max_length']} in it",
    "literal_error": lambda rule: str(rule["expected"]),
    "string_pattern_mismatch": lambda rule: _PATTERNS.get(rule["pattern"], f"text like {rule['pattern']}"),
}
"""By the kind of a problem: what a value must be."""

Place = tuple[str | int, ...]


def misfits(problems: Iterable[Mapping[str, Any]], body: object) -> list[dict[str, str]]:
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
    return f"is {_shown(first.get('input'))}, but must be {' or '.join(rules)}"


def _rule(problem: Mapping[str, Any]) -> str:
    rule = _RULES.get(problem["type"])
    return f"as described ({problem['msg']})" if rule is None else rule(problem.get("ctx", {}))


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) and abs(value) < _LARGE else f"{value:g}"


def _shown(value: object) -> str:
    """Return a value as JSON writes it, cut where it is long."""
    return cut(json.dumps(value, default=repr, ensure_ascii=False), _VALUE)
