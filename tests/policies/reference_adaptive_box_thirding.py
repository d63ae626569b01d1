"""Adaptive Box Thirding from its eleven rules: bounds, scores and fits are worked out from the rewards when needed.

What the rules leave open is decided here as the policy decides it, and marked "choice".
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field

GROWTH = 1.7281632013323829


@dataclass
class Lift:
    """An open job of the boxes, and what its ARRANGE will do to the two others."""

    arm: int
    target: int  # the level of arrival
    due: int  # pulls still to come
    box: tuple | None = None  # the box that is arranged; None for an arm that is met
    middle: int | None = None  # to be shifted
    worst: int | None = None  # to be discarded
    rewards: list = field(default_factory=list)


class AdaptiveReference:
    """The boxes are queues, as with several pulls in flight; of the final, only who may be in it is remembered."""

    def __init__(self, n_arms, ties):
        """Start with arms 0 … n_arms - 1 unseen."""
        self.n_arms, self.ties = n_arms, ties  # a driver may change n_arms
        self.luck = {}  # of every arm met; choice: it decides all ties but those of an ARRANGE
        self.boxes = defaultdict(list)  # arms in order of entry by (level, deferment count)
        self.level = {}  # of every arm that has entered a box; it keeps it on the pile
        self.withdrawn = set()
        self.lifts = {}  # open ones, by arm
        self.origin = None  # the first reward
        self.rewards = defaultdict(list)  # by arm, counted from the origin, of lifts that took effect and of the final
        self.within = 0.0  # squared distances of these rewards from the means of their arms
        self.first = {}  # by arm, the mean of its first lift
        self.aside = defaultdict(list)  # by arm, rewards that were set aside, as its sums tell them
        self.variance = 0.0  # by which results are judged
        self.in_final = Counter()  # by arm, its pulls in the final in flight
        self.told, self.own, self.next_fit = 0, 0, 0  # results that count, those of its jobs, when to fit
        self.earned, self.k = 0, 1
        self.closed, self.floor = False, 0
        self.sigma = self.centre = self.effort = self.spread = 0.0
        self.ratio = 5.0

    def ask(self):
        """Give (job, arm, times), or None. Choice: a repeat (rule 3) comes first, then the final, then the boxes."""
        while True:
            if self.closed != (len(self.luck) == self.n_arms):  # rule 8; arms that are added open the boxes again
                self.closed = not self.closed
                self.draw_up_final()
            arm = self.whose_turn()
            if arm is not None:
                self.earned = max(0, self.earned - 1)  # choice: a repeat is a pull of the final
                self.in_final[arm] += 1
                return ("final", arm), arm, 1
            if self.closed:
                return None
            lift = self.arrange() or self.meet()
            if lift.due > 0:
                self.earned += lift.due  # rule 5; choice: when the job is asked for
                return ("lift", lift.arm), lift.arm, lift.due
            self.settle(lift)  # S15

    def tell(self, job, times, total):
        """Take rewards, all equal."""
        self.take(job, [total / times] * times)

    def take(self, job, rewards):
        """Take some rewards of a job; those of a lift count when the last one is in (S8)."""
        self.origin = rewards[0] if self.origin is None else self.origin
        counted = [reward - self.origin for reward in rewards]
        self.told += len(rewards)
        self.own += len(rewards)
        kind, arm = job
        if kind == "final":
            self.in_final[arm] -= len(rewards)
            self.learn_and_judge(arm, counted)
        else:
            lift = self.lifts[arm]
            lift.due -= len(rewards)
            lift.rewards += counted
            if lift.due > 0:
                return
            self.settle(lift)
        if self.told >= self.next_fit:
            self.fit()

    def drop(self, arm):
        """S16. Choice: the arm's results stay in σ and m, but for those of a lift that did not end."""
        self.withdrawn.add(arm)
        self.in_final.pop(arm, None)
        for arms in self.boxes.values():
            if arm in arms:
                arms.remove(arm)
        if arm in self.lifts:
            self.move_the_others(self.lifts.pop(arm))
        for lift in self.lifts.values():
            lift.middle = None if lift.middle == arm else lift.middle
            lift.worst = None if lift.worst == arm else lift.worst

    def recommend(self):
        """Rule 9."""
        return max(self.there(), key=lambda arm: (self.score(arm), self.luck[arm]), default=None)

    def whose_turn(self):
        """Rules 3 and 5 to 8: who is pulled in the final, if anybody."""
        final = sorted(self.final(), key=lambda arm: (self.lower(arm), self.luck[arm]), reverse=True)
        if not final:
            return None
        if self.is_unbelievable(self.recommend()):
            return self.recommend()
        if not self.closed:
            if self.repeats() + self.in_final.total() <= math.log2(self.told) - 2:  # rule 3
                return self.recommend()
            if self.earned < 1:
                return None
            if max(map(self.upper, final)) <= self.lower(final[0]) + self.spread / 2:  # rule 7
                self.earned = 0
                return None
        among = final[: self.k]  # rule 6
        self.k = 2 * self.k if self.k < len(final) else 1
        return max(among, key=lambda arm: (self.upper(arm), self.luck[arm]))

    def arrange(self):
        """Rule 1 and S6, on the first three of the highest box, the most deferred of its level, that holds three."""
        box = max((box for box in self.boxes if len(self.free(box)) >= 3), default=None)
        if box is None:
            return None
        three = self.free(box)[:3]
        if len({self.mean(arm) for arm in three}) < 3:
            self.ties.shuffle(three)  # S13
        three.sort(key=self.mean, reverse=True)
        return self.lift(three[0], box[0] + 1, box=box, middle=three[1], worst=three[2])

    def meet(self):
        """S7."""
        arm = len(self.luck)
        self.luck[arm] = self.ties.integer()
        return self.lift(arm, 0)

    def lift(self, arm, target, **others):
        """Rule 2: a lift tops up; a new arm is pulled at least once."""
        cost = max(1, math.ceil(self.effort * GROWTH**target - 1e-12))
        self.lifts[arm] = Lift(arm, target, max(0, cost - self.n(arm)), **others)
        return self.lifts[arm]

    def settle(self, lift):
        """The three change places, and the lift's rewards count."""
        del self.lifts[lift.arm]
        self.move_the_others(lift)
        if lift.box is not None:
            self.boxes[lift.box].remove(lift.arm)
        self.boxes[lift.target, 0].append(lift.arm)
        self.level[lift.arm] = lift.target
        self.learn_and_judge(lift.arm, lift.rewards)
        self.first.setdefault(lift.arm, self.mean(lift.arm))

    def move_the_others(self, lift):
        """SHIFT and DISCARD, as far as the two are still there."""
        if lift.middle is not None:
            level, j = lift.box
            self.boxes[level, j].remove(lift.middle)
            self.boxes[level, j + 1].append(lift.middle)
        if lift.worst is not None:
            self.boxes[lift.box].remove(lift.worst)

    def learn_and_judge(self, arm, rewards):
        """Rule 11: results that an arm gets may have a wild one among them."""
        before = self.squares(arm)
        expected = self.mean(arm) if self.n(arm) > 1 else self.centre
        self.learn(arm, rewards)
        more = self.squares(arm) - before
        judges = rewards and self.variance > 0 and before <= (20**2 + 10 * (self.n(arm) - len(rewards))) * self.variance
        if judges and self.is_wild(arm, more, len(rewards), self.variance):
            self.set_aside(arm, more - (len(rewards) - 1) * self.variance, expected)

    def is_wild(self, arm, squares, times, variance):
        """Rule 11; of an arm's results one in eight at most is set aside, and one in any case."""
        return self.n(arm) > max(1, 8 * len(self.aside[arm])) and squares > (20**2 + 10 * times) * variance

    def set_aside(self, arm, squares, expected):
        """Take out the reward that has so many squares, on the side of the mean where none is expected."""
        before, away = self.squares(arm), math.sqrt(squares * (self.n(arm) - 1) / self.n(arm))
        self.aside[arm].append(self.mean(arm) + (away if self.mean(arm) > expected else -away))
        self.within += self.squares(arm) - before
        self.told -= 1

    def is_unbelievable(self, arm):
        """Rule 11: a single result, too high to be believed before another one agrees, which is not under way."""
        if self.n(arm) != 1 or self.in_final[arm] or self.variance == 0:
            return False
        return self.mean(arm) - self.centre > 20 * math.sqrt(self.variance * (1 + 1 / self.ratio**2))

    def set_aside_all(self):
        """Rule 11, at a fit: every arm beside a variance that seven arms in eight do not exceed."""
        own = {arm: self.squares(arm) / (self.n(arm) - 1) for arm in self.rewards if self.n(arm) > 1}
        noisy = [variance for variance in own.values() if variance > 0]
        if len(own) < 8 or len(noisy) <= len(own) / 2:
            return False
        low, usual = min(noisy), max(noisy)
        while usual > 2 * low:  # choice: to a factor of 2
            between = math.sqrt(low) * math.sqrt(usual)
            if sum(variance > between for variance in own.values()) <= len(own) / 8:
                usual = between
            else:
                low = between
        for arm in own:
            if self.is_wild(arm, squares := self.squares(arm), self.n(arm), usual):
                self.set_aside(arm, squares, self.centre)
        return True

    def squares(self, arm):
        """Return the squared distances of an arm's rewards from their mean."""
        if self.n(arm) < 2:
            return 0.0
        mean = self.mean(arm)
        if not self.aside[arm]:
            return sum((reward - mean) ** 2 for reward in self.rewards[arm])
        of_all = sum(reward * reward for reward in self.rewards[arm]) - sum(away * away for away in self.aside[arm])
        return of_all - self.n(arm) * mean**2

    def learn(self, arm, rewards):
        """Add to an arm's rewards, and to σ as the policy does: bounds may be equal but for the rounding of σ."""
        times, total, known = len(rewards), sum(rewards), self.rewards[arm]
        if times > 0:
            self.within += max(0.0, sum(reward * reward for reward in rewards) - total * (total / times))
        if times > 0 and known:
            apart = total / times - self.mean(arm)
            self.within += apart * apart * (self.n(arm) * times / (self.n(arm) + times))
        known += rewards

    def fit(self):
        """Rules 4 and 10: σ, m, ρ and t₀ from all results, then the final."""
        self.next_fit = self.told + self.own
        can_judge = self.set_aside_all()
        repeats = self.repeats()
        self.sigma = math.sqrt(self.within / repeats) if repeats else 0.0
        self.variance = self.sigma**2 if can_judge else 0.0
        firsts = [self.mean(arm) if self.aside[arm] else mean for arm, mean in self.first.items()]
        self.centre = sum(firsts) / max(1, len(firsts))
        if self.sigma > 0:
            while self.ratio < 1024 and self.rise(self.ratio * math.sqrt(1.25)) > 0:
                self.ratio *= 1.25
            while self.ratio > 2 and self.rise(self.ratio / math.sqrt(1.25)) < 0:
                self.ratio /= 1.25
        self.effort = 0.22 * self.ratio**0.6 if self.sigma > 0 else 0.0
        self.draw_up_final()

    def rise(self, ratio):
        """The derivative of the log-likelihood of all means by ln ρ, and of the log-normal density: its width is 1."""
        rise = -math.log(ratio / 5.0)
        for arm in self.there():
            tau, of_mean = (self.sigma / ratio) ** 2, (self.sigma / ratio) ** 2 + self.sigma**2 / self.n(arm)
            rise += tau / of_mean * (1 - (self.mean(arm) - self.centre) ** 2 / of_mean)
        return rise

    def draw_up_final(self):
        """Rule 5. Choice: until it is drawn up again, the lowest level of the final, and the spread of 7, stay."""
        self.floor = max(0, max((level for (level, j), arms in self.boxes.items() if arms and j == 0), default=0) - 4)
        means = [self.mean(arm) for arm in self.final()]
        if means:
            average = sum(means) / len(means)
            self.spread = math.sqrt(sum((mean - average) ** 2 for mean in means) / len(means))

    def final(self):
        """Who is in the final: on the pile of a level, an arm still stands on it."""
        return [arm for arm in self.there() if self.closed or self.level[arm] >= self.floor]

    def repeats(self):
        """Return how many results are of arms that had one before."""
        return sum(self.n(arm) - 1 for arm in self.rewards)

    def there(self):
        """Return the arms with a result that are not withdrawn."""
        return [arm for arm in self.rewards if arm not in self.withdrawn]

    def free(self, box):
        """Return the arms of a box that no open job will move."""
        taken = {arm for lift in self.lifts.values() for arm in (lift.arm, lift.middle, lift.worst)}
        return [arm for arm in self.boxes[box] if arm not in taken]

    def n(self, arm):
        """Return the pulls behind an arm's mean."""
        return len(self.rewards.get(arm, ())) - len(self.aside[arm])

    def mean(self, arm):
        """Return the mean of all its pulls (rule 2)."""
        return (sum(self.rewards[arm]) - sum(self.aside[arm])) / self.n(arm)

    def lower(self, arm):
        """Rule 6."""
        return self.mean(arm) - 2 * self.sigma / math.sqrt(self.n(arm))

    def upper(self, arm):
        """Rules 6 and 8; a pull of the final in flight counts in n, not in the mean."""
        width = 2 if self.closed else 1
        return self.mean(arm) + width * self.sigma / math.sqrt(self.n(arm) + self.in_final[arm])

    def score(self, arm):
        """Rule 9; without noise it is the mean."""
        if self.sigma == 0:
            return self.mean(arm)
        known = self.n(arm) + self.ratio**2
        shrunk = self.centre + (self.mean(arm) - self.centre) * (self.n(arm) / known)
        return shrunk - self.sigma / math.sqrt(known)
