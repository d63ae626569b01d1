"""`boxthirding plan`: how many pulls a search takes, and how good its answer will be."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from boxthirding._progress import Bar
from boxthirding.cli.output import FILE, say, writing
from boxthirding.cli.study_options import direction_option, no_header_option
from boxthirding.errors import InvalidInput


@click.command()
@click.option(
    "--arms",
    required=True,
    metavar="N|FILE",
    help="How many arms there are to choose from: a number, or the file that run takes, whose arms are counted.",
)
@no_header_option
@click.option("--noise", type=float, metavar="S", help="A guess: standard deviation of repeated scores of one arm.")
@click.option(
    "--spread",
    type=float,
    metavar="D",
    help="A guess: how far a good arm, one of the best in ten, is above an ordinary one.",
)
@click.option(
    "--pilot",
    type=FILE,
    metavar="FILE.csv",
    help="Instead of guesses: scores of some arms, chosen at random, with repeats; columns arm and score.",
)
@click.option("--budget", "budgets", type=int, multiple=True, metavar="T", help="Pulls; may be repeated.")
@click.option("--want", metavar="WISH", help="Find the smallest budget, such as for 'top 1 % in 9 of 10 runs'.")
@click.option("--price", type=float, metavar="P", help="What a pull costs.")
@click.option("--seconds", type=float, metavar="S", help="How long a pull takes.")
@click.option("--workers", type=int, default=1, show_default=True, metavar="W", help="Pulls that run in parallel.")
@direction_option("Whether large scores of the pilot are good or bad.  [default: maximize]")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="The same seed gives the same plan.")
@click.option("--threads", type=int, metavar="K", help="Changes no result.  [default: all cores]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line, budget by budget.")
@click.option("--plot", type=FILE, metavar="FILE", help="Also draw what budgets give: .png, .svg or .pdf.")
def plan(
    *,
    arms: str,
    no_header: bool,
    budgets: tuple[int, ...],
    direction: str | None,
    as_json: bool,
    plot: Path | None,
    **options: Any,
) -> None:
    """Say how many pulls it takes to find a good arm among N, and how good it will be.

    Give two guesses, or a pilot; with neither, there is a row for each of several ratios of noise to spread. The search
    that is planned is that of chase, simulated under everything that fits what is known.
    """
    from boxthirding.lab.plots import check_plot_file
    from boxthirding.planning import default_budgets
    from boxthirding.planning import plan as make_plan
    from boxthirding.planning.figure import plot_plan

    if plot is not None:
        check_plot_file(plot)
    number = _count_arms(arms, header=not no_header)
    chosen = budgets or (default_budgets(number) if plot is not None else None)
    with closing(Bar(prints=True)) as bar:
        answer = make_plan(number, budgets=chosen, direction=direction or "maximize", progress=bar, **options)
    if as_json:
        click.echo("\n".join(map(json.dumps, answer.as_dicts())))
        if answer.warning:
            say(f"Warning: {answer.warning}.", err=True)
        for note in answer.notes:
            say(f"Note: {note}.", err=True)
    else:
        say(answer)
    if plot is not None:
        with writing(f"the plot {plot}"):
            plot_plan(plot, answer)


def _count_arms(arms: str, *, header: bool) -> int:
    """Return the number that is given, or that of the arms in a file."""
    from boxthirding.find.input_files import read_arms

    try:
        return int(arms)
    except ValueError:
        if not Path(arms).exists():
            raise InvalidInput(f"--arms is {arms!r}, but must be a whole number or an existing file of arms") from None
    return len(read_arms(Path(arms), header=header))
