"""Arms, examples and known results, as files give them: tables, or texts with one on each line."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from boxthirding._csv import TABLES, read_bytes, read_sheet, sheet_of, text_of
from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.types import Label

Row = dict[str, str]  # an arm: its columns by name, and its label as `arm`

_DIGITS = 16  # of a pull: no arm has more


def read_arms(path: Path, *, header: bool = True) -> list[Row]:
    """Read arms from a table, or from the lines of any other file.

    Without a header, the first column of a table is `arm`, and the others are 2, 3 and so on.
    """
    return arms_of(_bytes_of(path, "arm"), str(path), header=header)


def arms_of(data: bytes, path: str, *, header: bool = True) -> list[Row]:
    """Return the arms that the content of a file has, which need not be on a disk."""
    arms, lines = _read(data, path, "arm", header=header)
    first: dict[str, int] = {}
    for arm, line in zip(arms, lines, strict=True):
        label = arm["arm"]
        if not label:
            raise UnreadableData(f"{path}, line {line}: the arm is empty, but must have a label")
        if label in first:
            raise UnreadableData(
                f"{path}, line {line}: arm {label!r} stands on line {first[label]} already, but a label must be "
                "unique: leave one out, or give the table a column arm with a label for each row"
            )
        first[label] = line
    return arms


def labelled(rows: Iterable[Row]) -> dict[Label, Row | Label]:
    """Return arms by their labels: the row of each, or the label alone if the file has no other column."""
    return {row["arm"]: row if len(row) > 1 else row["arm"] for row in rows}


def read_examples(path: Path, *, header: bool = True) -> list[str]:
    """Read examples from the column `example` of a table, else its first, or from the lines of any other file."""
    rows, _ = _read(_bytes_of(path, "example"), str(path), "example", header=header)
    return [row["example"] for row in rows]


class KnownRow(NamedTuple):
    """A known result in a file."""

    line: int
    arm: str
    reward: float
    pull: int | None  # index of the pull, or of its example, or None if the file need not give it


def read_known(
    path: Path, *, examples: Sequence[str] | None = None, with_pulls: bool = False, header: bool = True
) -> list[KnownRow]:
    """Read known results from a table with the columns arm and reward (or score), several rows for an arm or none.

    With examples it must also have a column example, which names one of them; `with_pulls`, a column pull.
    """
    third = "example" if examples is not None else "pull" if with_pulls else None
    sheet = read_sheet(path, header=header).named("arm", *([third] if third else []), "reward")
    reward = "reward" if sheet.has(["reward"]) else "score"
    if not sheet.has(["arm", reward, *([third] if third else [])]):
        wanted = "arm and reward" if third is None else f"arm, {third} and reward"
        raise sheet.without(f"{wanted} (or score): rename them")
    indices: dict[str, list[int]] = {}
    for index, example in enumerate(examples or ()):
        indices.setdefault(example, []).append(index)
    rows = []
    for row, (line, cells) in enumerate(zip(sheet.lines, sheet.rows, strict=True)):
        if not any(map(str.strip, cells)):  # spreadsheets leave them at the end
            continue
        texts = sheet.texts(row)
        where = f"{path}, line {line}"
        pull = None
        if third is not None:
            cell = texts[third].strip()
            pull = _example(where, cell, indices) if examples is not None else _pull(where, cell)
        rows.append(KnownRow(line, texts["arm"].strip(), sheet.number(row, reward), pull))
    return rows


def as_known(rows: Iterable[KnownRow]) -> dict[Label, Any]:
    """Return known results as `find_best` takes them: lists of rewards, or rewards by example."""
    known: dict[Label, Any] = {}
    for row in rows:
        if row.pull is None:
            known.setdefault(row.arm, []).append(row.reward)
            continue
        rewards = known.setdefault(row.arm, {})
        if row.pull in rewards:
            raise InvalidInput(
                f"line {row.line} has a second result of arm {row.arm!r} on the same example, but each counts once: "
                "leave one out"
            )
        rewards[row.pull] = row.reward
    return known


def _example(where: str, cell: str, indices: Mapping[str, Sequence[int]]) -> int:
    found = indices.get(cell, ())
    if len(found) != 1:
        problem = f"stands in --examples {len(found)} times" if found else "is none of --examples"
        raise UnreadableData(f"{where}: example is {cell!r}, which {problem}, but must be one of them")
    return found[0]


def _pull(where: str, cell: str) -> int:
    if not (cell.isascii() and cell.isdigit() and len(cell) < _DIGITS):
        raise UnreadableData(f"{where}: pull is {cell!r}, but must be a whole number from 0: the place of its example")
    return int(cell)


def _bytes_of(path: Path, name: str) -> bytes:
    is_table = path.suffix.lower() in TABLES
    return read_bytes(path, "give a CSV file with a header" if is_table else f"give a file with an {name} on each line")


def _read(data: bytes, path: str, name: str, *, header: bool) -> tuple[list[Row], list[int]]:
    """Return the rows of a file, with one column under this name, and the line on which each ends."""
    if PurePath(path).suffix.lower() not in TABLES:
        return _lines(text_of(data, path), path, name)
    sheet = sheet_of(data, path, header=header).named(name, more=True)
    key = name if sheet.has([name]) else sheet.columns[0]
    if key != name and sheet.seems_headless:
        raise sheet.no_header()
    rows = map(sheet.texts, range(len(sheet.rows)))
    return [{**row, name: row[key].strip()} for row in rows], sheet.lines


def _lines(text: str, path: str, name: str) -> tuple[list[Row], list[int]]:
    """Return the lines of a text, each an arm or an example."""
    found = [(line.strip(), number) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if not found:
        raise UnreadableData(f"{path} is empty, but must have an {name} on each line")
    tabs = Counter(line.count("\t") for line, _ in found)
    if len(tabs) == 1 and 0 not in tabs and len(found) > 1:
        raise UnreadableData(
            f"{path} has tabs on every line, as a table has, but is no {name} on each line: if it is a table, name it "
            f"{PurePath(path).stem}.tsv"
        )
    return [{name: line} for line, _ in found], [number for _, number in found]
