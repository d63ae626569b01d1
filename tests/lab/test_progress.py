"""The time left: weighed by pulls, by each policy's own speed, and by what runs side by side."""

import pytest

from boxthirding.lab import Forecast, Gaussian, Setting, captions, sweep


def setting(spec, budget=100, replicates=10):
    return Setting(captions(30), Gaussian(0.5), spec, budget, replicates=replicates)


class Clock:
    """A clock that is set by hand."""

    now = 1_000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_before_anything_has_ended_nobody_knows(clock):
    forecast = Forecast([setting("us")], clock)
    assert forecast.seconds_left() is None
    assert forecast.share == 0


def test_the_work_of_a_replicate_is_its_budget(clock):
    small, large = setting("us"), setting("us", budget=300)
    forecast = Forecast([small, large], clock)
    clock.now += 5
    forecast.ended(small, 10, 5.0)
    assert forecast.share == pytest.approx(0.25)
    assert forecast.seconds_left() == pytest.approx(15)


def test_a_policy_has_its_own_speed_and_another_one_that_of_those_known(clock):
    fast, slow, unknown = setting("us"), setting("bsh"), setting("b3")
    forecast = Forecast([fast, slow, unknown], clock)
    clock.now += 1
    forecast.ended(fast, 10, 1.0)
    clock.now += 9
    forecast.ended(slow, 5, 9.0)
    usual = 10 / 15  # seconds a replicate
    assert forecast.seconds_left() == pytest.approx(9 + 10 * usual)


def test_what_runs_side_by_side_is_seen_in_the_clock(clock):
    one = setting("us", replicates=15)
    forecast = Forecast([one], clock)
    clock.now += 2
    forecast.ended(one, 5, 8.0)  # four workers
    clock.now += 2
    forecast.ended(one, 5, 8.0)
    assert forecast.seconds_left() == pytest.approx(2)


def test_compiling_is_no_part_of_what_a_replicate_takes(clock):
    settings = [setting("us"), setting("b3")]
    forecast = Forecast(settings, clock)
    for one, waited in zip(settings, (60, 300), strict=True):
        forecast.began(one)
        clock.now += waited
        assert forecast.seconds_left() in (None, pytest.approx(10))  # of b3, at the speed of us
        for _ in range(5):
            clock.now += 1
            forecast.ended(one, 1, 1.0)
        assert forecast.seconds_left() == pytest.approx(15 if one is settings[0] else 5)
        clock.now += 5
        forecast.ended(one, 5, 5.0)
    assert forecast.seconds_left() == 0


def test_what_was_saved_before_tells_the_speed_and_takes_no_time(clock):
    one = setting("us")
    forecast = Forecast([one], clock)
    forecast.found(one, 8, 4.0)
    clock.now += 3
    assert forecast.share == pytest.approx(0.8)
    assert forecast.seconds_left() == pytest.approx(1)


def test_in_the_end_nothing_is_left():
    settings = [setting("us"), setting("b3")]
    forecast = Forecast(settings)
    sweep(settings, watcher=forecast)
    assert forecast.share == 1
    assert forecast.seconds_left() == 0


def test_nothing_to_do_is_done():
    assert Forecast([]).share == 1
