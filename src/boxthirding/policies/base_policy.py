"""Base class of the built-in policies: creating and enlarging states.

A state is a NamedTuple of arrays and of groups of arrays, which are NamedTuples themselves: a roster, a treap, a noise.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, ClassVar, TypeVar

import numpy as np

from boxthirding._checks import whole
from boxthirding.rng import TIES, spawn
from boxthirding.types import N_ARMS, Floats, Rule

S = TypeVar("S", bound=tuple[Any, ...])


class BasePolicy:
    """Default methods of `boxthirding.types.Policy`; each policy adds its name, rule, `empty` and `ranking`."""

    rule: ClassVar[Rule]
    told: ClassVar[frozenset[str]] = frozenset()
    squares: ClassVar[bool] = False
    open_ended: ClassVar[bool] = True
    version: ClassVar[int] = 1

    @property
    def forgets(self) -> bool:
        """Whether each job starts a new record of its arm."""
        return False

    def new(self, n_arms: int, seed: int, capacity: int) -> Any:
        """Return a state in which nothing has happened yet."""
        whole("the number of arms", n_arms, least=1)
        return self.begun(self.empty(max(1, min(capacity, n_arms))), n_arms, seed)

    def grow(self, state: Any) -> Any:
        """Return the same state with room for twice as many arms."""
        return self.grown(state, self.empty(2 * len(state.arms.place)))

    def empty(self, room: int) -> Any:
        """Return a state with room for `room` arms, of which only the settings are set."""
        raise NotImplementedError

    def begun(self, state: Any, n_arms: int, seed: int) -> Any:
        """Return a state with its number of arms and its random stream, from which the rule can begin."""
        state.scalars[N_ARMS] = n_arms
        state.ties[:] = spawn(seed, 0, 1)[0, TIES]
        self.rule.reset(state)
        return state

    def grown(self, state: Any, larger: Any) -> Any:
        """Copy a state into one with more room, and return the latter."""
        self.rule.reset(larger)
        for old, new in zip(arrays_of(state).values(), arrays_of(larger).values(), strict=True):
            new[: len(old)] = old
        return larger


def zeros(kind: type[S], room: int | tuple[int, ...], **shapes: int | tuple[int, ...]) -> S:
    """Return a state of this kind, all zero: each array, also in a group, as long as `room`, unless its shape is given.

    The number that is given for a group is the room of that group.
    """
    parts: dict[str, Any] = {}
    for name, type_ in kind.__annotations__.items():
        shape = shapes.get(name, 6 if name == "ties" else room)
        if hasattr(type_, "_fields"):
            parts[name] = zeros(type_, shape, **shapes)
        else:
            parts[name] = np.zeros(shape, np.float64 if type_ == Floats else np.int64)
    return kind(**parts)


def arrays_of(state: Any, group: str = "") -> dict[str, Any]:
    """Return the arrays of a state, those of a group by names such as `arms.pulls`."""
    found: dict[str, Any] = {}
    for name, part in zip(state._fields, state, strict=True):
        found |= arrays_of(part, f"{group}{name}.") if isinstance(part, tuple) else {group + name: part}
    return found


def with_arrays(state: S, arrays: Mapping[str, Any]) -> S:
    """Return a state of the same kind with other arrays, named as `arrays_of` names them."""
    names = arrays_of(state).keys()
    if names != arrays.keys():
        raise ValueError(f"the arrays are {', '.join(arrays)}, but must be {', '.join(names)}")
    return _filled(state, iter([arrays[name] for name in names]))


def _filled(state: S, arrays: Iterator[Any]) -> S:
    return type(state)(*(_filled(part, arrays) if isinstance(part, tuple) else next(arrays) for part in state))


def interpreted(state: Any) -> Any:
    """Return a state as its rule should see it when interpreted: an object with the same fields, views of the arrays.

    The elements of views are Python's own numbers, and the fields are slots: a decision costs half of what it costs
    with NumPy's numbers, and a field a quarter of what it costs in a tuple. Views have no rows, so tables stay arrays.
    """
    seen = _kind_of_views(type(state).__name__, state._fields)()
    for name, part in zip(state._fields, state, strict=True):
        view = interpreted(part) if isinstance(part, tuple) else memoryview(part) if part.ndim == 1 else part
        setattr(seen, name, view)
    return seen


@lru_cache(maxsize=64)
def _kind_of_views(name: str, fields: tuple[str, ...]) -> type:
    return type(name, (), {"__slots__": fields})
