"""Calls that come while others run are run together in one thread."""

import asyncio
import threading

import pytest

from boxthirding.service.batches import Batches


def test_calls_that_come_while_one_runs_are_run_in_order_by_its_thread():
    async def run():
        batches, may_go, ran = Batches(), threading.Event(), []

        def call(number):
            if number == 0:
                assert may_go.wait(60)
            ran.append((number, threading.get_ident()))
            return 2 * number

        waiting = [asyncio.create_task(batches.run(lambda number=number: call(number))) for number in range(20)]
        await asyncio.sleep(0)
        may_go.set()
        assert await asyncio.gather(*waiting) == [2 * number for number in range(20)]
        assert await batches.run(lambda: "later") == "later"
        return ran

    ran = asyncio.run(run())
    assert [number for number, _ in ran] == [*range(20)]
    assert len({thread for _, thread in ran}) == 1


def test_an_error_is_for_the_one_whose_call_raised_it():
    async def run():
        batches = Batches()
        calls = [batches.run(lambda number=number: 1 / number) for number in (1, 0, 2)]
        return await asyncio.gather(*calls, return_exceptions=True)

    first, error, last = asyncio.run(run())
    assert (first, last) == (1, 0.5)
    with pytest.raises(ZeroDivisionError):
        raise error


def test_one_who_does_not_wait_any_more_stops_no_one():
    async def run():
        batches, may_go = Batches(), threading.Event()
        gone = asyncio.create_task(batches.run(lambda: may_go.wait(60)))
        other = asyncio.create_task(batches.run(lambda: "here"))
        await asyncio.sleep(0)
        gone.cancel()
        may_go.set()
        return await other

    assert asyncio.run(run()) == "here"
