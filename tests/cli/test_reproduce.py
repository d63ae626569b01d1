"""`boxthirding reproduce`: the paper's claims, tested again and written on a page."""

import csv
import json
import sys

import pytest
from click.testing import CliRunner

from boxthirding.cli.commands import cli
from boxthirding.errors import SimulationFailed
from boxthirding.lab import Interrupted, report_folder
from boxthirding.lab.paper import run as reproduction
from boxthirding.lab.paper.claims import Verdict
from boxthirding.lab.paper.page import CLAIMS
from boxthirding.lab.paper.run import Reproduction
from boxthirding.lab.report_folder import simulated_in

SMALL = ("--replicates", "2")


def run(*arguments):
    return CliRunner().invoke(cli, ["reproduce", *map(str, arguments)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A very small reproduction: its folder, and what was printed."""
    out = tmp_path_factory.mktemp("whole") / "deep" / "folder"
    result = run(*SMALL, "--out", out)
    assert result.exit_code == 0, result.output
    return out, result


def forbid_simulation(monkeypatch):
    for module in ("chunks", "sweep"):  # the function `sweep` hides its module from an attribute's path
        monkeypatch.setattr(
            sys.modules[f"boxthirding.lab.{module}"], "run_chunk", lambda *_: pytest.fail("something ran")
        )


def files(out):
    return {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def test_it_prints_every_verdict_and_where_the_page_is(whole):
    out, result = whole
    lines = result.stdout.splitlines()
    verdicts = tuple(verdict.value for verdict in Verdict)
    assert len([line for line in lines if line.startswith(verdicts)]) == len(CLAIMS)
    assert len([line for line in lines if line.startswith("too few to say")]) == sum(not one.exact for one in CLAIMS)
    assert lines[-2].startswith(f"Of {len(CLAIMS)} claims ")
    assert lines[-2].endswith(" 16 have too few replicates to say.")
    assert lines[-1] == f"Report: {out / 'index.html'}"
    assert result.stderr == ""


def test_every_figure_is_there_as_png_svg_and_csv_and_on_the_page(whole):
    out, _ = whole
    page = (out / "index.html").read_text(encoding="utf-8")
    keys = {path.name.removesuffix(".svg") for path in (out / "figures").glob("*.svg")}
    assert len(keys) == 24
    for key in keys:
        assert (out / "figures" / f"{key}.png").read_bytes().startswith(b"\x89PNG")
        assert len((out / "figures" / f"{key}.csv").read_text(encoding="utf-8").splitlines()) > 1
        assert f'<figure id="{key}">' in page
    assert page.count("data:image/svg+xml;base64,") == 24


def test_the_page_says_which_instance_how_many_replicates_and_how_to_make_it_again(whole):
    page = (whole[0] / "index.html").read_text(encoding="utf-8")
    for text in ("embedded stand-in", "2 replicates, tables 2", "not the full reproduction", "--replicates 2", "893"):
        assert text in page


def test_every_claim_is_in_the_csv_with_its_numbers(whole):
    with (whole[0] / "claims.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["claim"] for row in rows} == {claim.key for claim in CLAIMS}
    assert {row["verdict"] for row in rows} <= {"holds", "holds in part", "does not hold", "too few to say"}
    assert all(float(row["standard_error"] or 0) >= 0 for row in rows)


def test_what_was_stopped_half_way_goes_on_and_ends_the_same(whole, tmp_path):
    results = (whole[0] / "results.jsonl").read_bytes()
    (tmp_path / "results.jsonl").write_bytes(results[: len(results) * 2 // 3])  # in the middle of a line
    again = Reproduction.planned(tmp_path, replicates=2)
    runs = simulated_in(again.out, again.settings)
    once = simulated_in(whole[0], again.settings)
    assert all((a.recommended == b.recommended).all() for a, b in zip(runs, once, strict=True))


@pytest.mark.soak
def test_a_page_is_made_from_what_was_saved_and_is_the_same(whole, monkeypatch):
    before = files(whole[0])
    forbid_simulation(monkeypatch)
    assert run(*SMALL, "--out", whole[0]).exit_code == 0
    assert files(whole[0]) == before


def test_ctrl_c_says_what_is_saved_and_how_to_go_on(tmp_path, monkeypatch):
    def stop(*_, **__):
        raise Interrupted

    monkeypatch.setattr(report_folder, "sweep", stop)
    result = run(*SMALL, "--out", tmp_path)
    assert result.exit_code == 130
    assert result.stderr.startswith("Interrupted: 0 of ")
    assert "run the same command to go on" in result.stderr
    assert not (tmp_path / "index.html").exists()


def test_a_full_disk_is_an_error_of_one_line(tmp_path, monkeypatch):
    def full(*_, **__):
        raise SimulationFailed("results.jsonl cannot be written (No space left on device)")

    monkeypatch.setattr(report_folder, "sweep", full)
    result = run(*SMALL, "--out", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: results.jsonl cannot be written (No space left on device)\n"


def test_a_page_that_cannot_be_written_leaves_what_was_simulated(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "figures")

    monkeypatch.setattr(report_folder, "sweep", lambda *_, **__: [])
    monkeypatch.setattr(Reproduction, "write", full)
    result = run(*SMALL, "--out", tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "figures could not be written (No space left on device); what was simulated is saved" in result.stderr


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


def test_a_file_for_a_folder_is_refused(tmp_path, refused):
    (tmp_path / "out").write_text("mine", encoding="utf-8")
    assert "that is a file: give a folder" in refused("--out", tmp_path / "out")
    assert "may not be written: give another folder" in refused("--out", tmp_path / "out" / "below")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "mine"


def test_a_folder_that_may_not_be_written_is_refused(tmp_path, refused, monkeypatch):
    monkeypatch.setattr("boxthirding.lab.report_folder.os.access", lambda *_: False)
    assert "may not be written: give another folder" in refused("--out", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused(tmp_path, refused):
    assert "File name too long" in refused("--out", tmp_path / ("x" * 300))


def test_a_data_folder_without_the_contest_is_refused(tmp_path, refused):
    assert "893.csv cannot be read" in refused("--data", tmp_path, "--out", tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_a_data_file_with_another_hash_is_refused(tmp_path, refused):
    (tmp_path / "893.csv").write_text("mean\n0.5\n", encoding="utf-8")
    error = refused("--data", tmp_path, "--out", tmp_path / "new")
    assert "the columns mean" in error
    assert "must have SHA-256 94835f5d" in error
    assert not (tmp_path / "new").exists()


def test_results_of_another_version_are_refused_and_stay_as_they_are(whole, tmp_path, refused):
    first, *rest = (whole[0] / "results.jsonl").read_text(encoding="utf-8").splitlines()
    header = json.loads(first)
    header["versions"]["boxthirding"] = "0.0.1"
    (tmp_path / "results.jsonl").write_text("\n".join([json.dumps(header), *rest, ""]), encoding="utf-8")
    before = files(tmp_path)
    error = refused(*SMALL, "--out", tmp_path)
    assert "written by boxthirding 0.0.1" in error
    assert "another --out" in error
    assert files(tmp_path) == before


def test_results_with_other_parameters_are_refused_and_stay_as_they_are(whole, tmp_path, refused, monkeypatch):
    (tmp_path / "results.jsonl").write_bytes((whole[0] / "results.jsonl").read_bytes())
    before = files(tmp_path)
    monkeypatch.setattr(reproduction, "SEED", 1)
    error = refused(*SMALL, "--out", tmp_path)
    assert "seed is 893 there, but 1 is asked for" in error
    assert "another --out" in error
    assert files(tmp_path) == before


def test_one_replicate_is_refused(tmp_path, refused):
    assert "replicates is 1, but must be at least 2" in refused("--replicates", "1", "--out", tmp_path)


def test_quick_and_a_number_of_replicates_are_refused(tmp_path, refused):
    assert "leave one out" in refused("--quick", *SMALL, "--out", tmp_path)


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, refused, monkeypatch):
    monkeypatch.setattr("boxthirding.lab.plots.importlib.util.find_spec", lambda _: None)
    assert "pip install 'boxthirding[plot]'" in refused("--out", tmp_path)
