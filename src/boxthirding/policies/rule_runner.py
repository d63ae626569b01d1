"""A rule and its state in a live process: the state grows when it must, and its functions see it at their fastest."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boxthirding.policies.base_policy import interpreted
from boxthirding.types import GROW, N_ARMS, Policy


class LiveState:
    """The state of a policy's rule, with the rule's functions as methods; the one loop that asks, grows and asks again.

    >>> from boxthirding.policies.rivals.uniform import Uniform
    >>> live = LiveState(Uniform(), n_arms=3, seed=0)
    >>> job, arm, times = live.ask()
    >>> live.tell(job, times, 0.5, 0.25)
    >>> live.recommend() == arm
    True
    """

    arrays: Any
    """The state itself, for rankings and files."""

    views: Any
    """The state as its rule sees it: the same numbers, read one by one at half the cost."""

    tell: Callable[[int, int, float, float], None]
    """Pass the sums of some pulls of a job to the rule: tell(job, times, total, squares)."""

    n_outliers: Callable[[Any], int] | None
    """Return how many results the rule of a state has excluded as outliers, or None if it never excludes any."""

    def __init__(self, policy: Policy, n_arms: int, seed: int, capacity: int = 64) -> None:
        self.__setstate__((policy, policy.new(n_arms, seed, capacity)))

    def hold(self, state: Any) -> None:
        """Replace the state by another one of the same policy."""
        self.arrays = state
        self.views = interpreted(state)
        self._ask = partial(self._rule.ask, self.views)
        self.tell = partial(self._rule.tell, self.views)

    def __getstate__(self) -> tuple[Policy, Any]:
        return self.policy, self.arrays

    def __setstate__(self, state: tuple[Policy, Any]) -> None:
        self.policy, arrays = state
        self._rule = self.policy.rule
        self.n_outliers = getattr(self.policy, "n_outliers", None)
        self.hold(arrays)

    @property
    def n_arms(self) -> int:
        """How many arms the rule may meet."""
        return int(self.arrays.scalars[N_ARMS])

    @n_arms.setter
    def n_arms(self, number: int) -> None:
        self.views.scalars[N_ARMS] = number

    def ask(self) -> tuple[int, int, int]:
        """Return the next job, its arm and its pulls; the job may be WAIT."""
        while True:
            job = self._ask()
            if job[0] != GROW:
                return job
            self.hold(self.policy.grow(self.arrays))

    def amend(self, arm: int, times: int, total: float, squares: float) -> None:
        """Add sums to an arm's record without a job."""
        if self._rule.amend is None:
            raise TypeError(f"policy {self.policy.name} cannot be amended: check that first")
        while self._rule.amend(self.views, arm, times, total, squares) == GROW:
            self.hold(self.policy.grow(self.arrays))

    def drop(self, arm: int) -> None:
        """Withdraw an arm that the rule has met, or that has a record."""
        self._rule.drop(self.views, arm)

    def outliers(self) -> dict[int, tuple[int, float]]:
        """Return, by arm, how many of its results the rule has excluded as outliers, and the latest of them."""
        policy: Any = self.policy
        found: dict[int, tuple[int, float]] = policy.outliers(self.arrays)
        return found

    def keeps_up(self) -> NDArray[np.bool_] | None:
        """Return, by arm, whether it keeps up with the leader, or None if the policy is not a chase."""
        keeps_up = getattr(self.policy, "keeps_up", None)
        return None if keeps_up is None else keeps_up(self.arrays)

    def record_pulls(self, arm: int) -> int:
        """Return how many results the mean that an arm competes with covers; only for policies that forget results."""
        policy: Any = self.policy
        return int(policy.record_pulls(self.views, arm))

    def recommend(self) -> int:
        """Return the arm to take now, or NONE."""
        return int(self._rule.recommend(self.views))

    def ranking(self, k: int | None = None) -> list[int]:
        """Return the arms with a record, best first; with k, the k best of them or more."""
        return self.policy.ranking(self.arrays, k)
