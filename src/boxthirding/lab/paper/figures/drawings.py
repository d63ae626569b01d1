"""The two illustrations of the paper, drawn: the remedian, and ARRANGE on a box."""

from statistics import median
from typing import TYPE_CHECKING, Any

from boxthirding.figures.style import COLOURS, GREY, canvas, pale
from boxthirding.lab.paper.figures import WIDTH, PaperFigure
from boxthirding.lab.paper.printed import REMEDIAN_BLOCKS
from boxthirding.lab.theory.sizes import remedian

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_EMPTY = "#F2F2F2"


def remedian_figure() -> PaperFigure:
    """Return the remedian of three blocks."""
    medians = [median(block) for block in REMEDIAN_BLOCKS]
    rows = [[number, *block, median(block)] for number, block in enumerate(REMEDIAN_BLOCKS, start=1)]
    answer = remedian([value for block in REMEDIAN_BLOCKS for value in block])

    def draw() -> "Figure":
        figure, axes = _sheet(3.3, (0, 9), (0, 5.6))
        for place, block in enumerate(REMEDIAN_BLOCKS):
            left = 3 * place + 0.15
            _block(axes, left, 3.6, [f"{value:g}" for value in block], marked=block.index(median(block)))
            _arrow(axes, (left + 1.35, 3.5), (3.15 + 0.9 * place + 0.45, 2.65))
        _block(axes, 3.15, 1.7, [f"{value:g}" for value in medians], marked=medians.index(answer))
        _arrow(axes, (4.5, 1.6), (4.5, 0.95))
        _block(axes, 4.05, 0.05, [f"{answer:g}"], marked=0)
        axes.text(0.15, 5.0, "Remedian: the median of medians", fontsize=13, fontweight="bold")
        axes.text(0.15, 2.05, "medians\nof the blocks", fontsize=10.5, color=GREY, va="center")
        axes.text(0.15, 0.5, "their median", fontsize=10.5, color=GREY, va="center")
        return figure

    caption = (
        f"Nine values in three blocks. The medians of the blocks are {', '.join(f'{value:g}' for value in medians)}, "
        f"and the median of these is {answer:g}: a median found without ever sorting more than three values. B3 sorts "
        "boxes of three in the same spirit. (The medians are the paper's; the other values are ours.)"
    )
    return PaperFigure("remedian", "The remedian", caption, ("block", "first", "second", "third", "median"), rows, draw)


def arrange_figure() -> PaperFigure:
    """Return what ARRANGE does with the three arms of a box."""
    rows = [
        ["highest", "LIFT", "Box(l + 1, 0)", "cost(l + 1) fresh pulls"],
        ["middle", "SHIFT", "Box(l, j + 1)", "none; its mean is kept"],
        ["lowest", "DISCARD", "D_l", "none"],
    ]

    def draw() -> "Figure":
        figure, axes = _sheet(4.2, (0, 9), (0, 7.0))
        axes.text(0.1, 6.5, "ARRANGE on a box that holds three", fontsize=13, fontweight="bold")
        axes.text(0.1, 5.75, "Box(l, j)", fontsize=11)
        moves = (
            (3.9, COLOURS[2], "0.82", "LIFT", "pulled more", "Box(l + 1, 0)", "new\nmean"),
            (2.1, COLOURS[4], "0.55", "SHIFT", "waits, no pull", "Box(l, j + 1)", "0.55"),
            (0.3, GREY, "0.31", "DISCARD", "no pull", "discarded, D_l", "0.31"),
        )
        for bottom, colour, mean, verb, detail, target, arrives in moves:
            _cell(axes, (0.1, bottom - 0.1), (1.7, 1.75), mean, colour)
            _arrow(axes, (1.95, bottom + 0.5), (5.75, bottom + 0.5), colour)
            axes.text(3.8, bottom + 0.65, verb, fontsize=11.5, fontweight="bold", ha="center")
            axes.text(3.8, bottom + 0.05, detail, fontsize=10.5, ha="center", color=GREY)
            axes.text(5.95, bottom + 1.12, target, fontsize=11)
            for place, text in enumerate((arrives, "", "")):
                _cell(axes, (5.95 + place, bottom), (1.0, 1.0), text, colour if text else "")
        return figure

    caption = (
        "Three arms share a box, sorted by mean. The best is lifted: it is pulled afresh, more often than before, and "
        "enters the next level. The middle one is shifted: it keeps its mean and waits for other middle ones. The "
        "worst is discarded."
    )
    return PaperFigure("arrange", "ARRANGE", caption, ("rank", "operation", "goes_to", "pulls"), rows, draw)


def _sheet(height: float, across: tuple[float, float], up: tuple[float, float]) -> "tuple[Figure, Axes]":
    figure = canvas(WIDTH, height)
    axes = figure.add_subplot()
    axes.set(xlim=across, ylim=up)
    axes.axis("off")
    return figure, axes


def _block(axes: "Axes", left: float, bottom: float, texts: list[str], *, marked: int) -> None:
    """Draw values side by side, one of them marked by its colour and a thick frame."""
    from matplotlib.patches import Rectangle

    for place, text in enumerate(texts):
        look: dict[str, Any] = {"facecolor": "white", "edgecolor": GREY, "linewidth": 1, "zorder": 2}
        if place == marked:
            look = {"facecolor": pale(COLOURS[5]), "edgecolor": COLOURS[0], "linewidth": 2.4, "zorder": 3}
        axes.add_patch(Rectangle((left + 0.9 * place, bottom), 0.9, 0.85, **look))
        weight = "bold" if place == marked else "normal"
        axes.text(left + 0.9 * place + 0.45, bottom + 0.42, text, ha="center", va="center", weight=weight, zorder=4)


def _cell(axes: "Axes", corner: tuple[float, float], size: tuple[float, float], text: str, colour: str) -> None:
    """Draw the place of one arm in a box, pale where it is empty."""
    from matplotlib.patches import Rectangle

    axes.add_patch(Rectangle(corner, *size, facecolor=pale(colour) if colour else _EMPTY, edgecolor=GREY))
    middle = (corner[0] + size[0] / 2, corner[1] + size[1] / 2)
    axes.text(*middle, text, ha="center", va="center", fontsize=10.5)


def _arrow(axes: "Axes", start: tuple[float, float], end: tuple[float, float], colour: str = GREY) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.8})
