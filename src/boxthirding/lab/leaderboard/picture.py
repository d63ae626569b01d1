"""The picture: the standings over all cells, with names in words, and below them a small panel for each group.

It is as wide as a phone shows without zooming, and a policy has the colour that it has in every picture.
"""

from math import ceil
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from boxthirding.figures.style import GREY, canvas, format_label, look_of, multiples_shown, plain
from boxthirding.lab.leaderboard.as_json import Facts, group_name
from boxthirding.lab.leaderboard.board import ADDED, Board
from boxthirding.lab.leaderboard.entrants import Entrant, marks_used
from boxthirding.lab.leaderboard.suites import Group

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH: Final = 5.4  # inches: letters of 10 points can be read on a phone
_ROW: Final = 0.44  # inches of a policy over all cells, its name above its interval
_LINE: Final = 0.17  # of a line of a name beside a panel of a group
_SMALL_ROW: Final = 0.25  # of a policy in such a panel, at least
_BESIDE: Final = 0.75  # of a panel's title and axis
_ABROAD: Final = 1.75  # of the title above everything and the legend below
_ACROSS: Final = 2  # groups side by side
_LEGEND: Final = 66  # letters of a line of the legend
_NAME: Final = 14  # letters of a SPEC beside a small panel, before it is broken


def draw(board: Board, facts: Facts) -> "Figure":
    """Draw the standings, best first."""
    groups = [group for group in board.groups if group is not None]
    rows, down = len(board.ranking), ceil(len(groups) / _ACROSS)
    lines = max(len(_broken(entrant.spec).splitlines()) for entrant in board.ranking)
    heights = (_BESIDE + _ROW * rows, (_BESIDE + max(_SMALL_ROW, _LINE * lines) * rows) * down)
    figure = canvas(_WIDTH, _ABROAD + sum(heights))
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=heights).flat
    _draw_all(above.add_subplot(), board)
    panels = below.subplots(down, _ACROSS, sharey=True, squeeze=False).flat
    for place, axes in enumerate(panels):
        if place < len(groups):
            _draw_group(axes, board, groups[place])
        else:
            axes.axis("off")
    title = f"Leaderboard, suite {facts.suite.name}\nregret relative {facts.reference}: left is better"
    figure.suptitle(title, fontsize=13, fontweight="bold", x=0.01, ha="left")
    _legend(figure, facts, board)
    return figure


def _draw_all(axes: "Axes", board: Board) -> None:
    """Draw the standings over all cells, each policy's name in words above its interval."""
    for row, entrant in enumerate(board.ranking):
        _draw_score(axes, board, entrant, None, row)
        axes.text(
            0.01, row - 0.38, _name(entrant), transform=axes.get_yaxis_transform(), fontsize=10.5, va="center", zorder=4
        )
    axes.set_yticks([])
    axes.set_ylim(len(board.ranking) - 0.6, -0.7)
    _label(axes, board, None)
    axes.spines["left"].set_visible(False)


def _draw_group(axes: "Axes", board: Board, group: Group) -> None:
    """Draw the standings in a group of cells, in the order of all."""
    for row, entrant in enumerate(board.ranking):
        _draw_score(axes, board, entrant, group, row, small=True)
    axes.set_yticks(range(len(board.ranking)), [_broken(entrant.spec) for entrant in board.ranking])
    axes.set_ylim(len(board.ranking) - 0.5, -0.5)
    _label(axes, board, group)
    axes.tick_params(axis="y", labelsize=9, length=0)


