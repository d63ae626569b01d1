"""Every policy passes the contract suite, and policies that are broken on purpose do not."""

import os
import random
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import boxthirding
from boxthirding import _compile
from boxthirding.errors import MissingExtra
from boxthirding.policies import POLICIES, BoxThirding, SequentialHalving, Uniform, box_thirding
from boxthirding.policies.rivals import uniform
from boxthirding.policies.rivals.uniform import recommend
from boxthirding.rng import advance
from boxthirding.testing import ContractBroken, PolicyContract
from boxthirding.types import NONE, Rule


class TestBoxThirding(PolicyContract):
    policy = BoxThirding()


class TestBoxThirdingLight(PolicyContract):
    policy = BoxThirding(effort=0.3)


class TestBoxThirdingPooled(PolicyContract):
    policy = BoxThirding(reuse="pool")


class TestBoxThirdingToppedUp(PolicyContract):
    policy = BoxThirding(reuse="topup")


class TestBoxThirdingToppedUpLight(PolicyContract):
    policy = BoxThirding(reuse="topup", effort=0.3)
    ends_jobs_in_ask = True


class TestBoxThirdingLinear(PolicyContract):
    policy = BoxThirding(schedule="linear")


class TestBoxThirdingGiven(PolicyContract):
    policy = BoxThirding(schedule=(3.0, 1.0, 7.5), growth=2.0)


class TestUniform(PolicyContract):
    policy = Uniform()


class TestSequentialHalving(PolicyContract):
    policy = SequentialHalving(budget=1)


class TestSequentialHalvingPaper(PolicyContract):
    policy = SequentialHalving(budget=1, mode="paper", growth=1.7)


class TestSequentialHalvingFit(PolicyContract):
    policy = SequentialHalving(budget=1, mode="fit", growth=2.0)


def test_every_policy_is_put_to_the_contract():
    tests = Path(__file__).resolve().parents[1].rglob("test_*.py")  # here, or beside a policy's other tests
    text = "".join(file.read_text(encoding="utf-8") for file in tests)
    suites = set(re.findall(r"^class \w+\(PolicyContract\):\n    policy = (\w+)\(", text, re.MULTILINE))
    assert {policy.__name__ for policy in POLICIES.values()} <= suites


def broken(policy, **replaced):
    """Return a policy of the same kind with functions of its rule, or its methods, replaced."""
    functions = {name: _compile.kernel(replaced.pop(name)) for name in Rule._fields if name in replaced}
    rule = policy.rule._replace(**functions)
    kind = type(policy)
    return type(kind.__name__, (kind,), {"rule": rule, **replaced})(**vars(policy))


def untried(state):
    """Recommend an arm that nobody has pulled."""
    seen = int(state.scalars[uniform.SEEN])
    return seen if seen < len(state.arms.pulls) else NONE


def by_number(state):
    """Let the lower number win a tie."""
    pulls = state.arms.pulls[: int(state.scalars[uniform.SEEN])]
    if not (pulls > 0).any():
        return NONE
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(pulls > 0, state.arms.total[: len(pulls)] / pulls, -np.inf)
    return int(np.argmax(means))


@_compile.kernel
def lost_parts(state, job, times, total, squares):
    """Forget the rewards that come before the last ones of a job."""
    box_thirding.tell(state, job, times, total if times == state.jobs.due[job] else 0.0, squares)


def lost_tell(state, job, times, total, squares):
    """Forget what number 0 gives."""
    if job != 0:
        uniform.tell(state, job, times, total, squares)


def half_measured(state):
    """Recommend an arm whose LIFT is under way, by what has come in."""
    seen = int(state.scalars[box_thirding.SEEN])
    under_way = [arm for arm in range(seen) if state.jobs.due[arm] and state.jobs.pulls[arm]]
    return under_way[0] if under_way else box_thirding.recommend(state)


@_compile.kernel
def by_whim(state):
    """Ask global randomness instead of the streams."""
    job, arm, times = uniform.ask(state)
    return job, arm, times + (1 if times and random.random() < 0.1 else 0)


def forgetful_grow(self, state):
    """Grow, and lose the sums."""
    larger = Uniform.grow(self, state)
    larger.arms.total[:] = 0.0
    return larger


@_compile.kernel
def keep(_state, _arm):
    """Withdraw nothing."""


def half_reset(state):
    """Leave behind whose turn it was."""
    turn = state.scalars[uniform.NEXT]
    uniform.reset(state)
    state.scalars[uniform.NEXT] = turn


def ranks_everybody(_self, state, _k=None):
    """Rank arms that nobody has pulled too."""
    return list(range(len(state.arms.pulls)))


def loses_amended_pulls(state, arm, times, total, squares):
    """Add a reward to a sum, but not to its count."""
    return Uniform.rule.amend(state, arm, 1 if times > 0 else times, total, squares)


