"""Programs as functions for `find_best`, and the files that they are run with."""

import os
import shlex
import signal
import sys
import tracemalloc
from pathlib import Path

import pytest

from boxthirding import InvalidInput, StudyDiffers, find_best
from boxthirding.errors import CommandFailed, UnreadableData
from boxthirding.find.input_files import as_known, labelled, read_arms, read_known
from boxthirding.find.programs import Program, Pulls

ECHO = f"{shlex.quote(sys.executable)} -S -c 'import sys; print(sys.argv[1])'"


def test_a_program_is_a_function_of_an_arm():
    rows = [{"arm": name, "size": str(size)} for size, name in enumerate("abc")]
    with Program(f"{ECHO} {{size}}", rows, examples=False, timeout=None) as program:
        found = find_best(labelled(rows), program, examples=Pulls(None, 0), budget=6, progress=False)
        assert (found.label, found.best["size"], found.stopped) == ("c", "2", "budget")
        assert program.columns == {"size"}
        assert (program.can_run(rows[0]), program.can_run("a")) == (True, False)
        with pytest.raises(StudyDiffers, match="arm 'new' of the study is not in the file of --arms"):
            program("new", (0, ""))


def test_an_arm_without_other_columns_is_its_label(tmp_path):
    (tmp_path / "arms.txt").write_text("1\n2\n", encoding="utf-8")
    arms = labelled(read_arms(tmp_path / "arms.txt"))
    assert arms == {"1": "1", "2": "2"}
    with Program(f"{ECHO} {{arm}}", [{"arm": "1"}], examples=False, timeout=None) as program:
        assert program("2", (0, "")) == 2.0


def scored(code):
    """Return what a program of this code makes of an arm."""
    command = f"{shlex.quote(sys.executable)} -S -c {shlex.quote(code)} {{arm}}"
    with Program(command, [{"arm": "a"}], examples=False, timeout=None) as program:
        return program("a", (0, ""))


LONG = 20_000_000  # bytes: more than could go unnoticed


def test_output_takes_no_memory_however_much_there_is():
    tracemalloc.start()
    try:
        assert scored(f"print(('x' * 99 + chr(10)) * {LONG // 100} + '7 2')") == (7.0, 2.0)
        with pytest.raises(CommandFailed, match="printed no whole line in its last 65,536 bytes, but must print a num"):
            scored(f"print('1' * {LONG})")  # the end of a number is another number
        with pytest.raises(CommandFailed, match="exit code 3; its stderr has no whole line in its last 65,536 bytes"):
            scored(f"import sys; print('x' * {LONG}, file=sys.stderr); sys.exit(3)")
        assert tracemalloc.get_traced_memory()[1] < LONG / 10
    finally:
        tracemalloc.stop()


def test_messages_repeat_the_beginning_of_what_is_long():
    with pytest.raises(CommandFailed, match=r" printed 'x{79}…' last, but must print a number") as refusal:
        scored(f"print('x' * 60_000) # {'y' * 10_000}")
    assert len(str(refusal.value)) < 400
    with pytest.raises(CommandFailed, match=r"the last line of its stderr is 'z{79}…'"):
        scored("raise SystemExit('z' * 60_000)")
    assert scored("print(' ' * 500 + '5' + ' ' * 500)") == 5.0


def test_what_a_program_leaves_behind_is_not_waited_for(tmp_path):
    note = tmp_path / "left"
    child = "import time; time.sleep(3600)"
    left = scored(
        f"import pathlib, subprocess, sys; left = subprocess.Popen([sys.executable, '-S', '-c', {child!r}]); "
        f"pathlib.Path({str(note)!r}).write_text(str(left.pid)); print(3)"
    )
    pid = int(Path(note).read_text(encoding="utf-8"))
    os.kill(pid, signal.SIGKILL)  # it was still there
    assert left == 3.0


def test_a_program_may_close_its_output_before_it_ends():
    assert scored("import os, time; os.write(1, b'4'); os.close(1); os.close(2); time.sleep(0.1)") == 4.0


def test_known_results_are_read_by_arm_and_by_example(tmp_path):
    file = tmp_path / "known.csv"
    file.write_text("arm,score,note\na,1,x\n b ,2,\na,3,\n,,\n", encoding="utf-8")
    assert as_known(read_known(file)) == {"a": [1.0, 3.0], "b": [2.0]}
    file.write_text("reward,example,arm\n1,odd,a\n2,even,a\n", encoding="utf-8")
    assert as_known(read_known(file, examples=["even", "odd"])) == {"a": {1: 1.0, 0: 2.0}}
    with pytest.raises(UnreadableData, match="line 2: example is 'odd', which stands in --examples 2 times"):
        read_known(file, examples=["even", "odd", "odd"])
    file.write_text("arm,pull,reward\na,7,1\na,7,2\n", encoding="utf-8")
    with pytest.raises(InvalidInput, match="line 3 has a second result of arm 'a' on the same example"):
        as_known(read_known(file, with_pulls=True))
    file.write_text("arm,pull,reward\na,-1,1\n", encoding="utf-8")
    with pytest.raises(UnreadableData, match="pull is '-1', but must be a whole number from 0"):
        read_known(file, with_pulls=True)
