"""UCB-E: one pull each, then always the largest index, found by looking at everybody."""

import math
from collections import Counter
from fractions import Fraction


def phase_starts(n_arms, budget):
    """t_0 … t_{K-1}, as published, in exact fractions; a budget below the arms has no second pull to plan for."""
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n_arms + 1))
    spare = max(0, budget - n_arms)
    each = [0, *(math.ceil(spare / (log_bar * (n_arms + 1 - k))) for k in range(1, n_arms))]  # n_0 = 0, n_1, …
    return [0, *(sum(each[:k]) + (n_arms - k + 1) * each[k] for k in range(1, n_arms))]


class UcbeReference:
    """`exploration` is a number, or "adaptive"."""

    def __init__(self, n_arms, budget, exploration, ties):
        """Start before the first pull."""
        self.n_arms, self.budget, self.ties = n_arms, budget, ties
        self.adaptive = exploration == "adaptive"
        self.a = 0.0 if self.adaptive else exploration
        self.starts = phase_starts(n_arms, budget)
        self.phase = None
        self.asked = 0
        self.luck = {}  # of each arm met
        self.told, self.out, self.total = Counter(), Counter(), Counter()
        self.withdrawn = set()

    def means(self):
        """The mean of each arm that has a result."""
        return {arm: self.total[arm] / n for arm, n in self.told.items() if arm not in self.withdrawn}

    def ask(self):
        """Give (job, arm, 1), or None when no arm has a result and all are in flight."""
        if len(self.luck) < self.n_arms:
            arm = len(self.luck)
            self.luck[arm] = self.ties.integer()
        else:
            self.adapt()
            indices = {
                arm: mean + math.sqrt(self.a / (self.told[arm] + self.out[arm])) for arm, mean in self.means().items()
            }
            arm = max(indices, key=lambda arm: (indices[arm], self.luck[arm]), default=None)
            if arm is None:
                return None
        self.asked += 1
        self.out[arm] += 1
        return arm, arm, 1

    def adapt(self):
        """Estimate the hardness when a phase begins."""
        phase = max(k for k, start in enumerate(self.starts) if start <= self.asked and start < self.budget)
        if self.adaptive and phase != self.phase:
            self.phase = phase
            self.a = self.budget / (self.n_arms if phase == 0 else self.hardness(phase))

    def hardness(self, k):
        """The largest i Δ̂₍ᵢ₎⁻² over the k largest gaps, but for the best arm's own."""
        means = sorted(self.means().values(), reverse=True)
        gaps = [means[0] - mean for mean in means]
        ratios = [
            i / (gap * gap) if gap * gap else math.inf
            for i, gap in enumerate(gaps, start=1)
            if i >= max(2, len(gaps) - k + 1)
        ]
        return max(ratios, default=math.inf)

    def tell(self, arm, times, total):
        """Take a reward."""
        self.told[arm] += times
        self.out[arm] -= times
        self.total[arm] += total

    def drop(self, arm):
        """Withdraw an arm."""
        self.withdrawn.add(arm)

    def recommend(self):
        """The largest mean."""
        means = self.means()
        return max(means, key=lambda arm: (means[arm], self.luck[arm]), default=None)
