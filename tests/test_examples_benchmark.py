"""`benchmarks.examples` compares ways to see examples, on the same scores."""

import math

from benchmarks import examples as benchmark


def test_learning_helps_where_examples_differ_much():
    world = benchmark.World(200, 100, 600, 1.0, 3.0, noise=1.0)
    row = benchmark.measure(world, replicates=20, seed=1)
    assert row["learned / random"] < 0.7  # 0.1 to 0.3 for other seeds
    assert row["learned / same"] < 0.7
    assert all(math.isfinite(number) for way in benchmark.WAYS for number in row[way])


def test_its_ways_are_what_they_say(monkeypatch):
    fits = []
    fit = benchmark.effects.fit
    monkeypatch.setattr(benchmark.effects, "fit", lambda *args: fits.append(args) or fit(*args))
    scores, _ = benchmark.World(30, 40, 200, 1.0, 1.0, noise=1.0).draw(benchmark.np.random.default_rng(0))
    for way, expected in (("random", 0), ("same", 0), ("learned", 3)):  # after 32, 64 and 128 results
        fits.clear()
        benchmark.answer(way, scores, 200, 0)
        assert len(fits) == expected
