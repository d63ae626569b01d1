"""`boxthirding plot`: pictures from saved results, with nothing run."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from boxthirding import lab
from boxthirding.cli.commands import cli
from boxthirding.lab import Bernoulli, Gaussian, Setting, captions, chunks, equal


def run(*arguments):
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def save(path, *settings):
    lab.sweep(settings, results=path)
    return path


def usual(spec, rewards=None, instance=None, **options):
    return Setting(instance or captions(40), rewards or Gaussian(0.3), spec, 60, (5, 20), 12, **options)


def drawn(monkeypatch, *arguments):
    """Return what a picture would show."""
    seen = {}
    monkeypatch.setattr("boxthirding.lab.plots.plot_regret", lambda _, runs, **head: seen.update(runs=runs, **head))
    result = run("plot", *arguments)
    assert (result.exit_code, result.output) == (0, "")
    return seen


def test_a_picture_is_drawn_from_the_file_alone(tmp_path, monkeypatch):
    file = tmp_path / "r.jsonl"
    arguments = ["--instance", "captions", "--arms", "40", "--rewards", "bernoulli", "--policy", "b3", "--policy", "us"]
    small = ["--budget", "60", "--replicates", "12"]
    with_plot, later = tmp_path / "with.svg", tmp_path / "later.svg"
    assert run("simulate", *arguments, *small, "--results", file, "--plot", with_plot).exit_code == 0
    before = file.read_bytes()
    monkeypatch.setattr(chunks, "_play", lambda *_: pytest.fail("something ran"))
    assert run("plot", file, "--out", later).exit_code == 0
    assert later.read_bytes() == with_plot.read_bytes()
    assert file.read_bytes() == before
    assert run("plot", file, "--out", tmp_path / "p.png").exit_code == 0
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_common_is_the_heading_and_what_differs_the_label(tmp_path, monkeypatch):
    out = tmp_path / "p.png"
    alike = drawn(monkeypatch, save(tmp_path / "alike", usual("us"), usual("b3")), "--out", out)
    assert list(alike["runs"]) == ["us", "b3"]
    assert alike["title"] == "captions: 40 arms, means: embedded"
    assert alike["subtitle"] == "rewards gaussian:0.3, budget 60 pulls, 12 replicates, seed 0"
    seeds = drawn(monkeypatch, save(tmp_path / "seeds", usual("us"), usual("us", seed=1)), "--out", out)
    assert list(seeds["runs"]) == ["us, seed 0", "us, seed 1"]
    assert seeds["subtitle"] == "rewards gaussian:0.3, budget 60 pulls, 12 replicates"
    crowd = drawn(monkeypatch, save(tmp_path / "crowd", usual("us", workers=3)), "--out", out)
    assert crowd["subtitle"].endswith("seed 0, 3 workers")


def test_some_policies_may_be_chosen(tmp_path, monkeypatch):
    file = save(tmp_path / "r", usual("us"), usual("b3"), usual("sh"))
    assert list(drawn(monkeypatch, file, "--out", tmp_path / "p.png", "--policy", "sh", "--policy", "us")["runs"]) == [
        "us",
        "sh",
    ]
    result = run("plot", file, "--out", tmp_path / "p.png", "--policy", "bsh")
    assert (result.exit_code, result.stderr) == (2, f"Error: --policy is bsh, but {file} has us, b3, sh\n")


def test_one_of_several_problems_must_be_chosen(tmp_path, monkeypatch):
    other = Setting(captions(40), Gaussian(0.3), "us", 90, (5, 20), 12)
    small = usual("us", instance=captions(9))
    mixed = save(tmp_path / "r", usual("us"), usual("us", Bernoulli()), usual("b3", instance=equal(40)), other, small)
    out = tmp_path / "p.png"

    def refused(*chosen):
        result = run("plot", mixed, "--out", out, *chosen)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
        return result.stderr

    assert refused() == (
        f"Error: {mixed} has 5 problems, but a picture shows one: choose from --instance captions, equal; "
        "--arms 40, 9; --rewards gaussian:0.3, bernoulli; --budget 60, 90\n"
    )
    assert "has 3 problems, but a picture shows one: choose from --arms 40, 9; --budget 60, 90" in refused(
        "--policy", "us", "--rewards", "gaussian:0.3"
    )
    assert "--rewards is none, but what is left of" in refused("--rewards", "none")
    assert "--budget is 90, but what is left of" in refused("--instance", "equal", "--budget", "90")
    assert not out.exists()
    for chosen, labels in {
        ("--instance", "equal"): ["b3"],
        ("--rewards", "bernoulli"): ["us"],
        ("--budget", "90"): ["us"],
        ("--arms", "9"): ["us"],
    }.items():
        assert list(drawn(monkeypatch, mixed, "--out", out, *chosen)["runs"]) == labels


def test_more_curves_than_can_be_told_apart_are_refused(tmp_path, monkeypatch):
    efforts = [f"b3:effort={k}" for k in range(1, 12)]
    file, out = save(tmp_path / "r", *map(usual, efforts)), tmp_path / "p.png"
    result = run("plot", file, "--out", out)
    assert (result.exit_code, out.exists()) == (2, False)
    assert "has 11 curves of this problem, but a picture shows at most 10: choose some with --policy" in result.stderr
    some = [word for spec in efforts[:10] for word in ("--policy", spec)]
    assert list(drawn(monkeypatch, file, "--out", out, *some)["runs"]) == efforts[:10]


def test_a_full_disk_leaves_the_picture_that_was_there(tmp_path, monkeypatch):
    file, out = save(tmp_path / "r", usual("us")), tmp_path / "p.png"
    out.write_bytes(b"before")
    real = Path.write_bytes

    def full(path, content):
        real(path, content[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    result = run("plot", file, "--out", out)
    assert result.exit_code == 1
    assert result.stderr == f"Error: the plot {out} could not be written: No space left on device\n"
    assert out.read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.png", "r"]


def test_what_is_not_complete_is_drawn_as_far_as_it_is(tmp_path, monkeypatch):
    file = save(tmp_path / "r", usual("us"), usual("b3"))
    lines = file.read_bytes().splitlines(keepends=True)
    partly = [line for line in lines if not line.startswith(b'{"chunk": 1') and b'"chunk": 0, "first": 4' not in line]
    file.write_bytes(b"".join(partly))
    (label,) = drawn(monkeypatch, file, "--out", tmp_path / "p.png")["runs"]
    assert label.startswith("us, ")
    assert label.endswith(" replicates")


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "cannot be read"), (b"arm,mean\n", "is not a results file"), (b"", "holds no results")],
)
def test_bad_input_is_refused_in_one_line(tmp_path, content, words):
    file = tmp_path / "r"
    if content is not None:
        file.write_bytes(content)
    result = run("plot", file, "--out", tmp_path / "p.png")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {file}")
    assert words in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "p.png").exists()


def test_a_file_with_nothing_complete_and_a_bad_place_are_refused(tmp_path):
    file = save(tmp_path / "r")
    assert "there is nothing to plot" in run("plot", file, "--out", tmp_path / "p.png").stderr
    assert "must end in" in run("plot", file, "--out", tmp_path / "p.gif").stderr