def keeps_amended(state, arm, times, total, squares):
    """Take nothing out."""
    return Uniform.rule.amend(state, arm, times, total, squares) if times >= 0 else 0


def answers_for_the_dropped(state, arm, times, total, squares):
    """Hold on to the best arm, though it may have no result left."""
    best = state.scalars[uniform.BEST]
    done = Uniform.rule.amend(state, arm, times, total, squares)
    if best != NONE:
        state.scalars[uniform.BEST] = best
        state.scalars[uniform.STALE] = 0
    return done


def begins_records_anew(state, arm, times, total, squares):
    """Draw luck again whenever an arm is amended."""
    done = Uniform.rule.amend(state, arm, times, total, squares)
    if done == 0 and arm != NONE:
        state.luck[arm] = advance(state.ties)
        state.scalars[uniform.STALE] = 1
    return done


def has_no_room(state, arm, times, total, squares):
    """Lose what there is no room for."""
    return max(0, Uniform.rule.amend(state, arm, times, total, squares))


def ranks_the_first(self, state, k=None):
    """Rank any k arms when k are asked for."""
    arms = Uniform.ranking(self, state)
    return arms if k is None else arms[::-1][:k]


@_compile.kernel
def by_the_last_bit(state):
    """Let the answer depend on how a sum is rounded: NumPy adds in another order than compiled code does."""
    total = 0.0
    for arm in range(len(state.arms.total)):
        total += state.arms.total[arm]
    best = recommend(state)
    return best if best == NONE or np.sum(state.arms.total) == total else 0


@pytest.mark.parametrize(
    ("policy", "test", "words"),
    [
        (broken(Uniform(), recommend=untried), "test_the_rule_keeps_its_contract", "no result"),
        (broken(Uniform(), recommend=by_number), "test_ties_do_not_go_by_number", "ties go by number"),
        (broken(BoxThirding(effort=3.0), tell=lost_parts), "test_live_equals_simulated", "differ"),
        (broken(Uniform(), tell=lost_tell), "test_the_rule_keeps_its_contract", "nothing is recommended"),
        (broken(BoxThirding(), recommend=half_measured), "test_the_rule_keeps_its_contract", "recommendation changed"),
        (broken(Uniform(), drop=keep), "test_the_rule_keeps_its_contract", "withdrawn"),
        (broken(Uniform(), drop=keep), "test_a_session_keeps_its_contract", "withdrawn"),
        (broken(Uniform(), ask=by_whim), "test_live_equals_simulated", "differ"),
        (broken(Uniform(), grow=forgetful_grow), "test_the_rule_keeps_its_contract", "room|as new after reset"),
        (broken(Uniform(), grow=lambda _self, state: state), "test_the_rule_keeps_its_contract", "too small"),
        (broken(Uniform(), reset=half_reset), "test_the_rule_keeps_its_contract", "next number to be met"),
        (broken(Uniform(), ranking=ranks_everybody), "test_the_rule_keeps_its_contract", "ranking"),
        (broken(Uniform(), ranking=ranks_the_first), "test_the_rule_keeps_its_contract", "best are"),
        (broken(Uniform(), amend=loses_amended_pulls), "test_the_rule_keeps_its_contract", "became"),
        (
            broken(Uniform(), amend=keeps_amended),
            "test_the_rule_keeps_its_contract",
            "became|no result|without a result",
        ),
        (broken(Uniform(), amend=answers_for_the_dropped), "test_the_rule_keeps_its_contract", "became|no result"),
        (broken(Uniform(), amend=begins_records_anew), "test_the_rule_keeps_its_contract", "became"),
        (broken(Uniform(), amend=has_no_room), "test_the_rule_keeps_its_contract", "more room"),
    ],
)
def test_a_broken_policy_fails(policy, test, words):
    suite = type("Suite", (PolicyContract,), {"policy": policy})()
    with pytest.raises(ContractBroken, match=words):
        getattr(suite, test)()


@pytest.mark.skipif(not _compile.available(), reason="numba is not installed")
def test_a_rule_that_compiles_to_something_else_fails():
    suite = type("Suite", (PolicyContract,), {"policy": broken(Uniform(), recommend=by_the_last_bit)})()
    with pytest.raises(ContractBroken, match="compiled and interpreted"):
        suite.test_compiled_equals_interpreted()


def test_without_hypothesis_the_suite_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(MissingExtra, match=r"boxthirding\[testing\]"):
        TestUniform().test_the_rule_keeps_its_contract()


def test_a_third_party_can_run_it_with_pytest(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        textwrap.dedent(
            """
            from boxthirding import Uniform
            from boxthirding.testing import PolicyContract


            class TestMine(PolicyContract):
                policy = Uniform()
                examples = 3
            """
        ),
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not compiled", str(tmp_path)]
    source = {"PYTHONPATH": str(Path(boxthirding.__file__).parents[1])}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**os.environ, **source}
    )
    assert done.returncode == 0, done.stdout
    assert "5 passed" in done.stdout
