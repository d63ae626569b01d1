"""Box Thirding with one job in flight: the published vectors, then job by job against the naive reference."""

import copy
import math
import random
from collections import Counter

import pytest
from driving import Live
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference_box_thirding import BoxThirdingReference, cost_of
from reference_stream import Stream

from boxthirding.errors import InvalidInput
from boxthirding.policies import BoxThirding
from boxthirding.policies.box_thirding import BASE, FULL, PILE, SEEN, TOP, WIDTH
from boxthirding.rng import TIES, spawn
from boxthirding.types import GROW, NONE, WAIT

EXAMPLES = settings(max_examples=150, derandomize=True, deadline=None)

LARGE = (
    "N1 N2 N3 A00@5 N6 N7 N8 A00@10 N11 N12 N13 A00@15 N16 A10@19 A01@21 N22 N23 A00@25 N26 N27 N28 A00@30 N31 A10@34 "
    "N35 N36 A00@38 N39 A01@41 N42 N43 A00@45 N46 A10@49 N50 A20@56 A11@59 N60 A00@62 N63 N64 N65 A00@67 N68 A01@70"
)
ONE = "N1 U N3 U N6 U N12"
THREE = "N1 N2 N3 A00@5 U N7 N9 A10@12 U N15 N18 A20@24 U N30"
NINE = (
    "N1 N2 N3 A00@5 N6 N7 N8 A00@10 N11 N12 N13 A00@15 A10@18 A01@20 U N22 N24 A10@27 N29 N31 N33 A10@36 A20@42 A11@45 "
    "U N48 N51 A20@57 N60"
)

# T: c₀, arms introduced, L
CANDIDATES = {
    6: (3, 4, 1),
    10: (6, 6, 1),
    20: (9, 10, 2),
    100: (33, 37, 3),
    500: (93, 136, 5),
    1_000: (189, 246, 6),
    5_000: (774, 990, 8),
    10_000: (1554, 1880, 9),
    20_000: (3114, 3583, 10),
}


class Run(Live):
    """One job at a time, with what a reader of the trace wants to know."""

    def __init__(self, policy, n_arms, **options):
        super().__init__(policy, n_arms, **options)
        self.spent = 0
        self.trace = []  # as in the vectors above
        self.arranged = []  # (box, lifted, shifted, discarded) of every ARRANGE

    def step(self, reward):
        """Ask for a job and tell it; `reward(arm, times)` is its sum."""
        base = self.at(BASE)
        arm, times = self.ask()
        self.trace += ["U"] * (self.at(BASE) - base)
        others = int(self.state.lifts.middle[arm]), int(self.state.lifts.worst[arm])
        box = int(self.state.arms.place[arm])
        self.spent += times
        if others == (NONE, NONE):
            self.trace.append(f"N{self.spent}")
        else:
            self.arranged.append((box, arm, *others))
            self.trace.append(f"A{box // WIDTH}{box % WIDTH}@{self.spent}")
        self.tell(arm, times, reward(arm, times))
        return arm, times

    def box(self, level, j):
        """Return the arms of Box(level, j) in order of entry; j = PILE is the pile of the level."""
        arms, arm = [], int(self.state.boxes.first[level * WIDTH + j])
        while arm != NONE:
            arms.append(arm)
            arm = int(self.state.boxes.after[arm])
        return arms


def gaussian(seed):
    rng = random.Random(seed)
    return lambda _arm, times: rng.gauss(0.0, math.sqrt(times))


def run_until(budget, n_arms, reward=None, **options):
    run = Run(BoxThirding(), n_arms, **options)
    reward = reward or gaussian(seed=1)
    while run.spent < budget:
        run.step(reward)
    return run


@pytest.mark.parametrize(("n_arms", "vector"), [(1, ONE), (3, THREE), (9, NINE), (10_000, LARGE)])
def test_commits_come_in_the_published_order(n_arms, vector):
    last = int(vector.split()[-1].strip("NA@").split("@")[-1])
    assert " ".join(run_until(last, n_arms).trace) == vector


