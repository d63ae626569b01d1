"""`boxthirding study why`: the story of an arm, on a screen of any width."""

import json
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from boxthirding._text import counted, writer, written
from boxthirding.cli.study.columns import Columns
from boxthirding.cli.study.opening import json_option, label_of, of_a_study, reached
from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
    from boxthirding.session import Lineage, Step
    from boxthirding.study import Study
    from boxthirding.types import Label


@click.command(epilog="For example: boxthirding study why screen.db aspirin")
@of_a_study
@click.argument("label", metavar="[LABEL]", required=False)
@json_option
def why(*, url: str, name: str | None, label: str | None, as_json: bool) -> None:
    """Tell the story of the arm LABEL: where it stands now, and with the policy b3 the boxes it was in.

    Without LABEL it is the best arm.
    """
    with reached(url, name) as study:
        known = _best(study) if label is None else label_of(study, label)
        lineage = study.why(known)
        columns = Columns([(known, study.payload(known))], ())
    row = dict(zip(columns.headings, columns.cells(known), strict=True))
    if as_json:
        click.echo(json.dumps({**asdict(lineage), "steps": [_as_json(step) for step in lineage.steps], "row": row}))
    else:
        _print(lineage, row)


def _best(study: "Study | RemoteStudy") -> "Label":
    best = study.recommend()
    if best is None:
        raise InvalidInput("no arm has a result yet, so there is no best one: name an arm, or come back later")
    return best.label


def _as_json(step: "Step") -> dict[str, object]:
    return {**step._asdict(), "rivals": [rival._asdict() for rival in step.rivals]}


def _print(lineage: "Lineage", row: dict[str, str]) -> None:
    from rich.console import Console

    from boxthirding.cli.study.boxes import one_line

    console = Console(highlight=False, markup=False)

    def put(text: str, indent: str = "", style: str | None = None) -> None:
        lines = textwrap.wrap(one_line(text), console.width, initial_indent=indent, subsequent_indent=indent + "  ")
        console.print("\n".join(lines), style=style, soft_wrap=True)

    put(str(lineage.label), style="bold")
    told = (
        "not tried yet" if lineage.mean is None else f"mean {written(lineage.mean)} of {counted(lineage.pulls, 'pull')}"
    )
    put(f"{told}; {lineage.place}" if lineage.place else told)
    if row:
        put(", ".join(f"{name} {cell}" for name, cell in row.items() if cell))
    for step in lineage.steps:
        put(f"after {counted(step.pulls, 'pull')}: {_told(step)}", "  ")


def _told(step: "Step") -> str:
    from boxthirding.cli.study.boxes import one_line

    if not step.rivals:
        return f"{step.outcome} at level {step.level}"
    write = writer([step.mean, *(rival.mean for rival in step.rivals)])
    met = " and ".join(f"{one_line(rival.label)} ({write(rival.mean)})" for rival in step.rivals)
    return f"{step.outcome} from box ({step.level}, {step.deferment}) with mean {write(step.mean)}; rivals: {met}"
