"""The picture: a panel for each group, a row for each policy, its relative regret and both its intervals."""

from typing import TYPE_CHECKING, Any, Final

from boxthirding.figures.style import COLOURS, GREY, canvas, plain
from boxthirding.report.leaderboard.board import Board
from boxthirding.report.leaderboard.comparing import ADDED
from boxthirding.report.leaderboard.entrants import Entrant, marks_used
from boxthirding.report.leaderboard.facts import Facts, group_name
from boxthirding.report.leaderboard.suites import Group

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_UNTOLD: Final = COLOURS[0]
_TOLD: Final = COLOURS[1]
_PANEL = 2.3  # inches
_NAMES = 2.9  # inches, of the names of policies
_ROW = 0.34  # inches


def draw(board: Board, facts: Facts) -> "Figure":
    """Draw the standings, best first."""
    groups, rows = board.groups, len(board.ranking)
    figure = canvas(_NAMES + _PANEL * len(groups), 2.4 + _ROW * rows)
    panels = figure.subplots(1, len(groups), sharey=True, squeeze=False)[0]
    for axes, group in zip(panels, groups, strict=True):
        for row, entrant in enumerate(board.ranking):
            _draw_score(axes, board, entrant, group, row)
        _label(axes, board, group)
    panels[0].set_yticks(range(rows), [_name(entrant) for entrant in board.ranking])
    panels[0].set_ylim(rows - 0.5, -0.5)
    _head(figure, facts)
    _legend(figure, facts, board)
    return figure


def _draw_score(axes: "Axes", board: Board, entrant: Entrant, group: Group | None, row: int) -> None:
    """Draw a point with its thick 95 % and its thin 99 % interval; it is open where the policy is told something."""
    score = board.scores.get((entrant.spec, group))
    if score is None:
        return
    look = _look(told=bool(entrant.told), whole=score.whole)
    for level, width in ((0.99, 1.2), (0.95, 3.2)):
        axes.plot(score.ratio.interval(level), (row, row), color=look["color"], linewidth=width, solid_capstyle="butt")
    axes.plot(score.ratio.value, row, **look)


def _look(*, told: bool, whole: bool) -> dict[str, Any]:
    """Return how a point looks: open where the policy is told something, a diamond where it cannot run everywhere."""
    colour = _TOLD if told else _UNTOLD
    return {
        "marker": "o" if whole else "D",
        "markersize": 7 if whole else 5.5,
        "color": colour,
        "markerfacecolor": "white" if told else colour,
        "markeredgewidth": 1.6,
    }


def _names_of_looks(board: Board) -> dict[str, tuple[bool, bool]]:
    """Return what the points that are there mean, each with whether it is told something and runs everywhere."""
    told = {entrant.spec: bool(entrant.told) for entrant in board.entrants}
    there = {(told[spec], score.whole) for (spec, _), score in board.scores.items()}
    words = {False: "told nothing", True: f"told {' or '.join(marks_used(board.entrants))}"}
    named = {words[kind]: (kind, True) for kind in (False, True) if (kind, True) in there}
    short = [kind for kind in (False, True) if (kind, False) in there]
    for kind in short:
        named[f"{words[kind]}, cannot run in every cell" if len(short) > 1 else "cannot run in every cell"] = (
            kind,
            False,
        )
    return named


def _label(axes: "Axes", board: Board, group: Group | None) -> None:
    """Name a panel and put plain numbers on a logarithmic axis."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axes.set_xscale("log")
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, 0.95), max(high, 1.6))
    span = axes.get_xlim()[1] / axes.get_xlim()[0]
    axes.xaxis.set_major_locator(LogLocator(subs=_numbered(span)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title(f"{group_name(group)} ({len(board.cells_in(group))})", fontsize=12, loc="left")
    axes.axvline(1, color=GREY, linewidth=1, zorder=0)
    plain(axes)


def _numbered(span: float) -> tuple[float, ...]:
    """Return which multiples of a power of ten get a number: more of them the less the axis spans."""
    for limit, multiples in ((2.5, (1, 1.2, 1.5, 2)), (8, (1, 2, 4)), (60, (1, 3))):
        if span < limit:
            return multiples
    return (1,)


def _name(entrant: Entrant) -> str:
    return f"{entrant.spec}  [{entrant.marks}]" if entrant.told else entrant.spec


def _head(figure: "Figure", facts: Facts) -> None:
    title = f"Leaderboard, suite {facts.suite.name}: regret relative {facts.reference}"
    figure.suptitle(title, fontsize=13, fontweight="bold", x=0.01, ha="left")


def _legend(figure: "Figure", facts: Facts, board: Board) -> None:
    """Say below the panels how to read them."""
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], linestyle="", **_look(told=told, whole=whole), label=name)
        for name, (told, whole) in _names_of_looks(board).items()
    ]
    figure.legend(
        handles=marks,
        loc="outside lower center",
        ncols=len(marks),
        frameon=False,
        fontsize=11,
        title=f"geometric mean over cells, their number in brackets; {ADDED} added to both regrets; left is better\n"
        f"thick: 95 % interval, thin: 99 %, paired by replicate; {board.replicates:,} replicates, seed {facts.seed}",
        title_fontproperties={"size": 10},
    )
