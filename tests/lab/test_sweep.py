"""Sweeps: the runs of `simulate`, wherever they run, however they are cut, stopped, grown and asked for."""

import itertools
import json
import multiprocessing
import os
import signal
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from saved_runs import all_same, same

from boxthirding import _compile
from boxthirding.errors import InvalidInput, SimulationFailed
from boxthirding.lab import (
    Gaussian,
    Instance,
    Interrupted,
    Setting,
    Watcher,
    captions,
    chunks,
    driver,
    load,
    simulate,
    sweep,
)
from boxthirding.policies import parse_policy

SPECS = ("b3", "us", "sh", "bsh", "prose", "ucbe:exploration=oracle")
NOISE = Gaussian(0.5)


def settings(specs=SPECS, arms=60, **options):
    options = {"budget": 200, "checkpoints": (10, 70), "replicates": 20, "seed": 3} | options
    return [Setting(captions(arms), NOISE, spec, **options) for spec in specs]


def plain(setting, **options):
    """Run a setting by `simulate`."""
    return simulate(
        setting.instance,
        setting.rewards,
        setting.experiment.policy,
        budget=setting.budget,
        checkpoints=setting.checkpoints,
        replicates=setting.replicates,
        seed=setting.seed,
        workers=setting.workers,
        **options,
    )


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


class Notes(Watcher):
    """Writes down what it hears; may press Ctrl-C."""

    def __init__(self, stop_after=None):
        self.heard, self.stop_after = [], stop_after

    def found(self, setting, replicates, seconds):
        self.heard.append(("found", setting.policy, replicates))
        assert seconds >= 0

    def began(self, setting):
        self.heard.append(("began", setting.policy))

    def ended(self, setting, replicates, seconds):
        self.heard.append(("ended", setting.policy, replicates))
        assert seconds >= 0
        if self.stop_after is not None and self.count("ended") >= self.stop_after:
            raise KeyboardInterrupt

    def complete(self, setting, run):
        self.heard.append(("complete", setting.policy))
        assert run.replicates == setting.replicates

    def count(self, kind, policy=None):
        return sum(note[2] for note in self.heard if note[0] == kind and policy in (None, note[1]))


# Wherever they run


@pytest.mark.parametrize("workers", [1, 7])
def test_a_sweep_gives_the_runs_of_simulate_in_the_order_asked_for(workers):
    asked = settings(workers=workers)
    runs = sweep(asked)
    assert all_same(runs, [plain(setting) for setting in asked])
    assert [run.seconds > 0 for run in runs] == [True] * len(asked)


@pytest.mark.parametrize("workers", [1, 7])
def test_a_process_pool_gives_the_same_bit_by_bit(processes, workers, tmp_path):
    asked = settings(workers=workers)
    here = sweep(asked)
    assert all_same(sweep(asked, executor=processes, results=tmp_path / "r"), here)
    assert all_same([run for _, run in load(tmp_path / "r")], here)
    assert same(plain(asked[0], executor=processes), here[0])
    assert plain(asked[0], executor=processes).seconds > 0


def test_an_executor_stays_open(processes):
    sweep(settings(["us"]), executor=processes)
    assert processes.submit(abs, -3).result() == 3


def test_interpreted_gives_the_same(monkeypatch, tmp_path):
    asked = settings(replicates=6)
    usual = sweep(asked)
    monkeypatch.setattr(_compile, "available", lambda: False)
    with ThreadPoolExecutor(2) as threads:
        assert all_same(sweep(asked, results=tmp_path / "r", executor=threads), usual)
    assert all_same(sweep(asked, threads=1), usual)
    versions = json.loads((tmp_path / "r").read_text(encoding="utf-8").splitlines()[0])["versions"]
    assert (versions["numba"], versions["compiled"]) == (None, False)


class Far(ThreadPoolExecutor):
    """An executor that hands out read-only arrays, as some clusters do."""

    def submit(self, function, experiment, *rest):
        parts = (experiment.source.means, experiment.source.values, experiment.source.cumulative)
        copies = [np.array(part) for part in parts]
        for copy in copies:
            copy.setflags(write=False)
        source = experiment.source._replace(means=copies[0], values=copies[1], cumulative=copies[2])
        return super().submit(function, replace(experiment, source=source), *rest)


