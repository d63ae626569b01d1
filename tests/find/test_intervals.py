"""The interval of a mean: what it covers, and that pulls which agree are not taken for certainty."""

import itertools
import math
import random

import numpy as np
import pytest

from boxthirding import Recommendation, Session, open_study
from boxthirding.find import find_best
from boxthirding.find.intervals import ScoreNoise, spread_of, student

QUIET = {"progress": False, "policy": "chase"}


def interval(values, scale=(), beside=()):
    """Return the interval of an arm, known with others."""
    arms = {"this": values, **{f"other {k}": scores for k, scores in enumerate(beside)}}
    noise = ScoreNoise(spread_of(arms), scale)
    return noise.interval(noise.spread.arms["this"])


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706205), (2, 4.302653), (3, 3.182446), (4, 2.776445), (5, 2.570582), (9, 2.262157), (30, 2.042272),
     (99, 1.984217), (1000, 1.962339), (10**9, 1.959964)],
)  # fmt: skip  # printed tables
def test_student_s_quantiles_are_those_of_printed_tables(freedom, quantile):
    assert student(freedom) == pytest.approx(quantile, abs=2e-6)


@pytest.mark.parametrize(
    ("ones", "of", "low", "high"),
    [(0, 20, 0, 0.1684335), (1, 20, 0.0012651, 0.2487328), (10, 20, 0.2719578, 0.7280422),
     (19, 20, 0.7512672, 0.9987349), (20, 20, 0.8315665, 1), (3, 50, 0.0125486, 0.1654819), (0, 1, 0, 0.975),
     (500, 1000, 0.4685492, 0.5314508)],
)  # fmt: skip  # printed tables
def test_zero_one_scores_have_the_interval_of_clopper_and_pearson(ones, of, low, high):
    found = interval([1.0] * ones + [0.0] * (of - ones))
    assert found == pytest.approx((ones / of, low, high), abs=1e-6)


@pytest.mark.parametrize("pulls", [1, 2, 5, 20, 50])
def test_the_exact_coverage_of_zero_one_scores_is_at_least_the_level(pulls):
    intervals = [interval([1.0] * ones + [0.0] * (pulls - ones)) for ones in range(pulls + 1)]
    for p in np.linspace(0.02, 0.98, 97):
        chances = [math.comb(pulls, ones) * p**ones * (1 - p) ** (pulls - ones) for ones in range(pulls + 1)]
        covers = [found.low <= p <= found.high for found in intervals]
        assert sum(itertools.compress(chances, covers)) >= 0.95


@pytest.mark.parametrize("pulls", [5, 20])
def test_the_exact_coverage_of_three_answers_is_at_least_the_level(pulls):
    answers = (0.0, 0.5, 1.0)
    counts = [(low, mid, pulls - low - mid) for low in range(pulls + 1) for mid in range(pulls + 1 - low)]
    intervals = [
        interval([value for value, count in zip(answers, found, strict=True) for _ in range(count)], scale=answers)
        for found in counts
    ]
    ways = np.array([math.factorial(pulls) / math.prod(map(math.factorial, found)) for found in counts])
    shares = (0.01, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95)
    for low, high in itertools.product(shares, shares):
        if low + high >= 1:
            continue
        p = np.array([low, 1 - low - high, high])
        mean = float(p @ answers)
        chances = ways * np.prod(p ** np.array(counts), axis=1)
        covers = [found.low <= mean <= found.high for found in intervals]
        assert chances[covers].sum() >= 0.95


@pytest.mark.parametrize("answer", [0.0, 0.5, 1.0])
def test_pulls_that_agree_leave_an_interval_inside_the_scale(answer):
    low, high = interval([answer] * 20, beside=[[0.0, 0.5, 1.0] * 5])[1:]
    assert 0 <= low <= answer <= high <= 1
    assert 0.1 < high - low < 0.4


def test_more_answers_than_a_few_are_cut_off_at_the_ends_of_the_scale():
    scale = range(11)
    low, high = interval([10.0] * 9 + [8.0], scale, beside=[[3.0, 9.0, 6.0, 0.0]])[1:]
    assert 6 < low < 9
    assert high == 10


def test_pulls_that_agree_vary_as_those_of_other_arms_do():
    others = [[0.11, 0.52, 0.93, 0.34], [0.15, 0.66, 0.97, 0.58]]
    low, high = interval([0.7] * 10, beside=others)[1:]
    assert low < 0.7 < high
    assert high - low > 0.1


