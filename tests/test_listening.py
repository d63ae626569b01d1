"""`progress=`: one thing everywhere, a choice or a function."""

import io
import math
import sys

import pytest

import boxthirding
from boxthirding import _progress
from boxthirding._progress import fitted, in_words, left_in_words, listener
from boxthirding.errors import InvalidInput
from boxthirding.types import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def far(done, total=4, left=None, note=""):
    return Progress(done, total, "pulls", 1.0, left, note)


def on_terminal(monkeypatch, pause):
    """Return a terminal of 20 columns; no fixture, because pytest changes stderr after those."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(_progress, "_PAUSE", pause)
    monkeypatch.setenv("COLUMNS", "20")
    return sys.stderr


def test_it_is_a_choice_or_a_function():
    assert listener(progress=False) is None
    assert listener(progress=print) is print
    with pytest.raises(InvalidInput, match="progress is 'yes', but must be True, False or a function"):
        listener(progress="yes")


def test_it_is_public():
    assert boxthirding.Progress is Progress


def test_the_share_is_unknown_without_a_total_and_all_of_nothing():
    assert [far(1).share, far(1, None).share, far(0, 0).share] == [0.25, None, 1.0]


def test_without_a_console_nobody_hears(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert listener(progress=True) is None


def test_a_terminal_has_one_line_that_is_cut_to_its_width_and_cleared_in_the_end(monkeypatch):
    terminal = on_terminal(monkeypatch, pause=0.0)
    tell = listener(progress=True)
    tell(far(1, left=70, note="b3"))
    tell(far(4))
    assert terminal.getvalue() == "\r 25 % ##........ 1 \x1b[K" + "\r\x1b[K"


def test_a_terminal_is_not_written_to_all_the_time(monkeypatch):
    terminal = on_terminal(monkeypatch, pause=math.inf)
    tell = listener(progress=True)
    for done in (1, 2, 3, 4):
        tell(far(done))
    assert terminal.getvalue() == "\r 25 % ##........ 1 \x1b[K" + "\r\x1b[K"


def test_elsewhere_what_is_short_says_nothing_and_what_is_long_a_line_now_and_then(capsys, monkeypatch):
    tell = listener(progress=True)
    tell(far(1))
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(_progress, "EVERY", 0.0)
    tell = listener(progress=True)
    tell(far(1, left=9_000))
    tell(far(4, left=0))
    assert capsys.readouterr() == (
        "",
        "25 % done, 1 s elapsed, about 2.5 h left\n100 % done, 1 s elapsed\n",
    )


def test_a_bar_has_what_is_done_the_time_and_the_note():
    assert fitted(Progress(5.0, 8.0, "cost", 75.0, 45.0, "best so far 7"), 100) == (
        " 62 % ━━━━━━━━━━━━──────── cost 5 of 8, 1:15 elapsed, about 45 s left; best so far 7"
    )
    assert fitted(Progress(3.0, 4.0, "seconds", 3.0, 1.0), 100) == (
        " 75 % ━━━━━━━━━━━━━━━───── 3 s elapsed, about 1 s left"
    )


def test_without_a_total_it_says_how_much_is_done():
    assert in_words(far(12_345, None, note="b3")) == "12,345 pulls done, 1 s elapsed; b3"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.1, "1 s"), (59, "59 s"), (61, "1 min"), (3_000, "50 min"), (9_000, "2.5 h")]
)
def test_a_time_in_words(seconds, words):
    assert left_in_words(seconds) == f"about {words} left"