@pytest.mark.parametrize(
    "compiled",
    [False, pytest.param(True, marks=pytest.mark.skipif(not _compile.available(), reason="numba is not installed"))],
)
def test_arrays_that_come_read_only_are_as_good(compiled):
    (setting,) = settings(["b3"])
    usual = plain(setting, compiled=compiled)
    with Far(2) as pool:
        assert same(plain(setting, executor=pool, compiled=compiled), usual)
    if compiled:  # to Numba a read-only array is another type, and nothing was compiled for it
        assert len(driver.loop_of(setting.experiment.policy.rule, compiled=True, parallel=False).signatures) == 1


@pytest.mark.parametrize("size", [1, 3, 64])
def test_how_replicates_are_cut_into_chunks_changes_nothing(monkeypatch, size):
    asked = settings(["b3", "bsh"])
    usual = sweep(asked, threads=1)
    monkeypatch.setattr(chunks, "_CHUNK_REPLICATES", size)
    assert all_same(sweep(asked, threads=2), usual)


# Asked for again, more of them, twice


def test_what_is_saved_is_not_run_again(tmp_path, monkeypatch):
    asked, file = settings(), tmp_path / "r.jsonl"
    first = sweep(asked, results=file)
    before = file.read_bytes()
    notes = Notes()
    monkeypatch.setattr(chunks, "_play", lambda *_: pytest.fail("something ran"))
    again = sweep(asked, results=file, watcher=notes)
    assert all_same(again, first)
    assert [run.seconds for run in again] == pytest.approx([run.seconds for run in first])
    assert [note for note in notes.heard if note[0] != "found"] == [("complete", spec) for spec in SPECS]
    assert notes.count("found") == 20 * len(SPECS)
    assert file.read_bytes() == before


def test_a_file_grows_by_settings_and_by_replicates_in_any_order(tmp_path):
    file = tmp_path / "r.jsonl"
    sweep(settings(["us", "b3"], replicates=9), results=file)
    notes = Notes()
    grown = sweep([*settings(["sh", "b3"]), *settings(["us"], replicates=9)], results=file, watcher=notes)
    assert all_same(grown, [*sweep(settings(["sh", "b3"])), *sweep(settings(["us"], replicates=9))])
    assert (notes.count("found"), notes.count("ended", "b3"), notes.count("ended", "us")) == (18, 11, 0)
    saved = {description.policy: run.replicates for description, run in load(file)}
    assert saved == {"us": 9, "b3": 20, "sh": 20}


def test_fewer_may_be_asked_for_than_there_are(tmp_path):
    file = tmp_path / "r.jsonl"
    sweep(settings(["us", "b3"]), results=file)
    before = file.read_bytes()
    few = sweep(settings(["b3"], replicates=7), results=file)
    assert all_same(few, sweep(settings(["b3"], replicates=7)))
    assert file.read_bytes() == before


def test_a_setting_that_is_asked_for_twice_is_run_once(tmp_path):
    notes = Notes()
    asked = [*settings(["us"], replicates=5), *settings(["us", "b3"]), *settings(["us"])]
    runs = sweep(asked, watcher=notes, results=tmp_path / "r")
    assert [run.replicates for run in runs] == [5, 20, 20, 20]
    assert same(runs[1], runs[3])
    assert np.array_equal(runs[0].recommended, runs[1].recommended[:5])
    assert notes.count("ended") == 40


def test_nothing_asked_for_is_nothing_done(tmp_path):
    assert sweep([]) == []
    assert sweep([], results=tmp_path / "r") == []
    assert load(tmp_path / "r") == []


def test_a_watcher_hears_of_one_setting_after_the_other():
    notes = Notes()
    sweep(settings(["us", "b3"]), watcher=notes)
    kinds = [key for key, _ in itertools.groupby(notes.heard, key=lambda note: note[:2])]
    assert kinds == [(kind, spec) for spec in ("us", "b3") for kind in ("began", "ended", "complete")]
    assert (notes.count("ended", "us"), notes.count("ended", "b3")) == (20, 20)


