"""`boxthirding leaderboard`: what it writes and prints, how it goes on, and what it refuses."""

import json
import sys

import pytest
from click.testing import CliRunner

from boxthirding.cli.commands import cli
from boxthirding.errors import SimulationFailed
from boxthirding.lab import Interrupted, report_folder
from boxthirding.lab.leaderboard.run import Leaderboard
from boxthirding.lab.leaderboard.suites import SUITES, Arms, Group, Part, Suite

FEW = Arms("captions", 40)
TINY = Suite(
    "tiny",
    "forty captions",
    (
        Part(Group.NOISY, FEW, ("gaussian:0.3",), (30, 90)),
        Part(Group.QUIET, FEW, ("none",), (30, 90)),
        Part(Group.BOUNDED, Arms("equal", 40), ("gaussian:1",), (30, 90)),
        Part(Group.RICH, Arms("captions", 5), ("gaussian:0.3",), (90,)),
        Part(Group.NOISY, Arms("872"), ("votes",), (90,)),
    ),
)
OTHER = Suite("other", "the same with other noise", (Part(Group.NOISY, FEW, ("gaussian:0.4",), (30, 90)),))
POLICIES = ("--policy", "b3", "--policy", "us", "--policy", "sh", "--policy", "sr")
SMALL = ("--suite", "tiny", *POLICIES, "--replicates", "20")


@pytest.fixture(autouse=True, scope="module")
def _suites():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "tiny", TINY)
        patch.setitem(SUITES, "other", OTHER)
        yield


def run(*arguments):
    return CliRunner().invoke(cli, ["leaderboard", *map(str, arguments)], env={"COLUMNS": "80"})


@pytest.fixture(scope="module")
def whole(_suites, tmp_path_factory):
    """A very small leaderboard: its folder, and what was printed."""
    out = tmp_path_factory.mktemp("whole") / "deep" / "folder"
    result = run(*SMALL, "--out", out)
    assert result.exit_code == 0, result.output
    return out, result


def files(out):
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def forbid_simulation(monkeypatch):
    for module in ("chunks", "sweep"):  # the function `sweep` hides its module from an attribute's path
        monkeypatch.setattr(
            sys.modules[f"boxthirding.lab.{module}"], "run_chunk", lambda *_: pytest.fail("something ran")
        )


def test_it_writes_a_page_its_figures_a_picture_and_the_results(whole):
    found = files(whole[0])
    assert list(found) == ["leaderboard.json", "leaderboard.md", "leaderboard.png", "leaderboard.svg", "results.jsonl"]
    assert found["leaderboard.png"].startswith(b"\x89PNG")
    data = json.loads(found["leaderboard.json"])
    assert (data["suite"], data["replicates"], len(data["cells"])) == ("tiny", 20, 7)
    assert {one["policy"]: one["told"] for one in data["policies"]} == {
        "b3": [],
        "us": [],
        "sh": ["budget"],
        "sr": ["budget"],
    }
    for cell in data["cells"]:
        assert ("sr" in cell["cannot_run"]) == (cell["budget"] < 40)
        assert min(one["ratio"] for one in cell["policies"].values()) == 1


def test_the_standings_fit_into_80_columns(whole):
    lines = whole[1].stdout.splitlines()
    assert max(map(len, lines[:-1])) <= 80  # the last line is a path
    assert lines[0] == "Suite tiny: regret relative to the best of each cell"
    rows = {line.split()[0]: line for line in lines if line[:2] in ("b3", "us", "sh", "sr")}
    assert set(rows) == {"b3", "us", "sh", "sr"}
    assert rows["sh"].split()[1] == "T"
    assert "*" in rows["sr"]
    assert "*" not in rows["b3"]
    assert "geometric means ± half the 95 % interval, paired by replicate" in lines
    assert "told: T the budget" in lines
    assert "1 is as good as the best of each cell, 2 is twice its regret" in lines
    assert lines[-2] == "left out, as they need --data: contest 872"
    assert lines[-1].endswith("leaderboard.md")


@pytest.mark.parametrize("suite", ["tiny", "other"])
def test_a_long_spec_is_broken_and_not_cut(tmp_path, suite):
    long = "sh:growth=1.7,mode=paper,schedule=geometric"
    result = run("--suite", suite, "--policy", long, "--policy", "us", "--replicates", "20", "--out", tmp_path)
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines()[:-1])) <= 80
    assert "…" not in result.stdout
    left = [line.split(" ")[0] for line in result.stdout.splitlines()]
    begin = next(row for row, word in enumerate(left) if word.startswith("sh:"))
    assert "".join(left[begin:]).startswith(long)


def test_a_complete_leaderboard_is_written_again_from_its_file(whole, monkeypatch):
    before = files(whole[0])
    forbid_simulation(monkeypatch)
    result = run(*SMALL, "--out", whole[0])
    assert (result.exit_code, result.stdout) == (0, whole[1].stdout)
    assert files(whole[0]) == before


