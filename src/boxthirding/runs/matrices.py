"""Score matrices: a row of scores for each arm, a column for each example, from CSV or Parquet."""

import importlib
import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from boxthirding._checks import is_numeric
from boxthirding._csv import Sheet, read_sheet
from boxthirding.errors import MissingExtra, UnreadableData
from boxthirding.rewards import Table
from boxthirding.types import Floats

_MISSING: Final = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})
_LARGEST: Final = 1e150  # so that squares of scores stay finite
_TOO_LARGE: Final = "but scores must be below 1e150 in size: divide all of them by one number, the order stays the same"


@dataclass(frozen=True)
class Matrix:
    """Scores of arms on examples; NaN where there is none."""

    source: str
    labels: tuple[str, ...]
    scores: Floats  # [N, E]

    def __post_init__(self) -> None:
        if len(self.labels) < 2:  # noqa: PLR2004  # a choice is between two
            raise UnreadableData(f"{self.source} has one arm, but a choice needs two at least")
        label, times = Counter(self.labels).most_common(1)[0]
        if times > 1:
            raise UnreadableData(f"{self.source} has arm {label!r} more than once, but a label must be unique")
        for label, row in zip(self.labels, self.scores, strict=True):
            if np.isnan(row).all():
                raise UnreadableData(f"{self.source}: arm {label!r} has no scores at all: leave it out, or fill it in")

    @property
    def cost(self) -> int:
        """How many scores there are: what it costs to evaluate everything."""
        return int(np.isfinite(self.scores).sum())

    @property
    def missing(self) -> int:
        """How many cells have no score."""
        return self.scores.size - self.cost

    @property
    def sigma(self) -> float:
        """The noise of one score: the standard deviation within a row, pooled over all rows."""
        freedom = np.isfinite(self.scores).sum(axis=1) - 1
        squares = np.nansum((self.scores - np.nanmean(self.scores, axis=1, keepdims=True)) ** 2)
        return math.sqrt(squares / max(1, int(freedom.sum())))

    def rewards(self) -> Table:
        """Return the model in which a pull of an arm gives the score of a random example of its row."""
        there = np.isfinite(self.scores)
        chances = there / there.sum(axis=1, keepdims=True)
        return Table(np.where(there, self.scores, 0.0), chances, f"scores:{self.source}")


def read_matrix(path: Path, *, header: bool = True) -> Matrix:
    """Read a matrix: the first column has the labels, every other one the scores on an example."""
    is_parquet = path.suffix.lower() in (".parquet", ".pq")
    labels, columns = _from_parquet(path) if is_parquet else _from_csv(path, header=header)
    if not columns:
        raise UnreadableData(f"{path} has no scores: the first column is the label, and every other one an example")
    return Matrix(path.name, tuple(labels), np.column_stack(columns))


def _from_csv(path: Path, *, header: bool) -> tuple[list[str], list[Floats]]:
    sheet = read_sheet(path, header=header)
    if header and any(is_numeric(name) and not name.isdigit() for name in sheet.columns):  # examples may be numbered
        raise sheet.no_header()
    label, *examples = sheet.columns
    scores = [[_score(sheet, row, example) for row in range(len(sheet.rows))] for example in examples]
    return [cell.strip() for cell in sheet.column(label)], [*map(np.array, scores)]


def _score(sheet: Sheet, row: int, column: str) -> float:
    """Return a score, NaN for an empty cell."""
    if sheet.cell(row, column).strip().lower() in _MISSING:
        return math.nan
    try:
        return sheet.number(row, column)
    except UnreadableData as problem:
        raise UnreadableData(f"{problem}, or empty where there is no score") from None


def _from_parquet(path: Path) -> tuple[list[str], list[Floats]]:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtra("a score matrix in Parquet", "pyarrow", "parquet") from None
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as problem:  # an ArrowInvalid is a ValueError
        raise UnreadableData(f"{path} cannot be read as Parquet: {problem}") from None
    if table.num_columns == 0 or table.num_rows == 0:
        raise UnreadableData(f"{path} is empty, but must have a row for each arm")
    names, columns = table.column_names, table.columns
    return [str(label) for label in columns[0].to_pylist()], [
        _numbers(path, name, column) for name, column in zip(names[1:], columns[1:], strict=True)
    ]


def _numbers(path: Path, name: str, column: Any) -> Floats:
    try:
        numbers = np.array([math.nan if value is None else float(value) for value in column.to_pylist()])
    except (TypeError, ValueError):
        raise UnreadableData(f"{path}: column {name!r} holds {column.type}, but must hold numbers") from None
    if np.isinf(numbers).any():
        raise UnreadableData(f"{path}: column {name!r} holds an infinite score, but scores must be finite")
    large = numbers[np.abs(numbers) >= _LARGEST]
    if large.size:
        raise UnreadableData(f"{path}: column {name!r} holds {large[0]:g}, {_TOO_LARGE}")
    return numbers
