"""Making and enlarging states, the same for every rule: a state is a NamedTuple of integer and float arrays."""

from typing import Any, TypeVar

import numpy as np

from boxthirding.types import Floats

S = TypeVar("S", bound=tuple[Any, ...])


def zeros(kind: type[S], room: int, **shapes: int | tuple[int, ...]) -> S:
    """Return a state of this kind, all zero: each array as long as `room`, but for those whose shape is given."""
    types = kind.__annotations__
    shapes.setdefault("ties", 6)
    return kind(
        **{name: np.zeros(shapes.get(name, room), np.float64 if types[name] == Floats else np.int64) for name in types}
    )


def copied(state: S, larger: S, *, but: tuple[str, ...] = ()) -> S:
    """Copy a state into one with more room, but for the arrays named; return the latter."""
    for name, old, new in zip(type(state).__annotations__, state, larger, strict=True):
        if name not in but:
            new[: len(old)] = old
    return larger


def interpreted(state: S) -> S:
    """Return a state as its rule should see it when interpreted: as views of the same arrays.

    Their elements are Python's own numbers, and a decision costs half of what it costs with NumPy's. Views have no
    rows, so tables stay arrays.
    """
    return type(state)(*(memoryview(array) if array.ndim == 1 else array for array in state))
