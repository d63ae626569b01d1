"""`boxthirding study results|why|export`: a row for each arm, the story of one arm, and every event of the journal."""

import json
import sys
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from boxthirding._checks import MOST, is_numeric, whole
from boxthirding._csv import csv_lines
from boxthirding._text import counted, format_time, writer
from boxthirding.cli import output, study_options
from boxthirding.errors import InvalidInput
from boxthirding.session.values import as_plain

if TYPE_CHECKING:
    from boxthirding.session import ArmSummary, Lineage, View
    from boxthirding.study import Damaged, Entry, Event

COLUMNS: Final = ("arm", "mean", "pulls", "level", "withdrawn")  # the columns of results; those of the arms follow

EVENT_COLUMNS: Final = ("seq", "at", "event", "ticket", "arm", "pull", "holder", "reward", "details")
"""The columns of an export."""

_ROWS = 20  # of a table on the screen, or of damaged events
_LABEL, _CELL = 24, 14  # columns of the screen that a label, or a cell of another column, may have
_IN_COLUMNS: Final = frozenset({"at", "tickets", "ticket", "label", "labels", "holder", "reward", "results"})
# In JSON lines only:
_LONG: Final = frozenset({"arms", "payloads", "drawn", "drawn_payloads", "example_payloads", "met"})


@click.command(epilog="For example: boxthirding study results screen.db --out results.csv")
@study_options.study_argument
@click.option("--top", type=int, metavar="N", help="Only the N best.  [default: 20 on the screen, all in a file]")
@click.option(
    "--out",
    type=output.FILE,
    metavar="FILE",
    help="Write them to a file, .csv or .jsonl.  [default: a table on the screen]",
)
@study_options.force_option
@study_options.json_option
def results(*, url: str, name: str | None, top: int | None, out: Path | None, force: bool, as_json: bool) -> None:
    """Print the results of STUDY, a row for each arm that was tried: the best first, with the columns of its arms."""
    if top is not None:
        whole("--top", top, least=1)
    form = None if out is None else _check_form(out, url, force=force)
    with study_options.open_anywhere(url, name) as study:
        arms = study.arms(count=top or (_ROWS if out is None and not as_json else MOST))
        columns = study_options.ArmColumns([(arm.label, study.payload(arm.label)) for arm in arms], COLUMNS)
        view = study.view()
    if out is None and not as_json:
        _print_results(view, arms, columns)
        return
    rows = [{**dict(zip(COLUMNS, arm, strict=True)), **columns.row(arm.label)} for arm in arms]
    lines: Iterator[str] = (json.dumps(row) + "\n" for row in rows)
    if out is None:
        click.echo("".join(lines), nl=False)
        return
    if form == ".csv":
        cells = ([*arm[:-1], "yes" if arm.withdrawn else "", *columns.cells(arm.label)] for arm in arms)
        lines = csv_lines([*COLUMNS, *columns.headings], cells)
    with output.whole_file(out) as file:
        file.writelines(lines)
    output.say(f"{out}: {counted(len(arms), 'arm')}.")


@click.command(epilog="For example: boxthirding study why screen.db aspirin")
@study_options.with_study
@click.argument("label", metavar="[LABEL]", required=False)
@study_options.json_option
def why(*, study: study_options.AnyStudy, label: str | None, as_json: bool) -> None:
    """Show the history of the arm LABEL: its current position, and with the policy b3 the boxes it was in.

    Without LABEL it is the best arm.
    """
    best = study.recommend() if label is None else None
    if label is None and best is None:
        raise InvalidInput("no arm has a result yet, so there is no best one: name an arm, or come back later")
    known = best.label if best is not None else study_options.find_label(study, str(label))
    lineage = study.why(known)
    row = study_options.ArmColumns([(known, study.payload(known))]).row(known)
    if as_json:
        click.echo(json.dumps({**as_plain(lineage), "row": row}))
    else:
        _print_lineage(lineage, row)


