"""A list by upper bounds, made anew now and then, all of it each time."""

import math

from reference_subsets import SubsetReference


def kl_bound(low, high, delta):
    """Return the bound of KL-UCB: the middle of two ends that are near enough."""

    def divergence(p, q):
        return (p * math.log(p / q) if p else 0.0) + (1 - p) * math.log((1 - p) / (1 - q))

    def bound(mean, n):
        p = min(1.0, max(0.0, (mean - low) / (high - low)))
        most = math.log(2 * n * n / delta) / n
        ends = [p, 1.0]
        while ends[1] - ends[0] > 1e-6:
            middle = sum(ends) / 2
            ends[divergence(p, middle) >= most] = middle
        return sum(ends) / 2

    return bound


def lil_bound(sigma, delta):
    return lambda mean, n: mean + sigma * math.sqrt(2 * math.log(4 * n * n / delta) / n)


class ListReference(SubsetReference):
    """`bound` is a function of mean and pulls."""

    def __init__(self, n_arms, bound, batch, subset, ties):
        """Start before the first pull."""
        super().__init__(n_arms, subset, ties)
        self.bound, self.batch = bound, batch
        self.list = {}  # by arm: the bound it has in the list, until it is passed
        self.old = False

    def renew(self):
        means = self.means()
        self.list = {arm: self.bound(mean, len(self.results[arm])) for arm, mean in means.items()}
        self.list |= {arm: math.inf for arm in self.live() if arm not in means and not self.open[arm]}
        self.old = False

    def ask(self):
        """Give (job, arm, 1), or None when all arms are in flight and none has a result."""
        if self.old or (not self.has_new() and not self.list):
            self.renew()
        lacking = not self.list and len(self.luck) < self.n_arms
        if lacking or (self.has_new() and math.inf not in self.list.values()):
            self.list[self.meet()] = math.inf
        if not self.list:
            return None
        arm = max(self.list, key=lambda arm: (self.list[arm], self.luck[arm]))
        del self.list[arm]
        self.open[arm] += 1
        return arm, arm, 1

    def tell(self, arm, times, total):
        """Take a reward."""
        self.take(arm, times, total)
        self.old |= self.ties.below(self.batch) == 0

    def drop(self, arm):
        """Withdraw an arm."""
        super().drop(arm)
        self.list.pop(arm, None)
