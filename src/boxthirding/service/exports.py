"""A study to take away: results, arms and the journal, line by line."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain, count, islice
from typing import Any, Final

from boxthirding._csv import csv_lines
from boxthirding._text import format_time
from boxthirding.service.studies import About
from boxthirding.study import Entry, Event, Study
from boxthirding.study.codec import entry_line
from boxthirding.study.events import Asked, Corrected, Excluded, Given, Included, Observed, Told
from boxthirding.types import Label

_CLAIMS: Final = ("id", "study_id", "session_id")  # what another service says of a rater
RESULTS: Final = ("time", "rater", "arm", "answer", "reward", "seconds", "ticket", "counts", *_CLAIMS)
"""Columns of the results."""

_LOST: Final = ("", "")  # the arm and the holder of a ticket whose event is damaged
_PAGE: Final = 1000  # arms read at a time
_CHUNK: Final = 500  # lines sent at a time


def results(study: Study, about: About) -> Iterator[bytes]:
    """Yield every result as CSV; corrected ones as they are now."""
    return _chunks(csv_lines(RESULTS, _results(study, about)))


def arms(study: Study, about: About) -> Iterator[bytes]:
    """Yield a summary of every arm that was tried, best first, with a column for each answer."""
    answers: dict[Label, Counter[str]] = {}
    squares: dict[Label, float] = {}
    for row in map(dict, (zip(RESULTS, row, strict=True) for row in _results(study, about))):
        if row["counts"]:
            answer = about.answer(row["reward"]) or row["answer"]  # its words may have changed, its reward has not
            answers.setdefault(row["arm"], Counter())[answer] += 1
            squares[row["arm"]] = squares.get(row["arm"], 0.0) + row["reward"] ** 2
    names = [answer.label for answer in about.scale]
    return _chunks(csv_lines(_arm_columns(names), _arm_rows(study, names, answers, squares)))


def journal(study: Study) -> Iterator[bytes]:
    """Yield every event as a JSON object, one a line."""
    return _chunks(map(entry_line, study.events(damaged=True)))


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
    outliers = Counter((result.label, result.ticket, result.reward) for result in study.outliers())
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
                details = {name: _cell(value) for name, value in (event.details or {}).items()}
                answer = details.get("answer")
                if ticket in corrected and ticket not in told:  # a later result of a ticket is one of its own
                    reward, answer = corrected[ticket], None
                answer = answer or about.answer(reward) or ""  # a program tells a reward alone
                key = (label, None if ticket in told else ticket, reward)
                told.add(ticket)
                claims = [details.get(name, "") for name in _CLAIMS]
                row = (format_time(event.at), holder, label, answer, reward, details.get("seconds", ""), ticket)
                yield (*row, holder not in excluded and not _taken(outliers, key), *claims)
            case Observed(results=known):
                for label, reward, _ in known:
                    counts = not _taken(outliers, (label, None, reward))
                    answer = about.answer(reward) or ""
                    yield (format_time(event.at), "", label, answer, reward, "", "", counts, "", "", "")


def _cell(value: Any) -> str | int | float:
    """Return a detail of a result, which may be any JSON, as a cell."""
    if isinstance(value, str | int | float):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _taken(rows: Counter[tuple[Any, ...]], row: tuple[Any, ...]) -> bool:
    """Take a row out of some, if it is there; tell whether it was."""
    if rows[row] == 0:
        return False
    rows[row] -= 1
    return True


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


def _chunks(lines: Iterator[str]) -> Iterator[bytes]:
    """Yield lines as bytes, many at a time: each chunk of a reply changes the thread."""
    while chunk := "".join(islice(lines, _CHUNK)):
        yield chunk.encode("utf-8", "replace")


def _arm_columns(answers: list[str]) -> tuple[str, ...]:
    """Return the columns of the summary, each with a name of its own: answers may be pictograms, or be called mean."""
    before, after = ("rank", "caption", "mean", "precision", "votes"), ("level", "withdrawn")
    taken = {*before, *after}
    names = []
    for text in answers:
        plain = re.sub(r"\W+", "_", text.strip().casefold()).strip("_") or text
        tries = chain([plain], (f"{plain}_{number}" for number in count(2)))
        name = next(name for name in tries if name not in taken)
        taken.add(name)
        names.append(name)
    return (*before, *names, *after)
