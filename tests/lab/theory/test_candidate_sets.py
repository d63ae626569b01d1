"""Candidate sets: figures by hand, runs with random rewards, and how often good arms are missed."""

import math

import numpy as np
import pytest

from boxthirding.errors import InvalidInput
from boxthirding.lab.theory.candidate_sets import candidates, candidates_at
from boxthirding.lab.theory.sizes import promotions
from boxthirding.policies import BoxThirding, SequentialHalving, Uniform
from boxthirding.policies.boxes import BASE
from boxthirding.policies.lineage import record_for
from boxthirding.policies.rivals.brackets import OPENED
from boxthirding.policies.rivals.bsh import KEPT, BracketingSequentialHalving
from boxthirding.policies.rivals.prose import Prose
from boxthirding.screening import is_data_poor
from boxthirding.types import GROW, NONE

BSH = BracketingSequentialHalving()
NAMES = ["us", "b3", "bsh"]

TABLE = [  # pulls, c₀, arms introduced, L
    (6, 3, 4, 1),
    (10, 6, 6, 1),
    (20, 9, 10, 2),
    (100, 33, 37, 3),
    (500, 93, 136, 5),
    (1_000, 189, 246, 6),
    (5_000, 774, 990, 8),
    (10_000, 1_554, 1_880, 9),
    (20_000, 3_114, 3_583, 10),
]


def test_box_thirding_by_the_table():
    found = candidates_at(BoxThirding(), 10**6, [row[0] for row in TABLE])
    assert [(c.pulls, c.size, c.introduced, c.level) for c in found] == TABLE


@pytest.mark.parametrize(("pulls", "size", "introduced", "level"), TABLE)
def test_the_candidates_of_every_level_lead_to_the_top(pulls, size, introduced, level):
    assert pulls > introduced >= size
    assert len(promotions(size)) == level + 1


def test_the_first_pulls_by_hand():
    found = candidates_at(BoxThirding(), 100, range(7))
    assert [(c.size, c.level) for c in found] == [(0, None), (1, 0), (2, 0), (3, 0), (3, 0), (3, 1), (3, 1)]
    two_pulls_each = candidates_at(BoxThirding(effort=2.0), 100, range(6))
    assert [c.size for c in two_pulls_each] == [0, 1, 1, 1, 2, 2]  # before the first commit: the arm with a result


def test_checkpoints_may_come_in_any_order_and_twice():
    assert [c.size for c in candidates_at(BoxThirding(), 100, [20, 6, 20])] == [9, 3, 9]


def run(policy, n_arms, pulls, seed):
    """Play a rule on random rewards; return its record, its state and the arms with a result."""
    rewards = np.random.default_rng(seed)
    state, record = policy.new(n_arms, seed, n_arms), record_for(policy)
    told, spent = {}, 0
    while spent < pulls:
        job, arm, times = policy.rule.ask(state)
        record.note(state, spent)
        if job == GROW:
            state = policy.grow(state)
            continue
        times = min(times, pulls - spent)
        policy.rule.tell(state, job, times, rewards.normal(0, math.sqrt(times)), 0.0)
        told[int(arm)] = True
        spent += times
    return record, state, told


@pytest.mark.parametrize("effort", [1.0, 0.3])
@pytest.mark.parametrize("reuse", ["none", "topup"])
def test_box_thirding_as_its_own_record_says_whatever_the_rewards(reuse, effort):
    policy = BoxThirding(reuse=reuse, effort=effort)
    for seed, pulls in enumerate((1, 7, 19, 60, 143, 300)):
        record, state, told = run(policy, 600, pulls, seed)
        assert state.scalars[BASE] == 0
        assert candidates(policy, 600, pulls).size == (record.candidates(state) or len(told))


def test_after_a_base_update_it_holds_whatever_any_run_could_return():
    policy = BoxThirding()
    for pulls in (80, 90, 110, 170):
        found = candidates(policy, 27, pulls)
        for seed in range(10):
            record, state, told = run(policy, 27, pulls, seed)
            assert (record.candidates(state) or len(told)) <= found.size <= 27
    assert candidates(policy, 27, 200).size == 27


def test_uniform_sampling_could_return_every_arm_it_has_met():
    assert [c.size for c in candidates_at(Uniform(), 20, [0, 1, 19, 20, 50])] == [0, 1, 19, 20, 20]


def test_sequential_halving_could_return_every_arm_that_plays():
    assert candidates(SequentialHalving(896), 128, 896).size == 128
    assert candidates(SequentialHalving(896), 1_000, 10_000).size == 128  # too small a budget for more


def test_brackets_count_once_they_have_finished_a_run():
    found = candidates_at(BSH, 10**5, [0, 1, 2, 3, 19, 20, 103, 104, 363, 364])
    want = [(0,), (1,), (1,), (2,), (2,), (2, 4), (2, 4), (2, 4, 8), (2, 4, 8), (2, 4, 8, 16)]
    assert [c.sizes for c in found] == want
    assert candidates(BSH, 3, 60).sizes == (2, 3)  # the second holds all arms
    assert candidates(BSH, 3, 60).size == pytest.approx(3)
    assert candidates(BSH, 10, 20).size == pytest.approx(10 * (1 - 0.8 * 0.6))


def candidate_set(policy, n_arms, pulls, seed):
    """Return the arms that a run with random rewards could have returned, from its own state."""
    record, state, told = run(policy, n_arms, pulls, seed)
    if policy != BSH:
        return record.candidate_set(state) or set(told)
    finished = [b for b in range(state.scalars[OPENED]) if state.run[b, KEPT] != NONE]
    slots = [slot for b in finished for slot in range(state.brackets.start[b], state.brackets.start[b + 1])]
    return {int(state.brackets.number[state.brackets.entrant[slot]]) for slot in slots}


@pytest.mark.parametrize(("policy", "pulls"), [(Uniform(), 12), (BoxThirding(), 50), (BSH, 120)], ids=NAMES)
def test_exact_non_inclusion_against_simulation(policy, pulls):
    # False-alarm rate of three standard errors: .0027 a policy, at a fixed seed.
    n_arms, good, replicates = 60, 4, 800
    order = np.random.default_rng(7)
    missed = 0
    for seed in range(replicates):
        labels = order.permutation(n_arms)  # which arm each number is; labels below `good` are the good ones
        missed += all(labels[number] >= good for number in candidate_set(policy, n_arms, pulls, seed))
    chance = candidates(policy, n_arms, pulls).non_inclusion(good)
    assert 0.05 < chance < 0.95
    assert abs(missed / replicates - chance) < 3 * math.sqrt(chance * (1 - chance) / replicates)


@pytest.mark.parametrize("policy", [Uniform(), BoxThirding(), BSH], ids=NAMES)
def test_more_pulls_never_lose_a_candidate(policy):
    found = candidates_at(policy, 300, range(1, 400))
    sizes = [c.size for c in found]
    chances = [c.non_inclusion(5) for c in found]
    assert sizes == sorted(sizes)
    assert chances == sorted(chances, reverse=True)
    assert is_data_poor(300, 5, found[0].size)


def test_what_has_no_candidate_set_is_refused():
    with pytest.raises(InvalidInput, match="only for b3, us, sh and bsh"):
        candidates(Prose(sigma=1.0), 10, 10)
    with pytest.raises(InvalidInput, match="the number of arms is 0"):
        candidates(Uniform(), 0, 10)
    with pytest.raises(InvalidInput, match="a checkpoint is -1"):
        candidates(Uniform(), 10, -1)
