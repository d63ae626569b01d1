"""A small curve as SVG, for pages: no package is needed, and it takes the colours of the page around it."""

import math
from collections.abc import Sequence
from html import escape
from typing import Final

from boxthirding.figures.live import Point

_WIDTH, _HEIGHT = 400, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 10, 30
_LINES: Final = 4  # about so many lines across


def answer_curve(answers: Sequence[Point], pulls: int, mean: float) -> str:
    """Return the mean of the answer over the pulls as a picture: a step wherever the answer became another arm."""
    points = [*answers, Point(max(pulls, answers[-1].pulls if answers else 1), mean, "")]
    across = _Scale(math.log10(points[0].pulls), math.log10(points[-1].pulls), _LEFT, _WIDTH - _RIGHT)
    low, high = min(point.mean for point in points), max(point.mean for point in points)
    if high - low <= _EQUAL * abs(high):
        low = high
    room = 0.08 * (high - low) or 0.5 * abs(high) or 0.5
    up = _Scale(low - room, high + room, _HEIGHT - _BOTTOM, _TOP)
    parts = [_grid(up, low, high), _ticks(across, points[0].pulls, points[-1].pulls), _line(points, across, up)]
    for point in points[:-1]:
        x, y = across(math.log10(point.pulls)), up(point.mean)
        title = escape(f"{point.name}: mean {point.mean:.4g} after {point.pulls:,} pulls")
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="b3-dot"><title>{title}</title></circle>')
    x, y = across(math.log10(points[-1].pulls)), up(mean)
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="b3-now"/>')
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="The mean of the answer over the pulls" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


class _Scale:
    """Where a value stands in a picture."""

    def __init__(self, low: float, high: float, first: float, last: float) -> None:
        self._low, self._first = low, first
        self._factor = (last - first) / (high - low) if high > low else 0.0

    def __call__(self, value: float) -> float:
        return self._first + (value - self._low) * self._factor


def _line(points: Sequence[Point], across: _Scale, up: _Scale) -> str:
    begin, *others = points
    path = [f"M{across(math.log10(begin.pulls)):.1f} {up(begin.mean):.1f}"]
    path += [f"H{across(math.log10(point.pulls)):.1f}V{up(point.mean):.1f}" for point in others]
    return f'<path d="{"".join(path)}" class="b3-line"/>'


def _grid(up: _Scale, low: float, high: float) -> str:
    """Return lines across at round values."""
    step = _round_step((high - low) / _LINES) if high > low else (abs(high) or 1.0)
    first = math.floor(low / step)
    values = [k * step for k in range(first, math.ceil(high / step) + 1)]
    shown = [(value, up(value)) for value in values if _TOP - 1 <= up(value) <= _HEIGHT - _BOTTOM + 1]
    return "".join(
        f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="b3-grid"/>'
        f'<text x="{_LEFT - 6}" y="{y + 3.5:.1f}" text-anchor="end">{value:.4g}</text>'
        for value, y in shown
    )


def _ticks(across: _Scale, first: int, last: int) -> str:
    """Return pulls below the picture: powers of ten, and the last."""
    powers = [10**k for k in range(math.ceil(math.log10(first)), math.floor(math.log10(last)) + 1)]
    end = across(math.log10(last))
    marks = [(value, across(math.log10(value))) for value in powers]
    room = _LETTER * (len(f"{last:,} pulls") + _GAP)
    texts = [
        f'<text x="{x:.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{v:,}</text>' for v, x in marks if x < end - room
    ]
    return "".join([*texts, f'<text x="{end:.1f}" y="{_HEIGHT - 12}" text-anchor="end">{last:,} pulls</text>'])


def _round_step(step: float) -> float:
    """Return the next round number: 1, 2 or 5 times a power of ten.

    >>> [_round_step(step) for step in (0.03, 0.7, 12)]
    [0.05, 1.0, 20.0]
    """
    power = 10.0 ** math.floor(math.log10(step))
    return float(f"{next(times * power for times in (1, 2, 5, 10) if times * power >= step * (1 - 1e-9)):.6g}")


_EQUAL: Final = 1e-9  # what differs by less is the same mean
_LETTER: Final = 6  # about so wide is a letter
_GAP: Final = 3  # letters between two texts