@pytest.mark.parametrize(
    ("n_arms", "updates"),
    [(27, [74, 159, 301]), (128, [473, 959]), (1_024, [5_160, 10_031]), (5_513, [31_992])],
)
def test_base_updates_come_at_the_published_pulls(n_arms, updates):
    run = Run(BoxThirding(), n_arms)
    reward, found, base = gaussian(seed=2), [], 0
    while len(found) < len(updates):
        before = run.spent
        run.step(reward)
        found += [before] * (run.at(BASE) - base)
        base = run.at(BASE)
    assert found == updates


def test_the_worked_example_of_the_paper():
    rewards = {0: 0.2, 1: 0.9, 2: 0.5, 3: 1.0}
    run = Run(BoxThirding(), 5)
    jobs = [run.step(lambda arm, times: rewards[arm] * times) for _ in range(5)]
    assert jobs == [(0, 1), (1, 1), (2, 1), (1, 2), (3, 1)]
    assert run.spent == 6
    assert run.box(0, 0) == [3]
    assert run.box(0, 1) == [2]
    assert run.box(1, 0) == [1]
    assert run.box(0, PILE) == [0]
    assert run.recommend() == 1  # not arm 3, whose mean is larger


def test_a_lift_costs_what_its_level_of_arrival_costs():
    costs = [1, 2, 3, 6, 9, 16, 27, 47, 80]
    run = Run(BoxThirding(), 10_000)
    reward, seen = gaussian(seed=3), set()
    while run.spent < 3_000:
        arm, times = run.step(reward)
        level = int(run.state.arms.place[arm]) // WIDTH
        assert times == costs[level]
        seen.add(level)
    assert seen == set(range(8))


def test_candidate_set_arms_introduced_and_top_level_at_each_budget():
    rows = candidate_rows(n_arms=10_000, budget=20_000)
    found = {budget: next(row for spent, *row in reversed(rows) if spent <= budget) for budget in CANDIDATES}
    assert found == {budget: list(row) for budget, row in CANDIDATES.items()}


def candidate_rows(n_arms, budget):
    """Return (pulls, c₀, arms introduced, L) by commit; an ARRANGE gives the union of its three sets to all three."""
    run, reward = Run(BoxThirding(), n_arms), gaussian(seed=4)
    candidates = []  # by arm, the arms that it may stand for, one bit each
    rows = []
    while run.spent <= budget:
        known = len(run.arranged)
        run.step(reward)
        candidates += [1 << arm for arm in range(len(candidates), run.at(SEEN))]
        for _, lifted, shifted, discarded in run.arranged[known:]:
            union = candidates[lifted] | candidates[shifted] | candidates[discarded]
            candidates[lifted] = candidates[shifted] = candidates[discarded] = union
        top = run.at(TOP)
        may_win = 0
        for arm in run.box(top, 0):
            may_win |= candidates[arm]
        rows.append((run.spent, may_win.bit_count(), run.at(SEEN), top))
    return rows


REWARDS = {
    "continuous": lambda rng, _arm, times: rng.gauss(0.0, math.sqrt(times)),
    "arms differ": lambda rng, arm, times: rng.gauss(times * (arm % 7), math.sqrt(times)),
    "halves": lambda rng, _arm, times: rng.randint(0, 2 * times) / 2,
    "all or nothing": lambda rng, _arm, times: float(times * rng.randrange(2)),
    "no noise": lambda _rng, arm, times: float(times * (arm % 3)),
    "all equal": lambda _rng, _arm, _times: 0.0,
}

growths = st.sampled_from([None, 1.05, 1.5, 1.7, 2.0])
configurations = st.fixed_dictionaries(
    {
        "schedule": st.sampled_from(["geometric", "linear", (1.0, 4.0, 9.0), (3.0, 1.0, 0.5, 7.5)]),
        "growth": growths,
        "effort": st.sampled_from([0.01, 0.1, 0.3, 0.9, 1.0, 1.0, 2.5, 5.0]),
        "reuse": st.sampled_from(["none", "pool", "topup"]),
    }
)


