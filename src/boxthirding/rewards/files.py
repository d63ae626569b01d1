"""Reading CSV files of figures: every complaint names the file, the row and the column."""

import csv
import io
import math
from collections.abc import Collection, Iterable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from boxthirding.errors import UnreadableData

_EXACT = 2**53  # whole numbers up to here are exact in a float
_LISTED = 20  # columns that an error names


class Sheet(NamedTuple):
    """The cells of a CSV file, all of them text."""

    path: str
    columns: list[str]
    rows: list[list[str]]
    lines: list[int]
    """[rows] the line of the file on which each row ends."""

    def has(self, names: Collection[str]) -> bool:
        """Tell whether all these columns are there."""
        return all(name in self.columns for name in names)

    @property
    def listed(self) -> str:
        """The names of the columns as an error gives them: the first ones, if there are many."""
        more = f", … ({len(self.columns):,} in all)" if len(self.columns) > _LISTED else ""
        return f"{', '.join(self.columns[:_LISTED])}{more}"

    def column(self, name: str) -> tuple[str, ...]:
        """Return the cells of a column."""
        place = self.columns.index(name)
        return tuple(cells[place] for cells in self.rows)

    def number(self, row: int, column: str) -> float:
        """Return a cell as a finite number."""
        cell = self.rows[row][self.columns.index(column)]
        try:
            value = float(cell)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise UnreadableData(f"{self.place(row)}: {column} is {cell!r}, but must be a finite number")
        return value

    def whole(self, row: int, column: str, least: int) -> int:
        """Return a cell as a whole number that is at least `least`."""
        value = self.number(row, column)
        if not (value.is_integer() and least <= value <= _EXACT):
            cell = self.rows[row][self.columns.index(column)]
            raise UnreadableData(
                f"{self.place(row)}: {column} is {cell!r}, but must be a whole number from {least} to 2^53"
            )
        return int(value)

    def place(self, row: int) -> str:
        """Return how an error names a row: rows count from 1, after the header."""
        return f"{self.path}, row {row + 1} (line {self.lines[row]})"


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name that stands there again; None, if each stands there once.

    >>> first_repeated(["a", "b", "c", "b", "a"]), first_repeated(["a", "b"])
    ('b', None)
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def read_sheet(path: str | PathLike[str]) -> Sheet:
    """Read a CSV file with a header: UTF-8, with or without a byte-order mark, any line ends."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except UnicodeDecodeError as problem:
        raise UnreadableData(
            f"{path} is not UTF-8 text (byte {problem.start}): save it as CSV with encoding UTF-8"
        ) from None
    except (OSError, ValueError) as problem:
        reason = (isinstance(problem, OSError) and problem.strerror) or str(problem)
        raise UnreadableData(f"{path} cannot be read ({reason}): give a CSV file with a header") from None
    return _parsed(str(path), text)


def _parsed(path: str, text: str) -> Sheet:
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        found = [(cells, reader.line_num) for cells in reader if cells]  # a blank line has no cells
    except csv.Error as problem:
        raise UnreadableData(
            f"{path}, line {reader.line_num} is not CSV ({problem}): check its quotation marks"
        ) from None
    if not found:
        raise UnreadableData(f"{path} is empty, but must have a header and a row for each arm")
    columns = [name.strip() for name in found[0][0]]
    rows = found[1:]
    if not rows:
        raise UnreadableData(f"{path} has a header and no rows, but must have a row for each arm")
    twice = first_repeated(filter(None, columns))
    if twice is not None:
        raise UnreadableData(f"{path} has more than one column {twice!r}, but each must have a name of its own")
    sheet = Sheet(path, columns, [cells for cells, _ in rows], [line for _, line in rows])
    for row, cells in enumerate(sheet.rows):
        if len(cells) != len(columns):
            raise UnreadableData(
                f"{sheet.place(row)} has {len(cells)} cells, but the header has {len(columns)}: "
                "put text that contains commas in quotation marks"
            )
    return sheet
