"""The board and what is written of it, from regrets that were made up."""

import json
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from boxthirding.figures.style import rendered
from boxthirding.lab.leaderboard.as_json import Facts, as_json
from boxthirding.lab.leaderboard.board import Board
from boxthirding.lab.leaderboard.entrants import Entrant
from boxthirding.lab.leaderboard.markdown import number, page
from boxthirding.lab.leaderboard.picture import draw
from boxthirding.lab.leaderboard.suites import Cell, Group, Suite

SPREAD = np.tile([-0.01, 0.01], 50)
SMALL = Cell(Group.NOISY, "captions", "gaussian:0.5", 500)
LARGE = Cell(Group.NOISY, "captions", "gaussian:0.5", 1_000)
SILENT = Cell(Group.QUIET, "captions", "none", 1_000)
MEANS = {  # with 0.001 added, 0.1 and so on
    "b3": {SMALL: 0.199, LARGE: 0.099, SILENT: 0.049},
    "us": {SMALL: 0.399, LARGE: 0.399, SILENT: 0.024},
    "sh": {LARGE: 0.049, SILENT: 0.099},
    "prose": {SMALL: 0.099, LARGE: 0.099, SILENT: 0.199},
}
FACTS = Facts(Suite("tiny", "three cells", ()), ("872",), seed=7, command="boxthirding leaderboard --suite tiny")


def board(against=None):
    regrets = {(cell, spec): mean + SPREAD for spec, cells in MEANS.items() for cell, mean in cells.items()}
    return Board((SMALL, LARGE, SILENT), tuple(map(Entrant.of, MEANS)), regrets, against)


def test_each_cell_has_its_best():
    assert board().references == {SMALL: "prose", LARGE: "sh", SILENT: "us"}
    assert set(board("b3").references.values()) == {"b3"}


@pytest.mark.parametrize(
    ("spec", "group", "value", "ran"),
    [
        ("b3", None, 2, 3),
        ("b3", Group.NOISY, 2, 2),
        ("us", Group.NOISY, 32**0.5, 2),
        ("us", Group.QUIET, 1, 1),
        ("sh", None, 2, 2),
        ("prose", None, 16 ** (1 / 3), 3),
    ],
)
def test_a_score_is_a_geometric_mean_over_the_cells_that_a_policy_ran_in(spec, group, value, ran):
    score = board().scores[spec, group]
    assert score.ratio.value == pytest.approx(value)
    assert (score.ran, score.whole) == (ran, spec != "sh")


def test_relative_to_one_policy_that_one_is_1_everywhere():
    scores = board("b3").scores
    assert {scores["b3", group].ratio.value for group in board().groups} == {1.0}
    assert scores["us", Group.QUIET].ratio.value == pytest.approx(0.5)


def test_those_that_ran_everywhere_come_first_each_by_its_score():
    assert [entrant.spec for entrant in board().ranking] == ["b3", "prose", "us", "sh"]


def test_groups_without_a_cell_are_not_there():
    assert board().groups == [None, Group.NOISY, Group.QUIET]


def test_the_worst_cell_is_that_of_the_largest_ratio():
    cell, ratio = board().worst("us")
    assert (cell, ratio.value) == (LARGE, pytest.approx(8))


def test_the_json_has_every_figure():
    found = json.loads(json.dumps(as_json(board(), FACTS)))
    assert (found["suite"], found["seed"], found["replicates"]) == ("tiny", 7, 100)
    assert (found["against"], found["added"], found["missing_contests"]) == ("best", 0.001, ["872"])
    assert [(one["policy"], one["told"]) for one in found["policies"]] == [
        ("b3", []),
        ("prose", ["sigma"]),
        ("us", []),
        ("sh", ["budget"]),
    ]
    b3 = found["policies"][0]["groups"]["all"]
    assert (b3["ratio"], b3["ran"], b3["cells"]) == (pytest.approx(2), 3, 3)
    assert b3["interval_99"][0] < b3["interval_95"][0] < 2 < b3["interval_95"][1] < b3["interval_99"][1]
    first = found["cells"][0]
    assert (first["budget"], first["reference"], first["cannot_run"]) == (500, "prose", ["sh"])
    assert first["policies"]["b3"]["regret_mean"] == pytest.approx(0.199)
    assert first["policies"]["b3"]["regret_se"] == pytest.approx(0.001, rel=0.01)
    assert "sh" not in first["policies"]


