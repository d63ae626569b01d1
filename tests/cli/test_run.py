"""`boxthirding run`: programs that print a number, in this process where that is enough."""

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from invoking import invoke
from running import GOOD, PYTHON, calls, gone, inline, result, run, words

import boxthirding

pytestmark = pytest.mark.usefixtures("programs")


# What is run


def test_the_arm_with_the_largest_number_is_found():
    printed = run("--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}}", "--budget", "9", "--top", "2")
    assert printed.exit_code == 0
    assert printed.stderr == ""
    best, empty, head, first, second, gap, spent, screening, confirm = printed.stdout.splitlines()
    assert (best, empty, head.split(), gap) == ("Best arm: zoe", "", ["arm", "mean", "pulls"], "")
    assert first.split()[:2] == ["zoe", "3.34"]
    assert second.split()[:2] == ["ann", "3.17"]
    assert spent.startswith("Spent 9 of 9 pulls, 0 left, in ")
    assert spent.endswith(" s; the budget is spent.")
    assert screening == "All 3 arms are in the race."
    assert confirm == "Winners look better than they are. --confirm 50 re-evaluates them (100 more runs)."
    assert set(calls()) == {"ann", "bob", "zoe"}
    assert len(calls()) == 9


def test_large_scores_can_be_told_apart():
    Path("large.txt").write_text("".join(f"{1_000_000 + k}\n" for k in range(1, 21)), encoding="utf-8")
    table = run("--arms", "large.txt", "--command", "echo {arm}", "--budget", "30", "--top", "20").stdout
    rows = re.findall(r"^(10\d+) +(\S+) +\d+$", table, re.MULTILINE)
    assert len(rows) == 20
    assert all(mean.replace(",", "") == arm for arm, mean in rows)


def test_json_is_one_object_with_these_keys():
    printed = result("--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}}", "--budget", "6", "--workers", "2")
    assert list(printed) == [
        *("best", "mean", "pulls", "level", "top", "stopped", "error", "spending", "screening", "history"),
        "confirmed",
    ]
    assert (printed["best"], printed["stopped"], printed["error"]) == ("zoe", "budget", None)
    assert printed["mean"] == pytest.approx(3.34)
    assert sorted(arm["label"] for arm in printed["top"]) == ["ann", "bob", "zoe"]
    spending = printed["spending"]
    assert spending.pop("seconds") > 0
    assert (spending.pop("elsewhere"), spending.pop("abandoned")) == (0, 0)
    assert spending == {"pulls": 6, "failures": 0, "cost": 6.0, "unit": "pulls", "limit": 6, "left": 0}
    assert printed["history"][-1][1] == "zoe"
    assert printed["screening"]["candidates"] == 3


def test_columns_of_a_csv_file_are_filled_in():
    command = f"{PYTHON} score.py {{arm}} {{name}} --rate={{rate}}/{{note}}"
    assert result("--arms", "arms.csv", "--command", command, "--budget", "5")["best"] == "zoe"
    assert set(calls()) == {"ann ann --rate=0.1/a, b", "bob bob --rate=0.9/c", "zoe zoe --rate=0.5/"}


def test_a_column_alone_is_enough_and_a_column_arm_is_the_label():
    code = "import sys; print(sys.argv[1])"
    command = f"{PYTHON} -c {shlex.quote(code)} {{rate}}"
    assert result("--arms", "named.csv", "--command", command, "--budget", "5")["best"] == "bob"


def test_arguments_pass_no_shell(folder):
    (folder / "odd.txt").write_text("$(touch broken); `touch broken` 'x' \"y\" & | > z\n", encoding="utf-8")
    code = "import sys; print(len(sys.argv[1]))"
    printed = result("--arms", "odd.txt", "--command", inline(code), "--budget", "2")
    assert printed["mean"] == len(printed["best"])
    assert not (folder / "broken").exists()
    assert not (folder / "z").exists()


def test_braces_that_are_no_placeholder_stay():
    code = 'import json, sys; print(json.loads(sys.argv[1])["a"])'
    command = f"{PYTHON} -c {shlex.quote(code)} '{{\"a\": 1}}' {{arm}}"
    assert result("--arms", "arms.txt", "--command", command, "--budget", "2")["mean"] == 1


@pytest.mark.parametrize(
    ("file", "examples"), [("examples.txt", ["easy", "hard", "odd"]), ("examples.csv", ["easy", "hard"])]
)
def test_pull_k_of_every_arm_sees_the_same_example(file, examples):
    command = f"{PYTHON} score.py {{arm}} {{pull}} {{example}}"
    options = ["--examples", file, "--budget", "30", "--seed", "1", "--repeat"]
    result("--arms", "arms.txt", "--command", command, *options)
    seen = {}
    for call in calls():
        _, pull, example = call.split()
        assert seen.setdefault(int(pull), example) == example
    assert sorted(seen[pull] for pull in range(len(examples))) == sorted(examples)
    assert all(seen[pull] == seen[pull % len(examples)] for pull in seen)


