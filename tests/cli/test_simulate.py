"""`boxthirding simulate`, in this process where that is enough, else as its user starts it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from boxthirding import _progress, lab
from boxthirding.cli.commands import cli
from boxthirding.lab import NAMES, Gaussian, Watcher, named
from boxthirding.policies import Uniform

KEYS = [
    "policy",
    "pulls",
    "replicates",
    "regret_mean",
    "regret_se",
    "regret_q25",
    "regret_q75",
    "error_rate",
    "seconds",
]
ARMS = ["--instance", "captions", "--arms", "50"]
NOISE = ["--rewards", "gaussian:0.25"]
SMALL = ["--budget", "100", "--replicates", "20"]
USUAL = [*ARMS, *NOISE, "--policy", "us", *SMALL]


def run(*arguments):
    return CliRunner().invoke(cli, ["simulate", *arguments])


def rows(*arguments):
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def timeless(table):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in table]


def test_without_a_results_file_no_fingerprint_of_the_code_is_taken(monkeypatch):
    monkeypatch.delattr("boxthirding.lab.settings.digest_of_code")
    assert len(rows(*USUAL)) == 1


# What is printed


def test_json_has_a_line_with_these_keys_for_every_policy_and_checkpoint_and_the_budget():
    specs = ["b3:reuse=topup,effort=0.3", "sh:growth=1.70,mode=paper", "us"]
    policies = [word for spec in specs for word in ("--policy", spec)]
    printed = rows(*ARMS, *NOISE, *policies, *SMALL, "--checkpoint", "60", "--checkpoint", "7", "--checkpoint", "60")
    assert [(row["policy"], row["pulls"]) for row in printed] == [(spec, t) for spec in specs for t in (7, 60, 100)]
    assert all(list(row) == KEYS for row in printed)
    assert all(row["replicates"] == 20 for row in printed)
    assert all(0 <= row["regret_q25"] <= row["regret_q75"] and 0 <= row["error_rate"] <= 1 for row in printed)


def test_rows_are_the_library_s_own():
    library = lab.simulate(named("captions", 50), Gaussian(0.25), Uniform(), budget=100, replicates=20, seed=3)
    expected = [{"policy": "us", **row} for row in library.rows()]
    assert timeless(rows(*USUAL, "--seed", "3")) == timeless(expected)


def test_a_run_is_the_same_at_any_number_of_threads_and_beside_other_policies():
    alone = rows(*USUAL, "--threads", "1")
    beside = rows(*USUAL, "--threads", "2", "--policy", "sh")
    assert timeless(alone) == timeless(beside[:1])


def test_a_known_budget_policy_is_told_the_budget_unless_its_spec_says_otherwise():
    told, same, other = rows(
        *ARMS, *NOISE, *SMALL, "--policy", "sh", "--policy", "sh:budget=100", "--policy", "sh:budget=60"
    )
    assert told["regret_mean"] == same["regret_mean"] != other["regret_mean"]


def test_a_policy_that_must_be_told_the_noise_gets_it_from_the_rewards():
    told, same, other = rows(
        *ARMS, *NOISE, *SMALL, "--policy", "prose", "--policy", "prose:sigma=0.25", "--policy", "prose:sigma=2"
    )
    assert told["regret_mean"] == same["regret_mean"] != other["regret_mean"]


def test_an_oracle_is_told_the_hardness_of_the_arms_as_they_are_pulled(tmp_path):
    file = tmp_path / "contest.csv"
    file.write_text("votes,somewhat_funny,funny\n10,4,2\n10,1,1\n10,2,0\n", encoding="utf-8")
    arms = ["--means", str(file), "--rewards", "votes"]
    specs = ["ucbe", "ucbe:exploration=oracle", "ucbe:exploration=2", "dsh"]
    printed = rows(*arms, *(word for spec in specs for word in ("--policy", spec)), *SMALL)
    assert [row["policy"] for row in printed] == specs
    hardness = 2 / 0.25**2 + 1 / 0.3**2  # of the means 0.4, 0.15 and 0.1
    (same,) = rows(*arms, "--policy", f"ucbe:exploration=oracle,hardness={hardness!r}", *SMALL)
    assert same["regret_mean"] == printed[1]["regret_mean"]


def test_means_from_a_file_are_the_instance_s_own(tmp_path):
    file = tmp_path / "means.csv"
    means = named("captions", 60).means.tolist()
    file.write_text("rank,mean\n" + "".join(f"{k},{mean!r}\n" for k, mean in enumerate(means)), encoding="utf-8")
    embedded = rows(*USUAL)
    assert timeless(rows("--means", str(file), "--top", "50", *USUAL[4:])) == timeless(embedded)


def test_a_table_brings_its_own_arms(tmp_path):
    file = tmp_path / "table.csv"
    file.write_text("arm,value,probability\n1,0,0.5\n1,1,0.5\n2,0.75,1\n", encoding="utf-8")
    (row,) = rows("--rewards", f"table:{file}", "--policy", "us", *SMALL)
    assert row["regret_mean"] in {0.25 * k / 20 for k in range(21)}


def test_the_table_compares_policies_at_each_checkpoint_and_marks_the_best_at_the_budget():
    spec = "b3:reuse=topup,effort=0.3,growth=1.9999"
    result = run(*USUAL, "--policy", spec, "--policy", "sh:growth=1.7,mode=paper", "--checkpoint", "10")
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert max(map(len, lines[:-1])) <= 80  # the last line names the best, whole
    assert lines[0] == "captions: 50 arms, means: embedded"
    assert lines[1] == "rewards gaussian:0.25, budget 100 pulls, 20 replicates, seed 0"
    assert [line.strip() for line in lines if line.startswith("after")] == ["after 10 pulls", "after 100 pulls"]
    marked = [line.split() for line in lines[2:-1] if "*" in line]
    printed = rows(*USUAL, "--policy", spec, "--policy", "sh:growth=1.7,mode=paper")
    best = min(printed, key=lambda row: row["regret_mean"])
    assert [cells[1] for cells in marked] == [f"{best['regret_mean']:#.4g}*"]
    assert best["policy"].startswith(marked[0][0])
    assert "b3:reuse=topup,effort=0.3,\ngrowth=1.9999" in "\n".join(line.split("  ")[0].strip() for line in lines)
    assert lines[-1] == f"* lowest mean regret after 100 pulls: {best['policy']}"


def test_one_policy_and_one_replicate_make_a_table_without_mark_and_standard_error():
    result = run(*ARMS, *NOISE, "--policy", "us", "--budget", "1", "--replicates", "1")
    assert "budget 1 pull, 1 replicate, seed 0" in result.stdout
    assert "*" not in result.stdout
    (row,) = (line.split() for line in result.stdout.splitlines() if line.startswith("us"))
    assert row[2] == "–"


def test_the_table_says_that_votes_have_their_own_means(tmp_path):
    file = tmp_path / "contest.csv"
    file.write_text("votes,somewhat_funny,funny\n10,4,2\n10,1,1\n", encoding="utf-8")
    result = run("--means", str(file), "--rewards", "votes", "--policy", "us", *SMALL)
    assert result.stdout.startswith(f"contest: 2 arms, means: {file}, as votes\n")


def test_help_names_every_instance_and_reward_model():
    result = run("--help")
    assert result.exit_code == 0
    words = result.stdout.replace(",", " ").replace(".", " ").split()
    assert set(NAMES) | {"bernoulli", "kumaraswamy", "none", "votes"} <= set(words)


def test_version_is_the_package_s(monkeypatch):
    monkeypatch.setattr("importlib.metadata.version", lambda name: {"boxthirding": "1.2.3"}[name])
    assert CliRunner().invoke(cli, ["--version"]).stdout.endswith("1.2.3\n")


# The picture


@pytest.mark.parametrize(("name", "magic"), [("regret.png", b"\x89PNG"), ("regret.svg", b"<?xml")])
def test_a_plot_is_written_and_adds_no_rows(tmp_path, name, magic):
    plain = rows(*USUAL, "--checkpoint", "10")
    plotted = rows(*USUAL, "--checkpoint", "10", "--plot", str(tmp_path / name))
    assert (tmp_path / name).read_bytes().startswith(magic)
    assert timeless(plotted) == timeless(plain)


def test_a_plot_is_read_at_log_spaced_checkpoints(tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr("boxthirding.lab.plots.plot_regret", lambda _, runs, **__: drawn.update(runs))
    rows(*USUAL, "--plot", str(tmp_path / "regret.png"))
    assert list(drawn) == ["us"]
    assert 30 <= len(drawn["us"].checkpoints) <= 60
    assert drawn["us"].checkpoints[[0, -1]].tolist() == [1, 100]


def test_rows_are_printed_before_a_plot_fails(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", fail)
    result = run(*USUAL, "--json", "--plot", str(tmp_path / "regret.png"))
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 1
    assert result.stderr.startswith("Error: the plot ")
    assert result.stderr.endswith("could not be written: No space left on device\n")


# Saved results


def test_saved_results_print_the_same_again_and_grow(tmp_path):
    file = ["--results", str(tmp_path / "r.jsonl")]
    plain = rows(*USUAL, "--policy", "sh", "--checkpoint", "10")
    assert timeless(rows(*USUAL, "--policy", "sh", "--checkpoint", "10", *file)) == timeless(plain)
    again = rows(*USUAL, "--policy", "sh", "--checkpoint", "10", *file)
    assert again == rows(*USUAL, "--policy", "sh", "--checkpoint", "10", *file)  # the seconds too: nothing ran
    more = [
        *ARMS,
        *NOISE,
        "--policy",
        "sh",
        "--policy",
        "b3",
        "--policy",
        "us",
        "--budget",
        "100",
        "--checkpoint",
        "10",
    ]
    assert timeless(rows(*more, "--replicates", "35", *file)) == timeless(rows(*more, "--replicates", "35"))


def test_a_plot_may_be_asked_for_later(tmp_path):
    file = ["--results", str(tmp_path / "r.jsonl")]
    rows(*USUAL, *file)
    before = (tmp_path / "r.jsonl").read_bytes()
    rows(*USUAL, *file, "--plot", str(tmp_path / "p.png"))
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "r.jsonl").read_bytes() == before


def test_results_of_something_else_are_refused_and_not_touched(folder):
    rows(*USUAL, "--results", "r.jsonl")
    before = Path("r.jsonl").read_bytes()
    Path("r.jsonl").rename(folder / "table.csv")  # one of the files that the check expects
    refused(folder, [*USUAL, "--seed", "4", "--results", "table.csv"], ["table.csv", "seed is 0 there", "4 is asked"])
    assert Path("table.csv").read_bytes() == before
    refused(folder, [*USUAL, "--results", "words.csv"], ["words.csv is not a results file"])
    refused(folder, [*USUAL, "--results", "nowhere/r"], ["'nowhere/r'", "No such file"])
    refused(folder, [*USUAL, "--results", "."], ["'.'", "directory"])


# Bad input


FILES = {
    "empty.csv": b"",
    "header.csv": b"mean\n",
    "columns.csv": b"name,score\na,1\n",
    "high.csv": b"mean\n0.5\n1.5\n",
    "words.csv": b"mean\nhigh\n",
    "binary.csv": b"\xff\xfe\x00",
    "table.csv": b"arm,value,probability\n1,0,0.5\n1,1,0.5\n",
}
GOOD = {
    "--instance": "captions",
    "--arms": "50",
    "--rewards": "gaussian:0.25",
    "--policy": "us",
    "--budget": "100",
    "--replicates": "20",
}
FROM_FILE = {"--instance": None, "--arms": None}

REFUSED = {
    "no arms": ({"--arms": "0"}, ["arms is 0", "at least 1"]),
    "more captions than there are": ({"--arms": "6000"}, ["arms is 6000", "5513"]),
    "an unknown instance": ({"--instance": "cats"}, ["'cats'", "captions, poly, equal, square"]),
    "budget 0": ({"--budget": "0"}, ["budget is 0", "at least 1"]),
    "budget 0 and a plot": ({"--budget": "0", "--plot": "p.png"}, ["budget is 0", "at least 1"]),
    "budget 0 and a checkpoint": ({"--budget": "0", "--checkpoint": "5"}, ["budget is 0", "at least 1"]),
    "a budget below 0": ({"--budget": "-5"}, ["budget is -5", "at least 1"]),
    "no replicates": ({"--replicates": "0"}, ["replicates is 0", "at least 1"]),
    "checkpoint 0": ({"--checkpoint": "0"}, ["checkpoint is 0", "at least 1"]),
    "a checkpoint beyond the budget": ({"--checkpoint": "101"}, ["checkpoint is 101", "1…100"]),
    "no threads": ({"--threads": "0"}, ["threads is 0", "at least 1"]),
    "a seed below 0": ({"--seed": "-1"}, ["seed is -1", "at least 0"]),
    "an unknown policy": ({"--policy": "nope"}, ["'nope'", "b3", "sh", "us"]),
    "an unknown key": ({"--policy": "b3:grow=2"}, ["'grow'", "growth, effort, schedule, reuse"]),
    "growth 1": ({"--policy": "b3:growth=1"}, ["growth is 1", "(1, 2]"]),
    "growth above 2": ({"--policy": "sh:mode=fit,growth=2.5"}, ["growth is 2.5", "(1, 2]"]),
    "a value that is no number": ({"--policy": "b3:effort=much"}, ["effort=much", "number"]),
    "unknown rewards": ({"--rewards": "poisson"}, ["'poisson'", "gaussian:SIGMA", "bernoulli", "table:FILE.csv"]),
    "gaussian without sigma": ({"--rewards": "gaussian"}, ["'gaussian'", "write gaussian:0.25"]),
    "a sigma without a square": ({"--rewards": "gaussian:3e159"}, ["sigma is 3e+159", "below 1e+150", "scale"]),
    "votes without counts": ({"--rewards": "votes"}, ["captions has no counts", "--means"]),
    "a table of other arms": ({"--rewards": "table:table.csv"}, ["1 arms", "captions has 50"]),
    "a table that is not there": ({"--rewards": "table:gone.csv"}, ["gone.csv cannot be read"]),
    "neither instance nor means": (FROM_FILE, ["no arms", "--instance", "--means"]),
    "both instance and means": ({"--means": "high.csv", "--arms": None}, ["--instance", "--means", "leave one out"]),
    "arms of a file": ({"--means": "high.csv", "--instance": None}, ["--arms is 50", "--top"]),
    "the top of an instance": ({"--top": "5"}, ["--top is 5", "--arms"]),
    "the top 0": ({**FROM_FILE, "--means": "high.csv", "--top": "0"}, ["top is 0", "at least 1"]),
    "more rows than there are": ({**FROM_FILE, "--means": "high.csv", "--top": "3"}, ["top is 3", "2 rows"]),
    "an empty file": ({**FROM_FILE, "--means": "empty.csv"}, ["empty.csv is empty"]),
    "a file without rows": ({**FROM_FILE, "--means": "header.csv"}, ["header.csv", "no rows"]),
    "a file without the columns": ({**FROM_FILE, "--means": "columns.csv"}, ["columns name, score", "votes", "mean"]),
    "a file with words": ({**FROM_FILE, "--means": "words.csv"}, ["row 1", "'high'", "number"]),
    "a file that is not text": (
        {**FROM_FILE, "--means": "binary.csv"},
        ["binary.csv is not UTF-8 text (byte 0 is"],
    ),
    "a file that is not there": ({**FROM_FILE, "--means": "gone.csv"}, ["gone.csv cannot be read", "No such file"]),
    "a folder for a file": ({**FROM_FILE, "--means": "."}, ["cannot be read", "directory"]),
    "bernoulli means above 1": (
        {**FROM_FILE, "--means": "high.csv", "--rewards": "bernoulli"},
        ["arm 2", "1.5", "[0, 1]", "gaussian"],
    ),
    "kumaraswamy means below 0": ({"--instance": "equal", "--rewards": "kumaraswamy"}, ["arm 2", "-0.06", "[0, 1]"]),
    "a plot in no folder": ({"--plot": "nowhere/p.png"}, ["no folder 'nowhere'"]),
    "a plot of another kind": ({"--plot": "p.gif"}, ["'p.gif'", ".png, .svg or .pdf"]),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(folder, arguments, fragments):
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    for fragment in fragments:
        assert fragment in result.stderr
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)


@pytest.mark.parametrize("as_json", [False, True], ids=["table", "json"])
@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_in_one_line_and_nothing_is_written(folder, case, as_json):
    options, fragments = REFUSED[case]
    arguments = [word for pair in {**GOOD, **options}.items() if pair[1] is not None for word in pair]
    refused(folder, [*arguments, *(["--json"] if as_json else [])], fragments)


def test_nothing_runs_when_the_last_policy_is_wrong(folder, monkeypatch):
    monkeypatch.setattr(lab, "sweep", lambda *_, **__: pytest.fail("something ran"))
    refused(folder, [*USUAL, "--policy", "b3:growth=3", "--plot", "p.png"], ["growth is 3"])


@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["table", "json"])
def test_nothing_runs_when_a_policy_cannot_run_on_so_many_arms(folder, monkeypatch, as_json):
    monkeypatch.setattr(lab, "sweep", lambda *_, **__: pytest.fail("something ran"))
    arguments = ["--instance", "captions", *NOISE, "--policy", "b3", "--policy", "sr", "--budget", "10"]
    refused(folder, [*arguments, *as_json], ["budget is 10", "5513 arms", "b3 or sh"])


def test_a_policy_given_twice_is_refused(folder):
    refused(folder, [*USUAL, "--policy", "us"], ["--policy us is given 2 times", "leave one out"])


def test_a_plot_without_matplotlib_is_refused_before_anything_runs(folder, monkeypatch):
    monkeypatch.setattr(lab, "sweep", lambda *_, **__: pytest.fail("something ran"))
    monkeypatch.setattr("boxthirding.lab.plots.importlib.util.find_spec", lambda _: None)
    refused(folder, [*USUAL, "--plot", "p.png"], ["needs matplotlib", "pip install 'boxthirding[plot]'"])


def test_a_plot_that_may_not_be_written_is_refused_before_anything_runs(folder, monkeypatch):
    monkeypatch.setattr(lab, "sweep", lambda *_, **__: pytest.fail("something ran"))
    monkeypatch.setattr("boxthirding.lab.plots.os.access", lambda *_: False)
    refused(folder, [*USUAL, "--plot", "p.png"], ["'p.png'", "may be written"])


@pytest.mark.parametrize("missing", ["--rewards", "--policy", "--budget"])
def test_a_missing_option_is_named(missing):
    result = run(*(word for pair in GOOD.items() if pair[0] != missing for word in pair))
    assert result.exit_code == 2
    assert f"Error: Missing option '{missing}'" in result.stderr


# Interrupted


MANY = ["--budget", "100", "--replicates", "3000", "--threads", "1"]
THREE = ["--policy", "us", "--policy", "sh", "--policy", "b3"]


def interrupt(monkeypatch, moment, spec):
    """Press Ctrl-C when a policy begins, or when its first chunk has ended."""

    def pressed(self, setting, *_):  # noqa: ARG001  # the watcher
        if setting.policy == spec:
            raise KeyboardInterrupt

    monkeypatch.setattr(Watcher, moment, pressed)


def test_an_interrupted_run_prints_and_draws_what_is_complete(tmp_path, monkeypatch):
    file = tmp_path / "regret.svg"
    interrupt(monkeypatch, "ended", "sh")
    result = run(*ARMS, *NOISE, *THREE, *MANY, "--plot", str(file))
    assert result.exit_code == 130
    assert [line.split()[0] for line in result.stdout.splitlines() if line.startswith(("us", "sh", "b3"))] == [
        "us",
        "sh",
    ]
    ended = re.fullmatch(
        r"Interrupted: sh has ([\d,]+) of 3,000 replicates; b3 has 0 of 3,000 replicates\.\n", result.stderr
    )[1]
    assert 64 <= int(ended.replace(",", "")) < 3000
    assert f"<!-- Sequential Halving (sh, {ended} replicates) -->" in file.read_text(encoding="utf-8")


def test_an_interrupted_run_prints_json_of_what_is_complete(monkeypatch):
    interrupt(monkeypatch, "ended", "sh")
    result = run(*ARMS, *NOISE, *THREE, *MANY, "--json")
    assert result.exit_code == 130
    us, sh = (json.loads(line) for line in result.stdout.splitlines())
    assert (us["policy"], us["replicates"], sh["policy"]) == ("us", 3000, "sh")
    assert f"sh has {sh['replicates']:,} of" in result.stderr


def test_an_interrupt_before_the_first_replicate_prints_nothing(tmp_path, monkeypatch):
    file = tmp_path / "regret.png"
    interrupt(monkeypatch, "began", "us")
    result = run(*USUAL, "--plot", str(file))
    assert result.exit_code == 130
    assert result.stdout == ""
    assert result.stderr == "Interrupted: us has 0 of 20 replicates.\n"
    assert not file.exists()


def test_ctrl_c_outside_any_run_has_the_same_exit_code(monkeypatch):
    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("boxthirding.lab.parse_rewards", stop)
    result = run(*USUAL)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "Interrupted.\n")


# Where there is no terminal


def test_a_short_run_says_nothing_on_stderr():
    assert run(*USUAL).stderr == ""


def test_a_long_run_says_now_and_then_how_far_it_is(monkeypatch):
    monkeypatch.setattr(_progress, "EVERY", 0.0)
    result = run(*USUAL, "--policy", "b3", "--json")
    assert [json.loads(line)["policy"] for line in result.stdout.splitlines()] == ["us", "b3"]
    lines = result.stderr.splitlines()
    pulls = r"of 4,000 pulls, \d:\d\d:\d\d elapsed"
    assert re.fullmatch(r"\d:\d\d:\d\d elapsed; us \(1 of 2\): compiling \(first run only\)", lines[0])
    assert [line for line in lines if "compiling" in line and ("%" in line or "left" in line or "pulls" in line)] == []
    assert re.fullmatch(rf"100 %, 4,000 {pulls}; b3 \(2 of 2\)", lines[-1])


# As its user starts it


def test_the_program_runs_and_refuses():
    program = [sys.executable, "-m", "boxthirding", "simulate"]
    good = subprocess.run([*program, *USUAL, "--json"], capture_output=True, text=True, check=True)
    assert json.loads(good.stdout)["policy"] == "us"
    bad = subprocess.run([*program, *USUAL, "--seed", "-1"], capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout, bad.stderr) == (2, "", "Error: seed is -1, but must be at least 0\n")


def test_ctrl_c_keeps_the_replicates_that_are_complete():
    # The first policy ends at once and shares its compiled code with the second, which would take a minute.
    begin = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell may have ignored it
    program = [sys.executable, "-c", begin + "from boxthirding.cli import main; main()", "simulate", *ARMS]
    endless = ["--rewards", "kumaraswamy", "--budget", "20000", "--replicates", "100000"]
    policies = ["--policy", "sh:budget=1", "--policy", "sh"]
    with subprocess.Popen(
        [*program, *endless, *policies, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        complete = json.loads(process.stdout.readline())
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    assert process.returncode == 130
    partial = json.loads(output)
    assert (complete["policy"], complete["replicates"]) == ("sh:budget=1", 100_000)
    assert partial["policy"] == "sh"
    assert 0 < partial["replicates"] < 100_000
    assert errors.splitlines()[-1] == f"Interrupted: sh has {partial['replicates']:,} of 100,000 replicates."


def test_a_terminal_gets_a_progress_bar_on_stderr_and_stdout_stays_json(tmp_path):
    pty = pytest.importorskip("pty", reason="needs a terminal to pretend")
    program = [sys.executable, "-m", "boxthirding", "simulate", *USUAL, "--policy", "sh", "--json"]
    ours, theirs = pty.openpty()
    seen = b""
    with (tmp_path / "rows").open("wb") as output:
        process = subprocess.Popen(program, stdout=output, stderr=theirs, env={**os.environ, "TERM": "xterm"})
        os.close(theirs)
        try:
            while part := os.read(ours, 4096):
                seen += part
        except OSError:  # how Linux reports that the other side is closed
            pass
        os.close(ours)
        assert process.wait() == 0
    printed = [json.loads(line) for line in (tmp_path / "rows").read_text(encoding="utf-8").splitlines()]
    assert [row["policy"] for row in printed] == ["us", "sh"]
    for text in ("us (1 of 2): compiling (first run only)", "sh (2 of 2)", "/4000 pulls", "about 1 s left"):
        assert text in seen.decode()
    compiling = [line for line in re.split(r"[\r\n]+", seen.decode()) if "compiling" in line]
    assert compiling
    assert not [line for line in compiling if "left" in line or "%" in line or "[00:" not in line]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_output_that_cannot_be_written_is_an_error_of_one_line(form):
    program = [sys.executable, "-m", "boxthirding", "simulate", *USUAL, *form]
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "Error: standard output cannot be written: No space left on device\n"
