"""What the tests of the policies share: a policy driven live, with room made whenever it asks for it."""

from boxthirding.types import GROW, N_ARMS, NONE, WAIT


class Live:
    """A policy and its state; answers are plain Python numbers, None for "nothing"."""

    def __init__(self, policy, n_arms, seed=0, capacity=None):
        self.policy, self.rule = policy, policy.rule
        self.state = policy.new(n_arms, seed, n_arms if capacity is None else capacity)

    def ask(self):
        """Return (arm, times), or None for WAIT. In these policies a job's name is its arm."""
        while True:
            job, arm, times = (int(number) for number in self.rule.ask(self.state))
            if job == WAIT:
                return None
            if job != GROW:
                assert job == arm
                return arm, times
            self.state = self.policy.grow(self.state)

    def tell(self, arm, times, total):
        self.rule.tell(self.state, arm, times, total, 0.0)

    def drop(self, arm):
        self.rule.drop(self.state, arm)

    def recommend(self):
        arm = int(self.rule.recommend(self.state))
        return None if arm == NONE else arm

    def add(self, arms=1):
        self.state.scalars[N_ARMS] += arms

    def at(self, scalar):
        return int(self.state.scalars[scalar])

    def ties(self):
        """Return the stream as it stands, for a reference that must draw the same."""
        return tuple(int(number) for number in self.state.ties)
