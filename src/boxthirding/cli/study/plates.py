"""Batches of tickets as CSV files: a row for each ticket, with a column for what was measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from boxthirding._csv import Sheet, csv_lines, escape_formula, read_sheet, shown
from boxthirding._text import in_ascii
from boxthirding.cli.study.columns import Columns
from boxthirding.study import ArmWithdrawn, Asked, Corrected, Created, Entry, Told

if TYPE_CHECKING:
    from boxthirding.session import Ticket
    from boxthirding.study import Study

COLUMNS: Final = ("ticket", "arm", "pull", "reward", "study")
"""Of every plate; those of its arms follow."""

_MARK = 6  # digits by which studies of one name are told apart
_HOLDER = 200  # characters that the name of a holder may have
_DIGITS = 18  # of a ticket at most: no study has handed out more


def plate_of(study: "Study", tickets: "Sequence[Ticket]") -> str:
    """Return tickets of a study as CSV, with a column of rewards to be filled in."""
    mark = mark_of(study)
    columns = Columns([(ticket.label, ticket.payload) for ticket in tickets], COLUMNS)
    rows = ([ticket.id, ticket.label, ticket.pull, "", mark, *columns.cells(ticket.label)] for ticket in tickets)
    return "".join(csv_lines([*COLUMNS, *columns.headings], rows))


def mark_of(study: "Study") -> str:
    """Return by what the plates of a study are known: others may have its name, its arms and its seed."""
    first = next(study.events())
    origin = first.event.origin if isinstance(first, Entry) and isinstance(first.event, Created) else ""
    return f"{study.name}-{origin[:_MARK]}"


def holder_of(path: Path) -> str:
    """Return who holds the tickets of a plate: its place, so files of one name in two folders are two plates."""
    text = str(path.resolve())
    if not text.isprintable():
        text = text.encode("unicode_escape").decode()
    if len(text) <= _HOLDER:
        return text
    digest = sha256(text.encode()).hexdigest()[:16]
    return f"{digest}…{text[len(digest) + 1 - _HOLDER :]}"


@dataclass(frozen=True)
class Bad:
    """A row that cannot be told, and why."""

    line: int
    ticket: str
    reason: str


@dataclass(frozen=True)
class Readings:
    """The rows of a plate that came back, sorted out."""

    good: tuple[tuple[int, int, float], ...]
    """(line, ticket, reward)."""
    bad: tuple[Bad, ...]
    empty: int
    """Rows without a reward: their tickets stay open."""


def read_plate(path: Path, study: "Study", *, header: bool = True) -> Readings:
    """Read a plate and hold every row against the study; nothing is told."""
    sheet = read_sheet(path, header=header).named("ticket", "reward")
    if not sheet.has(("ticket", "reward")):
        raise sheet.without("ticket and reward, as the file that ask wrote")
    expected = Expected(study)
    good, bad, empty = [], [], 0
    for row in _rows(sheet):
        if row.reward is None:
            empty += 1
        elif reason := expected.problem(row):
            bad.append(Bad(row.line, row.ticket, reason))
        else:
            good.append((row.line, int(row.ticket), float(row.reward)))
    return Readings(tuple(good), tuple(bad), empty)


class _Row(NamedTuple):
    line: int
    ticket: str
    reward: float | str | None
    """What is wrong with it, if it is no number; None, if it is empty."""
    arm: str | None
    """None, if there is no such column."""
    study: str
    """Empty, if there is no such column."""


def _rows(sheet: Sheet) -> Iterator[_Row]:
    """Return the rows of a plate, but for empty ones, which spreadsheets leave at the end."""
    for row, (line, cells) in enumerate(zip(sheet.lines, sheet.rows, strict=True)):
        if any(map(str.strip, cells)):
            texts = sheet.texts(row)
            reward: float | str | None = None
            if cell := texts["reward"].strip():
                try:
                    reward = sheet.parsed(row, "reward")
                except ValueError as problem:
                    reward = f"the reward is {shown(cell)}, {problem}"
            yield _Row(line, texts["ticket"], reward, texts.get("arm"), texts.get("study", ""))


class Expected:
    """The tickets whose results a study expects."""

    def __init__(self, study: "Study") -> None:
        self._study = study
        self._mark = mark_of(study)
        holders = study.view().holders
        self._labels = {ticket.id: str(ticket.label) for holder in holders for ticket in study.held(holder)}
        self._lines: dict[int, int] = {}  # by ticket, where it stands first

    @cached_property
    def _past(self) -> "_Past":
        return _Past(self._study)

    def label(self, ticket: int) -> str | None:
        """Return the label of an open ticket, or None."""
        label = self._labels.get(ticket)
        return self._past.open.get(ticket) if label is None else label  # it has no holder, or is not open

    def refusal(self, ticket: int) -> str:
        """Say why a ticket is not expected; nothing, if it is."""
        return "" if self.label(ticket) is not None else self._past.why_not(ticket)

    def problem(self, row: _Row) -> str:
        """Say what is wrong with a row, or nothing."""
        theirs = row.study.strip()
        if theirs and not _is_cell_of(theirs, self._mark):
            return f"the row is of study {theirs!r}, but this is {self._mark!r}: tell it to the study that it came from"
        cell = row.ticket.strip()
        if not (cell.isascii() and cell.isdigit()):
            return f"the ticket is {shown(row.ticket)}, but must be a whole number"
        if len(cell) > _DIGITS:
            return f"the ticket is {shown(row.ticket)}, which was never handed out by this study"
        return self._about(int(cell), row)

    def _about(self, ticket: int, row: _Row) -> str:
        """Say what is wrong with a row that has a number for a ticket, or nothing."""
        if self._lines.setdefault(ticket, row.line) != row.line:
            return f"ticket {ticket} stands on line {self._lines[ticket]} already"
        label = self.label(ticket)
        if label is None:
            return self._past.why_not(ticket)
        if row.arm is not None and not _is_cell_of(row.arm, label):
            return f"ticket {ticket} is for {label!r}, not {row.arm!r}: is this the file of another study?"
        return row.reward if isinstance(row.reward, str) else ""


class _Past:
    """What has become of the tickets of a study, read from its journal when a plate has some that no holder has."""

    def __init__(self, study: "Study") -> None:
        self.open: dict[int, str] = {}
        self._issued = 0
        self._told: dict[int, float] = {}
        for _, event in (entry for entry in study.events() if isinstance(entry, Entry)):
            if isinstance(event, Asked):
                self.open |= {ticket: str(label) for ticket, label, _ in event.tickets}
                self._issued += len(event.tickets)
            elif isinstance(event, Told | Corrected):
                self.open.pop(event.ticket, None)
                if isinstance(event, Corrected) or event.ticket not in self._told:  # a later one is a result of its own
                    self._told[event.ticket] = event.reward
            elif isinstance(event, ArmWithdrawn):
                self.open = {ticket: label for ticket, label in self.open.items() if label != str(event.label)}

    def why_not(self, ticket: int) -> str:
        """Say why the result of a ticket is not expected."""
        if ticket in self._told:
            return (
                f"ticket {ticket} was told already, {self._told[ticket]:g}: the first answer counts, and "
                "`boxthirding study correct` changes it"
            )
        if 0 <= ticket < self._issued:
            return f"ticket {ticket} is void: its arm was withdrawn"
        return f"ticket {ticket} was never handed out by this study"


def _is_cell_of(cell: str, text: str) -> bool:
    """Tell whether a text was written as this cell: as it is, or escaped for a spreadsheet program or an encoding."""
    return in_ascii(cell.strip()) in {in_ascii(text.strip()), in_ascii(str(escape_formula(text)).strip())}


def in_ranges(lines: Sequence[int]) -> str:
    """Return line numbers in few words.

    >>> in_ranges([2, 3, 4, 7])
    '2-4, 7'
    """
    parts: list[list[int]] = []
    for line in lines:
        if parts and line == parts[-1][-1] + 1:
            parts[-1][1:] = [line]
        else:
            parts.append([line])
    return ", ".join("-".join(map(str, part)) for part in parts)