def test_the_pull_is_a_seed_that_all_arms_share():
    result("--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}} {{pull}}", "--budget", "12", "--workers", "3")
    by_arm = {}
    for call in calls():
        arm, pull = call.split()
        by_arm.setdefault(arm, []).append(int(pull))
    assert all(sorted(pulls) == list(range(len(pulls))) for pulls in by_arm.values())


@pytest.mark.parametrize(
    "way", [["--direction", "minimize"], ["--minimize"], ["--minimize", "--direction", "minimize"]]
)
def test_small_numbers_can_be_good_and_any_policy_can_decide(way):
    options = [*way, "--policy", "sh", "--budget", "12"]
    assert result("--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}}", *options)["best"] == "bob"


def test_a_number_may_come_with_its_cost():
    printed = result("--arms", "arms.txt", "--command", inline("print(1, 0.5)"), "--cost", "3")
    assert (printed["spending"]["pulls"], printed["spending"]["unit"], printed["stopped"]) == (6, "cost", "budget")


def test_no_command_outlives_the_deadline(folder):
    code = "import os, pathlib, time; pathlib.Path(str(os.getpid())).touch(); time.sleep(600)"
    printed = result(
        *("--arms", "arms.txt", "--command", inline(code), "--seconds", "1", "--workers", "2"), exit_code=1
    )
    assert (printed["best"], printed["mean"], printed["stopped"], printed["error"]) == (None, None, "deadline", None)
    assert printed["spending"]["abandoned"] == 2
    for file in folder.iterdir():
        if file.name.isdigit():
            assert gone(int(file.name))


SMALL = ["--instance", "poly", "--arms", "9", "--rewards", "none", "--budget", "20", "--replicates", "2"]


