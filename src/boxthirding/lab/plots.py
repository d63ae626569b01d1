"""Plots of regret against pulls, and the checks of the file that a plot is written to."""

import importlib.util
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from boxthirding.errors import InvalidInput, MissingExtra
from boxthirding.figures.style import Look, canvas, finish, format_label, looks_of, multiples_shown, rendered
from boxthirding.lab.report_folder import write_whole
from boxthirding.lab.results import Run
from boxthirding.types import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS: Final = ("png", "svg", "pdf")

_DECADES_BELOW = 1.5  # a quartile further below the lowest mean does not extend the axis
_MARKS = 8  # on a line, about
_MOST_BANDS = 3  # more would hide each other
_POINTS_A_LETTER = 6.2  # of the legend


def log_spaced(budget: int, count: int = 60) -> list[int]:
    """Return at most `count` checkpoints from 1 to the budget, evenly spread on a logarithmic axis.

    >>> log_spaced(1000, 4)
    [1, 10, 100, 1000]
    """
    return sorted({round(pulls) for pulls in np.geomspace(1, budget, count).tolist()})


def check_plot_file(path: Path) -> str:
    """Return the format that a file's ending names, or raise if no plot can be written there."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise InvalidInput(f"plot file is {str(path)!r}, but must end in .{', .'.join(FORMATS[:-1])} or .{FORMATS[-1]}")
    try:
        _check_place(path)
    except OSError as problem:
        reason = problem.strerror or problem
        raise InvalidInput(f"plot file is {str(path)!r}, but cannot be written ({reason}): name another one") from None
    check_matplotlib()
    return ending


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise InvalidInput(f"plot file is {str(path)!r}, but that is a folder: give the name of a file")
    if not path.parent.is_dir():
        raise InvalidInput(f"plot file is {str(path)!r}, but there is no folder {str(path.parent)!r}: make it first")
    if not (os.access(path.parent, os.W_OK) and (os.access(path, os.W_OK) or not path.exists())):
        raise InvalidInput(f"plot file is {str(path)!r}, but must be one that may be written")


def check_matplotlib() -> None:
    """Raise, and say what to install, if Matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra("a plot", "matplotlib", "plot")


def plot_regret(path: str | Path, runs: Mapping[str, Run], *, title: str = "", subtitle: str = "") -> None:
    """Draw the mean regret of each policy against pulls, with a band from the lower to the upper quartile.

    Parameters
    ----------
    path : path
        The file to write; its ending, .png, .svg or .pdf, determines the format.
    runs : mapping of str to Run
        The runs by SPEC, or by a label that begins with one, such as "b3, seed 4". A policy has the same colour in
        every plot.
    title, subtitle : str, default ""
        Texts above the plot.

    Both axes are logarithmic. A regret too low to be shown, such as 0, is drawn at the lower edge, and the plot says
    so. More than three policies have bars instead of bands, which would hide each other.

    """
    path = Path(path)
    ending = check_plot_file(path)
    curves = [Curve.of(spec, run) for spec, run in runs.items() if run.replicates]
    if not curves:
        raise InvalidInput("there is nothing to plot: no policy has a complete replicate")
    write_whole(path, rendered(regret_figure(curves, title=title, subtitle=subtitle), ending))


@dataclass(frozen=True)
class Curve:
    """The mean and the quartiles of one policy, [C] each."""

    label: str  # the SPEC of the policy, or a text that begins with it
    name: str  # the name in the legend
    pulls: Ints
    mean: Floats
    low: Floats  # the lower quartile
    high: Floats  # the upper quartile

    @classmethod
    def of(cls, label: str, run: Run, name: str | None = None) -> "Curve":
        """Summarise the replicates of a run; default name: the policy's in words."""
        rows = run.rows()
        mean, low, high = (np.array([row[key] for row in rows]) for key in ("regret_mean", "regret_q25", "regret_q75"))
        return cls(label, name or format_label(label), run.checkpoints, mean, low, high)


