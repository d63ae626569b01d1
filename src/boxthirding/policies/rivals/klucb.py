"""KL-UCB as the caption contest runs it (NEXT's KLUCB; bounds of Kaufmann, Kalyanakrishnan 2013); told the range.

An arm's bound is the largest q with n · kl(mean, q) ≤ log(2 n² / δ), kl between two coins, rewards scaled to [0, 1].
How the list of bounds is gone down is in indices.py.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final

from boxthirding._checks import is_finite, is_number, whole
from boxthirding._compile import kernel
from boxthirding.errors import InvalidInput
from boxthirding.policies.lineage import PlainRecord
from boxthirding.policies.rivals.indices import (
    MOVED,
    RENEW,
    State,
    amend,
    drop,
    grow,
    is_due,
    new_state,
    place,
    pull_next,
    reset,
    tell,
)
from boxthirding.policies.rivals.subsets import first_level, ranking, recommend
from boxthirding.types import Rule

LOW: Final = 0
WIDTH: Final = 1
DELTA: Final = 2

_ACCURACY: Final = 1e-6  # of a bound, as in NEXT


@kernel
def ask(state: State) -> tuple[int, int, int]:
    """Make the list anew if that is due, and return one pull of its next arm."""
    if is_due(state):
        for i in range(state.scalars[MOVED]):
            arm = state.moved[i]
            share = (state.mean[arm] - state.told[LOW]) / state.told[WIDTH]  # NEXT: (mean - 1) / 2, for answers 1 to 3
            n = max(1, state.pulls[arm])
            place(state, i, upper(share, math.log(2.0 * n * n / state.told[DELTA]) / n))
        state.scalars[MOVED] = 0
        state.scalars[RENEW] = 0
    return pull_next(state)


@kernel
def upper(share: float, most: float) -> float:
    """Return the largest q with kl(share, q) ≤ most, by bisection; a share outside [0, 1] counts as the nearest end."""
    low = min(1.0, max(0.0, share))
    high = 1.0
    p = low
    while high - low > _ACCURACY:
        q = (low + high) / 2.0
        if divergence(p, q) < most:
            low = q
        else:
            high = q
    return (low + high) / 2.0


@kernel
def divergence(p: float, q: float) -> float:
    """Return kl(p, q) for q in (p, 1)."""
    less = (1.0 - p) * math.log((1.0 - p) / (1.0 - q))
    return less + p * math.log(p / q) if p > 0.0 else less


@dataclass(frozen=True)
class KLUCB:
    """KL-UCB as the caption contest runs it: anytime, and told what rewards lie between.

    Parameters
    ----------
    low, high : float, default 0 and 1
        What rewards lie between; a mean outside counts as the nearest of the two.
    delta : float, default 0.05
        How often a bound may be wrong, in (0, 1); the contest's value.
    batch : int, default 10
        The list of bounds is made anew after each result with probability 1/batch, in the contest 1/10.
    subset : str, default "all"
        "all": every arm is pulled first. "doubling": a random subset of them that doubles.

    """

    low: float = 0.0
    high: float = 1.0
    delta: float = 0.05
    batch: int = 10
    subset: str = "all"

    name: ClassVar[str] = "klucb"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend, amend)
    told: ClassVar[frozenset[str]] = frozenset()
    squares: ClassVar[bool] = False
    open_ended: ClassVar[bool] = True
    version: ClassVar[int] = 1
    forgets: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (is_finite(self.low) and is_finite(self.high) and self.low < self.high):
            raise InvalidInput(
                f"low is {self.low!r} and high {self.high!r}, but low must be a finite number below high"
            )
        if not (is_number(self.delta) and 0 < self.delta < 1):
            raise InvalidInput(f"delta is {self.delta!r}, but must lie in (0, 1)")
        whole("batch", self.batch, least=1)
        first_level(self.subset)

    def new(self, n_arms: int, seed: int, capacity: int) -> State:
        """Return a state in which nothing has happened yet."""
        told = (self.low, self.high - self.low, self.delta)
        return new_state(n_arms, seed, capacity, subset=self.subset, batch=self.batch, told=told)

    def grow(self, state: State) -> State:
        """Return the same state with room for twice as many arms."""
        return grow(state)

    def ranking(self, state: State, k: int | None = None) -> list[int]:
        """Return the arms by mean."""
        return ranking(state, k)

    def record(self) -> PlainRecord:
        """Return an empty record: there is nothing to write down."""
        return PlainRecord()