@settings(EXAMPLES, max_examples=600)
@given(
    n_arms=st.integers(1, 60),
    budget=st.integers(1, 600),
    configuration=configurations,
    rewards=st.sampled_from(sorted(REWARDS)),
    seed=st.integers(0, 2**32),
)
def test_every_job_and_recommendation_is_that_of_the_reference(n_arms, budget, configuration, rewards, seed):
    follow_the_reference(n_arms, budget, configuration, rewards, seed)


@pytest.mark.parametrize("reuse", ["none", "pool", "topup"])
@pytest.mark.parametrize(("n_arms", "rewards"), [(7, "all equal"), (40, "halves"), (150, "arms differ")])
def test_long_runs_are_those_of_the_reference(n_arms, rewards, reuse):
    follow_the_reference(n_arms, 4_000, {"reuse": reuse}, rewards, seed=n_arms)


def follow_the_reference(n_arms, budget, configuration, rewards, seed):
    rng = random.Random(seed)
    live = Live(BoxThirding(**configuration), n_arms, seed)
    reuse = configuration["reuse"]
    costs = cost_of(**{key: value for key, value in configuration.items() if key != "reuse"})
    reference = BoxThirdingReference(n_arms, Stream(live.ties()), costs, reuse)
    assert live.recommend() is None
    spent = 0
    while spent < budget:
        arm, times = live.ask()
        assert (arm, times) == reference.ask()
        assert live.recommend() == reference.recommend()
        assert live.at(BASE) == reference.base
        assert live.ties() == (*reference.ties.x, *reference.ties.y)
        total = REWARDS[rewards](rng, arm, times)
        live.tell(arm, times, total)
        reference.tell(total)
        if reuse != "topup":  # there the reference goes on to LIFTs without pulls, the rule when it is asked
            assert live.recommend() == reference.recommend()
        spent += times


@EXAMPLES
@given(n_arms=st.integers(1, 120), capacity=st.integers(1, 120), reuse=st.sampled_from(["none", "topup"]))
@example(n_arms=100, capacity=9, reuse="none")  # the tenth arm comes while Box(1, 0) is full
def test_room_changes_no_decision(n_arms, capacity, reuse):
    policy = BoxThirding(reuse=reuse, effort=0.5)
    narrow, wide = Run(policy, n_arms, capacity=capacity), Run(policy, n_arms, capacity=n_arms)
    one, other = gaussian(seed=5), gaussian(seed=5)
    while wide.spent < 600:
        assert narrow.step(one) == wide.step(other)
        assert narrow.recommend() == wide.recommend()


def test_room_for_levels_grows_too():
    run = Run(BoxThirding(effort=1e-9, reuse="topup"), 2)
    reference = BoxThirdingReference(2, Stream(run.ties()), cost_of(effort=1e-9), "topup")
    levels = len(run.state.costs)
    for _ in range(12):
        arm, times = run.ask()
        assert (arm, times) == reference.ask()
        run.tell(arm, times, 0.5 * times)
        reference.tell(0.5 * times)
    assert run.at(BASE) > levels


def test_arms_from_an_iterator_are_the_same_run():
    known, unknown = Run(BoxThirding(), 1_000), Run(BoxThirding(), 1, capacity=1)
    one, other = gaussian(seed=6), gaussian(seed=6)
    for _ in range(600):
        assert known.step(one) == unknown.step(other)
        unknown.add(unknown.at(SEEN) + 1 - int(unknown.state.scalars[0]))  # always one above what was drawn