def regret_figure(
    curves: Sequence[Curve], *, title: str, subtitle: str, size: tuple[float, float] = (7.2, 5.8)
) -> "Figure":
    """Draw curves on logarithmic axes; the legend lists them by their last mean, the best first."""
    figure = canvas(*size)
    axes = figure.add_subplot()
    floor = _floor(curves)
    bands = len(curves) <= _MOST_BANDS
    looks = looks_of(curve.label for curve in curves)
    for place, (curve, look) in enumerate(zip(curves, looks, strict=True)):
        step = max(1, len(curve.pulls) // _MARKS)
        marks = list(range(place * step // len(curves), len(curve.pulls), step))  # other places for each curve
        (_draw_band if bands else _draw_bars)(axes, curve, floor, look, marks)
        axes.plot(
            curve.pulls,
            np.maximum(curve.mean, floor),
            **look.line,
            linewidth=2.0 if place else 3.2,  # so that the first shows below another
            markersize=6,
            markeredgecolor="white",
            markeredgewidth=0.6,
            markevery=marks,
            label=curve.name,
            zorder=3,
        )
    _scale_axes(axes, curves, floor)
    labels = ("pulls", "simple regret: how far the\nrecommended arm is from the best")
    lines = [subtitle, *_explanation(curves, floor, bands=bands)]
    letters = int(72 * size[0] / _POINTS_A_LETTER)  # of the legend, side by side
    columns = max(1, min(len(curves), letters // (max(len(curve.name) for curve in curves) + 8)))
    order = np.argsort([curve.mean[-1] for curve in curves]).tolist()
    return finish(figure, labels, title, lines, columns, order)


def _floor(curves: Sequence[Curve]) -> float:
    """Return the lowest regret on the axis."""
    means = np.concatenate([curve.mean for curve in curves])
    quartiles = np.concatenate([curve.low for curve in curves])
    if not (means > 0).any():
        return 1e-3  # every run found a best arm
    lowest_mean = means[means > 0].min()
    shown = quartiles[quartiles >= lowest_mean * 10**-_DECADES_BELOW]
    lowest = min([lowest_mean, *shown])
    return float(lowest) / 1.25


def _draw_band(axes: "Axes", curve: Curve, floor: float, look: Look, _: list[int]) -> None:
    """Draw the middle half of the replicates as a band, whose edges tell overlapping bands apart."""
    low, high = (np.maximum(values, floor) for values in (curve.low, curve.high))
    axes.fill_between(curve.pulls, low, high, color=look.colour, alpha=0.14, linewidth=0)
    for edge in (low, high):
        axes.plot(curve.pulls, edge, color=look.colour, alpha=0.5, linewidth=0.8)


def _draw_bars(axes: "Axes", curve: Curve, floor: float, look: Look, marks: list[int]) -> None:
    """Draw the middle half of the replicates as a bar at each mark."""
    low, high = (np.maximum(values[marks], floor) for values in (curve.low, curve.high))
    axes.vlines(curve.pulls[marks], low, high, color=look.colour, alpha=0.55, linewidth=1.6, zorder=2)


def _scale_axes(axes: "Axes", curves: Sequence[Curve], floor: float) -> None:
    from matplotlib.ticker import LogLocator

    highest = max(float(max(curve.mean.max(), curve.high.max())) for curve in curves)
    top = 1.25 * highest if highest > 0 else 1.0
    pulls = np.concatenate([curve.pulls for curve in curves])
    axes.set(xscale="log", yscale="log", ylim=(floor, top), xlim=(pulls.min() / 1.05, pulls.max() * 1.05))
    multiples = multiples_shown(top / floor, (10, (1, 1.5, 2, 3, 4, 5, 7)), (100, (1, 2, 5)), (1_000, (1, 3)))
    axes.yaxis.set_major_locator(LogLocator(subs=multiples))


def _explanation(curves: Sequence[Curve], floor: float, *, bands: bool) -> list[str]:
    """Return what a reader must know to read the plot."""
    lines = [f"line: mean of the replicates; {'band' if bands else 'bar'}: their middle half, from 25 % to 75 %"]
    if min(float(min(curve.mean.min(), curve.low.min())) for curve in curves) < floor:
        lines.append(f"regrets below {floor:.2g}, those of 0 among them, are drawn at the lower edge")
    return lines
