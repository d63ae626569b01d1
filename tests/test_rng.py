"""The random streams: published numbers, independence of what runs beside, uniformity, interpreted equals compiled.

Statistical tests have fixed seeds; a χ² statistic above its bound has a chance of 1e-6, the false-alarm rate of each.
"""

import itertools
from collections import Counter

import numpy as np
import pytest

from boxthirding import rng as streams
from boxthirding._compile import available, bound, compiled, kernel
from boxthirding.errors import InvalidInput
from boxthirding.rng import ORDER, REWARDS, TIES, advance, below, shuffle, spawn, uniform

PUBLISHED = [0.1270111220465771, 0.3185275653967945, 0.3091860155832701, 0.8258468629271136, 0.2216299157820229]
CHI2 = {1: 24.0, 2: 27.7, 5: 35.9, 9: 46.0, 23: 74.0}  # quantiles at 1 - 1e-6 or just above, by degrees of freedom


def published_start():
    return np.full(6, 12345, np.int64)


def chi2(counts, expected):
    return sum((count - expected) ** 2 for count in counts) / expected


def test_the_published_numbers():
    stream = published_start()
    assert [uniform(stream) for _ in range(5)] == pytest.approx(PUBLISHED, rel=4e-16)


def test_the_recurrences_of_the_publication():
    x, y = [12345] * 3, [12345] * 3
    stream = published_start()
    for _ in range(1_000):
        x.append((1403580 * x[-2] - 810728 * x[-3]) % (2**32 - 209))
        y.append((527612 * y[-1] - 1370589 * y[-3]) % (2**32 - 22853))
        expected = (x[-1] - y[-1]) % (2**32 - 209)
        assert advance(stream) == (expected or 2**32 - 209)
    assert stream.tolist() == x[-3:] + y[-3:]


def test_a_replicate_has_the_same_streams_whatever_runs_beside_it():
    together = spawn(7, 0, 50)
    for first, count in [(0, 1), (3, 4), (49, 1), (10, 40)]:
        assert (spawn(7, first, count) == together[first : first + count]).all()


def test_streams_differ_by_seed_replicate_and_purpose():
    starts = np.concatenate([spawn(seed, 0, 300).reshape(-1, 6) for seed in range(4)])
    assert len(np.unique(starts, axis=0)) == len(starts)
    assert len(np.unique(starts[:, 0])) >= len(starts) - 1  # not even one number in common, but for a chance of 1e-3


def test_streams_are_valid_starts():
    starts = spawn(0, 0, 5_000)
    assert starts.dtype == np.int64
    assert starts.min() >= 1
    assert starts[..., :3].max() < 2**32 - 209
    assert starts[..., 3:].max() < 2**32 - 22853


def test_first_draws_of_neighbouring_replicates_are_uncorrelated():
    draws = np.array([[uniform(stream) for stream in replicate[:3]] for replicate in spawn(1, 0, 4_000)])
    for column in draws.T:
        counts, _ = np.histogram(column, bins=10, range=(0, 1))
        assert chi2(counts, 400) <= CHI2[9]
    # A correlation of 4,000 pairs has standard deviation 1/√4000; 4.9 of them have a chance of 1e-6.
    bound_ = 4.9 / 4_000**0.5
    assert abs(np.corrcoef(draws[:-1, TIES], draws[1:, TIES])[0, 1]) <= bound_
    assert abs(np.corrcoef(draws[:, TIES], draws[:, ORDER])[0, 1]) <= bound_
    assert abs(np.corrcoef(draws[:, ORDER], draws[:, REWARDS])[0, 1]) <= bound_


@pytest.mark.parametrize("seed", [-1, 1.5, "0", None])
def test_a_wrong_seed_is_refused(seed):
    with pytest.raises(InvalidInput, match="seed"):
        spawn(seed, 0, 1)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 2**16 - 1, 2**16, 2**16 + 1, 10**6, 2**40])
def test_integers_are_uniform_below_n(n):
    stream = spawn(n, 0, 1)[0, TIES]
    draws = [below(stream, n) for _ in range(20_000)]
    assert all(isinstance(draw, int) for draw in draws)
    assert min(draws) >= 0
    assert max(draws) < n
    cells = min(n, 10)
    counts = Counter(draw * cells // n for draw in draws)
    if cells > 1:
        lengths = Counter(-(-(cell + 1) * n // cells) - -(-cell * n // cells) for cell in range(cells))
        assert max(lengths) - min(lengths) <= 1
        expected = [20_000 * (-(-(cell + 1) * n // cells) + -cell * n // cells) / n for cell in range(cells)]
        statistic = sum((counts[cell] - e) ** 2 / e for cell, e in enumerate(expected))
        assert statistic <= CHI2[cells - 1]


@pytest.mark.parametrize("n", [10**6, 2**40])
def test_last_digits_of_a_wide_integer_are_uniform_too(n):
    stream = spawn(n, 1, 1)[0, TIES]
    counts = Counter(below(stream, n) % 10 for _ in range(20_000))
    assert chi2([counts[digit] for digit in range(10)], 2_000) <= CHI2[9]


def test_small_integers_are_exact():
    stream, twin = published_start(), published_start()
    for _ in range(500):
        for n in (2, 3, 7, 1_000, 2**16):
            assert below(stream, n) == (advance(twin) - 1) * n // (2**32 - 209)


@pytest.mark.parametrize("n", [3, 4])
def test_every_order_is_equally_likely(n):
    stream = spawn(11, n, 1)[0, TIES]
    orders, runs = Counter(), 12_000
    for _ in range(runs):
        items = np.arange(n)
        shuffle(stream, items, 0, n)
        orders[tuple(items.tolist())] += 1
    assert sorted(orders) == list(itertools.permutations(range(n)))
    assert chi2(orders.values(), runs / len(orders)) <= CHI2[len(orders) - 1]


def test_a_shuffle_stays_within_its_range():
    stream = published_start()
    items = np.arange(10)
    shuffle(stream, items, 3, 3)
    shuffle(stream, items, 4, 5)
    assert (stream == published_start()).all()  # nothing to shuffle, nothing drawn
    shuffle(stream, items, 3, 8)
    assert items[:3].tolist() == [0, 1, 2]
    assert items[8:].tolist() == [8, 9]
    assert sorted(items[3:8].tolist()) == [3, 4, 5, 6, 7]


@kernel
def mixture(stream, integers, floats, items):
    """Draw some of everything."""
    for i in range(len(integers)):
        integers[i] = below(stream, 1 + i * i * i)
        floats[i] = uniform(stream)
        shuffle(stream, items, i % 3, len(items))


@pytest.mark.skipif(not available(), reason="Numba is not installed")
def test_interpreted_equals_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("BOXTHIRDING_CACHE", str(tmp_path))

    def drawn(function):
        stream = spawn(3, 0, 1)[0, REWARDS]
        integers, floats, items = np.zeros(300, np.int64), np.zeros(300), np.arange(12)
        function(stream, integers, floats, items)
        return [array.tolist() for array in (stream, integers, floats, items)]

    assert drawn(compiled(mixture)) == drawn(bound(mixture)) == drawn(mixture)


def test_the_wide_draw_begins_where_one_integer_is_too_coarse():
    narrow, wide = published_start(), published_start()
    below(narrow, streams._WIDE)
    below(wide, streams._WIDE + 1)
    one = published_start()
    advance(one)
    assert narrow.tolist() == one.tolist()
    advance(one)
    assert wide.tolist() == one.tolist()
