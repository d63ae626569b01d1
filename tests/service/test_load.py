"""Two hundred raters at once: nothing acknowledged is lost, nothing is stored twice, and how fast that goes."""

import asyncio
import statistics
import time
from collections import Counter

import pytest

from benchmarks.serving import STREAMS, STUDY, ServerProcess, per_second, started, streams
from boxthirding import open_study
from boxthirding.study.events import Asked, Told

pytestmark = pytest.mark.soak

RATERS, ROUNDS, EACH = 200, 10, 10  # EACH: what a rater does in a round
RATINGS = RATERS * ROUNDS * EACH


@pytest.fixture
def server(tmp_path):
    with ServerProcess(tmp_path / "studies.db") as one:
        yield one


@pytest.fixture
def say(capsys):
    def aloud(text):
        with capsys.disabled():
            print(f"\n{text}", end="")  # noqa: T201  # the report of the soak

    return aloud


def check_journal(server, raters):
    """Hold what raters were told against the journal; the server is killed first."""
    server.kill()
    with open_study(server.place, STUDY) as study:
        events = [entry.event for entry in study.events()]
        assert study.pulls == study.spent
    told = Counter(event.ticket for event in events if isinstance(event, Told))
    answers = {event.ticket: event.details["answer"] for event in events if isinstance(event, Told)}
    acknowledged = {ticket: answer for rater in raters for ticket, answer in rater.acknowledged.items()}
    assert len(acknowledged) == sum(len(rater.acknowledged) for rater in raters)  # no ticket was two raters'
    assert answers == acknowledged
    assert set(told.values()) == {1}
    for rater in raters:
        assert len(rater.seen) == len({*rater.seen})
    handed = Counter(
        (event.holder, label) for event in events if isinstance(event, Asked) for _, label, _ in event.tickets
    )
    assert set(handed.values()) == {1}


def milliseconds(raters, what):
    times = sorted(1000 * seconds for rater in raters for seconds in rater.seconds[what])
    cuts = statistics.quantiles(times, n=100)
    return f"p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms"


def test_every_rating_is_stored_once_and_fast_enough(server, say):
    async def rate():
        raters = await started(server, RATERS)
        nothing, rating = [], []
        for _ in range(ROUNDS):  # in turns, so that a busy moment hits both alike
            nothing.append(await per_second(raters, "nothing", EACH))
            rating.append(await per_second(raters, "ratings", EACH))
        for rater in raters:
            rater.close()
        return raters, max(nothing), max(rating)

    raters, nothing, rating = asyncio.run(rate())
    say(f"{RATERS} raters: {rating:,.0f} ratings a second, {rating / nothing:.2f} of a POST that does nothing")
    say(f"tell and ask: {milliseconds(raters, 'ratings')}; ask alone: {milliseconds(raters, 'next')}")
    check_journal(server, raters)
    assert sum(len(rater.acknowledged) for rater in raters) == RATINGS
    assert rating >= 0.4 * nothing


def test_a_kill_in_the_middle_loses_nothing_that_was_acknowledged(server):
    async def rate():
        raters = await started(server, RATERS)
        work = asyncio.gather(*[rater.work("ratings", ROUNDS * EACH) for rater in raters])
        for share in (0.3, 0.6):
            while sum(len(rater.acknowledged) for rater in raters) < share * RATINGS:  # noqa: ASYNC110  # a count
                await asyncio.sleep(0.01)
            await asyncio.to_thread(server.kill)
            await asyncio.to_thread(server.start)
        await work
        for rater in raters:
            rater.close()
        return raters

    raters = asyncio.run(rate())
    assert sum(len(rater.acknowledged) for rater in raters) == RATINGS
    check_journal(server, raters)


def test_fifty_dashboards_cost_less_than_a_tenth(server, say):
    async def rate():
        raters = await started(server, RATERS)
        plain, watched = [], []
        for _ in range(ROUNDS):
            plain.append(await per_second(raters, "ratings", EACH))
            async with streams(server, STREAMS):
                watched.append(await per_second(raters, "ratings", EACH))
        for rater in raters:
            rater.close()
        return [many / few for many, few in zip(watched, plain, strict=True)]

    began = time.perf_counter()
    shares = asyncio.run(rate())
    mean, error = statistics.mean(shares), statistics.stdev(shares) / ROUNDS**0.5
    seconds = time.perf_counter() - began
    say(f"with {STREAMS} event streams: {mean:.2f} ± {error:.2f} of the ratings ({seconds:.0f} s)")
    assert mean + error > 0.9
