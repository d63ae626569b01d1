"""`boxthirding study add|withdraw|pause|resume|finish`: which arms there are, and whether tickets are handed out."""

from pathlib import Path

import click

from boxthirding._text import counted
from boxthirding.cli.output import say
from boxthirding.cli.study.opening import json_option, label_of, no_header_option, of_a_study, reached, report, summary
from boxthirding.errors import InvalidInput


@click.command()
@of_a_study
@click.argument("file", type=click.Path(path_type=Path))
@no_header_option
def add(*, url: str, name: str | None, file: Path, no_header: bool) -> None:
    """Add the arms in FILE to STUDY, all or none of them.

    FILE is a table, CSV with a header or JSON lines (its column arm, else the first, is the label), or a text file with
    one arm per line.
    """
    from boxthirding.find.inputs import labelled, read_arms

    arms = labelled(read_arms(file, header=not no_header))
    with reached(url, name) as study:
        study.add(arms)
        say(f"{counted(len(arms), 'arm')} added.\n{summary(study.view())}")


@click.command()
@of_a_study
@click.argument("label", metavar="LABEL")
@json_option
def withdraw(*, url: str, name: str | None, label: str, as_json: bool) -> None:
    """Take the arm LABEL out of STUDY for good; its open tickets will be refused."""
    with reached(url, name) as study:
        before = study.view()
        study.withdraw(label_of(study, label))
        report(f"{label} is withdrawn.", before, study.view(), as_json=as_json, withdrawn=label)


@click.command()
@of_a_study
def pause(*, url: str, name: str | None) -> None:
    """Let STUDY hand out no tickets until it is resumed; results are still taken."""
    with reached(url, name) as study:
        study.pause()
        say(f"Paused: no tickets until it is resumed.\n{summary(study.view())}")


@click.command()
@of_a_study
def resume(*, url: str, name: str | None) -> None:
    """Let STUDY hand out tickets again."""
    with reached(url, name) as study:
        study.resume()
        say(f"Resumed.\n{summary(study.view())}")


@click.command()
@of_a_study
@click.option("--yes", is_flag=True, help="Do not ask: for scripts.")
def finish(*, url: str, name: str | None, yes: bool) -> None:
    """End STUDY for good: no more tickets, and nothing changes the answer.

    It asks first. Results of open tickets, corrections and exclusions are refused. This cannot be undone.
    """
    from boxthirding.cli.study.deleting import is_agreed

    with reached(url, name) as study:
        refused = f"results of {counted(study.view().open, 'open ticket')}, corrections and exclusions are refused"
        if not (yes or is_agreed(f"Finish study {study.name} for good? No more tickets; {refused}. [y/N] ")):
            raise InvalidInput(f"study {study.name!r} was not finished: answer y, or give --yes")
        study.finish()
        say(f"Finished for good: no more tickets, and nothing changes the answer.\n{summary(study.view())}")
