"""ASHA: rungs of rising cost; whoever is in the better half of a rung goes on to the next, at any time."""

from collections import defaultdict
from itertools import count


class AshaReference:
    """A ranking for each rung, and who has gone on from it."""

    def __init__(self, n_arms, cost, ties):
        """`cost(rung)` is how many pulls an evaluation there takes."""
        self.n_arms, self.cost, self.ties = n_arms, cost, ties
        self.met = 0
        self.rungs = defaultdict(dict)  # rung -> arm -> (mean of the pulls made for it, luck)
        self.promoted = set()  # (rung, arm)
        self.open = {}  # job -> [rung, arm, pulls due, sum, luck]
        self.names = count()

    def ranked(self, rung):
        """Arms of a rung, best first."""
        return sorted(self.rungs[rung], key=self.rungs[rung].__getitem__, reverse=True)

    def best_unpromoted(self, rung, first):
        """The best of a rung's first arms that has not gone on."""
        return next((arm for arm in self.ranked(rung)[:first] if (rung, arm) not in self.promoted), None)

    def choose(self):
        """Arm and rung of the next evaluation."""
        rungs = range(max(self.rungs, default=-1) + 1)
        for rung in reversed(rungs):
            if (arm := self.best_unpromoted(rung, len(self.rungs[rung]) // 2)) is not None:
                return arm, rung + 1
        if self.met < self.n_arms:
            self.met += 1
            return self.met - 1, 0
        for rung in rungs:
            if (arm := self.best_unpromoted(rung, len(self.rungs[rung]))) is not None:
                return arm, rung + 1
        return None

    def ask(self):
        """Give (job, arm, times), or None when every arm is in flight."""
        chosen = self.choose()
        if chosen is None:
            return None
        arm, rung = chosen
        self.promoted.add((rung - 1, arm))
        job = next(self.names)
        self.open[job] = [rung, arm, self.cost(rung), 0.0, self.ties.integer()]
        return job, arm, self.cost(rung)

    def tell(self, job, times, total):
        """Take the sum of some pulls; the last one enters the arm into its rung."""
        self.open[job][2] -= times
        self.open[job][3] += total
        rung, arm, due, total, luck = self.open[job]
        if due == 0:
            del self.open[job]
            self.rungs[rung][arm] = total / self.cost(rung), luck

    def drop(self, arm):
        """Take an arm out of every rung."""
        for rung in self.rungs.values():
            rung.pop(arm, None)
        self.open = {job: entry for job, entry in self.open.items() if entry[1] != arm}

    def recommend(self):
        """The best of the top rung."""
        top = max((rung for rung, arms in self.rungs.items() if arms), default=None)
        return None if top is None else self.ranked(top)[0]