def test_reset_starts_the_same_run_again():
    run = Run(BoxThirding(reuse="pool"), 30, capacity=4)
    ties = run.state.ties.copy()
    reward = gaussian(seed=7)
    first = [run.step(reward) for _ in range(200)]
    run.state.ties[:] = ties
    run.rule.reset(run.state)
    assert run.recommend() is None
    reward = gaussian(seed=7)
    assert [run.step(reward) for _ in range(200)] == first


@EXAMPLES
@given(
    n_arms=st.integers(1, 80),
    reuse=st.sampled_from(["none", "pool", "topup"]),
    rewards=st.sampled_from(sorted(REWARDS)),
    seed=st.integers(0, 2**32),
)
def test_invariants_hold_after_every_job(n_arms, reuse, rewards, seed):
    rng = random.Random(seed)
    run = Run(BoxThirding(reuse=reuse), n_arms, seed=seed)
    costs = cost_of()
    top = 0
    pulled = Counter()
    while run.spent < 400:
        arm, times = run.step(lambda arm, times: REWARDS[rewards](rng, arm, times))
        pulled[arm] += times
        levels = range(run.at(TOP) + 1)
        places = {(level, j): run.box(level, j) for level in levels for j in (*range(8), PILE)}
        waiting = [arm for arm in range(run.at(SEEN)) if run.state.queued[arm] and run.state.arms.place[arm] == NONE]
        assert sorted(sum(places.values(), waiting)) == list(range(run.at(SEEN)))  # each in exactly one place
        assert all(len(arms) <= FULL for (_, j), arms in places.items() if j != PILE)
        assert run.at(TOP) >= top  # L never falls
        top = run.at(TOP)
        assert places[top, 0]
        assert not any(places[top, j] for j in range(1, 8))
        assert run.recommend() in places[top, 0]
        assert pulled.total() == run.spent
        behind = {arm: int(run.state.arms.pulls[arm]) for arm in pulled}
        if reuse == "none":
            assert all(behind[arm] == costs(level) for (level, _), arms in places.items() for arm in arms)
        else:
            assert behind == pulled


@EXAMPLES
@given(
    n_arms=st.integers(1, 60),
    reuse=st.sampled_from(["none", "pool", "topup"]),
    seeds=st.tuples(*[st.integers(0, 999)] * 2),
)
def test_which_box_acts_when_does_not_depend_on_the_rewards(n_arms, reuse, seeds):
    traces = []
    for seed, kind in zip(seeds, ("arms differ", "halves"), strict=True):
        rng = random.Random(seed)
        run = Run(BoxThirding(reuse=reuse), n_arms, seed=seed)
        while run.spent < 600:
            run.step(lambda arm, times, rng=rng, kind=kind: REWARDS[kind](rng, arm, times))
        traces.append(run.trace)
    assert traces[0] == traces[1]


@pytest.mark.parametrize(
    ("means", "outcomes"),
    [((0.5, 0.5, 0.5), 6), ((0.9, 0.9, 0.1), 2), ((0.9, 0.1, 0.1), 2), ((0.1, 0.9, 0.1), 2), ((0.1, 0.5, 0.9), 1)],
)
def test_ties_break_uniformly_at_random(means, outcomes):
    # χ² of 6,000 ARRANGEs; the bounds are the quantiles at 1 - 1e-6, so the false-alarm rate is 1e-6 for each case.
    runs = 6_000
    bound = {6: 35.9, 2: 24.0, 1: 0.0}[outcomes]
    policy = BoxThirding()
    state = policy.new(3, 0, 3)
    streams = spawn(2024, 0, runs)
    found = Counter()
    for replicate in range(runs):
        state.ties[:] = streams[replicate, TIES]
        policy.rule.reset(state)
        for arm in range(3):
            policy.rule.ask(state)
            policy.rule.tell(state, arm, 1, means[arm], means[arm] ** 2)
        lifted = int(policy.rule.ask(state)[0])
        found[lifted, int(state.lifts.middle[lifted]), int(state.lifts.worst[lifted])] += 1
    expected = runs / outcomes
    assert len(found) == outcomes
    assert all(means[a] >= means[b] >= means[c] for a, b, c in found)
    assert sum((count - expected) ** 2 for count in found.values()) / expected <= bound


