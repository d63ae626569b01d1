"""What becomes of evaluations that fail: errors that say the way out, new tries, and errors that do not end the run."""

import asyncio
import functools
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import boxthirding as b3
from boxthirding.errors import EvaluationFailed, InvalidInput
from boxthirding.find import Retry, find_best, find_best_async

QUIET = {"progress": False}
SOON = Retry(times=3, wait=0.0)


class Flaky:
    """A function that raises a number of times in a row, then gives the arm; it notes when it was called."""

    def __init__(self, failures, error=None):
        self.failures, self.error, self.calls = failures, error or TimeoutError("too slow"), []

    def __call__(self, arm):
        self.calls.append(time.monotonic())
        if (len(self.calls) - 1) % (self.failures + 1) < self.failures:
            raise self.error
        return arm


def test_the_error_names_on_error_and_what_was_found():
    def evaluate(arm):
        if arm == 3:
            raise ValueError("no such arm")
        return arm

    with pytest.raises(EvaluationFailed) as caught:
        find_best(5, evaluate, budget=50, **QUIET)
    assert str(caught.value) == (
        'arm 3: evaluate raised ValueError: no such arm; on_error="withdraw" continues without arms that fail, '
        "and error.found has the best so far"
    )
    assert caught.value.problem == "arm 3: evaluate raised ValueError: no such arm"
    assert caught.value.found.stopped == "error"


# retry=


@pytest.mark.parametrize("workers", [1, 3])
def test_an_evaluation_is_tried_again_and_is_one_pull(workers):
    lock, flaky = threading.Lock(), Flaky(2)

    def evaluate(arm):
        with lock:
            return flaky(arm)

    found = find_best(4, evaluate, budget=10, workers=workers, retry=Retry(times=60, wait=0.0), **QUIET)
    assert (found.spending.pulls, found.spending.failures, len(flaky.calls)) == (10, 0, 30)


def test_an_executor_tries_again_too():
    flaky = Flaky(3)
    with ThreadPoolExecutor(1) as pool:
        found = find_best(4, flaky, budget=5, executor=pool, retry=SOON, **QUIET)
    assert (found.spending.pulls, found.spending.failures, len(flaky.calls)) == (5, 0, 20)


def test_coroutines_are_tried_again_too():
    flaky = Flaky(3)

    async def evaluate(arm):
        return flaky(arm)

    found = asyncio.run(find_best_async(4, evaluate, budget=5, retry=SOON, **QUIET))
    assert (found.spending.pulls, found.spending.failures, len(flaky.calls)) == (5, 0, 20)


def test_after_the_last_try_the_error_counts():
    flaky = Flaky(4)
    with pytest.raises(EvaluationFailed, match="evaluate raised TimeoutError: too slow"):
        find_best(4, flaky, budget=5, retry=SOON, **QUIET)
    assert len(flaky.calls) == 4


def test_another_error_counts_at_once():
    flaky = Flaky(1, KeyError("typo"))
    with pytest.raises(EvaluationFailed, match="KeyError"):
        find_best(4, flaky, budget=5, retry=Retry(wait=0.0, on=TimeoutError), **QUIET)
    assert len(flaky.calls) == 1


def test_each_wait_is_longer_than_the_one_before():
    flaky = Flaky(3)
    find_best(1, flaky, budget=1, retry=Retry(times=3, wait=0.02, backoff=3.0), **QUIET)
    waits = [after - before for before, after in zip(flaky.calls, flaky.calls[1:], strict=False)]
    assert all(wait >= least for wait, least in zip(waits, (0.02, 0.06, 0.18), strict=True))


def test_nothing_is_tried_again_after_the_run_has_ended(clock):
    flaky, called = Flaky(10_000), threading.Event()

    def evaluate(arm):
        called.set()
        clock.go()
        return flaky(arm)

    found = find_best(2, evaluate, seconds=0.2, retry=Retry(times=9, wait=600), **QUIET)
    assert called.is_set()
    assert (found.stopped, found.spending.abandoned) == ("deadline", 1)
    for thread in threading.enumerate():
        if thread.name.startswith("find_best"):
            thread.join()
    assert len(flaky.calls) == 1


def test_confirm_tries_again_as_the_search_did():
    flaky = Flaky(1)
    found = find_best(2, flaky, budget=4, retry=SOON, **QUIET)
    assert [arm.pulls for arm in found.confirm(2, pulls=3).arms] == [3, 3]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"times": 0}, "times is 0, but must be at least 1"),
        ({"wait": -1}, "wait is -1, but must be a finite number of at least 0"),
        ({"on": "TimeoutError"}, "on is 'TimeoutError', but must be exception classes, such as"),
        ({"on": (KeyboardInterrupt,)}, "must be exception classes, such as"),
    ],
)
def test_a_retry_that_makes_no_sense_is_refused(settings, message):
    with pytest.raises(InvalidInput, match=message):
        Retry(**settings)


def test_what_is_no_retry_is_refused():
    with pytest.raises(InvalidInput, match=r"retry is 3 \(int\), but must be a Retry: retry=Retry\(times=3"):
        find_best(2, float, budget=4, retry=3, **QUIET)


# catch=


def test_an_error_that_is_caught_is_a_failed_pull():
    def evaluate(arm):
        if arm == 4:
            raise ZeroDivisionError
        return arm

    found = find_best(5, evaluate, budget=40, catch=(ZeroDivisionError,), **QUIET)
    assert (found.best, found.stopped, found.spending.failures) == (3, "budget", 3)
    assert find_best(5, evaluate, budget=40, catch=ArithmeticError, **QUIET).best == 3


def test_an_error_that_is_not_caught_ends_the_run():
    with pytest.raises(EvaluationFailed, match="ZeroDivisionError"):
        find_best(5, lambda arm: 1 / arm, budget=40, catch=(KeyError,), **QUIET)


def test_what_evaluate_returns_is_no_error_to_be_caught():
    with pytest.raises(EvaluationFailed, match="is a `return` missing"):
        find_best(5, lambda _: None, budget=40, catch=(ValueError,), **QUIET)


def test_what_is_no_exception_class_is_refused():
    with pytest.raises(InvalidInput, match=r"catch is 'all', .* catch=\(TimeoutError,\)"):
        find_best(5, float, budget=40, catch="all", **QUIET)


def test_they_are_public():
    assert b3.Retry is Retry
    assert functools.partial(find_best, catch=(), retry=None)(3, float, budget=9, **QUIET).best == 2
