"""A table as text, and the numbers in it: with decimal points or commas, but never with both.

A comma is decimal where it cannot be anything else, as in 1,5 or 0,125; then all commas in the numbers of the file are.
Where 1,234 is all there is, it may be 1.234 or 1234, and is refused. In a file whose cells are separated by commas, or
that has decimal points elsewhere, a cell such as 64,32 may be a list: it stays the text that it is, unless a number
must stand there.
"""

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from boxthirding.errors import NoHeader, UnreadableData

_EXACT = 2**53  # whole numbers up to here are exact in a float
_LISTED = 20  # columns that an error names
_SHOWN = 40  # characters of a cell that an error repeats

_WITH_COMMA = re.compile(r"[+-]?(\d*|\d{1,3}([. '\u00a0\u202f]\d{3})+),\d+([eE][+-]?\d+)?")
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234: a decimal comma, or one between thousands
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}((,\d{3}){2,}(\.\d+)?|,\d{3}\.\d+)")  # 1,234,567 and 1,234.5
_MISSING = frozenset({"", "-", "na", "n/a", "#n/a", "nan", "null", "none"})  # what stands where a number is not known
_POINTS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")  # 1.234, beside decimal commas


def number(text: str) -> float:
    """Return the number that a text is; a ValueError if it is none.

    Python also reads `1_000`, which other programs do not take for a number: it is likelier to be a slip.

    >>> number(" 2.5 ")
    2.5
    """
    if "_" in text:
        raise ValueError(text)
    return float(text)


@dataclass(frozen=True)
class Sheet:
    """The cells of a table, all of them text."""

    path: str
    columns: list[str]
    rows: list[list[str]]
    lines: list[int]
    """[rows] the line of the file on which each row ends."""
    has_header: bool = True
    """Whether the file names its columns."""
    separator: str = ""
    """What stands between two cells; nothing, where they are not separated by a character."""

    def named(self, *names: str, more: bool = False) -> "Sheet":
        """Return the sheet with these names for its columns, where the file has no header; there may be `more`."""
        if self.has_header:
            return self
        first = [cell.strip() for cell in self.rows[0]]
        twice = next((name for name in names if name in first), None)
        if twice is not None:
            raise UnreadableData(f"{self.path} is said to have no header, but its first line has {twice!r}")
        if len(first) < len(names) or (len(first) > len(names) and not more):
            raise UnreadableData(
                f"{self.path} has {len(first)} column{'s' if len(first) > 1 else ''} and no header, but must have "
                f"{', '.join(names)} in this order: add a header"
            )
        return replace(self, columns=[*names, *self.columns[len(names) :]])

    def has(self, names: Collection[str]) -> bool:
        """Tell whether all these columns are there."""
        return all(name in self.columns for name in names)

    @property
    def listed(self) -> str:
        """The names of the columns as an error gives them: the first ones, if there are many."""
        more = f", … ({len(self.columns):,} in all)" if len(self.columns) > _LISTED else ""
        return f"{', '.join(self.columns[:_LISTED])}{more}"

    def without(self, wanted: str) -> UnreadableData:
        """Return what is wrong when columns are missing."""
        if self.seems_headless:
            return self.no_header()
        return UnreadableData(f"{self.path} has the columns {self.listed}, but must have {wanted}")

    @property
    def seems_headless(self) -> bool:
        """Whether the names of columns look like data: one is a number."""
        return self.has_header and any(is_numeric(name) or is_number_with_comma(name) for name in self.columns)

    def no_header(self) -> NoHeader:
        """Return what is wrong when the first line holds data."""
        return NoHeader(
            f"{self.path} begins with {self.listed}, but must begin with the names of its columns",
            advice="add them, or say that there is no header: header=False",
        )

    def column(self, name: str) -> tuple[str, ...]:
        """Return the cells of a column."""
        place = self.columns.index(name)
        return tuple(cells[place] for cells in self.rows)

    def number(self, row: int, column: str) -> float:
        """Return a cell as a finite number."""
        cell = self.plain(row, column)
        if not is_numeric(cell):
            raise UnreadableData(f"{self.place(row)}: {column} is {shown(cell)}, but must be a finite number")
        return number(cell)

    def whole(self, row: int, column: str, least: int) -> int:
        """Return a cell as a whole number that is at least `least`."""
        value = self.number(row, column)
        if not (value.is_integer() and least <= value <= _EXACT):
            raise UnreadableData(
                f"{self.place(row)}: {column} is {shown(self.cell(row, column))}, but must be a whole number from "
                f"{least} to 2^53"
            )
        return int(value)

    def cell(self, row: int, column: str) -> str:
        """Return a cell as it is written."""
        return self.rows[row][self._places[column]]

    def plain(self, row: int, column: str) -> str:
        """Return a cell that is to be a number, with a decimal point; refuse one that may be two numbers."""
        cell = self.cell(row, column).strip()
        if problem := self.problem(row, column):
            raise UnreadableData(f"{self.place(row)}: {column} is {shown(cell)}, {problem}")
        return _with_point(cell) if self._has_commas and is_number_with_comma(cell) else cell

    def texts(self, row: int) -> dict[str, str]:
        """Return a row by its columns, with decimal points where a column holds numbers and commas are decimal."""
        cells = dict(zip(self.columns, self.rows[row], strict=True))
        return cells | {name: _with_point(cells[name].strip()) for name in self._decimals if "," in cells[name]}

    def unclear(self, column: str) -> str:
        """Say why it is not clear which numbers a column holds; nothing, if it is, or if it holds text."""
        for row in range(len(self.rows) if self._may_be_decimal and self._is_numeric(column) else 0):
            if problem := self.problem(row, column):
                return f"{self.place(row)}: {column} is {shown(self.cell(row, column))}, {problem}"
        return ""

    def place(self, row: int) -> str:
        """Return how an error names a row: rows count from 1, after the header."""
        return f"{self.path}, row {row + 1} (line {self.lines[row]})"

    def problem(self, row: int, column: str) -> str:
        """Say why it is not clear which number a cell is; nothing, if it is clear, or if it is none."""
        if not self._has_commas:
            return ""
        cell = self.cell(row, column).strip()
        if _THOUSANDS.fullmatch(cell):
            return f"with commas between thousands: write {cell.replace(',', '')}"
        if _POINTS.fullmatch(cell) if self._decimals else (_EITHER.fullmatch(cell) and not self._proof(column)):
            decimal, thousands = cell.replace(",", "."), re.sub("[,.]", "", cell)
            return f"which may be {decimal} or {thousands}: write the one that is meant, without a comma"
        if "." in cell and is_numeric(cell) and self._proof(column):
            return f"with a decimal point, but {shown(self._proof(column))} has a decimal comma: write all in one way"
        return ""

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.columns)}

    @cached_property
    def _has_commas(self) -> bool:
        return any("," in cell for cells in self.rows for cell in cells)

    @cached_property
    def _may_be_decimal(self) -> bool:
        """Whether a comma in a cell may be decimal, although no number must stand there."""
        return self._has_commas and self.separator != "," and not any(map(self._has_points, self.columns))

    def _has_points(self, column: str) -> bool:
        """Tell whether a column holds numbers, one of which has what can only be a decimal point."""
        if self._proof(column) or not self._is_numeric(column):
            return False
        cells = map(str.strip, self.column(column))
        return any("." in cell and is_numeric(cell) and not _POINTS.fullmatch(cell) for cell in cells)

    @cached_property
    def _proofs(self) -> dict[str, str]:
        return {}

    def _proof(self, column: str) -> str:
        """Return a cell of a column in which a comma can only be decimal, such as 1,5; empty, if there is none."""
        if column not in self._proofs:
            cells = map(str.strip, self.column(column))
            certain = (cell for cell in cells if is_number_with_comma(cell) and not _EITHER.fullmatch(cell))
            self._proofs[column] = next(certain, "")
        return self._proofs[column]

    def _is_numeric(self, column: str) -> bool:
        """Tell whether a column holds nothing but numbers, however they are written, or says that one is not known."""
        cells = [cell for cell in map(str.strip, self.column(column)) if cell.lower() not in _MISSING]
        return bool(cells) and all(
            is_numeric(cell) or is_number_with_comma(cell) or _THOUSANDS.fullmatch(cell) for cell in cells
        )

    @cached_property
    def _decimals(self) -> list[str]:
        """The columns of numbers with decimal commas: one that is certain decides for all others."""
        if not self._may_be_decimal:
            return []
        numeric = [name for name in self.columns if self._is_numeric(name)]
        proven = {name for name in numeric if self._proof(name)}
        return [name for name in numeric if proven and not any(map(_THOUSANDS.fullmatch, self.column(name)))]


