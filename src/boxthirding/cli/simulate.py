"""`boxthirding simulate`: policies against each other on an instance whose true means are known."""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boxthirding._progress import Bar
from boxthirding._text import counted
from boxthirding.cli.output import FILE, INTERRUPTED, Failure, break_spec, plain_console, ruled_table, say
from boxthirding.cli.simulation_options import draw_regret, format_subtitle, format_title, note_without_numba
from boxthirding.errors import InvalidInput, SimulationFailed

if TYPE_CHECKING:
    from boxthirding.lab import Description, Instance, RewardModel, Run, Setting

_WIDTH_OF_NUMBERS = 53  # columns of the table beside the policy's


@click.command()
@click.option("--instance", metavar="NAME", help="Arms of a named instance: captions, poly, equal or square.")
@click.option("--arms", type=int, metavar="N", help="How many: ranks 1…N of captions, N arms of the others.")
@click.option(
    "--means",
    type=FILE,
    metavar="FILE.csv",
    help="Arms of a file: a caption-contest summary (columns votes, somewhat_funny, funny), else a column mean.",
)
@click.option("--no-header", is_flag=True, help="The file has no header: its columns are the mean, or label and mean.")
@click.option("--top", type=int, metavar="N", help="Only the file's first N rows.")
@click.option(
    "--rewards",
    required=True,
    metavar="MODEL",
    help="gaussian:SIGMA, bernoulli, kumaraswamy, none, votes (of a contest), table:FILE.csv or scores:FILE.csv.",
)
@click.option(
    "--policy",
    "specs",
    required=True,
    multiple=True,
    metavar="SPEC",
    help="A name, such as b3, or name:key=value,key=value, such as sh:growth=1.7,mode=paper. Repeat to compare.",
)
@click.option("--budget", required=True, type=int, metavar="T", help="Pulls a replicate has.")
@click.option("--checkpoint", "checkpoints", type=int, multiple=True, metavar="t", help="Also report after t pulls.")
@click.option("--replicates", type=int, default=1000, show_default=True, metavar="R", help="Runs of each policy.")
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="The same seed gives the same runs.")
@click.option("--threads", type=int, metavar="K", help="Changes no result.  [default: all cores]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line, policy by policy.")
@click.option("--plot", type=FILE, metavar="FILE", help="Also draw regret against pulls: .png, .svg or .pdf.")
@click.option("--results", type=FILE, metavar="FILE", help="Save results in FILE as they come, and resume from it.")
@click.pass_context
def simulate(  # noqa: PLR0913  # an argument for each option
    ctx: click.Context,
    /,
    *,
    rewards: str,
    specs: tuple[str, ...],
    budget: int,
    checkpoints: tuple[int, ...],
    replicates: int,
    seed: int,
    threads: int | None,
    as_json: bool,
    plot: Path | None,
    results: Path | None,
    **source: Any,
) -> None:
    """Run policies on arms whose true means are known, and report how far their answers are from the best.

    The regret of a run is the best mean less the mean of the arm it recommends. Ctrl-C keeps what is complete.
    """
    from boxthirding._checks import whole
    from boxthirding.lab import Setting, parse_rewards
    from boxthirding.lab.plots import check_plot_file, log_spaced
    from boxthirding.lab.settings import checked_checkpoints

    model = parse_rewards(rewards)
    instance = _find_instance(model, **source)
    reported = checked_checkpoints(checkpoints, whole("budget", budget, least=1)).tolist()
    # Saved results can be drawn later.
    computed = tuple(reported if plot is None and results is None else [*reported, *log_spaced(budget)])
    for spec in specs:
        if specs.count(spec) > 1:
            raise InvalidInput(f"--policy {spec} is given {specs.count(spec)} times, but counts once: leave one out")
    settings = [Setting(instance, model, spec, budget, computed, replicates, seed) for spec in specs]
    if plot is not None:
        check_plot_file(plot)
    note_without_numba("is slow")
    printed: set[str] = set()

    def print_json(one: "Description", run: "Run") -> None:
        if as_json and one.policy not in printed:
            printed.add(one.policy)
            click.echo("\n".join(json.dumps({"policy": one.policy, **row}) for row in _rows(run, reported)))

    runs, stop = _run(settings, threads, results, print_json)
    for one, run in runs:
        print_json(one, run)
    if runs and not as_json:
        _print_table(runs, reported)
    if isinstance(stop, KeyboardInterrupt):
        say(_format_missing(settings, runs, results), err=True)
    if runs and plot is not None:
        draw_regret(plot, runs)
    if isinstance(stop, SimulationFailed):
        raise Failure(str(stop)) from stop
    if stop is not None:
        ctx.exit(INTERRUPTED)


