"""Results that no job asked for, and results that are taken out: what every rule that can be amended makes of them."""

import math

import numpy as np
import pytest
from every_policy import AMENDABLE
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding import _compile
from boxthirding.policies import (
    POLICIES,
    Asha,
    BoxThirding,
    Chase,
    Prose,
    Uniform,
    box_thirding,
    boxes,
    chase_final,
    parse_policy,
    roster,
)
from boxthirding.policies.base_policy import arrays_of
from boxthirding.policies.noise import sigma
from boxthirding.policies.rivals import prose, subsets, uniform
from boxthirding.policies.rule_runner import LiveState
from boxthirding.types import NONE, WAIT

EXAMPLES = settings(max_examples=60, derandomize=True, deadline=None)
SPECS = (
    *AMENDABLE,
    *("b3:reuse=pool", "b3:reuse=topup", "prose:sigma=estimated"),
    *("klucb:subset=doubling", "ebtc:subset=doubling", "ash:subset=doubling"),
)
REMEMBER = tuple(spec for spec in SPECS if not parse_policy(spec).forgets)
ANSWER_OVER_ALL = tuple(spec for spec in REMEMBER if not spec.startswith("b3"))


def live(spec, arms, seed=0, capacity=2):
    return LiveState(parse_policy(spec), arms, seed, capacity)


def known(state, arm, *rewards):
    """Make results known."""
    state.amend(arm, len(rewards), sum(rewards), sum(reward * reward for reward in rewards))


def taken_out(state, arm, *rewards):
    state.amend(arm, -len(rewards), -sum(rewards), -sum(reward * reward for reward in rewards))


def tell(state, asked, reward):
    job, _, times = asked
    state.tell(job, times, times * reward, times * reward * reward)


def at(state, scalar):
    return int(state.arrays.scalars[scalar])


def test_a_policy_says_whether_it_can_be_amended_and_whether_it_forgets():
    told = {"budget": 50, "sigma": 1.0}
    policies = [kind(**{key: told[key] for key in told if key in kind.told}) for kind in POLICIES.values()]
    amendable = {"b3", "chase", "us", "prose", "asha", "klucb", "lilucb", "ebtc", "ash"}
    assert amendable <= {policy.name for policy in policies if policy.rule.amend}
    assert amendable & {policy.name for policy in policies if policy.forgets} == {"b3", "asha"}
    assert not BoxThirding(reuse="pool").forgets
    assert not BoxThirding(reuse="topup").forgets


@pytest.mark.parametrize("spec", ANSWER_OVER_ALL)
def test_an_arm_with_known_results_can_be_the_answer_at_once(spec):
    state = live(spec, 1_000_000)
    known(state, 5, 0.75, 0.5)
    known(state, 2, 0.25)
    assert state.recommend() == 5
    assert state.ranking() == [5, 2]
    known(state, 9, 3.0, 3.0)
    assert state.recommend() == 9


@pytest.mark.parametrize("spec", SPECS)
def test_a_record_alone_is_no_result(spec):
    state = live(spec, 100)
    state.amend(7, 0, 0.0, 0.0)
    assert state.recommend() == NONE
    assert state.ranking() == []
    assert state.ask()[1] in (
        range(8) if spec.startswith(("prose", "klucb", "lilucb")) else [0]
    )  # which has met all eight


@pytest.mark.parametrize("reuse", ["none", "pool", "topup"])
def test_a_first_lift_is_free_when_its_pulls_are_known_and_asks_only_for_those_missing_else(reuse):
    policy = BoxThirding(effort=3.0, reuse=reuse)  # a lift to level 0 costs 3
    state = LiveState(policy, 10, 0)
    known(state, 0, 0.5, 0.5, 0.5, 0.25)
    known(state, 1, 0.25)
    asked = state.ask()
    assert asked[1:] == (1, 2)
    assert state.recommend() == 0  # it stands in Box(0, 0) already
    assert state.arrays.arms.place[0] == 0
    tell(state, asked, 1.0)
    assert (state.arrays.arms.pulls[1], state.arrays.arms.total[1]) == (3, 2.25)
    assert state.recommend() == 1
    assert state.ask()[1:] == (2, 3)


def lifted(reuse, extra):
    """Return the pulls asked for when an arm with so many extra results is lifted to level 1, which costs 6."""
    state = LiveState(BoxThirding(effort=3.0, reuse=reuse), 3, 0)
    for arm in range(3):
        tell(state, state.ask(), float(arm))
    known(state, 2, *[2.0] * extra)
    _, arm, times = state.ask()
    assert arm == 2
    return times


