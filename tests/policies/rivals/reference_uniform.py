"""Uniform sampling: arm after arm, round after round."""

from collections import defaultdict
from itertools import count


class UniformReference:
    """All it needs is each arm's rewards, and a number drawn at an arm's first turn that decides between equals."""

    def __init__(self, n_arms, ties):
        """Start before the first turn."""
        self.n_arms, self.ties = n_arms, ties
        self.luck = {}
        self.pulls, self.total = defaultdict(int), defaultdict(float)
        self.withdrawn = set()
        self.play = self.turns()

    def turns(self):
        """Give every arm its turn, in the order of their numbers; one that is added comes last."""
        for _ in count():
            arm = 0
            while arm < self.n_arms:
                if arm not in self.luck:
                    self.luck[arm] = self.ties.integer()
                if arm not in self.withdrawn:
                    yield arm, 1
                arm += 1

    def ask(self):
        """Give (arm, 1), or None when all are withdrawn."""
        return None if len(self.withdrawn) == self.n_arms else next(self.play)

    def tell(self, arm, total):
        """Take the reward of one pull of an arm."""
        self.pulls[arm] += 1
        self.total[arm] += total

    def drop(self, arm):
        """Withdraw an arm."""
        self.withdrawn.add(arm)

    def recommend(self):
        """The largest mean; among equals the one with most luck."""
        pulled = [arm for arm in self.pulls if arm not in self.withdrawn]
        return max(pulled, key=lambda arm: (self.total[arm] / self.pulls[arm], self.luck[arm]), default=None)
