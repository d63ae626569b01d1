"""Raters who come while others are served are served together, in one commit."""

import asyncio
import threading

import pytest

from boxthirding import InvalidInput
from boxthirding.service.batches import Batches
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Exchange, Settings, Study


class Journal(MemoryJournal):
    """Counts commits."""

    commits = 0

    def append(self, after, texts):
        self.commits += 1
        super().append(after, texts)


@pytest.fixture
def study():
    return Study("s", Journal(), Settings(99))


def wants(study, holder, log=None, *, breaks=False):
    """Return what is done for a rater who wants an arm."""
    before = len(study.held(holder))
    if breaks:
        raise ZeroDivisionError
    handed = yield Exchange(holder, n=1)
    if log is not None:
        log.append((holder, before, threading.get_ident()))
    return [], {"arms": handed.tickets}


def waits(may_go):
    """Return what is done for a rater that keeps the others waiting, and asks for nothing."""
    assert may_go.wait(60)
    return [], {}
    yield


async def serve(study, requests):
    """Serve requests of (holder, steps) that come while the first one is being served."""
    batches, may_go = Batches(study), threading.Event()
    first = asyncio.create_task(batches.serve("first", waits(may_go)))
    others = [asyncio.create_task(batches.serve(holder, steps)) for holder, steps in requests]
    await asyncio.sleep(0)
    may_go.set()
    await first
    return await asyncio.gather(*others, return_exceptions=True)


def test_those_who_wait_are_served_in_one_commit_by_one_thread(study):
    before, log = study._transactions.journal.commits, []
    replies = asyncio.run(serve(study, [(f"r{number}", wants(study, f"r{number}", log)) for number in range(20)]))
    assert study._transactions.journal.commits - before == 1
    assert [holder for holder, _, _ in log] == [f"r{number}" for number in range(20)]
    assert len({thread for _, _, thread in log}) == 1
    assert [reply["arms"] for _, reply in replies] == [study.held(f"r{number}") for number in range(20)]


def test_of_a_rater_the_next_request_is_served_when_the_one_before_has_been(study):
    log = []
    asyncio.run(serve(study, [(holder, wants(study, holder, log)) for holder in ("ann", "bob", "ann", "ann", "cid")]))
    assert [before for holder, before, _ in log if holder == "ann"] == [0, 1, 2]
    assert [holder for holder, _, _ in log] == ["ann", "bob", "cid", "ann", "ann"]


def test_an_error_is_for_the_one_it_ended(study):
    requests = [("ann", wants(study, "ann")), ("bob", wants(study, "bob", breaks=True)), ("cid", wants(study, "cid"))]
    ann, bob, cid = asyncio.run(serve(study, requests))
    assert isinstance(bob, ZeroDivisionError)
    assert [ann[1]["arms"], cid[1]["arms"]] == [study.held("ann"), study.held("cid")]


def test_what_ends_all_is_said_to_all_and_the_next_are_served(study):
    async def twice():
        wrong = (one for one in [Exchange("cid", [(0, float("nan"), None)])])
        failed = await serve(study, [("ann", wants(study, "ann")), ("cid", wrong)])
        return failed, await serve(study, [("bob", wants(study, "bob"))])

    failed, ((_, reply),) = asyncio.run(twice())
    assert [type(error) for error in failed] == [InvalidInput] * 2
    assert reply["arms"] == study.held("bob")


def test_one_who_does_not_wait_any_more_stops_no_one(study):
    async def run():
        batches, may_go = Batches(study), threading.Event()
        gone = asyncio.create_task(batches.serve("ann", waits(may_go)))
        other = asyncio.create_task(batches.serve("bob", wants(study, "bob")))
        await asyncio.sleep(0)
        gone.cancel()
        may_go.set()
        return await other

    _, reply = asyncio.run(run())
    assert reply["arms"] == study.held("bob")