def test_later_lifts_pay_what_is_missing_only_when_topped_up():
    assert [lifted(reuse, 1) for reuse in ("none", "pool", "topup")] == [6, 6, 2]


def test_a_lift_under_way_keeps_what_it_waits_for():
    state = LiveState(BoxThirding(effort=3.0), 10, 0)
    job, arm, times = state.ask()
    state.tell(job, 1, 1.0, 1.0)
    known(state, arm, 5.0, 5.0)
    assert state.arrays.jobs.due[arm] == times - 1
    state.tell(job, 2, 2.0, 2.0)
    assert (state.arrays.arms.pulls[arm], state.arrays.arms.total[arm]) == (
        5,
        13.0,
    )  # the first LIFT joins what is known


def test_a_later_lift_of_the_paper_replaces_what_was_known():
    state = LiveState(BoxThirding(), 3, 0)
    for arm in range(3):
        known(state, arm, float(arm))
    job, arm, times = state.ask()
    assert arm == 2
    state.tell(job, times, 0.5 * times, 0.25 * times)
    assert (state.arrays.arms.pulls[2], state.arrays.arms.total[2]) == (times, 0.5 * times)


def test_asha_counts_known_results_in_the_first_stay():
    state = LiveState(Asha(growth=2.0), 10, 0)
    known(state, 0, 0.5, 0.75)
    asked = state.ask()
    assert asked[1:] == (1, 1)
    assert state.recommend() == 0
    tell(state, asked, 0.25)
    assert state.ask()[1:] == (0, 2)  # promoted, with fresh pulls


def test_asha_amends_the_latest_stay_that_has_ended_and_a_promoted_one_stays_promoted():
    state = LiveState(Asha(growth=2.0), 10, 0)
    for reward in (0.5, 0.25):
        tell(state, state.ask(), reward)
    job, arm, times = state.ask()
    assert (arm, times) == (0, 2)
    known(state, 0, -9.0)  # its stay at rung 0: the one above is under way
    assert state.recommend() == 1
    assert state.ask()[1] == 1  # the better half of rung 0 now
    state.tell(job, 2, 2.0, 2.0)
    assert state.recommend() == 0
    taken_out(state, 0, 1.0, 1.0)
    assert state.recommend() == 1  # no result of its latest stay is left


def test_a_turn_of_an_arm_that_has_had_more_is_passed_over():
    state = LiveState(Uniform(), 4, 0)
    known(state, 1, 0.0, 0.0)
    known(state, 2, 0.0)
    turns = []
    for _ in range(9):
        asked = state.ask()
        turns.append(asked[1])
        tell(state, asked, 0.0)
    assert turns == [0, 3, 0, 2, 3, 0, 1, 2, 3]


def test_prose_meets_every_arm_up_to_an_amended_one():
    state = LiveState(Prose(0.5), 100, 0)
    known(state, 2, 0.5, 0.5)
    assert (at(state, prose.SEEN), at(state, prose.LIVE), at(state, prose.ASKED)) == (3, 3, 2)
    assert [state.arrays.tree.upper[arm] for arm in (0, 1)] == [math.inf, math.inf]
    first = state.ask()
    assert first[1] == 2  # Z is 1
    bold = state.ask()[1]  # of all three, those without a result are the boldest
    assert bold in (0, 1)
    assert [state.arrays.tree.upper[arm] for arm in (bold, 1 - bold)] == [-math.inf, math.inf]


@pytest.mark.parametrize("spec", SPECS)
def test_withdrawn_arms_with_known_results_are_passed_over(spec):
    state = live(spec, 12, capacity=1)
    for arm in range(8):
        known(state, arm, 0.125 * arm)
    for arm in (0, 1, 4, 7):
        state.drop(arm)
        state.drop(arm)
    pulled = set()
    for _ in range(200):
        asked = state.ask()
        if asked[0] == WAIT:
            break
        pulled.add(asked[1])
        tell(state, asked, 0.25)
    assert pulled <= {2, 3, 5, 6, 8, 9, 10, 11}
    assert {8, 9, 10, 11} <= pulled
    assert not {0, 1, 4, 7} & {state.recommend(), *state.ranking()}


@pytest.mark.parametrize("spec", SPECS)
def test_with_every_arm_withdrawn_before_it_was_met_the_rule_waits(spec):
    state = live(spec, 3)
    for arm in (2, 0, 1):
        known(state, arm, 1.0)
        state.drop(arm)
    assert state.ask()[0] == WAIT
    assert state.recommend() == NONE
    state.n_arms = 4
    assert state.ask()[1] == 3


