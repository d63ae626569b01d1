"""Small SVG pictures for pages; they need no package, and take the colours of the page."""

import itertools
import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Final

from boxthirding._text import counted, writer
from boxthirding.figures.session_plots import Point, changes

Scale = Callable[[float], float]

_WIDTH, _HEIGHT = 400, 170
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 12, 10, 30
_LINES: Final = 4  # horizontal lines, about
_WIDEST: Final = 40  # of a bar
_EQUAL: Final = 1e-9  # means that differ by less, relatively, are shown as equal
_LETTER: Final = 6  # width of a letter, about
_GAP: Final = 3  # letters between two texts


def answer_curve(points: Sequence[Point], unit: str = "pull") -> str:
    """Draw the mean of the answer over time, up to now, with a dot wherever another arm became the answer.

    `unit` is the page's word for a pull.
    """
    low, high = min(point.mean for point in points), max(point.mean for point in points)
    if high - low <= _EQUAL * abs(high):
        low = high
    room = 0.08 * (high - low) or 0.5 * abs(high) or 0.5
    up = _scale(low - room, high + room, _HEIGHT - _BOTTOM, _TOP)
    grid, left = _grid(up, low, high)
    across = _scale(math.log10(points[0].pulls), math.log10(points[-1].pulls), left, _WIDTH - _RIGHT)
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
    """Draw a line through points, from 0 in both directions."""
    last, most = max(1.0, *(x for x, _ in points)), max(1.0, *(y for _, y in points))
    up = _scale(0, most, _HEIGHT - _BOTTOM, _TOP)
    grid, left = _grid(up, 0, most)
    across = _scale(0, last, left, _WIDTH - _RIGHT)
    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in points)
    marks = [k * _round_step(last / _LINES) for k in range(_LINES + 1)]
    write = writer(marks)
    shown = [(across(value), write(value)) for value in marks if value <= last]
    edge = _WIDTH - _RIGHT - 2 * _LETTER
    texts = [_text(x, _HEIGHT - 16, text, "end" if x > edge else "middle") for x, text in shown]
    name = _text((_LEFT + _WIDTH) / 2, _HEIGHT - 3, across_name)
    return _picture([grid, *texts, name, f'<polyline points="{path}" class="b3-line"/>'], label)


def bars(rows: Sequence[tuple[str, int]], label: str, across_name: str, marks: Sequence[str] = ()) -> str:
    """Draw bars, each given by the text below it and its height; texts are left out if there is no room.

    `marks` are HTML attributes of the elements with these texts, one per bar.
    """
    most = max(1, *(height for _, height in rows))
    up = _scale(0, most, _HEIGHT - _BOTTOM, _TOP)
    grid, left = _grid(up, 0, most)
    wide = min(_WIDEST, (_WIDTH - left - _RIGHT) / len(rows))
    every = max(1, math.ceil(_LETTER * (max(len(text) for text, _ in rows) + 2) / wide))
    parts = [grid, _text((_LEFT + _WIDTH) / 2, _HEIGHT - 3, across_name)]
    for place, (text, height) in enumerate(rows):
        x, y = left + place * wide, up(height)
        mark = f" {marks[place]}" if marks else ""
        title = f"<title{mark}>{escape(text)}: {height:,}</title>"
        size = f'width="{max(1.0, 0.9 * wide):.1f}" height="{_HEIGHT - _BOTTOM - y:.1f}"'
        parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} class="b3-bar">{title}</rect>')
        if place % every == 0:
            parts.append(_text(max(x + wide / 2, _LETTER * len(text) / 2), _HEIGHT - 16, text, more=mark))
    return _picture(parts, label)


def whisker(mean: float, low: float, high: float, ends: tuple[float, float]) -> str:
    """Draw a mean and its interval; `ends` are the ends of a range that several such pictures share."""
    across = _scale(ends[0], ends[1], 4, 96)
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


def _text(x: float, y: float, text: str, anchor: str = "middle", more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y}" text-anchor="{anchor}"{more}>{escape(text)}</text>'


def _scale(low: float, high: float, first: float, last: float) -> Scale:
    """Return the function that maps values from `low` to `high` to coordinates from `first` to `last`."""
    factor = (last - first) / (high - low) if high > low else 0.0
    return lambda value: first + (value - low) * factor


def _line(points: Sequence[Point], across: Scale, up: Scale) -> str:
    begin, *others = points
    path = [f"M{across(math.log10(begin.pulls)):.1f} {up(begin.mean):.1f}"]
    path += [f"H{across(math.log10(point.pulls)):.1f}V{up(point.mean):.1f}" for point in others]
    return f'<path d="{"".join(path)}" class="b3-line"/>'


def _grid(up: Scale, low: float, high: float) -> tuple[str, float]:
    """Return horizontal lines at round values, and the x at which they begin: beside the widest number."""
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


def _ticks(across: Scale, first: int, last: int, unit: str) -> str:
    """Return numbers of pulls below the picture: powers of ten, and the last."""
    powers = [10**k for k in range(math.ceil(math.log10(first)), math.floor(math.log10(last)) + 1)]
    end, ending = across(math.log10(last)), counted(last, unit)
    marks = [(across(math.log10(power)), f"{power:,}") for power in powers]
    texts = [_text(x, _HEIGHT - 12, mark) for x, mark in marks if x < end - _LETTER * (len(ending) + _GAP)]
    return "".join([*texts, _text(end, _HEIGHT - 12, ending, "end")])


def _round_step(step: float) -> float:
    """Return the next round number: 1, 2 or 5 times a power of ten.

    >>> [_round_step(step) for step in (0.03, 0.7, 12)]
    [0.05, 1.0, 20.0]
    """
    power = 10.0 ** math.floor(math.log10(step))
    return float(f"{next(times * power for times in (1, 2, 5, 10) if times * power >= step * (1 - 1e-9)):.6g}")
