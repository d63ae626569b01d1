"""`boxthirding leaderboard`: all policies over a named suite of problems, relative to the best."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from boxthirding._text import visible
from boxthirding.cli.output import FILE, break_spec, plain_console, ruled_table
from boxthirding.cli.simulation_options import check_replicates, out_option, run_report, writing_report

if TYPE_CHECKING:
    from rich.table import Table

    from boxthirding.lab.leaderboard.board import Board, Score
    from boxthirding.lab.leaderboard.run import Leaderboard

_DEFAULT_OUT: Final = Path("leaderboard")


@click.command()
@out_option(_DEFAULT_OUT)
@click.option("--suite", default="standard", show_default=True, metavar="NAME", help="standard, selection or heldout.")
@click.option("--quick", is_flag=True, help="50 replicates instead of 1,000: coarse, in about a minute.")
@click.option(
    "--data",
    type=FILE,
    metavar="DIR",
    help="A folder with caption contests: 893.csv, 872.csv, 830.csv. Those that are there are used.",
)
@click.option("--replicates", type=int, metavar="R", help="Replicates of every policy in every cell.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="The same seed gives the same board.")
@click.option(
    "--policy",
    "policies",
    multiple=True,
    metavar="SPEC",
    help="Compare these policies instead of all; may be repeated.",
)
@click.option("--against", metavar="SPEC", help="Relative to this policy instead of the best of each cell.")
@click.pass_context
def leaderboard(ctx: click.Context, /, *, out: Path, quick: bool, replicates: int | None, **options: Any) -> None:
    """Compare all policies over a fixed suite of problems.

    It writes the standings as Markdown, JSON and a picture: regret relative to the best in each cell, with paired
    intervals. If it is stopped half way, the same command resumes it.
    """
    from boxthirding.lab.leaderboard.run import Leaderboard

    check_replicates(quick=quick, replicates=replicates)
    asked = Leaderboard.asked(out, quick=quick, replicates=replicates, **options)
    runs = run_report(ctx, asked)
    with writing_report(out):
        board = asked.write(runs)
    _print(asked, board)


def _print(asked: "Leaderboard", board: "Board") -> None:
    """Print the standings, and where to read more."""
    from boxthirding.lab.leaderboard.as_json import IN_WORDS
    from boxthirding.lab.leaderboard.entrants import marks_used

    facts = asked.facts
    console = plain_console()
    console.print(f"Suite {facts.suite.name}: regret relative {facts.reference}", style="bold")
    console.print(f"{len(board.cells)} cells, {board.replicates:,} replicates in each, seed {facts.seed}")
    console.print()
    console.print(_table(board, console.width))
    console.print()
    console.print(f"geometric means ± half the {IN_WORDS} interval, paired by replicate")
    console.print(f"1 is as good as {facts.against or 'the best of each cell'}, 2 is twice its regret")
    marks = ", ".join(f"{mark} {meant}" for mark, meant in marks_used(board.entrants).items())
    if marks:
        console.print(f"told: {marks}")
    if any(not score.whole for score in board.scores.values()):
        console.print("* of the cells in which the policy can run; – in none of them")
    if facts.missing:
        console.print(facts.left_out)
    console.print(f"Report: {visible(asked.file('md'))}", soft_wrap=True)


def _table(board: "Board", width: int) -> "Table":
    """Return the table of standings; long SPECs are wrapped."""
    from boxthirding.lab.leaderboard.as_json import group_name

    heads = ["told", *(group_name(group).replace(" ", "\n").replace("-", "-\n") for group in board.groups)]
    rows = [
        [entrant.marks, *(_format_score(board.scores.get((entrant.spec, group))) for group in board.groups)]
        for entrant in board.ranking
    ]
    widths = [
        max(map(len, [*head.split("\n"), *column])) for head, column in zip(heads, zip(*rows, strict=True), strict=True)
    ]
    room = width - sum(widths) - len(widths)  # a space between columns
    table = ruled_table(space=0)
    table.add_column("policy", overflow="fold")
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if place else "left", no_wrap=True, vertical="top")
    for entrant, row in zip(board.ranking, rows, strict=True):
        table.add_row(break_spec(entrant.spec, room), *row)
    return table


def _format_score(score: "Score | None") -> str:
    """Write a score into few columns, as 1.04±.02, with a mark where some cells are missing."""
    from boxthirding.lab.leaderboard.as_json import LEVEL
    from boxthirding.lab.leaderboard.markdown import CANNOT_RUN, number

    if score is None:
        return CANNOT_RUN + " "
    low, high = score.ratio.interval(LEVEL)
    value = number(score.ratio.value)
    decimals = len(value.partition(".")[2])
    half = f"{(high - low) / 2:.{decimals}f}"
    return f"{value}±{half[1:] if half.startswith('0.') else half}{' ' if score.whole else '*'}"
