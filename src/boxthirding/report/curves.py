"""Regret against pulls: a line for the mean of each policy, and a band for the middle half of its replicates."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from boxthirding.figures.style import COLOURS, DASHES, MARKERS, canvas, head, legend, plain
from boxthirding.sim import Run
from boxthirding.types import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DECADES_BELOW = 1.5  # a quartile may lie far below the lowest mean; the picture belongs to the means
_MARKS = 12  # about so many marks on a line
_POINTS_A_LETTER = 6.7  # of the legend


@dataclass(frozen=True)
class Curve:
    """What is drawn of one policy, [C] each."""

    name: str
    pulls: Ints
    mean: Floats
    low: Floats  # the lower quartile
    high: Floats  # the upper quartile

    @classmethod
    def of(cls, name: str, run: Run) -> "Curve":
        """Summarise the replicates of a run."""
        rows = run.rows()
        mean, low, high = (np.array([row[key] for row in rows]) for key in ("regret_mean", "regret_q25", "regret_q75"))
        return cls(name, run.checkpoints, mean, low, high)


def regret_figure(
    curves: Sequence[Curve], *, title: str, subtitle: str, size: tuple[float, float] = (8, 5.6)
) -> "Figure":
    """Draw curves on logarithmic axes.

    What lies too far below to be shown, a regret of 0 above all, is drawn at the lower edge, and the picture says so.
    """
    figure = canvas(*size)
    axes = figure.add_subplot()
    floor = _floor(curves)
    looks = zip(cycle(COLOURS), cycle(DASHES), cycle(MARKERS), strict=False)
    for curve, look in zip(curves, looks, strict=False):
        _draw(axes, curve, floor, *look, alpha=min(0.13, 0.4 / len(curves)))
    _label_axes(axes, curves, floor)
    head(axes, title, [subtitle, *_reading(curves, floor)])
    legend(figure, _legend_columns(curves, size[0]))
    return figure


def _floor(curves: Sequence[Curve]) -> float:
    """Return the lowest regret that the picture shows."""
    means = np.concatenate([curve.mean for curve in curves])
    quartiles = np.concatenate([curve.low for curve in curves])
    if not (means > 0).any():
        return 1e-3  # every run found a best arm: any axis will do
    lowest_mean = means[means > 0].min()
    shown = quartiles[quartiles >= lowest_mean * 10**-_DECADES_BELOW]
    lowest = min([lowest_mean, *shown])
    return float(lowest) / 1.25


def _draw(axes: "Axes", curve: Curve, floor: float, colour: str, dashes: Any, marker: str, *, alpha: float) -> None:
    """Draw a policy's mean and its band, whose thin edges tell overlapping bands apart."""
    low, mean, high = (np.maximum(values, floor) for values in (curve.low, curve.mean, curve.high))
    axes.fill_between(curve.pulls, low, high, color=colour, alpha=alpha, linewidth=0)
    for edge in (low, high):
        axes.plot(curve.pulls, edge, color=colour, alpha=3 * alpha, linewidth=0.7)
    axes.plot(
        curve.pulls,
        mean,
        color=colour,
        linestyle=dashes,
        linewidth=2,
        marker=marker,
        markersize=5,
        markevery=max(1, len(curve.pulls) // _MARKS),
        label=curve.name,
    )


def _label_axes(axes: "Axes", curves: Sequence[Curve], floor: float) -> None:
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
    plain(axes)


def _numbered(span: float) -> tuple[float, ...]:
    """Return which multiples of a power of ten get a number: more of them the less the axis spans."""
    for limit, multiples in ((10, (1, 1.5, 2, 3, 4, 5, 7)), (100, (1, 2, 5))):
        if span < limit:
            return multiples
    return (1,)


def _reading(curves: Sequence[Curve], floor: float) -> list[str]:
    """Return what a reader must know to read the picture."""
    lines = ["line: mean of the replicates; band: their middle half, from 25 % to 75 %"]
    if min(float(min(curve.mean.min(), curve.low.min())) for curve in curves) < floor:
        lines.append(f"regrets below {floor:.2g}, those of 0 among them, are drawn at the lower edge")
    return lines


def _legend_columns(curves: Sequence[Curve], width: float) -> int:
    """Return how many names fit side by side below a picture that is so many inches wide."""
    longest = max(len(curve.name) for curve in curves)
    letters = int(72 * width / _POINTS_A_LETTER)
    return max(1, min(len(curves), letters // (longest + 8)))
