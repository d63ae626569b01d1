"""Doubling Sequential Halving: runs that can be checked by hand, then job by job against the naive reference."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import REWARDS, SEEDS, STEPS, TURNOVER, Jobs, assert_same_run, events, story
from reference_doubling import DoublingReference
from reference_stream import Stream
from rounds_together import RoundsTogether

from boxthirding.errors import InvalidInput
from boxthirding.policies.rivals.sequential_halving import DoublingSequentialHalving
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=150, derandomize=True, deadline=None)

DSH = DoublingSequentialHalving()

LAST_RUN = 40  # nobody has more than 2^40 pulls


def pair(n_arms, seed, capacity=1):
    live = Jobs(DSH, n_arms, seed, capacity)
    return live, DoublingReference(n_arms, Stream(live.ties()))


@pytest.mark.parametrize(
    ("n_arms", "runs"),
    [
        # Each round: (arms, pulls each). A run has N⌈log₂N⌉ pulls, twice as many, …
        (1, [[(1, 1)], [(1, 2)], [(1, 4)], [(1, 8)]]),
        (2, [[(2, 1)], [(2, 2)], [(2, 4)]]),
        (3, [[(3, 1), (2, 1)], [(3, 2), (2, 3)], [(3, 4), (2, 6)]]),
        (8, [[(8, 1), (4, 2), (2, 4)], [(8, 2), (4, 4), (2, 8)]]),
        (5, [[(5, 1), (3, 1), (2, 2)], [(5, 2), (3, 3), (2, 5)], [(5, 4), (3, 6), (2, 10)]]),
    ],
)
def test_runs_that_can_be_checked_by_hand(n_arms, runs):
    live = Jobs(DSH, n_arms)
    for rounds in runs:
        for arms, pulls in rounds:
            asked = [live.ask() for _ in range(arms + 1)]
            assert asked[-1] is None  # the round is out
            assert {times for _, _, times in asked[:-1]} == {pulls}
            assert len({arm for _, arm, _ in asked[:-1]}) == arms
            for job, _, times in asked[:-1]:
                live.tell(job, times, 0.5 * times)


@EXAMPLES
@given(n_arms=st.integers(1, 30), pulls=st.integers(1, 300), rewards=st.sampled_from(sorted(REWARDS)), seed=SEEDS)
def test_every_job_and_recommendation_is_that_of_the_reference(n_arms, pulls, rewards, seed):
    assert_same_run(*pair(n_arms, seed), pulls, rewards, seed)


@EXAMPLES
@given(n_arms=st.integers(1, 12), steps=st.integers(1, 400), turnover=TURNOVER, seed=SEEDS)
def test_any_order_of_events_is_that_of_the_reference(n_arms, steps, turnover, seed):
    both = RoundsTogether(*pair(n_arms, seed))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)
        if both.reference.run == LAST_RUN:
            break
    assert both.live.ties() == (*both.reference.ties.x, *both.reference.ties.y)


@EXAMPLES
@given(n_arms=st.integers(1, 6), steps=STEPS, seed=SEEDS)
def test_many_withdrawals_among_few_arms_are_those_of_the_reference(n_arms, steps, seed):
    both = RoundsTogether(*pair(n_arms, seed))
    for event, number in events(steps, 3, seed):
        both.happens(event if event != "lose" else "tell", number)
        if both.reference.run == LAST_RUN:
            break


def play_round(live, gives):
    """Tell everybody in the round a sum, by arm."""
    asked = []
    while (job := live.ask()) is not None:
        asked.append(job)
    for job, arm, times in asked:
        live.tell(job, times, gives(arm))
    return [(arm, times) for _, arm, times in asked]


def test_the_winner_of_a_run_stands_until_the_next_run_is_over():
    live = Jobs(DSH, 4)
    assert play_round(live, float) == [(0, 1), (1, 1), (2, 1), (3, 1)]
    assert live.recommend() == 3  # no run is over: the last complete round
    assert play_round(live, lambda arm: -float(arm)) == [(3, 2), (2, 2)]
    assert live.recommend() == 2
    assert play_round(live, lambda arm: -float(arm)) == [(0, 2), (1, 2), (2, 2), (3, 2)]  # from scratch
    assert live.recommend() == 2
    live.tell(*live.ask()[::2], 0.0)
    assert live.recommend() == 2
    live.tell(*live.ask()[::2], 1.0)
    assert live.recommend() == 1
    assert live.ranking()[0] == 1


def test_a_withdrawn_winner_gives_way_to_the_run_under_way():
    live = Jobs(DSH, 4)
    live.drop(0)
    play_round(live, float)
    play_round(live, float)
    assert live.recommend() == 3
    live.tell(*live.ask()[::2], 1.0)
    live.tell(*live.ask()[::2], 2.0)
    live.tell(*live.ask()[::2], 3.0)
    live.drop(3)
    assert live.recommend() == 2
    live.drop(2)
    assert live.recommend() == 1


def test_in_a_later_run_the_arms_left_are_compared_whatever_their_numbers():
    live = Jobs(DSH, 3)
    live.drop(0)
    for _ in range(2):
        play_round(live, lambda arm: -float(arm))
    live.drop(live.recommend())
    assert live.ask() == (2, 2, 2)  # of three places one is left, for number 2
    live = Jobs(DSH, 6)
    live.drop(0)
    for _ in range(3):
        play_round(live, lambda arm: -float(abs(arm - 4)))
    assert live.recommend() == 4
    assert [live.ask()[1] for _ in range(5)] == [1, 2, 3, 4, 5]
    live.tell(4, 2, 3.0)
    live.tell(5, 2, 1.0)
    live.drop(4)
    assert live.recommend() == 5


def test_when_all_of_a_round_are_withdrawn_the_rest_of_the_round_before_stands_and_a_new_run_starts():
    live = Jobs(DSH, 4)
    play_round(live, float)
    live.drop(3)
    live.drop(2)
    assert live.recommend() == 1
    assert live.ask() == (0, 0, 2)
    live.tell(0, 2, 9.0)
    assert live.recommend() == 1  # until the new run is over
    live.drop(0)
    live.drop(1)
    assert live.recommend() is None
    assert live.ask() is None


def test_with_fewer_pulls_than_arms_it_recommends_the_best_of_those_pulled():
    live = Jobs(DSH, 100)
    for arm in range(10):
        assert live.ask() == (arm, arm, 1)
        live.tell(arm, 1, -float(abs(arm - 4)))
    assert live.recommend() == 4


def test_reset_starts_the_same_run_again():
    live = Jobs(DSH, 11)
    ties = live.state.ties.copy()
    first = story(live, 900, seed=1)
    live.begin(ties)
    assert live.recommend() is None
    assert story(live, 900, seed=1) == first
    live.drop(3)
    live.begin(ties)
    assert story(live, 900, seed=1) == first


@pytest.mark.parametrize("n_arms", [0, -1, 2.5])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        DSH.new(n_arms, 0, 8)


class TestDoublingSequentialHalvingKeepsTheContract(PolicyContract):
    policy = DoublingSequentialHalving()
