"""Box Thirding for one job in flight, straight from rules S1 to S15: lists, one generator, no cleverness."""

import math
from collections import defaultdict


def cost_of(schedule="geometric", growth=None, effort=1.0):
    """S1: the price of arriving at a level, as a function; `schedule` may be a list, continued by `growth` a level."""
    if growth is None:
        growth = 1.433837016947883 if schedule == "linear" else 1.7281632013323829

    def weight(level):
        if schedule == "geometric":
            return growth**level
        if schedule == "linear":
            return (level + 1) * growth**level
        if level < len(schedule):
            return schedule[level]
        return schedule[-1] * growth ** (level - len(schedule) + 1)

    return lambda level: max(1, math.ceil(effort * weight(level) - 1e-12))


class BoxThirdingReference:
    """The rules as one program that stops wherever it waits for rewards."""

    def __init__(self, n_arms, ties, cost, reuse="none"):
        """Start with every arm in W; `ties` shuffles, `cost(l)` is the price of arriving at level l."""
        self.ties, self.cost, self.reuse = ties, cost, reuse
        self.waiting = list(range(n_arms))  # W, in the order in which arms will be introduced (S4)
        self.boxes = defaultdict(list)  # Box(l, j) by (l, j), arms in order of entry
        self.discarded = defaultdict(list)  # D_l by l, in order of entry (S6)
        self.mean = {}  # of an arm's last LIFT (S3), or of all its pulls (reuse)
        self.pulls = defaultdict(int)  # of an arm, in all
        self.total = defaultdict(float)
        self.base = 0  # l_B
        self.spent = 0
        self.trace = []  # what committed: N, A or U, its level and deferment count, pulls spent by then
        self.play = self.turns()
        self.pending = next(self.play)

    def ask(self):
        """Give the job that is due as (arm, times)."""
        return self.pending

    def tell(self, total):
        """Take the sum of the job's rewards and go on to the next one."""
        self.pending = self.play.send(total)

    def recommend(self):
        """The largest mean in Box(L, 0), the earliest entry among equals (S12)."""
        return max(self.boxes[self.top(), 0], key=self.mean.__getitem__, default=None)

    def turns(self):
        """S5, S7, S9: a sweep, then an introduction, or a base update when there is nothing else left to do."""
        while True:
            arranged = False
            for level in range(self.top(), self.base - 1, -1):
                for j in range(self.most_deferred(level), -1, -1):
                    if self.full(level, j) and not self.full(level + 1, 0) and not self.full(level, j + 1):
                        yield from self.arrange(level, j)
                        arranged = True
            if self.waiting and not self.full(self.base, 0):
                yield from self.introduce()
            elif not self.waiting and not arranged:
                self.update_base()

    def arrange(self, level, j):
        """S6; nothing moves before the LIFT has all its pulls (S8)."""
        three = list(self.boxes[level, j])
        if len({self.mean[arm] for arm in three}) < 3:
            self.ties.shuffle(three)  # S13
        three.sort(key=self.mean.__getitem__, reverse=True)
        yield from self.pull(three[0], level + 1)
        self.boxes[level, j].clear()
        self.boxes[level + 1, 0].append(three[0])
        self.boxes[level, j + 1].append(three[1])
        self.discarded[level].append(three[2])
        self.trace.append(("A", level, j, self.spent))

    def introduce(self):
        """S7; an arm that comes from a base update stays in its frozen box meanwhile (S9)."""
        arm = self.waiting.pop(0)
        yield from self.pull(arm, self.base)
        for arms in self.boxes.values():
            if arm in arms:
                arms.remove(arm)
        self.boxes[self.base, 0].append(arm)
        self.trace.append(("N", self.base, 0, self.spent))

    def pull(self, arm, level):
        """The pulls of a LIFT, if it needs any (S15), and the mean that they leave (S2, S3)."""
        times = self.cost(level) - (self.pulls[arm] if self.reuse == "topup" else 0)
        if times < 1:
            return
        total = yield arm, times
        self.spent += times
        self.pulls[arm] += times
        self.total[arm] += total
        self.mean[arm] = total / times if self.reuse == "none" else self.total[arm] / self.pulls[arm]

    def update_base(self):
        """S9: W becomes the arms in the base level's boxes, best first, then its discarded ones, at random."""
        rest = [arm for j in range(self.most_deferred(self.base) + 1) for arm in self.boxes[self.base, j]]
        self.ties.shuffle(rest)
        rest.sort(key=self.mean.__getitem__, reverse=True)
        pile = self.discarded.pop(self.base, [])
        self.ties.shuffle(pile)
        self.waiting = rest + pile
        self.trace.append(("U", self.base, 0, self.spent))
        self.base += 1

    def full(self, level, j):
        """Whether Box(l, j) holds three."""
        return len(self.boxes[level, j]) == 3

    def top(self):
        """L, the highest level whose Box(., 0) is not empty."""
        return max((level for (level, j), arms in self.boxes.items() if arms and j == 0), default=0)

    def most_deferred(self, level):
        """J_l, the largest deferment count that has an arm."""
        return max((j for (row, j), arms in self.boxes.items() if arms and row == level), default=0)
