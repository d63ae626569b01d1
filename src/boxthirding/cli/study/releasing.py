"""`boxthirding study release` and `fail`: tickets that are lost for good, or could not be evaluated."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from boxthirding._text import counted
from boxthirding.cli.output import say
from boxthirding.cli.study.opening import json_option, of_a_journal, of_a_study, opened, reached, report, summary
from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
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
    with reached(url, name) as study:
        released = study.release(*tickets, holder=None if holder is None else holder_meant(study, holder))
        them = "it" if len(released) == 1 else "them"
        say(f"{counted(len(released), 'ticket')} released: the next to ask is given {them}.")
        say(summary(study.view()))


@click.command(epilog="For example: boxthirding study fail screen.db 17 23")
@of_a_journal
@click.argument("tickets", metavar="TICKET...", nargs=-1, required=True, type=int)
@json_option
def fail(*, url: str, name: str | None, tickets: tuple[int, ...], as_json: bool) -> None:
    """Say that tickets of STUDY could not be evaluated, such as wells that could not be read: all or none of them.

    The next to ask is given them. An arm that fails three times in a row is withdrawn.
    """
    from boxthirding.cli.study.plates import Expected

    with opened(url, name) as study:
        before = study.view()
        held = {ticket.id: str(ticket.label) for holder in before.holders for ticket in study.held(holder)}
        for ticket in tickets:
            if ticket not in held:
                why = Expected(study).refusal(ticket) or f"ticket {ticket} has no holder: the next to ask is given it"
                raise InvalidInput(f"{why}; nothing was changed")
        labels = {ticket: held[ticket] for ticket in tickets}
        withdrawn: list[str] = []
        for ticket, label in labels.items():
            if label not in withdrawn:  # else its tickets are void
                study.fail(ticket)
                if study.view().withdrawn > before.withdrawn + len(withdrawn):
                    withdrawn.append(label)
        again = [ticket for ticket, label in labels.items() if label not in withdrawn]
        what = f"{counted(len(labels), 'ticket')} failed"
        if again:
            what += f": the next to ask is given {'it' if len(again) == 1 else 'them'}"
        for label in withdrawn:
            what += f"; {label} failed {study.patience} times in a row and is withdrawn"
        report(f"{what}.", before, study.view(), as_json=as_json, failed=list(labels), withdrawn=withdrawn)


def holder_meant(study: "Study | RemoteStudy", name: str) -> str:
    """Return the holder of open tickets that is meant: one of that name, or the plate at that path."""
    from boxthirding.cli.study.plates import holder_of

    plate = holder_of(Path(name))
    holders = study.view().holders
    return plate if name not in holders and plate in holders else name
