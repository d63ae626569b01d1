"""The style of all pictures: colours, lines and names of policies, titles, axes, legends and file formats.

Matplotlib is loaded when something is drawn. Figures are made without pyplot, so nothing here depends on a display or
on what else the process draws.
"""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito, which colour-blind readers can tell apart; its yellow is lost on white."""

DASHES: Final[tuple[Any, ...]] = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1)))
"""Seven colours and four kinds of line: 28 policies before both are the same again."""

MARKERS: Final = ("o", "s", "^", "D", "v")  # five marks, so that lines can also be told apart where they cross

GREY: Final = "#555555"

_GRID = "#DDDDDD"
_THOUSANDTH = 0.000_999
_RAISED: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_BESIDE = 1.0  # inches of a picture beside the axes
_LETTERS_AN_INCH = 13.6  # of the lines below a title
_STAMPS: Final[dict[str, dict[str, None] | None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}


def pale(colour: str, strength: float = 0.4) -> str:
    """Return a colour mixed with white: an SVG shows hatches on it, which it does not on a transparent one.

    >>> pale("#000000", 0.2)
    '#cccccc'
    """
    return mixed(colour, "#FFFFFF", 1 - strength)


def mixed(colour: str, other: str, share: float) -> str:
    """Return a colour mixed with a share of another.

    >>> mixed("#000000", "#FF0000", 0.2), mixed("#D55E00", "#000000", 0)
    ('#330000', '#d55e00')
    """
    pairs = ((int(colour[k : k + 2], 16), int(other[k : k + 2], 16)) for k in (1, 3, 5))
    return "#" + "".join(f"{round(one + share * (two - one)):02x}" for one, two in pairs)


@dataclass(frozen=True)
class Look:
    """How a policy is drawn."""

    words: str  # the policy's name in words
    colour: str
    marker: str | tuple[int, int, int]  # as Matplotlib names it; (8, 1, 0) is a star with eight points
    dashes: Any = "-"

    @property
    def line(self) -> dict[str, Any]:
        """Keyword arguments of Matplotlib for a line."""
        return {"color": self.colour, "linestyle": self.dashes, "marker": self.marker}


# Every policy of this package. Colours are of Okabe and Ito, of Tol, or chosen by hand; no two markers are the same.
# tests/figures/test_looks.py says whether a colour is far enough from all others, also for colour-blind readers.
LOOKS: Final = {
    "chase": Look("Chase", "#D55E00", "o"),
    "b3": Look("Box Thirding", "#0072B2", "s"),
    "us": Look("Uniform sampling", "#4D4D4D", "v"),
    "sh": Look("Sequential Halving", "#009E73", "^"),
    "prose": Look("PROSE", "#CC79A7", "D"),
    "asha": Look("ASHA", "#E69F00", "P"),
    "bsh": Look("Bracketing Halving", "#56B4E9", "<"),
    "bucb": Look("Bracketing UCB", "#661100", ">"),
    "dsh": Look("Doubling Halving", "#999933", "X"),
    "sr": Look("Successive Rejects", "#332288", "h"),
    "ucbe": Look("UCB-E", "#000000", "*"),
    "klucb": Look("KL-UCB of the contest", "#2233DD", "d"),
    "lilucb": Look("lil'UCB of the contest", "#9944EE", "H"),
    "ebtc": Look("EB-TC", "#22DDBB", "8"),
    "ash": Look("Anytime Halving", "#66BB00", "p"),
}

_TONES: Final = (("#000000", 0.0), ("#000000", 0.45), ("#FFFFFF", 0.35), ("#FFFFFF", 0.6))
"""What the colour of each further variant of a policy is mixed with, and its share: darker, paler, palest."""

_OTHER_COLOURS: Final = ("#AA4499", "#CC6677", "#DDCC77", "#888888")


def name_of(label: str) -> str:
    """Return the name of the policy that a SPEC, or a label that begins with one, is about.

    >>> name_of("b3:reuse=topup"), name_of("b3, seed 4"), name_of("my.module:Mine")
    ('b3', 'b3', 'my.module')
    """
    return label.replace(",", ":").replace(" ", ":").partition(":")[0]


def format_label(label: str) -> str:
    """Return a label with the policy's name in words; a policy outside this package keeps its SPEC.

    >>> format_label("b3:reuse=topup"), format_label("mine")
    ('Box Thirding (b3:reuse=topup)', 'mine')
    """
    look = LOOKS.get(name_of(label))
    return label if look is None else f"{look.words} ({label})"


def look_of(label: str, before: Iterable[str] = ()) -> Look:
    """Return how a policy is drawn: its colour depends on its name alone.

    Of several variants of one policy in a picture, the first has a solid line in that colour, the others have dashes in
    tones of it; `before` names the policies drawn before it.
    """
    name = name_of(label)
    variant = sum(name_of(other) == name for other in before)
    base = LOOKS.get(name) or Look(name, _OTHER_COLOURS[crc32(name.encode()) % len(_OTHER_COLOURS)], "p")
    colour = mixed(base.colour, *_TONES[variant % len(_TONES)])
    return Look(base.words, colour, base.marker, DASHES[variant % len(DASHES)])


def looks_of(labels: Iterable[str]) -> list[Look]:
    """Return the looks of all policies of a picture, in their order.

    >>> [look.dashes == "-" for look in looks_of(["b3", "us", "b3:reuse=topup"])]
    [True, True, False]
    """
    listed = list(labels)
    return [look_of(label, listed[:place]) for place, label in enumerate(listed)]


def canvas(width: float, height: float) -> "Figure":
    """Return an empty figure of this size in inches, whose parts do not overlap."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def plain(axes: "Axes") -> None:
    """Give axes a light grid behind the data, and no frame on top and on the right."""
    axes.tick_params(labelsize=11)
    axes.grid(visible=True, which="major", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def readable(value: float) -> str:
    """Format a number of a logarithmic axis: 10,000, 0.05, and below a thousandth 10⁻⁵.

    >>> readable(10_000), readable(0.05), readable(0.00001), readable(0.0002)
    ('10,000', '0.05', '10⁻⁵', '2·10⁻⁴')
    """
    if value >= _THOUSANDTH or value <= 0:
        return f"{value:,.0f}" if value >= 1_000 else f"{value:g}"  # noqa: PLR2004  # commas begin there
    digits, _, power = f"{value:.0e}".partition("e")
    ten = "10" + f"{int(power)}".translate(_RAISED)
    return ten if digits == "1" else f"{digits}·{ten}"


def label_logs(*axes: "Axis") -> None:
    """Format the numbers of logarithmic axes, without numbers at minor ticks."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    for axis in axes:
        axis.set_major_formatter(FuncFormatter(lambda value, _: readable(value)))
        axis.set_minor_formatter(NullFormatter())


def head(axes: "Axes", title: str, lines: list[str]) -> None:
    """Put a title above a chart, and smaller lines, wrapped if they are too long, between the two."""
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
    """Put the legend below the chart, where it hides no data; `order` is the order of the lines."""
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


def finish(
    figure: "Figure",
    labels: tuple[str, str],
    title: str,
    lines: list[str],
    columns: int,
    order: Sequence[int] | None = None,
) -> "Figure":
    """Label the axes of a chart, and add its title and its legend."""
    axes = figure.axes[0]
    axes.set_xlabel(labels[0], fontsize=12)
    axes.set_ylabel(labels[1], fontsize=12)
    label_logs(*(axis for axis in (axes.xaxis, axes.yaxis) if axis.get_scale() == "log"))
    plain(axes)
    head(axes, title, lines)
    legend(figure, columns, order)
    return figure


def multiples_shown(span: float, *steps: tuple[float, tuple[float, ...]]) -> tuple[float, ...]:
    """Return which multiples of a power of ten get a number: more of them if the axis spans less.

    >>> multiples_shown(50, (10, (1, 3, 5)), (100, (1, 5)))
    (1, 5)
    """
    return next((multiples for limit, multiples in steps if span < limit), (1,))


def rendered(figure: "Figure", ending: str) -> bytes:
    """Return a figure as the bytes of a file; the same data give the same bytes."""
    import matplotlib as mpl

    picture = io.BytesIO()
    with mpl.rc_context({"svg.hashsalt": "boxthirding"}):  # no random identifiers
        figure.savefig(picture, format=ending, metadata=_STAMPS[ending])  # no date
    figure.set_layout_engine("none")  # the layout is done: other formats reuse it
    return picture.getvalue()