@pytest.mark.parametrize("spec", SPECS)
def test_an_arm_whose_results_are_gone_is_no_answer_and_can_be_pulled_again(spec):
    state = live(spec, 6)
    told = {}
    for step in range(60):
        asked = state.ask()
        reward = 0.25 * asked[1] + 0.125 * (step % 2)
        told.setdefault(asked[1], []).extend([reward] * asked[2])
        tell(state, asked, reward)
    if state.policy.forgets:
        told = {arm: [0.0] * 1_000 for arm in told}  # more than there is
    for arm, rewards in told.items():
        taken_out(state, arm, *rewards)
        assert arm != state.recommend()
        assert arm not in state.ranking()
    state.amend(NONE, 0, 0.0, 0.0)
    if state.policy.forgets:
        return
    assert state.recommend() == NONE
    for array in arrays_of(state.arrays).values():
        assert not np.isnan(array).any()
    for _ in range(30):
        asked = state.ask()
        tell(state, asked, 0.5)
    assert state.recommend() != NONE


def test_box_thirding_answers_from_the_next_box_that_has_a_result():
    state = LiveState(BoxThirding(reuse="topup"), 4, 0)
    for _ in range(5):
        asked = state.ask()
        tell(state, asked, float(asked[1] == 2))
    assert state.arrays.arms.place[[2, 3]].tolist() == [boxes.WIDTH, 0]
    assert state.recommend() == 2
    taken_out(state, 2, 1.0, 1.0)
    assert state.arrays.arms.place[2] == boxes.WIDTH
    assert state.recommend() == 3  # in Box(0, 0)
    known(state, 2, 1.0)
    assert state.recommend() == 2


def test_an_arm_is_met_with_the_record_it_has():
    state = LiveState(Chase(), 100, 0)
    known(state, 1, 0.5, 0.25)
    luck = state.arrays.tree.luck[:2].tolist()
    for _ in range(12):
        tell(state, state.ask(), 0.25)
    assert state.arrays.tree.luck[:2].tolist() == luck
    assert state.arrays.arms.pulls[1] >= 2
    assert at(state, roster.SEEN) > 2


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("arm", [0, 1, 2, 63, 64, 1_000])
def test_there_is_room_for_any_arm(spec, arm):
    narrow, roomy = live(spec, 2_000, capacity=1), live(spec, 2_000, capacity=2_000)
    for state in (narrow, roomy):
        known(state, arm, 0.5)
    assert narrow.ranking() == roomy.ranking() == [arm]
    assert [narrow.ask() for _ in range(20)] == [roomy.ask() for _ in range(20)]


@pytest.mark.parametrize("spec", ["klucb:subset=doubling", "ebtc:subset=doubling"])
def test_known_results_count_for_the_next_doubling_of_a_subset(spec):
    state = live(spec, 1_000)
    known(state, 0, *[0.5] * 30)
    assert at(state, subsets.LEVEL) == 1
    tell(state, state.ask(), 0.5)
    assert at(state, subsets.LEVEL) == 4  # 31 results: 8 arms until 24, 16 until 64


class Account:
    """A state, and all results that count."""

    def __init__(self, spec, arms, seed):
        self.state = live(spec, arms, seed)
        self.results = {}
        self.open = []

    def ask(self):
        asked = self.state.ask()
        if asked[0] != WAIT:
            self.open.append([*asked])

    def tell(self, which, reward):
        if self.open:
            job = self.open[which % len(self.open)]
            self.state.tell(job[0], 1, reward, reward * reward)
            self.results.setdefault(job[1], []).append(reward)
            job[2] -= 1
            self.open = [job for job in self.open if job[2]]

    def add(self, arm, reward):
        known(self.state, arm, reward)
        self.results.setdefault(arm, []).append(reward)

    def take_out(self, arm, which):
        if rewards := self.results.get(arm):
            taken_out(self.state, arm, rewards.pop(which % len(rewards)))

    def correct(self, arm, which, new):
        if rewards := self.results.get(arm):
            old = rewards[which % len(rewards)]
            self.state.amend(arm, 0, new - old, new * new - old * old)
            rewards[which % len(rewards)] = new

    def sums(self):
        """Return (pulls, total) of every arm with a result, as the state has it, lifts under way included."""
        arrays, origin = self.state.arrays, 0.0
        if hasattr(arrays, "facts"):
            origin = float(arrays.facts[chase_final.ORIGIN])
        found = {}
        for arm in range(len(arrays.arms.pulls)):
            pulls, total = int(arrays.arms.pulls[arm]), float(arrays.arms.total[arm])
            if hasattr(arrays, "jobs") and arm < arrays.scalars[roster.KNOWN] and arrays.jobs.due[arm] > 0:
                pulls += int(arrays.jobs.pulls[arm])
                total += float(arrays.jobs.total[arm])
            if arm in self.results and pulls:
                found[arm] = (pulls, total + origin * pulls)
        return found


