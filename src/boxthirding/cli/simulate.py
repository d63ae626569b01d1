"""`boxthirding simulate`: policies against each other on an instance whose true means are known."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from boxthirding._text import counted
from boxthirding.cli.drawing import draw, subtitle, title
from boxthirding.cli.output import Failure, say
from boxthirding.errors import InvalidInput, SimulationFailed

if TYPE_CHECKING:
    from rich.table import Table

    from boxthirding.lab import Description, Instance, RewardModel, Run, Setting

INTERRUPTED: Final = 130
"""The exit code of a program that SIGINT ended."""
TERMINATED: Final = 143
"""The same for SIGTERM."""

_WIDTH_OF_NUMBERS = 53  # columns of the table beside the policy's


@dataclass(frozen=True)
class _Ended:
    """What has complete replicates, and why the others have not."""

    runs: "list[tuple[Description, Run]]"
    interrupted: bool = False
    failure: SimulationFailed | None = None


@click.command()
@click.option("--instance", metavar="NAME", help="Arms of a named instance: captions, poly, equal or square.")
@click.option("--arms", type=int, metavar="N", help="How many: ranks 1…N of captions, N arms of the others.")
@click.option(
    "--means",
    type=click.Path(path_type=Path),
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
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also draw regret against pulls: .png, .svg or .pdf.",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Save results in FILE as they come, and go on where it stops.",
)
@click.pass_context
def simulate(  # noqa: PLR0913  # an argument for each option
    ctx: click.Context,
    *,
    instance: str | None,
    arms: int | None,
    means: Path | None,
    no_header: bool,
    top: int | None,
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
) -> None:
    """Run policies on arms whose true means are known, and report how far their answers are from the best.

    The regret of a run is the best mean less the mean of the arm it recommends. Ctrl-C keeps what is complete.
    """
    from boxthirding import _compile
    from boxthirding._checks import whole
    from boxthirding.lab import Setting, parse_rewards
    from boxthirding.lab.plots import check_plot_file, log_spaced
    from boxthirding.lab.settings import checked_checkpoints

    model = parse_rewards(rewards)
    chosen = _chosen(instance, arms, means, top, model, header=not no_header)
    shown = checked_checkpoints(checkpoints, whole("budget", budget, least=1)).tolist()
    # Whatever is saved can be drawn later.
    read = tuple(shown if plot is None and results is None else [*shown, *log_spaced(budget)])
    settings = [Setting(chosen, model, spec, budget, read, replicates, seed) for spec in _each_once(specs)]
    if plot is not None:
        check_plot_file(plot)
    if not _compile.available():
        say("Note: without Numba this is slow: pip install 'boxthirding[sim]'", err=True)
    ended = _run(settings, threads, results, lambda one, run: _print_json(one, run, shown) if as_json else None)
    if ended.runs and not as_json:
        _print_table(ended.runs, shown)
    if ended.interrupted:
        say(_what_is_missing(settings, ended.runs, results), err=True)
    if ended.runs and plot is not None:
        draw(plot, ended.runs)
    if ended.failure is not None:
        raise Failure(str(ended.failure)) from ended.failure
    if ended.interrupted:
        ctx.exit(INTERRUPTED)


def _chosen(  # an argument for each option
    instance: str | None,
    arms: int | None,
    means: Path | None,
    top: int | None,
    rewards: "RewardModel",
    *,
    header: bool,
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
        return from_csv(means, top, header=header)
    if isinstance(rewards, Table):
        return rewards.instance()
    raise InvalidInput("there are no arms: give --instance NAME, --means FILE.csv or --rewards table:FILE.csv")


def _each_once(specs: Sequence[str]) -> Sequence[str]:
    """Return the SPECs, or refuse one that is given twice."""
    for spec in specs:
        if specs.count(spec) > 1:
            raise InvalidInput(f"--policy {spec} is given {specs.count(spec)} times, but counts once: leave one out")
    return specs


def _run(
    settings: "Sequence[Setting]",
    threads: int | None,
    results: Path | None,
    show: "Callable[[Description, Run], None]",
) -> _Ended:
    """Run one policy after the other; `show` each when it is complete, and in the end those that are not."""
    from boxthirding import lab
    from boxthirding.cli.watching import watched

    shown: set[Setting] = set()

    def complete(setting: "Setting", run: "Run") -> None:
        shown.add(setting)
        show(setting.description, run)

    try:
        with watched(complete) as view:
            runs = lab.sweep(settings, results=results, threads=threads, progress=view, watcher=view)
            ended = _Ended([])
    except lab.Interrupted as stop:
        ended, runs = _Ended([], interrupted=True), stop.runs
    except SimulationFailed as failure:
        ended, runs = _Ended([], failure=failure), failure.runs
    except KeyboardInterrupt:  # before the first replicate
        return _Ended([], interrupted=True)
    for setting, run in zip(settings, runs, strict=True):
        if run.replicates:
            ended.runs.append((setting.description, run))
            if setting not in shown:
                show(setting.description, run)
    return ended


def _rows(run: "Run", shown: Sequence[int]) -> Iterable[dict[str, float]]:
    return (row for row in run.rows() if row["pulls"] in shown)


def _print_json(one: "Description", run: "Run", shown: Sequence[int]) -> None:
    click.echo("\n".join(json.dumps({"policy": one.policy, **row}) for row in _rows(run, shown)))


def _print_table(runs: "Sequence[tuple[Description, Run]]", shown: Sequence[int]) -> None:
    """Print a block for each checkpoint, so that policies are compared at the same number of pulls."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False)
    one = runs[0][0]
    console.print(title(one), style="bold", soft_wrap=True)
    console.print(subtitle(one), soft_wrap=True)
    console.print()
    table = _empty_table()
    summaries = {described.policy: list(_rows(run, shown)) for described, run in runs}
    best = min(rows[-1]["regret_mean"] for rows in summaries.values())
    for place, pulls in enumerate(shown):
        if len(shown) > 1:
            table.add_section()
            table.add_row(f"after {counted(pulls, 'pull')}", style="italic")
        for spec, rows in summaries.items():
            row = rows[place]
            marked = len(runs) > 1 and pulls == one.budget and row["regret_mean"] == best
            policy = Text(_broken(spec, console.width - _WIDTH_OF_NUMBERS), overflow="fold")
            table.add_row(policy, *_cells(row, mark="*" if marked else " "), style="bold" if marked else None)
    console.print(table)
    console.print()
    console.print("error rate: runs whose answer is not a best arm")
    if len(runs) > 1:
        lowest = [spec for spec, rows in summaries.items() if rows[-1]["regret_mean"] == best]
        console.print(
            f"* lowest mean regret after {counted(one.budget, 'pull')}: {' and '.join(lowest)}", soft_wrap=True
        )


