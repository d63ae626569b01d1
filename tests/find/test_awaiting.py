"""`find_best` with coroutine functions, and `find_best_async` from a running loop."""

import asyncio
import contextlib
import functools
import gc
import itertools
import threading

import pytest

from boxthirding.errors import ArmsUnavailable, EvaluationFailed, InvalidInput
from boxthirding.find import Examples, find_best, find_best_async
from boxthirding.find.loops import _breakable
from boxthirding.session import Session

QUIET = {"progress": False}


class InFlight:
    """A coroutine function, and how many of its calls ran side by side at the most."""

    def __init__(self):
        self.now = self.most = 0

    async def __call__(self, arm):
        self.now += 1
        self.most = max(self.most, self.now)
        for _ in range(10):
            await asyncio.sleep(0)
        self.now -= 1
        return arm


async def score(arm):
    await asyncio.sleep(0)
    return arm


@pytest.mark.parametrize("workers", [1, 7, 50])
def test_as_many_coroutines_are_awaited_side_by_side_as_there_are_workers(workers):
    evaluate = InFlight()
    found = find_best(1000, evaluate, budget=200, workers=workers, **QUIET)
    assert evaluate.most == workers
    assert (evaluate.now, found.stopped, found.spending.pulls) == (0, "budget", 200)


def test_a_single_worker_is_one_coroutine_at_a_time():
    evaluate = InFlight()
    find_best(10, evaluate, budget=30, **QUIET)
    assert evaluate.most == 1


def test_one_coroutine_at_a_time_takes_the_decisions_of_a_session_driven_by_hand():
    session, by_hand, seen = Session(30, seed=2), [], []
    for _ in range(100):
        (ticket,) = session.ask()
        by_hand.append(ticket.label)
        session.tell(ticket, ticket.label)

    async def evaluate(arm):
        seen.append(arm)
        return arm

    assert find_best(30, evaluate, budget=100, seed=2, **QUIET).recommendation == session.recommend()
    assert seen == by_hand


@pytest.mark.parametrize("evaluate", [score, functools.partial(score), InFlight()], ids=["def", "partial", "object"])
def test_every_kind_of_coroutine_function_is_recognised(evaluate):
    assert find_best(5, evaluate, budget=40, workers=2, **QUIET).best == 4


def test_examples_and_costs_work_for_coroutines_too():
    async def evaluate(arm, example):
        return arm * example, 0.5

    found = find_best(5, evaluate, cost=20, workers=3, examples=Examples([1, 2, 3], repeat=True), **QUIET)
    assert (found.best, found.spending.pulls) == (4, 40)


def test_find_best_works_where_an_event_loop_could_be_made():
    assert [find_best(3, score, budget=9, **QUIET).best for _ in range(2)] == [2, 2]


@pytest.mark.parametrize("evaluate", [score, float], ids=["coroutine", "plain"])
@pytest.mark.parametrize("workers", [1, 4])
def test_the_async_form_runs_in_a_running_loop(evaluate, workers):
    async def main():
        return await find_best_async(20, evaluate, budget=100, workers=workers, **QUIET)

    found = asyncio.run(main())
    assert (found.best, found.stopped, found.spending.pulls) == (19, "budget", 100)


def test_the_loop_goes_on_while_a_plain_function_runs():
    async def main():
        turn = threading.Event()

        def evaluate(arm):
            assert turn.wait(60)  # set by the loop, while this waits
            return arm

        search = asyncio.create_task(find_best_async(3, evaluate, budget=9, **QUIET))
        await asyncio.sleep(0)
        turn.set()
        return await search

    assert asyncio.run(main()).best == 2


def test_two_searches_share_a_loop():
    async def main():
        return await asyncio.gather(
            *(find_best_async(20, score, budget=100, workers=5, seed=s, **QUIET) for s in (1, 2))
        )

    assert [found.best for found in asyncio.run(main())] == [19, 19]


def test_in_a_running_loop_the_plain_form_names_the_async_one(capsys):
    async def main():
        find_best(3, score, budget=9)

    with pytest.raises(InvalidInput, match=r"an event loop is running: await find_best_async\("):
        asyncio.run(main())
    assert capsys.readouterr() == ("", "")


def test_in_a_running_loop_a_plain_function_may_block_it():
    async def main():
        return find_best(3, float, budget=9, **QUIET)

    assert asyncio.run(main()).best == 2


