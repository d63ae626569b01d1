"""Rules whose jobs have names of their own, driven beside a naive reference: every answer must be the same."""

import random

from driving import Live
from hypothesis import strategies as st

from boxthirding.types import GROW, WAIT

REWARDS = {
    "continuous": lambda rng: rng.gauss(0.0, 1.0),
    "halves": lambda rng: rng.choice((0.0, 0.5, 1.0)),
    "bernoulli": lambda rng: float(rng.random() < 0.5),
    "all equal": lambda _rng: 1.0,
}

STEPS = st.integers(1, 250)
TURNOVER = st.sampled_from([0, 1, 4, 12])  # how many of 100 events are arms withdrawn; so many are added, or lost unmet
SEEDS = st.integers(0, 2**32)


def events(steps, turnover, seed):
    """Yield what happens in a run with jobs in flight, and a number for whom or how much."""
    rng = random.Random(seed)
    kinds = {"ask": 45, "tell": 35, "part": 10, "drop": turnover, "add": turnover * 0.7, "lose": turnover * 0.3}
    for event in rng.choices(list(kinds), list(kinds.values()), k=steps):
        yield event, rng.randrange(100)


class Jobs(Live):
    """A policy driven live, with the jobs' own names."""

    def ask(self):
        """Return (job, arm, times), or None for WAIT."""
        while True:
            job, arm, times = (int(number) for number in self.rule.ask(self.state))
            if job == WAIT:
                return None
            if job != GROW:
                return job, arm, times
            self.state = self.policy.grow(self.state)

    def ranking(self):
        return self.policy.ranking(self.state)

    def begin(self, ties):
        """Start again with another stream."""
        self.state.ties[:] = ties
        self.rule.reset(self.state)


def assert_same_run(live, reference, pulls, rewards, seed):
    """One worker: job by job and answer by answer, and the same draws from the stream."""
    rng = random.Random(seed)
    assert live.recommend() is None
    while pulls > 0:
        job, arm, times = live.ask()
        other, *asked = reference.ask()
        assert [arm, times] == asked
        total = sum(REWARDS[rewards](rng) for _ in range(times))
        live.tell(job, times, total)
        reference.tell(other, times, total)
        pulls -= times
        if rng.random() < 0.8:  # whether anybody looks changes nothing
            assert live.recommend() == reference.recommend()
    assert live.recommend() == reference.recommend()
    assert live.ranking()[:1] == [reference.recommend()]
    assert live.ties() == (*reference.ties.x, *reference.ties.y)


class Together:
    """A rule and its reference through any events: jobs in flight told in parts, arms that go and come."""

    def __init__(self, live, reference):
        self.live, self.reference = live, reference
        self.open = []  # [the rule's job, the reference's, arm, pulls due]
        self.seen, self.gone = 0, set()

    def happens(self, event, number):
        """Carry out one event in both."""
        there = [arm for arm in range(self.seen) if arm not in self.gone]
        if event == "ask":
            self.ask()
        elif event in {"tell", "part"} and self.open:
            self.tell(number, whole=event == "tell")
        elif event == "drop" and there:
            self.drop(there[number % len(there)])
        elif event == "add" or (event == "lose" and self.reference.n_arms > self.seen):
            more = 1 if event == "add" else -1  # lost: withdrawn before it was met, so the driver counts one less
            self.live.add(more)
            self.reference.n_arms += more
        assert self.live.recommend() == self.reference.recommend()

    def ask(self):
        mine, theirs = self.live.ask(), self.reference.ask()
        if mine is None or theirs is None:
            assert mine == theirs
            assert self.open or len(self.gone) == self.reference.n_arms  # it waits for somebody, or nobody is left
            return
        job, arm, times = mine
        assert [arm, times] == list(theirs[1:])
        assert arm not in self.gone
        assert arm <= self.seen
        self.seen = max(self.seen, arm + 1)
        self.open.append([job, theirs[0], arm, times])

    def tell(self, number, *, whole):
        entry = self.open[number % len(self.open)]
        job, other, _, due = entry
        times = due if whole else 1 + number % due
        total = number % 3 / 2 * times
        self.live.tell(job, times, total)
        self.reference.tell(other, times, total)
        entry[3] -= times
        self.open = [entry for entry in self.open if entry[3]]

    def drop(self, arm):
        self.live.drop(arm)
        self.live.drop(arm)  # the second time is no news
        self.reference.drop(arm)
        self.gone.add(arm)
        self.open = [entry for entry in self.open if entry[2] != arm]


def told(live, *rewards):
    """Tell one pull after the other; return the arms that were asked for."""
    asked = []
    for reward in rewards:
        job, arm, times = live.ask()
        live.tell(job, times, reward)
        asked.append(arm)
    return asked


def story(live, pulls, seed):
    """Every job and every answer of a run with one worker."""
    rng = random.Random(seed)
    found = []
    while pulls > 0:
        job, arm, times = live.ask()
        live.tell(job, times, sum(rng.choice((0.0, 0.5, 1.0)) for _ in range(times)))
        found.append((job, arm, times, live.recommend()))
        pulls -= times
    return found
