"""`boxthirding run --confirm`: the best are measured again by new runs."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from running import PYTHON, calls, result, run, stop, wait_for

import boxthirding

pytestmark = pytest.mark.usefixtures("programs")


def test_the_best_are_measured_again_by_new_runs():
    command = ["--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}} {{pull}}", "--budget", "6", "--top", "2"]
    printed = run(*command, "--confirm", "3")
    assert printed.exit_code == 0
    lines = printed.stdout.splitlines()
    again = lines.index("Measured again:")  # scores never differ, so there is no interval
    assert lines[again + 1 :] == ["  zoe  3.34, 3 pulls", "  ann  3.17, 3 pulls"]
    assert "--confirm" not in printed.stdout
    made = calls()
    assert len(made) == 6 + 2 * 3
    assert len(set(made)) == len(made)  # no pull comes twice


def test_the_best_are_measured_again_for_a_program_and_no_study_is_told():
    command = ["--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}}", "--budget", "4", "--study", "run.db"]
    printed = result(*command, "--top", "2", "--confirm", "4")
    assert [(arm["label"], arm["pulls"], arm["difference"]) for arm in printed["confirmed"]] == [
        *[("zoe", 4, None), ("ann", 4, None)],
    ]
    (zoe, _) = printed["confirmed"]
    assert (zoe["mean"], zoe["low"], zoe["high"]) == (pytest.approx(3.34), None, None)
    with boxthirding.open_study("run.db") as study:
        assert study.pulls == 4


def test_intervals_of_scores_that_differ_stand_beside_the_means(folder):
    (folder / "vary.py").write_text("import sys\nprint(ord(sys.argv[1][0]) + int(sys.argv[2]) % 7 / 3)\n")
    command = ["--arms", "arms.txt", "--command", f"{PYTHON} vary.py {{arm}} {{pull}}", "--budget", "12", "--top", "2"]
    lines = run(*command, "--confirm", "7").stdout.splitlines()
    again = lines.index("Measured again, with 95 % intervals:")
    mean, low, high = map(float, re.fullmatch(r"  \S+ +(\S+) \((\S+) to (\S+)\), 7 pulls", lines[again + 1]).groups())
    assert low < mean == 123 < high


def test_arms_are_compared_on_the_same_examples():
    command = [
        "--arms",
        "arms.txt",
        "--command",
        f"{PYTHON} score.py {{arm}} {{example}}",
        "--examples",
        "examples.txt",
    ]
    lines = run(*command, "--budget", "8", "--top", "2", "--confirm", "6").stdout.splitlines()
    assert lines[-2].endswith("; less the first -0.17")
    assert lines[-1].endswith("of each arm may be on examples of the search: there were no others")


def test_a_failure_while_measuring_again_keeps_the_answer(folder):
    code = "import pathlib, sys\nn = len(list(pathlib.Path().glob('run-*')))\npathlib.Path(f'run-{n}').touch()\n"
    (folder / "once.py").write_text(f"{code}sys.exit('broken') if n >= 5 else print(ord(sys.argv[1][0]))\n")
    done = run("--arms", "arms.txt", "--command", f"{PYTHON} once.py {{arm}}", "--budget", "4", "--confirm", "3")
    assert done.exit_code == 1
    assert "Best arm: zoe" in done.stdout
    lines = done.stdout.splitlines()
    again = lines.index("Measured again:")
    assert lines[again + 1].endswith("122, 1 pull")
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: arm ")
    assert "'broken'" in line
    assert "confirmation" not in line


PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_measuring_again_can_be_interrupted(folder, sent):
    (folder / "slow.py").write_text(
        "import pathlib, sys, time\nn = len(list(pathlib.Path().glob('run-*')))\npathlib.Path(f'run-{n}').touch()\n"
        "time.sleep(60 if n >= 4 else 0)\nprint(1)\n"
    )
    options = ["run", "--arms", "arms.txt", "--command", f"{PYTHON} slow.py {{arm}}", "--budget", "4", "--confirm", "3"]
    process = subprocess.Popen([sys.executable, "-m", "boxthirding", *options], **PIPES)
    wait_for((folder / "run-4").exists, process)
    stop(process, sent)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + sent
    assert "Best arm: " in output
    assert "no result" in output


def test_one_new_run_is_too_few():
    done = run("--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}}", "--budget", "4", "--confirm", "1")
    assert (done.exit_code, "--confirm is 1, but must be at least 2" in done.stderr) == (2, True)
    assert not Path("calls").exists()
