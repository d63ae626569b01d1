"""A run that is to end does so in the middle of a replicate, and keeps those that are complete."""

import signal
import threading

import numpy as np
import pytest

from boxthirding._compile import available, compiled
from boxthirding.lab import (
    Bernoulli,
    Deterministic,
    Gaussian,
    Instance,
    Interrupted,
    Kumaraswamy,
    Setting,
    Table,
    captions,
    chunks,
    draw,
    simulate,
)
from boxthirding.lab.chunks import Chunk, ChunkPool, run_chunk
from boxthirding.rng import REWARDS, spawn

ENDLESS = 10**11  # pulls: days


@pytest.mark.parametrize("policy", ["us", "chase", "sh"])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("rewards", [Gaussian(1.0), Bernoulli()], ids=["gaussian", "bernoulli"])
def test_an_interrupt_ends_a_replicate_that_takes_days(policy, workers, rewards, monkeypatch):
    def interrupted(*given):
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return run_chunk(*given)

    monkeypatch.setattr(chunks, "run_chunk", interrupted)
    instance = Instance("many", np.linspace(0.4, 0.6, 100_000))
    with pytest.raises(Interrupted) as stopped:
        simulate(instance, rewards, policy, budget=ENDLESS, replicates=3, workers=workers, threads=1)
    assert stopped.value.partial.replicates == 0


class Countdown:
    """Says that a run is to end when it has been asked so many times."""

    def __init__(self, left):
        self.left = left

    def __getitem__(self, _):
        self.left -= 1
        return int(self.left < 0)


@pytest.mark.parametrize("workers", [1, 2])
def test_replicates_that_are_complete_are_kept(workers, monkeypatch):
    monkeypatch.setattr("boxthirding._compile.available", lambda: False)
    experiment = Setting(captions(20), Gaussian(0.5), "b3", budget=60, replicates=8, workers=workers).experiment
    whole = run_chunk(experiment, 0, 8)
    counter = Countdown(10**9)
    run_chunk(experiment, 0, 8, counter)
    asked = 10**9 - counter.left
    part = run_chunk(experiment, 0, 8, Countdown(asked // 2))
    assert 0 < len(part.recommended) < 8
    assert len(part.idle) == len(part.recommended)
    assert np.array_equal(part.recommended, whole.recommended[: len(part.recommended)])
    assert len(run_chunk(experiment, 0, 8, Countdown(0)).recommended) == 0


@pytest.mark.parametrize("model", [Bernoulli(), Kumaraswamy(), Table([[0.0, 1.0]], [[0.5, 0.5]])])
def test_a_draw_of_endless_pulls_gives_up(model):
    source = model.source(Instance("one", [0.5]))
    source.stop[0] = 1
    for one in (draw, *([compiled(draw)] if available() else [])):
        one(source, 0, 10**15, True, spawn(1, 0, 1)[0, REWARDS])


def test_no_more_chunks_are_handed_over_than_are_needed():
    handed = 0

    def counted():
        nonlocal handed
        experiment = Setting(captions(20), Deterministic(), "us", budget=20, replicates=1000).experiment
        for number in range(1000):
            handed += 1
            yield Chunk(experiment, number, 1)

    with ChunkPool(None, 1) as pool:
        for ended, _ in enumerate(pool.ended(counted()), start=1):
            assert handed <= ended + 4
    assert handed == 1000
