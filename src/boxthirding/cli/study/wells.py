"""The wells of a plate: A1 to H12, or A1 to P24, row by row."""

from typing import TYPE_CHECKING, Final

import click

from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from boxthirding.study import Study

COLUMNS: Final = {96: 12, 384: 24}
"""By the wells of a plate: how many stand in a row."""

wells_option = click.option(
    "--wells",
    type=click.Choice(["96", "384"]),
    callback=lambda _, __, value: None if value is None else int(value),
    help="Give each ticket a well of a plate of 96 (A1 to H12) or 384 (A1 to P24), in a column well.",
)


def check_wells(number: int, wells: int | None) -> None:
    """Refuse more tickets than a plate has wells."""
    if wells is not None and number > wells:
        raise InvalidInput(
            f"-n is {number}, but a plate of {wells} has {wells} wells: ask for one plate after the other"
        )


def well(place: int, wells: int) -> str:
    """Return the name of a well by its place.

    >>> well(0, 96), well(12, 96), well(95, 96), well(383, 384)
    ('A1', 'B1', 'H12', 'P24')
    """
    row, column = divmod(place % wells, COLUMNS[wells])
    return f"{chr(ord('A') + row)}{column + 1}"


def wells_of(study: "Study", holder: str, wells: int) -> dict[int, str]:
    """Return the wells of all tickets that a holder was ever given, in that order: a lost plate has the same again."""
    from boxthirding.study import Asked, Entry, Given

    tickets: dict[int, None] = {}
    for entry in study.events():
        match entry.event if isinstance(entry, Entry) else None:
            case Asked(holder=who, tickets=new) if who == holder:
                tickets |= dict.fromkeys(ticket for ticket, _, _ in new)
            case Given(holder=who, tickets=again) if who == holder:
                tickets |= dict.fromkeys(again)
    return {ticket: well(place, wells) for place, ticket in enumerate(tickets)}
