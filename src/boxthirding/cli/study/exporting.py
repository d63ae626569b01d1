"""`boxthirding study export`: everything that happened in a study, as CSV or as JSON lines."""

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from boxthirding._csv import csv_lines
from boxthirding._text import counted
from boxthirding.cli.output import Failure, Output, say
from boxthirding.cli.study.opening import of_a_journal, there
from boxthirding.cli.study.writing import form_of, refuse_to_destroy, refuse_to_overwrite, whole_file
from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from boxthirding.study import Damaged, Entry, Event
    from boxthirding.types import Label

COLUMNS: Final = ("seq", "at", "event", "ticket", "arm", "pull", "holder", "reward", "details")
"""Of the CSV file."""

DAMAGED: Final = "damaged"
"""The event of a row that stands for one which cannot be read."""

_SHOWN = 20  # damaged events that are named one by one
_LATEST = 253402300799  # seconds: the year 9999, beyond which no calendar goes
_IN_COLUMNS: Final = frozenset({"at", "tickets", "ticket", "label", "labels", "holder", "reward", "results"})
_LONG: Final = frozenset(
    {"arms", "payloads", "drawn", "drawn_payloads", "example_payloads", "met"}
)  # in JSON lines only


@click.command()
@of_a_journal
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "jsonl"]),
    help="On standard output: csv, a row for each ticket or arm that an event is about, or jsonl, a JSON object for "
    "each event. A file has what its name says.  [default: csv]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where it goes: .csv or .jsonl.  [default: standard output]",
)
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@click.pass_context
def export(ctx: click.Context, *, url: str, name: str | None, form: str | None, out: Path | None, force: bool) -> None:
    """Export every event of STUDY as it was written: which holder was handed which ticket, and what came back.

    The rows of the CSV file whose event is told or observed are the results. The study need not be fit to be opened:
    events that are damaged are named on standard error, the others are exported, and the exit code is 1.
    """
    from boxthirding.storage.opening import open_journal
    from boxthirding.study import read_journal

    if out is not None:
        refuse_to_destroy(out, url)
        if form not in (None, form_of(out)):
            raise InvalidInput(f"--format is {form} and --out is {out}, which says otherwise: leave --format out")
        form = form_of(out)
        if not force:
            refuse_to_overwrite(out, "give --force to replace it, or another name")
    write = _write_json_lines if form == "jsonl" else _write_csv
    wanted = there(url, name)
    damaged: list[Damaged] = []
    with closing(open_journal(url, wanted)) as journal, _writing(out) as file:
        write(_noted(read_journal(journal, damaged=True), damaged), file)
    if damaged:
        for seq, _, problem in damaged[:_SHOWN]:
            say(f"Event {seq} is damaged: {problem}", err=True)
        if len(damaged) > _SHOWN:
            say(f"… and {counted(len(damaged) - _SHOWN, 'more event')}, marked {DAMAGED} in the export", err=True)
        say(f"Error: {counted(len(damaged), 'event')} could not be read; the others are exported.", err=True)
        ctx.exit(1)


def _noted(entries: "Iterable[Entry | Damaged]", damaged: "list[Damaged]") -> "Iterator[Entry | Damaged]":
    """Pass entries on, and note the damaged ones."""
    from boxthirding.study import Damaged

    for entry in entries:
        if isinstance(entry, Damaged):
            damaged.append(entry)
        yield entry


@contextmanager
def _writing(out: Path | None) -> Iterator[IO[str] | Output]:
    """Yield standard output, or a file that gets its name when all is written."""
    if out is None:
        yield Output()
        sys.stdout.flush()  # a disk that is full says so now
        return
    try:
        with whole_file(out) as file:
            yield file
    except OSError as problem:
        raise Failure(f"{out} could not be written: {problem.strerror or problem}") from problem


