"""Sequential Halving: plans that can be checked by hand, then job by job against the naive reference."""

import random
from collections import Counter
from fractions import Fraction

import pytest
from driving import Live
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference_sequential_halving import SequentialHalvingReference, plan_of, sizes_of
from reference_stream import Stream

from boxthirding.errors import InvalidInput
from boxthirding.policies import SequentialHalving
from boxthirding.rng import TIES, spawn

EXAMPLES = settings(max_examples=200, derandomize=True, deadline=None)

# Every weight is an exact fraction of what the policy is given, read as it is written.
WEIGHTS = {
    "karnin": ({"mode": "karnin"}, None),
    "paper 1.7": ({"mode": "paper", "growth": 1.7}, lambda level: Fraction("1.7") ** level),
    "paper 2": ({"mode": "paper", "growth": 2.0}, lambda level: Fraction(2) ** level),
    "paper linear": (
        {"mode": "paper", "growth": 1.5, "schedule": "linear"},
        lambda level: (level + 1) * Fraction(3, 2) ** level,
    ),
    "fit 1.5": ({"mode": "fit", "growth": 1.5}, lambda level: Fraction(3, 2) ** level),
    "fit 1.7": ({"mode": "fit", "growth": 1.7}, lambda level: Fraction("1.7") ** level),
    "fit 2": ({"mode": "fit", "growth": 2.0}, lambda level: Fraction(2) ** level),
    "fit given": (
        {"mode": "fit", "growth": 2.0, "schedule": (1.0, 3.0, 4.0)},
        lambda level: Fraction((1, 3, 4)[min(level, 2)]) * 2 ** max(0, level - 2),
    ),
}


def spent(n_arms, plan):
    return sum(size * pulls for size, pulls in zip(sizes_of(n_arms, len(plan)), plan, strict=True))


@pytest.mark.parametrize(
    ("configuration", "n_arms", "plan", "pulls"),
    [
        # Karnin, Koren, Somekh: 896 / 7 = 128 pulls a round, over 128, 64, … 2 arms.
        ({"budget": 896}, 128, [1, 2, 4, 8, 16, 32, 64], 896),
        ({"budget": 16}, 4, [2, 4], 16),
        ({"budget": 100}, 5, [6, 11, 16], 95),  # ⌊100/15⌋, ⌊100/9⌋, ⌊100/6⌋ over 5, 3, 2 arms
        ({"budget": 7}, 1, [7], 7),
        ({"budget": 7}, 2, [3], 6),
        # As the paper prints it: 128·1 + 64·2 + 32·3 + 16·5 + 8·9 + 4·15 + 2·25 + 1·42
        ({"budget": 896, "mode": "paper", "growth": 1.7}, 128, [1, 2, 3, 5, 9, 15, 25, 42], 656),
        ({"budget": 1_311, "mode": "paper", "growth": 1.7}, 128, [1, 2, 3, 5, 9, 15, 25, 42], 656),
        ({"budget": 1_312, "mode": "paper", "growth": 1.7}, 128, [2, 4, 6, 10, 18, 30, 50, 84], 1_312),
        ({"budget": 12, "mode": "paper", "growth": 2.0}, 4, [1, 2, 4], 12),
        # 8·1 + 4·2 + 2·4 = 24 at t = 1, and just above it all three rounds rise; six are left for the last two
        ({"budget": 24, "mode": "fit", "growth": 2.0}, 8, [1, 2, 4], 24),
        ({"budget": 30, "mode": "fit", "growth": 2.0}, 8, [1, 2, 7], 30),
        ({"budget": 37, "mode": "fit", "growth": 2.0}, 8, [1, 2, 10], 36),
        # 8·2 + 4·3 + 2·5 = 38 up to t = 5/4
        ({"budget": 38, "mode": "fit", "growth": 2.0}, 8, [2, 3, 5], 38),
        ({"budget": 9, "mode": "fit", "growth": 2.0}, 1, [9], 9),
    ],
)
def test_plans_that_can_be_checked_by_hand(configuration, n_arms, plan, pulls):
    policy = SequentialHalving(**configuration)
    assert policy.players(n_arms) == n_arms
    assert policy.plan(n_arms) == plan
    assert spent(n_arms, plan) == pulls <= policy.budget


