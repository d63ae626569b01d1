"""Estimate how many pulls a search needs and how good the arm it finds will be."""

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
    "--arms", required=True, metavar="N|FILE", help="Number of arms, or a file of arms as for `boxthirding run`."
)
@no_header_option
@click.option("--noise", type=float, metavar="S", help="Estimated standard deviation of repeated scores of one arm.")
@click.option("--spread", type=float, metavar="D", help="Estimated gap between a top-10 % arm and an ordinary one.")
@click.option(
    "--pilot",
    type=FILE,
    metavar="FILE.csv",
    help="Pilot scores, used instead of --noise and --spread: columns arm and score, random arms, some repeated.",
)
@click.option("--budget", "budgets", type=int, multiple=True, metavar="T", help="Number of pulls; repeatable.")
@click.option("--want", metavar="WISH", help="Find the smallest budget for a goal: 'top 1 % in 9 of 10 runs'.")
@click.option("--price", type=float, metavar="P", help="Price of one pull, in any currency.")
@click.option("--seconds", type=float, metavar="S", help="Duration of one pull in seconds.")
@click.option("--workers", type=int, default=1, show_default=True, metavar="W", help="Pulls that run in parallel.")
@direction_option("Whether larger pilot scores are better.  [default: maximize]")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Random seed.")
@click.option("--threads", type=int, metavar="K", help="Threads; no effect on the result.  [default: all cores]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON Lines, one object per budget.")
@click.option("--plot", type=FILE, metavar="FILE", help="Also plot the expected result: .png, .svg or .pdf.")
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
    """Estimate how many pulls a search needs and how good the arm it finds will be.

    Pass --noise and --spread, or --pilot. Without either, the table has a row for each of several noise-to-spread
    ratios. Plans are for the policy `chase`, simulated for all parameters that are consistent with the input.
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
    """Return `arms` as an integer, or the number of arms in that file."""
    from boxthirding.find.input_files import read_arms

    try:
        return int(arms)
    except ValueError:
        if not Path(arms).exists():
            raise InvalidInput(f"--arms is {arms!r}, but must be a whole number or an existing file of arms") from None
    return len(read_arms(Path(arms), header=header))
