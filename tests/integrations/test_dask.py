"""A real Dask cluster of two processes: `find_best` and `lab.sweep` with its client as their executor."""

import asyncio
import os
import signal
import threading
import time
from collections import Counter
from concurrent.futures import BrokenExecutor

import dask
import distributed
import joblib
import numpy as np
import pytest
from one_slow_fit import one_slow_fit
from scipy.stats import uniform
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from boxthirding import lab, open_study
from boxthirding.errors import EvaluationFailed, InvalidInput
from boxthirding.executors import adapter_for
from boxthirding.executors import dask as _clusters
from boxthirding.find import Retry, find_best
from boxthirding.integrations.sklearn import BoxThirdingSearchCV
from boxthirding.lab import Gaussian, poly

QUIET = {"progress": False}


def score(arm):
    return float(arm)


def where(arm):
    return float(arm), float(os.getpid())


def fails(arm):
    if arm == 4:
        raise ValueError("no such arm")
    return arm


def slow(arm):
    time.sleep(0.02)
    return float(arm)


def hangs(_):
    time.sleep(600)


class Large:
    """An arm of two megabytes, which notes in a folder how often it was sent."""

    def __init__(self, folder, value):
        self.folder, self.value, self.bulk = folder, value, np.zeros(250_000)

    def __getstate__(self):
        if self.folder is not None:
            (self.folder / f"{self.value}-{time.monotonic_ns()}").touch()
        return self.__dict__


def value_of(arm):
    return float(arm.value)


def pid_of(arm):
    time.sleep(0.02)
    return float(arm.value), float(os.getpid())


@pytest.fixture(scope="module")
def connected():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "180s"}),  # a busy machine starts slowly
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as one,
    ):
        yield one


@pytest.fixture
def client(connected):
    """Return a client of a cluster with two workers: one that the test before has killed is started again."""
    connected.wait_for_workers(2, timeout=300)
    return connected


def test_a_client_is_an_executor_and_stays_open(client):
    found = find_best(20, where, cost=10**9, seconds=600, executor=client, policy="sh:budget=60", **QUIET)
    assert (found.best, found.stopped) == (19, "finished")
    assert client.submit(score, 3).result() == 3


def test_so_many_evaluations_are_in_flight_as_the_cluster_has_threads(client, tmp_path):
    def together(arm):  # ends only when another evaluation is under way at the same time
        (tmp_path / f"{os.getpid()}-{time.monotonic_ns()}").touch()
        while len({file.name.partition("-")[0] for file in tmp_path.iterdir()}) < 2:
            time.sleep(0.01)
        return float(arm)

    assert find_best(9, together, budget=8, executor=client, **QUIET).spending.pulls == 8
    assert adapter_for(client).workers == 2


def test_the_executor_of_a_client_works_as_before(client):
    found = find_best(2, score, budget=40, executor=client.get_executor(), workers=4, **QUIET)
    assert (found.best, found.spending.pulls) == (1, 40)  # each pull is evaluated, though its arguments are the same


def test_what_is_large_is_sent_once(client, tmp_path):
    arms = {str(value): Large(tmp_path, value) for value in range(3)}
    bulk = np.ones(250_000)

    def heavy(arm, example):
        return value_of(arm) * bulk[0] * example[0]

    examples = [np.full(50_000, value) for value in (1.0, 2.0)]
    find_best(arms, heavy, budget=6, examples=examples, executor=client, retry=Retry(times=1), **QUIET)
    find_best(arms, value_of, budget=60, executor=client, **QUIET)
    often = [file.name.partition("-")[0] for file in tmp_path.iterdir()]
    # Pickled when its size is found out, when it is sent, and from one worker to the other: not for every pull.
    assert all(often.count(label) <= 10 for label in arms)