def _write_json_lines(entries: "Iterable[Entry | Damaged]", file: IO[str] | Output) -> None:
    from boxthirding.study import Damaged
    from boxthirding.study.codec import as_object

    for entry in entries:
        if isinstance(entry, Damaged):
            row = {"seq": entry.seq, "event": DAMAGED, "problem": entry.problem, "text": entry.text}
        else:
            row = {"seq": entry.seq, **as_object(entry.event)}
        file.write(json.dumps(row) + "\n")


def _write_csv(entries: "Iterable[Entry | Damaged]", file: IO[str] | Output) -> None:
    for line in csv_lines(COLUMNS, ([row.get(column) for column in COLUMNS] for row in _rows(entries))):
        file.write(line)


def _rows(entries: "Iterable[Entry | Damaged]") -> Iterator[dict[str, Any]]:
    """Cut events into rows, one for each ticket or arm; a result is given the arm of its ticket."""
    from boxthirding.study import Damaged
    from boxthirding.study.codec import name_of

    tickets = _Tickets()
    for entry in entries:
        if isinstance(entry, Damaged):
            details = json.dumps({"problem": entry.problem, "text": entry.text})
            yield {"seq": entry.seq, "event": DAMAGED, "details": details}
            continue
        seq, event = entry
        for row in tickets.about(event):
            yield {"seq": seq, "at": _moment(event.at), "event": name_of(event), "details": _details(event), **row}


def _moment(at: float) -> str:
    return datetime.fromtimestamp(min(max(at, 0.0), _LATEST), UTC).isoformat(timespec="milliseconds")


def _details(event: "Event") -> str:
    """Return what no other column has, as JSON; empty, if there is nothing."""
    named = {field.name: getattr(event, field.name) for field in fields(event) if field.name not in _IN_COLUMNS | _LONG}
    there = {name: value for name, value in named.items() if value not in (None, "") and value is not False}
    plain = there["details"] if set(there) == {"details"} else there
    return json.dumps(plain) if plain else ""


class _Tickets:
    """Which arm and pull every ticket is for, and who holds it; a ticket that a damaged event made is only a number."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, Any]] = {}

    def about(self, event: "Event") -> list[dict[str, Any]]:  # noqa: PLR0911  # a case for each kind of event
        """Return what an event says, ticket by ticket or arm by arm."""
        from boxthirding import study

        match event:
            case study.Asked(holder=holder, tickets=new):
                return [self._cut(ticket, label, pull, holder) for ticket, label, pull in new]
            case study.Given(holder=holder, tickets=tickets):
                return [self._given(ticket, holder) for ticket in tickets]
            case study.Told(ticket=ticket, reward=reward, holder=holder):
                row = {**self._of(ticket), "reward": reward}
                return [row if holder is None else {**row, "holder": holder}]
            case study.Corrected(ticket=ticket, reward=reward):
                return [{**self._of(ticket), "reward": reward}]
            case study.Failed(ticket=ticket):
                return [self._of(ticket)]
            case study.Released(tickets=tickets):
                return [self._of(ticket) for ticket in tickets]
            case study.Observed(results=results):
                return [{"arm": label, "reward": reward, "pull": pull} for label, reward, pull in results]
            case study.Excluded(holder=holder) | study.Included(holder=holder):
                return [{"holder": holder}]
            case study.ArmsAdded(labels=labels):
                return [{"arm": label} for label in labels]
            case study.Redefined(labels=labels):
                return [{"arm": label} for label in labels] or [{}]
            case study.ArmWithdrawn(label=label):
                return [{"arm": label}]
        return [{}]

    def _cut(self, ticket: int, label: "Label", pull: int, holder: str) -> dict[str, Any]:
        self._known[ticket] = {"ticket": ticket, "arm": label, "pull": pull, "holder": holder}
        return self._known[ticket]

    def _given(self, ticket: int, holder: str) -> dict[str, Any]:
        self._known[ticket] = {**self._of(ticket), "holder": holder}
        return self._known[ticket]

    def _of(self, ticket: int) -> dict[str, Any]:
        return self._known.get(ticket, {"ticket": ticket})
