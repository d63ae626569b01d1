"""How many arms a policy screens: candidate sets, what becomes of a level's arms, and which errors are whose."""

from typing import TYPE_CHECKING

from boxthirding.figures.looks import look_of
from boxthirding.figures.style import COLOURS, GREY, MARKERS, canvas, head, label_logs, legend, pale, plain
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.facts import LONGEST
from boxthirding.lab.paper.figures.picture import WIDTH, Picture
from boxthirding.lab.paper.printed import BUDGET, COMPARED, NAMES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEVELS = 4  # whose arms are counted in the picture
_BOXES = 5  # deferments that are shown: beyond, a share is too small to see


def candidates_picture(evidence: Evidence) -> Picture:
    """Return c₀(T) of US, BSH and B3."""
    found = evidence.facts.candidates
    rows = [[policy, one.pulls, one.size, one.introduced] for policy in COMPARED for one in found[policy]]

    def draw() -> "Figure":
        figure = canvas(WIDTH, 4.6)
        axes = figure.add_subplot()
        for policy in COMPARED:
            look = look_of(policy)
            axes.plot(
                [one.pulls for one in found[policy]],
                [one.size for one in found[policy]],
                color=look.colour,
                linestyle=look.dashes,
                marker=look.marker,
                markevery=8,
                linewidth=2,
                label=NAMES[policy],
            )
        axes.set(xscale="log", yscale="log")
        axes.set_xlabel("pulls, T", fontsize=12)
        axes.set_ylabel("candidates, c₀: arms that\ncould be returned", fontsize=12)
        label_logs(axes.xaxis, axes.yaxis)
        plain(axes)
        head(axes, "How many arms could still be returned", ["from the rules alone, without any reward"])
        legend(figure, len(COMPARED))
        return figure

    last = {policy: found[policy][-1] for policy in COMPARED}
    caption = (
        f"Straight lines mean proportional to T. After {LONGEST:,} pulls, of very many arms, "
        + ", ".join(f"{NAMES[policy]} has {one.size:,.0f}" for policy, one in last.items())
        + " candidates. B3 grows in steps, because c₀ stands still while the next level fills, and BSH falls behind."
    )
    return Picture("candidates", "Candidate sets", caption, ("policy", "pulls", "candidates", "introduced"), rows, draw)


def levels_picture(evidence: Evidence) -> Picture:
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
    return Picture("levels", "Lifted, shifted, discarded", caption, columns, rows, draw)


def _stacked(axes: "Axes") -> None:
    """Draw the shares of the geometric series."""
    boxes = range(1, _BOXES + 1)
    shifted = [3.0**-b for b in boxes]
    half = [(1 - share) / 2 for share in shifted]
    axes.bar(boxes, half, 0.72, color=pale(COLOURS[2]), edgecolor=COLOURS[2], hatch="//", label="lifted")
    axes.bar(boxes, shifted, 0.72, bottom=half, color=pale(COLOURS[4]), edgecolor=COLOURS[4], label="shifted")
    above = [a + b for a, b in zip(half, shifted, strict=True)]
    axes.bar(boxes, half, 0.72, bottom=above, color="#DDDDDD", edgecolor=GREY, hatch="..", label="discarded")
