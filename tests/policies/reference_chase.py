"""Chase from its eleven rules: bounds, scores and fits are computed from the rewards when they are needed.

What the rules leave open is decided here as the policy decides it, and marked "choice".
"""

import math
from collections import Counter, defaultdict
from dataclasses import dataclass, field


@dataclass
class Job:
    """An open job of the chase, or the first pull of an arm."""

    due: int  # pulls still to come
    rewards: list = field(default_factory=list)


class ChaseReference:
    """All rewards by arm, and a few counters."""

    def __init__(self, n_arms, ties, lead):
        """Start with arms 0 … n_arms - 1 untried; `lead` is from the policy, which is tuned."""
        self.n_arms, self.ties, self.lead = n_arms, ties, lead  # a driver may change n_arms
        self.luck = {}  # of every arm tried; choice: it decides all ties
        self.withdrawn = set()
        self.jobs = {}  # open ones, by arm
        self.origin = None  # the first reward
        self.rewards = defaultdict(list)  # by arm, counted from the origin, of jobs that ended and of the final
        self.within = 0.0  # squared distances of these rewards from the means of their arms
        self.first = {}  # by arm, the mean of its first job
        self.outliers = defaultdict(list)  # by arm, rewards that were excluded, as its sums tell them
        self.variance = 0.0  # by which results are judged
        self.in_final = Counter()  # by arm, its pulls in the final in flight
        self.told, self.own, self.next_fit = 0, 0, 0  # results that count, those of its jobs, when to fit
        self.earned, self.k = 0, 1
        self.closed = False
        self.sigma = self.centre = 0.0
        self.ratio = 5.0

    def ask(self):
        """Give (job, arm, times), or None. Choice: a repeat (rule 3) comes first, then the final, then the chase."""
        self.closed = len(self.luck) == self.n_arms
        arm = self.whose_turn()
        if arm is not None:
            self.earned = max(0, self.earned - 3)  # choice: a repeat is a pull of the final
            self.in_final[arm] += 1
            return ("final", arm), arm, 1
        arm = self.who_keeps_up()
        if arm is None:
            if self.closed:
                return None
            arm = len(self.luck)
            self.luck[arm] = self.ties.integer()
        self.jobs[arm] = Job(max(1, math.ceil(self.n(arm) / 2)))
        self.earned += 2 * self.jobs[arm].due  # rule 5; choice: when the job is asked for
        return ("chase", arm), arm, self.jobs[arm].due

    def tell(self, job, times, total):
        """Take rewards, all equal."""
        self.take(job, [total / times] * times)

    def take(self, job, rewards):
        """Take some rewards of a job; those of the chase count when the last one is in."""
        self.origin = rewards[0] if self.origin is None else self.origin
        counted = [reward - self.origin for reward in rewards]
        self.told += len(rewards)
        self.own += len(rewards)
        kind, arm = job
        if kind == "final":
            self.in_final[arm] -= len(rewards)
            self.learn_and_judge(arm, counted)
        else:
            chased = self.jobs[arm]
            chased.due -= len(rewards)
            chased.rewards += counted
            if chased.due > 0:
                return
            del self.jobs[arm]
            self.learn_and_judge(arm, chased.rewards)
            self.first.setdefault(arm, self.mean(arm))
        if self.told >= self.next_fit:
            self.fit()

    def drop(self, arm):
        """Choice: the arm's results stay in σ and m, but for those of a job that did not end."""
        self.withdrawn.add(arm)
        self.in_final.pop(arm, None)
        self.jobs.pop(arm, None)

    def recommend(self):
        """Rule 9."""
        return max(self.there(), key=lambda arm: (self.score(arm), self.luck[arm]), default=None)

    def who_keeps_up(self):
        """Rule 2."""
        leader = self.recommend()
        if leader is None or self.closed or self.sigma == 0:
            return None
        others = [arm for arm in self.there() if arm != leader and arm not in self.jobs]
        arm = max(others, key=lambda arm: (self.merit(arm), self.luck[arm]), default=None)
        return arm if arm is not None and self.merit(arm) >= self.mean(leader) else None

    def whose_turn(self):
        """Rules 3 and 5 to 8: who is pulled in the final, if any."""
        leader = self.recommend()
        if leader is None or self.is_unbelievable(leader):
            return leader
        final = sorted(self.final(), key=lambda arm: (self.lower(arm), self.luck[arm]), reverse=True)
        if not self.closed:
            if self.repeats() + self.in_final.total() <= math.log2(self.told) - 2:  # rule 3
                return leader
            if self.earned < 3:
                return None
            if max(map(self.upper, final)) <= self.lower(final[0]) + self.sigma / 3:  # rule 7
                self.earned = 0
                return None
        among = final[: self.k]  # rule 6
        self.k = 2 * self.k if self.k < len(final) else 1
        return max(among, key=lambda arm: (self.upper(arm), self.luck[arm]))

    def learn_and_judge(self, arm, rewards):
        """Rule 11: results that an arm gets may have an outlier among them."""
        before = self.squares(arm)
        expected = self.mean(arm) if self.n(arm) > 1 else self.centre
        self.learn(arm, rewards)
        more = self.squares(arm) - before
        judges = rewards and self.variance > 0 and before <= (20**2 + 10 * (self.n(arm) - len(rewards))) * self.variance
        if judges and self.has_outlier(arm, more, len(rewards), self.variance):
            self.exclude(arm, more - (len(rewards) - 1) * self.variance, expected)

    def has_outlier(self, arm, squares, times, variance):
        """Rule 11; of an arm's results at most one in eight is excluded, and one in any case."""
        return self.n(arm) > max(1, 8 * len(self.outliers[arm])) and squares > (20**2 + 10 * times) * variance

    def exclude(self, arm, squares, expected):
        """Take out the reward that has so many squares, on the side of the mean where none is expected."""
        before, away = self.squares(arm), math.sqrt(squares * (self.n(arm) - 1) / self.n(arm))
        self.outliers[arm].append(self.mean(arm) + (away if self.mean(arm) > expected else -away))
        self.within += self.squares(arm) - before
        self.told -= 1

    def is_unbelievable(self, arm):
        """Rule 11: a single result, too high to be believed before another one agrees, which is not in flight."""
        if self.n(arm) != 1 or self.in_final[arm] or self.variance == 0:
            return False
        return self.mean(arm) - self.centre > 20 * math.sqrt(self.variance * (1 + 1 / self.ratio**2))

    def exclude_all(self):
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
            if self.has_outlier(arm, squares := self.squares(arm), self.n(arm), usual):
                self.exclude(arm, squares, self.centre)
        return True

    def squares(self, arm):
        """Return the squared distances of an arm's rewards from their mean."""
        if self.n(arm) < 2:
            return 0.0
        mean = self.mean(arm)
        if not self.outliers[arm]:
            return sum((reward - mean) ** 2 for reward in self.rewards[arm])
        of_all = sum(reward * reward for reward in self.rewards[arm]) - sum(away * away for away in self.outliers[arm])
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
        """Rules 3, 4 and 10: σ, m and ρ from all results."""
        self.next_fit = self.told + self.own
        can_judge = self.exclude_all()
        repeats = self.repeats()
        self.sigma = math.sqrt(self.within / repeats) if repeats else 0.0
        self.variance = self.sigma**2 if can_judge else 0.0
        firsts = [self.mean(arm) if self.outliers[arm] else mean for arm, mean in self.first.items()]
        self.centre = sum(firsts) / max(1, len(firsts))
        if self.sigma > 0:
            while self.ratio < 1024 and self.rise(self.ratio * math.sqrt(1.25)) > 0:
                self.ratio *= 1.25
            while self.ratio > 2 and self.rise(self.ratio / math.sqrt(1.25)) < 0:
                self.ratio /= 1.25

    def rise(self, ratio):
        """The derivative of the log-likelihood of all means by ln ρ, and of the log-normal density: its width is 1."""
        rise = -math.log(ratio / 5.0)
        for arm in self.there():
            tau, of_mean = (self.sigma / ratio) ** 2, (self.sigma / ratio) ** 2 + self.sigma**2 / self.n(arm)
            rise += tau / of_mean * (1 - (self.mean(arm) - self.centre) ** 2 / of_mean)
        return rise

    def final(self):
        """Rule 5: every arm with a result is in the final."""
        return self.there()

    def repeats(self):
        """Return how many results are of arms that had one before."""
        return sum(self.n(arm) - 1 for arm in self.rewards)

    def there(self):
        """Return the arms with a result that are not withdrawn."""
        return [arm for arm in self.rewards if arm not in self.withdrawn]

    def n(self, arm):
        """Return the pulls behind an arm's mean."""
        return len(self.rewards.get(arm, ())) - len(self.outliers[arm])

    def mean(self, arm):
        """Return the mean of all its pulls."""
        return (sum(self.rewards[arm]) - sum(self.outliers[arm])) / self.n(arm)

    def merit(self, arm):
        """Rule 2."""
        return self.mean(arm) - self.lead * self.sigma / math.sqrt(self.n(arm))

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
        known = self.n(arm) + (self.ratio / 1.8) ** 2
        shrunk = self.centre + (self.mean(arm) - self.centre) * (self.n(arm) / known)
        return shrunk - 2 * self.sigma / math.sqrt(known)