dyadic = st.integers(-4096, 4096).map(lambda number: number / 1024)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask")),
        st.tuples(st.just("tell"), st.integers(0, 9), dyadic),
        st.tuples(st.just("add"), st.integers(0, 11), dyadic),
        st.tuples(st.just("take_out"), st.integers(0, 11), st.integers(0, 9)),
        st.tuples(st.just("correct"), st.integers(0, 11), st.integers(0, 9), dyadic),
    ),
    max_size=120,
)


@pytest.mark.parametrize("spec", REMEMBER)
@EXAMPLES
@given(steps=steps, seed=st.integers(0, 9))
def test_the_state_has_the_sums_of_all_results(spec, steps, seed):
    account = Account(spec, 12, seed)
    for verb, *arguments in steps:
        getattr(account, verb)(*arguments)
        assert account.sums() == {arm: (len(told), sum(told)) for arm, told in account.results.items() if told}
        assert not any(np.isnan(array).any() for array in arrays_of(account.state.arrays).values())


def facts(state):
    """Return σ, m and the repeats of chase, worked out now."""
    arrays = state.arrays
    repeats = int(arrays.noise.repeats[0])
    return sigma(arrays.noise, arrays.arms.pulls, at(state, roster.KNOWN)), chase_final.centre(arrays), repeats


@EXAMPLES
@given(jobs=st.lists(dyadic, max_size=60), extra=st.lists(st.tuples(st.integers(0, 11), dyadic), max_size=12))
def test_chase_learns_as_if_what_was_taken_out_had_never_been_there(jobs, extra):
    state = LiveState(Chase(), 12, 0)
    for reward in jobs:
        tell(state, state.ask(), reward)
    before = facts(state), state.recommend(), state.ranking(), at(state, chase_final.TOLD)
    for arm, reward in extra:
        known(state, arm, reward)
    for arm, reward in extra:
        taken_out(state, arm, reward)
    assert (facts(state), state.recommend(), state.ranking(), at(state, chase_final.TOLD)) == before


def test_chase_takes_noise_from_results_that_were_known():
    state = LiveState(Chase(), 1_000, 0)
    for arm in range(50):
        known(state, arm, 10.0 * arm - 0.5, 10.0 * arm + 0.5)
    state.amend(NONE, 0, 0.0, 0.0)
    assert state.arrays.facts[chase_final.SIGMA] == pytest.approx(math.sqrt(0.5))
    assert state.arrays.facts[chase_final.CENTRE] == pytest.approx(245.0)  # the first one's is 0
    assert state.recommend() == 49


def refits(amended, told=160):
    """Tell whether the end of a batch of so many amendments has everything worked out anew."""
    state = LiveState(Chase(), 10_000, 0)
    for k in range(told):
        tell(state, state.ask(), 0.25 * (k % 7))
    due = at(state, chase_final.NEXT_FIT)
    for _ in range(amended):
        state.amend(0, 0, 0.125, 0.5)
    state.amend(NONE, 0, 0.0, 0.0)
    return at(state, chase_final.NEXT_FIT) != due


