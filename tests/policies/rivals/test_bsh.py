"""BSH and the brackets it shares with BUCB: traces by hand, the odds of the draws, then pull by pull."""

import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jobs import REWARDS, SEEDS, STEPS, TURNOVER, Jobs, Together, assert_same_run, events, story
from reference_bsh import Brackets, Halving
from reference_stream import Stream

import boxthirding as b3
from boxthirding.errors import InvalidInput
from boxthirding.lab import Gaussian, captions
from boxthirding.policies.rivals.brackets import OPENED, SEEN
from boxthirding.policies.rivals.bsh import BracketingSequentialHalving
from boxthirding.rng import TIES, spawn
from boxthirding.testing import PolicyContract

EXAMPLES = settings(max_examples=100, derandomize=True, deadline=None)

BSH = BracketingSequentialHalving()


def pair(n_arms, seed, capacity):
    live = Jobs(BSH, n_arms, seed, capacity)
    return live, Brackets(n_arms, Stream(live.ties()), Halving)


@EXAMPLES
@given(
    n_arms=st.integers(1, 40),
    capacity=st.integers(1, 40),
    pulls=st.integers(1, 400),
    rewards=st.sampled_from(sorted(REWARDS)),
    seed=SEEDS,
)
def test_every_pull_and_recommendation_is_that_of_the_reference(n_arms, capacity, pulls, rewards, seed):
    assert_same_run(*pair(n_arms, seed, capacity), pulls, rewards, seed)


@EXAMPLES
@given(n_arms=st.integers(1, 20), steps=STEPS, turnover=TURNOVER, seed=SEEDS)
def test_any_order_of_events_is_that_of_the_reference(n_arms, steps, turnover, seed):
    both = Together(*pair(n_arms, seed, capacity=1))
    for event, number in events(steps, turnover, seed):
        both.happens(event, number)


def subsets(state):
    """The entrants of each bracket."""
    return [
        state.brackets.entrant[state.brackets.start[b] : state.brackets.start[b + 1]].tolist()
        for b in range(int(state.scalars[OPENED]))
    ]


@pytest.mark.parametrize(
    ("n_arms", "openings"),
    [
        (1_000, {1: 2, 2: 4, 8: 8, 24: 16, 64: 32}),
        (33, {1: 2, 2: 4, 8: 8, 24: 16, 64: 32, 160: 33}),
        (32, {1: 2, 2: 4, 8: 8, 24: 16, 64: 32}),  # none after one that holds all
        (31, {1: 2, 2: 4, 8: 8, 24: 16, 64: 31}),
        (5, {1: 2, 2: 4, 8: 5}),
        (2, {1: 2}),
        (1, {1: 1}),
    ],
)
def test_brackets_open_in_time_and_double(n_arms, openings):
    live = Jobs(BSH, n_arms)
    found = {}
    for t in range(1, 300 if n_arms < 100 else 100):
        job, _, times = live.ask()
        assert times == 1
        live.tell(job, 1, 0.0)
        drawn = subsets(live.state)
        if len(drawn) > len(found):
            found[t] = len(drawn[-1])
    assert found == openings
    assert all(len(set(drawn)) == len(drawn) for drawn in subsets(live.state))


def test_brackets_take_turns_one_pull_each():
    live = Jobs(BSH, 100)
    turns = []
    for _ in range(30):
        job = live.ask()[0]
        live.tell(job, 1, 0.0)
        turns.append(sum(job >= int(start) for start in live.state.brackets.start[: live.at(OPENED)]))
    assert turns == [1, *[2, 1] * 3, *[2, 3, 1] * 5, 2, *[3, 4, 1, 2], *[3, 4, 1]]


def chi_square(counts, chances, runs):
    return sum((counts[k] - runs * chance) ** 2 / (runs * chance) for k, chance in chances.items())


