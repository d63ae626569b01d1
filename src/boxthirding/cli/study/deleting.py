"""`boxthirding study delete`: a study that is no longer needed, after a question."""

import sys
from contextlib import closing

import click

from boxthirding._text import counted
from boxthirding.cli.output import say
from boxthirding.cli.study.opening import chosen, of_a_journal
from boxthirding.errors import BoxThirdingError, InvalidInput, UnknownStudy

_YES = ("y", "yes")


@click.command(epilog="For example: boxthirding study delete screen.db --name trial")
@of_a_journal
@click.option("--yes", is_flag=True, help="Do not ask: for scripts.")
def delete(*, url: str, name: str | None, yes: bool) -> None:
    """Delete STUDY for good: its arms and all its results, with the rating links and keys that a server has for it.

    It asks first. End runs that work on the study before. `study export` writes its results to a file.
    """
    from boxthirding.service.forgetting import forget
    from boxthirding.storage import list_studies
    from boxthirding.storage.opening import delete_study, shelf, without_password

    wanted = chosen(url, name)
    if wanted not in (names := list_studies(url)):
        there = f"the studies there are {', '.join(map(repr, names))}" if names else "there are none"
        raise UnknownStudy(f"there is no study {wanted!r} here: {there}")
    what = _contents(url, wanted)
    if not (yes or is_agreed(f"Delete study {wanted} with {what} for good? [y/N] ")):
        raise InvalidInput(f"study {wanted!r} was not deleted: answer y, or give --yes")
    delete_study(url, wanted)
    with closing(shelf(url).records()) as records:
        forget(records, wanted)
    rest = "" if len(names) > 1 else f" {without_password(url)} has no more studies."
    say(f"Deleted study {wanted} with {what}.{rest}")


def _contents(url: str, name: str) -> str:
    """Say what is in a study; one that cannot be read can be deleted all the same."""
    from boxthirding.storage import open_study

    try:
        with open_study(url, name) as study:
            view = study.view()
    except BoxThirdingError:
        return "all it has (it cannot be read)"
    still_open = f", {counted(view.open, 'ticket')} open" if view.open else ""
    return f"{counted(view.pulls, 'pull')} of {counted(view.tried, 'arm')}{still_open}"


def is_agreed(question: str) -> bool:
    """Ask; the end of the input is no answer."""
    click.echo(question, nl=False, err=True)
    answer = sys.stdin.readline() if sys.stdin is not None else ""
    if not answer.endswith("\n"):
        click.echo(err=True)
    return answer.strip().lower() in _YES
