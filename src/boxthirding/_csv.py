"""Read and write tables.

Reading: CSV separated by commas, semicolons or tabs, and JSON lines, in UTF-8 with or without a byte-order mark. Cells
are text and stay as they are written. Only scores, means and the like are parsed as numbers; their decimal separator
may be a comma if semicolons or tabs separate the cells. Ambiguous files are refused.

Writing: `csv_lines` is the only writer of CSV, for the command line and the service alike.
"""

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, Final

from boxthirding._checks import LARGEST_REWARD, MOST, is_numeric, parse_number
from boxthirding.errors import NoHeader, UnreadableData

JSON_LINES: Final = frozenset({".jsonl", ".ndjson", ".json"})
TABLES: Final = frozenset({".csv", ".tsv", ".tab", *JSON_LINES})  # what the names of files with a table end in

_SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs"}
_NOT_TEXT: Final = {
    (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"): "a workbook of a spreadsheet program: save its sheet as CSV UTF-8",
    (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"): "compressed: unpack it, and give the file that was in it",
}
_DECIMAL_COMMA: Final = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?")
_THOUSANDS: Final = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")  # 1,234: the comma may be decimal or between thousands

# How text begins that a spreadsheet program would evaluate, or that it may trim first; some split cells at \r and tabs.
_FORMULA: Final = re.compile("^(?=[\t\r\n])|(?:^|(?<=[\t\r]))(?=[=+\\-@＝＋－＠])")

_LISTED = 20  # columns that an error names
_SHOWN = 40  # characters of a cell that an error repeats


@dataclass(frozen=True)
class Sheet:
    """The cells of a table, all of them text."""

    path: str
    columns: list[str]
    rows: list[list[str]]
    lines: list[int]  # [rows] the line of the file on which each row ends
    has_header: bool = True  # whether the file names its columns
    separator: str = ""  # the character between two cells; empty for JSON lines

    def __post_init__(self) -> None:
        """Raise if a table has no rows, two columns of the same name, or rows of different lengths."""
        repeated = next((name for name, times in Counter(self.columns).items() if name and times > 1), None)
        if (repeated is not None or not self.rows) and self.seems_headless:
            raise self.no_header()
        if not self.rows:
            raise UnreadableData(f"{self.path} has a header and no rows, but must have one at least")
        if repeated is not None:
            raise UnreadableData(
                f"{self.path} has more than one column {repeated!r}, but each must have a name of its own"
            )
        first = "header" if self.has_header else "first row"
        for row, cells in enumerate(self.rows):
            if len(cells) != len(self.columns):
                cell = "cell" if len(cells) == 1 else "cells"
                way_out = (
                    "add what is missing"
                    if len(cells) < len(self.columns)
                    else f"put cells that contain {_SEPARATORS[self.separator]} in quotation marks"
                )
                raise UnreadableData(
                    f"{self.place(row)} has {len(cells)} {cell}, but the {first} has {len(self.columns)}: {way_out}"
                )

    def named(self, *names: str, more: bool = False) -> "Sheet":
        """Return the sheet with these names for its columns, if the file has no header; there may be `more`."""
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
        """Return whether the table has all these columns."""
        return all(name in self.columns for name in names)

    @property
    def listed(self) -> str:
        """The names of the columns as an error gives them: the first ones, if there are many."""
        more = f", … ({len(self.columns):,} in all)" if len(self.columns) > _LISTED else ""
        return f"{', '.join(self.columns[:_LISTED])}{more}"

    def without(self, wanted: str) -> UnreadableData:
        """Return the error for columns that are missing."""
        if self.seems_headless:
            return self.no_header()
        return UnreadableData(f"{self.path} has the columns {self.listed}, but must have {wanted}")

    @property
    def seems_headless(self) -> bool:
        """Whether the names of columns look like data: one is a number."""
        return self.has_header and any(is_numeric(name.replace(",", ".")) for name in self.columns)

    def no_header(self) -> NoHeader:
        """Return the error for data in the first line."""
        return NoHeader(
            f"{self.path} begins with {self.listed}, but must begin with the names of its columns",
            advice="add them, or say that there is no header: header=False",
        )

    def place(self, row: int) -> str:
        """Return how an error names a row: rows count from 1, after the header."""
        return f"{self.path}, row {row + 1} (line {self.lines[row]})"

    def column(self, name: str) -> tuple[str, ...]:
        """Return the cells of a column."""
        place = self._places[name]
        return tuple(cells[place] for cells in self.rows)

    def cell(self, row: int, column: str) -> str:
        """Return a cell as it is written."""
        return self.rows[row][self._places[column]]

    def texts(self, row: int) -> dict[str, str]:
        """Return a row by its columns, as it is written."""
        return dict(zip(self.columns, self.rows[row], strict=True))

    def number(self, row: int, column: str) -> float:
        """Return a cell as a number below 1e150 in size, so that its square is finite."""
        try:
            return self.parsed(row, column)
        except ValueError as problem:
            cell = shown(self.cell(row, column).strip())
            raise UnreadableData(f"{self.place(row)}: {column} is {cell}, {problem}") from None

    def whole(self, row: int, column: str, least: int) -> int:
        """Return a cell as a whole number that is at least `least`."""
        value = self.number(row, column)
        if not (value.is_integer() and least <= value <= MOST):
            raise UnreadableData(
                f"{self.place(row)}: {column} is {shown(self.cell(row, column))}, but must be a whole number from "
                f"{least} to 2^53"
            )
        return int(value)

    def parsed(self, row: int, column: str) -> float:
        """Return a cell as a number, or raise a ValueError that says what is wrong with it."""
        text = self.cell(row, column).strip()
        if _DECIMAL_COMMA.fullmatch(text):
            point = text.replace(",", ".")
            if _THOUSANDS.fullmatch(text) and not self._decimal_comma(column):
                raise ValueError(
                    f"which may be {point} or {text.replace(',', '')}: write the one that is meant, without a comma"
                )
            if self.separator not in (";", "\t"):
                raise ValueError(f"but must have a decimal point: write {point}")
            text = point
        elif "." in text and is_numeric(text) and (other := self._decimal_comma(column)):
            raise ValueError(f"with a decimal point, but {other!r} has a decimal comma: write all in one way")
        if not (is_numeric(text) and abs(parse_number(text)) < LARGEST_REWARD):
            raise ValueError("but must be a finite number below 1e150 in size, such as 0.5")
        return parse_number(text)

    def _decimal_comma(self, column: str) -> str:
        """Return a cell whose comma can only be decimal, such as 1,5: it decides for its column; empty, if none is."""
        if column not in self._proofs:
            cells = map(str.strip, self.column(column) if self.separator in (";", "\t") else ())
            certain = (cell for cell in cells if _DECIMAL_COMMA.fullmatch(cell) and not _THOUSANDS.fullmatch(cell))
            self._proofs[column] = next(certain, "")
        return self._proofs[column]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.columns)}

    @cached_property
    def _proofs(self) -> dict[str, str]:
        return {}


