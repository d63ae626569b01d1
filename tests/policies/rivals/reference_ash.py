"""Anytime Sequential Halving: passes written down as lists of turns."""

import math

from reference_subsets import SubsetReference


class AshReference(SubsetReference):
    """A phase is a list of arms, each as often as it is pulled; in the first one new arms join while there is room."""

    def __init__(self, n_arms, subset, ties):
        """Start before the first pull."""
        super().__init__(n_arms, subset, ties)
        self.winner = None
        self.begin()

    def begin(self):
        self.pulls_each, self.arms, self.turns = 1, self.live(), self.live()

    def ask(self):
        """Give (job, arm, 1), or None when the phase waits for its last results, or no arm is left."""
        while True:
            self.turns = [arm for arm in self.turns if arm not in self.withdrawn]
            if not self.turns and self.pulls_each == 1 and self.has_new():
                arm = self.meet()
                self.arms.append(arm)
                self.turns = [arm]
            if self.turns:
                arm = self.turns.pop(0)
                self.open[arm] += 1
                return arm, arm, 1
            if any(self.open[arm] for arm in self.live()):
                return None
            if not self.live() and len(self.luck) == self.n_arms:
                return None
            self.halve()

    def halve(self):
        left = [arm for arm in self.arms if arm not in self.withdrawn]
        if len(left) <= 2:
            if left and self.subset == "doubling":
                means = self.means()
                self.winner = max(left, key=lambda arm: (means.get(arm, -math.inf), self.luck[arm]))
            self.double()
            self.begin()
            return
        means = self.means()
        self.ties.shuffle(left)
        left.sort(key=lambda arm: means.get(arm, -math.inf), reverse=True)
        self.arms = left[: math.ceil(len(left) / 2)]
        self.pulls_each *= 2
        self.turns = self.arms * self.pulls_each

    def tell(self, arm, times, total):
        """Take a reward."""
        self.open[arm] -= times
        self.results[arm] += [total / times] * times
        self.told += times

    def recommend(self):
        """The winner of the last pass of a subset, if it is still there; else the largest mean."""
        return self.winner if self.winner in self.means() else super().recommend()
