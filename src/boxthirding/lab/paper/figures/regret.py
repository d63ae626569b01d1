"""Figures of regret: against pulls, as box plots, and the two tables beside the printed ones."""

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from boxthirding.figures.style import COLOURS, canvas, finish, look_of, pale, plain
from boxthirding.lab.paper.cases import table_case
from boxthirding.lab.paper.claims.regret import agreement, measured_row, printed_row
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.figures import WIDTH, FigureTable, PaperFigure
from boxthirding.lab.paper.printed import (
    ANYTIME,
    BOX_PLOTS,
    BUDGET,
    FIXED_BUDGET,
    NAMES,
    TABLE_SIGMA,
    UNROUNDED,
    PrintedTable,
)
from boxthirding.lab.plots import Curve, regret_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCHES = ("", "///", "...", "xx")  # so that boxes can be told apart without their colours

COLUMNS = (
    "policy",
    "knows_budget",
    "regret_mean",
    "regret_se",
    "regret_q25",
    "regret_q75",
    "paper_mean",
    "paper_q25",
    "paper_q75",
    "difference_in_se",
)


def regret_against_pulls(evidence: Evidence, key: str) -> PaperFigure:
    """Return the regret of the four policies on one case."""
    case = evidence.cases[key]
    runs = {policy: evidence.runs[key, policy] for policy in ANYTIME}
    columns = ("pulls", "regret_mean", "regret_se", "regret_q25", "regret_q75")
    rows = [[policy, *(row[column] for column in columns)] for policy, run in runs.items() for row in run.rows()]

    def draw() -> "Figure":
        curves = [Curve.of(policy, run, NAMES[policy]) for policy, run in runs.items()]
        subtitle = f"{case.instance.n_arms:,} arms, {case.replicates:,} replicates"
        return regret_figure(curves, title=case.title, subtitle=subtitle, size=(WIDTH, 5.0))

    ends = {NAMES[policy]: evidence.regret(key, policy, BUDGET).value for policy in ANYTIME}
    order = sorted(ends, key=ends.__getitem__)
    caption = (
        f"Lower is better; both axes are logarithmic. After {BUDGET:,} pulls the mean regret is, from best to worst, "
        + ", ".join(f"{name} {ends[name]:.4f}" for name in order)
        + "."
    )
    return PaperFigure(f"regret-{key}", case.title, caption, ("policy", *columns), rows, draw)


def box_figure(evidence: Evidence, key: str) -> PaperFigure:
    """Return box plots of the regret of the four policies on one case."""
    case = evidence.cases[key]
    title = f"{case.title}: spread of the runs"
    quantiles = (0.05, 0.25, 0.5, 0.75, 0.95)
    regrets = {(policy, pulls): evidence.regrets(key, policy, pulls) for pulls in BOX_PLOTS for policy in ANYTIME}
    rows = [[*place, *np.quantile(found, quantiles).tolist(), float(found.mean())] for place, found in regrets.items()]
    best = min(ANYTIME, key=lambda policy: evidence.regret(key, policy, BUDGET).value)
    caption = (
        "Each box holds the middle half of the runs, the line in it is the median, the diamond the mean; whiskers go "
        f"from the 5 % to the 95 % quantile. {NAMES[best]} has the lowest mean after {BUDGET:,} pulls."
    )

    def draw() -> "Figure":
        figure = canvas(WIDTH, 3.9)
        panels = figure.subplots(1, len(BOX_PLOTS), sharey=True)
        for axes, pulls in zip(panels, BOX_PLOTS, strict=True):
            _draw_boxes(axes, [row for row in rows if row[1] == pulls])
            axes.set_title(f"after {pulls:,} pulls", fontsize=11)
        panels[0].set_ylabel("simple regret", fontsize=12)
        figure.suptitle(case.title, fontsize=12.5, fontweight="bold", x=0.01, ha="left")
        return figure

    columns = ("policy", "pulls", "q05", "q25", "median", "q75", "q95", "mean")
    return PaperFigure(f"boxes-{key}", title, caption, columns, rows, draw)


