"""`boxthirding study results`: a row for each arm that was tried, on the screen or as a file."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from boxthirding._checks import is_numeric
from boxthirding._csv import csv_lines
from boxthirding._text import counted, writer
from boxthirding.cli.output import Failure, say
from boxthirding.cli.study.columns import Columns
from boxthirding.cli.study.opening import json_option, of_a_study, reached
from boxthirding.cli.study.writing import form_of, refuse_to_destroy, refuse_to_overwrite, whole_file

if TYPE_CHECKING:
    from collections.abc import Callable

    from boxthirding.client import RemoteStudy
    from boxthirding.session import ArmSummary
    from boxthirding.study import Study

COLUMNS: Final = ("arm", "mean", "pulls", "level", "withdrawn")

_SHOWN = 20  # rows on a screen
_LABEL, _CELL = 24, 14  # columns of the screen that a label, or a cell of another column, may have


@click.command(epilog="For example: boxthirding study results screen.db --out results.csv")
@of_a_study
@click.option("--top", type=int, metavar="N", help="Only the N best.  [default: 20 on the screen, all in a file]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write them to a file, .csv or .jsonl.  [default: a table on the screen]",
)
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@json_option
def results(*, url: str, name: str | None, top: int | None, out: Path | None, force: bool, as_json: bool) -> None:
    """Print the results of STUDY, a row for each arm that was tried: the best first, with the columns of its arms."""
    from boxthirding._checks import MOST, whole

    if top is not None:
        whole("--top", top, least=1)
    if out is not None:
        refuse_to_destroy(out, url)
        form_of(out)
        if not force:
            refuse_to_overwrite(out, "give --force to replace it, or another name")
    with reached(url, name) as study:
        everything = out is not None or as_json
        arms = study.arms(count=top or (MOST if everything else _SHOWN))
        columns = Columns([(arm.label, study.payload(arm.label)) for arm in arms], COLUMNS)
        tried = study.view().tried
        if out is not None:
            _write(out, arms, columns)
            say(f"{out}: {counted(len(arms), 'arm')}.")
        elif as_json:
            for arm in arms:
                click.echo(json.dumps(_as_json(arm, columns)))
        else:
            _print(study, arms, columns, tried)


def _as_json(arm: "ArmSummary", columns: Columns) -> dict[str, Any]:
    row = dict(zip(columns.headings, columns.cells(arm.label), strict=True))
    return {
        "arm": arm.label,
        "mean": arm.mean,
        "pulls": arm.pulls,
        "level": arm.level,
        "withdrawn": arm.withdrawn,
    } | row


def _write(out: Path, arms: "list[ArmSummary]", columns: Columns) -> None:
    try:
        with whole_file(out) as file:
            if form_of(out) == "jsonl":
                file.writelines(json.dumps(_as_json(arm, columns)) + "\n" for arm in arms)
                return
            rows = (
                [arm.label, arm.mean, arm.pulls, arm.level, "yes" if arm.withdrawn else "", *columns.cells(arm.label)]
                for arm in arms
            )
            file.writelines(csv_lines([*COLUMNS, *columns.headings], rows))
    except OSError as problem:
        raise Failure(f"{out} could not be written: {problem.strerror or problem}") from problem


def _print(study: "Study | RemoteStudy", arms: "list[ArmSummary]", columns: Columns, tried: int) -> None:
    """Print a table no wider than the screen: as many columns of the arms as there is room for."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from boxthirding.cli.study.boxes import Names, dots_of, shortened
    from boxthirding.find.summary import order_in_words

    console = Console(highlight=False, markup=False)
    if not arms:
        console.print("No result yet." if study.spent == 0 else "No result counts: their holders are excluded.")
        return
    dots = dots_of(console)
    names = Names([arm.label for arm in arms], max(10, min(_LABEL, console.width - 24)), dots)
    write = writer(arm.mean for arm in arms)
    rows = [_cells(arm, names, write) for arm in arms]
    headings = ["arm", "mean", "pulls", "state" if all(arm.level is None for arm in arms) else "level"]
    if not any(row[-1] for row in rows):
        headings, rows = headings[:-1], [row[:-1] for row in rows]
    cells = [[shortened(cell, _CELL, dots) for cell in columns.cells(arm.label)] for arm in arms]
    left_out = []
    for place, heading in enumerate(columns.headings):
        wider = [*rows, *[[*row, more[place]] for row, more in zip(rows, cells, strict=True)]]
        short = shortened(heading, _CELL, dots)
        if _width([[*headings, short], *wider[len(rows) :]]) > console.width:
            left_out.append(heading)
            continue
        headings, rows = [*headings, short], wider[len(rows) :]
    table = Table.grid(padding=(0, 2, 0, 0))
    table.show_header = True
    for place, heading in enumerate(headings):
        is_right = place > 0 and all(is_numeric(row[place].replace(",", "")) for row in rows if row[place])
        table.add_column(Text(heading, "dim"), justify="right" if is_right else "left", no_wrap=True)
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    order = order_in_words(arms, study.view().direction)
    if order:
        console.print(order)
    _print_rest(console, tried - len(arms), left_out)


def _cells(arm: "ArmSummary", names: Any, write: "Callable[[float], str]") -> list[str]:
    """Return the cells of an arm on a screen; one that was withdrawn is marked."""
    label = names.short(arm.label)
    mean = "" if arm.mean is None else write(arm.mean)
    level = "withdrawn" if arm.withdrawn else "" if arm.level is None else str(arm.level)
    return [label, mean, f"{arm.pulls:,}", level]


def _width(rows: list[list[str]]) -> int:
    """Return how wide a table is on the screen."""
    from rich.cells import cell_len

    return sum(max(map(cell_len, column)) + 2 for column in zip(*rows, strict=True)) - 2


def _print_rest(console: Any, more: int, left_out: list[str]) -> None:
    if more > 0 or left_out:
        console.print()
    if more > 0:
        console.print(f"{counted(more, 'arm')} more: --top N shows more, --out FILE.csv writes all.")
    if left_out:
        console.print(f"No room for {', '.join(left_out)}: --out FILE.csv has all columns.")
