"""A picture of the page: how it is drawn, the data it shows, and what there is to see."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH: Final = 5.4
"""Inches: letters of 10 points can still be read when a picture is as wide as a phone."""


@dataclass(frozen=True)
class Reading:
    """A table to read below a picture."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str


@dataclass(frozen=True)
class Picture:
    """A figure of the reproduction, before it is drawn."""

    key: str
    """The name of its files."""
    title: str
    caption: str
    """What to see."""
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    """The data that it shows, for its CSV file."""
    draw: "Callable[[], Figure]"
    table: Reading | None = None