def read_sheet(path: str | PathLike[str], *, header: bool = True) -> Sheet:
    """Read a table from a file; without a header, its columns are called 1, 2, 3 and so on."""
    return sheet_of(read_bytes(path, "give a CSV file with a header"), str(path), header=header)


def sheet_of(data: bytes, name: str, *, header: bool = True, first: int | None = None) -> Sheet:
    """Return the table in a file: JSON lines, if its name says so, else CSV; of CSV perhaps only the `first` rows."""
    text = text_of(data, name)
    if PurePath(name).suffix.lower() in JSON_LINES:
        return _from_json_lines(name, text)
    if text.startswith("sep="):
        raise UnreadableData(f"{name} begins with {shown(text.splitlines()[0])}, which is not CSV: delete this line")
    separator = _separator(name, text)
    rows = _split(name, text, separator, None if first is None else first + header)
    if not rows:
        raise UnreadableData(f"{name} is empty, but must have {'a header and rows' if header else 'rows'}")
    if not header and separator == "," and all(_DECIMAL_COMMA.fullmatch(",".join(cells)) for cells, _ in rows):
        raise UnreadableData(
            f"{name} begins with {','.join(rows[0][0])}, which may be one number or two: write decimal points, or add "
            "a header"
        )
    columns = [column.strip() for column in rows.pop(0)[0]] if header else [*map(str, range(1, len(rows[0][0]) + 1))]
    return Sheet(name, columns, [cells for cells, _ in rows], [line for _, line in rows], header, separator)