def test_a_batch_has_everything_worked_out_anew_only_if_it_is_large():
    told = 160
    state = LiveState(Chase(), 10_000, 0)
    for k in range(told):
        tell(state, state.ask(), 0.25 * (k % 7))
    results = at(state, chase_final.TOLD)
    assert not refits(results // 8 - 1)
    assert refits(-(-results // 8))


@pytest.mark.skipif(not _compile.available(), reason="numba is not installed")
@pytest.mark.parametrize("spec", SPECS)
def test_amend_compiles_and_does_the_same(spec):
    policy = parse_policy(spec)
    one, other = (policy.new(40, 3, 40) for _ in range(2))
    amend = _compile.compiled(policy.rule.amend)
    rng = np.random.default_rng(1)
    for _ in range(12):
        job, arm, times = policy.rule.ask(one)
        assert (job, arm, times) == policy.rule.ask(other)
        for state in (one, other):
            policy.rule.tell(state, job, times, 0.1 * times * arm, 0.01 * times * arm * arm)
        arm, reward = int(rng.integers(0, 40)), float(rng.normal())
        for arguments in ((arm, 1, reward, reward * reward), (arm, 0, 0.1, 0.3), (NONE, 0, 0.0, 0.0)):
            assert policy.rule.amend(one, *arguments) == amend(other, *arguments)
    for mine, theirs in zip(arrays_of(one).values(), arrays_of(other).values(), strict=True):
        assert mine.tobytes() == theirs.tobytes()


def test_uniform_sampling_looks_again_when_the_best_arm_was_amended():
    state = LiveState(Uniform(), 3, 0)
    for reward in (0.25, 0.5, 0.75):
        tell(state, state.ask(), reward)
    state.amend(2, 0, -0.5, 0.0)
    assert state.recommend() == 1
    assert at(state, uniform.STALE) == 0


def test_an_arm_that_is_gone_is_not_amended():
    for spec in SPECS:
        state = live(spec, 5)
        known(state, 3, 9.0)
        state.drop(3)
        known(state, 3, 9.0)
        assert state.recommend() == NONE
        assert state.ranking() == []


def test_only_the_first_of_the_paper_s_lifts_adds_to_what_is_known():
    assert box_thirding.REUSES["none"] == box_thirding.FRESH
    state = LiveState(BoxThirding(), 9, 0)
    known(state, 0, 0.5)
    assert state.arrays.arms.place[0] == boxes.NEW
    state.ask()
    assert state.arrays.arms.place[0] == 0


def test_a_result_of_the_lift_under_way_can_be_taken_out():
    state = LiveState(BoxThirding(effort=3.0, reuse="topup"), 10, 0)
    job, arm, times = state.ask()
    assert times == 3
    state.tell(job, 1, 1.0, 1.0)
    state.tell(job, 1, 9.0, 81.0)
    taken_out(state, arm, 9.0)
    state.tell(job, 1, 2.0, 4.0)
    assert state.arrays.arms.pulls[arm] == 2
    assert state.recommend() == arm


def test_a_result_of_a_job_of_the_chase_under_way_can_be_taken_out():
    state = LiveState(Chase(), 1_000, 0)
    times, told = 1, 0.0
    while times < 3:  # until a job of the chase has several pulls
        job, arm, times = state.ask()
        if times < 3:
            told += 1.0
            tell(state, (job, arm, times), float(arm % 7) + told % 3)
    pulls, total = int(state.arrays.arms.pulls[arm]), float(state.arrays.arms.total[arm])
    origin = float(state.arrays.facts[chase_final.ORIGIN])
    state.tell(job, 1, 1.0, 1.0)
    state.tell(job, 1, 9.0, 81.0)
    taken_out(state, arm, 9.0)
    state.tell(job, times - 2, 2.0 * (times - 2), 4.0 * (times - 2))
    assert state.arrays.arms.pulls[arm] == pulls + times - 1
    assert state.arrays.arms.total[arm] == pytest.approx(total + 1.0 + 2.0 * (times - 2) - origin * (times - 1))


def test_a_corrected_arm_counts_in_m_with_the_mean_of_its_results():
    state = LiveState(Chase(), 10, 0)
    tell(state, state.ask(), 1.0)
    state.amend(0, 0, 2.0, 8.0)
    assert chase_final.centre(state.arrays) == 2.0  # counted from the first reward


def test_a_fit_renews_the_scores_of_arms_that_were_not_met_too():
    state = LiveState(Chase(), 1_000, 0)
    for arm in range(50):
        known(state, arm, arm - 0.5, arm + 0.5)
    state.amend(NONE, 0, 0.0, 0.0)
    scores = state.arrays.leader.value.copy()
    for arm in range(50):
        known(state, arm, 1.0)
        taken_out(state, arm, 1.0)
    assert state.arrays.leader.value.tolist() == scores.tolist()


def test_an_arm_of_asha_that_is_promoted_is_not_promoted_again_for_a_better_mean():
    state = LiveState(Asha(growth=2.0), 10, 0)
    for reward in (0.5, 0.25):
        tell(state, state.ask(), reward)
    assert state.ask()[1] == 0
    known(state, 0, 9.0)
    assert state.ask()[1] == 2  # a new one


def test_asha_goes_on_with_an_arm_without_a_result_when_there_is_no_other():
    state = LiveState(Asha(), 1, 0)
    tell(state, state.ask(), 0.5)
    taken_out(state, 0, 0.5)
    assert state.recommend() == NONE
    assert state.ask()[1] == 0
