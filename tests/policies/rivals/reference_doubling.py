"""Doubling Sequential Halving: run after run over all arms, each with twice the budget of the one before."""

import math


class DoublingReference:
    """Run m has a budget of 2^m N⌈log₂N⌉, its round r a plan of ⌈N/2^r⌉ arms; a single arm has one round a run."""

    def __init__(self, n_arms, ties):
        """Start the first run."""
        self.players = self.n_arms = n_arms
        self.ties = ties
        self.rounds = max(1, next(k for k in range(99) if 2**k >= n_arms))
        self.withdrawn = set()
        self.winner = None  # of the last run that has ended
        self.run = -1
        self.begin_run()

    def begin_run(self):
        """Forget all but the winner."""
        self.run += 1
        self.round = -1
        self.ranking = []  # this run's last complete round, best first
        self.leader, self.equals = None, 0  # before there is one
        self.begin_round([arm for arm in range(self.players) if arm not in self.withdrawn])

    def begin_round(self, arms):
        """Pull all alike, from scratch."""
        self.round += 1
        budget = 2**self.run * self.players * self.rounds
        times = budget // (math.ceil(self.players / 2**self.round) * self.rounds)
        self.playing, self.unasked = arms, list(arms)
        self.due, self.total = dict.fromkeys(arms, times), dict.fromkeys(arms, 0.0)

    def ask(self):
        """Give (job, arm, times), or None when the round is handed out."""
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
            self.end_round()

    def drop(self, arm):
        """Withdraw an arm."""
        if arm >= self.players or arm in self.withdrawn:
            return
        self.withdrawn.add(arm)
        if arm == self.winner:
            self.winner = None
        if self.due.get(arm):
            self.end_round()
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

    def end_round(self):
        """Rank those left, if all have their pulls; the better half goes on, or the winner is known."""
        left = [arm for arm in self.playing if arm not in self.withdrawn]
        if any(self.due[arm] for arm in left):
            return
        if not left:  # what was recommended stands
            self.winner = self.recommend()
            self.begin_run()
            return
        self.ties.shuffle(left)
        left.sort(key=self.total.__getitem__, reverse=True)
        self.ranking, self.leader = left, None
        if self.round + 1 < self.rounds:
            self.begin_round(left[: math.ceil(len(left) / 2)])
        else:
            self.winner = left[0]
            self.begin_run()

    def recommend(self):
        """The last winner; before one, the best of the last complete round; before one, of the arms pulled."""
        if self.winner is not None:
            return self.winner
        return next((arm for arm in self.ranking if arm not in self.withdrawn), self.leader)