def test_what_is_large_keeps_no_worker_idle(client):
    bulk, heard = np.zeros(250_000), []

    def heavy(arm):
        time.sleep(0.02)
        return arm.value + bulk[0], float(os.getpid())

    for function in (heavy, pid_of):  # a large function, and a small one with large arms
        arms = {str(value): Large(None, value) for value in range(4)}
        heard.clear()
        find_best(
            arms, function, cost=10**12, seconds=600, executor=client, policy="us", callbacks=[note(heard)], **QUIET
        )
        assert len(set(heard)) == 2


def note(heard):
    """Return what notes which process a result is from, and ends the run once each of two has given a few."""

    def callback(result):
        heard.append(result.cost)
        counts = Counter(heard).values()
        if len(heard) == 1000 or (len(counts) == 2 and min(counts) >= 5):
            result.stop()

    return callback


def test_an_error_on_the_cluster_names_the_arm(client):
    with pytest.raises(EvaluationFailed, match="arm 4: evaluate raised ValueError: no such arm"):
        find_best(5, fails, budget=60, executor=client, **QUIET)
    found = find_best(5, fails, budget=60, executor=client, on_error="withdraw", **QUIET)
    assert found.best == 3


def test_a_deadline_does_not_wait_for_the_cluster(client):
    found = find_best(9, hangs, seconds=3, executor=client, workers=6, **QUIET)
    assert (found.stopped, found.spending.abandoned) == ("deadline", 6)
    client.restart()  # what hangs


def test_an_arm_that_cannot_be_pickled_is_named_and_nothing_is_lost(client):
    arms = {"one": 1, "two": 2, "lock": threading.Lock()}
    with pytest.raises(EvaluationFailed, match=r"arm 'lock': .*lock cannot be sent to the cluster .*pickle"):
        find_best(arms, float, budget=30, executor=client, **QUIET)
    found = find_best(arms, float, budget=30, executor=client, on_error="withdraw", **QUIET)
    assert (found.label, found.spending.failures) == ("two", 3)


def test_a_function_that_cannot_be_pickled_is_said(client):
    lock = threading.Lock()
    with pytest.raises(EvaluationFailed, match="function cannot be sent to the cluster"):
        find_best(9, lambda _: lock.locked(), budget=9, executor=client, **QUIET)


def test_a_worker_that_is_killed_loses_no_pull_and_none_counts_twice(client, tmp_path):
    pids = [worker["pid"] for worker in client.run(lambda: {"pid": os.getpid()}).values()]
    killed = []

    def kill(result):
        if result.progress.done == 30:
            os.kill(pids[0], signal.SIGKILL)
            killed.append(result.ticket.id)

    with open_study(tmp_path / "run.db", arms=50) as study:
        found = find_best(None, slow, budget=200, executor=client, study=study, callbacks=[kill], **QUIET)
        view = study.view()
    assert killed
    assert (found.spending.pulls, found.spending.failures, found.stopped) == (200, 0, "budget")
    assert (view.spent, view.pulls, view.open) == (200, 200, 0)
    assert found.label == 49
    while pids[0] in client.run(os.getpid).values():  # until the cluster has noticed
        time.sleep(0.01)


def test_a_search_of_scikit_learn_fits_on_the_cluster_without_waiting_for_rounds(client, tmp_path):
    slow = one_slow_fit(DecisionTreeClassifier, tmp_path)
    search = BoxThirdingSearchCV(
        slow(), {"ccp_alpha": uniform(0, 0.1)}, budget=20, cv=4, random_state=3, error_score="raise", refit=False
    )
    with joblib.parallel_config(backend="dask", client=client):
        search.fit(*make_classification(400, 6, flip_y=0.2, random_state=1))
    assert search.cv_results_["n_folds"].sum() == 20
    assert len({file.read_text() for file in tmp_path.iterdir()}) == 2
    assert len(list(tmp_path.iterdir())) == 20


