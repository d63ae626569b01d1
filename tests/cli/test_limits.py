"""What no machine has room for and no file can be called, refused in one line on the command line."""

import os
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from boxthirding import InvalidInput, open_study
from boxthirding.cli.commands import cli
from boxthirding.lab import Gaussian, Setting, captions, memory_check, simulate, sweep

UNPRIVILEGED = 65534
LONG = "n" * 300  # no file system takes it
SIMULATE = ("simulate", "--rewards", "gaussian:1", "--policy", "us", "--budget", "10")


def refused(*arguments):
    done = CliRunner().invoke(cli, arguments)
    assert isinstance(done.exception, SystemExit), (done.output, done.exception)
    assert done.exit_code in (1, 2)  # as the table of exit codes has it
    (line,) = done.stderr.splitlines()[-1:]
    assert line.startswith("Error: ")
    return line


@pytest.mark.parametrize(
    ("options", "fragment"),
    [
        (("--instance", "equal", "--arms", str(10**15)), "arms is 1,000,000,000,000,000, which would need about"),
        (("--instance", "captions", "--replicates", str(10**15)), "the number of replicates is 1,000,000,000,000,000"),
    ],
)
def test_what_cannot_fit_into_memory_is_refused_before_it_begins(options, fragment):
    line = refused(*SIMULATE, *options)
    assert fragment in line
    assert "GiB of memory, but there are " in line


def test_states_count_too(monkeypatch, tmp_path):
    monkeypatch.setattr(memory_check, "available", lambda: 1_000_000.0)
    with pytest.raises(InvalidInput, match=r"a run of .* with 5,513 arms in 2 threads would need about"):
        simulate(captions(), Gaussian(1.0), "chase", budget=10**6, replicates=2, threads=2)
    with pytest.raises(InvalidInput, match="take fewer arms, a smaller budget or fewer threads"):
        sweep([Setting(captions(), Gaussian(1.0), "chase", 10**6, replicates=2)], results=tmp_path / "r", threads=2)
    assert not (tmp_path / "r").exists()
    assert simulate(captions(9), Gaussian(1.0), "us", budget=9, replicates=2, threads=2).replicates == 2


RUN = ("run", "--command", "echo {arm}", "--budget", "2")


@pytest.mark.parametrize(
    "command",
    [
        (*RUN, "--arms", LONG),
        (*RUN, "--arms", f"{LONG}.csv"),
        (*RUN, "--arms", "arms.txt", "--known", LONG),
        (*RUN, "--arms", "arms.txt", "--examples", LONG),
        (*SIMULATE, "--means", LONG),
        (*SIMULATE, "--instance", "captions", "--results", LONG),
        (*SIMULATE, "--instance", "captions", "--plot", f"{LONG}.png"),
        ("plot", LONG, "--out", "x.png"),
        ("plot", "arms.txt", "--out", f"{LONG}.png"),
        ("demo", "--fast", "--no-animation", "--out", f"{LONG}.png"),
        ("leaderboard", "--replicates", "2", "--out", LONG),
        ("leaderboard", "--replicates", "2", "--data", LONG),
        ("reproduce", "--replicates", "2", "--out", LONG),
        ("reproduce", "--replicates", "2", "--data", LONG),
        ("study", "export", "study.db", "--out", LONG),
        ("study", "export", "study.db", "--out", "n" * 252),  # while it is written it has a longer name
        ("study", "ask", "study.db", "--out", LONG),
        ("study", "held", "study.db", "me", "--out", LONG),
        ("study", "tell", "study.db", LONG),
        ("study", "add", "study.db", LONG),
        ("study", "observe", "study.db", LONG),
        (*SIMULATE, "--rewards", f"scores:{LONG}"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_a_name_that_no_file_can_have_is_refused_in_one_line(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arms.txt").write_text("a\nb\n", encoding="utf-8")
    open_study("study.db", arms=["a", "b"]).close()
    assert "nnn" in refused(*command)


@contextmanager
def no_way_into(folder):
    """Let a folder be listed and not entered; be a user without rights meanwhile, if we are root."""
    is_root = os.geteuid() == 0
    folder.chmod(0o644)
    if is_root:
        os.chown(folder, UNPRIVILEGED, UNPRIVILEGED)
        os.seteuid(UNPRIVILEGED)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)
        folder.chmod(0o755)


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--arms", "{shut}/arms.txt", "--command", "echo {arm}", "--budget", "2"),
        (*SIMULATE, "--means", "{shut}/means.csv"),
        (*SIMULATE, "--instance", "captions", "--arms", "9", "--plot", "{shut}/plot.svg"),
        ("study", "show", "{shut}/study.db"),
    ],
)
def test_a_folder_that_may_not_be_entered_is_said_in_one_line(tmp_path, arguments):
    shut = tmp_path / "shut"
    shut.mkdir()
    command = [argument.replace("{shut}", str(shut)) for argument in arguments]
    CliRunner().invoke(cli, command)  # loads what a user without rights may not read
    with no_way_into(shut):
        line = refused(*command)
    assert "ermission denied" in line or "you may not enter its folder" in line
