"""What all policies here share: making and enlarging states, each of which is a NamedTuple of arrays."""

from typing import Any, ClassVar, TypeVar

import numpy as np

from boxthirding._checks import whole
from boxthirding.rng import TIES, spawn
from boxthirding.types import N_ARMS, Floats, Rule

S = TypeVar("S", bound=tuple[Any, ...])


class BasePolicy:
    """What most policies answer to `boxthirding.types.Policy`; each has its own name, rule, `empty` and `ranking`."""

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
        return self.grown(state, self.empty(2 * len(state.pulls)))

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
        for old, new in zip(state, larger, strict=True):
            new[: len(old)] = old
        return larger


def zeros(kind: type[S], room: int, **shapes: int | tuple[int, ...]) -> S:
    """Return a state of this kind, all zero: each array as long as `room`, but for those whose shape is given."""
    types = kind.__annotations__
    shapes.setdefault("ties", 6)
    return kind(
        **{name: np.zeros(shapes.get(name, room), np.float64 if types[name] == Floats else np.int64) for name in types}
    )


def interpreted(state: S) -> S:
    """Return a state as its rule should see it when interpreted: as views of the same arrays.

    Their elements are Python's own numbers, and a decision costs half of what it costs with NumPy's. Views have no
    rows, so tables stay arrays.
    """
    return type(state)(*(memoryview(array) if array.ndim == 1 else array for array in state))
