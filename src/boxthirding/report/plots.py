"""Pictures of simulated runs: regret against pulls, one line a policy.

Matplotlib is loaded when something is drawn. Figures are made without pyplot, so nothing here depends on a display or
on what else the process draws.
"""

import importlib.util
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.sim import Run
from boxthirding.types import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS: Final = ("png", "svg", "pdf")

COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The palette of Okabe and Ito, which colour-blind readers can tell apart; its yellow is lost on white."""

DASHES: Final = ("-", (0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (1, 1)))
"""Seven colours and four kinds of line: 28 policies before both are the same again."""

_DECADES_BELOW = 1.5  # a quartile may lie far below the lowest mean; the picture belongs to the means
_FEW = 12  # that many points or fewer are marked
_GREY = "#555555"
_LEGEND_WIDTH = 84  # letters


@dataclass(frozen=True)
class _Curve:
    """What is drawn of one policy, [C] each."""

    spec: str
    pulls: Ints
    mean: Floats
    low: Floats  # the lower quartile
    high: Floats  # the upper quartile

    @classmethod
    def of(cls, spec: str, run: Run) -> "_Curve":
        rows = run.rows()
        mean, low, high = (np.array([row[key] for row in rows]) for key in ("regret_mean", "regret_q25", "regret_q75"))
        return cls(spec, run.checkpoints, mean, low, high)


def log_spaced(budget: int, count: int = 60) -> list[int]:
    """Return at most `count` checkpoints from 1 to the budget, evenly spread on a logarithmic axis.

    >>> log_spaced(1000, 4)
    [1, 10, 100, 1000]
    """
    return sorted({round(pulls) for pulls in np.geomspace(1, budget, count).tolist()})


def check_plot_file(path: Path) -> str:
    """Return the format that a file's ending asks for, or say why a picture cannot be written there."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise InvalidInput(f"plot file is {str(path)!r}, but must end in .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}")
    if path.is_dir():
        raise InvalidInput(f"plot file is {str(path)!r}, but that is a folder: give the name of a file")
    if not path.parent.is_dir():
        raise InvalidInput(f"plot file is {str(path)!r}, but there is no folder {str(path.parent)!r}: make it first")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise InvalidInput(f"plot file is {str(path)!r}, but must be one that may be written")
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("a plot", "matplotlib", "plot")
    return ending


def plot_regret(path: str | Path, runs: Mapping[str, Run], *, title: str = "", subtitle: str = "") -> None:
    """Draw the mean regret of each policy against pulls, with a band from the lower to the upper quartile.

    `runs` has a policy's SPEC as its key; the ending of the file, .png, .svg or .pdf, says what is written. Both axes
    are logarithmic: what lies too far below to be shown, a regret of 0 above all, is drawn at the lower edge, and the
    picture says so.
    """
    path = Path(path)
    ending = check_plot_file(path)
    curves = [_Curve.of(spec, run) for spec, run in runs.items() if run.replicates]
    if not curves:
        raise InvalidInput("there is nothing to plot: no policy has a complete replicate")

    import matplotlib as mpl
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5.6), dpi=150, layout="constrained")
    axes = figure.add_subplot()
    floor = _floor(curves)
    for curve, colour, dashes in zip(curves, cycle(COLOURS), cycle(DASHES), strict=False):
        _draw(axes, curve, floor, colour, dashes, alpha=min(0.13, 0.4 / len(curves)))
    _label_axes(axes, curves, floor)
    _head(axes, title, [subtitle, *_reading(curves, floor)])
    figure.legend(
        loc="outside lower center",
        ncols=_legend_columns(curves),
        frameon=False,
        fontsize=11,
        handlelength=3.6,  # long enough to tell the dashes apart
    )
    picture = io.BytesIO()
    # The same runs give the same file, byte for byte: no random identifiers, no date.
    stamps = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}[ending]
    with mpl.rc_context({"svg.hashsalt": "boxthirding"}):
        figure.savefig(picture, format=ending, metadata=stamps)
    path.write_bytes(picture.getvalue())


def _floor(curves: list[_Curve]) -> float:
    """Return the lowest regret that the picture shows."""
    means = np.concatenate([curve.mean for curve in curves])
    quartiles = np.concatenate([curve.low for curve in curves])
    if not (means > 0).any():
        return 1e-3  # every run found a best arm: any axis will do
    lowest_mean = means[means > 0].min()
    shown = quartiles[quartiles >= lowest_mean * 10**-_DECADES_BELOW]
    lowest = min([lowest_mean, *shown])
    return float(lowest) / 1.25


def _draw(axes: "Axes", curve: _Curve, floor: float, colour: str, dashes: Any, *, alpha: float) -> None:
    """Draw a policy's mean and its band, whose thin edges tell overlapping bands apart."""
    low, mean, high = (np.maximum(values, floor) for values in (curve.low, curve.mean, curve.high))
    axes.fill_between(curve.pulls, low, high, color=colour, alpha=alpha, linewidth=0)
    for edge in (low, high):
        axes.plot(curve.pulls, edge, color=colour, alpha=3 * alpha, linewidth=0.7)
    marker = "o" if len(curve.pulls) <= _FEW else None
    axes.plot(curve.pulls, mean, color=colour, linestyle=dashes, linewidth=2, marker=marker, label=curve.spec)


def _label_axes(axes: "Axes", curves: list[_Curve], floor: float) -> None:
    """Put plain words and plain numbers on both axes."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    highest = max(float(max(curve.mean.max(), curve.high.max())) for curve in curves)
    top = 1.25 * highest if highest > 0 else 1.0
    pulls = np.concatenate([curve.pulls for curve in curves])
    axes.set(xscale="log", yscale="log", ylim=(floor, top), xlim=(pulls.min() / 1.05, pulls.max() * 1.05))
    axes.set_xlabel("pulls", fontsize=12)
    axes.set_ylabel("simple regret: how far the\nrecommended arm is from the best", fontsize=12)
    axes.yaxis.set_major_locator(LogLocator(subs=_numbered(top / floor)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.tick_params(labelsize=11)
    axes.grid(visible=True, which="major", color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _numbered(span: float) -> tuple[float, ...]:
    """Return which multiples of a power of ten get a number: more of them the less the axis spans."""
    for limit, multiples in ((10, (1, 1.5, 2, 3, 4, 5, 7)), (100, (1, 2, 5))):
        if span < limit:
            return multiples
    return (1,)


def _reading(curves: list[_Curve], floor: float) -> list[str]:
    """Return what a reader must know to read the picture."""
    lines = ["line: mean of the replicates; band: their middle half, from 25 % to 75 %"]
    if min(float(min(curve.mean.min(), curve.low.min())) for curve in curves) < floor:
        lines.append(f"regrets below {floor:.2g}, those of 0 among them, are drawn at the lower edge")
    return lines


def _head(axes: "Axes", title: str, lines: list[str]) -> None:
    """Put a title above the picture and smaller lines between the two."""
    lines = [line for line in lines if line]
    axes.annotate(
        "\n".join(lines),
        (0, 1),
        xytext=(0, 6),
        xycoords="axes fraction",
        textcoords="offset points",
        va="bottom",
        fontsize=10,
        color=_GREY,
        linespacing=1.25,
        parse_math=False,
    )
    axes.set_title(title, loc="left", pad=12 + 13.5 * len(lines), fontsize=13, fontweight="bold", parse_math=False)


def _legend_columns(curves: list[_Curve]) -> int:
    """Return how many SPECs fit side by side below the picture."""
    longest = max(len(curve.spec) for curve in curves)
    return max(1, min(len(curves), _LEGEND_WIDTH // (longest + 8)))
