"""Figures of instances and screening: gaps, candidate sets, what becomes of a level's arms, and causes of errors."""

from typing import TYPE_CHECKING, Any

import numpy as np

from boxthirding.figures.style import COLOURS, DASHES, GREY, MARKERS, canvas, finish, head, legend, look_of, pale, plain
from boxthirding.lab.error_split import ErrorSplit
from boxthirding.lab.paper.cases import GAPS, caption_case
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.exact_facts import LONGEST
from boxthirding.lab.paper.figures import WIDTH, FigureTable, PaperFigure
from boxthirding.lab.paper.printed import ARMS, BUDGET, COMPARED, EPSILONS, H2_EXPONENTS, NAMES
from boxthirding.lab.plots import log_spaced
from boxthirding.lab.theory.complexity import complexity_h2
from boxthirding.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEVELS = 4  # whose arms are counted in the picture
_BOXES = 5  # deferments that are shown: beyond, a share is too small to see


def instances_figure(evidence: Evidence) -> PaperFigure:
    """Return the gaps of the four instances by rank, with N_ε and H₂ of each."""
    cases = {"captions": caption_case("gaussian:0.5"), **{name: name for name in GAPS}}
    gaps = {name: _gaps(evidence, case) for name, case in cases.items()}
    ranks = log_spaced(ARMS, 40)[1:]
    rows = [[name, rank, found[rank - 1]] for name, found in gaps.items() for rank in ranks]

    def draw() -> "Figure":
        figure = canvas(WIDTH, 4.6)
        axes = figure.add_subplot()
        for k, (name, found) in enumerate(gaps.items()):
            look = {"color": COLOURS[k], "linestyle": DASHES[k], "marker": MARKERS[k]}
            axes.plot(ranks, found[[rank - 1 for rank in ranks]], markevery=4, linewidth=2, label=name, **look)
        axes.set(xscale="log", yscale="log")
        labels = ("rank of the arm", "how far its mean is\nbelow the best")
        lines = ["true means; nothing is simulated here"]
        return finish(figure, labels, f"Four instances of {ARMS:,} arms", lines, 2)

    caption = (
        "The flatter a line, the fewer arms are close to the best. On poly few arms are good, but the best one stands "
        "out; on square very many are good, and the best one is hard to tell from the next."
    )
    table = FigureTable(
        ("Instance", "Range", *(f"N_ε, ε = {eps:g}" for eps in EPSILONS), "H₂", "H₂ grows as", "Paper"),
        [_table_row(evidence, name, case) for name, case in cases.items()],
        "N_ε counts the arms less than ε below the best, itself included. H₂ is the largest rank over squared gap: "
        "the larger, the harder the best arm is to tell. How it grows is measured between N and 2 N.",
    )
    return PaperFigure("instances", "The instances", caption, ("instance", "rank", "gap"), rows, draw, table)


def _gaps(evidence: Evidence, case: str) -> Floats:
    """Return how far each arm is below the best, the best first."""
    means = evidence.cases[case].instance.means
    return np.sort(means.max() - means)


def _table_row(evidence: Evidence, name: str, case: str) -> tuple[str, ...]:
    gaps = _gaps(evidence, case)
    shape = evidence.facts.shapes.get(name)
    grows = f"N^{shape.hardness_power:.2g}" if shape else "–"
    printed = f"N^{H2_EXPONENTS[name]:g}" if shape else "–"
    good = (f"{evidence.good(case, eps):,}" for eps in EPSILONS)
    return (name, f"{gaps.max():.4f}", *good, f"{float(f'{complexity_h2(-gaps):.3g}'):,.0f}", grows, printed)


def candidates_figure(evidence: Evidence) -> PaperFigure:
    """Return c₀(T) of US, BSH and B3."""
    found = evidence.facts.candidates
    rows = [[policy, one.pulls, one.size, one.introduced] for policy in COMPARED for one in found[policy]]

    def draw() -> "Figure":
        figure = canvas(WIDTH, 4.6)
        axes = figure.add_subplot()
        for policy in COMPARED:
            pulls, sizes = [one.pulls for one in found[policy]], [one.size for one in found[policy]]
            axes.plot(pulls, sizes, **look_of(policy).line, markevery=8, linewidth=2, label=NAMES[policy])
        axes.set(xscale="log", yscale="log")
        labels = ("pulls, T", "candidates, c₀: arms that\ncould be returned")
        lines = ["from the rules alone, without any reward"]
        return finish(figure, labels, "How many arms could still be returned", lines, len(COMPARED))

    last = {policy: found[policy][-1] for policy in COMPARED}
    caption = (
        f"Straight lines mean proportional to T. After {LONGEST:,} pulls, of very many arms, "
        + ", ".join(f"{NAMES[policy]} has {one.size:,.0f}" for policy, one in last.items())
        + " candidates. B3 grows in steps, because c₀ stands still while the next level fills, and BSH falls behind."
    )
    return PaperFigure(
        "candidates", "Candidate sets", caption, ("policy", "pulls", "candidates", "introduced"), rows, draw
    )


