"""Where there is no terminal: a line now and then, and nothing at all of what is short."""

import pytest

from boxthirding.cli import watching
from boxthirding.cli.watching import in_words, watched
from boxthirding.rewards import Gaussian, captions
from boxthirding.sim import Setting, sweep

SETTINGS = [Setting(captions(40), Gaussian(0.3), spec, 60, replicates=200) for spec in ("us", "b3")]


def watch():
    complete = []
    with watched(SETTINGS, lambda setting, run: complete.append((setting.policy, run.replicates))) as watcher:
        sweep(SETTINGS, progress=watcher)
    assert complete == [("us", 200), ("b3", 200)]


def test_a_short_sweep_says_nothing(capsys):
    watch()
    assert capsys.readouterr() == ("", "")


def test_a_long_sweep_says_now_and_then_how_far_it_is(capsys, monkeypatch):
    monkeypatch.setattr(watching, "EVERY", 0.0)
    watch()
    output, lines = capsys.readouterr()
    assert output == ""
    assert lines.splitlines()[0].startswith("us (1 of 2): ")
    assert lines.splitlines()[-1] == "b3 (2 of 2): 100% of all done, about 1 s left"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.1, "1 s"), (59, "59 s"), (61, "1 min"), (3_000, "50 min"), (9_000, "2.5 h")]
)
def test_a_time_in_words(seconds, words):
    assert in_words(seconds) == words
