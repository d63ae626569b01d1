"""Runs under beliefs: those of the simulator, read on the way."""

import numpy as np
import pytest

from boxthirding import _compile
from boxthirding.lab import simulate
from boxthirding.planning.beliefs import Belief, guessed
from boxthirding.planning.outcomes import Effort, simulated
from boxthirding.planning.shapes import Shape

BELIEF = Belief(0.0, 1.0, Shape(0.5), 2.0)
STOPS = [1, 20, 150, 900]


def outcomes(beliefs=(BELIEF,), stops=STOPS, effort=None, threads=None, tell=None, seed=3):
    return simulated(beliefs, 60, stops, effort or Effort(len(beliefs), 5, 0), seed, threads, tell)


def test_a_run_that_is_looked_at_on_the_way_is_that_of_the_simulator():
    found = outcomes()
    instance = BELIEF.instance(60, np.random.default_rng([3, 0]))
    run = simulate(instance, BELIEF.rewards, "chase", budget=900, checkpoints=STOPS, replicates=5, seed=3)
    assert found.budgets.tolist() == run.checkpoints.tolist()
    assert found.regret[0].tolist() == run.regret.tolist()
    better = (instance.means[None, None] > instance.means[run.recommended][:, :, None]).sum(axis=2)
    assert found.rank[0].tolist() == (better + 1).tolist()


def test_interpreted_runs_are_those_that_are_compiled(monkeypatch):
    found = outcomes()
    monkeypatch.setattr(_compile, "available", lambda: False)
    other = outcomes()
    for name in ("regret", "rank", "tried", "pulls"):
        assert getattr(found, name).tolist() == getattr(other, name).tolist()


def test_arms_tried_and_pulls_of_the_answer_are_counted():
    found = outcomes()
    assert (found.tried[:, :, 0] == 1).all()
    assert (found.pulls[:, :, 0] == 1).all()
    assert (np.diff(found.tried, axis=2) >= 0).all()
    assert (found.tried <= np.minimum(STOPS, 60)).all()
    assert (found.tried[:, :, -1] == 60).all()
    assert (found.pulls >= 1).all()
    assert (found.tried + found.pulls - 1 <= STOPS).all()  # each other arm has had a pull
    assert found.pulls[:, :, -1].mean() > 20


def test_short_runs_are_read_as_far_as_they_go():
    found = outcomes(guessed(1.0, 1.0, 3), effort=Effort(3, 2, 4))
    assert found.regret.shape == (3, 6, 4)
    assert not np.isnan(found.regret[:, :2]).any()
    assert np.isnan(found.regret[:, 2:]).all(axis=(0, 1)).tolist() == [False, False, True, True]
    assert not np.isnan(found.regret[:, 2:, :2]).any()
    assert len({tuple(run) for run in found.regret[0, :, :2].tolist()}) > 4  # each is a run of its own


def test_threads_change_nothing_and_runs_differ():
    beliefs = guessed(1.0, 1.0, 3)
    one, other = (outcomes(beliefs, threads=threads) for threads in (1, 4))
    assert one.regret.tolist() == other.regret.tolist()
    assert len(set(one.regret[:, :, 1].ravel().tolist())) > 5
    assert one.regret.tolist() != outcomes(beliefs, seed=4).regret.tolist()


def test_more_runs_are_others_under_the_same_beliefs():
    beliefs = guessed(1.0, 1.0, 3)
    all_of_them = outcomes(beliefs, effort=Effort(3, 7, 0))
    some = outcomes(beliefs, effort=Effort(3, 5, 0))
    more = simulated(beliefs, 60, STOPS[:3], Effort(3, 2, 0), 3, None, None, first=some.runs)
    joined = some.joined(more)
    assert joined.runs == 7
    for name in ("regret", "rank", "tried", "pulls"):
        assert getattr(joined, name)[:, :, :3].tolist() == getattr(all_of_them, name)[:, :, :3].tolist()
    assert np.isnan(joined.regret[:, 5:, 3]).all()


def test_progress_ends_with_all_pulls():
    heard = []
    outcomes(guessed(1.0, 1.0, 3), tell=heard.append)
    assert [one.done for one in heard] == sorted(one.done for one in heard)
    assert heard[-1].done == heard[-1].total == 3 * 5 * 900


def test_an_effort_is_cut_where_it_would_take_too_long():
    effort = Effort(10, 20, 20)
    assert effort.fitted(100, 10**9) == effort
    cut = effort.fitted(10_000, 500_000)
    assert cut.draws == 10
    assert cut.pulls(10_000) <= 500_000
    assert effort.fitted(10**6, 1) == Effort(10, 1, 0)


@pytest.mark.parametrize("stops", [[1], [7, 7, 7], [5, 6, 7, 8]])
def test_any_budgets_will_do(stops):
    found = outcomes(stops=stops)
    assert found.budgets.tolist() == sorted(set(stops))
    assert not np.isnan(found.regret).any()