@pytest.mark.parametrize(
    ("configuration", "n_arms", "players"),
    [
        ({"budget": 1}, 128, 1),
        ({"budget": 23}, 128, 7),  # 7 arms need 7·3 = 21, 8 arms 24
        ({"budget": 24}, 128, 8),
        ({"budget": 895}, 128, 127),
        ({"budget": 655, "mode": "paper", "growth": 1.7}, 128, 127),
        ({"budget": 11, "mode": "paper", "growth": 2.0}, 4, 3),  # rounds of 3 and 2 arms: 3·1 + 2·2 = 7
        ({"budget": 23, "mode": "fit", "growth": 2.0}, 8, 7),  # 7, 4 and 2 arms: 7·1 + 4·2 + 2·4 = 23
        ({"budget": 22, "mode": "fit", "growth": 2.0}, 8, 6),
    ],
)
def test_a_budget_too_small_for_all_lets_a_subset_play_as_large_as_fits(configuration, n_arms, players):
    policy = SequentialHalving(**configuration)
    assert policy.players(n_arms) == players
    live = Live(policy, n_arms)
    asked = set()
    while (job := live.ask()) is not None:
        asked.add(job[0])
        live.tell(*job, 0.0)
    assert asked == set(range(players))  # numbers are exchangeable: these are a random subset


@EXAMPLES
@given(budget=st.integers(1, 3_000), n_arms=st.integers(1, 200), kind=st.sampled_from(sorted(WEIGHTS)))
@example(budget=30, n_arms=8, kind="fit 2")
@example(budget=71, n_arms=13, kind="fit 1.5")  # at t = 4/3 the second and the third round would rise together
def test_plans_are_those_of_the_reference_and_keep_the_budget(budget, n_arms, kind):
    configuration, weight = WEIGHTS[kind]
    policy = SequentialHalving(budget=budget, **configuration)
    players, plan = plan_of(configuration["mode"], budget, n_arms, weight)
    assert policy.players(n_arms) == players
    assert policy.plan(players) == plan
    assert spent(players, plan) <= budget
    if configuration["mode"] == "fit":
        assert budget - spent(players, plan) < 2  # the remainder goes to the last two, but for an odd pull


REWARDS = {
    "continuous": lambda rng, times: rng.gauss(0.0, times**0.5),
    "halves": lambda rng, times: rng.randint(0, 2 * times) / 2,
    "all or nothing": lambda rng, times: float(times * rng.randrange(2)),
    "all equal": lambda _rng, _times: 0.0,
}


@EXAMPLES
@given(
    budget=st.integers(1, 600),
    n_arms=st.integers(1, 60),
    kind=st.sampled_from(["karnin", "paper 1.7", "fit 1.7"]),
    rewards=st.sampled_from(sorted(REWARDS)),
    seed=st.integers(0, 2**32),
)
def test_every_job_and_recommendation_is_that_of_the_reference(budget, n_arms, kind, rewards, seed):
    configuration, weight = WEIGHTS[kind]
    rng = random.Random(seed)
    live = Live(SequentialHalving(budget=budget, **configuration), n_arms, seed)
    players, plan = plan_of(configuration["mode"], budget, n_arms, weight)
    reference = SequentialHalvingReference(players, plan, Stream(live.ties()))
    assert live.recommend() is None
    while (job := live.ask()) is not None:
        assert job == reference.ask()
        total = REWARDS[rewards](rng, job[1])
        live.tell(*job, total)
        reference.tell(total)
        assert live.recommend() == reference.recommend()
    assert reference.ask() is None
    assert live.ties() == (*reference.ties.x, *reference.ties.y)


