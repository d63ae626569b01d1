"""`boxthirding run`: programs that print a number, in this process where that is enough."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

import boxthirding
from boxthirding.cli.commands import cli
from boxthirding.runs.programs import Pulls

PYTHON = shlex.quote(sys.executable)

SCORE = """
import pathlib, sys
arm = sys.argv[1]
with pathlib.Path("calls").open("a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
print("scoring", arm)
print(sum(map(ord, arm)) / 100)
print()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Start in a folder with a program and a few files of arms."""
    monkeypatch.chdir(tmp_path)
    files = {
        "score.py": SCORE,
        "arms.txt": "ann\n\nbob\n  zoe  \n",
        "arms.csv": 'name,rate,note\nann,0.1,"a, b"\nbob,0.9,c\nzoe,0.5,\n',
        "named.csv": "rate,arm\n0.1,ann\n0.9,bob\n",
        "examples.txt": "easy\nhard\nodd\n",
        "examples.csv": "id,example\n1,easy\n2,hard\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(cli, ["run", *arguments])


def inline(code):
    """Return a command that runs this code with the arm as argument."""
    return f"{PYTHON} -c {shlex.quote(code)} {{arm}}"


def result(*arguments, exit_code=0):
    done = run(*arguments, "--json")
    assert done.exit_code == exit_code, done.output
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def calls():
    return Path("calls").read_text(encoding="utf-8").splitlines()


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
    assert screening.startswith("3 of 3 arms could still be returned; ")
    assert confirm == "Winners look better than they are: --confirm 50 measures them again."
    assert set(calls()) == {"ann", "bob", "zoe"}
    assert len(calls()) == 9


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


def test_small_numbers_can_be_good_and_any_policy_can_decide():
    options = ["--direction", "minimize", "--policy", "sh", "--budget", "12"]
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


def gone(pid):
    """Wait until a process has ended, be it that nobody has collected it yet; return whether it has."""
    for _ in range(6000):
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)  # a process that was killed takes its time to die
    return False


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
    child = "import pathlib, os, time; pathlib.Path('child').write_text(str(os.getpid())); time.sleep(600)"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    done = run("--arms", "arms.txt", "--command", inline(code), "--budget", "9", "--timeout", "1.5")
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
BUDGET = ["--budget", "3", "--confirm", "2"]
GOOD = {"--arms": "arms.txt", "--command": "python3 score.py {arm}", "--budget": "9"}

REFUSED = {
    "budget 0": ({"--budget": "0"}, ["budget is 0", "at least 1"]),
    "a budget below 0": ({"--budget": "-5"}, ["budget is -5", "at least 1"]),
    "no budget": ({"--budget": None}, ["no budget", "--budget", "--cost", "--seconds"]),
    "two budgets": ({"--cost": "5"}, ["--budget is 9 and --cost is 5", "leave one out"]),
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
    "a label twice in CSV": ({"--arms": "twice.csv"}, ["twice.csv, line 4", "arm 'a' stands on line 2 already"]),
    "an arm without a label": ({"--arms": "blank.csv"}, ["blank.csv, line 3", "the arm is empty"]),
    "a ragged CSV file": ({"--arms": "ragged.csv"}, ["3 cells", "2"]),
    "a file that is not text": ({"--arms": "binary.txt"}, ["binary.txt is marked as UTF-16, but byte 2 is not"]),
    "an empty command": ({"--command": " "}, ["command is empty"]),
    "a command with an open quotation": ({"--command": "python3 'x {arm}"}, ["cannot be split", "quotation"]),
    "a command without the arm": ({"--command": "python3 score.py"}, ["none of {arm}", "same number"]),
    "a command with the pull alone": ({"--command": "python3 score.py {pull}"}, ["none of {arm}"]),
    "an unknown placeholder": ({"--command": "python3 {arm} {rate}"}, ["{rate}", "only {arm}, {pull}"]),
    "an example without examples": ({"--command": "python3 {arm} {example}"}, ["{example}", "--examples"]),
    "examples without {example}": ({"--examples": "examples.txt"}, ["--examples", "no {example}"]),
    "empty examples": ({"--examples": "empty.txt"}, ["empty.txt is empty", "an example on each line"]),
    "two kinds of example": (
        {"--arms": "example.csv", "--examples": "examples.txt", "--command": "python3 {arm} {example}"},
        ["column 'example'", "only one"],
    ),
    "a program that is not there": ({"--command": "no-such-program {arm}"}, ["'no-such-program'", "no such program"]),
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
    done = run(*(word for pair in {**GOOD, **changed}.items() if pair[1] is not None for word in pair))
    assert done.exit_code == 2, done.output
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
    for fragment in fragments:
        assert fragment in line
    assert not (folder / "calls").exists()


@pytest.mark.parametrize("missing", ["--arms", "--command"])
def test_a_missing_option_is_named(missing):
    done = run(*(word for pair in GOOD.items() if pair[0] != missing for word in pair))
    assert (done.exit_code, f"Missing option '{missing}'" in done.stderr) == (2, True)


# As its user starts it


def started(*arguments, sigint="default_int_handler", stdout=subprocess.PIPE):
    begin = f"import signal; signal.signal(signal.SIGINT, signal.{sigint}); "  # a shell may have ignored it
    source = str(Path(boxthirding.__file__).parents[1])
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-c", begin + "from boxthirding.cli import main; main()", "run", *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.parametrize("workers", ["1", "3"])
@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize(
    ("sent", "sigint", "code"),
    [
        (signal.SIGINT, "default_int_handler", 130),
        (signal.SIGTERM, "default_int_handler", 143),
        (signal.SIGTERM, "SIG_IGN", 143),  # in the background of a script
    ],
)
def test_a_signal_prints_the_best_so_far_and_leaves_nothing_running(folder, workers, as_json, sent, sigint, code):
    # Five evaluations end, the others tell who they are and hang.
    (folder / "hang.py").write_text(
        "import os, pathlib, sys, time\n"
        "for name in 'abcde':\n"
        "    try: pathlib.Path('ended-' + name).touch(exist_ok=False)\n"
        "    except FileExistsError: continue\n"
        "    print(sys.argv[1]); break\n"
        "else: pathlib.Path(f'pid-{os.getpid()}').touch(); time.sleep(600)\n",
        encoding="utf-8",
    )
    (folder / "numbers.txt").write_text("\n".join(map(str, range(1000))), encoding="utf-8")
    command = ["--arms", "numbers.txt", "--command", f"{PYTHON} hang.py {{arm}}", "--budget", "500"]
    with started(*command, "--workers", workers, *(["--json"] if as_json else []), sigint=sigint) as process:
        while len(hanging := list(folder.glob("pid-*"))) < int(workers):
            assert process.poll() is None
        process.send_signal(sent)
        output, errors = process.communicate(timeout=600)
    assert (process.returncode, errors) == (code, "")
    if as_json:
        printed = json.loads(output)
        assert (printed["stopped"], printed["spending"]["pulls"]) == ("interrupted", 5)
        assert printed["spending"]["abandoned"] == int(workers)
    else:
        assert output.startswith("Best arm: ")
        assert "; interrupted.\n" in output
    assert all(gone(int(file.name.partition("-")[2])) for file in hanging)


def test_a_terminal_gets_the_plan_and_stdout_stays_json(folder):
    pty = pytest.importorskip("pty", reason="needs a terminal to pretend")
    program = [sys.executable, "-m", "boxthirding", "run", *(word for pair in GOOD.items() for word in pair), "--json"]
    ours, theirs = pty.openpty()
    seen = b""
    with (folder / "printed").open("wb") as output:
        source = str(Path(boxthirding.__file__).parents[1])
        environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": source}
        process = subprocess.Popen(program, stdout=output, stderr=theirs, env=environment)
        os.close(theirs)
        try:
            while part := os.read(ours, 4096):
                seen += part
        except OSError:  # how Linux reports that the other side is closed
            pass
        os.close(ours)
        assert process.wait() == 0
    assert json.loads((folder / "printed").read_text(encoding="utf-8"))["best"] == "zoe"
    for text in (
        "3 arms, 9 pulls, 1 worker.\r\n",
        "About 3 arms will be tried",
        "best so far 'zoe', mean",
        "Best: 'zoe', mean",
    ):
        assert text in seen.decode()


def test_without_a_terminal_nothing_is_said_on_the_way():
    with started(*(word for pair in GOOD.items() for word in pair)) as process:
        output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert output.startswith("Best arm: zoe\n")


needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")


@needs_dev_full
def test_an_answer_that_cannot_be_written_is_repeated_on_stderr():
    with (
        Path("/dev/full").open("w", encoding="utf-8") as full,
        started(*(word for pair in GOOD.items() for word in pair), stdout=full) as process,
    ):
        _, errors = process.communicate()
    assert process.returncode == 1
    assert errors.startswith("Best arm: zoe\n")
    assert errors.endswith("\nError: standard output cannot be written: No space left on device\n")


def test_a_closed_pipe_is_no_matter():
    ours, theirs = os.pipe()
    os.close(ours)
    with started(*(word for pair in GOOD.items() for word in pair), stdout=theirs) as process:
        os.close(theirs)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (1, "")


def test_a_closed_output_is_refused_before_anything_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as ended:
        cli(["run", *(word for pair in GOOD.items() for word in pair)])
    assert ended.value.code == 1
    assert "standard output is closed" in capsys.readouterr().err
    assert not Path("calls").exists()


# Kept in a study


@pytest.fixture
def kept(folder):
    """Return a command whose scores depend on the arm and the pull alone; a file `hang-after-N` makes it hang then."""
    (folder / "kept.py").write_text(
        "import os, pathlib, random, sys, time\n"
        "calls = pathlib.Path('calls')\n"
        "made = len(calls.read_text().splitlines()) if calls.exists() else 0\n"
        "if pathlib.Path(f'hang-after-{made}').exists():\n"
        "    parent = os.getppid(); pathlib.Path('hangs').touch()\n"
        "    while os.getppid() == parent: time.sleep(0.01)  # and no longer: a run that was killed cannot end it\n"
        "    sys.exit(1)\n"
        "with calls.open('a') as log: log.write(' '.join(sys.argv[1:]) + '\\n')\n"
        "print(random.Random(' '.join(sys.argv[1:])).gauss(int(sys.argv[1]) % 7, 1))\n",
        encoding="utf-8",
    )
    (folder / "many.txt").write_text("\n".join(map(str, range(50))), encoding="utf-8")
    command = f"{PYTHON} -S kept.py {{arm}} {{pull}}"
    return ["--arms", "many.txt", "--command", command, "--budget", "24", "--study", "run.db"]


def ended(process):
    output, errors = process.communicate(timeout=600)
    return process.returncode, output, errors


def told(url, name="main"):
    """Return what a study was told, in order."""
    with boxthirding.open_study(url, name) as study:
        labels = {}
        for _, event in study.events():
            kind = type(event).__name__
            if kind == "Asked":
                labels |= {ticket: label for ticket, label, _ in event.tickets}
            elif kind == "Told":
                yield labels[event.ticket], event.reward


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_run_that_was_stopped_half_way_goes_on_and_equals_an_undisturbed_one(folder, kept, sent):
    (folder / "hang-after-9").touch()
    with started(*kept) as process:
        while not (folder / "hangs").exists():
            assert process.poll() is None
        process.send_signal(sent)
        code, _, errors = ended(process)
    assert code == {signal.SIGKILL: -9, signal.SIGINT: 130, signal.SIGTERM: 143}[sent]
    assert errors.endswith("\nThe same command resumes from here.\n") == (sent != signal.SIGKILL)
    (folder / "hang-after-9").unlink()
    with started(*kept) as process:
        code, output, errors = ended(process)
    assert code == 0
    assert "Study run.db: resuming from 9 pulls, 1 ticket open.\n" in errors
    assert "Spent 24 of 24 pulls (15 here), 0 left, in " in output
    assert len(calls()) == len(set(calls())) == 24
    undisturbed = result(*kept, "--name", "undisturbed")
    assert list(told("run.db")) == list(told("run.db", "undisturbed"))
    assert output.startswith(f"Best arm: {undisturbed['best']}\n")


def test_a_run_that_is_finished_returns_at_once_and_more_budget_goes_on(kept):
    first = result(*kept)
    assert first["spending"]["pulls"] == 24
    again = result(*kept)
    assert (again["best"], again["top"], again["spending"]["pulls"]) == (first["best"], first["top"], 0)
    assert (again["spending"]["elsewhere"], again["spending"]["left"], again["stopped"]) == (24, 0, "budget")
    more = result(*kept, "--budget", "30")
    assert (more["spending"]["pulls"], more["spending"]["elsewhere"]) == (6, 24)
    assert len(calls()) == 30


def test_two_runs_at_once_share_the_budget(kept):
    with started(*kept, "--workers", "2", "--json") as one, started(*kept, "--workers", "2", "--json") as two:
        answers = [ended(process) for process in (one, two)]
    assert [code for code, _, _ in answers] == [0, 0]
    spending = [json.loads(output)["spending"] for _, output, _ in answers]
    assert sum(each["pulls"] for each in spending) == len(calls()) == 24
    assert [each["pulls"] + each["elsewhere"] for each in spending] == [24, 24]


STUDIES = {
    "another seed": (["--seed", "3"], "study 'main' was made with seed 0, not 3"),
    "another policy": (["--policy", "us"], "made with policy b3auto, not us"),
    "other arms": (["--arms", "arms.txt"], "not 'ann'"),
    "a file that is no database": (["--study", "score.py"], "score.py is not an SQLite database"),
    "a folder that is not there": (
        ["--study", "nowhere/run.db"],
        "nowhere/run.db cannot be opened, because there is no folder",
    ),
}


@pytest.mark.parametrize("case", STUDIES)
def test_a_study_that_does_not_fit_is_refused_and_nothing_runs(kept, case):
    with boxthirding.open_study("run.db", "main", arms=[str(number) for number in range(50)]):
        pass
    changed, fragment = STUDIES[case]
    done = run(*kept, *changed)
    assert (done.exit_code, done.stdout) == (2, "")
    assert fragment in done.stderr
    assert not Path("calls").exists()


def test_a_run_goes_on_with_the_seed_and_the_direction_that_the_study_was_made_with(kept):
    first = result(*kept, "--seed", "5", "--direction", "minimize", "--examples", "examples.txt", *shown_to())
    more = result(*kept, "--budget", "30", "--examples", "examples.txt", *shown_to())
    assert (first["spending"]["pulls"], more["spending"]["elsewhere"], more["spending"]["pulls"]) == (24, 24, 6)
    with boxthirding.open_study("run.db", "main") as study:
        assert (study.seed, study.direction) == (5, "minimize")
    seen = dict(call.split()[1:] for call in calls())  # the example of each pull
    assert all(call.split()[1:] in map(list, seen.items()) for call in calls())  # the same in both runs
    expected = Pulls(["easy", "hard", "odd"], 5)
    assert seen == {pull: expected[int(pull)][1] for pull in seen}


def shown_to():
    """Return a command that is told its example too."""
    return ["--command", f"{PYTHON} -S kept.py {{arm}} {{pull}} {{example}}"]


def test_an_arm_that_was_added_is_run_when_its_row_is_in_the_file_wherever_it_stands():
    command = ["--command", f"{PYTHON} score.py {{name}}", "--study", "run.db"]
    result("--arms", "arms.csv", *command, "--budget", "5")
    with boxthirding.open_study("run.db", "main") as study:
        study.add(["zzz", "gone"])
        study.withdraw("gone")
    done = run("--arms", "arms.csv", *command, "--budget", "30")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        "Error: arm 'zzz' of the study is not in the file of --arms, so there is nothing to fill in: add its row to "
        "the file and give --force, or take the arm out with `boxthirding study withdraw`\n"
    )
    assert len(calls()) == 5
    first, *rest = Path("arms.csv").read_text(encoding="utf-8").splitlines()
    Path("arms.csv").write_text("\n".join([first, rest[0], "zzz,9,", *rest[1:]]), encoding="utf-8")
    done = run("--arms", "arms.csv", *command, "--budget", "30")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "arm 'zzz' of study 'main' is 'zzz', not {'name': 'zzz', " in done.stderr
    assert result("--arms", "arms.csv", *command, "--budget", "30", "--force")["best"] == "zzz"
    assert len(calls()) == 30
    Path("arms.csv").write_text("\n".join([first, rest[0], "zzz,9,", *rest[1:], "yyy,1,"]), encoding="utf-8")
    done = run("--arms", "arms.csv", *command, "--budget", "40")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "3 arms, not 4 ('yyy' must be added first); " in done.stderr
    assert "add new arms with `boxthirding study add`" in done.stderr
    assert len(calls()) == 30


@pytest.mark.parametrize("on_error", ["raise", "withdraw"])
def test_an_arm_that_is_added_while_a_run_is_under_way_ends_it_and_is_not_withdrawn(folder, on_error):
    code = (
        "import boxthirding, pathlib, sys\n"
        "if not pathlib.Path('added').exists():\n"
        "    pathlib.Path('added').touch()\n"
        "    with boxthirding.open_study('run.db', 'main') as study: study.add(['new'])\n"
        "print(len(sys.argv[1]))"
    )
    (folder / "adds.py").write_text(code, encoding="utf-8")
    options = ["--command", f"{PYTHON} adds.py {{name}}", "--study", "run.db", "--policy", "us", "--on-error", on_error]
    done = run("--arms", "arms.csv", *options, "--budget", "20")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "Error: arm 'new' of the study is not in the file of --arms" in done.stderr.splitlines()[-1]
    with (folder / "arms.csv").open("a", encoding="utf-8") as file:
        file.write("new,1,\n")
    printed = result("--arms", "arms.csv", *options, "--budget", "20", "--force")
    assert (printed["stopped"], printed["spending"]["left"], printed["spending"]["failures"]) == ("budget", 0, 0)
    assert "new" in {arm["label"] for arm in printed["top"]}


def test_a_study_that_would_end_with_the_run_is_refused(kept):
    done = run(*kept, "--study", "memory:x")
    assert (done.exit_code, done.stdout, Path("calls").exists()) == (2, "", False)
    assert "memory:x, which would be lost when this command ends: name a file" in done.stderr


def test_a_name_without_a_study_is_refused():
    done = run(*(word for pair in GOOD.items() for word in pair), "--name", "x")
    assert (done.exit_code, done.stderr) == (2, "Error: --name is x, but belongs to --study: give the database\n")


# What must stay the same


OTHERS = {
    "another command": (["--command", f"{PYTHON} score.py {{name}} --fast"], "was made with command", "--fast"),
    "a changed row": (["--arms", "changed.csv"], "arm 'bob' of study 'main' has '0.9' as its rate, not '0.8'", "mixed"),
    "another column": (["--arms", "column.csv"], "has nothing as its size, not '1'", "mixed"),
    "other examples": (
        [*("--command", f"{PYTHON} score.py {{name}} {{example}}"), "--examples", "examples.txt"],
        "study 'main' was made with no examples, not 3",
        "leave out what the study knows itself",
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_would_mix_results_of_two_kinds_is_refused_by_name(folder, case):
    command = ["--command", f"{PYTHON} score.py {{name}}", "--budget", "5", "--study", "run.db"]
    result("--arms", "arms.csv", *command)
    text = (folder / "arms.csv").read_text(encoding="utf-8")
    (folder / "changed.csv").write_text(text.replace("0.9", "0.8"), encoding="utf-8")
    rows = [f"{line},{'1' if place else 'size'}" for place, line in enumerate(text.splitlines())]
    (folder / "column.csv").write_text("\n".join(rows), encoding="utf-8")
    before = journal()
    options, *fragments = OTHERS[case]
    done = run("--arms", "arms.csv", *command, *options)
    assert (done.exit_code, done.stdout) == (2, "")
    for fragment in fragments:
        assert fragment in done.stderr
    assert (journal(), len(calls())) == (before, 5)


@pytest.mark.parametrize("case", ["another command", "a changed row"])
def test_force_continues_with_the_new_ones_for_good(folder, case):
    command = ["--command", f"{PYTHON} score.py {{name}}", "--study", "run.db"]
    result("--arms", "arms.csv", *command, "--budget", "5")
    text = (folder / "arms.csv").read_text(encoding="utf-8")
    (folder / "changed.csv").write_text(text.replace("0.9", "0.8"), encoding="utf-8")
    options = ["--arms", "arms.csv", *command, *OTHERS[case][0]]
    assert result(*options, "--budget", "8", "--force")["spending"]["elsewhere"] == 5
    assert result(*options, "--budget", "9")["spending"]["elsewhere"] == 8
    assert run("--arms", "arms.csv", *command, "--budget", "10").exit_code == 2
    assert "redefined" in journal()


def test_nothing_is_forced_when_the_known_results_are_refused(folder):
    command = ["--command", f"{PYTHON} score.py {{name}}", "--study", "run.db"]
    result("--arms", "arms.csv", *command, "--budget", "3")
    before = journal()
    text = (folder / "arms.csv").read_text(encoding="utf-8")
    (folder / "changed.csv").write_text(text.replace("0.9", "0.8"), encoding="utf-8")
    for known, fragment in (("eve,1", "label 'eve' does not exist"), ("ann,high", "reward is 'high'")):
        (folder / "known.csv").write_text(f"arm,reward\n{known}\n", encoding="utf-8")
        done = run("--arms", "changed.csv", *command, "--budget", "9", "--known", "known.csv", "--force")
        assert (done.exit_code, done.stdout) == (2, "")
        assert fragment in done.stderr
        assert (journal(), len(calls())) == (before, 3)


def test_nothing_is_forced_when_an_arm_has_no_row(folder):
    command = ["--command", f"{PYTHON} score.py {{rate}}", "--study", "run.db"]
    result("--arms", "arms.csv", *command, "--budget", "3")
    with boxthirding.open_study("run.db") as study:
        study.add(["eve"])
    before = journal()
    text = (folder / "arms.csv").read_text(encoding="utf-8")
    (folder / "changed.csv").write_text(text.replace("0.9", "0.8"), encoding="utf-8")
    done = run("--arms", "changed.csv", *command, "--budget", "9", "--force")
    assert (done.exit_code, "arm 'eve' of the study is not in the file of --arms" in done.stderr) == (2, True)
    assert journal() == before


def journal():
    ended = CliRunner().invoke(cli, ["study", "export", "run.db", "--format", "jsonl"])
    assert ended.exit_code == 0
    return ended.stdout


def test_an_added_arm_needs_no_row_where_its_label_is_enough():
    command = ["--command", f"{PYTHON} score.py {{arm}}", "--study", "run.db", "--arms", "arms.txt"]
    result(*command, "--budget", "5")
    with boxthirding.open_study("run.db") as study:
        study.add(["zzzz"])
    assert result(*command, "--budget", "30")["best"] == "zzzz"


def test_an_arm_added_from_a_file_brings_its_row_along(folder):
    (folder / "more.csv").write_text("name,rate,note\nzzz,2,\n", encoding="utf-8")
    command = ["--command", f"{PYTHON} score.py {{name}} {{rate}}", "--study", "run.db", "--arms", "arms.csv"]
    result(*command, "--budget", "5")
    assert CliRunner().invoke(cli, ["study", "add", "run.db", "more.csv"]).exit_code == 0
    assert result(*command, "--budget", "30")["best"] == "zzz"
    assert "zzz 2" in calls()


# Examples run out


def test_a_pair_of_arm_and_example_is_run_once():
    command = f"{PYTHON} score.py {{arm}} {{example}}"
    options = ["--arms", "arms.txt", "--command", command, "--examples", "examples.txt", "--budget", "200"]
    printed = result(*options)
    assert (printed["stopped"], printed["best"]) == ("known", "zoe")
    assert len(calls()) == len(set(calls())) <= 9
    done = run(*options, "--study", "run.db")
    assert (done.exit_code, "every example that matters has been evaluated" in done.stdout) == (0, True)
    shown = CliRunner().invoke(cli, ["study", "show", "run.db"]).stdout
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
    "no number": ("arm,reward\nann,high\n", [], ["known.csv, line 2: reward is 'high'", "must be a finite number"]),
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


def test_a_policy_of_your_own_decides(folder):
    (folder / "my_policies.py").write_text(
        "from dataclasses import dataclass\nfrom boxthirding.policies import Uniform\n\n\n"
        "@dataclass(frozen=True)\nclass Mine(Uniform):\n    pass\n",
        encoding="utf-8",
    )
    options = ["--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}}", "--policy", "my_policies:Mine"]
    code = "from boxthirding.cli import main; main()"
    source = str(Path(boxthirding.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([source, str(folder)])}
    for words in (
        ["run", *options, "--budget", "6", "--study", "run.db"],
        ["study", "show", "run.db"],
        ["study", "ask", "other.db", "--arms", "arms.txt", "--policy", "my_policies:Mine"],
        ["study", "use", "other.db", "b3"],
        ["study", "use", "other.db", "my_policies:Mine"],
        *[["simulate", "--instance", "poly", "--arms", "9", "--rewards", "none", "--policy", "my_policies:Mine"]],
    ):
        more = ["--budget", "20", "--replicates", "2"] if words[0] == "simulate" else []
        ended = subprocess.run(
            [sys.executable, "-c", code, *words, *more], env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        with boxthirding.open_study("run.db") as study:
            assert (study.view().policy, study.pulls) == ("my_policies:Mine", 6)


@pytest.mark.parametrize("columns", [40, 80])
def test_long_labels_fit_the_screen_and_the_best_is_named_in_full(folder, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    labels = [f"a prompt that begins like all others and ends with the number {number}" for number in range(3)]
    (folder / "long.jsonl").write_text("".join(json.dumps({"arm": label}) + "\n" for label in labels))
    printed = run("--arms", "long.jsonl", "--command", "printf %s {arm} | tail -c 1", "--shell", *BUDGET)
    lines = printed.stdout.splitlines()
    assert lines[0] == f"Best arm: {labels[2]}"
    assert max(map(len, lines[1:6])) <= columns
    assert [line.split()[0] for line in lines[3:6]] == ["…2", "…1", "…0"]
    again = lines.index("Measured again, by 2 new runs each:")
    assert max(map(len, lines[again:])) <= columns


# Measured again


def test_the_best_are_measured_again_by_new_runs():
    command = ["--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}} {{pull}}", "--budget", "6", "--top", "2"]
    printed = run(*command, "--confirm", "3")
    assert printed.exit_code == 0
    lines = printed.stdout.splitlines()
    again = lines.index("Measured again, by 3 new runs each:")
    assert lines[again + 1].split() == ["arm", "new", "mean", "95", "%", "interval"]
    assert lines[again + 2].split() == ["zoe", "3.34", "3.34", "to", "3.34"]
    assert lines[again + 3].split() == ["ann", "3.17", "3.17", "to", "3.17"]
    assert len(lines) == again + 4
    assert "--confirm" not in printed.stdout
    made = calls()
    assert len(made) == 6 + 2 * 3
    assert len(set(made)) == len(made)  # no pull comes twice


def test_the_best_are_measured_again_for_a_program_and_no_study_is_told():
    command = ["--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}}", "--budget", "4", "--study", "run.db"]
    printed = result(*command, "--top", "2", "--confirm", "2")
    assert [(arm["label"], arm["pulls"], arm["difference"]) for arm in printed["confirmed"]] == [
        *[("zoe", 2, None), ("ann", 2, None)],
    ]
    assert printed["confirmed"][0]["low"] == pytest.approx(3.34)
    with boxthirding.open_study("run.db") as study:
        assert study.pulls == 4


def test_arms_are_compared_on_the_same_examples():
    command = [
        "--arms",
        "arms.txt",
        "--command",
        f"{PYTHON} score.py {{arm}} {{example}}",
        "--examples",
        "examples.txt",
    ]
    lines = run(*command, "--budget", "8", "--top", "2", "--confirm", "2").stdout.splitlines()
    less = lines.index("On the same examples, less the first arm:")
    assert lines[less + 1] == "  ann: -0.17 (-0.17 to -0.17)"
    assert lines[less + 2].endswith("of each arm may have been seen in the search: there were no others.")


def test_a_failure_while_measuring_again_keeps_the_answer(folder):
    code = "import pathlib, sys\nn = len(list(pathlib.Path().glob('run-*')))\npathlib.Path(f'run-{n}').touch()\n"
    (folder / "once.py").write_text(f"{code}sys.exit('broken') if n >= 5 else print(ord(sys.argv[1][0]))\n")
    done = run("--arms", "arms.txt", "--command", f"{PYTHON} once.py {{arm}}", "--budget", "4", "--confirm", "3")
    assert done.exit_code == 1
    assert "Best arm: zoe" in done.stdout
    lines = done.stdout.splitlines()
    again = lines.index("Measured again, by 3 new runs each:")
    assert lines[again + 1].endswith("  runs")
    assert lines[again + 2].split() == ["zoe", "122", "1"]
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: arm ")
    assert "'broken'" in line
    assert "confirmation" not in line


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_measuring_again_can_be_interrupted(folder, sent):
    (folder / "slow.py").write_text(
        "import pathlib, sys, time\nn = len(list(pathlib.Path().glob('run-*')))\npathlib.Path(f'run-{n}').touch()\n"
        "time.sleep(60 if n >= 4 else 0)\nprint(1)\n"
    )
    options = ["run", "--arms", "arms.txt", "--command", f"{PYTHON} slow.py {{arm}}", "--budget", "4", "--confirm", "3"]
    process = subprocess.Popen([sys.executable, "-m", "boxthirding", *options], stdout=subprocess.PIPE, text=True)
    while not (folder / "run-4").exists():
        assert process.poll() is None
    process.send_signal(sent)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 128 + sent
    assert "Best arm: " in output
    assert "no result" in output


def test_one_new_run_is_too_few():
    done = run("--arms", "arms.txt", "--command", f"{PYTHON} score.py {{arm}}", "--budget", "4", "--confirm", "1")
    assert (done.exit_code, "--confirm is 1, but must be at least 2" in done.stderr) == (2, True)
    assert not Path("calls").exists()