def test_subsets_are_drawn_with_the_right_odds():
    # Ten arms, brackets of 2, 4, 8 and 10. Independent subsets of n and m arms share k with the hypergeometric chance;
    # χ² of 6,000 runs with 2 (or 4) degrees of freedom exceeds 27.7 (or 33.4) with chance 1e-6. With arms named at
    # random, each is in a subset of n in n of ten runs: 5.5 standard deviations for 40 counts. False-alarm rate: 5e-6.
    runs, arms = 6_000, 10
    shared = {pair: Counter() for pair in ((0, 1), (0, 2), (1, 2))}
    held = [Counter() for _ in range(4)]
    triple = 0
    live = Jobs(BSH, arms)
    rng = random.Random(1)
    for ties in spawn(8, 0, runs)[:, TIES]:
        live.begin(ties)
        for _ in range(24):
            live.tell(live.ask()[0], 1, 0.0)
        names = rng.sample(range(arms), arms)
        drawn = [{names[entrant] for entrant in subset} for subset in subsets(live.state)]
        for (one, other), counts in shared.items():
            counts[len(drawn[one] & drawn[other])] += 1
        triple += drawn[0] <= drawn[1] & drawn[2]
        for counts, subset in zip(held, drawn, strict=True):
            counts.update(subset)
    sizes = (2, 4, 8, 10)
    for (one, other), counts in shared.items():
        n, m = sizes[one], sizes[other]
        ways = {k: math.comb(n, k) * math.comb(arms - n, m - k) for k in range(n + 1) if m - k <= arms - n}
        chances = {k: way / math.comb(arms, m) for k, way in ways.items()}
        assert sorted(counts) == sorted(k for k in chances if chances[k])
        assert chi_square(counts, {k: chances[k] for k in counts}, runs) <= 33.4
    chance = (4 * 3 / 90) * (8 * 7 / 90)  # bracket 1 lies in bracket 2 and in bracket 3
    assert abs(triple - runs * chance) <= 5.5 * (runs * chance * (1 - chance)) ** 0.5
    for size, counts in zip(sizes, held, strict=True):
        spread = (runs * size / arms * (1 - size / arms)) ** 0.5
        assert all(abs(counts[arm] - runs * size / arms) <= 5.5 * spread for arm in range(arms))


def pulled(live, quality, pulls):
    """Ask and tell; return the arms."""
    arms = []
    for _ in range(pulls):
        job, arm, _ = live.ask()
        live.tell(job, 1, quality[arm])
        arms.append(arm)
    return arms


def test_two_arms_by_hand():
    # One bracket holds both: a round of 1 pull each, then 2, 4, …
    live = Jobs(BSH, 2)
    assert pulled(live, [0.0, 1.0], 2) == [0, 1]
    assert live.recommend() == 1
    assert pulled(live, [2.0, 1.0], 3) == [0, 0, 1]
    assert live.recommend() == 1  # the second run has not ended
    assert pulled(live, [2.0, 1.0], 1) == [1]
    assert live.recommend() == 0
    assert pulled(live, [2.0, 1.0], 8) == [0, 0, 0, 0, 1, 1, 1, 1]


def test_eight_arms_play_three_rounds():
    # The bracket of eight has 8·3 pulls: 1, 2 and 4 for each of 8, 4 and 2 arms, then twice that. Those of two and four
    # take turns with it.
    live = Jobs(BSH, 8)
    rounds = []
    for _ in range(250):
        job, arm, _ = live.ask()
        live.tell(job, 1, float(arm))
        if job >= 6:
            rounds.append(arm)
    runs = [rounds[:24], rounds[24:72]]
    for times, run in enumerate(runs, 1):
        assert sorted(run[: 8 * times]) == sorted([*range(8)] * times)
        assert Counter(run[8 * times : 16 * times]) == dict.fromkeys((4, 5, 6, 7), 2 * times)
        assert Counter(run[16 * times :]) == {6: 4 * times, 7: 4 * times}
    assert live.recommend() == 7
    assert live.ranking()[0] == 7
    assert sorted(live.ranking()) == list(range(8))


def test_before_a_run_has_ended_the_first_arm_pulled_is_recommended():
    live = Jobs(BSH, 100)
    assert live.recommend() is None
    first = live.ask()
    second = live.ask()
    assert live.recommend() is None
    live.tell(second[0], 1, -5.0)
    assert live.recommend() == second[1]
    live.tell(first[0], 1, 5.0)
    assert live.recommend() == second[1]
    live.drop(second[1])
    assert live.recommend() is None  # who drives the rule names an arm with a result
    assert pulled(live, [7.0] * 100, 1)
    assert live.recommend() is not None


def test_kept_means_are_those_of_the_last_round():
    # A lucky first run is forgotten when the second one ends.
    live = Jobs(BSH, 2)
    pulled(live, [9.0, 8.0], 2)
    assert live.recommend() == 0
    pulled(live, [1.0, 2.0], 4)
    assert live.recommend() == 1
    assert live.state.kept_mean[0] == 2.0


def test_equals_are_recommended_alike():
    # All rewards are equal: each of three arms is recommended in its share of 3,000 runs, within 5.1 standard
    # deviations but for a false-alarm rate of 1e-6.
    runs, found = 3_000, Counter()
    live = Jobs(BSH, 3)
    rng = random.Random(2)
    for ties in spawn(9, 0, runs)[:, TIES]:
        live.begin(ties)
        names = rng.sample(range(3), 3)
        pulled(live, [1.0] * 3, 12)
        found[names[live.recommend()]] += 1
    assert all(abs(found[arm] - runs / 3) <= 5.1 * (runs * 2 / 9) ** 0.5 for arm in range(3))


