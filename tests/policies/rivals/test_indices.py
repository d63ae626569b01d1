"""klucb and lilucb: bounds and lists that can be checked by hand, then pull by pull against the naive reference."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import REWARDS, SEEDS, STEPS, TURNOVER, Jobs, Together, assert_same_run, events, story, told
from reference_indices import ListReference, kl_bound, lil_bound
from reference_stream import Stream

import boxthirding as b3
from boxthirding.errors import InvalidInput
from boxthirding.lab import Bernoulli, captions
from boxthirding.policies.rivals.klucb_lilucb import KLUCB, LilUCB, deviation, divergence, upper
from boxthirding.policies.rivals.subsets import FIRST_LEVELS
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=80, derandomize=True, deadline=None)

POLICIES = st.one_of(
    st.builds(
        KLUCB,
        low=st.sampled_from([0.0, -1.0]),
        high=st.sampled_from([1.0, 3.0]),
        delta=st.sampled_from([0.05, 0.5]),
        batch=st.sampled_from([1, 2, 10]),
        subset=st.sampled_from(sorted(FIRST_LEVELS)),
    ),
    st.builds(
        LilUCB,
        sigma=st.sampled_from([0.0, 0.3, 1.0]),
        delta=st.sampled_from([0.05, 0.5]),
        batch=st.sampled_from([1, 2, 10]),
        subset=st.sampled_from(sorted(FIRST_LEVELS)),
    ),
)
BOTH = pytest.mark.parametrize("kind", [KLUCB, lambda **keys: LilUCB(0.5, **keys)], ids=["klucb", "lilucb"])


def pair(policy, n_arms, seed, capacity=1):
    live = Jobs(policy, n_arms, seed, capacity)
    if isinstance(policy, KLUCB):
        bound = kl_bound(policy.low, policy.high, policy.delta)
    else:
        bound = lil_bound(policy.sigma, policy.delta)
    return live, ListReference(n_arms, bound, policy.batch, policy.subset, Stream(live.ties()))


def test_defaults_are_those_that_are_documented():
    assert (KLUCB().low, KLUCB().high, KLUCB().delta) == (0, 1, 0.05)
    assert LilUCB(1.0).delta == 0.05


@EXAMPLES
@given(
    policy=POLICIES,
    n_arms=st.integers(1, 30),
    pulls=st.integers(1, 200),
    rewards=st.sampled_from(sorted(REWARDS)),
    capacity=st.integers(1, 40),
    seed=SEEDS,
)
def test_every_pull_and_recommendation_is_that_of_the_reference(policy, n_arms, pulls, rewards, capacity, seed):
    assert_same_run(*pair(policy, n_arms, seed, capacity), pulls, rewards, seed)


@EXAMPLES
@given(policy=POLICIES, n_arms=st.integers(1, 20), steps=STEPS, turnover=TURNOVER, seed=SEEDS)
def test_any_order_of_events_is_that_of_the_reference(policy, n_arms, steps, turnover, seed):
    both = Together(*pair(policy, n_arms, seed))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)
    assert both.live.ties() == (*both.reference.ties.x, *both.reference.ties.y)


def test_continuous_rewards_too():
    assert_same_run(*pair(KLUCB(low=-3.0, high=3.0), 20, seed=4), 300, "continuous", seed=4)
    assert_same_run(*pair(LilUCB(1.0, subset="doubling"), 200, seed=4), 300, "continuous", seed=4)


@pytest.mark.parametrize(
    ("share", "most", "bound"),
    [
        (0.0, math.log(2), 0.5),  # kl(0, q) = -log(1 - q)
        (0.0, math.log(4), 0.75),
        (0.5, math.log(5 / 4), 0.8),  # kl(½, q) = -½ log(4 q (1 - q)) = ½ log(25/16)
        (1.0, 0.1, 1.0),
        (7.0, 0.1, 1.0),
        (-7.0, math.log(2), 0.5),
    ],
)
def test_bounds_of_kl_ucb_by_hand(share, most, bound):
    assert upper(share, most) == pytest.approx(bound, abs=1e-6)


def test_the_divergence_by_hand():
    assert divergence(0.0, 0.5) == pytest.approx(math.log(2))
    assert divergence(0.5, 0.75) == pytest.approx(0.5 * math.log(4 / 3))


def test_the_bound_of_lil_ucb_by_hand():
    assert deviation(0.5, 1, 0.04) == pytest.approx(0.5 * math.sqrt(2 * math.log(100)))
    assert deviation(2.0, 5, 0.01) == pytest.approx(2 * math.sqrt(0.4 * math.log(10_000)))
    assert deviation(0.0, 5, 0.01) == 0.0


def test_a_list_made_anew_after_every_result_is_a_plain_index_policy():
    live = Jobs(LilUCB(0.0, batch=1), 3)
    # arm 1 has the means 0.9, 0.85, 0.6, then 0.475, below arm 2's 0.5
    assert told(live, 0.2, 0.9, 0.5, 0.8, 0.1, 0.1, 0.5) == [0, 1, 2, 1, 1, 1, 2]


@BOTH
def test_an_old_list_is_gone_down_and_made_anew_at_its_end(kind):
    live = Jobs(kind(batch=2**40), 3)
    assert told(live, 0.2, 0.9, 0.5) == [0, 1, 2]
    assert told(live, 0.0, 0.0, 0.0) == [1, 2, 0]  # after a pull each, the list is at its end and made anew
    # the means are 0.1, 0.45 and 0.25
    assert told(live, 0.0, 0.0, 0.0) == [1, 2, 0]


@BOTH
def test_with_all_arms_each_is_pulled_once_first(kind):
    assert told(Jobs(kind(), 100), *[0.5] * 60) == list(range(60))


@BOTH
def test_a_subset_that_doubles_has_two_arms_then_four_then_eight(kind):
    asked = told(Jobs(kind(subset="doubling"), 10_000), *[0.25] * 200)
    first = [asked.index(arm) for arm in range(max(asked) + 1)]
    # 2 arms until 2 pulls, 4 until 8, 8 until 24, 16 until 64, 32 until 160
    assert first[:2] == [0, 1]
    for arms, begin, end in ((4, 2, 8), (8, 8, 24), (16, 24, 64), (32, 64, 160), (64, 160, 200)):
        new = first[arms // 2 : arms]
        assert all(begin <= pull < end for pull in new)
        assert new == list(range(begin, begin + len(new)))


@BOTH
def test_a_withdrawn_arm_makes_room_for_another(kind):
    live = Jobs(kind(subset="doubling"), 10)
    assert [live.ask()[1] for _ in range(2)] == [0, 1]
    live = Jobs(kind(subset="doubling"), 10)
    assert live.ask()[1] == 0
    live.drop(0)
    assert [live.ask()[1] for _ in range(1)] == [1]
    assert {live.ask()[1] for _ in range(3)} == {2, 3, 4}


@BOTH
def test_it_waits_only_while_no_arm_has_a_result(kind):
    live = Jobs(kind(), 2)
    assert [live.ask() for _ in range(3)] == [(0, 0, 1), (1, 1, 1), None]
    live.tell(1, 1, 0.0)
    assert [live.ask() for _ in range(2)] == [(1, 1, 1), (1, 1, 1)]
    live.drop(1)
    assert live.ask() is None
    assert live.recommend() is None
    live.add()
    assert live.ask() == (2, 2, 1)


@BOTH
@pytest.mark.parametrize("subset", sorted(FIRST_LEVELS))
def test_reset_starts_the_same_run_again(kind, subset):
    live = Jobs(kind(subset=subset), 30, seed=0)
    ties = live.state.ties.copy()
    first = story(live, 200, seed=1)
    live.drop(3)
    live.begin(ties)
    assert live.recommend() is None
    assert story(live, 200, seed=1) == first


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda: KLUCB(low=1.0, high=1.0), ["low is 1.0", "below high"]),
        (lambda: KLUCB(low=math.nan), ["low is nan", "finite"]),
        (lambda: KLUCB(high=math.inf), ["high inf", "finite"]),
        (lambda: KLUCB(delta=1.0), ["delta is 1.0", "(0, 1)"]),
        (lambda: KLUCB(batch=0), ["batch is 0", "at least 1"]),
        (lambda: KLUCB(subset="half"), ["subset is 'half'", "all, doubling"]),
        (lambda: LilUCB(-1.0), ["sigma is -1.0", "at least 0"]),
        (lambda: LilUCB(1.0, delta=0), ["delta is 0", "(0, 1)"]),
        (lambda: LilUCB(1.0, batch=2.5), ["2.5", "whole number"]),
        (lambda: LilUCB(1.0, subset=""), ["subset is ''", "all, doubling"]),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_value_and_the_rule(wrong, words):
    with pytest.raises(InvalidInput) as refused:
        wrong()
    assert all(word in str(refused.value) for word in words)


def test_where_arms_outnumber_pulls_only_a_subset_tells_it_from_uniform_sampling():
    regret = {}
    for spec in ("us", "klucb", "klucb:subset=doubling", "lilucb", "lilucb:subset=doubling"):
        policy = b3.parse_policy(spec, sigma=0.5)
        run = b3.simulate(captions(2_000), Bernoulli(), policy, budget=1_000, replicates=400, seed=1)
        regret[spec] = run.regret[:, -1].mean()
    assert regret["klucb"] == pytest.approx(regret["us"], rel=0.1)  # 400 replicates: standard errors of 2 %
    assert regret["lilucb"] == pytest.approx(regret["us"], rel=0.1)
    assert regret["klucb:subset=doubling"] < 0.8 * regret["us"]
    assert regret["lilucb:subset=doubling"] < 0.8 * regret["us"]


class TestKLUCBKeepsTheContract(PolicyContract):
    policy = KLUCB()


class TestKLUCBOnASubsetKeepsTheContract(PolicyContract):
    policy = KLUCB(low=-2.0, high=2.0, batch=1, subset="doubling")


class TestLilUCBKeepsTheContract(PolicyContract):
    policy = LilUCB(0.5)


class TestLilUCBOnASubsetKeepsTheContract(PolicyContract):
    policy = LilUCB(0.5, subset="doubling")
