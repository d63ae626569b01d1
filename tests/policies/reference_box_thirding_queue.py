"""Box Thirding with several jobs in flight, arms added and withdrawn: rule S16, and several pulls in flight.

What that text leaves open is decided here as the rule decides it, and marked "choice".
"""

from collections import defaultdict
from dataclasses import dataclass


@dataclass
class Lift:
    """An open job, and what its ARRANGE will do to the two others."""

    arm: int
    target: int  # the level of arrival
    due: int  # pulls still to come
    box: tuple | None = None  # the box that is arranged; None for an introduction
    middle: int | None = None  # to be shifted
    worst: int | None = None  # to be discarded
    pulls: int = 0
    total: float = 0.0

    def lowest(self):
        """Return the lowest level whose boxes change when it commits."""
        return self.target if self.box is None else self.box[0]


class BoxThirdingQueueReference:
    """Boxes are queues; whoever an open job will move still stands in its box, but is taken."""

    def __init__(self, n_arms, ties, cost, reuse="none"):
        """Start with arms 0 … n_arms - 1 unseen."""
        self.ties, self.cost, self.reuse = ties, cost, reuse
        self.n_arms, self.seen = n_arms, 0  # a driver may raise n_arms
        self.waiting = []  # W after a base update
        self.boxes = defaultdict(list)
        self.discarded = defaultdict(list)
        self.withdrawn = set()
        self.lifts = {}  # open jobs by the arm they lift
        self.pulls, self.total = defaultdict(int), defaultdict(float)  # behind an arm's mean
        self.base = 0
        self.sweep = None  # where the sweep stands; None before it begins
        self.arranged = False  # whether the sweep has arranged anything

    def ask(self):
        """Give (arm, times), or None when nothing can be asked for."""
        while True:
            box = self.next_box()
            lift = self.arrange(box) if box else self.after_the_sweep()
            if lift == "wait":
                return None
            if isinstance(lift, Lift) and lift.due > 0:
                return lift.arm, lift.due
            if isinstance(lift, Lift):
                self.commit(lift)  # S15

    def tell(self, arm, times, total):
        """Take some of a job's pulls; the last ones commit it (S8)."""
        lift = self.lifts[arm]
        lift.due -= times
        lift.pulls += times
        lift.total += total
        if lift.due == 0:
            self.commit(lift)

    def drop(self, arm):
        """S16: out of W, its box or its pile; its ARRANGE goes on without it."""
        self.withdrawn.add(arm)
        for arms in (self.waiting, *self.boxes.values(), *self.discarded.values()):
            if arm in arms:
                arms.remove(arm)
        if arm in self.lifts:
            self.move_the_others(self.lifts.pop(arm))
        for lift in self.lifts.values():
            lift.middle = None if lift.middle == arm else lift.middle
            lift.worst = None if lift.worst == arm else lift.worst

    def recommend(self):
        """S12, as far as a Box(., 0) holds an arm."""
        level = max((level for (level, j), arms in self.boxes.items() if arms and j == 0), default=0)
        return max(self.boxes[level, 0], key=self.mean, default=None)

    def next_box(self):
        """In flight: the highest box with three that are free. Else S5, from where the sweep stands."""
        ready = [box for box in self.boxes if box[0] >= self.base and len(self.free(box)) >= 3]
        if not self.lifts:
            full = set(ready)
            ready = [(l, j) for l, j in ready if (l + 1, 0) not in full and (l, j + 1) not in full]
            ready = [box for box in ready if self.sweep is None or box < self.sweep]
        return max(ready, default=None)

    def arrange(self, box):
        """S6, on the first three of the queue. Choice: an ARRANGE made in flight ends the sweep."""
        three = self.free(box)[:3]
        if len({self.mean(arm) for arm in three}) < 3:
            self.ties.shuffle(three)
        three.sort(key=self.mean, reverse=True)
        self.sweep = None if self.lifts else box
        self.arranged = True
        return self.lift(three[0], box[0] + 1, box=box, middle=three[1], worst=three[2])

    def after_the_sweep(self):
        """S7, S9. Choice: in flight, the base rises as soon as no open job touches its level."""
        arranged, self.arranged, self.sweep = self.arranged, False, None
        if self.waiting or self.seen < self.n_arms:
            if not self.lifts and len(self.boxes[self.base, 0]) >= 3:
                return "sweep again"
            return self.introduce()
        if self.seen == len(self.withdrawn) or any(lift.lowest() == self.base for lift in self.lifts.values()):
            return "wait"
        if self.lifts or not arranged:
            self.update_base()
        return "sweep again"

    def introduce(self):
        """S7; unseen arms stand at random places among those that wait (S16)."""
        unseen = self.n_arms - self.seen
        if unseen and (not self.waiting or self.ties.below(unseen + len(self.waiting)) < unseen):
            arm, self.seen = self.seen, self.seen + 1
        else:
            arm = self.waiting.pop(0)
        return self.lift(arm, self.base)

    def update_base(self):
        """S9, as without jobs in flight."""
        columns = sorted(j for level, j in self.boxes if level == self.base)
        rest = [arm for j in columns for arm in self.boxes[self.base, j]]
        self.ties.shuffle(rest)
        rest.sort(key=self.mean, reverse=True)
        pile = self.discarded.pop(self.base, [])
        self.ties.shuffle(pile)
        self.waiting = rest + pile
        self.base += 1

    def lift(self, arm, target, **others):
        """Open a LIFT (S2)."""
        due = self.cost(target) - (self.pulls[arm] if self.reuse == "topup" else 0)
        self.lifts[arm] = Lift(arm, target, max(0, due), **others)
        return self.lifts[arm]

    def commit(self, lift):
        """S8: the three change places, and the mean is renewed (S3)."""
        del self.lifts[lift.arm]
        self.move_the_others(lift)
        for arms in self.boxes.values():
            if lift.arm in arms:
                arms.remove(lift.arm)
        self.boxes[lift.target, 0].append(lift.arm)
        keep = self.reuse != "none"
        self.pulls[lift.arm] = lift.pulls + (self.pulls[lift.arm] if keep else 0)
        self.total[lift.arm] = (self.total[lift.arm] if keep else 0.0) + lift.total

    def move_the_others(self, lift):
        """SHIFT and DISCARD, as far as the two are still there."""
        if lift.middle is not None:
            level, j = lift.box
            self.boxes[level, j].remove(lift.middle)
            self.boxes[level, j + 1].append(lift.middle)
        if lift.worst is not None:
            self.boxes[lift.box].remove(lift.worst)
            self.discarded[lift.box[0]].append(lift.worst)

    def free(self, box):
        """Return the arms of a box that no open job will move, in order of entry."""
        taken = {arm for lift in self.lifts.values() for arm in (lift.arm, lift.middle, lift.worst)}
        return [arm for arm in self.boxes[box] if arm not in taken]

    def mean(self, arm):
        """Return the mean an arm competes with."""
        return self.total[arm] / self.pulls[arm]
