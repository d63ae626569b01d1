"""`boxthirding study replay`: what policies would have picked from a matrix of scores."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from boxthirding.cli.commands import cli
from boxthirding.runs.matrices import read_matrix

ARMS, EXAMPLES = 60, 50


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


@pytest.fixture
def scores():
    """Write a matrix; return it."""
    rng = np.random.default_rng(5)
    matrix = rng.normal(rng.random((ARMS, 1)), 0.5, (ARMS, EXAMPLES))
    rows = [f"p{arm}," + ",".join(map(repr, row.tolist())) for arm, row in enumerate(matrix)]
    header = "prompt," + ",".join(f"e{number}" for number in range(EXAMPLES))
    Path("scores.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return matrix


def replay(*arguments):
    return CliRunner().invoke(cli, ["study", "replay", *arguments])


def rows(*arguments):
    ended = replay(*arguments, "--json")
    assert ended.exit_code == 0, ended.output
    return [json.loads(line) for line in ended.stdout.splitlines()]


def test_every_policy_is_replayed_at_four_parts_of_the_cost(scores):
    found = rows("scores.csv", "--replicates", "40")
    assert [(row["share"], row["policy"]) for row in found] == [
        (share, policy) for share in (0.01, 0.05, 0.1, 0.25) for policy in ("chase", "b3", "sh", "prose", "us")
    ]
    assert {row["share"]: row["pulls"] for row in found} == {0.01: 30, 0.05: 150, 0.1: 300, 0.25: 750}
    assert {row["policy"]: row["told"] for row in found}["sh"] == ["budget"]
    assert {row["policy"]: row["told"] for row in found}["prose"] == ["sigma"]
    means = scores.mean(axis=1)
    for row in found:
        assert 0 <= row["regret_mean"] <= means.max() - means.min()
        assert 1 <= row["rank_mean"] <= ARMS
        assert row["replicates"] == 40
    by = {(row["policy"], row["share"]): row for row in found}
    for policy in ("chase", "sh", "prose"):
        assert by[policy, 0.25]["regret_mean"] < by[policy, 0.01]["regret_mean"]
        assert by[policy, 0.25]["best_share"] > by[policy, 0.01]["best_share"]


def test_the_truth_is_the_mean_of_a_row_and_with_every_score_equal_nothing_is_random():
    Path("flat.csv").write_text("arm,a,b\nx,1,1\ny,3,3\nz,2,2\n", encoding="utf-8")
    (row,) = rows("flat.csv", "--policy", "us", "--share", "1", "--replicates", "9")
    assert (row["most_often"], row["regret_mean"], row["rank_mean"], row["best_share"]) == ("y", 0.0, 1.0, 1.0)
    (row,) = rows("flat.csv", "--policy", "us", "--share", "0.1", "--replicates", "3000")
    assert row["pulls"] == 1  # a random arm: regrets 0, 1, 2 and ranks 1, 2, 3; errors below are five standard ones
    assert row["regret_mean"] == pytest.approx(1, abs=0.075)
    assert row["rank_mean"] == pytest.approx(2, abs=0.075)


def test_a_run_for_all_shares_is_the_same_as_one_for_each(scores):
    assert scores.shape == (ARMS, EXAMPLES)
    together = rows("scores.csv", "--policy", "b3", "--replicates", "20")
    alone = [
        row
        for share in ("0.01", "0.25")
        for row in rows("scores.csv", "--policy", "b3", "--replicates", "20", "--share", share)
    ]
    assert [together[0], together[-1]] == alone


def test_the_table_fits_the_screen_and_says_what_was_told(scores):
    printed = replay("scores.csv", "--replicates", "5").stdout
    lines = printed.splitlines()
    assert max(map(len, lines)) <= 80
    best = int(scores.mean(axis=1).argmax())
    assert lines[0] == "scores.csv: 60 arms × 50 examples"
    assert lines[1].startswith(f"best by its mean over all examples: p{best}, ")
    assert lines[2] == "all of it costs 3,000 scores; 5 random orders of each policy, seed 0"
    assert [line.strip() for line in lines if "%:" in line] == [
        *("1 %: 30 pulls", "5 %: 150 pulls", "10 %: 300 pulls", "25 %: 750 pulls"),
    ]
    assert printed.count("sh (b)") == printed.count("prose (n)") == 4
    assert f"is told the spread within rows: {read_matrix(Path('scores.csv')).sigma:.4g}" in printed


def test_the_noise_is_the_spread_within_rows(scores):
    sigma = read_matrix(Path("scores.csv")).sigma
    assert sigma == pytest.approx(np.sqrt(scores.var(axis=1, ddof=1).mean()))
    told = rows("scores.csv", "--policy", "prose", "--replicates", "9")
    said = rows("scores.csv", "--policy", f"prose:sigma={sigma!r}", "--replicates", "9")
    assert [row["regret_mean"] for row in told] == [row["regret_mean"] for row in said]
    assert said[0]["told"] == []


def test_cells_without_a_score_are_left_out():
    Path("gaps.csv").write_text("arm,a,b,c\nx,1,,1\ny,NA,5,nan\n", encoding="utf-8")
    ended = replay("gaps.csv", "--policy", "us", "--share", "1", "--replicates", "3", "--json")
    assert ended.stderr == "Note: 3 cells without a score left out\n"
    (row,) = [json.loads(line) for line in ended.stdout.splitlines()]
    assert (row["pulls"], row["most_often"], row["regret_mean"]) == (3, "y", 0.0)


def test_a_policy_for_which_the_budget_is_too_small_is_left_out_there(scores):
    assert scores.shape == (ARMS, EXAMPLES)
    ended = replay("scores.csv", "--policy", "sr", "--replicates", "3", "--json")
    assert "Note: sr is left out at 1 %: budget is 30" in ended.stderr
    assert [json.loads(line)["share"] for line in ended.stdout.splitlines()] == [0.05, 0.1, 0.25]
    ended = replay("scores.csv", "--policy", "sr", "--share", "0.01")
    assert (ended.exit_code, ended.stderr.splitlines()[-1].startswith("Error: budget is 30")) == (2, True)


FILES = {
    "word.csv": "arm,a\nx,1\ny,good\n",
    "infinite.csv": "arm,a\nx,1\ny,inf\n",
    "large.csv": "arm,a\nx,1\ny,-1e150\n",
    "underscore.csv": "arm,a\nx,1\ny,1_000\n",
    "empty-row.csv": "arm,a,b\nx,1,2\ny,,\n",
    "labels.csv": "arm\nx\ny\n",
    "twice.csv": "arm,a\nx,1\nx,2\n",
    "one.csv": "arm,a\nx,1\n",
    "ragged.csv": "arm,a\nx,1,2\n",
    "good.csv": "arm,a\nx,1\ny,2\n",
}
REFUSED = {
    "a word": (["word.csv"], ["word.csv, row 2 (line 3): a is 'good'", "finite number", "or empty where there is"]),
    "an infinite score": (["infinite.csv"], ["a is 'inf'"]),
    "a score beyond all measure": (["large.csv"], ["a is '-1e150'", "below 1e150 in size"]),
    "a score as Python writes it": (["underscore.csv"], ["a is '1_000'", "must be a finite number"]),
    "an arm without scores": (["empty-row.csv"], ["arm 'y' has no scores at all"]),
    "no scores": (["labels.csv"], ["labels.csv has no scores"]),
    "a label twice": (["twice.csv"], ["arm 'x' more than once"]),
    "one arm": (["one.csv"], ["one arm, but a choice needs two"]),
    "a ragged row": (["ragged.csv"], ["3 cells"]),
    "no such file": (["gone.csv"], ["gone.csv cannot be read"]),
    "a share above 1": (["good.csv", "--share", "2"], ["share is 2", "(0, 1]"]),
    "a share of 0": (["good.csv", "--share", "0"], ["share is 0"]),
    "an unknown policy": (["good.csv", "--policy", "best"], ["policy is 'best'"]),
    "an unknown key": (["good.csv", "--policy", "b3:x=1"], ["no key 'x'"]),
    "a policy twice": (["good.csv", "--policy", "b3", "--policy", "b3"], ["given 2 times"]),
    "no replicates": (["good.csv", "--replicates", "0"], ["replicates is 0"]),
    "a seed below 0": (["good.csv", "--seed", "-1"], ["seed is -1"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_line(case):
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
    arguments, fragments = REFUSED[case]
    ended = replay(*arguments)
    assert (ended.exit_code, ended.stdout) == (2, ""), ended.output
    (line,) = ended.stderr.splitlines()
    for fragment in fragments:
        assert fragment in line


def test_parquet_is_read_where_pyarrow_is_there(scores):
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {f"e{number}": scores[:, number] for number in range(EXAMPLES)}
    parquet.write_table(arrow.table({"prompt": [f"p{arm}" for arm in range(ARMS)], **columns}), "scores.parquet")
    options = ("--replicates", "5", "--policy", "b3")
    assert rows("scores.parquet", *options) == rows("scores.csv", *options)
    parquet.write_table(arrow.table({"prompt": ["a", "b"], "e": ["x", "y"]}), "words.parquet")
    assert "column 'e' holds string, but must hold numbers" in replay("words.parquet").stderr
    parquet.write_table(arrow.table({"prompt": ["a", "b"], "e": [1.0, 1e308]}), "large.parquet")
    assert "column 'e' holds 1e+308, but scores must be below 1e150 in size" in replay("large.parquet").stderr
    Path("no.parquet").write_text("no", encoding="utf-8")
    assert "no.parquet cannot be read as Parquet" in replay("no.parquet").stderr


def test_without_pyarrow_parquet_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)  # as if it were not installed
    line = replay("scores.parquet").stderr
    assert "needs pyarrow, which is not installed: pip install 'boxthirding[parquet]'" in line