def _draw_score(
    axes: "Axes", board: Board, entrant: Entrant, group: Group | None, row: int, *, small: bool = False
) -> None:
    """Draw a point with its thick 95 % and its thin 99 % interval."""
    score = board.scores.get((entrant.spec, group))
    if score is None:
        return
    look = _look(look_of(entrant.spec).colour, told=bool(entrant.told), whole=score.whole, small=small)
    for level, width in ((0.99, 1.2), (0.95, 3.0 if small else 4.0)):
        axes.plot(score.ratio.interval(level), (row, row), color=look["color"], linewidth=width, solid_capstyle="butt")
    axes.plot(score.ratio.value, row, **look)
    if not small:
        end, text = (score.ratio.interval(0.99)[1], row), f"{score.ratio.value:.2f}"
        axes.annotate(text, end, xytext=(5, 0), textcoords="offset points", va="center", fontsize=10, color=GREY)


def _look(colour: str, *, told: bool, whole: bool, small: bool = False) -> dict[str, Any]:
    """Return how a point looks: open where the policy is told something, a diamond where it cannot run everywhere."""
    return {
        "marker": "o" if whole else "D",
        "markersize": (7 if whole else 5.5) * (0.8 if small else 1.1),
        "color": colour,
        "markerfacecolor": "white" if told else colour,
        "markeredgewidth": 1.6,
    }


def _names_of_looks(board: Board) -> dict[str, tuple[bool, bool]]:
    """Return what the points that are there mean, each with whether it is told something and runs everywhere."""
    told = {entrant.spec: bool(entrant.told) for entrant in board.entrants}
    there = {(told[spec], score.whole) for (spec, _), score in board.scores.items()}
    marks = " or ".join(f"{meant} ({mark})" for mark, meant in marks_used(board.entrants).items())
    words = {False: "told nothing", True: f"told {marks}"}  # the marks stand beside the names
    named = {words[kind]: (kind, True) for kind in (False, True) if (kind, True) in there}
    short = [kind for kind in (False, True) if (kind, False) in there]
    for kind in short:
        which = f"{words[kind]}, " if len(short) > 1 else ""
        named[f"{which}cannot run in every cell"] = kind, False
    return named


def _label(axes: "Axes", board: Board, group: Group | None) -> None:
    """Name a panel and put plain numbers on a logarithmic axis."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.95), max(high, 1.6) * (1.15 if group is None else 1.0))  # room for the figure beside
    span = axes.get_xlim()[1] / axes.get_xlim()[0]
    axes.xaxis.set_major_locator(LogLocator(subs=multiples_shown(span, (2.5, (1, 1.2, 1.5, 2)), (30, (1, 2, 5)))))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}×"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    cells = len(board.cells_in(group))
    noun = "cell" if cells == 1 else "cells"
    title = f"all {cells} {noun}" if group is None else f"{group_name(group)}: {cells} {noun}"
    axes.set_title(title, fontsize=11.5, fontweight="bold", loc="left")
    axes.axvline(1, color=GREY, linewidth=1, zorder=0)
    plain(axes)


def _name(entrant: Entrant) -> str:
    return f"{format_label(entrant.spec)}, told {entrant.marks}" if entrant.told else format_label(entrant.spec)


def _broken(spec: str) -> str:
    """Break a SPEC that is too long for one line before its first key, and after its commas.

    >>> _broken("sh:growth=1.7,mode=paper").splitlines()
    ['sh:growth=1.7,', 'mode=paper']
    """
    if len(spec) <= _NAME:
        return spec
    return spec.replace(",", ",\n") if "," in spec else spec.replace(":", ":\n", 1)


def _legend(figure: "Figure", facts: Facts, board: Board) -> None:
    """Say below the panels how to read them."""
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], linestyle="", **_look(GREY, told=told, whole=whole), label="\n".join(wrap(name, _LEGEND)))
        for name, (told, whole) in _names_of_looks(board).items()
    ]
    figure.legend(
        handles=marks,
        loc="outside lower left",
        ncols=1,
        frameon=False,
        fontsize=10,
        alignment="left",
        title=f"geometric mean over cells; {ADDED} added to both regrets\nthick: 95 % interval, thin: 99 %, "
        f"paired by replicate\n{board.replicates:,} replicates, seed {facts.seed}",
        title_fontproperties={"size": 10},
    )