def test_a_coroutine_function_and_an_executor_are_refused():
    from concurrent.futures import ThreadPoolExecutor

    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(InvalidInput, match="coroutine function, which an executor cannot"),
    ):
        find_best(3, score, budget=9, executor=pool)


# Failures


def test_an_error_in_a_coroutine_ends_the_run_and_what_is_under_way_still_counts():
    async def evaluate(arm):
        await asyncio.sleep(0 if arm == 1 else 0.01)
        if arm == 1:
            raise ValueError("bad arm")
        return arm

    with pytest.raises(EvaluationFailed, match="arm 1: evaluate raised ValueError: bad arm") as caught:
        find_best(3, evaluate, budget=60, workers=3, **QUIET)
    assert isinstance(caught.value.__cause__, ValueError)
    assert caught.value.found.session.pulls == 2


def test_a_failing_coroutine_withdraws_its_arm():
    async def evaluate(arm):
        return None if arm == 4 else arm

    found = find_best(5, evaluate, budget=60, workers=3, on_error="withdraw", **QUIET)
    assert (found.best, found.spending.pulls) == (3, 60)
    assert found.spending.failures >= 3


@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_that_exits_inside_a_coroutine_exits(workers):
    async def evaluate(_):
        raise SystemExit(3)

    with pytest.raises(SystemExit, match="3"):
        find_best(3, evaluate, budget=5, workers=workers, on_error="withdraw", **QUIET)


def test_an_evaluate_that_was_cancelled_by_others_has_failed():
    async def evaluate(_):
        raise asyncio.CancelledError

    with pytest.raises(EvaluationFailed, match="evaluate was cancelled"):
        find_best(3, evaluate, budget=5, **QUIET)


def test_an_iterator_that_raises_is_reported_from_a_loop_too():
    def arms():
        yield from range(5)
        raise OSError("connection lost")

    with pytest.raises(ArmsUnavailable, match="connection lost") as caught:
        find_best(arms(), score, budget=50, workers=2, **QUIET)
    assert caught.value.found.best is not None


# Cut short


def test_cancelling_the_search_cancels_what_it_awaits():
    async def main():
        begun, ended, all_begun = [], [], asyncio.Event()

        async def evaluate(_):
            begun.append(1)
            if len(begun) == 3:
                all_begun.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                ended.append(1)
                raise

        search = asyncio.create_task(find_best_async(9, evaluate, budget=9, workers=3, **QUIET))
        await all_begun.wait()
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search
        await asyncio.sleep(0)
        return len(ended)

    assert asyncio.run(main()) == 3


def test_a_deadline_leaves_coroutines_that_hang(clock):
    calls = itertools.count(1)

    async def evaluate(arm):
        if (number := next(calls)) > 10:
            if number == 14:
                clock.go()
            await asyncio.sleep(3600)
        return arm

    found = find_best(20, evaluate, seconds=0.2, workers=4, **QUIET)
    assert (found.stopped, found.spending.pulls, found.spending.abandoned) == ("deadline", 10, 4)
    assert found.best is not None
    assert "4 evaluations abandoned while running" in repr(found)


def test_a_deadline_leaves_threads_that_a_coroutine_waits_for(clock):
    release, calls = threading.Event(), itertools.count()

    async def evaluate(arm):
        if next(calls) >= 5:
            clock.go()
            await asyncio.to_thread(release.wait)
        return arm

    try:
        found = find_best(20, evaluate, seconds=0.2, **QUIET)
    finally:
        release.set()
    assert (found.stopped, found.spending.pulls, found.spending.abandoned) == ("deadline", 5, 1)


def test_a_coroutine_that_ignores_its_cancellation_is_left_behind_in_silence(caplog, monkeypatch, clock):
    monkeypatch.setattr("boxthirding.find.loops._GRACE", 0.05)

    async def evaluate(_):
        clock.go()
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)

    found = find_best(3, evaluate, seconds=0.1, **QUIET)
    assert (found.stopped, found.spending.abandoned) == ("deadline", 1)
    gc.collect()
    assert caplog.records == []


def test_a_coroutine_that_is_collected_before_its_task_raises_nothing():
    async def evaluate():
        await asyncio.sleep(0)

    coroutine = evaluate()
    task = _breakable(coroutine)
    task.send(None)
    coroutine.close()
    task.close()  # as the collector does
