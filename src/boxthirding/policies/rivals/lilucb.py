"""lil'UCB as the caption contest runs it (NEXT's LilUCB, after Jamieson and others 2014); told the noise.

An arm's bound is mean + √(2 σ² log(4 n² / δ) / n). That is what NEXT computes; the paper's own bound has an iterated
logarithm, and three constants to tune. How the list of bounds is gone down is in indices.py.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final

from boxthirding._checks import is_number, not_negative, whole
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

SIGMA: Final = 0
DELTA: Final = 1


@kernel
def ask(state: State) -> tuple[int, int, int]:
    """Make the list anew if that is due, and return one pull of its next arm."""
    if is_due(state):
        for i in range(state.scalars[MOVED]):
            arm = state.moved[i]
            width = deviation(state.told[SIGMA], max(1, state.pulls[arm]), state.told[DELTA])
            place(state, i, state.mean[arm] + width)
        state.scalars[MOVED] = 0
        state.scalars[RENEW] = 0
    return pull_next(state)


@kernel
def deviation(sigma: float, n: int, delta: float) -> float:
    """Return how far a mean of n pulls strays at most."""
    return sigma * math.sqrt(2.0 * math.log(4.0 * n * n / delta) / n)


@dataclass(frozen=True)
class LilUCB:
    """lil'UCB as the caption contest runs it: anytime, told the standard deviation of the noise.

    Parameters
    ----------
    sigma : float
        The noise of one pull; the contest sets 1 for answers 1, 2 and 3, half of the range.
    delta : float, default 0.05
        How often a bound may be wrong, in (0, 1); the contest's value.
    batch : int, default 10
        The list of bounds is made anew after each result with probability 1/batch, in the contest 1/10.
    subset : str, default "all"
        "all": every arm is pulled first. "doubling": a random subset of them that doubles.

    """

    sigma: float
    delta: float = 0.05
    batch: int = 10
    subset: str = "all"

    name: ClassVar[str] = "lilucb"
    rule: ClassVar[Rule] = Rule(reset, ask, tell, drop, recommend, amend)
    told: ClassVar[frozenset[str]] = frozenset({"sigma"})
    squares: ClassVar[bool] = False
    open_ended: ClassVar[bool] = True
    version: ClassVar[int] = 1
    forgets: ClassVar[bool] = False

    def __post_init__(self) -> None:
        not_negative("sigma", self.sigma)
        if not (is_number(self.delta) and 0 < self.delta < 1):
            raise InvalidInput(f"delta is {self.delta!r}, but must lie in (0, 1)")
        whole("batch", self.batch, least=1)
        first_level(self.subset)

    def new(self, n_arms: int, seed: int, capacity: int) -> State:
        """Return a state in which nothing has happened yet."""
        told = (self.sigma, self.delta)
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
