"""What was given as an arm, where that is not its label: stored where it is JSON, known by a digest where it is not.

So arms can be handed out by a process that was never given them, and other arms under the same labels are noticed.
"""

import copyreg
import dataclasses
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import PurePath
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from boxthirding.study.events import Payloads

_DEEPEST: Final = 20
_PLAIN: Final = (str, bytes, bool, int, float, complex)
_SCRIPT: Final = ("__main__", "__mp_main__")


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
    """Return whether a payload is the one that a journal keeps."""
    if payload is label or stored is None:
        return payload is label and stored is None
    if "json" in stored:
        return is_json(payload) and _text(payload) == _text(stored["json"])
    return not is_json(payload) and digest(payload) == stored["digest"]


def is_json(value: Any, depth: int = 0) -> bool:
    """Return whether JSON gives a value back as it is: no tuple, no number of an array, no key that is no text."""
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
    """Return what tells a value from another, the same in every process.

    An object goes by what pickle would keep of it, a function by its code, defaults and what it encloses. Of what
    cannot be pickled, such as a lock or an open file, only the kind counts.
    """
    return _hash(_Outliner().outline(value))


class _Outliner:
    """Says what a value consists of, as plain values in a fixed order; each object is looked at once.

    An object that is met again stands there by its digest; one that is being looked at, by how far above it is.
    """

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}  # by id: what stands for an object that has been looked at
        self._above: dict[int, int] = {}  # by id: how deep the objects are that are being looked at
        self._highest = 0  # of those, the highest that was met again, below the object at hand
        self._alive: list[Any] = []  # so that no id is used twice

    def outline(self, value: Any) -> Any:  # noqa: PLR0911  # a case for each kind of value
        """Return what a value consists of."""
        if isinstance(value, np.ndarray | np.generic):
            inner = self._part(value.tolist()) if value.dtype.hasobject else hashlib.sha256(value.tobytes()).hexdigest()
            return "array", str(value.dtype), value.shape, inner
        if isinstance(value, Enum):
            return _named(type(value)), value.name
        if value is None or isinstance(value, str | bytes | bool | int | float | complex):
            return type(value).__name__, repr(value)
        if isinstance(value, PurePath):  # pickle keeps its parts, otherwise in each version of Python
            return type(value).__name__, str(value)
        if isinstance(value, type | ModuleType):
            return _named(value)
        if isinstance(value, Mapping):
            return "mapping", sorted([self._parts(pair) for pair in value.items()], key=repr)
        if isinstance(value, set | frozenset):
            return "set", sorted(self._parts(value), key=repr)
        if isinstance(value, list | tuple):
            return type(value).__qualname__, self._parts(value)
        return self._outline_of_object(value)

    def _outline_of_object(self, value: Any) -> Any:
        kind = type(value).__qualname__
        if dataclasses.is_dataclass(value):
            return kind, [(field.name, self._part(getattr(value, field.name))) for field in dataclasses.fields(value)]
        if isinstance(value, CodeType):
            return kind, value.co_code, self._parts((value.co_names, value.co_consts))
        if isinstance(value, FunctionType):
            enclosed = [cell.cell_contents for cell in value.__closure__ or () if _is_full(cell)]
            return (
                kind,
                value.__qualname__,
                self._parts((value.__code__, value.__defaults__, value.__kwdefaults__, enclosed)),
            )
        if hasattr(value, "__qualname__"):  # a builtin function, a bound method, a wrapper
            inside = [getattr(value, name, None) for name in ("__self__", "__func__", "__wrapped__")]
            return _named(value), self._parts(inside)
        if hasattr(value, "__dlpack__") and hasattr(value, "tolist"):  # a tensor: pickle keeps addresses of its memory
            return kind, str(value.dtype), self._part(value.tolist())
        return kind, self._parts(_pickled(value))

    def _parts(self, values: Iterable[Any]) -> list[Any]:
        return [self._part(value) for value in values]

    def _part(self, value: Any) -> Any:
        """Return what stands for a part of the value at hand."""
        if value is None or type(value) in _PLAIN:
            return self.outline(value)
        key, depth = id(value), len(self._above)
        if key in self._above:
            self._highest = min(self._highest, self._above[key])
            return "above", depth - self._above[key]
        if key in self._known:
            return self._known[key]
        if depth > _DEEPEST:
            return type(value).__qualname__
        self._alive.append(value)
        self._above[key] = depth
        before, self._highest = self._highest, depth
        found = _hash(self.outline(value))
        del self._above[key]
        is_whole = self._highest >= depth  # else it depends on what is above it
        self._known[key] = found if is_whole else ("again", len(self._known))
        self._highest = min(before, self._highest)
        return found


def _pickled(value: Any) -> list[Any]:
    """Return what pickle would keep of an object; if it cannot, the object's attributes, if it has any."""
    try:
        reduce = copyreg.dispatch_table.get(type(value))
        parts = value.__reduce_ex__(2) if reduce is None else reduce(value)
    except Exception:  # noqa: BLE001  # an object may raise what it likes
        parts = (getattr(value, "__dict__", None),)
    if isinstance(parts, str):  # the name of a global
        return [parts]
    return [[*part] if isinstance(part, Iterator) else part for part in parts]


def _named(value: Any) -> tuple[str, str, str]:
    """Return the name of a function, class or module; the script that is run has another one when it is imported."""
    module = getattr(value, "__module__", None) or ""
    return "named", "" if module in _SCRIPT else module, getattr(value, "__qualname__", value.__name__)


def _is_full(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _hash(outline: Any) -> str:
    return hashlib.blake2b(repr(outline).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False)