def test_the_page_has_the_standings_the_marks_and_every_problem():
    text = page(board(), FACTS, "board.png")
    rows = {line.split("|")[1].strip(): line for line in text.split("### ")[0].splitlines() if line.startswith("| `")}
    assert list(rows) == ["`b3`", "`prose`", "`us`", "`sh`"]
    assert "| σ | 2.52" in rows["`prose`"]
    assert "| T | 2.00" in rows["`sh`"]
    assert "2 of 3" in rows["`sh`"]
    assert "8.00: captions, gaussian:0.5, T = 1,000" in rows["`us`"]
    noisy, silent = text.split("### ")[1:]
    assert noisy.startswith("captions, gaussian:0.5\n")
    assert "| policy | told | T = 500 | T = 1,000 |" in noisy
    assert "| mean regret of the best |  | 0.0990 | 0.0490 |" in noisy
    assert "| `sh` | T | – | **1** |" in noisy
    assert silent.startswith("captions, none\n")
    assert "contest 872" in text
    assert "![Relative regret of every policy](board.png)" in text


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (FACTS, "Left out, as they need --data: contest 872."),
        (replace(FACTS, with_data=True), "Left out, because --data has no file of them: contest 872."),
        (replace(FACTS, missing=("872", "830")), "Left out, as they need --data: contests 872 and 830."),
    ],
)
def test_what_is_left_out_is_said_with_its_reason(facts, words):
    assert words in page(board(), facts, "board.png").splitlines()


def test_only_marks_that_occur_are_explained():
    assert "Told: T, the budget; σ, the noise. A policy without" in page(board(), FACTS, "board.png")
    regrets = {(SMALL, spec): 0.1 + SPREAD for spec in ("b3", "us")}
    untold = Board((SMALL,), tuple(map(Entrant.of, ("b3", "us"))), regrets)
    assert "No policy is told anything." in page(untold, FACTS, "board.png")
    svg = rendered(draw(untold, FACTS), "svg").decode()
    assert "<!-- told nothing -->" in svg
    assert "cannot run" not in svg


def test_the_legend_looks_as_what_is_drawn():
    (legend,) = draw(board(), FACTS).legends
    looks = {
        line.get_label(): (line.get_marker(), line.get_markerfacecolor() == "white") for line in legend.legend_handles
    }
    points = {
        (line.get_marker(), line.get_markerfacecolor() == "white")
        for axes in draw(board(), FACTS).axes
        for line in axes.lines
        if line.get_marker() in ("o", "D")
    }
    assert list(looks) == ["told nothing", "told the budget (T) or the noise (σ)", "cannot run in every cell"]
    assert set(looks.values()) == points


def test_names_beside_a_small_panel_do_not_overlap():
    specs = ("ash:subset=doubling", "lilucb:subset=doubling", "ebtc:subset=doubling", "sh:growth=1.7,mode=paper", "b3")
    regrets = {(cell, spec): 0.1 + SPREAD for cell in (SMALL, SILENT) for spec in specs}
    figure = draw(Board((SMALL, SILENT), tuple(map(Entrant.of, specs)), regrets), FACTS)
    figure.draw_without_rendering()
    panel = figure.axes[1]
    boxes = sorted((label.get_window_extent() for label in panel.get_yticklabels()), key=lambda box: box.y0)
    assert all(lower.y1 <= upper.y0 for lower, upper in pairwise(boxes))


def test_the_mark_of_a_tie_goes_by_the_interval_that_is_printed():
    regrets = {(SMALL, "b3"): 0.1 + SPREAD, (SMALL, "us"): 0.1046 - SPREAD}
    text = page(Board((SMALL,), tuple(map(Entrant.of, ("b3", "us"))), regrets), FACTS, "p.png")
    (row,) = (line for line in text.split("### ")[1].splitlines() if line.startswith("| `us`"))
    assert float(row.split("(")[1].split(" ")[0]) > 1
    assert not row.endswith("= |")


def test_a_policy_that_cannot_be_told_from_the_best_is_marked():
    regrets = {(SMALL, "b3"): 0.1 + SPREAD, (SMALL, "us"): 0.1002 - SPREAD, (SMALL, "asha"): 0.2 + SPREAD}
    text = page(Board((SMALL,), tuple(map(Entrant.of, ("b3", "us", "asha"))), regrets), FACTS, "p.png")
    problem = text.split("### ")[1]
    assert "| `us` |  | 1.00 (0.964 to 1.04) = |" in problem
    assert not any(line.endswith("= |") for line in problem.splitlines() if "asha" in line)


@pytest.mark.parametrize(
    ("value", "text"), [(0.05, "0.0500"), (0.9996, "1.00"), (9.996, "10.0"), (999.4, "999"), (999.6, "1,000")]
)
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_the_picture_has_a_row_for_each_policy_and_a_panel_for_each_group():
    svg = rendered(draw(board(), FACTS), "svg")
    ET.fromstring(svg)  # noqa: S314  # our own text: is it well-formed?
    text = svg.decode()
    names = ("Box Thirding (b3)", "PROSE (prose), told σ", "Sequential Halving (sh), told T")
    for words in (*names, "all 3 cells", "noisy: 2 cells", "quiet: 1 cell", "told nothing", "suite tiny"):
        assert words in text
    assert "data-rich" not in text
    assert rendered(draw(board(), FACTS), "svg") == svg