def test_progress_is_told_as_pulls_of_the_whole_sweep():
    seen = []
    sweep([*settings(["us"]), *settings(["b3"]), *settings(["us"])], progress=seen.append)
    total = 2 * 20 * settings(["us"])[0].budget  # us is run once
    assert {(one.total, one.unit) for one in seen} == {(total, "pulls")}
    done = [one.done for one in seen]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, total)
    assert seen[0].note == "us (1 of 2): compiling (first run only)"
    compiling = [one for one in seen if "compiling" in one.note]
    assert [(one.note, one.seconds_left) for one in compiling] == [
        (f"{name}: compiling (first run only)", None) for name in ("us (1 of 2)", "b3 (2 of 2)")
    ]
    assert (seen[-1].note, seen[-1].share, seen[-1].seconds_left) == ("b3 (2 of 2)", 1, 0)
    assert all(one.seconds <= other.seconds for one, other in itertools.pairwise(seen))


def test_progress_is_told_of_what_was_saved_before(tmp_path):
    sweep(settings(["us"]), results=tmp_path / "r")
    seen = []
    sweep(settings(["us"]), results=tmp_path / "r", progress=seen.append)
    assert seen[-1].share == 1


def test_progress_and_a_watcher_may_both_be_given():
    seen, notes = [], Notes()
    sweep(settings(["us"]), progress=seen.append, watcher=notes)
    assert len(seen) == sum(note[0] in ("began", "ended") for note in notes.heard)


def test_no_threads_are_refused():
    with pytest.raises(InvalidInput, match="threads is 0"):
        sweep(settings(["us"]), threads=0)


# Stopped


def test_ctrl_c_keeps_what_is_complete_and_saved(tmp_path):
    asked, file = settings(["us", "b3"], replicates=2_000), tmp_path / "r.jsonl"
    with pytest.raises(Interrupted) as stopped:
        sweep(asked, results=file, threads=1, watcher=Notes(stop_after=2_100))
    us, b3 = stopped.value.runs
    assert us.replicates == 2_000
    assert 100 <= b3.replicates < 2_000
    assert all_same([run for _, run in load(file)], [us, b3])
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert sum(len(line.get("idle", ())) for line in lines) == 2_000 + b3.replicates  # none of them twice
    notes = Notes()
    whole = sweep(asked, results=file, watcher=notes)
    assert notes.count("ended", "b3") == 2_000 - b3.replicates
    assert all_same(whole, sweep(asked))
    assert np.array_equal(whole[1].recommended[b3.numbers], b3.recommended)


def test_ctrl_c_with_an_executor_keeps_what_has_ended(processes, tmp_path):
    asked, file = settings(["us", "b3"], replicates=2_000), tmp_path / "r.jsonl"
    with pytest.raises(Interrupted) as stopped:
        sweep(asked, results=file, executor=processes, watcher=Notes(stop_after=500))
    assert 500 <= sum(run.replicates for run in stopped.value.runs) < 4_000
    assert all_same([run for _, run in load(file)], stopped.value.runs)
    assert all_same(sweep(asked, results=file, executor=processes), sweep(asked))


def test_ctrl_c_in_the_middle_of_a_line_leaves_whole_lines(tmp_path, monkeypatch):
    asked, file = settings(["us"], replicates=400), tmp_path / "r.jsonl"
    real, calls = os.write, []

    def write(descriptor, data):
        calls.append(len(data))
        if len(calls) == 3:
            real(descriptor, data[:100])
            raise KeyboardInterrupt
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(Interrupted) as stopped:
        sweep(asked, results=file, threads=1)
    assert file.read_bytes().endswith(b"}\n")
    ((_, saved),) = load(file)
    assert same(saved, stopped.value.runs[0])
    assert all_same(sweep(asked, results=file), sweep(asked))


# Failing workers


