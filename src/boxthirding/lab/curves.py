"""Regret against pulls: a line for the mean of each policy, and a band for the middle half of its replicates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from boxthirding.figures.looks import Look, in_words, looks_of
from boxthirding.figures.style import canvas, head, label_logs, legend, plain
from boxthirding.lab.runs import Run
from boxthirding.types import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DECADES_BELOW = 1.5  # a quartile may lie far below the lowest mean; the picture belongs to the means
_MARKS = 8  # on a line, about
_MOST_BANDS = 3  # more hide each other
_POINTS_A_LETTER = 6.2  # of the legend


@dataclass(frozen=True)
class Curve:
    """What is drawn of one policy, [C] each."""

    label: str
    """The SPEC of the policy, or a text that begins with it."""
    name: str
    """What the legend says."""
    pulls: Ints
    mean: Floats
    low: Floats  # the lower quartile
    high: Floats  # the upper quartile

    @classmethod
    def of(cls, label: str, run: Run, name: str | None = None) -> "Curve":
        """Summarise the replicates of a run; without a name, the policy's is written in words."""
        rows = run.rows()
        mean, low, high = (np.array([row[key] for row in rows]) for key in ("regret_mean", "regret_q25", "regret_q75"))
        return cls(label, name or in_words(label), run.checkpoints, mean, low, high)


def regret_figure(
    curves: Sequence[Curve], *, title: str, subtitle: str, size: tuple[float, float] = (7.2, 5.8)
) -> "Figure":
    """Draw curves on logarithmic axes; the legend has the best of them first, as they end.

    A few curves have bands. More would hide each other: these have bars instead, each at places of its own. What lies
    too far below to be shown, a regret of 0 above all, is drawn at the lower edge, and the picture says so.
    """
    figure = canvas(*size)
    axes = figure.add_subplot()
    floor = _floor(curves)
    bands = len(curves) <= _MOST_BANDS
    looks = looks_of(curve.label for curve in curves)
    for place, (curve, look) in enumerate(zip(curves, looks, strict=True)):
        marks = _marks(curve, place, len(curves))
        (_draw_band if bands else _draw_bars)(axes, curve, floor, look, marks)
        _draw_mean(axes, curve, floor, look, marks, width=2.0 if place else 3.2)  # below another it still shows
    _label_axes(axes, curves, floor)
    head(axes, title, [subtitle, *_reading(curves, floor, bands=bands)])
    legend(figure, _legend_columns(curves, size[0]), order=np.argsort([curve.mean[-1] for curve in curves]).tolist())
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


def _marks(curve: Curve, place: int, curves: int) -> list[int]:
    """Return the checkpoints at which a curve has a mark: about as many on each, but each at places of its own."""
    step = max(1, len(curve.pulls) // _MARKS)
    return list(range(place * step // curves, len(curve.pulls), step))


def _draw_mean(axes: "Axes", curve: Curve, floor: float, look: Look, marks: list[int], *, width: float) -> None:
    axes.plot(
        curve.pulls,
        np.maximum(curve.mean, floor),
        color=look.colour,
        linestyle=look.dashes,
        linewidth=width,
        marker=look.marker,
        markersize=6,
        markeredgecolor="white",
        markeredgewidth=0.6,
        markevery=marks,
        label=curve.name,
        zorder=3,
    )


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


def _label_axes(axes: "Axes", curves: Sequence[Curve], floor: float) -> None:
    """Put plain words and plain numbers on both axes."""
    from matplotlib.ticker import LogLocator

    highest = max(float(max(curve.mean.max(), curve.high.max())) for curve in curves)
    top = 1.25 * highest if highest > 0 else 1.0
    pulls = np.concatenate([curve.pulls for curve in curves])
    axes.set(xscale="log", yscale="log", ylim=(floor, top), xlim=(pulls.min() / 1.05, pulls.max() * 1.05))
    axes.set_xlabel("pulls", fontsize=12)
    axes.set_ylabel("simple regret: how far the\nrecommended arm is from the best", fontsize=12)
    axes.yaxis.set_major_locator(LogLocator(subs=_numbered(top / floor)))
    label_logs(axes.xaxis, axes.yaxis)
    plain(axes)


def _numbered(span: float) -> tuple[float, ...]:
    """Return which multiples of a power of ten get a number: more of them the less the axis spans."""
    for limit, multiples in ((10, (1, 1.5, 2, 3, 4, 5, 7)), (100, (1, 2, 5)), (1_000, (1, 3))):
        if span < limit:
            return multiples
    return (1,)


def _reading(curves: Sequence[Curve], floor: float, *, bands: bool) -> list[str]:
    """Return what a reader must know to read the picture."""
    lines = [f"line: mean of the replicates; {'band' if bands else 'bar'}: their middle half, from 25 % to 75 %"]
    if min(float(min(curve.mean.min(), curve.low.min())) for curve in curves) < floor:
        lines.append(f"regrets below {floor:.2g}, those of 0 among them, are drawn at the lower edge")
    return lines


def _legend_columns(curves: Sequence[Curve], width: float) -> int:
    """Return how many names fit side by side below a picture that is so many inches wide."""
    longest = max(len(curve.name) for curve in curves)
    letters = int(72 * width / _POINTS_A_LETTER)
    return max(1, min(len(curves), letters // (longest + 8)))