@pytest.mark.parametrize("beside", [[], [[0.7] * 4], [[0.2] * 4, [0.4] * 4]])
def test_where_scores_of_an_arm_never_differ_there_is_no_interval(beside):
    assert interval([0.7] * 10, beside=beside) == (0.7, None, None)
    noise = ScoreNoise(spread_of({"this": [0.7] * 10, **{f"other {k}": scores for k, scores in enumerate(beside)}}))
    assert noise.of(Recommendation("this", 0.7, 10, None)) is None


def test_where_scores_never_differ_but_their_scale_is_known_they_may_still_be_anywhere_on_it():
    low, high = interval([10.0] * 20, range(11), beside=[[7.0] * 20])[1:]
    assert (low, high) == (pytest.approx(10 * 0.025 ** (1 / 20)), 10)


@pytest.mark.parametrize(
    ("seen", "low", "high"),
    [((0.5, 1.0), 0.432, 0.568), ((0.0, 0.5), 0.432, 0.568), ((3.0, 4.0), 2.865, 3.276), ((2.0, 3.0), 2.724, 3.135)],
)
def test_rare_answers_on_one_side_of_the_usual_one_say_nothing_of_the_other_side(seen, low, high):
    usual = 0.5 if 0.5 in seen else 3.0
    (rare,) = {*seen} - {usual}
    found = interval([usual] * 20, beside=[[usual] * 18 + [rare] * 2])
    assert found == pytest.approx((usual, low, high), abs=0.001)
    assert found.low < usual < found.high
    often = interval([usual] * 20, beside=[[usual] * 10 + [rare] * 14])  # others would have come as well
    assert usual in (often.low, often.high)


def test_a_noisy_arm_among_quiet_ones_keeps_its_own_noise():
    loud = [0.0, 4.1, 8.2, 12.3, 16.4]
    own = interval(loud)
    half = student(4) * np.std(loud, ddof=1) / 5**0.5
    assert own == pytest.approx((8.2, 8.2 - half, 8.2 + half))
    low, high = interval(loud, beside=[[1.0, 1.1, 1.2]] * 30)[1:]
    assert high - low == pytest.approx((own.high - own.low) * student(8) / student(4))


def test_scores_with_a_long_tail_have_a_longer_end_on_its_side():
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 4.0]
    mean, low, high = interval(values)
    assert high - mean > 1.5 * (mean - low)
    assert interval([-value for value in values]) == pytest.approx((-mean, -high, -low))


def test_too_few_scores_have_no_interval():
    assert interval([]) == (None, None, None)
    assert interval([2.0]) == (2.0, None, None)
    assert interval([2.0, 2.0, 2.0]) == (2.0, None, None)
    assert interval([2.0], beside=[[1.5, 2.5]]).low < 2


def test_a_few_scores_of_any_kind_are_no_scale():
    assert interval([0.31, 0.42, 0.37]).high > 0.42


def test_results_of_others_count_in_the_interval_of_an_arm():
    noise = ScoreNoise(spread_of({"a": [0.0, 1.0, 1.0, 1.0], "b": [0.0, 0.0, 1.0, 1.0]}))
    low, high = noise.of(Recommendation("a", 0.75, 400, None))
    exact = interval([1.0] * 300 + [0.0] * 100)
    assert (low, high) == pytest.approx((exact.low, exact.high))
    noise = ScoreNoise(spread_of({"a": [0.1, 0.7, 1.3], "b": [0.0, 0.5, 1.2, 2.0]}))
    low, high = noise.of(Recommendation("c", 0.75, 400, None))
    assert 0 < high - low < 0.2


@pytest.mark.parametrize(("sign", "ones"), [(1, (20, 41)), (-1, (0, 9))])
def test_a_lead_is_compared_with_the_sides_that_face_each_other(sign, ones):
    # The lead is 0.18. The sides that face each other are 0.168 and 0.094, together 0.193; the others are 0 and 0.134.
    scores = {name: [1.0] * k + [0.0] * (n - k) for name, k, n in zip("ab", ones, (20, 50), strict=True)}
    noise = ScoreNoise(spread_of(scores))
    best, other = (Recommendation(name, np.mean(values), len(values), None) for name, values in scores.items())
    assert not noise.is_ahead(best, other, sign)
    assert noise.is_ahead(best, other._replace(mean=0.5), sign)
    assert not noise.is_ahead(best, other._replace(mean=0.5), -sign)


