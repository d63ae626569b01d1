"""Where a run shows how far it is: a terminal or a log. Notebooks have a test of their own."""

import io
import os
import pty
import re
import select
import subprocess
import sys
import textwrap
import time

import pytest

from boxthirding.errors import EvaluationFailed
from boxthirding.find import find_best
from boxthirding.find.progress import RunReporter

SCRIPT = textwrap.dedent("""
    import sys
    from boxthirding import find_best

    calls = 0

    def evaluate(arm):
        global calls
        calls += 1
        if calls == 3 and sys.argv[2:] == ["waits"]:
            sys.stdin.readline()
        if arm == 4:
            print("said by evaluate")
        return arm

    find_best([3, 4, 5, 6], evaluate, policy="us", **eval(sys.argv[1]))
""")


def on_terminal(settings, columns=160, until=None):
    """Run the script on a terminal; return all that it writes there.

    Its third evaluation lasts until it has written something that `until` matches.
    """
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "LINES": "24", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", SCRIPT, settings, *(["waits"] if until else [])]
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    written = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            part = os.read(ours, 65536)
        except OSError:  # how a terminal says that no one is there any more
            break
        if not part:
            break
        written += part
        if until and re.search(until.encode(), written):
            os.write(ours, b"\n")
            until = None
    os.close(ours)  # a script that still waits ends with an error, as its terminal is gone
    code = process.wait(timeout=120)
    assert (until, code) == (None, 0)
    return written.decode("utf-8")


@pytest.mark.parametrize("settings", ["dict(budget=8)", "dict(cost=8.0)", "dict(seconds=3.0)"])
def test_a_terminal_has_a_bar_with_the_time_and_the_best_so_far(settings):
    # The clock goes on while an evaluation is under way.
    written = on_terminal(settings, until=r"\[00:0[1-9]")
    assert "█" in written
    assert "left" in written
    assert "best so far" in written
    assert "said by evaluate" in written
    assert written.rstrip().splitlines()[-1].startswith(("Best: 6", "\x1b", "\r", "1 evaluation"))
    if settings != "dict(seconds=3.0)":
        amount = {"dict(budget=8)": r"\d/8 pulls", "dict(cost=8.0)": r"\d\.0/8\.0 cost"}[settings]
        assert re.search(amount, written)


def test_what_is_piped_on_stays_on_stdout(tmp_path):
    ours, theirs = pty.openpty()
    with (tmp_path / "out.txt").open("wb") as out:
        ended = subprocess.run(
            [sys.executable, "-c", SCRIPT, "dict(budget=4)"],
            stdin=theirs,
            stdout=out,
            stderr=theirs,
            check=False,
        )
    os.close(theirs)
    os.close(ours)
    assert ended.returncode == 0
    assert (tmp_path / "out.txt").read_text(encoding="utf-8") == "said by evaluate\n"


@pytest.mark.usefixtures("clock")
def test_without_a_terminal_there_is_a_line_now_and_then(monkeypatch):
    said = io.StringIO()
    monkeypatch.setattr("sys.stderr", said)
    monkeypatch.setattr("boxthirding._progress.EVERY", 0.0)
    monkeypatch.setattr("boxthirding.find.progress._TICK", 0.01)

    def evaluate(arm):
        ends = time.monotonic() + 60
        before = said.getvalue().count(" %, ")
        while said.getvalue().count(" %, ") < before + 3:  # not only after results
            assert time.monotonic() < ends
            time.sleep(0.001)
        return arm

    find_best(3, evaluate, budget=4)
    lines = said.getvalue().splitlines()
    assert lines[0] == "3 arms, 4 pulls, 1 worker."
    assert lines[-1].startswith("Best: 2, mean 2 over")
    between = [line for line in lines if " %, " in line]
    assert between[-1].startswith("100 %, 4 of 4 pulls, 0:00:00 elapsed; best so far 2, mean 2 over")


def test_a_short_run_without_a_terminal_has_its_first_and_last_sentences_only(capsys):
    find_best(3, float, budget=4)
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_nothing_moves_after_the_end(capsys, monkeypatch):
    monkeypatch.setattr("boxthirding._progress.EVERY", 0.0)
    monkeypatch.setattr("boxthirding.find.progress._TICK", 0.001)
    with pytest.raises(EvaluationFailed):
        find_best(3, lambda arm: 1 / arm, budget=40)
    capsys.readouterr()
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_a_program_without_a_console_has_no_display(monkeypatch):
    monkeypatch.setattr(sys, "stderr", None)
    assert not RunReporter(progress=True).is_shown
    assert find_best(3, float, budget=4).best == 2
