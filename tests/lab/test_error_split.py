"""The split of errors: the exact chance, a slow count by hand, and the fact that it rests on."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxthirding import _compile
from boxthirding.errors import InvalidInput
from boxthirding.lab import Bernoulli, Gaussian, Instance, Setting, captions, draw, driver, error_split, load, sweep
from boxthirding.policies import BoxThirding, BracketingSequentialHalving, parse_policy
from boxthirding.policies.lineage import BoxRecord
from boxthirding.policies.rivals.brackets import OPENED
from boxthirding.policies.rivals.bsh import KEPT
from boxthirding.rng import ORDER, REWARDS, TIES, spawn
from boxthirding.types import GROW, NONE, WAIT

REUSE = ("b3", "b3:reuse=pool", "b3:reuse=topup", "b3:reuse=topup,effort=0.3")
SPECS = ("us", *REUSE, "sh", "sh:mode=fit,growth=1.7", "bsh")
needs_numba = pytest.mark.skipif(not _compile.available(), reason="numba is not installed")


class Slow:
    """One replicate, pull by pull, with its own notes of what could be returned."""

    def __init__(self, setting, replicate):
        self.policy, self.source = setting.experiment.policy, setting.experiment.source
        self.streams = spawn(setting.seed, replicate, 1)[0]
        n_arms = setting.instance.n_arms
        self.order = np.arange(n_arms)
        driver.number(self.order, self.streams[ORDER], np.zeros(driver.POSITIONS, np.int64), n_arms - 1)
        self.state = self.policy.new(n_arms, setting.seed, n_arms)
        self.state.ties[:] = self.streams[TIES]
        self.record, self.told, self.asked = BoxRecord(), [], []

    def run(self, pulls):
        """Yield the candidates, as arms, after each pull."""
        spent = 0
        while spent < pulls:
            job, number, times = self.policy.rule.ask(self.state)
            assert job != GROW
            if job == WAIT:
                while spent < pulls:
                    spent += 1
                    yield self.candidates()
                return
            if isinstance(self.policy, BoxThirding):
                self.record.note(self.state, spent)
            self.asked = [int(number)]
            total, squares = draw(self.source, self.order[number], times, False, self.streams[REWARDS])
            for _ in range(times - 1):
                spent += 1
                yield self.candidates()
            self.policy.rule.tell(self.state, job, times, total, squares)
            self.told.append(int(number))
            spent += 1
            yield self.candidates()

    def candidates(self):
        if isinstance(self.policy, BoxThirding):
            numbers = self.record.candidate_set(self.state) or self.asked
        elif isinstance(self.policy, BracketingSequentialHalving):
            done = [b for b in range(self.state.scalars[OPENED]) if self.state.run[b, KEPT] != NONE]
            slots = [
                slot for b in done for slot in range(self.state.brackets.start[b], self.state.brackets.start[b + 1])
            ]
            numbers = [self.state.brackets.number[self.state.brackets.entrant[slot]] for slot in slots] or self.told[:1]
        else:
            numbers = self.told
        return {int(self.order[number]) for number in numbers}


@pytest.mark.parametrize("spec", SPECS)
def test_a_slow_count_by_hand_gives_the_same(spec):
    # Arms enough that no base update comes: after one, the set holds what any run could return, not this one alone.
    means = np.random.default_rng(2).permutation(np.linspace(0, 1, 40))
    setting = Setting(Instance("forty", means), Gaussian(0.3), spec, 60, tuple(range(1, 60)), replicates=25, seed=9)
    (run,) = sweep([setting])
    for eps in (0.1, 0.45):
        missed, confused = np.zeros(60, int), np.zeros(60, int)
        for replicate in range(25):
            for t, arms in enumerate(islice(Slow(setting, replicate).run(60), 60)):
                has_one = any(means[arm] >= 1 - eps / 2 for arm in arms)
                missed[t] += not has_one
                confused[t] += has_one and means[run.recommended[replicate, t]] < 1 - eps
        split = error_split(setting, run, eps)
        assert split.missed.tolist() == missed.tolist()
        assert split.confused.tolist() == confused.tolist()
        assert missed.any()
        assert confused.any()


@settings(deadline=None)
@given(
    n_arms=st.integers(1, 150),
    pulls=st.integers(1, 600),
    reuse=st.sampled_from(["none", "pool", "topup"]),
    effort=st.sampled_from([0.1, 0.3, 1.0, 2.5]),
    schedule=st.sampled_from([("geometric", None), ("geometric", 2.0), ("linear", None), ((1.0, 5.0, 2.0), 1.5)]),
    seed=st.integers(0, 100),
)
def test_the_candidates_of_box_thirding_are_the_first_numbers(n_arms, pulls, reuse, effort, schedule, seed):
    policy = BoxThirding(reuse=reuse, effort=effort, schedule=schedule[0], growth=schedule[1])
    rewards = np.random.default_rng(seed)
    state, record, spent = policy.new(n_arms, seed, n_arms), BoxRecord(), 0
    while spent < pulls:
        job, number, times = policy.rule.ask(state)
        assert job not in (GROW, WAIT)
        record.note(state, spent)
        spent += times
        policy.rule.tell(state, job, times, rewards.normal(0, 1), 1.0)
    found = record.candidate_set(state) or {int(number)}
    assert found == set(range(len(found)))


@needs_numba
@pytest.mark.parametrize("spec", ["us", "b3", "b3:reuse=topup", "sh", "bsh"])
@pytest.mark.parametrize("eps", [0.1, 0.2])
def test_the_exact_chance_is_met_within_three_standard_errors(spec, eps):
    # 3,000 replicates at three checkpoints of five policies and two ε: .08 false alarms expected; the seed is fixed.
    setting = Setting(captions(), Gaussian(0.5), spec, 2_000, (100, 500), replicates=3_000, seed=2)
    (run,) = sweep([setting])
    split = error_split(setting, run, eps)
    error = np.sqrt(split.exact * (1 - split.exact) / 3_000)
    assert (np.abs(split.non_inclusion - split.exact) <= 3 * error + 1e-12).all()
    assert 0.005 < split.exact[0] < 0.995
    assert split.replicates == 3_000
    assert split.pulls.tolist() == [100, 500, 2_000]


@pytest.mark.parametrize("spec", ["us", "bsh"])
def test_shares_and_their_errors(spec):
    setting = Setting(Instance("even", np.linspace(0, 1, 50)), Bernoulli(), spec, 40, (1,), replicates=80)
    (run,) = sweep([setting])
    split = error_split(setting, run, 0.2)
    assert np.array_equal(split.non_inclusion, split.missed / 80)
    assert np.array_equal(split.misidentification, split.confused / 80)
    share = split.misidentification[-1]
    assert 0 < share < 1
    assert split.misidentification_se[-1] == pytest.approx(np.sqrt(share * (1 - share) / 80))
    assert split.non_inclusion_se[0] == pytest.approx(np.sqrt(split.missed[0] * (80 - split.missed[0]) / 80**3))
    wrong = (run.regret > 0.2).sum(axis=0)
    assert (split.confused <= wrong).all()
    assert (wrong <= split.confused + split.missed).all()


@pytest.mark.parametrize("spec", ["b3", "bsh"])
def test_neither_compiling_nor_what_is_missing_nor_saving_changes_it(spec, monkeypatch, tmp_path):
    setting = Setting(captions(80), Gaussian(0.3), spec, 120, (30,), replicates=30, seed=4)
    (run,) = sweep([setting], results=tmp_path / "r")
    whole = error_split(setting, run, 0.2)
    ((description, saved),) = load(tmp_path / "r")
    assert np.array_equal(error_split(description, saved, 0.2).confused, whole.confused)
    halves = [
        type(run)(run.checkpoints, run.recommended[rows], run.regret[rows], 0.0, run.idle[rows], run.numbers[rows])
        for rows in (slice(0, None, 2), slice(1, None, 2))
    ]
    monkeypatch.setattr(_compile, "available", lambda: False)
    parts = [error_split(setting, half, 0.2) for half in halves]
    for name in ("missed", "confused"):
        assert np.array_equal(sum(getattr(part, name) for part in parts), getattr(whole, name))


def test_an_arm_exactly_eps_from_the_best_is_eps_best():
    means = [0.9, 0.9 - 0.1, 0.9 - 0.05, 0.5]  # rounded, 0.9 - 0.1 is more than 0.1 away
    setting = Setting(Instance("edge", means), Gaussian(0.0), "us", 4, (1, 2, 3), replicates=200)
    (run,) = sweep([setting])
    split = error_split(setting, run, 0.1)
    assert split.exact[0] == pytest.approx(1 / 2)
    assert split.confused.tolist() == [0, 0, 0, 0]
    assert split.missed[-1] == 0


def test_an_answer_exactly_eps_from_the_best_is_right():
    means = [1.1, 1.0, 0.5]  # rounded, 1.1 - 1.0 is more than 0.1
    assert means[0] - means[1] > 0.1
    setting = Setting(Instance("edge", means), Gaussian(5.0), "us", 3, replicates=200)
    (run,) = sweep([setting])
    given = run.recommended[:, -1]
    assert {0, 1, 2} == set(given.tolist())
    assert error_split(setting, run, 0.1).confused.tolist() == [np.count_nonzero(given == 2)]


@pytest.mark.parametrize("eps", [0, 1, -0.1, 1.5, float("nan"), "0.1", None])
def test_eps_outside_its_range_is_refused(eps):
    setting = Setting(captions(20), Gaussian(0.3), "us", 20, replicates=2)
    with pytest.raises(InvalidInput, match=r"eps is .*, but must lie in \(0, 1\)"):
        error_split(setting, sweep([setting])[0], eps)


def test_what_has_no_candidate_set_is_refused():
    prose, crowd, other = (
        Setting(captions(20), Gaussian(0.3), spec, budget, workers=workers, replicates=2)
        for spec, budget, workers in (("prose", 20, 1), ("b3", 20, 4), ("b3", 21, 1))
    )
    runs = sweep([prose, crowd, other])
    with pytest.raises(InvalidInput, match="only for b3, us, sh and bsh"):
        error_split(prose, runs[0], 0.1)
    with pytest.raises(InvalidInput, match="workers is 4, but a candidate set is defined for one"):
        error_split(crowd, runs[1], 0.1)
    with pytest.raises(InvalidInput, match="give the run of this setting"):
        error_split(other, runs[0], 0.1)


def test_every_policy_with_a_candidate_set_is_tried_here():
    assert {type(parse_policy(spec, budget=10)).__name__ for spec in SPECS} == {
        "BoxThirding",
        "BracketingSequentialHalving",
        "SequentialHalving",
        "Uniform",
    }
