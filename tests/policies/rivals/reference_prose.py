"""PROSE: among the arms with the highest lower bounds, the one with the highest upper bound; how many, rotates."""

import math
from collections import Counter, defaultdict


class ProseReference:
    """All it needs is each arm's results, and a number drawn when an arm is met that decides between equals."""

    def __init__(self, n_arms, sigma, beta, ties):
        """Start before the first pull."""
        self.n_arms, self.sigma, self.beta, self.ties = n_arms, sigma, beta, ties
        self.luck = {}  # of every arm met
        self.asked, self.told, self.total = Counter(), Counter(), defaultdict(float)
        self.withdrawn = set()
        self.t, self.j = 0, 0

    def mean(self, arm):
        """Of the results that are in."""
        return self.total[arm] / self.told[arm]

    def lower(self, arm):
        """-∞ before the first result."""
        return self.mean(arm) - math.sqrt(self.beta * self.sigma**2 / self.told[arm]) if self.told[arm] else -math.inf

    def upper(self, arm):
        """A pull in flight counts in n, not in the mean."""
        return self.mean(arm) + math.sqrt(self.beta * self.sigma**2 / self.asked[arm])

    def by_lower_bound(self):
        """Arms that are left, the highest lower bound first."""
        there = [arm for arm in self.luck if arm not in self.withdrawn]
        return sorted(there, key=lambda arm: (self.lower(arm), self.luck[arm]), reverse=True)

    def choose(self, z):
        """The most promising of the first z; an arm whose first pull is in flight is not asked for meanwhile."""
        arms = self.by_lower_bound()
        unseen = self.n_arms > len(self.luck)
        ready = [arm for arm in arms[:z] if self.told[arm]]
        if unseen and (z > len(arms) or not ready):
            arm = len(self.luck)
            self.luck[arm] = self.ties.integer()
            return arm
        ready = ready or [arm for arm in arms if self.told[arm]]
        return max(ready, key=lambda arm: (self.upper(arm), self.luck[arm]), default=None)

    def ask(self):
        """Give (job, arm, 1), or None when there is nothing to ask for."""
        t = self.t + 1
        rotation = max(1, math.ceil(math.log2(t + 1)))
        j = self.j + 1 if self.j < rotation else 1
        z = next(z for z in range(t, -1, -1) if z**rotation <= t**j)  # ⌊t^(J/J_max)⌋
        arm = self.choose(z)
        if arm is None:
            return None
        self.t, self.j = t, j
        self.asked[arm] += 1
        return arm, arm, 1

    def tell(self, arm, times, total):
        """Take the rewards of some pulls of an arm."""
        self.told[arm] += times
        self.total[arm] += total

    def drop(self, arm):
        """Withdraw an arm."""
        self.withdrawn.add(arm)

    def recommend(self):
        """The highest lower bound."""
        return next((arm for arm in self.by_lower_bound() if self.told[arm]), None)


class EstimatingProseReference(ProseReference):
    """The same, told no σ: every reward is kept, and σ² is their mean squared distance from the mean of their arm."""

    def __init__(self, n_arms, beta, ties):
        """Start with no noise in sight."""
        super().__init__(n_arms, 0.0, beta, ties)
        self.rewards = defaultdict(list)
        self.next_fit = 0

    def repeats(self):
        """Pulls of arms that had been pulled before."""
        return sum(len(rewards) - 1 for rewards in self.rewards.values())

    def ask(self):
        """One repeat of the best arm by 4 pulls, two by 8, three by 16, any pull in flight counted; else PROSE."""
        told = sum(self.told.values())
        in_flight = sum(self.asked[arm] - self.told[arm] for arm in self.luck if arm not in self.withdrawn)
        arm = self.recommend()
        if told >= 2 ** (self.repeats() + in_flight + 2) and arm is not None:
            self.t += 1
            self.asked[arm] += 1
            return arm, arm, 1
        return super().ask()

    def tell(self, arm, times, total):
        """Take the reward of one pull; look at the noise again when pulls have grown by a quarter."""
        super().tell(arm, times, total)
        self.rewards[arm].append(total)
        told = sum(self.told.values())
        if told >= self.next_fit:
            self.next_fit = told + max(1, told // 4)
            apart = [(x - self.mean(a)) ** 2 for a, rewards in self.rewards.items() for x in rewards]
            self.sigma = math.sqrt(sum(apart) / self.repeats()) if self.repeats() else 0.0
