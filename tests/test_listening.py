"""`progress=`: one thing everywhere, a choice or a function."""

import io
import math
import re
import sys

import pytest

import boxthirding
from boxthirding import _progress
from boxthirding._progress import Bar, in_words, left_in_words, listener
from boxthirding.errors import InvalidInput
from boxthirding.types import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def far(done, total=4, left=None, note=""):
    return Progress(done, total, "pulls", 1.0, left, note)


def on_terminal(monkeypatch, pause):
    """Return a terminal; no fixture, because pytest changes stderr after those."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(_progress, "_PAUSE", pause)
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


def test_a_terminal_has_a_bar_that_is_cleared_in_the_end(monkeypatch):
    terminal = on_terminal(monkeypatch, pause=0.0)
    tell = listener(progress=True)
    tell(far(1, left=70, note="b3"))
    tell(far(4))
    assert re.search(r"\r 25%\|.*\| 1/4 pulls \[00:00, about 1 min left, b3\]", terminal.getvalue())
    assert re.search(r"\r +\r$", terminal.getvalue())


def test_while_code_is_compiled_neither_a_share_nor_a_time_left_is_shown(monkeypatch):
    terminal = on_terminal(monkeypatch, pause=0.0)
    compiling = far(1, left=70, note="b3: compiling (first run only)")
    assert in_words(compiling) == "0:00:01 elapsed; b3: compiling (first run only)"
    tell = listener(progress=True)
    tell(compiling)
    assert re.fullmatch(r"(\r\[00:00(, b3: compiling \(first run only\))?\] *)+", terminal.getvalue())
    tell(far(1, left=70, note="b3"))
    assert re.search(r"\r 25%\|.*\| 1/4 pulls \[00:00, about 1 min left, b3\]", terminal.getvalue())
    tell(compiling)
    assert terminal.getvalue().rpartition("\r")[2].strip() == "[00:00, b3: compiling (first run only)]"


def test_a_terminal_is_not_written_to_all_the_time(monkeypatch):
    terminal = on_terminal(monkeypatch, pause=math.inf)
    tell = listener(progress=True)
    for done in (1, 2, 3, 4):
        tell(far(done))
    assert {*re.findall(r"\d/4 pulls", terminal.getvalue())} <= {"0/4 pulls", "1/4 pulls"}


def test_what_is_printed_on_a_terminal_appears_above_the_bar(monkeypatch):
    terminal = on_terminal(monkeypatch, pause=0.0)
    monkeypatch.setattr(sys, "stdout", terminal)
    bar = Bar(prints=True)
    bar(far(1))
    for stream, text in ((sys.stdout, "one "), (sys.stdout, "line\n"), (sys.stderr, "two\n"), (sys.stdout, "three")):
        stream.write(text)
    assert re.search(r"\r +\rone line\n\r 25%.*\r +\rtwo\n\r 25%", terminal.getvalue())
    bar.close()
    assert sys.stdout is sys.stderr is terminal
    assert terminal.getvalue().endswith("\rthree")


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
        "25 %, 1 of 4 pulls, 0:00:01 elapsed, about 2.5 h left\n100 %, 4 of 4 pulls, 0:00:01 elapsed\n",
    )


def test_a_line_has_what_is_done_the_time_and_the_note():
    assert in_words(Progress(5.0, 8.0, "cost", 75.0, 45.0, "best so far 7")) == (
        "62 %, 5 of 8 cost, 0:01:15 elapsed, about 45 s left; best so far 7"
    )


def test_without_a_total_it_says_how_much_is_done():
    assert in_words(far(12_345, None, note="b3")) == "12,345 pulls, 0:00:01 elapsed; b3"


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.1, "1 s"), (59, "59 s"), (61, "1 min"), (3_000, "50 min"), (9_000, "2.5 h")]
)
def test_a_time_in_words(seconds, words):
    assert left_in_words(far(1, left=seconds)) == f"about {words} left"
