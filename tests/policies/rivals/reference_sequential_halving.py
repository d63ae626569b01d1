"""Sequential Halving in its three modes, with the plan of each found by the plainest search."""

import math
from fractions import Fraction


def sizes_of(players, rounds):
    """Arms in each round: a round keeps the better half, rounded up."""
    sizes = [players]
    while len(sizes) < rounds:
        sizes.append(math.ceil(Fraction(sizes[-1], 2)))
    return sizes


def karnin(budget, players):
    """⌈log₂ n⌉ rounds with ⌊T / (|S| ⌈log₂ n⌉)⌋ pulls each; a single arm gets one round. None: it does not fit."""
    rounds = max(1, next(k for k in range(99) if 2**k >= players))
    plan = [budget // (size * rounds) for size in sizes_of(players, rounds)]
    return plan if min(plan) > 0 else None


def paper(budget, players, weight):
    """⌊log₂ n⌋ + 1 rounds with t₀⌈weight⌉ pulls each, t₀ the largest integer that fits."""
    rounds = next(k for k in range(99) if 2 ** (k + 1) > players) + 1
    pulls = [math.ceil(weight(level)) for level in range(rounds)]
    once = sum(size * n for size, n in zip(sizes_of(players, rounds), pulls, strict=True))
    return [budget // once * n for n in pulls] if once <= budget else None


def fit(budget, players, weight):
    """⌈log₂ n⌉ rounds with ⌈t · weight⌉ pulls each, t ≥ 1 the largest real that fits; what is left to the last two.

    ⌈t · weight⌉ rises from k to k + 1 just behind t = k / weight, so t goes from one such point to the next, and rounds
    that share a point rise together.
    """
    rounds = max(1, next(k for k in range(99) if 2**k >= players))
    sizes = sizes_of(players, rounds)
    pulls = [math.ceil(weight(level)) for level in range(rounds)]
    if sum(size * n for size, n in zip(sizes, pulls, strict=True)) > budget:
        return None
    while True:
        t = min(n / weight(level) for level, n in enumerate(pulls))
        more = [n + (n / weight(level) == t) for level, n in enumerate(pulls)]
        if sum(size * n for size, n in zip(sizes, more, strict=True)) > budget:
            break
        pulls = more
    left = budget - sum(size * n for size, n in zip(sizes, pulls, strict=True))
    pulls[-1] += left // sizes[-1]
    return pulls


def plan_of(mode, budget, n_arms, weight=None):
    """Return how many arms play, the largest number that fits, and the pulls of each of them in each round.

    `weight(l)` is what round l costs before t₀ and rounding, as an exact fraction.
    """
    for players in range(n_arms, 0, -1):
        if mode == "karnin":
            plan = karnin(budget, players)
        else:
            plan = {"paper": paper, "fit": fit}[mode](budget, players, weight)
        if plan:
            return players, plan
    raise AssertionError("one arm always fits")


class SequentialHalvingReference:
    """Round after round over the arms that are left; the others of the last round stand behind them."""

    def __init__(self, players, plan, ties):
        """Start with arms 0 … players - 1."""
        self.plan, self.ties = plan, ties
        self.ranking = []  # the last complete round, best first
        self.best, self.tied = None, 0  # before there is one
        self.sums = {}
        self.play = self.rounds(list(range(players)))
        self.pending = next(self.play)

    def rounds(self, arms):
        """Pull all alike, rank them by this round's sums, go on with the better half."""
        for times in self.plan:
            self.sums = {}
            for arm in arms:
                self.sums[arm] = yield arm, times
                if not self.ranking:
                    self.consider(arm)
            self.ties.shuffle(arms)
            arms.sort(key=self.sums.__getitem__, reverse=True)
            self.ranking = list(arms)
            del arms[(len(arms) + 1) // 2 :]

    def ask(self):
        """Give (arm, times), or None at the end."""
        return self.pending

    def tell(self, total):
        """Take the sum of the job's rewards."""
        try:
            self.pending = self.play.send(total)
        except StopIteration:
            self.pending = None

    def consider(self, arm):
        """Keep the largest sum so far; the k-th of k equals replaces the one that is kept with chance 1/k."""
        if self.best is None or self.sums[arm] > self.sums[self.best]:
            self.best, self.tied = arm, 1
        elif self.sums[arm] == self.sums[self.best]:
            self.tied += 1
            if self.ties.below(self.tied) == 0:
                self.best = arm

    def recommend(self):
        """The best of the last complete round; before one, of the arms pulled."""
        return self.ranking[0] if self.ranking else self.best
