"""`boxthirding study list`: the studies of a database, and how far they are."""

import json
from typing import TYPE_CHECKING, Any

import click

from boxthirding.cli.study.opening import json_option

if TYPE_CHECKING:
    from boxthirding.study import Study

_WIDEST = 16  # columns of a name


@click.command("list")
@click.argument("url", metavar="DATABASE")
@json_option
def list_(*, url: str, as_json: bool) -> None:
    """List the studies in DATABASE, a file or a URL."""
    from boxthirding.find.shared import without_password
    from boxthirding.storage import list_studies, open_study

    rows = []
    for name in list_studies(url):
        with open_study(url, name) as study:
            rows.append(_row(study))
    if as_json:
        for row in rows:
            click.echo(json.dumps(row))
    elif rows:
        _print_table(rows)
    else:
        click.echo(f"{without_password(url)} has no studies.")


def _row(study: "Study") -> dict[str, Any]:
    from boxthirding.study.settings import written

    best = study.recommend()
    return {
        "name": study.name,
        "status": study.status,
        "policy": written(study.policy),
        "arms": study.screening(1).arms,
        "pulls": study.pulls,
        "out": study.waiting,
        "best": None if best is None else best.label,
        "mean": None if best is None else best.mean,
    }


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from boxthirding.cli.study.boxes import shortened

    console = Console(highlight=False, markup=False)
    dots = "..." if console.options.ascii_only else "…"
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading in ("study", "status", "policy", "best so far"):
        table.add_column(heading, no_wrap=True)
    for heading in ("mean", "pulls", "out", "arms"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        words = (row["name"], row["status"], row["policy"], "" if row["best"] is None else row["best"])
        mean = "" if row["mean"] is None else f"{row['mean']:.4g}"
        arms = "endless" if row["arms"] is None else f"{row['arms']:,}"
        cells = [Text(shortened(word, _WIDEST, dots)) for word in words]
        table.add_row(*cells, mean, f"{row['pulls']:,}", f"{row['out']:,}", arms)
    console.print(table)
