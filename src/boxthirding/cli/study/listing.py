"""`boxthirding study list`: the studies of a database, and how far they are."""

import json
from dataclasses import fields
from typing import Any

import click

from boxthirding._text import written
from boxthirding.cli.advice import in_words
from boxthirding.cli.output import say
from boxthirding.cli.study.opening import json_option, kept
from boxthirding.errors import BoxThirdingError

_WIDEST = 16  # columns of a name


@click.command("list")
@click.argument("url", metavar="DATABASE", callback=kept)
@json_option
def list_(*, url: str, as_json: bool) -> None:
    """List the studies in DATABASE, a file or a URL, or of a server, https://…."""
    from boxthirding.client.addresses import is_remote
    from boxthirding.storage import list_studies
    from boxthirding.storage.opening import without_password

    rows = _of_server(url) if is_remote(url) else [_row(url, name) for name in list_studies(url)]
    if as_json:
        for row in rows:
            click.echo(json.dumps(row))
    elif rows:
        _print_table(rows)
    else:
        say(f"{without_password(url)} has no studies.")


def _row(url: str, name: str) -> dict[str, Any]:
    """Return a study's view; one that cannot be read does not keep the others from being listed."""
    from boxthirding.storage import open_study

    try:
        with open_study(url, name) as study:
            return {**study.view().as_dict(), "error": None}
    except BoxThirdingError as problem:
        reason = " ".join(in_words(problem).splitlines())
        return {**_nothing(), "name": name, "status": "unreadable", "error": reason}


def _of_server(url: str) -> list[dict[str, Any]]:
    from boxthirding.client.listing import list_remote

    names = [*_nothing(), "error"]
    return [{name: row.get(name) for name in names} for row in list_remote(url)]


def _nothing() -> dict[str, Any]:
    """Return a view of which nothing is known."""
    from boxthirding.session import View

    return dict.fromkeys(["version", *(field.name for field in fields(View))])


def _print_table(rows: list[dict[str, Any]]) -> None:
    """Print a row for each study, and below what has no room in it."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from boxthirding.cli.study.boxes import dots_of, one_line, shortened

    console = Console(highlight=False, markup=False)
    dots = dots_of(console)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading in ("study", "status", "policy", "best so far"):
        table.add_column(heading, no_wrap=True)
    for heading in ("mean", "pulls", "open", "arms"):
        table.add_column(heading, justify="right", no_wrap=True)
    below = []
    for row in rows:
        best = "" if row["recommendation"] is None else one_line(row["recommendation"]["label"])
        words = (row["name"], row["status"], row["policy"] or "", best)
        table.add_row(*[Text(shortened(word, _WIDEST, dots)) for word in words], *_numbers(row))
        if row["error"] is not None:
            below.append(f"{row['name']} is unreadable: {row['error']}")
        elif shortened(best, _WIDEST, dots) != best:
            below.append(f"{row['name']}, best so far: {best}")
    console.print(table)
    if below:
        console.print()
    for line in below:
        console.print(line, soft_wrap=True)


def _numbers(row: dict[str, Any]) -> list[str]:
    """Return the cells of a row that hold numbers."""
    if row["error"] is not None:
        return [""] * 4
    mean = "" if row["recommendation"] is None else written(row["recommendation"]["mean"])
    return [mean, f"{row['pulls']:,}", f"{row['open']:,}", "endless" if row["arms"] is None else f"{row['arms']:,}"]