def test_two_equals_do_not_go_by_number():
    # The same without names at random: in the only bracket of two, number 0 is not favoured.
    runs, first = 3_000, 0
    live = Jobs(BSH, 2)
    for ties in spawn(10, 0, runs)[:, TIES]:
        live.begin(ties)
        pulled(live, [1.0] * 2, 2)
        first += live.recommend() == 0
    assert abs(first - runs / 2) <= 4.9 * (runs / 4) ** 0.5


def test_a_bracket_waits_for_its_round_and_the_next_one_goes_on():
    live = Jobs(BSH, 100)
    jobs = [live.ask() for _ in range(6)]  # one of the first bracket, four of the second, one more of the first
    assert live.ask() is None
    assert [job for job, _, _ in jobs] == [0, 2, 1, 3, 4, 5]
    live.tell(0, 1, 0.0)
    assert live.ask() is None
    live.tell(1, 1, 1.0)  # the first bracket's run has ended
    assert live.ask()[0] == 0


def test_when_the_arms_of_a_round_are_withdrawn_the_others_of_the_bracket_start_again():
    live = Jobs(BSH, 8)
    quality = [float(arm) for arm in range(8)]
    while not (live.at(OPENED) == 3 and live.state.run[2, 0] == 4):  # the largest bracket's second round
        pulled(live, quality, 1)
    for arm in (4, 5, 6, 7):
        live.drop(arm)
    assert live.recommend() in {0, 1, 2, 3}
    assert set(pulled(live, quality, 60)) == {0, 1, 2, 3}


def test_when_everybody_is_withdrawn_the_brackets_begin_anew_with_those_added():
    live = Jobs(BSH, 1)
    for number in range(100):
        assert live.ask()[1:] == (number, 1)
        live.drop(number)
        assert live.ask() is None
        assert live.recommend() is None
        live.add()


@pytest.mark.parametrize("seed", range(8))
def test_an_arm_that_was_never_drawn_gets_its_turn_when_another_is_withdrawn(seed):
    live = Jobs(BSH, 5, seed)
    pulled(live, [0.0] * 5, 7)  # brackets of two and four
    live.drop(0)
    assert set(pulled(live, [0.0] * 5, 60)) == {1, 2, 3, 4}


@pytest.mark.parametrize("seed", range(8))
def test_an_arm_withdrawn_before_it_was_met_leaves_the_brackets_and_its_number_to_the_next(seed):
    live = Jobs(BSH, 4, seed)
    pulled(live, [0.0] * 4, 2)  # all four have been drawn
    met = live.at(SEEN)
    live.add(met + 1 - 4)  # of the others, all but one are withdrawn
    assert set(pulled(live, [0.0] * 4, 30)) == set(range(met + 1))
    live.add(2)
    assert set(pulled(live, [0.0] * 9, 60)) == set(range(met + 3))


def test_room_changes_no_decision_and_reset_starts_the_same_run_again():
    runs = [Jobs(BSH, 60, capacity=capacity) for capacity in (1, 60)]
    ties = runs[0].state.ties.copy()
    first, second = (story(live, 400, seed=1) for live in runs)
    assert first == second
    for live in runs:
        live.begin(ties)
        assert live.recommend() is None
        assert story(live, 400, seed=1) == first


@pytest.mark.parametrize("n_arms", [0, -1, 2.5])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        BSH.new(n_arms, 0, 8)


@pytest.mark.parametrize(
    ("arms", "budget", "sigma", "replicates", "regret", "tolerance"),
    [
        (None, 10_000, 0.5, 1_000, 0.120, 0.008),
        (None, 10_000, 0.25, 1_000, 0.079, 0.006),
        (128, 896, 0.25, 4_000, 0.066, 0.0066),
        (1_024, 10_240, 0.25, 2_000, 0.048, 0.0048),
    ],
)
def test_the_regret_on_the_captions_is_the_known_one(arms, budget, sigma, replicates, regret, tolerance):
    run = b3.simulate(captions(arms), Gaussian(sigma), BSH, budget=budget, replicates=replicates, seed=1)
    assert abs(run.regret[:, -1].mean() - regret) <= tolerance


class TestBracketingSequentialHalvingKeepsTheContract(PolicyContract):
    policy = BracketingSequentialHalving()
