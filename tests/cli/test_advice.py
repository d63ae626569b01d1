"""What is refused says what to type instead: in words of the command line, and never in Python."""

import re
from pathlib import Path

import pytest
from invoking import invoke, refused, study

from boxthirding import open_study

PYTHON = re.compile(
    r"\w\(|\w=(None|True|False|\.\.\.)|\bNone\b|\bTrue\b|\bSession\b|\bStudy\.|open_study|find_best\b(?!-)"
)


@pytest.fixture(autouse=True)
def folder(folder):
    """Start in a folder with a study that has results, open tickets and an excluded rater."""
    Path("arms.csv").write_text("arm,rate\ncompound 7,1\ncompound 8,2\n", encoding="utf-8")
    Path("more.csv").write_text("arm,rate\ncompound 7,1\ncompound 8,2\ncompound 9,3\n", encoding="utf-8")
    Path("other.csv").write_text("arm,rate\ncompound 7,1\ncompound 8,5\n", encoding="utf-8")
    Path("known.csv").write_text("arm,reward\ncompound 7,1\n", encoding="utf-8")
    Path("plate.csv").write_text("ticket,reward\n0,1\n", encoding="utf-8")
    rows = {f"compound {number}": {"arm": f"compound {number}", "rate": str(number - 6)} for number in (7, 8)}
    with open_study("screen.db", arms=rows) as opened:
        opened.tell(opened.ask(1, holder="ann")[0], 0.5)
        opened.ask(1, holder="bob")
        opened.exclude("ann")
    with open_study("fixed.db", arms=rows, policy="sh:budget=20") as opened:
        opened.tell(opened.ask()[0], 0.5)
    with open_study("examples.db", arms=rows, examples=3):
        pass
    return folder


# Did you mean


def test_a_label_that_is_alike_is_asked_for():
    for command in ("why", "withdraw"):
        said = refused(command, "screen.db", "compund 7")
        assert said == "Error: label 'compund 7' does not exist; did you mean 'compound 7'?\n"
    Path("known.csv").write_text("arm,reward\ncompound7,1\n", encoding="utf-8")
    assert "did you mean 'compound 7'?" in refused("observe", "screen.db", "known.csv")
    assert "did you mean" not in refused("why", "screen.db", "xyz")


def test_a_study_that_is_alike_is_asked_for():
    with open_study("screen.db", "second", arms=3):
        pass
    for command in ("show", "export"):
        said = refused(command, "screen.db", "--name", "secnd")
        assert "there is no study 'secnd' here (did you mean 'second'?)" in said
    assert "scren.db has no studies: did you mean 'screen.db'?" in refused("show", "scren.db")
    assert not Path("scren.db").exists()


def test_options_and_commands_that_are_alike_are_asked_for():
    assert "No such option '--polcy'. Did you mean '--policy'?" in refused("ask", "screen.db", "--polcy", "b3")
    assert "No such command 'shwo'. Did you mean 'show'?" in refused("shwo", "screen.db")
    assert "Did you mean 'simulate'?" in invoke("simulat").stderr


def test_a_policy_and_a_key_that_are_alike_are_asked_for():
    assert refused("use", "screen.db", "chsae").endswith("did you mean 'chase'?\n")
    assert refused("use", "screen.db", "b3:reus=topup").endswith("did you mean 'reuse'?\n")
    said = invoke("run", "--arms", "arms.csv", "--command", "echo {rate}", "--budget", 3, "--policy", "chasee").stderr
    assert said.endswith("did you mean 'chase'?\n")


# No Python in messages


RUN = ["run", "--command", "echo {rate}", "--budget", 5, "--study", "screen.db"]

REFUSALS = {
    "a policy that cannot be corrected": (
        ["study", "correct", "fixed.db", 0, 1],
        "`boxthirding study use STUDY chase` lets a policy decide that can",
    ),
    "known results it cannot take": (
        ["study", "observe", "fixed.db", "known.csv"],
        "`boxthirding study use STUDY chase",
    ),
    "a policy that cannot go on": (["study", "use", "screen.db", "sh:budget=50"], "use STUDY chase` lets a policy"),
    "a ticket told already": (["study", "release", "screen.db", 0], "`boxthirding study correct` changes it"),
    "a plate told already": (["study", "tell", "screen.db", "plate.csv"], "correct it"),
    "a ticket never issued": (
        ["study", "correct", "screen.db", 77, 1],
        "`boxthirding study export STUDY` prints all tickets",
    ),
    "excluded already": (["study", "exclude", "screen.db", "ann"], "include it to let its results count again"),
    "no such study": (["study", "show", "screen.db", "--name", "x"], "`boxthirding study ask STUDY --arms FILE` makes"),
    "no study at all": (["study", "show", "none.db"], "`boxthirding study ask none.db --arms FILE` makes one"),
    "another seed": (["study", "ask", "screen.db", "--seed", 5], "leave out what the study knows itself"),
    "new arms": (["study", "ask", "screen.db", "--arms", "more.csv"], "add new arms with `boxthirding study add`"),
    "other arms": (
        ["study", "ask", "screen.db", "--arms", "other.csv"],
        "or pass --force to continue with the new one",
    ),
    "another command": ([*RUN, "--arms", "arms.csv"], "was made without command, not with command 'echo {rate}'"),
    "no examples": (
        ["run", "--arms", "arms.csv", "--command", "echo {rate}", "--budget", 5, "--study", "examples.db", "--force"],
        "study 'main' was made with examples, and none are given: pass --examples",
    ),
    "a known result without an example": (["study", "observe", "examples.db", "known.csv"], "must have arm, pull and"),
    "a label that is not there": (["study", "why", "screen.db", "x"], "labels are texts or whole numbers"),
    "no header": (["study", "add", "screen.db", "plain.csv"], "add them as its first line, or pass --no-header"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_advice_names_commands_and_options_and_no_python(case):
    Path("plain.csv").write_text("ann,1\nbob,2\n", encoding="utf-8")
    words, way_out = REFUSALS[case]
    ended = invoke(*words)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert way_out in ended.stderr
    assert PYTHON.search(ended.stderr) is None, ended.stderr


def test_a_run_that_fails_advises_by_options():
    Path("bad.sh").write_text("exit 3\n")
    command = ["run", "--arms", "arms.csv", "--command", "sh bad.sh {rate}", "--budget", 5]
    for more in ([], ["--on-error", "withdraw"]):
        ended = invoke(*command, *more)
        assert ended.exit_code == 1
        assert PYTHON.search(ended.output) is None, ended.output


def test_what_is_shown_has_no_python_either():
    for words in (["show", "screen.db"], ["list", "screen.db"], ["why", "screen.db", "compound 7"]):
        assert PYTHON.search(study(*words).output) is None
    ended = invoke("run", "--arms", "arms.csv", "--command", "echo {rate}", "--budget", 5)
    assert "--confirm 50 re-evaluates them" in ended.stdout
    assert PYTHON.search(ended.output) is None