def test_more_replicates_go_on_where_it_was(whole, tmp_path):
    (tmp_path / "results.jsonl").write_bytes((whole[0] / "results.jsonl").read_bytes())
    before = (tmp_path / "results.jsonl").read_bytes()
    more = ("--suite", "tiny", *POLICIES, "--replicates", "24", "--out")
    assert run(*more, tmp_path).exit_code == 0
    assert (tmp_path / "results.jsonl").read_bytes().startswith(before)
    assert run(*more, tmp_path / "afresh").exit_code == 0
    afresh = files(tmp_path / "afresh")
    assert files(tmp_path)["leaderboard.json"] == afresh["leaderboard.json"]


def test_relative_to_one_policy(whole, monkeypatch, tmp_path):
    (tmp_path / "results.jsonl").write_bytes((whole[0] / "results.jsonl").read_bytes())
    forbid_simulation(monkeypatch)
    result = run(*SMALL, "--against", "b3", "--out", tmp_path)
    assert result.stdout.startswith("Suite tiny: regret relative to b3")
    data = json.loads((tmp_path / "leaderboard.json").read_text(encoding="utf-8"))
    assert {cell["reference"] for cell in data["cells"]} == {"b3"}
    assert {cell["policies"]["b3"]["ratio"] for cell in data["cells"]} == {1.0}


def test_the_command_on_the_page_makes_it_again_without_the_folders_of_this_machine(whole):
    text = (whole[0] / "leaderboard.md").read_text(encoding="utf-8")
    assert f"boxthirding leaderboard --suite tiny --replicates 20 --seed 0 {' '.join(POLICIES)}\n" in text
    assert str(whole[0]) not in text


def test_quick_has_fewer_replicates(tmp_path):
    assert Leaderboard.asked(tmp_path, suite="tiny", quick=True).settings[0].replicates == 50
    assert Leaderboard.asked(tmp_path, suite="tiny").settings[0].replicates == 1_000
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_says_what_is_saved_and_how_to_go_on(tmp_path, monkeypatch):
    def stop(*_, **__):
        raise Interrupted

    monkeypatch.setattr(report_folder, "sweep", stop)
    result = run(*SMALL, "--out", tmp_path)
    assert result.exit_code == 130
    assert result.stderr.startswith("Interrupted: 0 of ")
    assert "run the same command to go on" in result.stderr
    assert not (tmp_path / "leaderboard.md").exists()


def test_a_full_disk_is_an_error_of_one_line(tmp_path, monkeypatch):
    def full(*_, **__):
        raise SimulationFailed("results.jsonl cannot be written (No space left on device)")

    monkeypatch.setattr(report_folder, "sweep", full)
    result = run(*SMALL, "--out", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: results.jsonl cannot be written (No space left on device)\n"


def test_a_page_that_cannot_be_written_leaves_what_was_simulated(whole, tmp_path):
    (tmp_path / "results.jsonl").write_bytes((whole[0] / "results.jsonl").read_bytes())
    (tmp_path / "leaderboard.md").mkdir()
    result = run(*SMALL, "--out", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "leaderboard.md could not be written (Is a directory); what was simulated is saved" in result.stderr


# Bad input, refused before anything is simulated


@pytest.fixture
def refused(monkeypatch):
    """Check that a command is refused in one line, and return that."""
    forbid_simulation(monkeypatch)

    def check(*arguments):
        result = run(*arguments)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert result.stderr.count("\n") == 1
        return result.stderr

    return check


def test_the_results_of_another_suite_are_refused_and_stay_as_they_are(whole, refused):
    before = files(whole[0])
    error = refused("--suite", "other", *POLICIES, "--replicates", "20", "--out", whole[0])
    assert "rewards is gaussian:0.3" in error
    assert "another --out" in error
    assert files(whole[0]) == before


def test_another_seed_is_refused(whole, refused):
    assert "seed is 0 there, but 1 is asked for" in refused(*SMALL, "--seed", "1", "--out", whole[0])


def test_a_file_for_a_folder_is_refused(tmp_path, refused):
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert "that is a file: give a folder" in refused(*SMALL, "--out", tmp_path / "out")
    assert "may not be written: give another folder" in refused(*SMALL, "--out", tmp_path / "out" / "below")
    assert "File name too long" in refused(*SMALL, "--out", tmp_path / ("x" * 300))
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_bad_options_are_refused_before_a_folder_is_made(tmp_path, refused):
    out = ("--out", tmp_path / "new")
    assert "leave one out" in refused("--quick", *SMALL, *out)
    assert "replicates is 1, but must be at least 2" in refused("--replicates", "1", *out)
    assert "replicates is 0, but must be at least 2" in refused("--replicates", "0", *out)
    assert "suite is 'typo'" in refused("--suite", "typo", *out)
    assert "give at least two" in refused("--policy", "b3", *out)
    assert "must be one of the policies: b3, us" in refused(*SMALL, "--against", "asha", *out)
    assert "sr, but that cannot run in every cell: not in captions" in refused(*SMALL, "--against", "sr", *out)
    assert "none of 893.csv" in refused(*SMALL, "--data", tmp_path, *out)
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, refused, monkeypatch):
    monkeypatch.setattr("boxthirding.lab.plots.importlib.util.find_spec", lambda _: None)
    assert "pip install 'boxthirding[plot]'" in refused(*SMALL, "--out", tmp_path)
