"""The picture of a plan: what a reader sees of it."""

import pytest

from boxthirding import plan
from boxthirding.errors import InvalidInput
from boxthirding.planning.figure import plan_figure, plot_plan

GUESSES = {"noise": 2.0, "spread": 1.0, "budgets": [20, 100, 400]}


def test_better_answers_are_higher_up_and_budgets_are_named_with_their_cost():
    found = plan(60, **GUESSES, price=0.5)
    (axes,) = plan_figure(found).axes
    bottom, top = axes.get_ylim()
    assert bottom > top
    assert [label.get_text() for label in axes.get_xticklabels()] == ["20\n10.00", "100\n50.00", "400\n200.00"]
    assert axes.lines[0].get_ydata().tolist() == [row.percentile for row in found.rows]
    assert axes.lines[1].get_ydata().tolist() == [row.percentile_9_of_10 for row in found.rows]
    assert axes.get_title(loc="left").startswith("With 100 pulls, expect about the")


def test_the_wish_is_marked():
    found = plan(60, **GUESSES, want="top 10 % in 4 of 5 runs")
    (axes,) = plan_figure(found).axes
    assert axes.lines[-1].get_label() == f"top 10 % in 4 of 5 runs: {found.granted[0].row.budget:,} pulls"


def test_where_nothing_is_known_there_is_a_curve_for_each_ratio():
    (axes,) = plan_figure(plan(30)).axes
    assert [line.get_label() for line in axes.lines] == [f"noise {r} × spread" for r in ("0.5", "1", "2", "4", "8")]


def test_a_plan_without_budgets_has_nothing_to_draw(tmp_path):
    with pytest.raises(InvalidInput, match="give some beside the wish"):
        plot_plan(tmp_path / "plan.png", plan(60, noise=1.0, spread=1.0, want="top 10 %"))
