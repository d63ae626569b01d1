"""`boxthirding study release`: a way out when a plate, or whoever had tickets, is lost for good."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from boxthirding.cli.drawing import counted
from boxthirding.cli.study.opening import of_a_study, opened, summary

if TYPE_CHECKING:
    from boxthirding.study import Study


@click.command(epilog="For example: boxthirding study release screen.db --holder plate-1.csv")
@of_a_study
@click.argument("tickets", metavar="[TICKET]...", nargs=-1, type=int)
@click.option("--holder", metavar="NAME", help="All that NAME has: a plate by its path, or as `study show` names it.")
def release(*, url: str, name: str | None, tickets: tuple[int, ...], holder: str | None) -> None:
    """Take back open tickets of STUDY, so that whoever asks next is given them.

    For a plate that is lost, or a worker that will not come back. Nothing counts as failed; should a result come in all
    the same, the first one counts.
    """
    with opened(url, name) as study:
        released = study.release(*tickets, holder=None if holder is None else _holder(study, holder))
        click.echo(f"{counted(len(released), 'ticket')} released: whoever asks next is given them.\n{summary(study)}")


def _holder(study: "Study", name: str) -> str:
    """Return the holder that is meant: one of that name, or the plate at that path."""
    from boxthirding.cli.study.plates import holder_of

    plate = holder_of(Path(name))
    holders = {lent.holder for lent in study.lent()}
    return plate if name not in holders and plate in holders else name
