"""`boxthirding study release`: a way out when a plate, or a holder of tickets, is lost for good."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from boxthirding.cli.drawing import counted
from boxthirding.cli.output import say
from boxthirding.cli.study.opening import of_a_study, opened, summary

if TYPE_CHECKING:
    from boxthirding.study import Study


@click.command(epilog="For example: boxthirding study release screen.db --holder plate-1.csv")
@of_a_study
@click.argument("tickets", metavar="[TICKET]...", nargs=-1, type=int)
@click.option("--holder", metavar="NAME", help="All that NAME has: a plate by its path, or as `study show` names it.")
def release(*, url: str, name: str | None, tickets: tuple[int, ...], holder: str | None) -> None:
    """Take open tickets of STUDY from their holders: the next to ask is given them.

    For a plate that is lost, or a worker that will not come back. Nothing counts as failed; if a result comes in all
    the same, it counts.
    """
    with opened(url, name) as study:
        released = study.release(*tickets, holder=None if holder is None else holder_meant(study, holder))
        them = "it" if len(released) == 1 else "them"
        say(f"{counted(len(released), 'ticket')} released: the next to ask is given {them}.")
        say(summary(study.view()))


def holder_meant(study: "Study", name: str) -> str:
    """Return the holder of open tickets that is meant: one of that name, or the plate at that path."""
    from boxthirding.cli.study.plates import holder_of

    plate = holder_of(Path(name))
    holders = study.view().holders
    return plate if name not in holders and plate in holders else name
