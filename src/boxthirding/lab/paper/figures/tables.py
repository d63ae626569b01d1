"""The two tables of the paper as pictures: our regrets beside the printed ones."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from boxthirding.figures.style import COLOURS, canvas, head, legend, plain
from boxthirding.lab.paper.cases import table_case
from boxthirding.lab.paper.claims.tables import agreement, measured_row, printed_row
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.figures.picture import WIDTH, Picture, Reading
from boxthirding.lab.paper.printed import FIXED_BUDGET, NAMES, TABLE_SIGMA, UNROUNDED, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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


def table_rows(evidence: Evidence, table: Table) -> list[list[Any]]:
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


def table_picture(evidence: Evidence, table: Table) -> Picture:
    """Return a table as a picture: a mark for each mean, a line for the middle half of the runs."""
    rows = table_rows(evidence, table)
    title = f"N = {table.arms:,} captions, T = {table.budget:,} pulls"

    def draw() -> "Figure":
        figure = canvas(WIDTH, 4.9)
        axes = figure.add_subplot()
        ours = [(row[2], row[4], row[5]) for row in rows]
        paper = [(row[6], row[7], row[8]) if row[6] != "" else None for row in rows]
        _marks(axes, ours, -0.14, COLOURS[0], "o", "measured here")
        _marks(axes, paper, 0.14, COLOURS[1], "s", "printed in the paper")
        axes.set_yticks(range(len(rows)), [NAMES[row[0]] for row in rows])
        axes.invert_yaxis()
        axes.set_xlim(left=0)
        axes.set_xlabel("simple regret", fontsize=12)
        plain(axes)
        head(axes, title, ["mark: mean; line: middle half of the runs, 25 % to 75 %"])
        legend(figure, 2)
        return figure

    caption = f"Lower is better. {agreement(evidence, table)} The last rows are not in the paper."
    return Picture(table_case(table.arms), f"Table: {title}", caption, COLUMNS, rows, draw, _reading(table, rows))


def _reading(table: Table, rows: Sequence[Sequence[Any]]) -> Reading:
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
    return Reading(
        ("Policy", "Measured", "25 % to 75 %", "Paper", "Paper, 25 % to 75 %", "Difference, s.e."), shown, note
    )


def _range(low: float, high: float) -> str:
    return f"{low:.4f} – {high:.4f}"


def _marks(axes: "Axes", rows: "list[Any]", shift: float, colour: str, marker: str, label: str) -> None:
    shown = [(place + shift, *row) for place, row in enumerate(rows) if row]
    heights, means, lows, highs = zip(*shown, strict=True)
    axes.hlines(heights, lows, highs, color=colour, linewidth=2.2, linestyle="-" if marker == "o" else (0, (3, 1.2)))
    axes.plot(means, heights, marker, color=colour, markersize=7, label=label)
