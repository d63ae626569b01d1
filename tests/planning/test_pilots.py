"""Pilots: what their scores come down to, and what is refused, with the way out."""

import numpy as np
import pandas as pd
import pytest

from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.planning.pilots import read_pilot

SCORES = {"a": [1.0, 3.0], "b": [5.0], "c": [2.0, 2.0, 5.0]}


def scattered(deviation, noise=1.0, arms=100, each=3, seed=0):
    random = np.random.default_rng(seed)
    means = deviation * random.standard_normal((arms, 1))
    return dict(enumerate((means + noise * random.standard_normal((arms, each))).tolist()))


def test_noise_is_pooled_within_arms():
    pilot = read_pilot(SCORES)
    assert (pilot.arms, pilot.pulls, pilot.freedom, pilot.zero_one) == (3, 6, 3, False)
    assert pilot.noise == pytest.approx(np.sqrt((2 + 6) / 3))
    assert pilot.means.tolist() == [2, 5, 3]


def test_a_data_frame_is_a_pilot():
    rows = [(arm, score) for arm, scores in SCORES.items() for score in scores]
    for score in ("score", "reward"):
        frame = pd.DataFrame(rows, columns=["arm", score])
        assert read_pilot(frame).means.tolist() == read_pilot(SCORES).means.tolist()
    with pytest.raises(InvalidInput, match=r"the pilot has prompt, score, but must have the columns arm and score"):
        read_pilot(pd.DataFrame(rows, columns=["prompt", "score"]))


def test_a_file_a_mapping_and_pairs_are_the_same(tmp_path):
    pairs = [(arm, score) for arm, scores in SCORES.items() for score in scores]
    file = tmp_path / "pilot.csv"
    file.write_text("arm,who,score\n" + "".join(f"{arm},me,{score}\n" for arm, score in pairs), encoding="utf-8")
    other = tmp_path / "other.csv"
    other.write_text(file.read_text(encoding="utf-8").replace("score", "reward"), encoding="utf-8")
    for given in (pairs, str(file), file, other):
        assert read_pilot(given).means.tolist() == read_pilot(SCORES).means.tolist()


def test_where_small_scores_are_good_they_change_their_sign():
    assert read_pilot(SCORES, minimize=True).means.tolist() == [-2, -5, -3]


def test_scores_of_0_and_1_are_recognised_and_stay_so_when_small_is_good():
    clicks = {"a": [0, 1, 1], "b": [0, 0], "c": [1, 0]}
    assert read_pilot(clicks).zero_one
    pilot = read_pilot(clicks, minimize=True)
    assert pilot.zero_one
    assert pilot.means.tolist() == pytest.approx([1 / 3, 1, 1 / 2])


def test_spread_is_seen_where_there_is_some_and_seldom_where_there_is_none():
    assert all(read_pilot(scattered(1.0, seed=seed)).shows_spread for seed in range(20))
    seen = sum(read_pilot(scattered(0.0, seed=seed)).shows_spread for seed in range(400))
    assert 20 <= seen <= 62  # 40 expected; fails by chance once in 1,000


@pytest.mark.parametrize("deviation", [0.15, 0.25])
def test_as_many_pulls_as_it_says_show_the_spread_in_9_of_10_pilots(deviation):
    pilot = read_pilot(scattered(0.0))
    each = round((pilot.pulls + pilot.pulls_to_show(deviation)) / 100)
    seen = sum(read_pilot(scattered(deviation, each=each, seed=seed)).shows_spread for seed in range(200))
    assert seen >= 165  # 180 expected; fails by chance once in 1,000


def test_more_arms_with_few_scores_each_do_not_show_as_much():
    pilot = read_pilot(scattered(0.0))
    arms = round((pilot.pulls + pilot.pulls_to_show(0.15)) / 3)
    seen = sum(read_pilot(scattered(0.15, arms=arms, seed=seed)).shows_spread for seed in range(60))
    assert seen < 48  # so the advice is to score the same arms again


def test_scores_that_do_not_differ_have_no_noise_whatever_their_decimals():
    assert read_pilot({arm: [arm / 100 + 0.07] * 3 for arm in range(50)}).noise == 0


def test_an_outlier_is_named():
    scores = scattered(1.0)
    assert read_pilot(scores).outlier is None
    scores[7].append(100_000.0)
    assert read_pilot(scores).outlier == (7, 100_000.0)


def test_neither_a_noisy_arm_nor_one_far_from_all_others_is_an_outlier():
    random = np.random.default_rng(2)
    scores = scattered(1.0) | {"noisy": random.normal(0, 5, 3).tolist(), "far": random.normal(1_000, 1, 3).tolist()}
    assert read_pilot(scores).outlier is None


def test_without_noise_any_difference_is_seen():
    assert read_pilot({"a": [1.0, 1.0], "b": [2.0]}).shows_spread


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ({}, "no arm"),
        ({"a": [1.0, 2.0]}, "one arm, but how far arms differ takes several: score 30"),
        ({"a": 1.0, "b": 2.0}, "one score for each of its 2 arms, .* at least 2 of them two more times"),
        ({k: float(k) for k in range(99)}, "at least 30 of them two more times, or give guesses"),
        ({"a": [3, 3], "b": [3]}, "every score of the pilot is 3, .* on a finer scale"),
        ({"a": [float("nan"), 3], "b": [3]}, "the reward is nan"),
        (
            {"a": [1e-162, 3e-162], "b": [2e-162]},
            "differ by 2e-162 at most, but must differ by 1e-150: .* smaller unit",
        ),
        ([("a", 1, 2)], r"the pilot has \('a', 1, 2\), but must be a file"),
        (5, "the pilot is 5, but must be a file"),
    ],
)
def test_a_pilot_that_nothing_can_be_learned_from_says_how_to_mend_it(scores, words):
    with pytest.raises(InvalidInput, match=words):
        read_pilot(scores)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("option,score\na,1\n", "has the columns option, score, but must have arm and score .or reward.: rename them"),
        ("arm,score\na,high\n", "score is 'high', but must be a finite number"),
        (
            "arm,score\na,1\nb,2e155\na,2\n",
            r"row 2 .line 3.: score is '2e155', but must be .* below 1e150 in size",
        ),
        ("arm,score\na,1\n ,2\na,2\n", r"row 2 .line 3.: arm is empty, but must name the arm"),
        ("", "is empty"),
    ],
)
def test_a_file_that_is_no_pilot_is_refused(tmp_path, text, words):
    file = tmp_path / "pilot.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UnreadableData, match=words):
        read_pilot(file)