def read_bytes(path: str | PathLike[str], way_out: str) -> bytes:
    """Return the content of a file."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as problem:
        reason = (isinstance(problem, OSError) and problem.strerror) or str(problem)
        raise UnreadableData(f"{path} cannot be read ({reason}): {way_out}") from None


def text_of(data: bytes, name: str) -> str:
    """Return bytes of UTF-8 as text; refuse anything else."""
    for beginnings, what in _NOT_TEXT.items():
        if data.startswith(beginnings):
            raise UnreadableData(f"{name} is {what}")
    wrong = data.find(b"\0")
    older = "WINDOWS-1252" if wrong < 0 else "UTF-16"
    try:
        text = data.decode()
        if wrong < 0:
            return text.removeprefix("\ufeff")
    except UnicodeDecodeError as problem:
        wrong = problem.start
    is_csv = PurePath(name).suffix.lower() in {*TABLES - JSON_LINES, ""}  # what is uploaded has no name
    raise UnreadableData(
        f"{name} is not UTF-8 text (byte {wrong} is {data[wrong]:#04x}): save it as {'CSV ' if is_csv else ''}UTF-8, "
        f"or convert it, for example with iconv -f {older} -t UTF-8"
    )


def csv_lines(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    r"""Yield the lines of a CSV file: the header, then the rows.

    Cells that contain a comma, a quotation mark or a line break of any kind are quoted, and formulas are escaped.

    >>> [*csv_lines(["arm", "mean"], [["a,b", 0.5], ["=1+1", None], ["c\rd", -2]])]
    ['arm,mean\n', '"a,b",0.5\n', "'=1+1,\n", '"c\rd",-2\n']
    """
    # Before Python 3.13, the csv module quotes only the line breaks of its own line terminator.
    writer = csv.writer(_Echo(), lineterminator="\r\n")
    for row in chain([columns], rows):
        line: Any = writer.writerow([escape_formula(cell) for cell in row])
        yield f"{line[:-2]}\n"


def escape_formula(value: object) -> object:
    r"""Return a value for a cell of CSV; text that a spreadsheet program would evaluate gets an apostrophe before it.

    So does text after a tab or a lone carriage return. Numbers are left alone, with a decimal point or comma.

    >>> [*map(escape_formula, ["=1+1", "-x", "-0.5", "+1,5", -0.5, "plain", "x\r=1+1"])]
    ["'=1+1", "'-x", '-0.5', '+1,5', -0.5, 'plain', "x\r'=1+1"]
    """
    if not isinstance(value, str) or is_numeric(value.replace(",", ".")):
        return value
    return _FORMULA.sub("'", value)


class _Echo:
    """A file whose `write` returns the text, which `writerow` passes on."""

    def write(self, text: str) -> str:
        return text


def shown(cell: str) -> str:
    """Return a cell as an error repeats it: its beginning, if it is long."""
    return repr(cell if len(cell) <= _SHOWN else cell[: _SHOWN - 1] + "…")


def _separator(name: str, text: str) -> str:
    """Return the character that separates cells: the one that splits the first row; if two do, the one that fits all.

    Where both fit, and every comma below the first row can be decimal, it is not the comma.
    """
    splits = [separator for separator in _SEPARATORS if len(next(_cells(text, separator), [])) > 1]
    if len(splits) < 2:  # noqa: PLR2004  # nothing to choose
        return splits[0] if splits else ","
    fits = [separator for separator in splits if len(set(map(len, _cells(text, separator)))) == 1]
    if len(fits) == 2 and fits[0] == ",":  # noqa: PLR2004
        rows = [*_cells(text, fits[1])][1:]
        if all(_DECIMAL_COMMA.fullmatch(cell.strip()) for cells in rows for cell in cells if "," in cell):
            return fits[1]
    if len(fits) != 1:
        words = " or ".join(_SEPARATORS[separator] for separator in splits)
        problem = "may be separated by" if fits else "has rows of several lengths, whether separated by"
        raise UnreadableData(f"{name} {problem} {words}: put text that contains one of them in quotation marks")
    return fits[0]


def _reader(text: str, separator: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)


def _cells(text: str, separator: str) -> Iterator[list[str]]:
    """Yield the rows if this separates cells, and an empty row where it cannot."""
    try:
        yield from filter(None, _reader(text, separator))  # a blank line has no cells
    except csv.Error:
        yield []


def _split(name: str, text: str, separator: str, first: int | None) -> list[tuple[list[str], int]]:
    """Return the rows or the first of them, each with the line on which it ends."""
    reader = _reader(text, separator)
    try:
        return [*islice(((cells, reader.line_num) for cells in reader if cells), first)]
    except csv.Error as problem:
        raise UnreadableData(
            f"{name}, line {reader.line_num} is not CSV ({problem}): check its quotation marks"
        ) from None


def _from_json_lines(name: str, text: str) -> Sheet:
    """Return the table of a file with a JSON object on each line; what a row leaves out is empty."""
    objects: list[dict[str, Any]] = []
    lines = []
    for line, part in enumerate(text.split("\n"), start=1):
        if not part.strip():
            continue
        try:
            row = json.loads(part)
        except (ValueError, RecursionError) as problem:
            row = str(problem)
        if not isinstance(row, dict):
            why = f" ({row})" if isinstance(row, str) else ""
            raise UnreadableData(
                f'{name}, line {line} is no JSON object{why}: each line must be one, such as {{"arm": "a", "size": 3}}'
            )
        objects.append(row)
        lines.append(line)
    if not objects:
        raise UnreadableData(f"{name} is empty, but must have a JSON object on each line")
    columns = list(dict.fromkeys(key for row in objects for key in row))
    return Sheet(name, columns, [[_json_cell(row.get(column)) for column in columns] for row in objects], lines)


def _json_cell(value: Any) -> str:
    """Return a value of JSON as the text of a cell."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
