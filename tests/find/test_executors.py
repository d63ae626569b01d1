"""`find_best` with executors: threads and processes."""

import os
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from boxthirding.errors import EvaluationFailed, InvalidInput
from boxthirding.find import find_best

QUIET = {"progress": False}


def score(arm):
    return float(arm)


def where(arm):
    return float(arm), float(os.getpid())


def paired(arm, example):
    return arm * example


def fails(arm):
    if arm == 4:
        raise ValueError("no such arm")
    return arm


def dies(arm):
    if arm == 4:
        os._exit(1)
    return arm


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        yield pool


@pytest.fixture
def threads():
    with ThreadPoolExecutor(3) as pool:
        yield pool


# Threads


def test_an_executor_of_threads_evaluates_and_stays_open(threads):
    assert find_best(20, score, budget=100, executor=threads, **QUIET).best == 19
    assert threads.submit(score, 3).result() == 3


def test_so_many_evaluations_are_in_flight_as_the_executor_has_workers(threads):
    together = threading.Barrier(3, timeout=600)  # breaks unless three wait at the same time

    def evaluate(arm):
        together.wait()
        return arm

    assert find_best(50, evaluate, budget=30, executor=threads, **QUIET).spending.pulls == 30


class Slow(Executor):
    """An executor that keeps its futures until it is told to run them."""

    def __init__(self, submitted=lambda: None):
        self.kept, self.submitted = [], submitted

    def submit(self, function, /, *arguments):
        future = Future()
        self.kept.append((future, function, arguments))
        self.submitted()
        return future


@pytest.mark.parametrize(("workers", "expected"), [(None, os.cpu_count()), (5, 5)])
def test_workers_say_how_many_evaluations_are_in_flight(workers, expected, clock):
    slow = Slow(lambda: len(slow.kept) < expected or clock.go())
    found = find_best(500, score, budget=400, seconds=0.05, executor=slow, workers=workers, **QUIET)
    assert len(slow.kept) == found.spending.abandoned == expected
    assert found.stopped == "deadline"
    assert all(future.cancelled() for future, *_ in slow.kept)


def test_a_deadline_cancels_what_has_not_begun(clock):
    release, begun = threading.Event(), []
    all_are_there = threading.Barrier(
        4, action=clock.go, timeout=600
    )  # three that have begun, and the last to be submitted

    class Threads(ThreadPoolExecutor):
        submitted = 0

        def submit(self, function, /, *arguments, **settings):
            future = super().submit(function, *arguments, **settings)
            self.submitted += 1
            if self.submitted == 10:
                all_are_there.wait()
            return future

    def evaluate(arm):
        begun.append(arm)
        all_are_there.wait()
        release.wait()
        return arm

    with Threads(3) as threads:
        try:
            found = find_best(50, evaluate, budget=30, seconds=0.1, executor=threads, workers=10, **QUIET)
        finally:
            release.set()
    assert (found.stopped, found.spending.abandoned) == ("deadline", 10)
    assert len(begun) == 3


def test_an_executor_that_is_shut_down_is_named():
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(EvaluationFailed, match="the executor takes no more work: cannot schedule") as caught:
        find_best(5, score, budget=9, executor=pool, on_error="withdraw", **QUIET)
    assert caught.value.found.best is None


def test_a_future_that_somebody_else_cancels_ends_the_run():
    class Cancelling(Slow):
        def submit(self, function, /, *arguments):
            future = super().submit(function, *arguments)
            if len(self.kept) > 10:
                future.cancel()
            else:
                future.set_result(function(*arguments))
            return future

    with pytest.raises(EvaluationFailed, match="the executor takes no more work") as caught:
        find_best(5, score, budget=90, executor=Cancelling(), workers=1, on_error="withdraw", **QUIET)
    assert caught.value.found.spending.pulls == 10
    assert caught.value.found.best is not None


# Processes


def test_processes_evaluate(processes):
    found = find_best(20, where, cost=10**9, seconds=3600, executor=processes, policy="sh:budget=100", **QUIET)
    assert (found.best, found.stopped) == (19, "finished")
    assert found.spending.cost > 0


def test_processes_get_their_examples(processes):
    found = find_best(5, paired, budget=60, examples=range(1, 100), executor=processes, workers=2, **QUIET)
    assert (found.best, found.spending.pulls) == (4, 60)
    assert [arm.label for arm in found.confirm(2, 5).arms] == [arm.label for arm in found.top(2)]


def test_an_error_in_a_process_names_the_arm(processes):
    with pytest.raises(EvaluationFailed, match="arm 4: evaluate raised ValueError: no such arm") as caught:
        find_best(5, fails, budget=60, executor=processes, **QUIET)
    assert isinstance(caught.value.__cause__, ValueError)
    found = find_best(5, fails, budget=60, executor=processes, on_error="withdraw", **QUIET)
    assert (found.best, found.spending.failures >= 3) == (3, True)


def test_a_function_that_cannot_be_sent_to_a_process_is_refused_before_anything_runs(processes, capsys):
    with pytest.raises(
        InvalidInput, match=r"evaluate cannot be sent to another process .*: define it at the top level"
    ):
        find_best(5, lambda arm: arm, budget=60, executor=processes)
    assert capsys.readouterr() == ("", "")


def test_an_arm_that_cannot_be_sent_to_a_process_is_named(processes):
    with pytest.raises(EvaluationFailed, match="arm 'lock': evaluate raised TypeError: cannot pickle"):
        find_best({"lock": threading.Lock()}, score, budget=60, executor=processes, **QUIET)
    assert find_best(3, score, budget=9, executor=processes, **QUIET).best == 2


def test_a_process_that_dies_ends_the_run_and_nothing_is_lost():
    with (
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
        pytest.raises(
            EvaluationFailed, match="the executor takes no more work: A process in the process pool"
        ) as caught,
    ):
        find_best(30, dies, budget=200, executor=pool, seed=1, on_error="withdraw", **QUIET)
    assert caught.value.found.best is not None