def _draw_boxes(axes: "Axes", rows: Sequence[Sequence[Any]]) -> None:
    """Draw one box per policy."""
    names = ("whislo", "q1", "med", "q3", "whishi", "mean")
    stats = [{"label": NAMES[row[0]], **dict(zip(names, row[2:], strict=True))} for row in rows]
    mark = {"marker": "D", "markerfacecolor": "white", "markeredgecolor": "black", "markersize": 5}
    looks: dict[str, Any] = {"patch_artist": True, "widths": 0.6, "meanprops": mark, "medianprops": {"color": "black"}}
    drawn = axes.bxp(stats, showfliers=False, showmeans=True, **looks)
    for patch, row, hatch in zip(drawn["boxes"], rows, cycle(_HATCHES), strict=False):
        colour = look_of(row[0]).colour
        patch.set(facecolor=pale(colour), edgecolor=colour, hatch=hatch)
    axes.set_ylim(bottom=0)
    plain(axes)
    axes.tick_params(axis="x", labelsize=10)


def table_rows(evidence: Evidence, table: PrintedTable) -> list[list[Any]]:
    """Return the rows of a table: ours, the paper's, and the difference in combined standard errors."""
    rows = []
    told = {*FIXED_BUDGET, *UNROUNDED}
    for policy, printed in table.rows.items():
        summary = evidence.runs[table_case(table.arms), policy].rows()[-1]
        ours = [summary[f"regret_{part}"] for part in ("mean", "se", "q25", "q75")]
        paper = [printed.mean, printed.low, printed.high] if printed else ["", "", ""]
        expected = printed_row(evidence, table, policy)
        apart = measured_row(evidence, table, policy).apart(expected) if expected else ""
        rows.append([policy, "yes" if policy in told else "no", *ours, *paper, apart])
    return rows


def table_figure(evidence: Evidence, table: PrintedTable) -> PaperFigure:
    """Return a table as a picture: a mark for each mean, a line for the middle half of the runs."""
    rows = table_rows(evidence, table)
    title = f"N = {table.arms:,} captions, T = {table.budget:,} pulls"

    def draw() -> "Figure":
        figure = canvas(WIDTH, 4.9)
        axes = figure.add_subplot()
        ours = [(row[2], row[4], row[5]) for row in rows]
        paper = [(row[6], row[7], row[8]) if row[6] != "" else None for row in rows]
        _draw_rows(axes, ours, -0.14, COLOURS[0], "o", "measured here")
        _draw_rows(axes, paper, 0.14, COLOURS[1], "s", "printed in the paper")
        axes.set_yticks(range(len(rows)), [NAMES[row[0]] for row in rows])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        lines = ["mark: mean; line: middle half of the runs, 25 % to 75 %"]
        return finish(figure, ("simple regret", ""), title, lines, 2)

    caption = f"Lower is better. {agreement(evidence, table)} The last rows are not in the paper."
    return PaperFigure(
        table_case(table.arms), f"Table: {title}", caption, COLUMNS, rows, draw, _figure_table(table, rows)
    )


def _figure_table(table: PrintedTable, rows: Sequence[Sequence[Any]]) -> FigureTable:
    """Return the table as it is read: ours, the printed one and how far they are apart."""
    shown = []
    for policy, knows, mean, error, low, high, paper, paper_low, paper_high, apart in rows:
        printed = ("–", "–", "–") if paper == "" else (f"{paper:.4f}", _range(paper_low, paper_high), f"{apart:+.1f}")
        name = f"{NAMES[policy]}{' (told T)' if knows == 'yes' else ''}"
        shown.append((name, f"{mean:.4f} ± {error:.4f}", _range(low, high), *printed))
    note = (
        f"N = {table.arms:,}, T = {table.budget:,}, Gaussian noise with σ = {TABLE_SIGMA}. The paper does not print "
        "σ: it is inferred. Differences are in combined standard errors; below zero means that ours is better. Every "
        "baseline is the one that its own authors define, and none was tuned to meet a row."
    )
    return FigureTable(
        ("Policy", "Measured", "25 % to 75 %", "Paper", "Paper, 25 % to 75 %", "Difference, s.e."), shown, note
    )


def _range(low: float, high: float) -> str:
    return f"{low:.4f} – {high:.4f}"


def _draw_rows(axes: "Axes", rows: "list[Any]", shift: float, colour: str, marker: str, label: str) -> None:
    shown = [(place + shift, *row) for place, row in enumerate(rows) if row]
    heights, means, lows, highs = zip(*shown, strict=True)
    axes.hlines(heights, lows, highs, color=colour, linewidth=2.2, linestyle="-" if marker == "o" else (0, (3, 1.2)))
    axes.plot(means, heights, marker, color=colour, markersize=7, label=label)
