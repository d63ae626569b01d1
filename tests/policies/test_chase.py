"""Chase: decision by decision against the naive reference, and how it does."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import SEEDS, STEPS, TURNOVER, Jobs, Together, events, story
from reference_chase import ChaseReference
from reference_stream import Stream
from test_adaptive_box_thirding import REWARDS
from trees import in_order

import boxthirding as b3
from boxthirding.errors import InvalidInput
from boxthirding.policies import Chase
from boxthirding.policies.boxes import SEEN
from boxthirding.policies.final import CENTRE, CREDIT, RATIO, SIGMA
from boxthirding.rewards import Gaussian, captions
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=100, derandomize=True, deadline=None)


class Chasing(Jobs):
    """The rule, told whole lists of rewards."""

    def __init__(self, n_arms, seed=0, capacity=None):
        super().__init__(Chase(), n_arms, seed, capacity)

    def take(self, job, rewards):
        self.rule.tell(self.state, job, len(rewards), sum(rewards), sum(reward * reward for reward in rewards))

    def tell(self, job, times, total):
        """Tell rewards that are all equal."""
        self.take(job, [total / times] * times)


def pair(n_arms, seed, capacity):
    live = Chasing(n_arms, seed, capacity)
    return live, ChaseReference(n_arms, Stream(live.ties()), lead=0.3)


def follow_the_reference(n_arms, pulls, rewards, seed, capacity=1):
    live, reference = pair(n_arms, seed, capacity)
    rng = random.Random(seed)
    assert live.recommend() is None
    while pulls > 0:
        job, arm, times = live.ask()
        other, *asked = reference.ask()
        assert [arm, times] == asked
        assert (job % 2 == 1) == (other[0] == "final")
        told = [REWARDS[rewards](rng, arm) for _ in range(times)]
        live.take(job, told)
        reference.take(other, told)
        pulls -= times
        assert live.recommend() == reference.recommend()
        assert live.at(CREDIT) == reference.earned
    ours = [float(live.state.facts[which]) for which in (SIGMA, CENTRE, RATIO)]
    assert ours == pytest.approx([reference.sigma, reference.centre, reference.ratio], rel=1e-9, abs=1e-9)
    assert live.ranking()[:1] == [reference.recommend()]
    assert live.ties() == (*reference.ties.x, *reference.ties.y)


@EXAMPLES
@given(
    n_arms=st.one_of(st.integers(1, 12), st.integers(1, 600)),
    pulls=st.integers(1, 400),
    rewards=st.sampled_from(sorted(REWARDS)),
    seed=SEEDS,
    capacity=st.integers(1, 40),
)
def test_every_job_and_recommendation_is_that_of_the_reference(n_arms, pulls, rewards, seed, capacity):
    follow_the_reference(n_arms, pulls, rewards, seed, capacity)


@pytest.mark.soak
@pytest.mark.parametrize("rewards", sorted(REWARDS))
@pytest.mark.parametrize("n_arms", [7, 150, 10_000])  # T > N by far, T > N, T < N
def test_long_runs_are_those_of_the_reference(n_arms, rewards):
    follow_the_reference(n_arms, 1_200, rewards, seed=n_arms)


@EXAMPLES
@given(n_arms=st.integers(1, 12), steps=STEPS, turnover=TURNOVER, seed=SEEDS)
def test_any_order_of_events_is_that_of_the_reference(n_arms, steps, turnover, seed):
    both = Together(*pair(n_arms, seed, capacity=1))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)
        reference = both.reference
        by_lower = sorted(reference.final(), key=lambda arm: (reference.lower(arm), reference.luck[arm]), reverse=True)
        assert in_order(both.live.state) == by_lower


def test_without_noise_every_arm_is_pulled_once_but_for_the_repeats():
    live = Chasing(2_000)
    arms = []
    for _ in range(100):
        job, arm, times = live.ask()
        arms += [arm] * times
        live.tell(job, times, times * float(37 * arm % 1024))
    assert len(set(arms)) == 95  # repeats are due at 4, 8, 16, 32 and 64 results
    assert live.recommend() == max(arms, key=lambda arm: 37 * arm % 1024)


def test_an_arm_in_the_chase_is_not_asked_for_twice_and_keeps_its_results_apart():
    live = Chasing(1_000, capacity=1)
    rng = random.Random(1)
    times = 1
    while times < 3:  # until a job of the chase has several pulls
        job, arm, times = live.ask()
        if times < 3:
            live.take(job, [REWARDS["arms differ"](rng, arm) for _ in range(times)])
    answer = live.recommend()
    chased = [live.ask() for _ in range(40)]
    assert job not in [other for other, _, _ in chased]
    for _ in range(times - 1):
        live.take(job, [1e3])
        assert live.recommend() == answer  # it counts when the last one is in
    live.take(job, [1e3])
    assert live.recommend() == arm


def test_an_arm_that_gets_more_pulls_in_the_chase_is_one_that_keeps_up():
    live, rng, chased, quiet = Chasing(400, seed=1), random.Random(1), 0, 0
    for _ in range(1_000):
        keeps_up, had = live.policy.keeps_up(live.state), live.state.pulls.copy()
        assert not keeps_up[had == 0].any()
        best = live.recommend()
        assert best is None or not keeps_up[best]
        job, arm, times = live.ask()
        if job % 2 == 0 and arm < len(had) and had[arm] > 0:
            assert keeps_up[arm]
            chased += 1
        elif job % 2 == 0:  # a new arm
            assert not keeps_up.any()
            quiet += 1
        live.take(job, [arm / 400 + rng.gauss(0, 0.3) for _ in range(times)])
        if live.at(SEEN) == 399:
            live.drop(live.recommend())
            assert not live.policy.keeps_up(live.state)[live.state.place != 0].any()
            break
    assert chased > 50
    assert quiet > 50


def test_two_good_arms_do_not_keep_new_ones_away_where_others_are_far_below():
    rng = random.Random(1)
    means = [-16.26, -3.03, -1.07, -2.12, -0.99, -3.01, -593.98]
    live = Chasing(1_000, capacity=1_000)
    pulls = 0
    while pulls < 2_000:
        job, arm, times = live.ask()
        live.take(job, [rng.gauss(means[arm] if arm < len(means) else -1.0, 0.3) for _ in range(times)])
        pulls += times
    assert live.at(SEEN) > 100


def test_room_changes_no_decision_and_reset_starts_the_same_run_again():
    runs = [Chasing(60, capacity=capacity) for capacity in (1, 60)]
    ties = runs[0].state.ties.copy()
    first, second = (story(live, 300, seed=1) for live in runs)
    assert first == second
    for live in runs:
        live.begin(ties)
        assert live.recommend() is None
        assert story(live, 300, seed=1) == first


@pytest.mark.parametrize("n_arms", [0, -1, 2.5])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        Chase().new(n_arms, 0, 8)


def test_the_regret_on_the_captions_is_below_that_of_the_boxes():
    # Of 600 runs each the standard error of the ratio is 0.02.
    model = Gaussian(1.0)
    regret = {
        policy: b3.simulate(captions(), model, policy, budget=5_000, replicates=600, seed=1).regret[:, -1].mean()
        for policy in ("chase", "b3auto")
    }
    assert regret["chase"] < 0.98 * regret["b3auto"]


class TestChaseKeepsTheContract(PolicyContract):
    policy = Chase()