def test_what_confirm_prints_of_zero_one_scores_is_inside_zero_and_one():
    draw = random.Random(5)
    found = find_best(5, lambda arm: float(draw.random() < arm / 4), budget=60, **QUIET)
    assert found.best == 4
    assert repr(found.confirm(1, 20)).endswith("1 (0.8316 to 1), 20 pulls")


def test_arms_confirmed_alone_that_agree_are_as_noisy_as_in_the_search():
    draw = random.Random(5)
    found = find_best(3, lambda arm: draw.choice([0.25, 1.5, 2.0]) if arm < 2 else 2.0, budget=60, **QUIET)
    (best,) = found.confirm(1, 20).arms
    assert (best.label, best.mean) == (2, 2.0)
    assert 1.5 < best.low < 1.95
    assert 2 < best.high < 2.1  # nearly all scores are 2, so larger ones may be missing


def test_two_arms_that_agree_on_every_example_may_still_differ():
    found = find_best(2, lambda _, example: float(example % 3 == 0), budget=40, examples=range(100), **QUIET)
    less = found.confirm(2, 20).arms[1].difference
    assert less.mean == 0
    assert -0.3 < less.low < -0.1
    assert less.low == -less.high


def test_equal_scores_of_any_kind_are_no_proof_that_two_arms_agree_on_every_example():
    found = find_best(2, lambda _, example: 0.37 * (example % 7), budget=40, examples=range(100), **QUIET)
    less = found.confirm(2, 20).arms[1].difference
    assert less.mean == 0
    assert -0.5 < less.low < -0.05
    assert less.low == -less.high


@pytest.mark.parametrize("size", [1e-110, 1e-6, 1e140])
def test_scores_of_any_size_have_an_interval(size):
    draw = random.Random(5)
    found = find_best(4, lambda arm: size * (arm + draw.gauss(0, 1)), budget=60, **QUIET)
    assert "95 % interval" in repr(found)
    (best,) = found.confirm(1, 20).arms
    assert 0.5 * size < best.high - best.low < 1.5 * size


def test_a_large_mean_does_not_hide_the_noise():
    draw = random.Random(5)
    found = find_best(4, lambda _: 1e9 + draw.gauss(0, 1e-4), budget=60, **QUIET)
    assert "95 % interval" in repr(found)
    (best,) = found.confirm(1, 20).arms
    assert 5e-5 < best.high - best.low < 2e-4


def test_equal_scores_that_are_no_binary_fractions_do_not_vary():
    found = find_best(2, lambda _: 0.1, budget=60, **QUIET)
    assert "did not differ" in repr(found)
    (best,) = found.confirm(1, 20).arms
    assert (best.mean, best.low, best.high) == (0.1, None, None)


def test_differences_are_at_most_as_large_as_the_scale_is_wide():
    noise = ScoreNoise(spread_of({"a": [0.0, 10.0] * 3, "b": [10.0, 0.0] * 3}), range(11))
    spread = spread_of({"b": [10.0, -10.0, 10.0]})
    assert noise.of_differences(spread).interval(spread.arms["b"])[1:] == (-10, 10)
    spread = spread_of({"b": [10.0] * 3})
    low, high = noise.of_differences(spread).interval(spread.arms["b"])[1:]
    assert -10 < low < high == 10


def test_the_scale_of_a_rated_study_bounds_what_is_printed_and_confirmed():
    scale = [{"label": str(reward), "reward": reward} for reward in range(8)]
    scores = itertools.cycle([7, 7, 7, 6])
    with open_study("memory:rated", arms=["a", "b"], details={"rating": {"scale": scale}}) as study:
        study.observe_all(("b", reward) for reward in range(8))
        found = find_best(None, lambda arm: next(scores) if arm == "a" else 0, budget=8, study=study, progress=False)
        assert repr(found).splitlines()[1].endswith(" to 7")
        (best,) = found.confirm(1, 5).arms
    assert best.low < 6.5
    assert best.high == 7


def test_the_page_of_a_study_and_its_printed_answer_have_the_same_interval():
    results = {"a": [1.0] * 9 + [0.0], "b": [0.0, 1.0] * 5}
    session = Session(list(results), known=results)
    best = session.recommend()
    assert ScoreNoise(session.spread(["a"])).of(best) == pytest.approx(interval(results["a"])[1:])
