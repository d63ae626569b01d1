"""Uniform sampling against its naive reference, with jobs in flight and withdrawals."""

import random
from collections import Counter

import pytest
from driving import Live
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_stream import Stream
from reference_uniform import UniformReference

from boxthirding.errors import InvalidInput
from boxthirding.policies import Uniform
from boxthirding.rng import TIES, spawn

EXAMPLES = settings(max_examples=200, derandomize=True, deadline=None)

REWARDS = {
    "continuous": lambda rng: rng.gauss(0.0, 1.0),
    "halves": lambda rng: rng.choice((0.0, 0.5, 1.0)),
    "bernoulli": lambda rng: float(rng.random() < 0.5),
    "all equal": lambda _rng: 1.0,
}


@EXAMPLES
@given(
    n_arms=st.integers(1, 40),
    capacity=st.integers(1, 40),
    pulls=st.integers(1, 200),
    rewards=st.sampled_from(sorted(REWARDS)),
    seed=st.integers(0, 2**32),
)
def test_every_job_and_recommendation_is_that_of_the_reference(n_arms, capacity, pulls, rewards, seed):
    rng = random.Random(seed)
    live = Live(Uniform(), n_arms, seed, capacity)
    reference = UniformReference(n_arms, Stream(live.ties()))
    assert live.recommend() is None
    for _ in range(pulls):
        arm, times = live.ask()
        assert (arm, times) == reference.ask()
        reward = REWARDS[rewards](rng)
        live.tell(arm, 1, reward)
        reference.tell(arm, reward)
        if rng.random() < 0.8:  # whether anybody looks changes nothing
            assert live.recommend() == reference.recommend()
    assert live.ties() == (*reference.ties.x, *reference.ties.y)


events = st.lists(st.tuples(st.sampled_from(["ask", "ask", "tell", "tell", "drop", "add", "look"]), st.integers(0, 99)))


@EXAMPLES
@given(n_arms=st.integers(1, 6), events=events, seed=st.integers(0, 2**32))
def test_any_order_of_events_is_that_of_the_reference(n_arms, events, seed):
    live = Live(Uniform(), n_arms, seed, capacity=1)
    reference = UniformReference(n_arms, Stream(live.ties()))
    open_jobs = []
    for event, number in events:
        seen = [arm for arm in reference.luck if arm not in reference.withdrawn]
        if event == "ask":
            job = live.ask()
            assert job == reference.ask()
            open_jobs += [job[0]] if job else []
        elif event == "tell" and open_jobs:
            arm = open_jobs.pop(number % len(open_jobs))
            live.tell(arm, 1, number % 3 / 2)
            reference.tell(arm, number % 3 / 2)
        elif event == "drop" and seen:
            arm = seen[number % len(seen)]
            live.drop(arm)
            live.drop(arm)  # the second time is no news
            reference.drop(arm)
            open_jobs = [other for other in open_jobs if other != arm]
        elif event == "add":
            live.add()
            reference.n_arms += 1
        elif event == "look":
            assert live.recommend() == reference.recommend()
    assert live.recommend() == reference.recommend()


def test_arms_take_turns():
    live = Live(Uniform(), 3)
    jobs = []
    for _ in range(7):
        jobs.append(live.ask())
        live.tell(*jobs[-1], 0.0)
    assert jobs == [(0, 1), (1, 1), (2, 1), (0, 1), (1, 1), (2, 1), (0, 1)]


def test_equals_are_recommended_alike():
    # Arms 1, 2 and 4 of five share the largest mean. χ² of 3,000 runs with 2 degrees of freedom exceeds 27.7 with
    # chance 1e-6, the false-alarm rate.
    runs, found = 3_000, Counter()
    live = Live(Uniform(), 5)
    streams = spawn(5, 0, runs)
    for replicate in range(runs):
        live.state.ties[:] = streams[replicate, TIES]
        live.rule.reset(live.state)
        for reward in (0.0, 1.0, 1.0, 0.5, 1.0):
            live.tell(*live.ask(), reward)
        found[live.recommend()] += 1
    assert sorted(found) == [1, 2, 4]
    assert sum((count - runs / 3) ** 2 for count in found.values()) / (runs / 3) <= 27.7


def test_reset_starts_the_same_run_again():
    live = Live(Uniform(), 9, capacity=2)
    ties = live.state.ties.copy()

    def play():
        jobs = []
        for number in range(40):
            jobs.append(live.ask())
            live.tell(*jobs[-1], number % 2)
            jobs.append(live.recommend())
        return jobs

    first = play()
    live.state.ties[:] = ties
    live.rule.reset(live.state)
    assert live.recommend() is None
    assert play() == first


def test_when_all_are_withdrawn_there_is_nothing_until_one_is_added():
    live = Live(Uniform(), 1)
    live.tell(*live.ask(), 1.0)
    live.drop(0)
    assert live.ask() is None
    assert live.recommend() is None
    live.add()
    assert live.ask() == (1, 1)


@pytest.mark.parametrize("n_arms", [0, -1, 2.5])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        Uniform().new(n_arms, 0, 8)
