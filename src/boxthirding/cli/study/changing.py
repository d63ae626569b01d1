"""`boxthirding study add|withdraw|pause|resume|close`: what changes a study besides results."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from boxthirding.cli.drawing import counted
from boxthirding.cli.study.opening import of_a_study, opened, summary
from boxthirding.errors import UnknownLabel

if TYPE_CHECKING:
    from boxthirding.study import Study
    from boxthirding.types import Label

_WHOLE: Final = re.compile(r"-?[0-9]{1,4000}")  # Python reads no longer ones


@click.command()
@of_a_study
@click.argument("file", type=click.Path(path_type=Path))
def add(*, url: str, name: str | None, file: Path) -> None:
    """Add the arms in FILE to STUDY, all or none of them.

    FILE is a CSV file with a header (its column arm, else the first, is the label), or a text file with an arm a line.
    """
    from boxthirding.cli.programs import read_arms

    labels = [arm["arm"] for arm in read_arms(file)]
    with opened(url, name) as study:
        study.add(labels)
        click.echo(f"{counted(len(labels), 'arm')} added.\n{summary(study)}")


@click.command()
@of_a_study
@click.argument("label", metavar="LABEL")
def withdraw(*, url: str, name: str | None, label: str) -> None:
    """Take the arm LABEL out of STUDY for good; its open tickets will be refused."""
    with opened(url, name) as study:
        study.withdraw(_label(study, label))
        click.echo(f"{label} is withdrawn.\n{summary(study)}")


@click.command()
@of_a_study
def pause(*, url: str, name: str | None) -> None:
    """Let STUDY hand out no tickets until it is resumed; results are still taken."""
    with opened(url, name) as study:
        study.pause()
        click.echo(f"Paused: no tickets until it is resumed.\n{summary(study)}")


@click.command()
@of_a_study
def resume(*, url: str, name: str | None) -> None:
    """Let STUDY hand out tickets again."""
    with opened(url, name) as study:
        study.resume()
        click.echo(f"Resumed.\n{summary(study)}")


@click.command()
@of_a_study
def close(*, url: str, name: str | None) -> None:
    """End STUDY for good: no more tickets; results of those that are out are still taken."""
    with opened(url, name) as study:
        study.close()
        click.echo(f"Closed for good: no more tickets.\n{summary(study)}")


def _label(study: "Study", text: str) -> "Label":
    """Return the label that a text means: a study made in Python may have numbers."""
    try:
        study.why(text)
    except UnknownLabel:
        if _WHOLE.fullmatch(text):
            return int(text)
        raise
    return text
