"""Policies replayed over scores that are known, from Python."""

import numpy as np
import pytest

from boxthirding import InvalidInput
from boxthirding.runs.matrices import Matrix
from boxthirding.runs.replay import Replay
from boxthirding.runs.rows import RowsUCBE


@pytest.fixture
def matrix():
    rng = np.random.default_rng(5)
    scores = rng.normal(rng.random((20, 1)), 0.3, (20, 30))
    return Matrix("scores", tuple(f"p{arm}" for arm in range(20)), scores)


def test_each_policy_has_a_row_at_each_share(matrix):
    picks = Replay(matrix, ["us", "sh", "prose"], [0.25, 0.05], replicates=10).run(progress=False)
    assert [(pick.share, pick.policy) for pick in picks] == [
        (share, policy) for share in (0.05, 0.25) for policy in ("us", "sh", "prose")
    ]
    assert {pick.policy: pick.told for pick in picks} == {"us": (), "sh": ("budget",), "prose": ("sigma",)}
    assert {pick.share: pick.pulls for pick in picks} == {0.05: 30, 0.25: 150}
    assert all(pick.most_often in matrix.labels and 0 <= pick.best_share <= 1 for pick in picks)


def test_a_policy_is_left_out_where_its_budget_is_too_small(matrix):
    replay = Replay(matrix, ["sh:mode=paper", "us"], [0.01, 0.5], replicates=2)
    picks = replay.run(progress=False)
    assert len(picks) + len(replay.left_out) == 4
    assert all("is left out at 1 %" in note for note in replay.left_out)


@pytest.mark.parametrize(
    ("policies", "shares", "message"),
    [
        (["us"], [0], r"share is 0, but must lie in \(0, 1\]"),
        (["us", "us"], [0.1], "policy us is given 2 times, but counts once"),
        (["best"], [0.1], "policy is 'best'"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(matrix, policies, shares, message):
    with pytest.raises(InvalidInput, match=message):
        Replay(matrix, policies, shares)


def observed(scores, batches):
    """Return the matrix with the scores that were evaluated, NaN elsewhere."""
    seen = np.full(scores.shape, np.nan)
    for row, examples in batches:
        seen[row, examples] = scores[row, examples]
    return seen


@pytest.mark.parametrize("policy", [RowsUCBE(), RowsUCBE(batch=7), RowsUCBE(exploration=0.01, batch=1)])
def test_ucb_e_evaluates_the_row_with_the_largest_bound_on_a_batch_that_it_has_not_had(matrix, policy):
    scores = matrix.scores.copy()
    scores[3, 4:] = np.nan
    batches = list(policy.evaluated(scores, np.random.default_rng(1)))
    assert {row for row, _ in batches[: len(scores)]} == set(range(len(scores)))
    for place, (row, examples) in enumerate(batches):
        seen = observed(scores, batches[:place])
        waiting = np.isnan(seen[row]) & np.isfinite(scores[row])
        assert waiting[examples].all()
        assert len(set(examples.tolist())) == len(examples) == min(policy.batch, waiting.sum())
        if place >= len(scores):
            n = np.isfinite(seen).sum(axis=1)
            bounds = np.nanmean(seen, axis=1) + np.sqrt(policy.exploration / n)
            bounds[n == np.isfinite(scores).sum(axis=1)] = -np.inf  # complete: out
            assert bounds[row] == pytest.approx(bounds.max())
    assert np.array_equal(observed(scores, batches), scores, equal_nan=True)


def test_ucb_e_recommends_the_largest_mean_of_what_was_evaluated_so_far(matrix):
    policy, checkpoints = RowsUCBE(batch=7), [1, 7, 50, 333, 599, 600]
    found = policy.recommended(matrix.scores, checkpoints, np.random.default_rng(1))
    twin = np.random.default_rng(1)
    twin.permutation(len(matrix.scores))  # the luck of the answer
    cells = [(row, [example]) for row, examples in policy.evaluated(matrix.scores, twin) for example in examples]
    for pulls, row in zip(checkpoints, found, strict=True):
        seen = observed(matrix.scores, cells[:pulls])
        rows = [each.any() for each in np.isfinite(seen)]
        assert np.nanmean(seen[row]) == pytest.approx(max(np.nanmean(each) for each in seen[rows]))


def test_ucb_e_over_rows_stands_beside_the_policies_and_knows_all_in_the_end(matrix):
    picks = Replay(matrix, ["us", "ucbe-rows", "sh", "ucbe-rows:batch=4"], [0.25, 1.0], replicates=20).run(
        progress=False
    )
    assert [pick.policy for pick in picks] == 2 * ["us", "ucbe-rows", "sh", "ucbe-rows:batch=4"]
    assert [(pick.best_share, pick.told) for pick in picks if pick.share == 1 and "rows" in pick.policy] == [
        (1.0, ())
    ] * 2


def test_ucb_e_over_rows_tells_how_far_it_is(matrix):
    heard = []
    Replay(matrix, ["ucbe-rows"], [0.25], replicates=5).run(progress=heard.append)
    assert [(one.done, one.total) for one in heard] == [(done, 5) for done in range(6)]
    assert {one.note for one in heard} == {"ucbe-rows"}


def test_a_seed_or_a_number_of_threads_that_is_none_is_refused(matrix):
    with pytest.raises(InvalidInput, match="seed is -1, but must be at least 0"):
        Replay(matrix, ["ucbe-rows"], [0.1], seed=-1)
    with pytest.raises(InvalidInput, match="threads is 0, but must be at least 1"):
        Replay(matrix, ["ucbe-rows"], [0.1]).run(threads=0, progress=False)


def test_ties_between_rows_are_not_broken_by_their_number():
    firsts = {next(RowsUCBE().evaluated(np.ones((5, 40)), np.random.default_rng(seed)))[0] for seed in range(60)}
    assert firsts == set(range(5))


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("ucbe-rows:depth=3", "no key 'depth': its keys are exploration, batch"),
        ("ucbe-rows:batch=many", "batch=many, but batch must be a number"),
        ("ucbe-rows:batch=0", "batch is 0"),
        ("ucbe-rows:exploration=-1", "exploration is -1.0"),
        ("ucbe-rows:batch=2.5", "batch is 2.5, but must be a whole number"),
        ("ucbe-rows:batch=4,batch=8", "gives batch twice, but each key counts once"),
        ("UCBE-rows", "but is written in small letters: did you mean 'ucbe-rows'"),
    ],
)
def test_a_wrong_ucb_e_is_refused(matrix, policy, message):
    with pytest.raises(InvalidInput, match=message):
        Replay(matrix, [policy], [0.1])
