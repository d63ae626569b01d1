"""`boxthirding study`: durable studies from the command line, for people and for programs."""

import click

from boxthirding.cli.study.amending import correct, exclude, include, observe, use
from boxthirding.cli.study.asking import ask, held
from boxthirding.cli.study.changing import add, finish, pause, resume, withdraw
from boxthirding.cli.study.copying import copy
from boxthirding.cli.study.deleting import delete
from boxthirding.cli.study.explaining import why
from boxthirding.cli.study.exporting import export
from boxthirding.cli.study.listing import list_
from boxthirding.cli.study.releasing import fail, release
from boxthirding.cli.study.reporting import report
from boxthirding.cli.study.results import results
from boxthirding.cli.study.showing import show
from boxthirding.cli.study.telling import tell


@click.group
def study() -> None:
    """Work with studies, which are kept in a database through crashes: ask, tell, look, change.

    STUDY is the file of an SQLite database, or a URL such as postgresql://user@host/database. One database may hold
    several studies; where there is only one, or one called main, it needs no --name. Commands that need no journal also
    take a study of a server, https://host/#name, with the key in BOXTHIRDING_KEY.
    """


for command in (
    *(list_, show, why, results, ask, held, tell, fail, export, release, observe, correct, exclude, include, use),
    *(add, withdraw, pause, resume, finish, report, copy, delete),
):
    study.add_command(command)
