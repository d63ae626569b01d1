"""How fast results come in, in memory that does not grow."""

import itertools
import math
import random

import pytest

from boxthirding.study.events import Paused, Told
from boxthirding.study.pace import Pace


def told(at, seconds=None):
    return Told(at, 0, 0.5, None, None if seconds is None else {"seconds": seconds})


def paced(*events):
    pace = Pace()
    for event in events:
        pace.add(event)
    return pace


def test_results_are_counted_by_minute_and_gaps_are_empty():
    pace = paced(told(0), told(59.9), told(60), Paused(70), told(240))
    assert pace.minutes() == [(0, 2), (1, 1), (4, 1)]
    assert pace.bars() == (0, 1, (2, 1, 0, 0, 1))


def test_bars_grow_wider_with_the_time():
    pace = paced(*[told(60 * minute) for minute in range(600)])
    start, minutes, counts = pace.bars()
    assert (start, minutes, len(counts), sum(counts)) == (0, 10, 60, 600)


def test_years_fit_too():
    pace = paced(told(0), told(50 * 365 * 86_400))
    _, _, counts = pace.bars()
    assert (len(counts) <= 96, sum(counts)) == (True, 2)


def test_a_clock_that_jumps_back_breaks_nothing():
    pace = paced(told(6_000), told(60), told(6_001))
    assert pace.minutes() == [(1, 1), (100, 2)]
    assert sum(pace.bars().counts) == 3


def test_only_the_latest_minutes_are_kept():
    pace = paced(*[told(60 * minute) for minute in range(2_000)])
    assert (len(pace.minutes()), pace.minutes()[0][0]) == (1_440, 560)


def test_response_times_fall_into_bins():
    pace = paced(told(0, 0.0), told(0, 0.6), told(0, 0.7), told(0, 1000), told(0), told(0, -1))
    assert pace.times().counts[0] == 3
    assert sum(pace.times().counts) == 4
    assert 0.5 <= pace.median_seconds() <= 1.0


@pytest.mark.parametrize("typical", [0.2, 0.9, 2.5, 7, 30, 90, 1_000])
def test_bars_of_response_times_are_of_equal_width_and_the_last_has_what_took_longer(typical):
    draws = random.Random(3)
    seconds = [draws.lognormvariate(math.log(typical), 0.4) for _ in range(2_000)]
    edges, counts = paced(*[told(0, one) for one in seconds]).times()
    assert {round(after - before, 9) for before, after in itertools.pairwise(edges)} == {edges[1]}
    assert 4 <= len(edges) == len(counts) <= 13
    ends = [*edges[1:], math.inf]
    assert list(counts) == [sum(low <= one < high for one in seconds) for low, high in zip(edges, ends, strict=True)]
    assert counts[-1] <= 0.06 * len(seconds) or typical > 60


def test_nothing_is_said_of_no_results():
    assert (Pace().bars().counts, Pace().times().counts, Pace().median_seconds()) == ((), (), None)
