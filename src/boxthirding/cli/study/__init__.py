"""`boxthirding study`: durable studies from the command line, for people and for programs."""

import click

from boxthirding.cli.study.asking import ask
from boxthirding.cli.study.changing import add, close, pause, resume, withdraw
from boxthirding.cli.study.exporting import export
from boxthirding.cli.study.listing import list_
from boxthirding.cli.study.releasing import release
from boxthirding.cli.study.replaying import replay
from boxthirding.cli.study.showing import show
from boxthirding.cli.study.telling import tell


@click.group()
def study() -> None:
    """Work with studies, which are kept in a database through crashes: ask, tell, look, change.

    STUDY is the file of an SQLite database, or a URL such as postgresql://user@host/database. One database may hold
    several studies; where there is only one, or one called main, it needs no --name.
    """


for command in (list_, show, ask, tell, export, release, add, withdraw, pause, resume, close, replay):
    study.add_command(command)
