"""EB-TCε: leader and challenger found by looking at everybody."""

import math
from collections import Counter

from reference_subsets import SubsetReference


class EbtcReference(SubsetReference):
    """The paper's rule, with its letters."""

    def __init__(self, n_arms, epsilon, beta, subset, ties):
        """Start before the first pull."""
        super().__init__(n_arms, subset, ties)
        self.epsilon, self.beta = epsilon, beta
        self.led, self.own = Counter(), Counter()

    def ask(self):
        """Give (job, arm, 1), or None when no arm has a result and all are in flight."""
        arm = self.meet() if self.has_new() else self.one_of_two()
        if arm is None and len(self.luck) < self.n_arms:
            arm = self.meet()
        if arm is None:
            return None
        self.open[arm] += 1
        return arm, arm, 1

    def one_of_two(self):
        means = self.means()
        if not means:
            return None
        leader = max(means, key=lambda arm: (means[arm], self.luck[arm]))
        self.led[leader] += 1
        if self.own[leader] <= self.beta * self.led[leader] or len(means) == 1:
            self.own[leader] += 1
            return leader
        n = {arm: len(self.results[arm]) + self.open[arm] for arm in means}
        cost = {
            arm: (means[leader] - mean + self.epsilon) / math.sqrt(1 / n[leader] + 1 / n[arm])
            for arm, mean in means.items()
            if arm != leader
        }
        return min(cost, key=lambda arm: (cost[arm], -means[arm], -self.luck[arm]))

    def tell(self, arm, times, total):
        """Take a reward."""
        self.take(arm, times, total)
