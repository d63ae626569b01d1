"""`boxthirding plan`: what it prints, draws and refuses."""

import json
import re

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
    scores = [(arm, 10 * (arm % 5) ** 2 + pull) for arm in range(30) for pull in range(3)]  # few are large, many small
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


def test_small_scores_can_be_good(tmp_path):
    file = tmp_path / "skewed.csv"  # few arms are far above the rest, none is far below
    scores = [(arm, 10 * (arm % 5) ** 3 + pull) for arm in range(30) for pull in range(3)]
    file.write_text("arm,score\n" + "".join(f"{arm},{score}\n" for arm, score in scores), encoding="utf-8")
    up, down = (run("--arms", 80, "--pilot", file, "--direction", way, "--budget", 9, "--json") for way in WAYS)
    assert up.exit_code == down.exit_code == 0
    assert json.loads(up.stdout)["regret"] > 1.5 * json.loads(down.stdout)["regret"]
    short = run("--arms", 80, "--pilot", file, "--minimize", "--budget", 9, "--json")
    assert short.stdout == down.stdout
    both = run("--arms", 80, "--pilot", file, "--minimize", "--direction", "maximize")
    assert (both.exit_code, both.stdout) == (2, "")
    assert "--minimize and --direction maximize are given, but contradict each other" in both.stderr


@pytest.mark.parametrize(("name", "header"), [("flags.csv", "flag,size\n"), ("flags.txt", "")])
def test_the_arms_of_a_file_are_counted(tmp_path, name, header):
    file = tmp_path / name
    file.write_text(header + "".join(f"-O{n},{n}\n" for n in range(80)), encoding="utf-8")
    counted = run("--arms", file, *GUESSES[2:], "--budget", 40, "--json")
    assert counted.exit_code == 0, counted.output
    assert counted.stdout == run(*GUESSES, "--budget", 40, "--json").stdout


def test_a_file_of_arms_without_a_header_is_counted_too(tmp_path):
    file = tmp_path / "flags.csv"
    file.write_text("".join(f"f{n},{n}\n" for n in range(80)), encoding="utf-8")
    options = ["--arms", file, *GUESSES[2:], "--budget", 40, "--json"]
    assert "pass --no-header" in run(*options).stderr
    assert run(*options, "--no-header").stdout == run(*GUESSES, "--budget", 40, "--json").stdout


def small_pilot(folder, arms, scores):
    rows = [f"{arm},{10 * arm + score}\n" for arm in range(arms) for score in range(scores)]
    (folder / "small.csv").write_text("arm,score\n" + "".join(rows), encoding="utf-8")
    return folder / "small.csv"


@pytest.mark.parametrize(("arms", "scores"), [(3, 3), (9, 3), (9, 2), (3, 50)])
def test_a_pilot_that_says_almost_nothing_is_said_to_and_what_to_do_instead(tmp_path, arms, scores):
    options = ["--pilot", small_pilot(tmp_path, arms, scores), "--budget", 40, "--json"]
    said = run("--arms", 80, *options).stderr
    warning = (
        f"Warning: a pilot of {arms} arms with {arms * scores} scores says almost nothing, so this plan may be far"
    )
    assert said.startswith(warning)
    assert "Score 50 arms, chosen at random, 3 times each.\n" in said
    heading, second, table, *_ = run("--arms", 80, *options[:-1]).stdout.split("\n\n")
    assert heading.endswith("(from the pilot)")
    assert second.startswith(warning)
    assert table.lstrip().startswith("mean")
    assert "Score 20 arms, chosen at random, 3 times each." in run("--arms", 20, *options).stderr


def test_a_pilot_that_says_almost_nothing_and_shows_no_spread_is_warned_of_too(tmp_path):
    (tmp_path / "alike.csv").write_text(
        "arm,score\n" + "a,1\na,2\na,4\nb,2\nb,3\nb,1\nc,1\nc,3\nc,2\n", encoding="utf-8"
    )
    said = run("--arms", 80, "--pilot", tmp_path / "alike.csv", "--budget", 40).stdout
    assert said.count("Warning: a pilot of 3 arms with 9 scores says almost nothing") == 1
    assert "cannot tell its arms apart" in said
    assert said.count(" times each.") == 1  # one advice


