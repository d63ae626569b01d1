"""Batches of tickets as CSV files: a row for each ticket, with a column for what was measured."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.rewards.files import read_sheet
from boxthirding.session.play import as_reward
from boxthirding.study import Asked, Told

if TYPE_CHECKING:
    from boxthirding.session import Ticket
    from boxthirding.study import Study

COLUMNS: Final = ("ticket", "arm", "pull", "reward")


def plate_of(tickets: "Iterable[Ticket]") -> str:
    """Return tickets as CSV, with a column of rewards to be filled in."""
    text = io.StringIO()
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(COLUMNS)
    sheet.writerows((ticket.id, ticket.label, ticket.pull, "") for ticket in tickets)
    return text.getvalue()


def refuse_to_overwrite(path: Path) -> None:
    """Refuse a file that is there: somebody may have filled it in."""
    if path.exists():
        raise InvalidInput(
            f"--out is {path}, which is there already: tell it first, then move it, or give another name"
        )
    if not path.parent.is_dir():
        raise InvalidInput(f"--out is {path}, but there is no folder {path.parent}")


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


def read_plate(path: Path, study: "Study") -> Readings:
    """Read a plate and hold every row against the study; nothing is told."""
    sheet = read_sheet(path)
    if not sheet.has(("ticket", "reward")):
        raise UnreadableData(
            f"{path} has the columns {', '.join(sheet.columns)}, but must have ticket and reward, "
            "as the file that ask wrote"
        )
    arms = sheet.column("arm") if sheet.has(["arm"]) else [None] * len(sheet.rows)
    expected = _Expected(study)
    good, bad, empty = [], [], 0
    for line, ticket, arm, reward in zip(
        sheet.lines, sheet.column("ticket"), arms, sheet.column("reward"), strict=True
    ):
        if not reward.strip():
            empty += 1
        elif reason := expected.problem(line, ticket, arm, reward):
            bad.append(Bad(line, ticket, reason))
        else:
            good.append((line, int(ticket), float(reward)))
    return Readings(tuple(good), tuple(bad), empty)


class _Expected:
    """The tickets whose results a study expects."""

    def __init__(self, study: "Study") -> None:
        self._study = study
        self._labels = {lent.ticket.id: str(lent.ticket.label) for lent in study.lent()}
        self._lines: dict[int, int] = {}  # by ticket, where it was first met

    @cached_property
    def _past(self) -> "_Past":
        return _Past(self._study)

    def problem(self, line: int, cell: str, arm: str | None, reward: str) -> str:
        """Say what is wrong with a row, or nothing."""
        if not (cell.strip().isascii() and cell.strip().isdigit()):
            return f"the ticket is {cell!r}, but must be a whole number"
        ticket = int(cell)
        if self._lines.setdefault(ticket, line) != line:
            return f"ticket {ticket} stands on line {self._lines[ticket]} already"
        if ticket not in self._labels:
            return self._past.why_not(ticket)
        if arm is not None and arm.strip() != self._labels[ticket].strip():
            return f"ticket {ticket} is for {self._labels[ticket]!r}, not {arm!r}: is this the file of another study?"
        try:
            as_reward(float(reward))
        except ValueError:
            return f"the reward is {reward!r}, but must be a finite number"
        return ""


class _Past:
    """What has become of tickets that are not open; read from the journal when somebody wants to know."""

    def __init__(self, study: "Study") -> None:
        self._issued = 0
        self._told: dict[int, float] = {}
        for _, event in study.events():
            if isinstance(event, Asked):
                self._issued = event.first + len(event.labels)
            elif isinstance(event, Told):
                self._told[event.ticket] = event.reward

    def why_not(self, ticket: int) -> str:
        """Say why the result of a ticket is not expected."""
        if ticket in self._told:
            return f"ticket {ticket} was told already, {self._told[ticket]:g}: the first answer counts"
        if 0 <= ticket < self._issued:
            return f"ticket {ticket} is void: its arm was withdrawn"
        return f"ticket {ticket} was never handed out by this study"


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
