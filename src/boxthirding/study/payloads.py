"""What was given as an arm, where that is not its label: stored where it is JSON, known by a digest where it is not.

So arms can be handed out by a process that was never given them, and other arms under the same labels are noticed.
"""

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from boxthirding.study.events import Payloads

_DIGITS: Final = 16
_DEEPEST: Final = 20


def kept(payload: Any) -> dict[str, Any]:
    """Return a payload as a journal keeps it.

    >>> kept({"rate": 0.1}), kept(len)["digest"] == kept(len)["digest"]
    ({'json': {'rate': 0.1}}, True)
    """
    if not is_json(payload):
        return {"digest": digest(payload)}
    return {"json": json.loads(json.dumps(payload, allow_nan=False))}  # a copy, its keys in the order that they have


def kept_all(pairs: Iterable[tuple[Any, Any]]) -> Payloads | None:
    """Return the payloads of (label, payload) pairs as a journal keeps them; None, if all are their labels."""
    payloads = tuple([None if payload is label else kept(payload) for label, payload in pairs])
    return payloads if any(payload is not None for payload in payloads) else None


def is_same(stored: dict[str, Any] | None, label: Any, payload: Any) -> bool:
    """Tell whether a payload is the one that a journal keeps."""
    if payload is label or stored is None:
        return payload is label and stored is None
    if "json" in stored:
        return is_json(payload) and _text(payload) == _text(stored["json"])
    return not is_json(payload) and digest(payload) == stored["digest"]


def is_json(value: Any, depth: int = 0) -> bool:
    """Tell whether JSON gives a value back as it is: no tuple, no number of an array, no key that is no text."""
    if value is None or type(value) in (str, bool, int):
        return True
    if type(value) is float:
        return value - value == 0  # neither infinite nor NaN
    if depth > _DEEPEST:
        return False
    if type(value) is list:
        return all(is_json(part, depth + 1) for part in value)
    if type(value) is dict:
        return all(type(key) is str and is_json(part, depth + 1) for key, part in value.items())
    return False


def digest(value: Any) -> str:
    """Return what tells a value from another, the same in every process; of opaque objects only their kind counts."""
    return hashlib.blake2b(repr(_outline(value, 0)).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()[
        :_DIGITS
    ]


def _outline(value: Any, depth: int) -> Any:  # noqa: PLR0911  # a case for each kind of value
    """Return what a value consists of, as plain values in a fixed order."""
    if value is None or isinstance(value, str | bytes | bool | int | float | complex):
        return type(value).__name__, repr(value)
    if depth > _DEEPEST:
        return type(value).__qualname__
    if isinstance(value, np.ndarray | np.generic):
        content = repr(value.tolist()) if value.dtype.hasobject else hashlib.sha256(value.tobytes()).hexdigest()
        return "array", str(value.dtype), value.shape, content
    if isinstance(value, Mapping):
        return "mapping", sorted([(repr(key), _outline(part, depth + 1)) for key, part in value.items()], key=repr)
    if isinstance(value, set | frozenset):
        return "set", sorted([_outline(part, depth + 1) for part in value], key=repr)
    if isinstance(value, list | tuple):
        return type(value).__qualname__, [_outline(part, depth + 1) for part in value]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = [(field.name, _outline(getattr(value, field.name), depth + 1)) for field in dataclasses.fields(value)]
        return type(value).__qualname__, parts
    if hasattr(value, "__qualname__"):  # a function or a class
        return "named", getattr(value, "__module__", ""), value.__qualname__
    own = getattr(value, "__dict__", None)
    return type(value).__qualname__, _outline(own, depth + 1) if own else None


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)