def test_a_pilot_that_says_enough_is_not_called_small(tmp_path):
    assert "almost nothing" not in run("--arms", 80, "--pilot", small_pilot(tmp_path, 10, 2), "--budget", 40).stdout
    assert "almost nothing" not in run("--arms", 3, "--pilot", small_pilot(tmp_path, 3, 6), "--budget", 40).stdout


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
    assert "30 arms; noise and spread are not known, so here are several ratios" in result.stdout
    assert [line.split()[0] for line in result.stdout.splitlines()[6:] if line].count("0.5") == 3
    assert "Regret is in units of the spread. For a plan in yours, give noise and spread, or a pilot." in result.stdout


def test_the_table_is_for_people():
    result = run(*GUESSES)
    assert result.exit_code == 0, result.output
    assert "80 arms; noise 2, a good arm is 1 better than an ordinary one (guessed)" in result.stdout
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
        (("--arms", 0), "arms is 0, but must be at least 2"),
        (("--arms", 9, "--noise", 1), "noise is given without spread, but a plan needs both"),
        (("--arms", 9, "--noise", -1, "--spread", 1), "noise is -1.0, but must be a finite number of at least 0"),
        (("--arms", 9, "--noise", 1, "--spread", 0), "if all arms are alike, any one will do"),
        (("--arms", 9, "--pilot", "missing.csv"), "missing.csv cannot be read"),
        ((*GUESSES, "--pilot", "missing.csv"), "a plan is made of one of them: leave the other out"),
        ((*GUESSES, "--want", "top 1 % in 10 of 10 runs"), "no budget makes them all end alike"),
        ((*GUESSES, "--want", "the moon"), "must be one that can be read: write 'top 1 % in 9 of 10 runs'"),
        ((*GUESSES, "--want", "top 80"), "every one of 80 arms is as good as that"),
        ((*GUESSES, "--want", "top 0 %"), "no arm is better than the best one"),
        (("--arms", 8, "--noise", 300, "--spread", 1, "--want", "best"), "wish for that, or for fewer runs"),
        ((*GUESSES, "--plot", "plan.txt"), "must end in .png"),
        ((*GUESSES, "--budget", 0), "budget is 0"),
        ((*GUESSES, "--price", -1), "price is -1.0, but must be a finite number of at least 0"),
        ((*GUESSES, "--workers", 0), "workers is 0"),
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
        ("arm,score\na,1\nb,2\n", "cannot tell noise, which more pulls average away, from real differences"),
        ("arm,score\na,1\nb,2\n", "score at least 2 of them two more times, or give guesses"),
        ("arm,score\na,1\na,2\n", "one arm, but how far arms differ takes several: score 30 or more arms"),
        ("arm,score\na,1\na,1\nb,1\n", "every score of the pilot is 1, so it shows neither noise nor differences"),
        ("arm,score\na,1\na,2\nb,3\nb,3\nc,1\nd,1\n", "scores of 4 arms, but arms is 3: it counts all that there are"),
        ("arm,score\na,1\na,good\n", "row 2 (line 3): score is 'good', but must be a finite number"),
        ("arm,score\na,1\na,nan\n", "score is 'nan', but must be a finite number"),
        ("prompt,value\na,1\n", "has the columns prompt, value, but must have arm and score (or reward): rename them"),
        ("arm,score\n", "has a header and no rows"),
        ("", "is empty"),
    ],
)
def test_a_pilot_that_says_nothing_says_what_it_lacks(tmp_path, text, words):
    file = tmp_path / "pilot.csv"
    file.write_text(text, encoding="utf-8")
    result = run("--arms", 3, "--pilot", file)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert words in result.stderr


def test_a_pilot_that_cannot_tell_its_arms_apart_says_how_many_more_pulls_would(tmp_path):
    file = tmp_path / "pilot.csv"
    file.write_text("arm,score\n" + "".join(f"{arm},{arm % 2}\n{arm},{1 - arm % 2}\n" for arm in range(20)), "utf-8")
    result = run("--arms", 40, "--pilot", file, "--budget", 40)
    assert result.exit_code == 0, result.output
    assert re.search(
        r"Note: the 40 scores of the pilot cannot tell its arms apart: .* [\d,]+ more pulls would show it",
        result.stdout,
    )


def test_where_scores_do_not_vary_one_pull_of_each_arm_is_enough(tmp_path):
    file = tmp_path / "pilot.csv"
    file.write_text("arm,score\n" + "".join(f"{arm},{arm / 7}\n" * 2 for arm in range(20)), "utf-8")
    result = run("--arms", 40, "--pilot", file, "--budget", 60)
    assert result.exit_code == 0, result.output
    assert "Note: repeated scores do not differ, so one pull of each arm is enough to find the best; " in result.stdout
    assert "With 60 pulls, expect the best of 40" in result.stdout