def _empty_table() -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    table.add_column("\npolicy")
    for heading in ("mean\nregret ", "std.\nerror", "25 % to 75 %\nof the runs", "error\nrate", "\ntime"):
        table.add_column(heading, justify="right", no_wrap=True)
    return table


def _broken(spec: str, width: int) -> str:
    """Break a SPEC that is too long for its column after a comma, not in the middle of a word."""
    lines = [""]
    for part in spec.replace(",", ",\n").split("\n"):
        if len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(filter(None, lines))


def _cells(row: dict[str, float], mark: str) -> list[str]:
    """Return a summary in four significant digits, its error in two."""
    seconds = row["seconds"]
    return [
        _short(row["regret_mean"]) + mark,
        f"{row['regret_se']:#.2g}" if row["replicates"] > 1 else "–",
        f"{_short(row['regret_q25'])} – {_short(row['regret_q75'])}",
        f"{row['error_rate']:.1%}",
        f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.0f} s",  # noqa: PLR2004  # then hundredths say nothing
    ]


def _short(number: float) -> str:
    return f"{number:#.4g}" if number else "0"


def _what_is_missing(
    settings: "Sequence[Setting]", runs: "Sequence[tuple[Description, Run]]", results: Path | None
) -> str:
    """Say how far an interrupted run came, and how to resume it."""
    there = {described.policy: run.replicates for described, run in runs}
    short = [
        f"{one.spec} has {there.get(one.spec, 0):,} of {counted(one.replicates, 'replicate')}"
        for one in settings
        if there.get(one.spec, 0) < one.replicates
    ]
    how = f" The same command resumes where {results} stops." if results and short else ""
    return f"Interrupted: {'; '.join(short) or 'after the last replicate'}.{how}"
