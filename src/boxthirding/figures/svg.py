"""Small pictures as SVG, for pages: no package is needed, and they take the colours of the page around them."""

import itertools
import math
from collections.abc import Sequence
from html import escape
from typing import Final

from boxthirding._text import counted, writer
from boxthirding.figures.live import Point, changes

_WIDTH, _HEIGHT = 400, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 10, 30
_LINES: Final = 4  # about so many lines across


def answer_curve(points: Sequence[Point], unit: str = "pull") -> str:
    """Return the mean of the answer at each moment as a picture, with a dot wherever it became another arm.

    The last moment is now. `unit` is the page's word for a pull.
    """
    low, high = min(point.mean for point in points), max(point.mean for point in points)
    if high - low <= _EQUAL * abs(high):
        low = high
    room = 0.08 * (high - low) or 0.5 * abs(high) or 0.5
    up = _Scale(low - room, high + room, _HEIGHT - _BOTTOM, _TOP)
    grid, left = _grid(up, low, high)
    across = _Scale(math.log10(points[0].pulls), math.log10(points[-1].pulls), left, _WIDTH - _RIGHT)
    write = writer(point.mean for point in points)
    ticks = _ticks(across, points[0].pulls, points[-1].pulls, unit)
    parts = [grid, ticks, _line(points, across, up)]
    for point in itertools.compress(points, changes(points)):
        x, y = across(math.log10(point.pulls)), up(point.mean)
        title = escape(f"“{point.name}”: mean {write(point.mean)} after {counted(point.pulls, unit)}")
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" class="b3-dot"><title>{title}</title></circle>')
    x, y = across(math.log10(points[-1].pulls)), up(points[-1].mean)
    parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="b3-now"/>')
    return _picture(parts, f"The mean of the answer over the {unit}s")


def line(points: Sequence[tuple[float, float]], label: str, across_name: str) -> str:
    """Return a line through points as a picture, from 0 on in both directions."""
    last, most = max(1.0, *(x for x, _ in points)), max(1.0, *(y for _, y in points))
    up = _Scale(0, most, _HEIGHT - _BOTTOM, _TOP)
    grid, left = _grid(up, 0, most)
    across = _Scale(0, last, left, _WIDTH - _RIGHT)
    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
    marks = [k * _round_step(last / _LINES) for k in range(_LINES + 1)]
    write = writer(marks)
    shown = [(value, across(value)) for value in marks if value <= last]
    texts = [
        f'<text x="{x:.1f}" y="{_HEIGHT - 16}" text-anchor="{_anchor(x)}">{write(value)}</text>' for value, x in shown
    ]
    curve = f'<polyline points="{path}" class="b3-line"/>'
    return _picture([grid, *texts, _name(across_name), curve], label)


def bars(rows: Sequence[tuple[str, int]], label: str, across_name: str, marks: Sequence[str] = ()) -> str:
    """Return bars as a picture: what stands below each, as there is room, and its height.

    `marks` are attributes, one text for each bar, of the elements that say what stands below it.
    """
    most = max(1, *(height for _, height in rows))
    up = _Scale(0, most, _HEIGHT - _BOTTOM, _TOP)
    grid, left = _grid(up, 0, most)
    wide = min(_WIDEST, (_WIDTH - left - _RIGHT) / len(rows))
    every = max(1, math.ceil(_LETTER * (max(len(text) for text, _ in rows) + 2) / wide))
    parts = [grid, _name(across_name)]
    for place, (text, height) in enumerate(rows):
        x, y = left + place * wide, up(height)
        mark = f" {marks[place]}" if marks else ""
        title = f"<title{mark}>{escape(text)}: {height:,}</title>"
        size = f'width="{max(1.0, 0.9 * wide):.1f}" height="{_HEIGHT - _BOTTOM - y:.1f}"'
        parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} class="b3-bar">{title}</rect>')
        if place % every == 0:
            middle = max(x + wide / 2, _LETTER * len(text) / 2)
            parts.append(f'<text x="{middle:.1f}" y="{_HEIGHT - 16}" text-anchor="middle"{mark}>{escape(text)}</text>')
    return _picture(parts, label)


def whisker(mean: float, low: float, high: float, ends: tuple[float, float]) -> str:
    """Return a mean and its interval as a small picture; `ends` are those of a range that several share."""
    across = _Scale(ends[0], ends[1], 4, 96)
    return (
        '<svg viewBox="0 0 100 14" class="b3-whisker" aria-hidden="true" preserveAspectRatio="none">'
        '<line x1="0" x2="100" y1="7" y2="7" class="b3-grid"/>'
        f'<line x1="{across(low):.1f}" x2="{across(high):.1f}" y1="7" y2="7" class="b3-interval"/>'
        f'<line x1="{across(mean):.1f}" x2="{across(mean):.1f}" y1="1" y2="13" class="b3-middle"/></svg>'
    )


def _picture(parts: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(label)}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


def _name(text: str) -> str:
    """Return the name of the axis below a picture."""
    return f'<text x="{(_LEFT + _WIDTH) / 2:.1f}" y="{_HEIGHT - 3}" text-anchor="middle">{escape(text)}</text>'


def _anchor(x: float) -> str:
    return "end" if x > _WIDTH - _RIGHT - 2 * _LETTER else "middle"


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


def _grid(up: _Scale, low: float, high: float) -> tuple[str, float]:
    """Return lines across at round values, and where they begin: beside the widest of their numbers."""
    step = _round_step((high - low) / _LINES) if high > low else (abs(high) or 1.0)
    first = math.floor(low / step)
    values = [k * step for k in range(first, math.ceil(high / step) + 1)]
    shown = [(value, up(value)) for value in values if _TOP - 1 <= up(value) <= _HEIGHT - _BOTTOM + 1]
    write = writer(value for value, _ in shown)
    left = max(_LEFT, _LETTER * (2 + max((len(write(value)) for value, _ in shown), default=0)))
    lines = "".join(
        f'<line x1="{left}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" class="b3-grid"/>'
        f'<text x="{left - 6}" y="{y + 3.5:.1f}" text-anchor="end">{write(value)}</text>'
        for value, y in shown
    )
    return lines, left


def _ticks(across: _Scale, first: int, last: int, unit: str) -> str:
    """Return pulls below the picture: powers of ten, and the last."""
    powers = [10**k for k in range(math.ceil(math.log10(first)), math.floor(math.log10(last)) + 1)]
    end = across(math.log10(last))
    marks = [(value, across(math.log10(value))) for value in powers]
    ending = counted(last, unit)
    room = _LETTER * (len(ending) + _GAP)
    texts = [
        f'<text x="{x:.1f}" y="{_HEIGHT - 12}" text-anchor="middle">{v:,}</text>' for v, x in marks if x < end - room
    ]
    return "".join([*texts, f'<text x="{end:.1f}" y="{_HEIGHT - 12}" text-anchor="end">{ending}</text>'])


def _round_step(step: float) -> float:
    """Return the next round number: 1, 2 or 5 times a power of ten.

    >>> [_round_step(step) for step in (0.03, 0.7, 12)]
    [0.05, 1.0, 20.0]
    """
    power = 10.0 ** math.floor(math.log10(step))
    return float(f"{next(times * power for times in (1, 2, 5, 10) if times * power >= step * (1 - 1e-9)):.6g}")


_WIDEST: Final = 40  # of a bar
_EQUAL: Final = 1e-9  # what differs by less is the same mean
_LETTER: Final = 6  # about so wide is a letter
_GAP: Final = 3  # letters between two texts
