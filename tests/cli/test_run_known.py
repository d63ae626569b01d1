"""`boxthirding run`: examples that run out, and results that are known before (`--known`)."""

import pytest
from invoking import invoke
from running import PYTHON, calls, result, run

import boxthirding

pytestmark = pytest.mark.usefixtures("programs")


# Examples run out


def test_a_pair_of_arm_and_example_is_run_once():
    command = f"{PYTHON} score.py {{arm}} {{example}}"
    options = ["--arms", "arms.txt", "--command", command, "--examples", "examples.txt", "--budget", "200"]
    printed = result(*options)
    assert (printed["stopped"], printed["best"]) == ("known", "zoe")
    assert len(calls()) == len(set(calls())) <= 9
    go_on = "if scores are noisy even on the same example, {} would go on"
    assert f"{go_on.format('--repeat')}.\n" in run(*options).stdout
    for _ in range(2):
        done = run(*options, "--study", "run.db")
        assert (done.exit_code, "every example that matters has been evaluated" in done.stdout) == (0, True)
        for said in (done.stdout, done.stderr):
            assert go_on.format("a new study with --repeat") in said
    assert run(*options, "--study", "run.db", "--repeat").exit_code == 2
    assert run(*options, "--study", "new.db", "--repeat").exit_code == 0
    shown = invoke("study", "show", "run.db").stdout
    assert shown.startswith("Study main: known\n")


# Known results


def test_known_results_are_not_paid_for_and_count(folder):
    (folder / "known.csv").write_text("score,arm\n9,bob\n9,bob\n8,ann\n", encoding="utf-8")
    options = ["--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}}", "--known", "known.csv"]
    printed = result(*options, "--budget", "2")
    assert (len(calls()), printed["spending"]["pulls"]) == (2, 2)
    assert printed["screening"] is None
    assert printed["best"] in {"ann", "bob"}  # by itself, zoe has the largest number
    assert printed["mean"] > 5


def test_known_results_are_taken_once_however_often_the_command_is_given(folder):
    (folder / "known.csv").write_text("arm,reward\nbob,9\nbob,8\n", encoding="utf-8")
    options = ["--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}}", "--known", "known.csv"]
    for budget in ("2", "4"):
        assert result(*options, "--budget", budget, "--study", "run.db")["spending"]["left"] == 0
    with boxthirding.open_study("run.db") as study:
        assert (study.pulls, study.spent) == (6, 4)
    (folder / "known.csv").write_text("arm,reward\nbob,9\nbob,8\nann,7\n", encoding="utf-8")
    result(*options, "--budget", "4", "--study", "run.db")
    with boxthirding.open_study("run.db") as study:
        assert (study.pulls, study.spent) == (7, 4)


@pytest.mark.parametrize("kept", [[], ["--study", "run.db"]])
def test_known_results_name_their_example(folder, kept):
    command = f"{PYTHON} score.py {{arm}} {{example}}"
    (folder / "known.csv").write_text("arm,example,reward\nbob,hard,9\nbob,odd,9\n", encoding="utf-8")
    options = ["--arms", "arms.txt", "--command", command, "--examples", "examples.txt", "--known", "known.csv", *kept]
    printed = result(*options, "--budget", "200", "--seed", "4")
    assert printed["stopped"] == "known"
    assert not {"bob hard", "bob odd"} & set(calls())
    bob = next(arm for arm in printed["top"] if arm["label"] == "bob")
    assert (bob["pulls"], bob["mean"]) == (3, pytest.approx((9 + 9 + 3.07) / 3))


BAD_KNOWN = {
    "an unknown arm": ("arm,reward\neve,1\n", [], ["label 'eve'", "does not exist"]),
    "no such columns": ("name,value\nann,1\n", [], ["has the columns name, value", "must have arm and reward"]),
    "no number": (
        "arm,reward\nann,high\n",
        [],
        ["known.csv, row 1 (line 2): reward is 'high', but must be a finite"],
    ),
    "an infinite score": ("arm,score\nann,inf\n", [], ["score is 'inf'", "must be a finite number"]),
    "no example": ("arm,reward\nann,1\n", ["--examples"], ["must have arm, example and reward"]),
    "an unknown example": ("arm,example,reward\nann,mild,1\n", ["--examples"], ["'mild', which is none of --examples"]),
    "an example twice": (
        "arm,example,reward\nann,odd,1\nann,odd,2\n",
        ["--examples"],
        ["line 3 has a second result of arm 'ann' on the same example", "leave one out"],
    ),
    "a policy that cannot": ("arm,reward\nann,1\n", ["--policy", "sh"], ["policy sh cannot take known results"]),
    "no file": (None, [], ["known.csv cannot be read"]),
}


@pytest.mark.parametrize("case", BAD_KNOWN)
@pytest.mark.parametrize("kept", [[], ["--study", "run.db"]])
def test_bad_known_results_are_refused_and_nothing_is_made(folder, case, kept):
    text, options, fragments = BAD_KNOWN[case]
    if text is not None:
        (folder / "known.csv").write_text(text, encoding="utf-8")
    command = f"{PYTHON} score.py {{arm}}"
    if options == ["--examples"]:
        options, command = ["--examples", "examples.txt"], f"{command} {{example}}"
    done = run("--arms", "arms.txt", "--command", command, "--budget", "9", "--known", "known.csv", *options, *kept)
    assert (done.exit_code, done.stdout) == (2, "")
    for fragment in fragments:
        assert fragment in done.stderr
    assert not (folder / "calls").exists()
    assert not (folder / "run.db").exists()