@click.command()
@study_options.database_argument
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "jsonl"]),
    help="On standard output: csv, a row for each ticket or arm that an event is about, or jsonl, a JSON object for "
    "each event. A file has what its name says.  [default: csv]",
)
@click.option(
    "--out", type=output.FILE, metavar="FILE", help="Where it goes: .csv or .jsonl.  [default: standard output]"
)
@study_options.force_option
@click.pass_context
def export(ctx: click.Context, *, url: str, name: str | None, form: str | None, out: Path | None, force: bool) -> None:
    """Export every event of STUDY as it was written: which holder was handed which ticket, and what came back.

    The rows of the CSV file whose event is told or observed are the results. The study need not be fit to be opened:
    events that are damaged are named on standard error, the others are exported, and the exit code is 1.
    """
    from boxthirding.storage.opening import open_journal
    from boxthirding.study import Damaged, read_journal
    from boxthirding.study.codec import DAMAGED, entry_line

    if out is not None:
        ending = _check_form(out, url, force=force).removeprefix(".")
        if form not in (None, ending):
            raise InvalidInput(f"--format is {form} and --out is {out}, which says otherwise: leave --format out")
        form = ending
    damaged: list[Damaged] = []

    def entries() -> "Iterator[Entry | Damaged]":
        for entry in read_journal(journal, damaged=True):
            if isinstance(entry, Damaged):
                damaged.append(entry)
            yield entry

    with ExitStack() as stack:
        journal = stack.enter_context(closing(open_journal(url, study_options.existing_name(url, name))))
        file = output.Output() if out is None else stack.enter_context(output.whole_file(out))
        for line in map(entry_line, entries()) if form == "jsonl" else _ticket_lines(entries()):
            file.write(line)
        if out is None:
            sys.stdout.flush()  # a full disk is reported now
    if damaged:
        for seq, _, problem in damaged[:_ROWS]:
            output.say(f"Event {seq} is damaged: {problem}", err=True)
        if len(damaged) > _ROWS:
            output.say(f"… and {counted(len(damaged) - _ROWS, 'more event')}, marked {DAMAGED} in the export", err=True)
        output.say(f"Error: {counted(len(damaged), 'event')} could not be read; the others are exported.", err=True)
        ctx.exit(1)


def _check_form(out: Path, url: str, *, force: bool) -> str:
    """Return the ending of a file's name, which says what is written; refuse a file that cannot be written."""
    output.check_out(out, url, force=force)
    ending = out.suffix.lower()
    if ending not in {".csv", ".jsonl"}:
        raise InvalidInput(f"--out is {out}, but must end in .csv or .jsonl: what is written depends on it")
    return ending


# The table of results


def _print_results(view: "View", arms: "Sequence[ArmSummary]", columns: study_options.ArmColumns) -> None:
    """Print a table no wider than the screen: as many columns of the arms as there is room for."""
    from rich.cells import cell_len
    from rich.text import Text

    from boxthirding.find.summary import explain_order

    console = output.plain_console()
    if not arms:
        console.print("No result yet." if view.spent == 0 else "No result counts: their holders are excluded.")
        return
    short = output.label_shortener([arm.label for arm in arms], max(10, min(_LABEL, console.width - 24)), console)
    write = writer(arm.mean for arm in arms)
    levels = ["withdrawn" if arm.withdrawn else "" if arm.level is None else str(arm.level) for arm in arms]
    table_columns = [
        ["arm", *(short(arm.label) for arm in arms)],
        ["mean", *("" if arm.mean is None else write(arm.mean) for arm in arms)],
        ["pulls", *(f"{arm.pulls:,}" for arm in arms)],
    ]
    if any(levels):
        table_columns.append(["state" if all(arm.level is None for arm in arms) else "level", *levels])
    left_out = []
    for heading, *cells in zip(columns.headings, *(columns.cells(arm.label) for arm in arms), strict=True):
        more = [output.shorten(cell, _CELL, console) for cell in (heading, *cells)]
        if sum(max(map(cell_len, column)) + 2 for column in (*table_columns, more)) - 2 > console.width:
            left_out.append(heading)
        else:
            table_columns.append(more)
    numbers = [all(is_numeric(cell.replace(",", "")) for cell in cells if cell) for _, *cells in table_columns]
    right = [column[0] for column, is_number in list(zip(table_columns, numbers, strict=True))[1:] if is_number]
    table = output.grid([column[0] for column in table_columns], right)
    for row in zip(*(cells for _, *cells in table_columns), strict=True):
        table.add_row(*map(Text, row))
    console.print(table)
    order = explain_order(arms, view.direction)
    if order:
        console.print(order)
    if view.tried > len(arms) or left_out:
        console.print()
    if view.tried > len(arms):
        more_arms = counted(view.tried - len(arms), "arm")
        console.print(f"{more_arms} more: --top N shows more, --out FILE.csv writes all.")
    if left_out:
        console.print(f"No room for {', '.join(left_out)}: --out FILE.csv has all columns.")


