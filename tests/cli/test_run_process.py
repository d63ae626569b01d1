"""`boxthirding run` as its user starts it: signals, terminals, pipes and full disks."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from running import GOOD, PYTHON, gone, started, stop, wait_for, words

import boxthirding
from boxthirding.cli.commands import cli

pytestmark = pytest.mark.usefixtures("programs")


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
        wait_for(lambda: len(list(folder.glob("pid-*"))) == int(workers), process)
        said = stop(process, sent)
        output, errors = process.communicate(timeout=600)
    which = "1 running evaluation (its" if workers == "1" else "3 running evaluations (their"
    assert said.startswith(f"Waiting for {which} result" if sent == signal.SIGINT else "")
    assert (process.returncode, errors) == (code, "")
    if as_json:
        printed = json.loads(output)
        assert (printed["stopped"], printed["spending"]["pulls"]) == ("interrupted", 5)
        assert printed["spending"]["abandoned"] == int(workers)
    else:
        assert output.startswith("Best arm: ")
        assert "; interrupted.\n" in output
    assert all(gone(int(file.name.partition("-")[2])) for file in folder.glob("pid-*"))


@pytest.mark.parametrize("workers", [1, 3])
def test_the_first_ctrl_c_waits_for_the_programs_that_run_and_counts_what_they_print(folder, workers):
    (folder / "wait.py").write_text(
        "import os, pathlib, sys, time\n"
        "pathlib.Path(f'begun-{os.getpid()}').touch()\n"
        "while not pathlib.Path('go').exists(): time.sleep(0.01)\n"
        "print(sys.argv[1])\n",
        encoding="utf-8",
    )
    (folder / "numbers.txt").write_text("\n".join(map(str, range(1000))), encoding="utf-8")
    command = ["--arms", "numbers.txt", "--command", f"{PYTHON} wait.py {{arm}}", "--budget", "500", "--json"]
    with started(*command, "--workers", str(workers)) as process:
        wait_for(lambda: len(list(folder.glob("begun-*"))) == workers, process)
        process.send_signal(signal.SIGINT)
        said = process.stderr.readline()
        (folder / "go").touch()
        output, errors = process.communicate(timeout=600)
    assert f"Waiting for {workers} running evaluation" in said
    assert (process.returncode, errors) == (130, "")
    printed = json.loads(output)
    spent = printed["spending"]
    assert (printed["stopped"], spent["pulls"], spent["abandoned"]) == ("interrupted", workers, 0)
    assert len(list(folder.glob("begun-*"))) == workers


@pytest.mark.parametrize("more", [[], ["--confirm", "2"]])
def test_after_ctrl_c_nothing_resumes_if_the_last_of_the_budget_was_under_way(folder, more):
    (folder / "wait.py").write_text(
        "import pathlib, sys, time\n"
        "pathlib.Path('begun').touch()\n"
        "while not pathlib.Path('go').exists(): time.sleep(0.01)\n"
        "print(sys.argv[1])\n",
        encoding="utf-8",
    )
    (folder / "numbers.txt").write_text("1\n2\n", encoding="utf-8")
    command = ["--arms", "numbers.txt", "--command", f"{PYTHON} wait.py {{arm}}", "--budget", "1", "--study", "run.db"]
    with started(*command, *more) as process:
        wait_for((folder / "begun").exists, process)
        process.send_signal(signal.SIGINT)
        while "Waiting for 1 running evaluation" not in process.stderr.readline():
            pass
        (folder / "go").touch()
        output, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert "; the budget is spent.\n" in output
    assert ("The same command resumes from here." in errors) == bool(more)  # new runs of the best are missing


def test_a_terminal_gets_the_plan_and_stdout_stays_json(folder):
    pty = pytest.importorskip("pty", reason="needs a terminal to pretend")
    program = [sys.executable, "-m", "boxthirding", "run", *words(GOOD), "--json"]
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
        "best so far 'zoe', mean",
        "Best: 'zoe', mean",
    ):
        assert text in seen.decode()


def test_without_a_terminal_nothing_is_said_on_the_way():
    with started(*words(GOOD)) as process:
        output, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    assert output.startswith("Best arm: zoe\n")


needs_dev_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")


@needs_dev_full
def test_an_answer_that_cannot_be_written_is_repeated_on_stderr():
    with (
        Path("/dev/full").open("w", encoding="utf-8") as full,
        started(*words(GOOD), stdout=full) as process,
    ):
        _, errors = process.communicate()
    assert process.returncode == 1
    assert errors.startswith("Best arm: zoe\n")
    assert errors.endswith("\nError: standard output cannot be written: No space left on device\n")


def test_a_closed_pipe_is_no_matter():
    ours, theirs = os.pipe()
    os.close(ours)
    with started(*words(GOOD), stdout=theirs) as process:
        os.close(theirs)
        _, errors = process.communicate()
    assert (process.returncode, errors) == (1, "")


def test_a_closed_output_is_refused_before_anything_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as ended:
        cli(["run", *words(GOOD)])
    assert ended.value.code == 1
    assert "standard output is closed" in capsys.readouterr().err
    assert not Path("calls").exists()
