"""Programs as functions for `find_best`, and the files that they are run with."""

import shlex
import sys

import pytest

from boxthirding import InvalidInput, StudyDiffers, find_best
from boxthirding.errors import UnreadableData
from boxthirding.runs.programs import Program, Pulls, as_known, digest_of, labelled, read_arms, read_known

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


def test_other_examples_have_another_digest():
    assert digest_of(["a", "bc"]) != digest_of(["ab", "c"])
    assert digest_of(["a", "b"]) == digest_of(["a", "b"])
