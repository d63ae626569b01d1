"""`boxthirding study copy`: a journal, exactly as it was written, to another place."""

from contextlib import closing

import click

from boxthirding._text import counted
from boxthirding.cli.study.opening import in_a_database, there
from boxthirding.errors import InvalidInput


@click.command(epilog="For example: boxthirding study copy contest.db postgresql://me@host/lab")
@click.argument("url", metavar="FROM", callback=in_a_database)
@click.argument("to", metavar="TO", callback=in_a_database)
@click.option("--name", metavar="NAME", help="Which study, where FROM has several.")
@click.option("--as", "other_name", metavar="NAME", help="What it is called in TO.  [default: the same]")
def copy(*, url: str, to: str, name: str | None, other_name: str | None) -> None:
    """Copy a study from the database FROM to the database TO, event by event as it was written.

    FROM may be in use: what was written by then is copied. Pictures that a server keeps are copied too; keys and rating
    links are not.
    """
    from boxthirding.storage import list_studies, open_study
    from boxthirding.storage.opening import copy_journal, copy_pictures, open_journal

    wanted = there(url, name)
    new = wanted if other_name is None else other_name
    if new in list_studies(to):
        raise InvalidInput(f"there is a study {new!r} in TO already: choose another name with --as")
    with closing(open_journal(url, wanted)) as source, closing(open_journal(to, new)) as target:
        events = copy_journal(source, target)
    pictures = copy_pictures(url, to)
    with open_study(to, new) as study:
        more = f" and {counted(pictures, 'picture')}" if pictures else ""
        click.echo(f"Copied {counted(events, 'event')}{more}: study {new} has {counted(study.pulls, 'pull')}.")
