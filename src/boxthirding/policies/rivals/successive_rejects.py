"""Successive Rejects (SR; Audibert, Bubeck, Munos 2010): drop the worst arm, one at a time; knows the budget.

K is the number of arms, n the budget. In phase k = 1 … K - 1 each arm left is brought to
n_k = ⌈(n - K) / (loḡK · (K + 1 - k))⌉ pulls, loḡK = 1/2 + Σ_{i=2}^{K} 1/i, and the worst by all its pulls is dropped.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput
from boxthirding.policies.rivals.rounds import ALL_ROUNDS, PLANNED, RoundsPolicy, RoundsState, planned
from boxthirding.types import NONE


@dataclass(frozen=True)
class SuccessiveRejects(RoundsPolicy):
    """Successive Rejects with a known budget, which must be larger than the number of arms.

    >>> SuccessiveRejects(budget=100).plan(4)
    ([16, 5, 10], [4, 3, 2])
    """

    budget: int

    name: ClassVar[str] = "sr"
    told: ClassVar[frozenset[str]] = frozenset({"budget"})

    def __post_init__(self) -> None:
        whole("budget", self.budget, least=1)

    def new(self, n_arms: int, seed: int, capacity: int) -> RoundsState:  # noqa: ARG002  # it knows what it needs
        """Return a state in which nothing has happened yet."""
        if self.budget <= whole("the number of arms", n_arms, least=1) and n_arms > 1:
            raise InvalidInput(
                f"budget is {self.budget}, but sr pulls every arm and needs more pulls than the {n_arms} arms: "
                "take b3 or sh, or fewer arms"
            )
        plan, sizes = self.plan(n_arms)
        return self.begun(planned(plan, sizes, pace=PLANNED, memory=ALL_ROUNDS, runs=NONE), n_arms, seed)

    def plan(self, n_arms: int) -> tuple[list[int], list[int]]:
        """Return the pulls of each arm and the number of arms, phase by phase; phases without a pull are left out."""
        if n_arms == 1:
            return [self.budget], [1]
        log_bar = 0.5 + sum(1 / i for i in range(2, n_arms + 1))
        pulls, sizes, before = [], [], 0
        for k in range(1, n_arms):
            reached = math.ceil((self.budget - n_arms) / (log_bar * (n_arms + 1 - k)) - 1e-12)
            if reached > before:
                pulls.append(reached - before)
                sizes.append(n_arms + 1 - k)
            before = max(before, reached)
        return pulls, sizes
