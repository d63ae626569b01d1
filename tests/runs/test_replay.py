"""Policies replayed over scores that are known, from Python."""

import numpy as np
import pytest

from boxthirding import InvalidInput
from boxthirding.runs.matrices import Matrix
from boxthirding.runs.replay import Replay


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
