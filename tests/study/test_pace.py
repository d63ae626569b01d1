"""How fast results come in, in memory that does not grow."""

from boxthirding.study import Told
from boxthirding.study.events import Paused
from boxthirding.study.pace import EDGES, Pace


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
    expected = [0] * len(EDGES)
    expected[0], expected[1], expected[-1] = 1, 2, 1
    assert pace.seconds == expected
    assert 0.5 <= pace.median_seconds() <= 1.0


def test_nothing_is_said_of_no_results():
    assert (Pace().bars().counts, Pace().median_seconds()) == ((), None)
