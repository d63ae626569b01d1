"""`boxthirding study tell`: a plate that was filled in, all of it or none."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boxthirding._text import counted
from boxthirding.cli.output import say
from boxthirding.cli.study.opening import json_option, no_header_option, of_a_journal, opened, summary
from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from boxthirding.cli.study.plates import Readings

_SHOWN = 20  # bad rows that are named one by one


@click.command(epilog="For example: boxthirding study tell screen.db plate-1.csv")
@of_a_journal
@click.argument("file", type=click.Path(path_type=Path))
@no_header_option
@click.option("--skip-bad", is_flag=True, help="Tell the good rows although others are bad.")
@json_option
def tell(*, url: str, name: str | None, file: Path, no_header: bool, skip_bad: bool, as_json: bool) -> None:
    """Tell STUDY the results in FILE, a table with the columns ticket and reward, as `ask` writes it.

    Rows without a reward are left open. If a row is bad (a ticket that is unknown or told already, a reward that is no
    number), nothing at all is told: every bad row is named with its reason.
    """
    from boxthirding.cli.study.plates import read_plate

    with opened(url, name) as study:
        readings = read_plate(file, study, header=not no_header)
        refused = bool(readings.bad) and not skip_bad
        if not refused:
            study.tell_all((ticket, reward) for _, ticket, reward in readings.good)
        if as_json:
            click.echo(json.dumps(_as_json(readings, told=not refused)))
        elif readings.bad:
            say(_report(file, readings), err=True)
        if refused:
            good = (
                f", or give --skip-bad to tell the {counted(len(readings.good), 'good row')}" if readings.good else ""
            )
            raise InvalidInput(
                f"{file} has {counted(len(readings.bad), 'bad row')}, so nothing was told: correct it{good}"
            )
        if not as_json:
            empty = f"; {counted(readings.empty, 'row')} without a reward left open" if readings.empty else ""
            say(f"{file}: {counted(len(readings.good), 'result')} told{empty}.")
            say(summary(study.view()))


def _as_json(readings: "Readings", *, told: bool) -> dict[str, Any]:
    return {
        "told": len(readings.good) if told else 0,
        "empty": readings.empty,
        "good": [{"line": line, "ticket": ticket, "reward": reward} for line, ticket, reward in readings.good],
        "bad": [{"line": bad.line, "ticket": bad.ticket, "reason": bad.reason} for bad in readings.bad],
    }


def _report(file: Path, readings: "Readings") -> str:
    """Return which rows are good, and what is wrong with the others."""
    from boxthirding.cli.study.plates import in_ranges

    lines = [f"{file}, line {bad.line}: {bad.reason}" for bad in readings.bad[:_SHOWN]]
    if len(readings.bad) > _SHOWN:
        lines.append(f"… and {counted(len(readings.bad) - _SHOWN, 'more bad row')}; --json names them all")
    if readings.good:
        lines.append(f"Good rows: lines {in_ranges([line for line, _, _ in readings.good])}.")
    if readings.empty:
        lines.append(f"Without a reward: {counted(readings.empty, 'row')}.")
    return "\n".join(lines)
