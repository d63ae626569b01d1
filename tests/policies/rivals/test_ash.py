"""Anytime Sequential Halving: passes that can be checked by hand, then pull by pull against the naive reference."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import REWARDS, SEEDS, STEPS, TURNOVER, Jobs, Together, assert_same_run, events, story
from reference_ash import AshReference
from reference_stream import Stream

from boxthirding.errors import InvalidInput
from boxthirding.policies.rivals.ash import AnytimeSequentialHalving
from boxthirding.policies.rivals.subsets import FIRST_LEVELS, LEVEL, RATED
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=80, derandomize=True, deadline=None)
SUBSET = st.sampled_from(sorted(FIRST_LEVELS))


def pair(subset, n_arms, seed, capacity=1):
    live = Jobs(AnytimeSequentialHalving(subset), n_arms, seed, capacity)
    return live, AshReference(n_arms, subset, Stream(live.ties()))


@EXAMPLES
@given(
    subset=SUBSET,
    n_arms=st.integers(1, 40),
    pulls=st.integers(1, 300),
    rewards=st.sampled_from(sorted(REWARDS)),
    capacity=st.integers(1, 40),
    seed=SEEDS,
)
def test_every_pull_and_recommendation_is_that_of_the_reference(subset, n_arms, pulls, rewards, capacity, seed):
    assert_same_run(*pair(subset, n_arms, seed, capacity), pulls, rewards, seed)


@EXAMPLES
@given(subset=SUBSET, n_arms=st.integers(1, 20), steps=STEPS, turnover=TURNOVER, seed=SEEDS)
def test_any_order_of_events_is_that_of_the_reference(subset, n_arms, steps, turnover, seed):
    both = Together(*pair(subset, n_arms, seed))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)
    assert both.live.ties() == (*both.reference.ties.x, *both.reference.ties.y)


def pulled(live, pulls, mean=float):
    """Tell one pull after the other, each with its arm's mean; return who was asked for."""
    asked = []
    for _ in range(pulls):
        job, arm, times = live.ask()
        live.tell(job, times, mean(arm))
        asked.append(arm)
    return asked


@pytest.mark.parametrize(
    ("arms", "phases"),
    [
        (1, [[0], [0]]),
        (2, [[0, 1], [0, 1]]),
        (3, [[0, 1, 2], [2, 1] * 2, [0, 1, 2]]),
        (4, [[0, 1, 2, 3], [3, 2] * 2, [0, 1, 2, 3]]),
        (5, [[0, 1, 2, 3, 4], [4, 3, 2] * 2, [4, 3] * 4, [0, 1, 2, 3, 4]]),
        (8, [[*range(8)], [7, 6, 5, 4] * 2, [7, 6] * 4, [*range(8)]]),
    ],
)
def test_passes_that_can_be_checked_by_hand(arms, phases):
    turns = [arm for phase in phases for arm in phase]
    assert pulled(Jobs(AnytimeSequentialHalving(), arms), len(turns)) == turns


def test_a_subset_doubles_from_pass_to_pass():
    live = Jobs(AnytimeSequentialHalving("doubling"), 1_000)
    for level in range(1, 7):
        arms = 2**level
        asked = pulled(live, arms * level)  # a pass: as many phases as halvings, of as many pulls as arms
        assert asked[:arms] == list(range(arms))
        assert set(asked) == set(range(arms))
        assert (live.at(LEVEL), live.at(RATED)) == (level, 0 if level == 1 else arms // 2)
        assert live.recommend() == (1 if level == 1 else arms // 2 - 1)  # the winner of the pass before


def test_what_a_subset_recommends_does_not_hang_on_the_first_pulls_of_a_pass():
    live = Jobs(AnytimeSequentialHalving("doubling"), 1_000)
    pulled(live, 2 + 8)
    assert [live.ask()[1] for _ in range(2)] == [0, 1]
    assert live.recommend() == 3
    live.tell(0, 1, 99.0)
    assert live.recommend() == 3
    live.drop(3)
    assert live.recommend() == 0


def test_halving_goes_by_all_pulls_of_an_arm():
    live = Jobs(AnytimeSequentialHalving(), 3)
    rewards = iter([0.0, 0.5, 1.0, *[0.5] * 4, 0.9, 0.5, 0.0])
    asked = pulled(live, 10, mean=lambda _: next(rewards))
    assert asked == [0, 1, 2, 2, 1, 2, 1, 0, 1, 2]
    # the means are now 0.45, 0.5 and (1 + 0.5 + 0.5 + 0) / 4 = 0.5: number 0 goes, though it was best in this phase
    assert set(pulled(live, 4)) == {1, 2}


def test_when_all_pulls_of_a_phase_are_out_it_waits():
    live = Jobs(AnytimeSequentialHalving(), 3)
    assert [live.ask()[1] for _ in range(3)] == [0, 1, 2]
    assert live.ask() is None
    live.tell(0, 1, 1.0)
    live.tell(1, 1, 0.5)
    assert live.ask() is None
    live.drop(2)
    assert live.ask()[1] == 0  # two are left: the next pass


def test_a_new_arm_joins_the_next_pass():
    live = Jobs(AnytimeSequentialHalving(), 3)
    assert pulled(live, 4) == [0, 1, 2, 2]
    live.add()
    assert pulled(live, 7) == [1, 2, 1, 0, 1, 2, 3]


@pytest.mark.parametrize("subset", sorted(FIRST_LEVELS))
def test_reset_starts_the_same_run_again(subset):
    live = Jobs(AnytimeSequentialHalving(subset), 30, seed=0)
    ties = live.state.ties.copy()
    first = story(live, 200, seed=1)
    live.drop(3)
    live.begin(ties)
    assert live.recommend() is None
    assert story(live, 200, seed=1) == first


def test_what_is_no_subset_is_refused():
    with pytest.raises(InvalidInput, match="subset is 'half', but must be one of all, doubling"):
        AnytimeSequentialHalving("half")


class TestAnytimeSequentialHalvingKeepsTheContract(PolicyContract):
    policy = AnytimeSequentialHalving()


class TestAnytimeSequentialHalvingOnASubsetKeepsTheContract(PolicyContract):
    policy = AnytimeSequentialHalving("doubling")
    ends_jobs_in_ask = True  # the subset doubles when a pass begins
