"""Where there is no terminal: a line now and then, and nothing at all of what is short."""

import re

from boxthirding import _progress
from boxthirding.cli.watching import watched
from boxthirding.lab import Gaussian, Setting, captions, sweep

SETTINGS = [Setting(captions(40), Gaussian(0.3), spec, 60, replicates=200) for spec in ("us", "b3")]


def watch():
    complete = []
    with watched(lambda setting, run: complete.append((setting.policy, run.replicates))) as view:
        sweep(SETTINGS, progress=view, watcher=view)
    assert complete == [("us", 200), ("b3", 200)]


def test_a_short_sweep_says_nothing(capsys):
    watch()
    assert capsys.readouterr() == ("", "")


def test_a_long_sweep_says_now_and_then_how_far_it_is(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "EVERY", 0.0)
    watch()
    output, lines = capsys.readouterr()
    assert output == ""
    assert re.fullmatch(
        r"0 %, 0 of 24,000 pulls, \d:\d\d:\d\d elapsed; us \(1 of 2\): compiling \(first run only\)",
        lines.splitlines()[0],
    )
    assert re.fullmatch(r"100 %, 24,000 of 24,000 pulls, \d:\d\d:\d\d elapsed; b3 \(2 of 2\)", lines.splitlines()[-1])
