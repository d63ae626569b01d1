"""A final for candidates of any origin: measure again what looked good, so that the winner is not the luckiest."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, Final, cast

from boxthirding._checks import as_reward, is_numeric
from boxthirding._csv import Sheet, read_sheet
from boxthirding.errors import InvalidInput
from boxthirding.find import Found, find_best
from boxthirding.session.labels import is_label, rows_of, unlabelled
from boxthirding.types import Label

Row = dict[str, Any]

_PADDED: Final = re.compile(r"\s*0\d")  # with zeros before it, as names and codes have them


@dataclass(frozen=True)
class Candidates:
    """Arms to race, and what has been measured of them: `race` takes it, `from_table` and `from_optuna` make it."""

    arms: Mapping[Label, Any]
    """What to evaluate, by label."""
    known: Mapping[Label, Any] = field(default_factory=dict)
    """Scores that are there already, by label, as `find_best` takes them."""
    direction: str | None = None
    """Whether larger scores are better: "maximize" or "minimize"; None where the source does not say."""

    def __len__(self) -> int:
        return len(self.arms)


def race(candidates: Candidates | Any, evaluate: Callable[..., Any], **options: Any) -> Found:
    """Find the best of candidates that another tool, a person or a table proposed, and return what `find_best` returns.

    Parameters
    ----------
    candidates : Candidates, list, mapping or DataFrame
        From `from_optuna(study)`, `from_table("scores.csv")`, or anything that `find_best` takes as arms: prompts,
        programs, parameter sets.
    evaluate : callable
        `evaluate(candidate)`, or with `examples` the metric `evaluate(candidate, example)`, returns a number.
    options : keyword arguments
        As for `find_best`: `budget` (or `seconds` or `cost`) must be there; `examples` is the validation set,
        `workers`, `executor`, `study`, `seed`, `on_error` and the others are optional.

    Each score that is known already counts as one pull outside the budget. `found.confirm(3, pulls=50)` measures
    the best three again; only those new scores are free of the luck that made them winners.

    >>> tried = from_table([{"rate": 0.1, "score": 0.90}, {"rate": 0.2, "score": 0.95}, {"rate": 0.3, "score": 0.2}])
    >>> found = race(tried, lambda rate: {0.1: 0.8, 0.2: 0.5, 0.3: 0.1}[rate], budget=20, progress=False)
    >>> found.best
    0.1

    """
    if not isinstance(candidates, Candidates):
        return find_best(candidates, evaluate, **options)
    direction = options.pop("direction", None)
    if direction is not None and candidates.direction not in (None, direction):
        raise InvalidInput(
            f"direction is {direction!r}, but the candidates come with {candidates.direction!r}: leave it out"
        )
    known: Any = {**candidates.known, **(options.pop("known", None) or {})}
    return find_best(
        candidates.arms, evaluate, known=known or None, direction=direction or candidates.direction, **options
    )


def from_table(table: Any, *, score: str = "score", direction: str | None = None) -> Candidates:
    """Return the candidates of a table whose scores, or some of them, have been measured.

    Parameters
    ----------
    table : path, DataFrame or list of dictionaries
        A CSV file (or one with a JSON object on each line), or a pandas or polars DataFrame: a row for each
        measurement. Rows that differ in nothing but the score are measurements of one candidate. A column of a file
        that holds nothing but numbers gives numbers, unless one has zeros before it, such as 007: then all are texts.
    score : str, default "score"
        The column with the scores. An empty cell, None or NaN is a candidate that has not been measured.
    direction : {"maximize", "minimize"}, optional
        Whether larger scores are better. Default: "maximize".

    The other columns are the candidate, as a dictionary; where there is only one, its value is.

    >>> from_table([{"prompt": "Be brief.", "score": 0.5}, {"prompt": "Think.", "score": None}])
    Candidates(arms={'Be brief.': 'Be brief.', 'Think.': 'Think.'}, known={'Be brief.': [0.5]}, direction=None)

    """
    if isinstance(table, str | PathLike):
        sheet = read_sheet(table)
        if not sheet.has([score]):
            raise sheet.without(f"a column {score!r}, or the one that score= names")
        return _grouped(_cells(sheet, score), score, direction)
    listed = unlabelled(rows_of(table) if isinstance(table, Iterable) else [table])
    if not all(isinstance(row, Mapping) for row in listed):
        kind = type(table).__name__
        raise InvalidInput(f"the table is of type {kind}, but must be a path, a DataFrame or a list of dictionaries")
    rows = [dict(row) for row in listed]
    if not rows:
        raise InvalidInput("the table has no rows, but must have one for each candidate")
    missing = next((place for place, row in enumerate(rows) if score not in row), None)
    if missing is not None:
        columns = ", ".join(map(str, rows[missing]))
        raise InvalidInput(
            f"row {missing} of the table has the columns {columns}, but must have {score!r}: name the one with the "
            "scores, score=…"
        )
    return _grouped(rows, score, direction)


def _cells(sheet: Sheet, score: str) -> list[Row]:
    """Return the rows of a file, with numbers where a column holds nothing else; 007 is a name, and not 7."""
    rows = [cast("Row", sheet.texts(row)) for row in range(len(sheet.rows))]
    for column in sheet.columns:
        filled = [row[column] for row in rows if row[column].strip()]
        if not all(map(is_numeric, filled)) or (column != score and any(map(_PADDED.match, filled))):
            continue
        for row in rows:
            row[column] = _number(row[column]) if row[column].strip() else None
    for place, row in enumerate(rows):
        if isinstance(row[score], str):
            is_unknown = row[score].strip().lower() in ("", "nan")
            row[score] = None if is_unknown else sheet.number(place, score)  # which refuses it by its line
    return rows


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _grouped(rows: list[Row], score: str, direction: str | None) -> Candidates:
    """Return rows as candidates: those that differ in the score alone are one."""
    values = [row.pop(score) for row in rows]
    if not rows[0]:
        raise InvalidInput(f"the table has no column but {score!r}, and must have one that says what was measured")
    things = [next(iter(row.values())) if len(row) == 1 else row for row in rows]
    own: list[Any] = things if all(map(is_label, things)) else list(range(len(things)))
    arms: dict[Label, Any] = {}
    known: dict[Label, list[float]] = {}
    labels: dict[str, Label] = {}
    for place, (arm, value) in enumerate(zip(things, values, strict=True)):
        label = labels.setdefault(repr(arm), own[place])
        arms.setdefault(label, arm)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            continue
        try:
            known.setdefault(label, []).append(as_reward(value))
        except InvalidInput as error:
            problem = f"row {place} of the table: {score} is {value!r}, but must be a finite number"
            raise InvalidInput(problem) from error
    return Candidates(arms, known, direction)
