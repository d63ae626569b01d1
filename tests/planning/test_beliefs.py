"""What is believed: guesses are kept, pilots are learned from, and the more the larger they are."""

from collections import Counter

import numpy as np
import pytest

from boxthirding.lab import Bernoulli, Gaussian
from boxthirding.planning.beliefs import Belief, guessed, learned
from boxthirding.planning.pilots import read_pilot
from boxthirding.planning.shapes import PLAUSIBLE, Shape, bent


def pilot(deviation, noise, arms, each, skew=0.0, seed=0):
    random = np.random.default_rng(seed)
    means = 7 + deviation * bent(random.standard_normal((arms, 1)), Shape(skew))
    return read_pilot(dict(enumerate((means + noise * random.standard_normal((arms, each))).tolist())))


def test_guesses_are_kept_and_shapes_are_as_plausible_as_the_table_says():
    beliefs = guessed(20.0, 10.0, 28)  # the sum of the weights
    assert {belief.noise for belief in beliefs} == {20.0}
    assert [belief.spread for belief in beliefs] == pytest.approx([10.0] * 28)
    assert Counter(belief.shape for belief in beliefs) == PLAUSIBLE


@pytest.mark.parametrize(("deviation", "noise"), [(1.0, 0.0), (1.0, 0.1), (1.0, 2.0), (0.01, 0.05)])
def test_a_large_pilot_tells_noise_deviation_and_centre(deviation, noise):
    beliefs = learned(pilot(deviation, noise, 2_000, 10), 20)
    assert np.mean([belief.deviation for belief in beliefs]) == pytest.approx(deviation, rel=0.12)
    assert np.mean([belief.noise for belief in beliefs]) == pytest.approx(noise, rel=0.03)
    assert beliefs[0].centre == pytest.approx(7, abs=0.2 * deviation)


def test_a_large_pilot_tells_that_means_are_uniform():
    random = np.random.default_rng(8)
    scores = random.random((2_000, 1)) + 0.3 * random.standard_normal((2_000, 4))
    assert {belief.shape.power for belief in learned(read_pilot(dict(enumerate(scores.tolist()))), 20)} == {1.0}


@pytest.mark.parametrize("skew", [-1.0, 0.0, 1.0])
def test_a_large_pilot_tells_the_shape(skew):
    beliefs = learned(pilot(1.0, 0.5, 2_000, 4, skew), 20)
    assert np.mean([belief.shape.skew for belief in beliefs]) == pytest.approx(skew, abs=0.3)


def test_a_small_pilot_leaves_more_open_than_a_large_one():
    widths = []
    for arms in (30, 300, 3_000):
        deviations = [belief.deviation for belief in learned(pilot(0.3, 1.0, arms, 3), 20)]
        widths.append(max(deviations) / min(deviations))
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 3
    assert widths[2] < 1.5


def test_few_repeats_leave_the_noise_open():
    scores = {k: [float(score)] for k, score in enumerate(np.random.default_rng(1).standard_normal(50))}
    scores[0] = [0.0, 1.0, 2.0]
    noises = {belief.noise for belief in learned(read_pilot(scores), 20)}
    assert max(noises) > 1.3 * min(noises)


def test_a_pilot_of_0_and_1_gives_chances():
    random = np.random.default_rng(3)
    chances = np.clip(0.3 + 0.1 * random.standard_normal((1_000, 1)), 0, 1)
    beliefs = learned(read_pilot(dict(enumerate((random.random((1_000, 10)) < chances).astype(int).tolist()))), 20)
    assert np.mean([belief.deviation for belief in beliefs]) == pytest.approx(0.1, abs=0.02)
    means = beliefs[0].instance(10_000, random).means
    assert isinstance(beliefs[0].rewards, Bernoulli)
    assert 0 < means.min() < means.max() < 1


def test_arms_of_0_and_1_that_never_differ_have_hardly_any_noise_and_differ_by_no_more_than_1():
    (belief,) = learned(read_pilot({arm: [arm % 2] * 3 for arm in range(60)}), 1)
    assert belief.noise < 0.3
    assert 0 < belief.spread < 1


def test_where_ordinary_arms_of_0_and_1_always_succeed_there_is_no_spread():
    belief = Belief(0.999, 0.5, Shape(-1.0), 0.03, zero_one=True)
    assert belief.spread == 0
    assert belief.ratio == np.inf


def test_rewards_of_other_scores_are_normal_around_the_means():
    belief = Belief(5.0, 2.0, Shape(0.5), 3.0)
    assert belief.rewards == Gaussian(3.0)
    means = belief.instance(100_000, np.random.default_rng(1)).means
    assert (means.mean(), means.std()) == pytest.approx((5, 2), abs=0.05)
    assert np.quantile(means, 0.9) - np.median(means) == pytest.approx(belief.spread, abs=0.05)


def test_neither_the_unit_nor_the_zero_of_scores_matters():
    one = pilot(0.3, 1.0, 60, 3)
    scores = {k: [1000 * score - 5 for score in row] for k, row in enumerate(np.column_stack([one.means] * 2).tolist())}
    plain = {k: [float(mean)] * 2 for k, mean in enumerate(one.means)}
    scores[0][0] += 1000
    plain[0][0] += 1
    there, here = learned(read_pilot(scores), 10), learned(read_pilot(plain), 10)
    assert [belief.deviation for belief in there] == pytest.approx([1000 * belief.deviation for belief in here])
    assert [belief.shape for belief in there] == [belief.shape for belief in here]
