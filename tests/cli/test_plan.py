"""`boxthirding plan`: what it prints, draws and refuses."""

import json

import pytest
from click.testing import CliRunner

from boxthirding.cli.commands import cli

CONTRACT = [
    "budget",
    "regret",
    "regret_low",
    "regret_high",
    "rank",
    "percentile",
    "top1_chance",
    "arms_tried",
    "winner_pulls",
]
GUESSES = ("--arms", "80", "--noise", "2", "--spread", "1")
WAYS = ("maximize", "minimize")


def run(*arguments):
    return CliRunner().invoke(cli, ["plan", *map(str, arguments)], env={"COLUMNS": "100"})


@pytest.fixture
def pilot(tmp_path):
    file = tmp_path / "pilot.csv"
    scores = [(arm, 10 * (arm % 5) + pull) for arm in range(30) for pull in range(3)]
    file.write_text("arm,score\n" + "".join(f"{arm},{score}\n" for arm, score in scores), encoding="utf-8")
    return file


def test_json_has_a_line_for_each_budget():
    result = run(*GUESSES, "--budget", 300, "--budget", 40, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [list(line) for line in lines] == [CONTRACT, CONTRACT]
    assert [line["budget"] for line in lines] == [40, 300]


def test_a_pilot_is_read_and_its_notes_go_to_stderr(pilot):
    result = run("--arms", 80, "--pilot", pilot, "--budget", 100, "--json")
    assert result.exit_code == 0, result.output
    assert list(json.loads(result.stdout)) == CONTRACT
    assert result.stderr.startswith("Note: a pilot sees ordinary arms and few of the best")


def test_small_scores_can_be_good(pilot):
    up, down = (run("--arms", 80, "--pilot", pilot, "--direction", way, "--budget", 9, "--json") for way in WAYS)
    assert up.exit_code == down.exit_code == 0
    assert up.stdout != down.stdout


def test_a_wish_is_one_line_with_its_budget():
    result = run(*GUESSES, "--want", "top 10 % in 4 of 5 runs", "--price", 2, "--seconds", 3, "--workers", 2, "--json")
    assert result.exit_code == 0, result.output
    line = json.loads(result.stdout)
    assert line["want"] == "top 10 % in 4 of 5 runs"
    assert line["cost"] == 2 * line["budget"]
    assert line["seconds"] == 3 * -(-line["budget"] // 2)
    assert line["chance_low"] <= line["chance"] <= line["chance_high"]


def test_nothing_but_the_arms_gives_a_table_over_ratios():
    result = run("--arms", 30)
    assert result.exit_code == 0, result.output
    assert "30 arms; noise and spread are not known: for five ratios" in result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines()[6:] if line].count("0.5") == 3


def test_the_table_is_for_people():
    result = run(*GUESSES)
    assert result.exit_code == 0, result.output
    assert "80 arms; noise 2, a good arm is 1 above an ordinary one (guessed)" in result.stdout
    assert "expect about the" in result.stdout


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_picture_is_drawn(tmp_path, ending):
    file = tmp_path / f"plan.{ending}"
    result = run(*GUESSES, "--want", "top 10 % in 4 of 5 runs", "--plot", file)
    assert result.exit_code == 0, result.output
    assert file.stat().st_size > 5_000
    assert "pulls  regret" in result.stdout  # the table is there, too: it is what is drawn


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--arms", 1), "one arm needs no search"),
        (("--arms", 9, "--noise", 1), "needs both"),
        (("--arms", 9, "--pilot", "missing.csv"), "missing.csv cannot be read"),
        ((*GUESSES, "--want", "top 1 % in 10 of 10 runs"), "no budget makes them all end alike"),
        ((*GUESSES, "--plot", "plan.txt"), "must end in .png"),
        ((*GUESSES, "--budget", 0), "budget is 0"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments, words):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("arm,score\na,1\nb,2\n", "score at least 2 of them two more times"),
        ("arm,score\na,1\na,2\n", "one arm, but how far arms differ takes several"),
        ("arm,score\na,1\na,1\nb,1\n", "neither noise nor differences"),
    ],
)
def test_a_pilot_that_says_nothing_says_what_it_lacks(tmp_path, text, words):
    file = tmp_path / "pilot.csv"
    file.write_text(text, encoding="utf-8")
    result = run("--arms", 50, "--pilot", file)
    assert result.exit_code == 2
    assert words in result.stderr
