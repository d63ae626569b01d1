"""`callbacks=`: functions that hear of each result, and may end the run."""

import asyncio
import threading

import pytest

import boxthirding as b3
from boxthirding import Progress, Recommendation
from boxthirding.errors import EvaluationFailed, InvalidInput
from boxthirding.find import NewResult, find_best, find_best_async

QUIET = {"progress": False}


@pytest.mark.parametrize("workers", [1, 3])
def test_each_result_is_heard_of_in_the_calling_thread(workers):
    heard, threads = [], set()

    def hear(new):
        heard.append(new)
        threads.add(threading.current_thread())

    found = find_best(
        {"a": 1.0, "b": 2.0}, lambda arm: (arm, 0.5), budget=12, workers=workers, callbacks=[hear], **QUIET
    )
    assert threads == {threading.current_thread()}
    assert len({new.ticket.id for new in heard}) == len(heard) == 12
    assert {(new.label, new.arm, new.reward, new.cost) for new in heard} == {("a", 1.0, 1.0, 0.5), ("b", 2.0, 2.0, 0.5)}
    assert [new.progress.done for new in heard] == list(range(1, 13))
    assert heard[-1].best == found.recommendation
    assert (type(heard[0]), type(heard[0].progress), type(heard[0].best)) == (NewResult, Progress, Recommendation)


def test_failures_are_not_heard_of():
    heard = []
    find_best(3, lambda arm: 1 / arm, budget=12, on_error="withdraw", callbacks=[heard.append], **QUIET)
    assert len(heard) == 9
    assert all(new.label != 0 for new in heard)


def stop_at(pulls):
    def stop(new):
        if new.progress.done >= pulls:
            new.stop()

    return stop


def test_a_callback_may_end_the_run():
    heard = []
    found = find_best(50, float, budget=500, callbacks=[stop_at(20), heard.append], **QUIET)
    assert (found.stopped, found.spending.pulls, len(heard)) == ("callback", 20, 20)
    assert found.best is not None
    assert "a callback ended it" in repr(found)


@pytest.mark.parametrize("workers", [2, 4])
def test_what_is_under_way_still_counts(workers):
    together = threading.Barrier(workers, timeout=60)

    def evaluate(arm):
        together.wait()
        return arm

    found = find_best(50, evaluate, budget=500, workers=workers, callbacks=[lambda new: new.stop()], **QUIET)
    assert (found.stopped, found.spending.pulls, found.spending.abandoned) == ("callback", workers, 0)


def test_coroutines_have_callbacks_too():
    async def evaluate(arm):
        await asyncio.sleep(0)
        return arm

    found = asyncio.run(find_best_async(50, evaluate, budget=500, workers=5, callbacks=[stop_at(20)], **QUIET))
    assert found.stopped == "callback"
    assert 20 <= found.spending.pulls <= 24


def test_a_study_resumes_after_a_callback_ended_a_run(tmp_path):
    study = tmp_path / "run.db"
    assert find_best(50, float, budget=30, study=study, callbacks=[stop_at(20)], **QUIET).stopped == "callback"
    again = find_best(50, float, budget=30, study=study, **QUIET)
    assert (again.stopped, again.spending.pulls, again.spending.elsewhere) == ("budget", 10, 20)


@pytest.mark.parametrize("where", ["callbacks", "progress"])
def test_an_error_in_a_function_ends_the_run_and_has_what_was_found(where):
    calls = []

    def burst(_):
        calls.append(1)
        if len(calls) == 7:
            raise ZeroDivisionError("mine")

    settings = {"callbacks": [burst], "progress": False} if where == "callbacks" else {"progress": burst}
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        find_best(50, float, budget=500, **settings)
    assert (caught.value.found.spending.pulls, caught.value.found.stopped) == (7, "error")


def test_an_evaluation_that_fails_after_a_stop_is_still_raised():
    first = threading.Event()

    def evaluate(arm):
        if first.is_set():
            raise OSError("gone")
        first.set()
        return arm

    with pytest.raises(EvaluationFailed, match="gone"):
        find_best(1, evaluate, budget=5, callbacks=[lambda _: None], **QUIET)


async def coroutine(_):
    """Do nothing."""


@pytest.mark.parametrize(
    ("callbacks", "message"),
    [
        (print, "must be a list of functions"),
        (3, "callbacks is 3, but must be a list of functions"),
        (["print"], "a callback is 'print', but must be a function that takes a NewResult"),
        ([coroutine], "is a coroutine function, but must be a plain one"),
    ],
)
def test_what_cannot_be_called_is_refused_before_anything_runs(callbacks, message):
    with pytest.raises(InvalidInput, match=message):
        find_best(5, lambda _: pytest.fail("evaluated"), budget=5, callbacks=callbacks, **QUIET)


def test_it_is_public():
    assert b3.NewResult is NewResult
