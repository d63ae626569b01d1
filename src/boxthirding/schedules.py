"""How many pulls a level costs: the schedules of Box Thirding and Sequential Halving.

growth is r₀ (or r), effort is t₀, `cost(level)` is ⌈t₀ r₀^l⌉ of the paper's LIFT.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from boxthirding._checks import is_number
from boxthirding.errors import InvalidInput
from boxthirding.types import Ints

GEOMETRIC_GROWTH: Final = 1.7281632013323829
"""The root of r + r^1.5 = 4 in (1, 2), to double precision (proposition on the optimal schedule; SPEC S1)."""

LINEAR_GROWTH: Final = 1.433837016947883
"""The root of r - 2 r^1.5 + 2 = 0 in (1, 2), for costs that grow as (l + 1) r^l (SPEC S1)."""

KINDS: Final = ("geometric", "linear")

_SLACK = 1e-12  # SPEC S1: a product that is an integer but for rounding stays that integer
_MOST = 2**53  # costs beyond this are never paid; the cap keeps them exact in a float and in an int64


@dataclass(frozen=True)
class Schedule:
    """Cost of each level, in pulls: ⌈effort · growth^l⌉, ⌈effort · (l + 1) · growth^l⌉, or ⌈effort · given[l]⌉.

    A given sequence goes on beyond its end by the factor `growth` a level.

    >>> [Schedule().cost(level) for level in range(8)]
    [1, 2, 3, 6, 9, 16, 27, 47]
    >>> [Schedule((1, 4, 9)).cost(level) for level in range(5)]
    [1, 4, 9, 16, 27]
    """

    kind: str | Sequence[float] = "geometric"
    growth: float | None = None
    effort: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.kind, str):
            if self.kind not in KINDS:
                raise InvalidInput(
                    f"schedule is {self.kind!r}, but must be one of {', '.join(KINDS)} or costs such as 1/2/4"
                )
        else:
            object.__setattr__(self, "kind", _checked_costs(self.kind))
        if self.growth is None:
            object.__setattr__(self, "growth", LINEAR_GROWTH if self.kind == "linear" else GEOMETRIC_GROWTH)
        if not (is_number(self.growth) and 1 < (self.growth or 0) <= 2):  # noqa: PLR2004  # the rule itself
            raise InvalidInput(f"growth is {self.growth}, but must lie in (1, 2]")
        if not (is_number(self.effort) and 0 < self.effort < math.inf):
            raise InvalidInput(f"effort is {self.effort}, but must be a finite number above 0")

    def weight(self, level: int) -> float:
        """Return the cost of a level before effort and rounding."""
        growth = self.growth or GEOMETRIC_GROWTH
        if self.kind == "geometric":
            return _power(growth, level)
        if self.kind == "linear":
            return (level + 1) * _power(growth, level)
        beyond = max(0, level - len(self.kind) + 1)
        return float(self.kind[level - beyond]) * _power(growth, beyond)

    def cost(self, level: int) -> int:
        """Return how many pulls a level costs; at least one."""
        return max(1, math.ceil(min(self.effort * self.weight(level), _MOST) - _SLACK))

    def costs(self, levels: int) -> Ints:
        """Return the costs of levels 0 … levels - 1, [levels]."""
        return np.array([self.cost(level) for level in range(levels)], np.int64)


def _power(growth: float, level: int) -> float:
    try:
        return growth**level
    except OverflowError:
        return math.inf


def growth_root(kind: str) -> float:
    """Compute the optimal growth of a schedule: the paper's r₀, and the one of the linear schedule, by bisection."""
    low, high = 1.0, 2.0
    for _ in range(100):
        r = (low + high) / 2
        excess = r + r**1.5 - 4 if kind == "geometric" else 2 * r**1.5 - r - 2
        low, high = (r, high) if excess < 0 else (low, r)
    return low


def _checked_costs(costs: Sequence[float]) -> tuple[float, ...]:
    if not costs:
        raise InvalidInput("schedule is an empty sequence, but must have a cost for level 0 at least")
    for level, cost in enumerate(costs):
        if not (is_number(cost) and 0 < cost < math.inf):
            raise InvalidInput(f"schedule has cost {cost!r} at level {level}, but costs must be finite numbers above 0")
    return tuple(costs)
