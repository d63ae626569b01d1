"""Tables of other people, from a file or as bytes: CSV as any spreadsheet program writes it, and JSON lines.

Encoding and separator are recognised here, decimal commas in _sheets.py. What may be read in two ways is refused.
"""

import csv
import io
import json
import re
from os import PathLike
from pathlib import Path, PurePath
from typing import Any, Final

from boxthirding._sheets import Sheet, checked, is_number_with_comma
from boxthirding.errors import UnreadableData

JSON_LINES: Final = frozenset({".jsonl", ".ndjson", ".json"})
TABLES: Final = frozenset({".csv", ".tsv", ".tab", *JSON_LINES})
"""What the names of files with a table end in."""

_SEPARATORS: Final = {",": "commas", ";": "semicolons", "\t": "tabs"}
_MARKS: Final = {  # a UTF-32 mark begins like one of UTF-16
    b"\xff\xfe\x00\x00": "utf-32",
    b"\x00\x00\xfe\xff": "utf-32",
    b"\xef\xbb\xbf": "utf-8-sig",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_WORKBOOKS: Final = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")  # how files of spreadsheet programs begin
_PACKED: Final = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # gzip, bzip2, xz, zstd


def read_sheet(path: str | PathLike[str], *, header: bool = True) -> Sheet:
    """Read a table from a file; without a header, its columns are called 1, 2, 3 and so on."""
    return sheet_of(read_bytes(path, "give a CSV file with a header"), str(path), header=header)


def sheet_of(data: bytes, name: str, *, header: bool = True) -> Sheet:
    """Return the table that the content of a file is: JSON lines, if its name says so, else CSV."""
    text = text_of(data, name)
    if PurePath(name).suffix.lower() in JSON_LINES:
        return _from_json_lines(name, text)
    found, separator = _records(name, text, header=header)
    if not found:
        raise UnreadableData(f"{name} is empty, but must have {'a header and rows' if header else 'rows'}")
    columns = [column.strip() for column in found.pop(0)[0]] if header else [*map(str, range(1, len(found[0][0]) + 1))]
    return checked(Sheet(name, columns, [cells for cells, _ in found], [line for _, line in found], header, separator))


def read_bytes(path: str | PathLike[str], way_out: str) -> bytes:
    """Return what a file holds."""
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as problem:
        reason = (isinstance(problem, OSError) and problem.strerror) or str(problem)
        raise UnreadableData(f"{path} cannot be read ({reason}): {way_out}") from None


def text_of(data: bytes, name: str) -> str:
    """Return bytes as text: UTF-8 or, where a mark or its zeros tell, UTF-16 or UTF-32; refuse anything else."""
    if data.startswith(_WORKBOOKS):
        raise UnreadableData(f"{name} is a workbook of a spreadsheet program: save its sheet as CSV UTF-8")
    if data.startswith(_PACKED):
        raise UnreadableData(f"{name} is compressed: unpack it, and give the file that was in it")
    encoding = _encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as problem:
        if encoding != "utf-8":
            raise UnreadableData(f"{name} is marked as {encoding.upper()}, but byte {problem.start} is not") from None
        is_table = PurePath(name).suffix.lower() in {*TABLES - JSON_LINES, ""}  # what is uploaded has no name
        raise UnreadableData(
            f"{name} is not UTF-8 text (byte {problem.start} is {data[problem.start]:#04x}), but probably in an older "
            f"encoding such as Windows-1252: save it as {'CSV ' if is_table else ''}UTF-8"
        ) from None
    if "\0" in text:
        raise UnreadableData(f"{name} is no text: there is a zero at character {text.index(chr(0))}")
    return text


def _encoding(data: bytes) -> str:
    """Return in what bytes are written: by the mark at their beginning, or by the zeros beside each letter."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return encoding
    first, second = data[::2].count(0), data[1::2].count(0)
    if min(first, second) > 0 or max(first, second) <= len(data) // 4:
        return "utf-8"
    return "utf-16-le" if second else "utf-16-be"


def _records(name: str, text: str, *, header: bool) -> tuple[list[tuple[list[str], int]], str]:
    """Return the rows of a CSV file, each with the line on which it ends, and what separates cells: it is found out."""
    told = re.match(r"sep=([,;\t])\r?\n", text)  # a spreadsheet program may say so on a line of its own
    if told:
        return [(cells, line + 1) for cells, line in _split(name, text[told.end() :], told[1])], told[1]
    wanted = [separator for separator in _SEPARATORS if len(_first(text, separator)) > 1]
    separator = _separator(name, text, wanted)
    rows = _split(name, text, separator)
    if wanted and separator == "," and not header and all(is_number_with_comma(",".join(cells)) for cells, _ in rows):
        raise UnreadableData(
            f"{name} begins with {','.join(rows[0][0])}, which may be one number or two: write decimal points, or add "
            "a header"
        )
    return rows, separator


def _separator(name: str, text: str, wanted: list[str]) -> str:
    """Return the only one of some characters that can separate cells; in one column, commas may be decimal."""
    if not wanted:
        is_decimal = not _fits(text, ",") and _fits(text, ";") and _has_decimal_commas_only(text, ";")
        return ";" if is_decimal else ","
    if len(wanted) == 1:
        return wanted[0]
    fitting = [separator for separator in wanted if _fits(text, separator)]
    if len(fitting) == 2 and fitting[0] == "," and _has_decimal_commas_only(text, fitting[1]):  # noqa: PLR2004
        return fitting[1]
    if len(fitting) == 1:
        return fitting[0]
    words = " or ".join(_SEPARATORS[separator] for separator in wanted)
    problem = "may be separated by" if fitting else "has rows of several lengths, whether separated by"
    raise UnreadableData(f"{name} {problem} {words}: put text that contains one of them in quotation marks")


def _reader(text: str, separator: str) -> Any:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)


def _first(text: str, separator: str) -> list[str]:
    """Return the first row, if this separates cells; none, if there is no such row."""
    try:
        return next((cells for cells in _reader(text, separator) if cells), [])
    except csv.Error:
        return []


def _fits(text: str, separator: str) -> bool:
    """Tell whether all rows have as many cells, if this separates them."""
    try:
        return len({len(cells) for cells in _reader(text, separator) if cells}) == 1
    except csv.Error:
        return False


def _has_decimal_commas_only(text: str, separator: str) -> bool:
    """Tell whether all commas below the first row stand in numbers, if this separates cells."""
    rows = (cells for cells in _reader(text, separator) if cells)
    next(rows, None)
    return all(is_number_with_comma(cell.strip()) for cells in rows for cell in cells if "," in cell)


def _split(name: str, text: str, separator: str) -> list[tuple[list[str], int]]:
    reader = _reader(text, separator)
    try:
        return [(cells, reader.line_num) for cells in reader if cells]  # a blank line has no cells
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
    rows = [[_cell(row.get(column)) for column in columns] for row in objects]
    return checked(Sheet(name, columns, rows, lines))


def _cell(value: Any) -> str:
    """Return a value of JSON as the text of a cell."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