def _find_instance(
    rewards: "RewardModel",
    *,
    instance: str | None,
    arms: int | None,
    means: Path | None,
    top: int | None,
    no_header: bool,
) -> "Instance":
    """Return the arms that the options name."""
    from boxthirding.lab import Table, from_csv, named

    if instance is not None and means is not None:
        raise InvalidInput(f"--instance is {instance} and --means is {means}, but only one can be: leave one out")
    if arms is not None and instance is None:
        raise InvalidInput(f"--arms is {arms}, but belongs to --instance: of a file, --top takes the first rows")
    if top is not None and means is None:
        raise InvalidInput(f"--top is {top}, but belongs to --means: of an instance, --arms says how many")
    if instance is not None:
        return named(instance, arms)
    if means is not None:
        return from_csv(means, top, header=not no_header)
    if isinstance(rewards, Table):
        return rewards.instance()
    raise InvalidInput("there are no arms: pass --instance NAME, --means FILE.csv or --rewards table:FILE.csv")


def _run(
    settings: "Sequence[Setting]",
    threads: int | None,
    results: Path | None,
    report: "Callable[[Description, Run], None]",
) -> "tuple[list[tuple[Description, Run]], KeyboardInterrupt | SimulationFailed | None]":
    """Run one policy after the other under a progress bar, and report each when it is complete.

    Return the runs that have replicates, and what stopped them early.
    """
    from boxthirding import lab

    class JsonPrinter(lab.Watcher):
        def complete(self, setting: "Setting", run: "Run") -> None:
            report(setting.description, run)

    runs: Sequence[Run] = ()
    stop: KeyboardInterrupt | SimulationFailed | None = None
    try:
        with closing(Bar(prints=True)) as bar:
            runs = lab.sweep(settings, results=results, threads=threads, progress=bar, watcher=JsonPrinter())
    except (KeyboardInterrupt, SimulationFailed) as early:
        stop = early
        if isinstance(early, lab.Interrupted | SimulationFailed):  # else it was before the first replicate
            runs = early.runs
    return [(one.description, run) for one, run in zip(settings, runs, strict=False) if run.replicates], stop


def _rows(run: "Run", checkpoints: Sequence[int]) -> Iterable[dict[str, float]]:
    return (row for row in run.rows() if row["pulls"] in checkpoints)


def _print_table(runs: "Sequence[tuple[Description, Run]]", checkpoints: Sequence[int]) -> None:
    """Print a block for each checkpoint, so that policies are compared at the same number of pulls."""
    from rich.text import Text

    console = plain_console()
    one = runs[0][0]
    console.print(format_title(one), style="bold", soft_wrap=True)
    console.print(format_subtitle(one), soft_wrap=True)
    console.print()
    table = ruled_table()
    table.add_column("\npolicy")
    for heading in ("mean\nregret ", "std.\nerror", "25 % to 75 %\nof the runs", "error\nrate", "\ntime"):
        table.add_column(heading, justify="right", no_wrap=True)
    summaries = {described.policy: list(_rows(run, checkpoints)) for described, run in runs}
    best = min(rows[-1]["regret_mean"] for rows in summaries.values())
    for place, pulls in enumerate(checkpoints):
        if len(checkpoints) > 1:
            table.add_section()
            table.add_row(f"after {counted(pulls, 'pull')}", style="italic")
        for spec, rows in summaries.items():
            row = rows[place]
            marked = len(runs) > 1 and pulls == one.budget and row["regret_mean"] == best
            policy = Text(break_spec(spec, console.width - _WIDTH_OF_NUMBERS), overflow="fold")
            table.add_row(policy, *_format_cells(row, mark="*" if marked else " "), style="bold" if marked else None)
    console.print(table)
    console.print()
    console.print("error rate: runs whose answer is not a best arm")
    if len(runs) > 1:
        lowest = [spec for spec, rows in summaries.items() if rows[-1]["regret_mean"] == best]
        console.print(
            f"* lowest mean regret after {counted(one.budget, 'pull')}: {' and '.join(lowest)}", soft_wrap=True
        )


def _format_cells(row: dict[str, float], mark: str) -> list[str]:
    """Return a summary in four significant digits, its error in two."""
    seconds = row["seconds"]
    return [
        _format_number(row["regret_mean"]) + mark,
        f"{row['regret_se']:#.2g}" if row["replicates"] > 1 else "–",
        f"{_format_number(row['regret_q25'])} – {_format_number(row['regret_q75'])}",
        f"{row['error_rate']:.1%}",
        f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.0f} s",  # noqa: PLR2004  # then hundredths say nothing
    ]


def _format_number(number: float) -> str:
    return f"{number:#.4g}" if number else "0"


def _format_missing(
    settings: "Sequence[Setting]", runs: "Sequence[tuple[Description, Run]]", results: Path | None
) -> str:
    """Describe how far an interrupted run came, and how to resume it."""
    there = {described.policy: run.replicates for described, run in runs}
    short = [
        f"{one.spec} has {there.get(one.spec, 0):,} of {counted(one.replicates, 'replicate')}"
        for one in settings
        if there.get(one.spec, 0) < one.replicates
    ]
    how = f" The same command resumes where {results} stops." if results and short else ""
    return f"Interrupted: {'; '.join(short) or 'after the last replicate'}.{how}"
