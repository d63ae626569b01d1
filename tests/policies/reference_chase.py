"""Chase from its rules; what it shares with Adaptive Box Thirding is that one's reference."""

import math

from reference_adaptive_box_thirding import AdaptiveReference, Lift


class ChaseReference(AdaptiveReference):
    """A job of the chase is a `Lift` without a box."""

    def __init__(self, n_arms, ties, lead):
        """Take `lead` from the policy, which is tuned."""
        super().__init__(n_arms, ties)
        self.lead = lead

    def ask(self):
        """Give (job, arm, times), or None. Choice: a repeat (rule 3) comes first, then the final, then the chase."""
        if self.closed != (len(self.luck) == self.n_arms):
            self.closed = not self.closed
            self.draw_up_final()
        arm = self.whose_turn()
        if arm is not None:
            self.earned = max(0, self.earned - 3)
            self.in_final[arm] += 1
            return ("final", arm), arm, 1
        arm = self.who_keeps_up()
        if arm is None:
            if self.closed:
                return None
            arm = len(self.luck)
            self.luck[arm] = self.ties.integer()
        self.lifts[arm] = Lift(arm, 0, max(1, math.ceil(self.n(arm) / 2)))
        self.earned += 2 * self.lifts[arm].due
        return ("lift", arm), arm, self.lifts[arm].due

    def who_keeps_up(self):
        """Rule 2."""
        leader = self.recommend()
        if leader is None or self.closed or self.sigma == 0:
            return None
        others = [arm for arm in self.there() if arm != leader and arm not in self.lifts]
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

    def settle(self, lift):
        """A job's rewards count when the last one is in."""
        del self.lifts[lift.arm]
        self.learn_and_judge(lift.arm, lift.rewards)
        self.first.setdefault(lift.arm, self.mean(lift.arm))

    def final(self):
        """Who is in the final (rule 5)."""
        return self.there()

    def merit(self, arm):
        """Rule 2."""
        return self.mean(arm) - self.lead * self.sigma / math.sqrt(self.n(arm))

    def known(self, arm):
        """Rule 9: an arm's pulls, and those that m is worth."""
        return self.n(arm) + (self.ratio / 1.8) ** 2

    def score(self, arm):
        """Rule 9."""
        if self.sigma == 0:
            return self.mean(arm)
        shrunk = self.centre + (self.mean(arm) - self.centre) * (self.n(arm) / self.known(arm))
        return shrunk - 2 * self.sigma / math.sqrt(self.known(arm))