def checked(sheet: Sheet) -> Sheet:
    """Return a sheet, or refuse one without rows, with two columns of a name, or with rows of several lengths."""
    if not sheet.rows:
        if sheet.seems_headless:
            raise sheet.no_header()
        raise UnreadableData(f"{sheet.path} has a header and no rows, but must have one at least")
    twice = first_repeated(filter(None, sheet.columns))
    if twice is not None:
        if sheet.seems_headless:
            raise sheet.no_header()
        raise UnreadableData(f"{sheet.path} has more than one column {twice!r}, but each must have a name of its own")
    first = "header" if sheet.has_header else "first row"
    for row, cells in enumerate(sheet.rows):
        if len(cells) != len(sheet.columns):
            is_short, cell = len(cells) < len(sheet.columns), "cell" if len(cells) == 1 else "cells"
            marks = "put text that contains commas or semicolons in quotation marks"
            raise UnreadableData(
                f"{sheet.place(row)} has {len(cells)} {cell}, but the {first} has {len(sheet.columns)}: "
                f"{'add what is missing' if is_short else marks}"
            )
    return sheet


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


def is_numeric(text: str) -> bool:
    """Tell whether a text is a finite number with a decimal point, or without any."""
    try:
        return math.isfinite(number(text))
    except ValueError:
        return False


def is_number_with_comma(text: str) -> bool:
    """Tell whether a text is a number with a comma that may be decimal."""
    return _WITH_COMMA.fullmatch(text) is not None


def shown(cell: str) -> str:
    """Return a cell as an error repeats it: its beginning, if it is long."""
    return repr(cell if len(cell) <= _SHOWN else cell[: _SHOWN - 1] + "…")


def _with_point(cell: str) -> str:
    """Return a number with a decimal comma as other programs write it."""
    return re.sub(r"[. '\u00a0\u202f]", "", cell).replace(",", ".")