def levels_figure(evidence: Evidence) -> PaperFigure:
    """Return what becomes of the arms of a level, box by box, beside the geometric series."""
    found = evidence.facts.levels[:_LEVELS]
    rows = [
        [level.level, boxes, level.entered, level.lifted_by(boxes), (1 - 3.0**-boxes) / 2]
        for level in found
        for boxes in range(1, _BOXES + 1)
    ]

    def draw() -> "Figure":
        figure = canvas(WIDTH, 4.7)
        axes = figure.add_subplot()
        _stacked(axes)
        for k, level in enumerate(found):
            places = [boxes + 0.13 * (k - (len(found) - 1) / 2) for boxes in range(1, _BOXES + 1)]
            shares = [level.lifted_by(boxes) for boxes in range(1, _BOXES + 1)]
            label = f"lifted, counted: level {level.level}"
            axes.plot(places, shares, MARKERS[k], color="black", markerfacecolor="white", markersize=6, label=label)
        axes.axhline(0.5, color="black", linewidth=1)
        axes.set_xlabel("boxes (l, 0), (l, 1), … that have been arranged", fontsize=12)
        axes.set_ylabel("share of the level's arms", fontsize=12)
        axes.set(ylim=(0, 1), xticks=range(1, _BOXES + 1))
        axes.tick_params(labelsize=11)
        head(axes, "What becomes of the arms of a level", [f"bars: geometric series; marks: B3 after {BUDGET:,} pulls"])
        legend(figure, 2)
        return figure

    caption = (
        "Every box lifts one arm of three, shifts one and discards one. The shifted third is divided again in the "
        "next box, so half of all are lifted and half discarded in the end. The counts of a real run lie on the "
        "series, a little below where arms still wait in boxes."
    )
    columns = ("level", "boxes", "entered", "lifted_counted", "lifted_by_series")
    return PaperFigure("levels", "Lifted, shifted, discarded", caption, columns, rows, draw)


def _stacked(axes: "Axes") -> None:
    """Draw the shares of the geometric series."""
    boxes = range(1, _BOXES + 1)
    shifted = [3.0**-b for b in boxes]
    half = [(1 - share) / 2 for share in shifted]
    axes.bar(boxes, half, 0.72, color=pale(COLOURS[2]), edgecolor=COLOURS[2], hatch="//", label="lifted")
    axes.bar(boxes, shifted, 0.72, bottom=half, color=pale(COLOURS[4]), edgecolor=COLOURS[4], label="shifted")
    above = [a + b for a, b in zip(half, shifted, strict=True)]
    axes.bar(boxes, half, 0.72, bottom=above, color="#DDDDDD", edgecolor=GREY, hatch="..", label="discarded")


def split_figure(evidence: Evidence, key: str, eps: float) -> PaperFigure:
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
    return PaperFigure(f"split-{key}-eps-{eps:g}", title, caption, columns, rows, draw)


def _stack(axes: "Axes", split: ErrorSplit) -> None:
    from matplotlib.ticker import NullLocator, StrMethodFormatter

    missed = split.non_inclusion
    failed = missed + split.misidentification
    label = "no ε/2-best arm was a candidate (non-inclusion)"
    axes.fill_between(split.pulls, 0, missed, fc=pale(COLOURS[0]), ec=COLOURS[0], hatch="//", label=label)
    label = "one was, but no ε-best arm was returned (misidentification)"
    axes.fill_between(split.pulls, missed, failed, fc=pale(COLOURS[1]), ec=COLOURS[1], label=label)
    line: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 2}
    axes.plot(split.pulls, split.exact, label="non-inclusion by theory", **line)
    axes.set(xscale="log", ylim=(0, 1), xlim=(split.pulls.min(), 1.05 * split.pulls.max()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    plain(axes)
    axes.tick_params(labelsize=10)
