"""`boxthirding study`: durable studies from the command line, for people and for programs."""

from typing import Any

import click

from boxthirding.cli.study.amending import correct, exclude, include, observe, use
from boxthirding.cli.study.asking import ask, held
from boxthirding.cli.study.changing import add, finish, pause, resume, withdraw
from boxthirding.cli.study.exporting import export
from boxthirding.cli.study.listing import list_
from boxthirding.cli.study.releasing import release
from boxthirding.cli.study.replaying import replay
from boxthirding.cli.study.showing import show
from boxthirding.cli.study.telling import tell
from boxthirding.errors import CannotAmend


class _Studies(click.Group):
    """A group that says how to go on where a policy cannot take known results, corrections or exclusions."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand."""
        try:
            return super().invoke(ctx)
        except CannotAmend as refusal:
            raise CannotAmend(
                refusal.problem, advice="on the command line: `boxthirding study use STUDY b3auto`"
            ) from refusal


@click.group(cls=_Studies)
def study() -> None:
    """Work with studies, which are kept in a database through crashes: ask, tell, look, change.

    STUDY is the file of an SQLite database, or a URL such as postgresql://user@host/database. One database may hold
    several studies; where there is only one, or one called main, it needs no --name.
    """


for command in (
    *(list_, show, ask, held, tell, export, release, observe, correct, exclude, include, use),
    *(add, withdraw, pause, resume, finish, replay),
):
    study.add_command(command)
