"""A study to take away: results, arms and the journal, line by line."""

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from boxthirding.service.studies import About
from boxthirding.study import Asked, Corrected, Damaged, Entry, Event, Excluded, Given, Included, Observed, Study, Told
from boxthirding.study.codec import as_object
from boxthirding.types import Label

RESULTS: Final = (
    "time",
    "rater",
    "arm",
    "answer",
    "reward",
    "seconds",
    "ticket",
    "counts",
    "id",
    "study_id",
    "session_id",
)
"""Columns of the results."""

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet would run it
_LATEST: Final = 253402300799  # seconds: the year 9999
_LOST: Final = ("", "")  # the arm and the holder of a ticket whose event is damaged
_PAGE: Final = 1000  # arms read at a time


def results(study: Study, about: About) -> Iterator[bytes]:
    """Yield every result as CSV; corrected ones as they are now."""
    return _lines(RESULTS, _results(study, about))


def arms(study: Study, about: About) -> Iterator[bytes]:
    """Yield a summary of every arm that was tried, best first, with a column for each answer."""
    answers: dict[Label, Counter[str]] = {}
    squares: dict[Label, float] = {}
    for row in map(dict, (zip(RESULTS, row, strict=True) for row in _results(study, about))):
        if row["counts"]:
            answers.setdefault(row["arm"], Counter())[row["answer"]] += 1
            squares[row["arm"]] = squares.get(row["arm"], 0.0) + row["reward"] ** 2
    names = [answer.label for answer in about.scale]
    columns = ("rank", "caption", "mean", "precision", "votes", *map(_slug, names), "level", "withdrawn")
    return _lines(columns, _arm_rows(study, names, answers, squares))


def journal(study: Study) -> Iterator[bytes]:
    """Yield every event as a JSON object, one a line."""
    for entry in study.events(damaged=True):
        if isinstance(entry, Damaged):
            row: dict[str, Any] = {"seq": entry.seq, "event": "damaged", "problem": entry.problem, "text": entry.text}
        else:
            row = {"seq": entry.seq, **as_object(entry.event)}
        yield json.dumps(row).encode() + b"\n"


def cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula.

    >>> cell("=1+1"), cell(-0.5), cell("plain")
    ("'=1+1", -0.5, 'plain')
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def _results(study: Study, about: About) -> Iterator[tuple[Any, ...]]:
    """Yield the results in the order in which they came."""
    corrected: dict[int, float] = {}
    excluded: set[str] = set()
    for event in _events(study):
        match event:
            case Corrected(ticket=ticket, reward=reward):
                corrected[ticket] = reward
            case Excluded(holder=holder):
                excluded.add(holder)
            case Included(holder=holder):
                excluded.discard(holder)
    tickets: dict[int, tuple[Label, str]] = {}
    told: set[int] = set()
    for event in _events(study):
        match event:
            case Asked(holder=holder, tickets=new):
                tickets |= {ticket: (label, holder) for ticket, label, _ in new}
            case Given(holder=holder, tickets=again):
                tickets |= {ticket: (tickets.get(ticket, _LOST)[0], holder) for ticket in again}
            case Told(ticket=ticket, reward=reward):
                label, holder = tickets.get(ticket, _LOST)
                holder = event.holder or holder
                details = event.details or {}
                answer = details.get("answer", "")
                if ticket in corrected and ticket not in told:  # a later result of a ticket is one of its own
                    reward = corrected[ticket]
                    answer = about.answer(reward) or ""
                told.add(ticket)
                claims = [details.get(name, "") for name in ("id", "study_id", "session_id")]
                row = (_moment(event.at), holder, label, answer, reward, details.get("seconds", ""), ticket)
                yield (*row, holder not in excluded, *claims)
            case Observed(results=known):
                for label, reward, _ in known:
                    yield (_moment(event.at), "", label, "", reward, "", "", True, "", "", "")


def _arm_rows(
    study: Study, names: list[str], answers: dict[Label, Counter[str]], squares: dict[Label, float]
) -> Iterator[tuple[Any, ...]]:
    first, rank = 0, 0
    while found := study.arms(first, _PAGE):
        for arm in found:
            rank += 1
            counts = answers.get(arm.label, Counter())
            error: float | str = ""
            if arm.mean is not None and arm.pulls > 1 and arm.label in squares:
                spread = max(0.0, squares[arm.label] / arm.pulls - arm.mean * arm.mean)
                error = math.sqrt(spread / arm.pulls)
            row = (rank, arm.label, arm.mean, error, arm.pulls, *[counts[name] for name in names])
            yield (*row, "" if arm.level is None else arm.level, arm.withdrawn)
        first += _PAGE


def _events(study: Study) -> Iterator[Event]:
    return (entry.event for entry in study.events(damaged=True) if isinstance(entry, Entry))


def _lines(columns: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> Iterator[bytes]:
    text = io.StringIO()
    sheet = csv.writer(text, lineterminator="\n")
    sheet.writerow(columns)
    for row in rows:
        sheet.writerow([cell(value) for value in row])
        if text.tell() > 1 << 16:
            yield text.getvalue().encode("utf-8", "replace")
            text.seek(0)
            text.truncate()
    yield text.getvalue().encode("utf-8", "replace")


def _moment(at: float) -> str:
    return datetime.fromtimestamp(min(max(at, 0.0), _LATEST), UTC).isoformat(timespec="milliseconds")


def _slug(text: str) -> str:
    return re.sub(r"\W+", "_", text.strip().casefold()).strip("_") or "answer"