class Murder(Watcher):
    """Kills the workers of a pool when the first chunk is in."""

    def __init__(self, pool):
        self.pool = pool

    def ended(self, setting, replicates, seconds):  # noqa: ARG002
        for pid in list(self.pool._processes or ()):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_a_broken_pool_is_a_clear_error_and_what_was_saved_stays(tmp_path):
    asked, file = settings(["us", "b3"], replicates=5_000), tmp_path / "r.jsonl"
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        with pytest.raises(SimulationFailed, match=r"replicates \d+ to \d+ of .*BrokenProcessPool") as failed:
            sweep(asked, results=file, executor=pool, watcher=Murder(pool))
        assert all_same([run for _, run in load(file)], failed.value.runs)
        assert 0 < sum(run.replicates for run in failed.value.runs) < 10_000
        with pytest.raises(SimulationFailed, match="the executor takes no work: BrokenProcessPool"):
            sweep(asked, executor=pool)
    assert all_same(sweep(asked, results=file), sweep(asked))


def poison():
    """Let replicates from number 200 on fail in this process."""
    real = chunks.spawn

    def spawn(seed, first, count):
        if first >= 200:
            raise MemoryError("no room for streams")
        return real(seed, first, count)

    chunks.spawn = spawn


def test_a_worker_that_raises_is_a_clear_error_and_what_was_saved_stays(tmp_path):
    asked, file = settings(["us"], replicates=400), tmp_path / "r.jsonl"
    context = multiprocessing.get_context("spawn")
    with (
        ProcessPoolExecutor(1, mp_context=context, initializer=poison) as pool,
        pytest.raises(SimulationFailed, match="could not be run: MemoryError: no room for streams") as failed,
    ):
        sweep(asked, results=file, executor=pool)
    assert isinstance(failed.value.__cause__, MemoryError)
    assert failed.value.runs[0].replicates >= 150
    assert all_same([run for _, run in load(file)], failed.value.runs)
    assert all_same(sweep(asked, results=file), sweep(asked))


def test_a_worker_that_raises_in_a_thread_is_told_the_same_way(monkeypatch):
    monkeypatch.setattr(chunks, "spawn", chunks.spawn)  # put back afterwards
    poison()
    with pytest.raises(SimulationFailed, match="no room for streams") as failed:
        sweep(settings(["us"], replicates=400))
    assert failed.value.runs[0].replicates >= 100
    with pytest.raises(SimulationFailed, match="no room for streams"):
        simulate(captions(60), NOISE, parse_policy("us"), budget=200, replicates=400)


def test_an_executor_that_is_shut_down_is_refused():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(SimulationFailed, match="the executor takes no work"):
        sweep(settings(["us"]), executor=pool)


class Strange:
    """An executor that gives what it likes."""

    def __init__(self, given):
        self.given = given

    def submit(self, *_):
        return self.given


def done(result):
    future = Future()
    future.set_result(result)
    return future


@pytest.mark.parametrize(
    ("executor", "words"),
    [
        ("x", r"executor is 'x' \(str\), but must be a concurrent.futures.Executor"),
        (Strange(None), "submit gave None, but must give a future: give a concurrent.futures.Executor"),
        (Strange(done(None)), "the executor gave None, but must give what it was asked to compute: give a concurrent"),
    ],
    ids=["a text", "no future", "no result"],
)
def test_what_is_no_executor_is_refused(executor, words):
    with pytest.raises(InvalidInput, match=words):
        sweep(settings(["us"]), executor=executor)
    with pytest.raises(InvalidInput, match=words):
        plain(settings(["us"])[0], executor=executor)


def test_an_executor_and_threads_are_refused():
    with ThreadPoolExecutor(1) as pool, pytest.raises(InvalidInput, match="threads is 2, but the executor has its own"):
        sweep(settings(["us"]), executor=pool, threads=2)


def test_means_that_differ_in_the_last_bit_are_other_arms(tmp_path):
    means = captions(60).means
    other = means.copy()
    other[7] = np.nextafter(other[7], 2)
    file = tmp_path / "r"
    sweep([Setting(Instance("a", means), NOISE, "us", 50, replicates=2)], results=file)
    with pytest.raises(InvalidInput, match=r"instance is a \(60 arms, given, SHA-256 .*\) there, but a \(60 arms"):
        sweep([Setting(Instance("a", other), NOISE, "us", 50, replicates=2)], results=file)
