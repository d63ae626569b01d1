"""`boxthirding study replay`: what each policy would have picked from scores that are known already."""

import json
from pathlib import Path

import click

from boxthirding._text import counted
from boxthirding.cli.output import Failure, say
from boxthirding.cli.simulate import INTERRUPTED
from boxthirding.cli.study.opening import json_option, no_header_option
from boxthirding.errors import SimulationFailed


@click.command(epilog="For example: boxthirding study replay scores.csv --policy chase --policy sh")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "specs",
    multiple=True,
    metavar="SPEC",
    help="A policy, or ucbe-rows; repeat it to compare several.  [default: chase, b3, sh, prose, us]",
)
@click.option(
    "--share",
    "shares",
    type=float,
    multiple=True,
    metavar="S",
    help="How much of the cost may be spent, such as 0.1; may be repeated.  [default: 0.01, 0.05, 0.1, 0.25]",
)
@no_header_option
@click.option("--replicates", type=int, default=200, show_default=True, metavar="R", help="Random orders of each.")
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="S", help="The same seed gives the same orders."
)
@click.option("--threads", type=int, metavar="K", help="Changes no result.  [default: all cores]")
@json_option
@click.pass_context
def replay(
    ctx: click.Context,
    *,
    file: Path,
    specs: tuple[str, ...],
    shares: tuple[float, ...],
    no_header: bool,
    replicates: int,
    seed: int,
    threads: int | None,
    as_json: bool,
) -> None:
    """Say what each policy would have picked from FILE, a matrix of scores, for a part of its cost.

    FILE is CSV with a header, JSON lines or Parquet: a row for each arm, its label in the first column, its scores on
    the examples in the others. A pull of an arm is the score of a random example of its row; the truth is the mean of
    the row, and the cost that of all scores.
    """
    from boxthirding import _compile
    from boxthirding.cli.watching import watched
    from boxthirding.runs.matrices import read_matrix
    from boxthirding.runs.replay import COMPARED, SHARES, Replay
    from boxthirding.sim import Interrupted

    matrix = read_matrix(file, header=not no_header)
    planned = Replay(matrix, specs or COMPARED, shares or SHARES, replicates=replicates, seed=seed)
    for note in planned.left_out:
        say(f"Note: {note}", err=True)
    if matrix.missing:
        say(f"Note: {counted(matrix.missing, 'cell')} without a score left out", err=True)
    if not _compile.available():
        say("Note: without Numba this is slow: pip install 'boxthirding[sim]'", err=True)
    try:
        with watched() as view:
            picks = planned.run(threads=threads, progress=view)
    except (Interrupted, KeyboardInterrupt):
        say("Interrupted: there is nothing to report yet; fewer --replicates take less time.", err=True)
        ctx.exit(INTERRUPTED)
    except SimulationFailed as failure:
        raise Failure(failure) from failure
    if as_json:
        for pick in picks:
            click.echo(json.dumps(pick._asdict()))
    else:
        from boxthirding.cli.study.replay_table import print_table

        print_table(matrix, picks, replicates=replicates, seed=seed)
