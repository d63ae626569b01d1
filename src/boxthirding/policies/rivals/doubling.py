"""Doubling Sequential Halving (DSH): Sequential Halving on all arms, again and again with twice the budget; anytime.

The first run has a budget of N⌈log₂N⌉; each starts from scratch. The recommendation is the last finished run's winner.
"""

from dataclasses import dataclass
from typing import ClassVar

from boxthirding._checks import whole
from boxthirding.policies.lineage import PlainRecord
from boxthirding.policies.rivals.rounds import HALF, ROUND_ONLY, RULE, State, halved, new_state, ranking
from boxthirding.types import Rule


@dataclass(frozen=True)
class DoublingSequentialHalving:
    """Doubling Sequential Halving: anytime, but no better than uniform sampling until it has pulled every arm."""

    name: ClassVar[str] = "dsh"
    rule: ClassVar[Rule] = RULE
    told: ClassVar[frozenset[str]] = frozenset()
    squares: ClassVar[bool] = False
    open_ended: ClassVar[bool] = False
    version: ClassVar[int] = 1
    forgets: ClassVar[bool] = False

    def new(self, n_arms: int, seed: int, capacity: int) -> State:  # noqa: ARG002  # it knows what it needs
        """Return a state in which nothing has happened yet."""
        sizes = halved(n_arms, max(1, (whole("the number of arms", n_arms, least=1) - 1).bit_length()))
        plan = [n_arms // size for size in sizes]  # ⌊N⌈log₂N⌉ / (|S| ⌈log₂N⌉)⌋
        return new_state(plan, sizes, n_arms, seed, pace=HALF, memory=ROUND_ONLY, runs=0)

    def grow(self, state: State) -> State:
        """Return the state itself: it has room for all that play."""
        return state

    def ranking(self, state: State, k: int | None = None) -> list[int]:
        """Return the last run's winner, then the arms of the last complete round."""
        return ranking(state, k)

    def record(self) -> PlainRecord:
        """Return an empty record: there is nothing to write down."""
        return PlainRecord()
