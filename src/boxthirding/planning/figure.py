"""A plan as one picture: how good the answer will be, against what is spent."""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Final

from boxthirding.errors import InvalidInput
from boxthirding.figures.style import COLOURS, DASHES, GREY, canvas, head, legend, plain, rendered
from boxthirding.lab.plots import check_plot_file
from boxthirding.lab.report_folder import write_whole
from boxthirding.planning.answers import Plan, Row, heading, in_a_sentence

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_NAMED: Final = 9  # budgets whose numbers have room below the axis


def plot_plan(path: str | Path, plan: Plan) -> None:
    """Draw which of all arms the answer will be among, in per cent from the best, for each budget of a plan.

    The ending of the file, .png, .svg or .pdf, says what is written.
    """
    path = Path(path)
    ending = check_plot_file(path)
    if not plan.rows:
        raise InvalidInput("there is nothing to plot: the plan has no budgets, give some beside the wish")
    write_whole(path, rendered(plan_figure(plan), ending))


def plan_figure(plan: Plan) -> "Figure":
    """Draw a plan: better answers are higher up."""
    figure = canvas(8, 5.6)
    axes = figure.add_subplot()
    by_ratio: dict[float, list[Row]] = {}
    for row in plan.rows:
        by_ratio.setdefault(row.ratio, []).append(row)
    several = len(by_ratio) > 1
    for (ratio, rows), colour, dashes in zip(by_ratio.items(), cycle(COLOURS), cycle(DASHES), strict=False):
        name = f"noise {ratio:g} × spread" if several else "on average"
        pulls, tops = [row.budget for row in rows], [row.percentile for row in rows]
        axes.plot(pulls, tops, color=colour, linestyle=dashes, marker="o", label=name)
        if not several:
            worst = [row.percentile_9_of_10 for row in rows]
            axes.plot(pulls, worst, color=colour, linestyle=DASHES[1], linewidth=1, label="in 9 of 10 runs at least")
            axes.fill_between(pulls, tops, worst, color=colour, alpha=0.13, linewidth=0)
            for one in plan.granted:
                wish = f"{one.want}: {one.row.budget:,} pulls"
                axes.axvline(one.row.budget, color=GREY, linestyle=DASHES[3], label=wish)
    _label_axes(axes, plan.rows)
    head(axes, f"How many pulls among {plan.arms:,} arms?" if several else in_a_sentence(plan), [heading(plan)])
    legend(figure, 3)
    return figure


def _label_axes(axes: "Axes", rows: Sequence[Row]) -> None:
    """Put plain words and plain numbers on both axes; below each budget stands its cost, if that is known."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    axes.set(xscale="log", yscale="log")
    axes.invert_yaxis()
    axes.set_ylabel("the answer is in the top … of all arms", fontsize=12)
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    costs = {row.budget: row.cost for row in rows}
    priced = None not in costs.values()
    axes.set_xlabel("pulls, and what they cost" if priced else "pulls", fontsize=12)
    if len(costs) <= _MOST_NAMED:
        axes.xaxis.set_major_locator(FixedLocator(list(costs)))
        axes.xaxis.set_minor_locator(NullLocator())
        below = [f"{budget:,}" + (f"\n{cost:,.2f}" if priced else "") for budget, cost in costs.items()]
        axes.set_xticklabels(below)
    plain(axes)