def test_a_sweep_runs_on_the_cluster_with_the_same_results(client):
    settings = [
        lab.Setting(poly(50), Gaussian(0.3), policy, budget=200, replicates=40, seed=1) for policy in ("us", "b3")
    ]
    far, near = lab.sweep(settings, executor=client), lab.sweep(settings, threads=1)
    for one, other in zip(far, near, strict=True):
        assert (one.recommended == other.recommended).all()


# A cluster without workers


def test_a_cluster_that_has_no_workers_yet_says_what_to_do():
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as empty,
        pytest.raises(InvalidInput, match=r"no workers yet.*wait_for_workers\(1\), or give workers="),
    ):
        find_best(9, score, budget=9, executor=empty, **QUIET)


@pytest.mark.parametrize("as_given", [lambda client: client, lambda client: client.get_executor()])
def test_a_client_that_is_closed_is_refused(as_given):
    with distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster:
        client = distributed.Client(cluster)
        given = as_given(client)
        client.close()
        with pytest.raises(InvalidInput, match=r"the Dask client is closed, but must be connected: make a new one"):
            find_best(20, score, budget=40, executor=given, **QUIET)
        with pytest.raises(InvalidInput, match="the Dask client is closed"):
            lab.sweep([lab.Setting(poly(50), Gaussian(0.3), "us", budget=100, replicates=4, seed=1)], executor=given)


def test_a_client_that_is_asynchronous_is_refused():
    async def search():
        async with (
            distributed.LocalCluster(
                n_workers=0, processes=False, dashboard_address=":0", asynchronous=True
            ) as cluster,
            distributed.Client(cluster, asynchronous=True) as client,
        ):
            find_best(20, score, budget=40, executor=client, **QUIET)

    with pytest.raises(InvalidInput, match="the Dask client is asynchronous, but must be synchronous"):
        asyncio.run(search())


def test_a_cluster_that_loses_all_workers_ends_the_run_with_what_was_found(monkeypatch):
    monkeypatch.setattr(_clusters, "PATIENCE", 2.0)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as one,
    ):

        def lose(result):
            if result.progress.done == 10:
                cluster.scale(0)

        with pytest.raises(
            EvaluationFailed, match="no more work: the cluster has had no workers for 2 seconds"
        ) as caught:
            find_best(20, slow, budget=5_000, executor=one, callbacks=[lose], on_error="withdraw", **QUIET)
    assert caught.value.found.best is not None
    assert caught.value.found.spending.pulls >= 10


def test_a_search_of_scikit_learn_whose_cluster_loses_all_workers_goes_on_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(_clusters, "PATIENCE", 2.0)
    seen = tmp_path / "seen"
    seen.mkdir()

    here = os.getpid()

    class Noted(DecisionTreeClassifier):
        def fit(self, x, y):
            (seen / f"{os.getpid()}-{time.monotonic_ns()}").touch()
            if os.getpid() != here:  # so that the workers are gone long before all is fitted
                time.sleep(0.5)
            return super().fit(x, y)

    search = BoxThirdingSearchCV(
        Noted(), {"ccp_alpha": uniform(0, 0.1)}, budget=60, cv=4, random_state=3, study=tmp_path / "search.db"
    ).set_params(refit=False)
    data = make_classification(120, 6, flip_y=0.2, random_state=1)
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as one,
    ):

        def lose():
            while len(list(seen.iterdir())) < 10:
                time.sleep(0.01)
            cluster.scale(0)

        threading.Thread(target=lose, daemon=True).start()
        with (
            joblib.parallel_config(backend="dask", client=one),
            pytest.raises(BrokenExecutor, match="no workers for 2 seconds"),
        ):
            search.fit(*data)
    with open_study(tmp_path / "search.db") as kept:
        spent, holders = kept.view().spent, kept.view().holders
    assert (spent >= 6, holders) == (True, {})
    before = len(list(seen.iterdir()))
    assert search.fit(*data).cv_results_["n_folds"].sum() == 60
    assert len(list(seen.iterdir())) - before == 60 - spent
