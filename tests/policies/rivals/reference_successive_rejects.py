"""Successive Rejects: phases in which everybody left is brought to the same number of pulls, and the worst goes."""

import math
from fractions import Fraction


def reached_of(n_arms, budget):
    """Pulls that each arm left has after phase k = 0 … K - 1, as published, in exact fractions."""
    log_bar = Fraction(1, 2) + sum(Fraction(1, i) for i in range(2, n_arms + 1))
    return [0, *(math.ceil((budget - n_arms) / (log_bar * (n_arms + 1 - k))) for k in range(1, n_arms))]


class SuccessiveRejectsReference:
    """Phase k has at most K + 1 - k arms; one that is withdrawn takes the place of one that would be rejected."""

    def __init__(self, n_arms, budget, ties):
        """Start before the first phase."""
        self.players = self.n_arms = n_arms
        self.ties = ties
        self.reached = reached_of(n_arms, budget) if n_arms > 1 else [0, budget]
        self.total = dict.fromkeys(range(n_arms), 0.0)  # of all phases
        self.ranking = []  # the last complete phase, best first
        self.leader, self.equals = None, 0  # before there is one
        self.withdrawn = set()
        self.k = 0
        self.begin(list(range(n_arms)))

    def begin(self, arms):
        """Go on to the next phase that has pulls; after a phase without any the ranking is the one before."""
        self.k += 1
        while self.k < len(self.reached) and self.reached[self.k] == self.reached[self.k - 1]:
            self.k += 1
        over = self.k == len(self.reached)
        self.playing = [] if over else arms[: self.players + 1 - self.k]
        times = 0 if over else self.reached[self.k] - self.reached[self.k - 1]
        self.due = dict.fromkeys(self.playing, times)
        self.unasked = list(self.playing)

    def ask(self):
        """Give (job, arm, times), or None when the phase is handed out or all phases are over."""
        while self.unasked:
            arm = self.unasked.pop(0)
            if arm >= self.n_arms:  # withdrawn before anybody met it
                self.drop(arm)
            elif arm not in self.withdrawn:
                return arm, arm, self.due[arm]
        return None

    def tell(self, arm, times, total):
        """Take the sum of some pulls of an arm."""
        self.due[arm] -= times
        self.total[arm] += total
        if self.due[arm] == 0:
            if not self.ranking:
                self.consider(arm)
            self.end_phase()

    def drop(self, arm):
        """Withdraw an arm."""
        if arm >= self.players or arm in self.withdrawn:
            return
        self.withdrawn.add(arm)
        if self.due.get(arm):
            self.end_phase()
        elif arm == self.leader:
            self.leader = None
            for other in self.playing:
                if other not in self.withdrawn and self.due[other] == 0:
                    self.consider(other)
        elif self.leader is not None and self.total[arm] == self.total[self.leader]:
            self.equals -= 1

    def consider(self, arm):
        """Keep the largest sum; the k-th of k equals replaces the one that is kept with chance 1/k."""
        if self.leader is None or self.total[arm] > self.total[self.leader]:
            self.leader, self.equals = arm, 1
        elif self.total[arm] == self.total[self.leader]:
            self.equals += 1
            if self.ties.below(self.equals) == 0:
                self.leader = arm

    def end_phase(self):
        """Rank those left, if all have their pulls, and go on."""
        left = [arm for arm in self.playing if arm not in self.withdrawn]
        if any(self.due[arm] for arm in left):
            return
        if not left:  # the phase before stands
            self.playing = self.unasked = []
            return
        self.ties.shuffle(left)
        left.sort(key=self.total.__getitem__, reverse=True)
        self.ranking, self.leader = left, None
        self.begin(left)

    def recommend(self):
        """The best of the last complete phase; before one, of the arms pulled."""
        return next((arm for arm in self.ranking if arm not in self.withdrawn), self.leader)
