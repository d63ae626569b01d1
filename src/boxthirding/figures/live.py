"""Pictures of a live run, drawn on axes of Matplotlib: the answer over time, the arms, the boxes."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from boxthirding._text import apart
from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.figures.style import COLOURS, GREY, pale, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, *_ = COLOURS
_NAMED: Final = 5  # arms of a picture that have their names beside them
_LETTERS: Final = 24  # of a name
_SIZE: Final = (7.0, 4.2)  # inches of a picture of our own


class Point(NamedTuple):
    """An arm's mean at some moment of a run, or after some pulls of its own."""

    pulls: int
    mean: float
    name: str


class Cell(NamedTuple):
    """A box: its level, how often its arms were shifted there, None for those discarded, and how many they are."""

    level: int
    deferment: int | None
    arms: int


def axes_for(axes: "Axes | None") -> "Axes":
    """Return the axes to draw on; without any, those of a new picture, which notebooks show by themselves."""
    try:
        import matplotlib.pyplot as plt
        from matplotlib.axes import Axes
    except ImportError as error:
        raise MissingExtra("a plot", "matplotlib", "plot") from error
    if isinstance(axes, Axes):
        return axes
    if axes is not None:
        raise InvalidInput(f"ax is {axes!r}, but must be axes of Matplotlib: _, ax = plt.subplots() makes some")
    _, new = plt.subplots(figsize=_SIZE, layout="constrained")
    return new


def draw_answer(axes: "Axes", answers: Sequence[Point]) -> None:
    """Draw the mean of the answer at each moment, the last of which is now; a dot wherever it became another arm."""
    now, times = answers[-1], [answer.pulls for answer in answers]
    means = {
        BLUE: [answer.mean for answer in answers],
        ORANGE: [answer.mean if answer.name == now.name else math.nan for answer in answers],
    }
    short = apart((answer.name for answer in answers), _LETTERS)[now.name]
    names = {BLUE: "the best arm at that time", ORANGE: f"{short}, the best arm now"}
    dots = changes(answers)
    for colour, drawn in means.items():
        axes.step(times, drawn, where="post", color=colour, linewidth=1.8, label=names[colour])
        shown = [
            mean if dot or answer is now else math.nan for answer, dot, mean in zip(answers, dots, drawn, strict=True)
        ]
        axes.plot(times, shown, "o", color=colour, markersize=4.5)
    _scale_pulls(axes, times)
    axes.set_xlabel("pulls")
    axes.set_ylabel("mean so far")
    _write_means_out(axes)
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)  # above: it hides no curve
    plain(axes)


def changes(answers: Sequence[Point]) -> list[bool]:
    """Tell of each moment whether the answer was another arm than at the one before."""
    return [place == 0 or answers[place - 1].name != answer.name for place, answer in enumerate(answers)]


def draw_arms(axes: "Axes", arms: Sequence[Point], best: str) -> None:
    """Draw each arm at its pulls and its mean, the best few with their names."""
    ahead, behind = arms[:_NAMED], arms[_NAMED:]
    axes.scatter(
        [arm.pulls for arm in behind],
        [arm.mean for arm in behind],
        s=14,
        color=pale(BLUE, 0.55),
        edgecolors="none",
        rasterized=len(behind) > _MANY,
    )
    for arm in ahead:
        is_best = arm.name == best
        axes.scatter([arm.pulls], [arm.mean], s=46 if is_best else 24, color=ORANGE if is_best else BLUE, zorder=3)
    _write_names(axes, ahead, best)
    _scale_pulls(axes, [arm.pulls for arm in arms])
    axes.margins(x=0.08, y=0.12)
    axes.set_xlabel("pulls of the arm")
    axes.set_ylabel("mean of the arm")
    _write_means_out(axes)
    plain(axes)


def draw_boxes(axes: "Axes", cells: Sequence[Cell], level: int | None) -> None:
    """Draw how many arms stand in each box: a row for each level, a column for each time that they have waited."""
    from matplotlib.patches import Rectangle

    columns = 1 + max((cell.deferment for cell in cells if cell.deferment is not None), default=0)
    rows = 1 + max((cell.level for cell in cells), default=0)
    most = math.log1p(max((cell.arms for cell in cells), default=1))
    for cell in cells:
        column = columns if cell.deferment is None else cell.deferment
        strength = 0.12 + 0.68 * math.log1p(cell.arms) / most
        colour = GREY if cell.deferment is None else BLUE
        corner = (column - 0.46, cell.level - 0.42)
        axes.add_patch(Rectangle(corner, 0.92, 0.84, color=pale(colour, strength), linewidth=0))
        dark = strength > _DARK
        axes.text(column, cell.level, f"{cell.arms:,}", ha="center", va="center", color="white" if dark else "black")
    axes.set_xlim(-0.6, columns + 0.6)
    axes.set_ylim(-0.6, rows - 0.4)
    axes.set_xticks(range(columns + 1), ["new", *(f"{times}×" for times in range(1, columns)), "dropped"])
    axes.set_yticks(range(rows), [f"★ {row}" if row == level else str(row) for row in range(rows)])
    axes.set_xlabel("waited at their level")
    axes.set_ylabel("level" if level is None else "level (★ of the best arm)")
    plain(axes)
    axes.grid(visible=False)


def _write_names(axes: "Axes", arms: Sequence[Point], best: str) -> None:
    """Write names into a column beside the arms, with a thin line from each to its arm: arms may lie close."""
    low, high = axes.get_ylim()
    middle = sum(arm.mean - low for arm in arms) / len(arms) / (high - low) if arms else 0.5
    span = _LINE * (len(arms) - 1)
    top = min(0.95, max(middle + span / 2, span + 0.05))
    names = apart((arm.name for arm in arms), _LETTERS)
    for place, arm in enumerate(arms):
        axes.annotate(
            names[arm.name],
            (arm.pulls, arm.mean),
            xytext=(1.03, top - _LINE * place),
            textcoords="axes fraction",
            va="center",
            fontsize=10,
            fontweight="bold" if arm.name == best else "normal",
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 2, "shrinkB": 3},
            parse_math=False,
        )


def _write_means_out(axes: "Axes") -> None:
    """Write the numbers beside an axis in full: Matplotlib would write 10,001.2 as 1.2 and +1e4 above the picture."""
    from matplotlib.ticker import ScalarFormatter

    if isinstance(axes.yaxis.get_major_formatter(), ScalarFormatter):  # the caller's own stays
        axes.ticklabel_format(axis="y", style="plain", useOffset=False)


def _scale_pulls(axes: "Axes", pulls: Sequence[int]) -> None:
    """Give pulls an axis with numbers as people write them: logarithmic, unless they are of one size."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    low, high = min(pulls), max(pulls)
    if low == high:
        axes.set_xticks([low])
    elif high < _TENFOLD * low:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    else:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < _TENFOLD**2 * low else (1,)))
        axes.xaxis.set_minor_formatter(NullFormatter())

    def written(value: float, _: Any) -> str:
        return f"{value:,.0f}" if value >= 1 else ""

    axes.xaxis.set_major_formatter(FuncFormatter(written))


_TENFOLD: Final = 10
_LINE: Final = 0.09  # of the height: a name beside the picture
_MANY: Final = 2_000  # dots that are drawn as one picture in a file of lines
_DARK: Final = 0.5  # from here on, letters are white
