"""Figures of the reproduction: what each shows, and how it is drawn."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH: Final = 5.4  # inches: letters of 10 points are readable when a figure is as wide as a phone


@dataclass(frozen=True)
class FigureTable:
    """A table below a figure."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str


@dataclass(frozen=True)
class PaperFigure:
    """A figure before it is drawn."""

    key: str  # the name of its files
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]  # the data that it shows, for its CSV file
    draw: "Callable[[], Figure]"
    table: FigureTable | None = None
