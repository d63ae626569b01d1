"""What comes while others are being served waits, and is then done together."""

import asyncio
import threading

import pytest

from boxthirding.service.batches import Batches

WAIT = 60.0


class Slow:
    """Does wishes when it is let, and remembers the batches."""

    def __init__(self):
        self.batches = []
        self.may_go = threading.Event()

    def __call__(self, wishes):
        self.batches.append(list(wishes))
        assert self.may_go.wait(WAIT)
        if "break" in wishes:
            raise OSError("all of it")
        return [ValueError(wish) if wish == "bad" else wish.upper() for wish in wishes]


async def taken(slow, *wishes):
    """Send wishes of (who, what), the first of which keeps the others waiting; return what came of each."""
    batches = Batches()
    tasks = [asyncio.create_task(batches.take(who, what, slow)) for who, what in wishes]
    while not slow.batches:  # noqa: ASYNC110  # a thread begins
        await asyncio.sleep(0.001)
    slow.may_go.set()
    return await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), WAIT)


def test_what_waits_is_done_together():
    slow = Slow()
    wishes = [("ann", "a"), ("bob", "b"), ("cid", "c"), ("dan", "d")]
    assert asyncio.run(taken(slow, *wishes)) == ["A", "B", "C", "D"]
    assert [wish for batch in slow.batches for wish in batch] == ["a", "b", "c", "d"]
    assert len(slow.batches) <= 2


def test_of_each_person_one_wish_is_in_a_batch():
    slow = Slow()
    wishes = [("ann", "a"), ("bob", "b"), ("bob", "c"), ("bob", "d"), ("cid", "e")]
    assert asyncio.run(taken(slow, *wishes)) == ["A", "B", "C", "D", "E"]
    assert not any({"b", "c"} <= {*batch} or {"c", "d"} <= {*batch} for batch in slow.batches)
    assert [wish for batch in slow.batches for wish in batch if wish in "bcd"] == ["b", "c", "d"]


def test_an_error_is_for_the_one_whose_wish_it_was():
    first, *others = asyncio.run(taken(Slow(), ("ann", "bad"), ("bob", "b"), ("cid", "c")))
    assert isinstance(first, ValueError)
    assert others == ["B", "C"]


def test_what_breaks_all_is_said_to_all_and_the_next_are_served():
    async def twice():
        batches, slow = Batches(), Slow()
        slow.may_go.set()
        with pytest.raises(OSError, match="all of it"):
            await batches.take("ann", "break", slow)
        return await batches.take("ann", "a", slow)

    assert asyncio.run(twice()) == "A"


def test_one_who_has_gone_keeps_no_one_from_an_answer():
    async def leave():
        batches, slow = Batches(), Slow()
        gone, stays = (asyncio.create_task(batches.take(who, who, slow)) for who in ("ann", "bob"))
        while not slow.batches:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        gone.cancel()
        slow.may_go.set()
        return await asyncio.wait_for(stays, WAIT)

    assert asyncio.run(leave()) == "BOB"