def test_nothing_changes_before_the_last_pull_of_a_lift():
    policy = BoxThirding(effort=4.0)
    whole, parts = Live(policy, 20), Live(policy, 20)
    rng = random.Random(8)
    for _ in range(120):
        arm, times = whole.ask()
        assert parts.ask() == (arm, times)
        before = parts.recommend()
        rewards = [float(rng.randrange(4)) for _ in range(times)]
        for reward in rewards[:-1]:
            place = parts.state.arms.place.copy()
            parts.tell(arm, 1, reward)
            assert (parts.state.arms.place == place).all()
            if before is not None:
                assert parts.recommend() == before
        parts.tell(arm, 1, rewards[-1])
        whole.tell(arm, times, sum(rewards))
        assert parts.recommend() == whole.recommend()


def test_before_the_first_commit_no_other_arm_than_the_one_with_a_result_is_recommended():
    live = Live(BoxThirding(effort=5.0), 3)
    assert live.recommend() is None
    assert live.ask() == (0, 5)
    assert live.recommend() is None
    live.tell(0, 2, 1.0)
    assert live.recommend() in {None, 0}  # for None, who drives the rule says 0: S12
    live.tell(0, 3, 1.0)
    assert live.recommend() == 0


def test_a_lift_that_needs_no_pull_commits_at_once():
    live = Live(BoxThirding(effort=0.01, reuse="topup"), 9)  # levels 0 to 8 cost one pull in all
    for arm in range(9):
        assert live.ask() == (arm, 1)
        live.tell(arm, 1, float(arm))
    arm, times = live.ask()
    assert times == 1
    assert live.state.lifts.target[arm] == 9
    assert live.recommend() == 8


def test_a_wait_changes_nothing():
    policy, waits = BoxThirding(), 0
    for n_arms in range(1, 28):
        run, polled = Run(policy, n_arms), Run(policy, n_arms)
        one, other = gaussian(seed=9), gaussian(seed=9)
        while run.spent < 1_000:
            before = run.ask()
            assert polled.ask() == before
            run.spent += before[1]
            if copy.deepcopy(polled).ask() is None:
                assert polled.ask() is None
                waits += 1
            run.tell(*before, one(*before))
            polled.tell(*before, other(*before))
    assert waits > 100


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"reuse": "all"}, ["'all'", "none, pool, topup"]),
        ({"growth": 1.0}, ["1.0", "(1, 2]"]),
        ({"growth": 2.1}, ["2.1", "(1, 2]"]),
        ({"growth": math.nan}, ["nan", "(1, 2]"]),
        ({"effort": 0.0}, ["0.0", "above 0"]),
        ({"effort": math.inf}, ["inf", "above 0"]),
        ({"schedule": "cubic"}, ["'cubic'", "geometric, linear"]),
        ({"schedule": ()}, ["empty"]),
        ({"schedule": (1.0, -2.0)}, ["-2.0", "level 1"]),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_value_and_the_rule(wrong, words):
    with pytest.raises(InvalidInput) as refused:
        BoxThirding(**wrong)
    assert all(word in str(refused.value) for word in words)


@pytest.mark.parametrize("n_arms", [0, -1, 2.5, None])
def test_a_number_of_arms_below_one_is_refused(n_arms):
    with pytest.raises(InvalidInput, match="number of arms"):
        BoxThirding().new(n_arms, 0, 8)


def test_the_answers_that_are_no_job():
    policy = BoxThirding()
    state = policy.new(2, 0, 1)
    assert policy.rule.ask(state)[0] == 0
    assert policy.rule.ask(state)[0] == GROW
    state = policy.grow(state)
    assert policy.rule.ask(state)[0] == 1
    assert policy.rule.ask(state)[0] == WAIT
