"""`boxthirding study export`: everything that happened in a study, as CSV or as JSON lines."""

import csv
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from boxthirding.cli.study.opening import of_a_study, opened
from boxthirding.cli.study.writing import refuse_to_destroy, refuse_to_overwrite, whole_file

if TYPE_CHECKING:
    from boxthirding.study import Entry

COLUMNS: Final = ("seq", "at", "event", "ticket", "arm", "pull", "holder", "reward")
"""Of the CSV file."""


@click.command()
@of_a_study
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "jsonl"]),
    help="csv: a row for each ticket or arm that an event is about. jsonl: a JSON object for each event.  "
    "[default: by the name of the file, else csv]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where it goes. Standard output unless given.",
)
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
def export(*, url: str, name: str | None, form: str | None, out: Path | None, force: bool) -> None:
    """Export every event of STUDY, in order: who was handed which ticket, and what came back.

    The rows of the CSV file whose event is told are the results.
    """
    if out is not None:
        refuse_to_destroy(out, url)
        if not force:
            refuse_to_overwrite(out, "give --force to replace it, or another name")
    if form is None:
        form = "jsonl" if out is not None and out.suffix in (".jsonl", ".json", ".ndjson") else "csv"
    write = {"csv": _write_csv, "jsonl": _write_json_lines}[form]
    with opened(url, name) as study, _writing(out) as file:
        write(study.events(), file)


@contextmanager
def _writing(out: Path | None) -> Iterator[IO[str]]:
    """Yield standard output, or a file that gets its name when all is written."""
    if out is None:
        yield sys.stdout
        return
    try:
        with whole_file(out) as file:
            yield file
    except OSError as problem:
        raise click.ClickException(f"{out} could not be written: {problem.strerror or problem}") from problem


def _write_json_lines(entries: "Iterable[Entry]", file: IO[str]) -> None:
    from boxthirding.study.codec import name_of

    for seq, event in entries:
        file.write(json.dumps({"seq": seq, "event": name_of(event), **asdict(event)}) + "\n")


def _write_csv(entries: "Iterable[Entry]", file: IO[str]) -> None:
    sheet = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    sheet.writeheader()
    sheet.writerows(_rows(entries))


def _rows(entries: "Iterable[Entry]") -> Iterator[dict[str, Any]]:
    """Cut events into rows, one for each ticket or arm; a result is given the arm of its ticket."""
    from boxthirding.study.codec import name_of

    tickets = _Tickets()
    for seq, event in entries:
        moment = datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds")
        for row in tickets.about(event):
            yield {"seq": seq, "at": moment, "event": name_of(event), **row}


class _Tickets:
    """Which arm and pull every ticket is for."""

    def __init__(self) -> None:
        self._known: dict[int, dict[str, Any]] = {}  # the columns of open tickets
        self._pulls: dict[Any, int] = {}  # by label: pulls handed out

    def about(self, event: Any) -> list[dict[str, Any]]:
        """Return what an event says, ticket by ticket or arm by arm."""
        from boxthirding.study import ArmsAdded, ArmWithdrawn, Asked, Failed, Reissued, Released, Told

        match event:
            case Asked(holder=holder, first=first, labels=labels):
                return [self._cut(first + place, label, holder) for place, label in enumerate(labels)]
            case Told(ticket=ticket, reward=reward):
                return [{**self._known.pop(ticket), "reward": reward}]
            case Failed(ticket=ticket):
                return [self._known[ticket]]
            case Reissued(holder=holder, tickets=again):
                for ticket in again:
                    self._known[ticket] = {**self._known[ticket], "holder": holder}
                return [self._known[ticket] for ticket in again]
            case Released(tickets=released):
                return [self._known[ticket] for ticket in released]
            case ArmsAdded(labels=labels):
                return [{"arm": label} for label in labels]
            case ArmWithdrawn(label=label):
                return [{"arm": label}]
        return [{}]

    def _cut(self, ticket: int, label: Any, holder: str) -> dict[str, Any]:
        pull = self._pulls.get(label, 0)
        self._pulls[label] = pull + 1
        self._known[ticket] = {"ticket": ticket, "arm": label, "pull": pull, "holder": holder}
        return self._known[ticket]