# The story of an arm


def _print_lineage(lineage: "Lineage", row: dict[str, str]) -> None:
    console = output.plain_console()

    def put(text: str, indent: str = "", style: str | None = None) -> None:
        lines = textwrap.wrap(
            output.one_line(text), console.width, initial_indent=indent, subsequent_indent=indent + "  "
        )
        console.print("\n".join(lines), style=style, soft_wrap=True)

    now, *steps = lineage.lines()
    put(str(lineage.label), style="bold")
    put(now)
    if row:
        put(", ".join(f"{name} {cell}" for name, cell in row.items() if cell))
    for step in steps:
        put(step, "  ")


# The events of a journal


def _ticket_lines(entries: "Iterable[Entry | Damaged]") -> Iterator[str]:
    """Yield every event as lines of CSV, one for each ticket or arm; a result is given the arm of its ticket."""
    rows = _event_rows(entries)
    return csv_lines(EVENT_COLUMNS, ([row.get(column) for column in EVENT_COLUMNS] for row in rows))


def _event_rows(entries: "Iterable[Entry | Damaged]") -> Iterator[dict[str, Any]]:
    from boxthirding.study import Damaged
    from boxthirding.study.codec import DAMAGED, name_of

    tickets: dict[int, dict[str, Any]] = {}
    for entry in entries:
        if isinstance(entry, Damaged):
            details = json.dumps({"problem": entry.problem, "text": entry.text})
            yield {"seq": entry.seq, "event": DAMAGED, "details": details}
            continue
        seq, event = entry
        shared = {"seq": seq, "at": format_time(event.at), "event": name_of(event), "details": _format_details(event)}
        yield from (shared | row for row in _rows_of(event, tickets))


def _rows_of(event: "Event", tickets: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return an event ticket by ticket or arm by arm, and note what it says about `tickets`.

    A ticket whose first event is damaged is only a number.
    """
    from boxthirding.study.events import Asked, Given, Observed

    if isinstance(event, Observed):
        return [{"arm": label, "reward": reward, "pull": pull} for label, reward, pull in event.results]
    if isinstance(event, Asked):
        for ticket, label, pull in event.tickets:
            tickets[ticket] = {"ticket": ticket, "arm": label, "pull": pull, "holder": event.holder}
        return [tickets[ticket] for ticket, _, _ in event.tickets]
    named = {name: getattr(event, name, None) for name in ("holder", "reward")}
    known = {name: value for name, value in named.items() if value is not None}
    ids = (event.ticket,) if hasattr(event, "ticket") else getattr(event, "tickets", ())
    rows = [{**tickets.get(ticket, {"ticket": ticket}), **known} for ticket in ids]
    if isinstance(event, Given):
        tickets |= {row["ticket"]: row for row in rows}
    labels = (event.label,) if hasattr(event, "label") else getattr(event, "labels", ())
    return rows or [{"arm": label} for label in labels] or [known]


def _format_details(event: "Event") -> str:
    """Return the values without a column of their own, as JSON, or an empty text."""
    named = {field.name: getattr(event, field.name) for field in fields(event) if field.name not in _IN_COLUMNS | _LONG}
    there = {name: value for name, value in named.items() if value not in (None, "") and value is not False}
    plain = there["details"] if set(there) == {"details"} else there
    return json.dumps(plain) if plain else ""
