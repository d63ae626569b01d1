"""The split of the error: never a candidate, or a candidate and not told apart."""

from typing import TYPE_CHECKING

from boxthirding.figures.style import COLOURS, canvas, pale, plain
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.figures.picture import WIDTH, Picture
from boxthirding.lab.paper.printed import BUDGET, COMPARED, NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from boxthirding.lab.error_split import ErrorSplit


def split_picture(evidence: Evidence, key: str, eps: float) -> Picture:
    """Return the split of the error of US, BSH and B3 on one case at one ε."""
    case = evidence.cases[key]
    splits = {policy: evidence.splits[key, policy, eps] for policy in COMPARED}
    rows = [
        [policy, int(pulls), split.non_inclusion[c], split.exact[c], split.misidentification[c]]
        for policy, split in splits.items()
        for c, pulls in enumerate(split.pulls)
    ]

    def draw() -> "Figure":
        figure = canvas(WIDTH, 6.0)
        panels = figure.subplots(len(splits), 1, sharex=True, sharey=True)
        for axes, (policy, split) in zip(panels, splits.items(), strict=True):
            _stack(axes, split)
            axes.set_title(NAMES[policy], fontsize=11, loc="left")
        panels[-1].set_xlabel("pulls", fontsize=12)
        figure.supylabel("share of the runs", fontsize=12)
        figure.suptitle(f"{case.title}: ε = {eps:g}", fontsize=12.5, fontweight="bold", x=0.01, ha="left")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=1, frameon=False, fontsize=10.5)
        return figure

    ends = ", ".join(
        f"{NAMES[policy]} {split.non_inclusion[-1]:.1%} + {split.misidentification[-1]:.1%}"
        for policy, split in splits.items()
    )
    caption = (
        f"Runs that fail to return an arm within {eps:g} of the best, by reason. The dashed line is the exact chance "
        f"of non-inclusion, and it should run along the edge of the lower area. After {BUDGET:,} pulls (non-inclusion "
        f"+ misidentification): {ends}."
    )
    columns = ("policy", "pulls", "non_inclusion", "non_inclusion_exact", "misidentification")
    title = f"Which error, at ε = {eps:g}? {case.title}"
    return Picture(f"split-{key}-eps-{eps:g}", title, caption, columns, rows, draw)


def _stack(axes: "Axes", split: "ErrorSplit") -> None:
    from matplotlib.ticker import NullLocator, StrMethodFormatter

    missed = split.non_inclusion
    failed = missed + split.misidentification
    axes.fill_between(
        split.pulls,
        0,
        missed,
        facecolor=pale(COLOURS[0]),
        edgecolor=COLOURS[0],
        hatch="//",
        label="no ε/2-best arm was a candidate (non-inclusion)",
    )
    axes.fill_between(
        split.pulls,
        missed,
        failed,
        facecolor=pale(COLOURS[1]),
        edgecolor=COLOURS[1],
        label="one was, but no ε-best arm was returned (misidentification)",
    )
    axes.plot(
        split.pulls, split.exact, color="black", linestyle=(0, (4, 2)), linewidth=2, label="non-inclusion by theory"
    )
    axes.set(xscale="log", ylim=(0, 1), xlim=(split.pulls.min(), 1.05 * split.pulls.max()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    plain(axes)
    axes.tick_params(labelsize=10)
