import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest

from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.lab import Deterministic, equal, simulate
from boxthirding.lab.plots import Curve, check_plot_file, log_spaced, plot_regret, regret_figure
from boxthirding.policies import Uniform

BLANK = simulate(equal(3), Deterministic(), Uniform(), budget=1, compiled=False)


def run(regret, checkpoints=(1, 10, 100)):
    """A run with this regret, [R, C]."""
    regret = np.array(regret, float)
    recommended = np.zeros(regret.shape, np.int64)
    return replace(BLANK, checkpoints=np.array(checkpoints), recommended=recommended, regret=regret)


FALLING = [[0.5, 0.3, 0.1], [0.4, 0.2, 0.05], [0.6, 0.3, 0.2]]


@pytest.mark.parametrize("budget", [1, 2, 59, 60, 61, 10_000, 10**9])
def test_log_spaced_checkpoints_run_from_one_to_the_budget(budget):
    checkpoints = log_spaced(budget)
    assert checkpoints[0] == 1
    assert checkpoints[-1] == budget
    assert checkpoints == sorted(set(checkpoints))
    assert len(checkpoints) <= 60


def test_log_spaced_checkpoints_are_evenly_spread():
    ratios = np.diff(np.log(log_spaced(10**9)))[20:]  # the first ones are rounded to whole pulls
    assert ratios.max() - ratios.min() < 0.01


@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG\r\n"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_the_ending_says_what_is_written(tmp_path, ending, magic):
    file = tmp_path / f"regret.{ending}"
    plot_regret(file, {"b3": run(FALLING)}, title="three arms", subtitle="10 replicates")
    assert file.read_bytes().startswith(magic)


def test_a_picture_names_its_policies_and_axes_in_plain_words(tmp_path):
    file = tmp_path / "regret.svg"
    plot_regret(file, {"b3": run(FALLING), "sh:growth=1.7": run(FALLING)}, title="3 arms at $5 & $6", subtitle="seed 0")
    ET.parse(file)  # noqa: S314  # our own file: is it well-formed?
    svg = file.read_text(encoding="utf-8")
    for text in (
        "Box Thirding (b3)",
        "Sequential Halving (sh:growth=1.7)",
        "pulls",
        "simple regret: how far the",
        "3 arms at $5",
        "seed 0",
    ):
        assert f"<!-- {text}" in svg
    assert "lower edge" not in svg


def test_the_same_runs_give_the_same_file(tmp_path):
    for name in ("one.svg", "two.svg", "one.pdf", "two.pdf"):
        plot_regret(tmp_path / name, {"b3": run(FALLING)})
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    assert (tmp_path / "one.pdf").read_bytes() == (tmp_path / "two.pdf").read_bytes()


@pytest.mark.parametrize(
    "regret",
    [
        [[0.5, 0.3, 0.0], [0.4, 0.0, 0.0]],  # a mean of 0 at the end
        [[0.5, 0.3, 0.1], [0.5, 0.0, 0.0], [0.5, 0.0, 0.0]],  # quartiles of 0
        [[0.5, 0.3, 0.1], [0.5, 1e-9, 1e-9], [0.5, 1e-9, 1e-9]],  # quartiles far below every mean
        [[0.0, 0.0, 0.0]],  # always right
    ],
)
def test_regrets_too_small_for_the_axis_are_drawn_at_its_edge_and_the_picture_says_so(tmp_path, regret):
    file = tmp_path / "regret.svg"
    plot_regret(file, {"us": run(FALLING) if len(regret) > 1 else run(regret), "b3": run(regret)})
    assert "are drawn at the lower edge" in file.read_text(encoding="utf-8")


def test_a_single_checkpoint_can_be_drawn(tmp_path):
    plot_regret(tmp_path / "regret.png", {"us": run([[0.5]], checkpoints=[1])})
    assert (tmp_path / "regret.png").exists()


def test_a_few_policies_have_bands_and_more_have_bars(tmp_path):
    def words(count):
        file = tmp_path / f"{count}.svg"
        plot_regret(file, {f"b3:effort={k + 1}": run(FALLING) for k in range(count)})
        return file.read_text(encoding="utf-8")

    assert "band: their middle half" in words(3)
    assert "bar: their middle half" in words(4)


def test_bars_of_six_policies_never_stand_on_each_other():
    checkpoints = log_spaced(10_000)
    rows = [np.geomspace(0.5, 0.1, len(checkpoints))]
    names = ("chase", "b3", "us", "sh", "prose", "asha")
    figure = regret_figure([Curve.of(name, run(rows, checkpoints)) for name in names], title="", subtitle="")
    places = [segment[0][0] for bars in figure.axes[0].collections for segment in bars.get_segments()]
    assert len(places) == len(set(places)) > 40


def test_the_legend_has_the_best_policy_first():
    worse = [[0.6, 0.5, 0.4]]
    figure = regret_figure([Curve.of("us", run(worse)), Curve.of("b3", run(FALLING))], title="", subtitle="")
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["Box Thirding (b3)", "Uniform sampling (us)"]


def test_nothing_is_written_without_a_complete_replicate(tmp_path):
    with pytest.raises(InvalidInput, match="nothing to plot"):
        plot_regret(tmp_path / "regret.png", {"b3": run(np.zeros((0, 3)))})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("regret.gif", r"regret.gif'.* must end in .png, .svg or .pdf"),
        ("regret", "must end in"),
        ("nowhere/regret.png", "there is no folder .*nowhere"),
        ("folder.png", "is a folder"),
    ],
)
def test_a_place_where_no_picture_can_be_written_is_refused(tmp_path, name, message):
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(InvalidInput, match=message):
        check_plot_file(tmp_path / name)


def test_a_file_that_may_not_be_written_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("boxthirding.lab.plots.os.access", lambda *_: False)
    with pytest.raises(InvalidInput, match="may be written"):
        check_plot_file(tmp_path / "regret.png")


def test_without_matplotlib_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("boxthirding.lab.plots.importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r"matplotlib.*boxthirding\[plot\]"):
        check_plot_file(tmp_path / "regret.png")