@EXAMPLES
@given(n_arms=st.integers(2, 20), workers=st.integers(1, 30), seed=st.integers(0, 2**32))
def test_the_order_of_tells_within_a_round_changes_nothing(n_arms, workers, seed):
    rng = random.Random(seed)
    policy = SequentialHalving(budget=30 * n_arms)
    sums = [[rng.gauss(arm % 5, 1.0) for arm in range(n_arms)] for _ in range(10)]
    orderly, mixed = Live(policy, n_arms), Live(policy, n_arms)
    rounds = {}
    while (job := orderly.ask()) is not None:
        rounds.setdefault(job[1], []).append(job[0])
        orderly.tell(*job, sums[len(rounds) - 1][job[0]])
    for number, (times, arms) in enumerate(rounds.items()):
        open_jobs, met = [], []
        while open_jobs or len(met) < len(arms):
            while len(open_jobs) < workers and (job := mixed.ask()) is not None:
                assert job[1] == times
                open_jobs.append(job[0])
                met.append(job[0])
            arm = open_jobs.pop(rng.randrange(len(open_jobs)))
            part = rng.randint(0, times - 1)
            if part:
                mixed.tell(arm, part, 0.0)
            mixed.tell(arm, times - part, sums[number][arm])
        assert met == arms
    assert mixed.ask() is None
    assert mixed.recommend() == orderly.recommend()


@EXAMPLES
@given(n_arms=st.integers(1, 16), workers=st.integers(1, 6), seed=st.integers(0, 2**32))
def test_withdrawn_arms_are_neither_asked_for_nor_recommended(n_arms, workers, seed):
    rng = random.Random(seed)
    live = Live(SequentialHalving(budget=20 * n_arms), n_arms)
    open_jobs, gone, told, pulls = [], set(), set(), 0
    while True:
        while len(open_jobs) < workers and (job := live.ask()) is not None:
            assert job[0] not in gone
            assert job[0] not in [arm for arm, _ in open_jobs]
            open_jobs.append(job)
        if not open_jobs:
            break
        arm, times = open_jobs.pop(rng.randrange(len(open_jobs)))
        live.tell(arm, times, float(rng.randrange(3) * times))
        told.add(arm)
        pulls += times
        if rng.random() < 0.2:
            arm = rng.randrange(n_arms)
            live.drop(arm)
            live.drop(arm)  # the second time is no news
            gone.add(arm)
            open_jobs = [job for job in open_jobs if job[0] != arm]
        best = live.recommend()
        assert best not in gone
        assert best is None or best in told
        if told - gone and len(gone) == 0:
            assert best is not None
    assert pulls <= 20 * n_arms


def test_a_round_ends_without_the_arm_that_is_withdrawn():
    live = Live(SequentialHalving(budget=24), 8)  # rounds of 8, 4, 2 arms with 1, 2, 4 pulls
    for arm in range(7):
        assert live.ask() == (arm, 1)
        live.tell(arm, 1, float(arm))
    assert live.ask() == (7, 1)
    assert live.ask() is None  # the round's last arm is out
    assert live.recommend() == 6
    live.drop(7)
    assert [live.ask() for _ in range(4)] == [(6, 2), (5, 2), (4, 2), (3, 2)]
    live.drop(6)
    assert live.recommend() == 5  # the next of the last complete round
    for arm in (5, 4, 3):
        live.tell(arm, 2, -float(arm))
    assert live.recommend() == 3
    assert [live.ask() for _ in range(3)] == [(3, 4), (4, 4), None]
    live.tell(3, 4, 0.0)
    live.tell(4, 4, 1.0)
    assert live.recommend() == 4
    assert live.ask() is None
    for arm in range(8):
        live.drop(arm)
    assert live.recommend() is None


def test_when_the_better_half_is_withdrawn_the_rest_of_the_last_complete_round_stands():
    live = Live(SequentialHalving(budget=24), 8)
    for arm in range(8):
        live.tell(*live.ask(), float(arm))
    for arm in (7, 6, 5):
        assert live.recommend() == arm
        live.drop(arm)
    assert live.recommend() == 4
    live.drop(4)  # nobody is left in the second round
    assert live.recommend() == 3