def test_a_policy_of_your_own_decides(folder, monkeypatch):
    (folder / "my_policies.py").write_text(
        "from dataclasses import dataclass\nfrom boxthirding.policies import Uniform\n\n\n"
        "@dataclass(frozen=True)\nclass Mine(Uniform):\n    pass\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setitem(sys.modules, "my_policies", None)  # so that it is forgotten afterwards
    del sys.modules["my_policies"]
    mine = ["--policy", "my_policies:Mine"]
    for command in (
        ["run", *words(GOOD), *mine, "--study", "run.db"],
        ["study", "show", "run.db"],
        ["study", "ask", "other.db", "--arms", "arms.txt", *mine],
        ["study", "use", "other.db", "b3"],
        ["study", "use", "other.db", "my_policies:Mine"],
        ["simulate", *SMALL, *mine],
    ):
        ended = invoke(*command)
        assert ended.exit_code == 0, ended.output
    with boxthirding.open_study("run.db") as study:
        assert (study.view().policy, study.pulls) == ("my_policies:Mine", 9)


def test_the_columns_of_the_best_arm_stand_below_its_name():
    printed = run("--arms", "arms.csv", "--command", "echo {rate}", "--budget", "5")
    assert printed.stdout.splitlines()[:3] == ["Best arm: bob", "  rate 0.9, note c", ""]


@pytest.mark.parametrize("columns", [40, 80])
def test_long_labels_fit_the_screen_and_the_best_is_named_in_full(folder, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    labels = [f"a prompt that begins like all others and ends with the number {number}" for number in range(3)]
    (folder / "long.jsonl").write_text("".join(json.dumps({"arm": label}) + "\n" for label in labels))
    printed = run(
        "--arms", "long.jsonl", "--command", "printf %s {arm} | tail -c 1", "--shell", "--budget", "3", "--confirm", "2"
    )
    lines = printed.stdout.splitlines()
    assert lines[0] == f"Best arm: {labels[2]}"
    assert max(map(len, lines[1:6])) <= columns
    assert [line.split()[0] for line in lines[3:6]] == ["…2", "…1", "…0"]
    again = lines.index("Measured again:")
    assert max(map(len, lines[again:])) <= columns


def test_labels_that_part_in_two_places_can_be_told_apart(folder):
    labels = [
        f"a prompt that begins like all others, then asks for {what} in many words, and in the end is number {number}"
        for what in ("facts", "jokes")
        for number in range(2)
    ]
    (folder / "long.jsonl").write_text("".join(json.dumps({"arm": label}) + "\n" for label in labels))
    command = ["--arms", "long.jsonl", "--command", "printf %s {arm} | tail -c 1", "--shell", "--budget", "8"]
    lines = run(*command, "--confirm", "2").stdout.splitlines()
    tables = [lines[3:7], lines[lines.index("Measured again, with 95 % intervals:") + 1 :][:4]]
    for table in tables:
        names = [line.strip().split("  ")[0] for line in table]
        assert len({*names}) == 4
        assert all(what in names[0] + names[1] + names[2] + names[3] for what in ("facts", "jokes"))


def test_it_says_why_means_are_not_in_order(folder):
    (folder / "known.csv").write_text("arm,reward\n" + "".join(f"ann,{5 + k % 3}\n" for k in range(90)) + "zoe,4\n")
    command = ["--arms", "arms.txt", "--command", "printf 9 {arm}", "--budget", "1", "--known", "known.csv"]
    lines = run(*command, "--direction", "minimize", "--policy", "chase", "--study", "run.db").stdout.splitlines()
    sentence = "Best first, and not simply by mean: a mean of few pulls is trusted less."
    assert [line.split() for line in lines[3:5]] == [["ann", "6", "90"], ["zoe", "4", "1"]]
    assert sentence in lines
    for look in ("show", "results"):
        assert sentence in invoke("study", look, "run.db").stdout.splitlines()
    lines = run(*command, "--policy", "us").stdout.splitlines()
    assert lines[3].split()[1] == "9"
    assert sentence not in lines


# Commands that fail


FAILING = {
    "no number": ("print('hello')", "printed 'hello' last, but must print a number, or a number and its cost"),
    "a number as Python writes it": ("print('1_000')", "printed '1_000' last, but must print a number"),
    "three numbers": ("print(1, 2, 3)", "printed '1 2 3' last, but must print a number"),
    "nothing": ("", "printed nothing, but must print a number"),
    "not a finite number": ("print('nan')", "printed 'nan' last, but must print a finite number"),
    "a cost below 0": ("print(1, -1)", "printed '1 -1' last, but the cost must be a finite number above 0"),
    "an exit code": ("import sys; print(5); sys.exit(3)", "ended with exit code 3; its stderr is empty"),
    "an error": (
        "raise ValueError('too\\nbad')",
        "ended with exit code 1; the last line of its stderr is 'bad'",
    ),
    "a signal": ("import os; os.kill(os.getpid(), 9)", "was ended by signal 9; its stderr is empty"),
}


@pytest.mark.parametrize("case", FAILING)
def test_a_command_that_fails_is_shown_with_what_it_said(case):
    code, message = FAILING[case]
    done = run("--arms", "arms.txt", "--command", inline(code), "--budget", "9")
    assert done.exit_code == 1
    assert done.stdout.startswith("No arm has a result.\nSpent 1 of 9 pulls, 8 left, in ")
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: arm '")
    assert message in line
    assert f"`{sys.executable} -c " in line


def test_what_was_found_before_a_failure_is_printed():
    code = "import sys; print(1 / (sys.argv[1] != 'bob'))"
    done = run("--arms", "arms.txt", "--command", inline(code), "--budget", "90", "--seed", "2")
    assert done.exit_code == 1
    assert "ZeroDivisionError" in done.stderr
    assert done.stdout.startswith(("Best arm: ann\n", "Best arm: zoe\n"))
    assert "an error ended it.\n" in done.stdout
    printed = result(*("--arms", "arms.txt", "--command", inline(code), "--budget", "90", "--seed", "2"), exit_code=1)
    assert printed["best"] in {"ann", "zoe"}
    assert "exit code 1" in printed["error"]


def test_a_failing_arm_can_be_withdrawn():
    code = "import sys; print(len(sys.argv[1]) / (sys.argv[1] != 'bob'))"
    done = run("--arms", "arms.txt", "--command", inline(code), "--budget", "12", "--on-error", "withdraw")
    assert done.exit_code == 0
    assert "\n3 evaluations failed; the last: arm 'bob': `" in done.stdout


def test_a_command_that_takes_too_long_is_stopped_and_has_failed(folder):
    (folder / "slow.sh").write_text("sleep 600 &\necho $! > child\nwait\n", encoding="utf-8")
    done = run("--arms", "arms.txt", "--command", "sh slow.sh {arm}", "--budget", "9", "--timeout", "1.5")
    assert done.exit_code == 1
    assert "took longer than 1.5 s and was stopped" in done.stderr
    assert gone(int((folder / "child").read_text(encoding="utf-8")))


def test_a_command_that_cannot_be_started_has_failed(folder):
    (folder / "programs.txt").write_text("./nowhere\n", encoding="utf-8")
    (folder / "words.jsonl").write_text('{"arm": "nul\\u0000byte"}\n', encoding="utf-8")
    done = run("--arms", "programs.txt", "--command", "{arm} 1", "--budget", "9")
    assert (done.exit_code, "could not be started: No such file" in done.stderr) == (1, True)
    done = run("--arms", "words.jsonl", "--command", f"{PYTHON} {{arm}}", "--budget", "9")
    assert (done.exit_code, "could not be started: embedded null byte" in done.stderr) == (1, True)


# Bad input


FILES = {
    "empty.txt": b"\n \n",
    "empty.csv": b"",
    "header.csv": b"arm\n",
    "twice.txt": b"a\nb\na\n",
    "twice.csv": b"arm,x\na,1\nb,2\na,3\n",
    "blank.csv": b"arm,x\na,1\n,2\n",
    "ragged.csv": b"arm,x\na,1,2\n",
    "binary.txt": b"\xff\xfe\x00",
    "example.csv": b"arm,example\na,1\n",
}

REFUSED = {
    "budget 0": ({"--budget": "0"}, ["budget is 0", "at least 1"]),
    "a budget below 0": ({"--budget": "-5"}, ["budget is -5", "at least 1"]),
    "no budget": ({"--budget": None}, ["no budget", "--budget", "--cost", "--seconds"]),
    "two budgets": ({"--cost": "5"}, ["budget is 9 pulls and cost is 5", "leave one out"]),
    "cost 0": ({"--budget": None, "--cost": "0"}, ["cost is 0", "above 0"]),
    "seconds 0": ({"--seconds": "0"}, ["seconds is 0", "above 0"]),
    "timeout 0": ({"--timeout": "0"}, ["timeout is 0", "above 0"]),
    "no workers": ({"--workers": "0"}, ["workers is 0", "at least 1"]),
    "the top 0": ({"--top": "0"}, ["top is 0", "at least 1"]),
    "a seed below 0": ({"--seed": "-1"}, ["seed is -1", "at least 0"]),
    "an unknown policy": ({"--policy": "best"}, ["policy is 'best'", "b3"]),
    "no such file": ({"--arms": "gone.txt"}, ["gone.txt cannot be read", "No such file"]),
    "no such CSV file": ({"--arms": "gone.csv"}, ["gone.csv cannot be read", "No such file"]),
    "a folder": ({"--arms": "."}, ["cannot be read", "directory"]),
    "an empty file": ({"--arms": "empty.txt"}, ["empty.txt is empty", "an arm on each line"]),
    "an empty CSV file": ({"--arms": "empty.csv"}, ["empty.csv is empty"]),
    "a CSV file without rows": ({"--arms": "header.csv"}, ["header.csv", "no rows"]),
    "a label twice": ({"--arms": "twice.txt"}, ["twice.txt, line 3", "arm 'a' stands on line 1 already", "unique"]),
    "a label twice in CSV": (
        {"--arms": "twice.csv"},
        ["twice.csv, line 4", "arm 'a' stands on line 2 already", "a column arm"],
    ),
    "an arm without a label": ({"--arms": "blank.csv"}, ["blank.csv, line 3", "the arm is empty"]),
    "a ragged CSV file": ({"--arms": "ragged.csv"}, ["3 cells", "2"]),
    "a file that is not text": ({"--arms": "binary.txt"}, ["binary.txt is not UTF-8 text (byte 0 is 0xff)"]),
    "an empty command": ({"--command": " "}, ["command is empty"]),
    "a command with an open quotation": ({"--command": "python3 'x {arm}"}, ["unbalanced quotes", "quotation"]),
    "a command without the arm": ({"--command": "python3 score.py"}, ["none of {arm}", "would score alike"]),
    "a command with the pull alone": ({"--command": "python3 score.py {pull}"}, ["none of {arm}"]),
    "an unknown placeholder": ({"--command": "python3 {arm} {rate}"}, ["{rate}", "available: {arm}, {pull}"]),
    "an example without examples": ({"--command": "python3 {arm} {example}"}, ["{example}", "--examples"]),
    "examples without {example}": ({"--examples": "examples.txt"}, ["--examples", "no {example}"]),
    "empty examples": ({"--examples": "empty.txt"}, ["empty.txt is empty", "an example on each line"]),
    "two kinds of example": (
        {"--arms": "example.csv", "--examples": "examples.txt", "--command": "python3 {arm} {example}"},
        ["column 'example'", "rename the column"],
    ),
    "a program that is not there": ({"--command": "no-such-program {arm}"}, ["'no-such-program'", "not found on PATH"]),
    "a program that may not be run": (
        {"--command": "./score.py {arm}"},
        ["'./score.py'", "which is not executable", "chmod +x"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_line_and_nothing_runs(case, folder):
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    changed, fragments = REFUSED[case]
    done = run(*words({**GOOD, **changed}))
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
    for fragment in fragments:
        assert fragment in line
    assert not (folder / "calls").exists()


@pytest.mark.parametrize("missing", ["--arms", "--command"])
def test_a_missing_option_is_named(missing):
    done = run(*words({**GOOD, missing: None}))
    assert (done.exit_code, f"Missing option '{missing}'" in done.stderr) == (2, True)
