"""How pictures look, whatever they show: colours, kinds of line, headings, and the files they are written to.

Matplotlib is loaded when something is drawn. Figures are made without pyplot, so nothing here depends on a display or
on what else the process draws.
"""

import io
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito, which colour-blind readers can tell apart; its yellow is lost on white."""

DASHES: Final[tuple[Any, ...]] = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1)))
"""Seven colours and four kinds of line: 28 policies before both are the same again."""

MARKERS: Final = ("o", "s", "^", "D", "v")
"""Five marks, so that lines can also be told apart where they cross."""

GREY: Final = "#555555"

_GRID = "#DDDDDD"
_THOUSANDTH = 0.000_999
_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_BESIDE = 1.0  # inches of a picture that stand beside the axes
_LETTERS_AN_INCH = 13.6  # of the lines below a title
_STAMPS: Final[dict[str, dict[str, None] | None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}


def pale(colour: str, strength: float = 0.4) -> str:
    """Return a colour mixed with white: an SVG shows hatches on it, which it does not on a transparent one.

    >>> pale("#000000", 0.2)
    '#cccccc'
    """
    return mixed(colour, "#FFFFFF", 1 - strength)


def mixed(colour: str, other: str, share: float) -> str:
    """Return a colour with a share of another one in it.

    >>> mixed("#000000", "#FF0000", 0.2), mixed("#D55E00", "#000000", 0)
    ('#330000', '#d55e00')
    """
    pairs = ((int(colour[k : k + 2], 16), int(other[k : k + 2], 16)) for k in (1, 3, 5))
    return "#" + "".join(f"{round(one + share * (two - one)):02x}" for one, two in pairs)


def canvas(width: float, height: float) -> "Figure":
    """Return an empty figure of so many inches, whose parts keep out of each other's way."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def plain(axes: "Axes") -> None:
    """Give axes a light grid behind the data and no frame that means nothing."""
    axes.tick_params(labelsize=11)
    axes.grid(visible=True, which="major", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def readable(value: float) -> str:
    """Write a number of a logarithmic axis as people do: 10,000, 0.05, and below a thousandth 10⁻⁵.

    >>> readable(10_000), readable(0.05), readable(0.00001), readable(0.0002)
    ('10,000', '0.05', '10⁻⁵', '2·10⁻⁴')
    """
    if value >= _THOUSANDTH or value <= 0:
        return f"{value:,.0f}" if value >= 1_000 else f"{value:g}"  # noqa: PLR2004  # commas begin there
    digits, _, power = f"{value:.0e}".partition("e")
    ten = "10" + f"{int(power)}".translate(_RAISED)
    return ten if digits == "1" else f"{digits}·{ten}"


def label_logs(*axes: "Axis") -> None:
    """Put numbers that people can read on logarithmic axes, and none between the marked ones."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _: readable(value)))
        axis.set_minor_formatter(NullFormatter())


def head(axes: "Axes", title: str, lines: list[str]) -> None:
    """Put a title above the picture and smaller lines, broken where they are too long, between the two."""
    figure = axes.get_figure(root=True)
    inches = figure.get_figwidth() if figure else 0.0
    letters = max(20, round((inches - _BESIDE) * _LETTERS_AN_INCH))
    lines = [part for line in lines for part in wrap(line, letters)]
    axes.annotate(
        "\n".join(lines),
        (0, 1),
        xytext=(0, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
        fontsize=10,
        color=GREY,
        linespacing=1.25,
        parse_math=False,
    )
    axes.set_title(title, loc="left", pad=12 + 13.5 * len(lines), fontsize=13, fontweight="bold", parse_math=False)


def legend(figure: "Figure", columns: int, order: "Sequence[int] | None" = None) -> None:
    """Put the legend below everything else, where it hides no data; `order` says which line comes first."""
    handles, names = figure.axes[0].get_legend_handles_labels()
    order = range(len(names)) if order is None else order
    figure.legend(
        [handles[k] for k in order],
        [names[k] for k in order],
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=11,
        handlelength=3.6,  # long enough to tell the dashes apart
    )


def rendered(figure: "Figure", ending: str) -> bytes:
    """Return a figure as a file of this format: the same data give the same file, byte for byte."""
    import matplotlib as mpl

    picture = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "boxthirding"}):  # no random identifiers
        figure.savefig(picture, format=ending, metadata=_STAMPS[ending])  # no date
    figure.set_layout_engine("none")  # it has found its places: another format need not look for them again
    return picture.getvalue()
