"""`boxthirding simulate`: policies against each other on an instance whose true means are known."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from rich.table import Table

    from boxthirding.rewards import Instance, RewardModel
    from boxthirding.sim import Run
    from boxthirding.types import Policy

INTERRUPTED: Final = 130
"""The exit code of a program that SIGINT ended."""
TERMINATED: Final = 143
"""The same for SIGTERM."""

_WIDTH_OF_NUMBERS = 53  # columns of the table beside the policy's


@dataclass(frozen=True)
class _Experiment:
    """What was asked for, all of it checked."""

    instance: "Instance"
    rewards: "RewardModel"
    policies: "dict[str, Policy]"  # by SPEC, as given
    budget: int
    read: list[int]  # checkpoints
    shown: list[int]  # those of them that are printed
    replicates: int
    seed: int

    def title(self) -> str:
        """Return which arms these are, and where their means come from."""
        same = (self.rewards.source(self.instance).means == self.instance.means).all()
        means = self.instance.source if same else f"{self.instance.source}, as {self.rewards.spec}"
        return f"{self.instance.name}: {counted(self.instance.n_arms, 'arm')}, means: {means}"

    def subtitle(self) -> str:
        """Return how they were run."""
        pulls, replicates = counted(self.budget, "pull"), counted(self.replicates, "replicate")
        return f"rewards {self.rewards.spec}, budget {pulls}, {replicates}, seed {self.seed}"


@click.command()
@click.option("--instance", metavar="NAME", help="Arms of a named instance: captions, poly, equal or square.")
@click.option("--arms", type=int, metavar="N", help="How many: ranks 1…N of captions, N arms of the others.")
@click.option(
    "--means",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Arms of a file: a caption-contest summary (columns votes, somewhat_funny, funny), else a column mean.",
)
@click.option("--top", type=int, metavar="N", help="Only the file's first N rows.")
@click.option(
    "--rewards",
    required=True,
    metavar="MODEL",
    help="gaussian:SIGMA, bernoulli, kumaraswamy, none, votes (a contest's answers) or table:FILE.csv.",
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
@click.option("--threads", type=int, metavar="K", help="All cores unless given; changes no result.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line, policy by policy.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also draw regret against pulls: .png, .svg or .pdf.",
)
@click.pass_context
def simulate(  # noqa: PLR0913  # an argument for each option
    ctx: click.Context,
    *,
    instance: str | None,
    arms: int | None,
    means: Path | None,
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
) -> None:
    """Run policies on arms whose true means are known, and report how far their answers are from the best.

    The regret of a run is the best mean less the mean of the arm it recommends. Ctrl-C keeps what is complete.
    """
    from boxthirding import _compile
    from boxthirding._checks import whole
    from boxthirding.policies.ucbe import oracle_hardness
    from boxthirding.report import check_plot_file, log_spaced
    from boxthirding.rewards import parse_rewards
    from boxthirding.sim.simulate import checked_checkpoints

    model = parse_rewards(rewards)
    chosen = _chosen(instance, arms, means, top, model)
    means_of_arms = model.source(chosen).means  # refuses arms that the model does not fit
    shown = checked_checkpoints(checkpoints, whole("budget", budget, least=1)).tolist()
    policies = _parsed(specs, budget, model.sigma, oracle_hardness(means_of_arms))
    for policy in policies.values():
        policy.new(chosen.n_arms, seed, 1)  # refuses a budget that is too small for so many arms
    if plot is not None:
        check_plot_file(plot)
    read = shown if plot is None else [*shown, *log_spaced(budget)]
    experiment = _Experiment(chosen, model, policies, budget, read, shown, replicates, seed)
    if not _compile.available():
        click.echo("Note: without Numba this is slow: pip install 'boxthirding[sim]'", err=True)
    runs, interrupted = _run(experiment, threads, _print_json if as_json else lambda *_: None)
    if runs and not as_json:
        _print_table(experiment, runs)
    if interrupted:
        click.echo(_what_is_missing(experiment, runs), err=True)
    if runs and plot is not None:
        _draw(plot, experiment, runs)
    if interrupted:
        ctx.exit(INTERRUPTED)


def _chosen(
    instance: str | None, arms: int | None, means: Path | None, top: int | None, rewards: "RewardModel"
) -> "Instance":
    """Return the arms that the options name."""
    from boxthirding.rewards import Table, from_csv, named

    if instance is not None and means is not None:
        raise InvalidInput(f"--instance is {instance} and --means is {means}, but only one can be: leave one out")
    if arms is not None and instance is None:
        raise InvalidInput(f"--arms is {arms}, but belongs to --instance: of a file, --top takes the first rows")
    if top is not None and means is None:
        raise InvalidInput(f"--top is {top}, but belongs to --means: of an instance, --arms says how many")
    if instance is not None:
        return named(instance, arms)
    if means is not None:
        return from_csv(means, top)
    if isinstance(rewards, Table):
        return rewards.instance()
    raise InvalidInput("there are no arms: give --instance NAME, --means FILE.csv or --rewards table:FILE.csv")


def _parsed(specs: Sequence[str], budget: int, sigma: float, hardness: float) -> "dict[str, Policy]":
    """Return the policies by SPEC."""
    from boxthirding.policies import parse_policy

    for spec in specs:
        if specs.count(spec) > 1:
            raise InvalidInput(f"--policy {spec} is given {specs.count(spec)} times, but counts once: leave one out")
    return {spec: parse_policy(spec, budget=budget, sigma=sigma, hardness=hardness) for spec in specs}


def _run(
    experiment: _Experiment, threads: int | None, when_done: "Callable[[str, Run, Sequence[int]], None]"
) -> "tuple[dict[str, Run], bool]":
    """Run one policy after the other; return what has complete replicates, and whether Ctrl-C ended it early."""
    from boxthirding import sim

    runs: dict[str, Run] = {}
    interrupted = False
    try:
        for number, (spec, policy) in enumerate(experiment.policies.items(), start=1):
            try:
                with _bar(f"{spec} ({number} of {len(experiment.policies)})", experiment.replicates) as advance:
                    run = sim.simulate(
                        experiment.instance,
                        experiment.rewards,
                        policy,
                        budget=experiment.budget,
                        checkpoints=experiment.read,
                        replicates=experiment.replicates,
                        seed=experiment.seed,
                        threads=threads,
                        progress=advance,
                    )
            except sim.Interrupted as stop:
                run, interrupted = stop.partial, True
            if run.replicates:
                runs[spec] = run
                when_done(spec, run, experiment.shown)
            if interrupted:
                break
    except KeyboardInterrupt:  # between two runs, or while one was being compiled
        interrupted = True
    return runs, interrupted


@contextmanager
def _bar(label: str, replicates: int) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr, if that is a terminal; what is yielded takes the replicates that ended."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return

    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=Console(stderr=True), transient=True, redirect_stdout=False, redirect_stderr=False
    ) as progress:
        task = progress.add_task(f"{label}: compiling (first run only)", total=None)
        yield lambda ended: progress.update(task, description=label, total=replicates, advance=ended)


def _rows(run: "Run", shown: Sequence[int]) -> Iterable[dict[str, float]]:
    return (row for row in run.rows() if row["pulls"] in shown)


def _print_json(spec: str, run: "Run", shown: Sequence[int]) -> None:
    click.echo("\n".join(json.dumps({"policy": spec, **row}) for row in _rows(run, shown)))


def _print_table(experiment: _Experiment, runs: "dict[str, Run]") -> None:
    """Print a block for each checkpoint, so that policies are compared at the same number of pulls."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False)
    console.print(experiment.title(), style="bold", soft_wrap=True)
    console.print(experiment.subtitle(), soft_wrap=True)
    console.print()
    table = _empty_table()
    summaries = {spec: list(_rows(run, experiment.shown)) for spec, run in runs.items()}
    best = min(rows[-1]["regret_mean"] for rows in summaries.values())
    for place, pulls in enumerate(experiment.shown):
        if len(experiment.shown) > 1:
            table.add_section()
            table.add_row(f"after {counted(pulls, 'pull')}", style="italic")
        for spec, rows in summaries.items():
            row = rows[place]
            marked = len(runs) > 1 and pulls == experiment.budget and row["regret_mean"] == best
            policy = Text(_broken(spec, console.width - _WIDTH_OF_NUMBERS), overflow="fold")
            table.add_row(policy, *_cells(row, mark="*" if marked else " "), style="bold" if marked else None)
    console.print(table)
    console.print()
    console.print("error rate: runs whose answer is not a best arm")
    if len(runs) > 1:
        console.print(f"* lowest mean regret after {counted(experiment.budget, 'pull')}")


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


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural where that is due."""
    return f"{number:,} {noun}{'s' if number != 1 else ''}"


def _what_is_missing(experiment: _Experiment, runs: "dict[str, Run]") -> str:
    """Say how far an interrupted run came."""
    all_of_them = f"of {counted(experiment.replicates, 'replicate')}"
    ended = {spec: runs[spec].replicates if spec in runs else 0 for spec in experiment.policies}
    short = [f"{spec} has {n:,} {all_of_them}" for spec, n in ended.items() if n < experiment.replicates]
    return f"Interrupted: {'; '.join(short) or 'after the last replicate'}."


def _draw(plot: Path, experiment: _Experiment, runs: "dict[str, Run]") -> None:
    """Write the picture; the rows are printed by then, so a full disk loses nothing else."""
    from boxthirding.report import plot_regret

    named = {
        spec if run.replicates == experiment.replicates else f"{spec} ({counted(run.replicates, 'replicate')})": run
        for spec, run in runs.items()
    }
    try:
        plot_regret(plot, named, title=experiment.title(), subtitle=experiment.subtitle())
    except OSError as problem:
        raise click.ClickException(f"the plot {plot} could not be written: {problem.strerror or problem}") from problem
