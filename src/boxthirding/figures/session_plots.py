"""Matplotlib pictures of a session or study: the answer over time, the arms, the boxes."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from boxthirding._text import apart
from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.figures.style import COLOURS, GREY, pale, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, *_ = COLOURS
_NAMED: Final = 5  # arms with their names beside them
_LETTERS: Final = 24  # of a name
_SIZE: Final = (7.0, 4.2)  # inches of a new picture
_TENFOLD: Final = 10
_LINE: Final = 0.09  # height of a name beside the axes, as a share of theirs
_MANY: Final = 2_000  # more dots than these are rasterised in vector formats
_DARK: Final = 0.5  # colours stronger than this have white letters


class Point(NamedTuple):
    """The mean of an arm after some pulls: of the whole run, or of the arm alone."""

    pulls: int
    mean: float
    name: str


def axes_for(axes: "Axes | None") -> "Axes":
    """Return the axes to draw on, by default those of a new picture, which notebooks show automatically."""
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
    """Draw the mean of the answer over time, up to now, with a dot wherever another arm became the answer."""
    now, times, dots = answers[-1], [answer.pulls for answer in answers], changes(answers)
    short = apart((answer.name for answer in answers), _LETTERS)[now.name]
    means = [answer.mean for answer in answers]
    of_now = [answer.mean if answer.name == now.name else math.nan for answer in answers]
    for colour, drawn, name in (
        (BLUE, means, "the best arm at that time"),
        (ORANGE, of_now, f"{short}, the best arm now"),
    ):
        axes.step(times, drawn, where="post", color=colour, linewidth=1.8, label=name)
        dotted = [mean if dot else math.nan for mean, dot in zip(drawn, [*dots[:-1], True], strict=True)]
        axes.plot(times, dotted, "o", color=colour, markersize=4.5)
    _label(axes, times, "pulls", "mean so far")
    # Above the axes, where it hides no curve.
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2)


def changes(answers: Sequence[Point]) -> list[bool]:
    """Return, for each moment, whether the answer changed."""
    return [place == 0 or answers[place - 1].name != answer.name for place, answer in enumerate(answers)]


def draw_arms(axes: "Axes", arms: Sequence[Point], best: str) -> None:
    """Draw each arm at its pulls and its mean, the best few with their names."""
    ahead, behind = arms[:_NAMED], arms[_NAMED:]
    places = [arm.pulls for arm in behind], [arm.mean for arm in behind]
    axes.scatter(*places, s=14, color=pale(BLUE, 0.55), edgecolors="none", rasterized=len(behind) > _MANY)
    for arm in ahead:
        is_best = arm.name == best
        axes.scatter([arm.pulls], [arm.mean], s=46 if is_best else 24, color=ORANGE if is_best else BLUE, zorder=3)
    _write_names(axes, ahead, best)
    _label(axes, [arm.pulls for arm in arms], "pulls of the arm", "mean of the arm")
    axes.margins(x=0.08, y=0.12)


def draw_boxes(axes: "Axes", boxes: Sequence[tuple[int, int | None, int]], best_level: int | None) -> None:
    """Draw how many arms each box has: a row per level, a column per number of shifts at that level.

    A box is its level, how often its arms were shifted there (None: they were discarded), and how many arms it has.
    """
    from matplotlib.patches import Rectangle

    columns = 1 + max((shifts for _, shifts, _ in boxes if shifts is not None), default=0)
    rows = 1 + max((level for level, _, _ in boxes), default=0)
    most = math.log1p(max((arms for _, _, arms in boxes), default=1))
    for level, shifts, arms in boxes:
        column = columns if shifts is None else shifts
        strength = 0.12 + 0.68 * math.log1p(arms) / most
        colour = pale(GREY if shifts is None else BLUE, strength)
        axes.add_patch(Rectangle((column - 0.46, level - 0.42), 0.92, 0.84, color=colour, linewidth=0))
        letters = "white" if strength > _DARK else "black"
        axes.text(column, level, f"{arms:,}", ha="center", va="center", color=letters)
    axes.set_xlim(-0.6, columns + 0.6)
    axes.set_ylim(-0.6, rows - 0.4)
    axes.set_xticks(range(columns + 1), ["new", *(f"{times}×" for times in range(1, columns)), "dropped"])
    axes.set_yticks(range(rows), [f"★ {row}" if row == best_level else str(row) for row in range(rows)])
    axes.set_xlabel("waited at their level")
    axes.set_ylabel("level" if best_level is None else "level (★ of the best arm)")
    plain(axes)
    axes.grid(visible=False)


def _write_names(axes: "Axes", arms: Sequence[Point], best: str) -> None:
    """Write names into a column beside the axes, with a thin line from each to its arm, because arms may lie close."""
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


def _label(axes: "Axes", pulls: Sequence[int], across: str, up: str) -> None:
    """Label both axes. That of pulls is logarithmic, unless they differ by less than a factor of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, ScalarFormatter

    low, high = min(pulls), max(pulls)
    if low == high:
        axes.set_xticks([low])
    elif high < _TENFOLD * low:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    else:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < _TENFOLD**2 * low else (1,)))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1 else ""))
    if isinstance(axes.yaxis.get_major_formatter(), ScalarFormatter):  # keep a formatter that the caller set
        axes.ticklabel_format(axis="y", style="plain", useOffset=False)  # 10,001.2, not 1.2 with +1e4 above the axes
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    plain(axes)
