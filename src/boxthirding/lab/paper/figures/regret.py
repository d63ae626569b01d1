"""Regret against pulls, and box plots of regret after 5,000 and 10,000 pulls."""

from collections.abc import Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from boxthirding.figures.looks import look_of
from boxthirding.figures.style import canvas, pale, plain
from boxthirding.lab.curves import Curve, regret_figure
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.figures.picture import WIDTH, Picture
from boxthirding.lab.paper.printed import ANYTIME, BOX_PLOTS, BUDGET, NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HATCHES = ("", "///", "...", "xx")  # so that boxes can be told apart without their colours


def regret_picture(evidence: Evidence, key: str) -> Picture:
    """Return the regret of the four policies on one case."""
    case = evidence.cases[key]
    runs = {policy: evidence.runs[key, policy] for policy in ANYTIME}
    rows = [
        [policy, row["pulls"], *(row[f"regret_{part}"] for part in ("mean", "se", "q25", "q75"))]
        for policy, run in runs.items()
        for row in run.rows()
    ]

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
    columns = ("policy", "pulls", "regret_mean", "regret_se", "regret_q25", "regret_q75")
    return Picture(f"regret-{key}", case.title, caption, columns, rows, draw)


def box_picture(evidence: Evidence, key: str) -> Picture:
    """Return box plots of the regret of the four policies on one case."""
    case = evidence.cases[key]
    title = f"{case.title}: spread of the runs"
    rows = [
        [policy, pulls, *_five(evidence, key, policy, pulls), evidence.regret(key, policy, pulls).value]
        for pulls in BOX_PLOTS
        for policy in ANYTIME
    ]
    best = min(ANYTIME, key=lambda policy: evidence.regret(key, policy, BUDGET).value)
    caption = (
        "Each box holds the middle half of the runs, the line in it is the median, the diamond the mean; whiskers go "
        f"from the 5 % to the 95 % quantile. {NAMES[best]} has the lowest mean after {BUDGET:,} pulls."
    )

    def draw() -> "Figure":
        figure = canvas(WIDTH, 3.9)
        panels = figure.subplots(1, len(BOX_PLOTS), sharey=True)
        for axes, pulls in zip(panels, BOX_PLOTS, strict=True):
            _boxes(axes, ANYTIME, [_stats(row) for row in rows if row[1] == pulls])
            axes.set_title(f"after {pulls:,} pulls", fontsize=11)
        panels[0].set_ylabel("simple regret", fontsize=12)
        figure.suptitle(case.title, fontsize=12.5, fontweight="bold", x=0.01, ha="left")
        return figure

    columns = ("policy", "pulls", "q05", "q25", "median", "q75", "q95", "mean")
    return Picture(f"boxes-{key}", title, caption, columns, rows, draw)


def _five(evidence: Evidence, key: str, policy: str, pulls: int) -> list[float]:
    found: list[float] = np.quantile(evidence.regrets(key, policy, pulls), (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
    return found


def _stats(row: Sequence[Any]) -> dict[str, Any]:
    policy, _, low, first, median, third, high, mean = row
    name = NAMES[str(policy)]
    return {"label": name, "whislo": low, "q1": first, "med": median, "q3": third, "whishi": high, "mean": mean}


def _boxes(axes: "Axes", policies: Sequence[str], stats: list[dict[str, Any]]) -> None:
    """Draw one box a policy."""
    marks = {"marker": "D", "markerfacecolor": "white", "markeredgecolor": "black", "markersize": 5}
    drawn = axes.bxp(
        stats,
        showfliers=False,
        showmeans=True,
        widths=0.6,
        patch_artist=True,
        meanprops=marks,
        medianprops={"color": "black"},
    )
    for patch, policy, hatch in zip(drawn["boxes"], policies, cycle(_HATCHES), strict=False):
        colour = look_of(policy).colour
        patch.set(facecolor=pale(colour), edgecolor=colour, hatch=hatch)
    axes.set_ylim(bottom=0)
    plain(axes)
    axes.tick_params(axis="x", labelsize=10)
