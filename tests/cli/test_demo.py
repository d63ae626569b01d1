"""`boxthirding demo`: what a person sees, at 80 by 24, in a pipe, and when they press Ctrl-C."""

import io
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from boxthirding.cli import demo
from boxthirding.cli.commands import cli
from boxthirding.lab import captions
from boxthirding.session import Session


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(*arguments):
    return CliRunner().invoke(cli, ["demo", "--fast", *arguments])


def test_it_shows_the_ladder_compares_four_policies_draws_and_says_what_to_try_next(tmp_path):
    result = run()
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("Live: which caption is funniest?") == 3
    for ladder in re.findall(r"the best of them(.*?)top 1 %", result.stdout, re.DOTALL):
        rows = [line.split() for line in ladder.splitlines()[1:10]]
        assert [row[0] for row in rows] == ["41+", "27-40", "18-26", "12-17", "8-11", "5-7", "3-4", "2", "1"]
        assert ladder.count("[") == 1
    assert sum(int(row[1]) for row in rows if len(row) > 1) == int(
        re.findall(r"(\d+) captions pulled", result.stdout)[-1]
    )
    assert "pull 500 of 500" in result.stdout
    table = result.stdout.partition("policy ")[2].splitlines()[2:6]
    assert [line.split()[0] for line in table] == ["chase", "b3", "us", "sh"]
    assert "Plot of regret against pulls: boxthirding-demo.png" in result.stdout
    assert (tmp_path / "boxthirding-demo.png").read_bytes().startswith(b"\x89PNG")


def next_commands(printed):
    """Return the three commands to try next, each as a shell reads it."""
    commands = printed.partition("Three commands to try next:\n\n")[2].partition("\n\n")[0]
    return [f"{command}\n" for command in re.split(r"\n(?=  \S)", commands)]


def test_what_to_try_next_works_as_it_is_printed():
    Path("build").mkdir()
    function, program, board = next_commands(run("--out", "build/demo.svg").stdout)
    for command in (function, program):
        ended = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602  # as a reader does
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.startswith("Best")
    assert board.split() == [demo._program(), "leaderboard", "--quick", "--out", "build/leaderboard"]
    assert [*map(str, Path().iterdir())] == ["build"]  # nothing is left where the reader is


def test_no_line_of_a_pipe_is_wider_than_80(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    shown, _, _ = run("--out", "demo.svg").stdout.partition("Three commands")  # which name the folder of this Python
    assert max(map(len, shown.splitlines())) <= 80


def test_the_same_seed_gives_the_same_session():
    def session(*arguments):
        return run("--out", "demo.svg", *arguments).stdout.partition("A single run can be lucky")[0]

    assert session("--seed", "3") == session("--seed", "3") != session("--seed", "4")


def test_a_bad_place_for_the_picture_is_refused_before_anything_runs():
    result = run("--out", "demo.jpeg")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "must end in" in result.stderr


def test_a_bad_seed_is_refused_before_anything_runs():
    result = run("--seed", "-1")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Error: seed is -1, but must be at least 0\n"


def test_a_program_is_named_as_it_is_found_here(monkeypatch, tmp_path):
    inside = tmp_path / ".venv" / "bin"
    inside.mkdir(parents=True)
    (inside / "boxthirding").write_text("#!/bin/sh\n")
    (inside / "boxthirding").chmod(0o755)
    monkeypatch.setenv("PATH", "/nowhere")
    assert demo._command_for("boxthirding", inside / "boxthirding") == ".venv/bin/boxthirding"
    monkeypatch.setenv("PATH", str(inside))
    assert demo._command_for("boxthirding", inside / "boxthirding") == "boxthirding"


def test_ctrl_c_ends_it_politely(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "tell", interrupted)
    result = run()
    assert result.exit_code == 130
    assert result.stderr == "Interrupted.\n"


@pytest.mark.parametrize(("option", "moves"), [([], True), (["--no-animation"], False)])
def test_it_moves_on_a_terminal_unless_told_not_to(option, moves, monkeypatch):
    pauses = []
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich then takes the output for a terminal
    monkeypatch.setattr(demo.time, "sleep", pauses.append)
    result = run("--out", "demo.svg", *option)
    assert result.exit_code == 0
    assert (len(pauses) > 50) == moves


def test_every_picture_fits_a_screen_of_80_by_24():
    console = Console(width=80, height=24, file=io.StringIO(), force_terminal=True)
    for frame in demo._frames(2_000, 1, animated=True):
        lines = console.render_lines(demo._render_frame(console, frame, captions().means), pad=False)
        assert len(lines) < 24


def test_a_terminal_without_unicode_gets_letters():
    output = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(width=80, file=output, legacy_windows=False)
    for frame in demo._frames(50, 1, animated=False):
        console.print(demo._render_frame(console, frame, captions().means))
    output.flush()