def test_an_arm_withdrawn_before_it_was_met_is_counted_out():
    live = Live(SequentialHalving(budget=8), 4)
    live.add(-1)  # the driver counts one less
    assert [live.ask() for _ in range(4)] == [(0, 1), (1, 1), (2, 1), None]
    for arm in range(3):
        live.tell(arm, 1, float(arm))
    assert [live.ask() for _ in range(3)] == [(2, 2), (1, 2), None]


@pytest.mark.parametrize("told", [1, 3, 4])
def test_equals_are_recommended_alike(told):
    # Whatever part of the round is in, its arms are equal. χ² of 3,000 runs exceeds these bounds (0, 2 and 3 degrees of
    # freedom) with chance 1e-6 each, the false-alarm rate.
    bound = {1: 0.0, 3: 27.7, 4: 30.7}[told]
    runs, found = 3_000, Counter()
    live = Live(SequentialHalving(budget=8), 4)
    streams = spawn(6, 0, runs)
    for replicate in range(runs):
        live.state.ties[:] = streams[replicate, TIES]
        live.rule.reset(live.state)
        for _ in range(told):
            live.tell(*live.ask(), 1.0)
        found[live.recommend()] += 1
    expected = runs / told
    assert sorted(found) == list(range(told))
    assert sum((count - expected) ** 2 for count in found.values()) / expected <= bound


def test_equals_are_recommended_alike_after_a_withdrawal():
    # Arms 0 and 1 share the lead, the one that leads less luckily is withdrawn, then arm 2 draws level: one half each.
    # Of 4,000 runs a fair share is within 4.9 standard deviations, but for a false-alarm rate of 1e-6.
    runs, second = 4_000, 0
    live = Live(SequentialHalving(budget=8), 4)
    streams = spawn(7, 0, runs)
    for replicate in range(runs):
        live.state.ties[:] = streams[replicate, TIES]
        live.rule.reset(live.state)
        for _ in range(2):
            live.tell(*live.ask(), 1.0)
        live.drop(1 - live.recommend())
        live.tell(*live.ask(), 1.0)
        second += live.recommend() == 2
    assert abs(second - runs / 2) <= 4.9 * (runs / 4) ** 0.5


def test_reset_starts_the_same_run_again():
    live = Live(SequentialHalving(budget=200), 20)
    ties = live.state.ties.copy()

    def play():
        jobs = []
        while (job := live.ask()) is not None:
            live.tell(*job, float(job[0] % 3))
            jobs.append((job, live.recommend()))
        return jobs

    first = play()
    live.state.ties[:] = ties
    live.rule.reset(live.state)
    assert live.recommend() is None
    assert play() == first


def test_before_the_first_job_ends_no_other_arm_than_the_one_pulled_is_recommended():
    live = Live(SequentialHalving(budget=100), 2)
    assert live.ask() == (0, 50)
    live.tell(0, 10, 1.0)
    assert live.recommend() in {None, 0}  # for None, who drives the rule says 0
    live.tell(0, 40, 1.0)
    assert live.recommend() == 0


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"budget": 0}, ["budget is 0", "at least 1"]),
        ({"budget": 2.5}, ["2.5", "whole number"]),
        ({"budget": 10, "mode": "half"}, ["'half'", "karnin, paper, fit"]),
        ({"budget": 10, "growth": 1.7}, ["karnin", "mode=paper"]),
        ({"budget": 10, "schedule": (1.0, 2.0)}, ["karnin", "mode=fit"]),
        ({"budget": 10, "mode": "fit", "growth": 3.0}, ["3.0", "(1, 2]"]),
        ({"budget": 10, "mode": "paper", "schedule": "cubic"}, ["'cubic'"]),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_value_and_the_rule(wrong, words):
    with pytest.raises(InvalidInput) as refused:
        SequentialHalving(**wrong)
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize("n_arms", [0, -1, 2.5])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        SequentialHalving(budget=10).new(n_arms, 0, 8)
