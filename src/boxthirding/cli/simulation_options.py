"""Shared by the commands that simulate: options, running and saving simulations, and the plot of regret."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from boxthirding._progress import Bar
from boxthirding._text import counted, visible
from boxthirding.cli.output import FILE, INTERRUPTED, Failure, say, writing
from boxthirding.errors import InvalidInput, SimulationFailed

if TYPE_CHECKING:
    from boxthirding.lab import Description, Run
    from boxthirding.lab.leaderboard.run import Leaderboard
    from boxthirding.lab.paper.run import Reproduction

F = TypeVar("F", bound=Callable[..., Any])


def note_without_numba(how_slow: str) -> None:
    """Print how to install Numba, if it is missing."""
    from boxthirding import _compile

    if not _compile.available():
        say(f"Note: without Numba this {how_slow}: pip install 'boxthirding[sim]'", err=True)


# Reports of leaderboard and reproduce


def out_option(default: Path) -> Callable[[F], F]:
    """Return the option for the folder of a report."""
    return click.option(
        "--out",
        type=FILE,
        default=default,
        show_default=True,
        metavar="DIR",
        help="Where everything goes; what was simulated there before is used again.",
    )


def check_replicates(*, quick: bool, replicates: int | None) -> None:
    """Raise if two options both set the number of replicates."""
    if quick and replicates is not None:
        raise InvalidInput(f"--replicates is {replicates} and --quick says how many, too: leave one out")


def run_report(ctx: click.Context, report: "Leaderboard | Reproduction") -> "Sequence[Run]":
    """Simulate what the folder of a report lacks, under a progress bar; exit after Ctrl-C with how far it came."""
    from boxthirding.lab import Interrupted
    from boxthirding.lab.report_folder import simulated_in

    note_without_numba("takes hours")
    try:
        with closing(Bar(prints=True)) as bar:
            return simulated_in(report.out, report.settings, progress=bar)
    except Interrupted as stop:
        done, asked = sum(run.replicates for run in stop.runs), sum(one.replicates for one in report.settings)
        say(f"Interrupted: {done:,} of {asked:,} replicates are saved; run the same command to go on.", err=True)
        ctx.exit(INTERRUPTED)
    except SimulationFailed as failure:
        raise Failure(failure) from failure


@contextmanager
def writing_report(out: Path) -> Iterator[None]:
    """Report a file of a folder that cannot be written."""
    try:
        yield
    except OSError as problem:
        raise Failure(
            f"{problem.filename or out} could not be written ({problem.strerror or problem}); what was simulated is "
            "saved: make room and run the same command again"
        ) from problem


# Pictures of simulate and plot


def format_title(one: "Description") -> str:
    """Return which arms these are, and where their means come from."""
    return visible(f"{one.instance}: {counted(one.arms, 'arm')}, means: {one.source}")


def format_subtitle(one: "Description", without: Collection[str] = ()) -> str:
    """Return the parameters of a setting, except those that differ between settings."""
    parts = {
        "rewards": f"rewards {one.rewards}",
        "budget": f"budget {counted(one.budget, 'pull')}",
        "replicates": counted(one.replicates, "replicate"),
        "seed": f"seed {one.seed}",
        "workers": counted(one.workers, "worker") if one.workers > 1 else "",
    }
    return ", ".join(text for name, text in parts.items() if text and name not in without)


def draw_regret(plot: Path, runs: "Iterable[tuple[Description, Run]]") -> None:
    """Write the picture of regret against pulls on one problem; what else differs stands beside the policy."""
    from boxthirding.lab.plots import plot_regret

    begun = [(one, run) for one, run in runs if run.replicates]
    drawn = [one for one, _ in begun]
    different = [name for name in ("replicates", "seed", "workers") if len({getattr(one, name) for one in drawn}) > 1]
    named = {}
    for one, run in begun:
        parts = [one.policy, *(f"{name} {getattr(one, name)}" for name in different)]
        if run.replicates < one.replicates:
            parts.append(counted(run.replicates, "replicate"))
        named[", ".join(parts)] = run
    title, subtitle = (format_title(drawn[0]), format_subtitle(drawn[0], without=different)) if drawn else ("", "")
    with writing(f"the plot {plot}"):
        plot_regret(plot, named, title=title, subtitle=subtitle)
