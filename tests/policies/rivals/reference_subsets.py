"""Arms in play, all or a subset that doubles, with every result of every arm kept as it is."""

import math


def in_play(told, subset):
    """How many arms may be in play: n becomes 2n when n log₂n results are told."""
    n = 2
    while subset == "doubling" and told >= n * round(math.log2(n)):
        n *= 2
    return n if subset == "doubling" else math.inf


class SubsetReference:
    """What rules on a subset share."""

    def __init__(self, n_arms, subset, ties):
        """Start before the first pull."""
        self.n_arms, self.subset, self.ties = n_arms, subset, ties
        self.luck, self.results, self.open = [], [], []  # by arm
        self.withdrawn = set()
        self.told = 0
        self.limit = in_play(0, subset)
        self.older = 0  # how many arms there were before the last doubling

    def live(self):
        return [arm for arm in range(len(self.luck)) if arm not in self.withdrawn]

    def means(self):
        return {arm: sum(self.results[arm]) / len(self.results[arm]) for arm in self.live() if self.results[arm]}

    def has_new(self):
        return len(self.luck) < self.n_arms and len(self.live()) < self.limit

    def meet(self):
        self.luck.append(self.ties.integer())
        self.results.append([])
        self.open.append(0)
        return len(self.luck) - 1

    def take(self, arm, times, total):
        self.open[arm] -= times
        self.results[arm] += [total / times] * times
        self.told += times
        self.double()

    def double(self):
        if in_play(self.told, self.subset) > self.limit:
            self.limit = in_play(self.told, self.subset)
            self.older = len(self.luck)

    def drop(self, arm):
        """Withdraw an arm."""
        self.withdrawn.add(arm)

    def recommend(self):
        """The largest mean of the older arms; of all, if none of these has one or nothing ever doubles."""
        means = self.means()
        older = {arm: mean for arm, mean in means.items() if arm < self.older}
        among = older or means
        return max(among, key=lambda arm: (means[arm], self.luck[arm]), default=None)
