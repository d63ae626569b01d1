"""Uploaded CSV files as the arms of a study."""

from collections.abc import Mapping
from typing import Any, Final

from boxthirding._csv import Sheet, sheet_of
from boxthirding.errors import UnreadableData
from boxthirding.session.values import KnownResult
from boxthirding.types import Label

_NAME: Final = "the CSV file"
_ROWS: Final = 100_000
_COLUMNS: Final = 1_000
_LABELS: Final = ("label", "caption", "arm", "text")


def read(data: bytes) -> Sheet:
    """Read a CSV file with a header; refuse one that is too large."""
    sheet = sheet_of(data, _NAME, first=_ROWS + 1)
    if len(sheet.rows) > _ROWS:
        lines = max(data.count(b"\n"), data.count(b"\r"))
        raise UnreadableData(
            f"{_NAME} has {lines:,} lines, but may have {_ROWS:,} rows: make the study of a part of them, and add the "
            f"others by POST /api/v1/studies/{{name}}/arms"
        )
    if len(sheet.columns) > _COLUMNS:
        raise UnreadableData(f"{_NAME} has {len(sheet.columns):,} columns, but may have {_COLUMNS:,}: leave out some")
    return sheet


def arms_of(sheet: Sheet, label: str | None, known: str | None) -> tuple[dict[Label, Any], list[KnownResult]]:
    """Return the arms of a sheet: a column is the label, the others are the payload; and the known results.

    Without a column for the label it is `label`, `caption`, `arm` or `text`, else the first.
    """
    of_label = usual_label(sheet) if label is None else _column(sheet, label)
    of_known = None if known is None else _column(sheet, known)
    arms: dict[Label, Any] = {}
    results: list[KnownResult] = []
    for row, cells in enumerate(sheet.rows):
        if not any(map(str.strip, cells)):
            continue
        name = sheet.cell(row, of_label)
        if not name.strip():
            way = "fill it in, delete the row, or choose another column as the label"
            raise UnreadableData(f"{sheet.place(row)}: {of_label} is empty, so raters would see nothing: {way}")
        if name in arms:
            way = "delete one of the two rows, or choose another column as the label"
            raise UnreadableData(f"{sheet.place(row)}: the label {name!r} is there already, but must be unique: {way}")
        others = {column: cell for column, cell in sheet.texts(row).items() if column not in (of_label, of_known)}
        arms[name] = others or name
        if of_known is not None and sheet.cell(row, of_known).strip():
            results.append(KnownResult(name, sheet.number(row, of_known), None))
    if not arms:
        raise UnreadableData(f"{_NAME} has no row with an arm, but must have at least one")
    return arms, results


def usual_label(sheet: Sheet) -> str:
    """Return the column that is the label where none is named."""
    return next((name for wanted in _LABELS for name in sheet.columns if name.casefold() == wanted), sheet.columns[0])


def preview(sheet: Sheet, rows: int) -> Mapping[str, Any]:
    """Return the columns, the one that is the label where none is named, and the first rows."""
    facts = {"columns": sheet.columns, "label": usual_label(sheet)}
    return {**facts, "n_rows": len(sheet.rows), "rows": sheet.rows[:rows]}


def _column(sheet: Sheet, column: str) -> str:
    if column not in sheet.columns:
        raise sheet.without(f"a column {column!r}")
    return column
