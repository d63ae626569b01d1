"""`boxthirding plot`: a picture from saved results, with nothing run again."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from boxthirding.cli.output import FILE
from boxthirding.cli.simulation_options import draw_regret
from boxthirding.errors import InvalidInput

if TYPE_CHECKING:
    from boxthirding.lab import Description, Run

    Runs = list[tuple[Description, Run]]

_PROBLEM: Final = ("instance", "arms", "rewards", "budget")  # what is the same for all curves of a picture

_MOST_CURVES: Final = 10  # more cannot be told apart


@click.command()
@click.argument("results", type=FILE)
@click.option("--out", required=True, type=FILE, metavar="FILE", help="Where the picture goes: .png, .svg or .pdf.")
@click.option(
    "--policy",
    "specs",
    multiple=True,
    metavar="SPEC",
    help="Draw only this policy, as its SPEC was given; may be repeated.",
)
@click.option("--instance", metavar="NAME", help="Draw only runs on this instance.")
@click.option("--arms", type=int, metavar="N", help="Draw only runs with this number of arms.")
@click.option("--rewards", metavar="MODEL", help="Draw only runs with these rewards.")
@click.option("--budget", type=int, metavar="T", help="Draw only runs with this budget.")
def plot(*, results: Path, out: Path, specs: tuple[str, ...], **chosen: str | int | None) -> None:
    """Draw regret against pulls from RESULTS, a file that `simulate --results` wrote.

    A picture shows one problem: of a file with several, as `reproduce` and `leaderboard` write it, choose one. Nothing
    is run. What is not complete yet is drawn as far as it is.
    """
    from boxthirding.lab import load
    from boxthirding.lab.plots import check_plot_file

    check_plot_file(out)
    saved = load(results)
    known = dict.fromkeys(description.policy for description, _ in saved)
    for spec in specs:
        if spec not in known:
            raise InvalidInput(f"--policy is {spec}, but {results} has {', '.join(known) or 'none'}")
    runs = [pair for pair in saved if not specs or pair[0].policy in specs]
    for name, value in chosen.items():
        runs, rest = [pair for pair in runs if value is None or getattr(pair[0], name) == value], runs
        if rest and not runs:
            raise InvalidInput(f"--{name} is {value}, but what is left of {results} has {_values(rest, name)}")
    problems = {tuple(getattr(description, name) for name in _PROBLEM) for description, _ in runs}
    if len(problems) > 1:
        by_name = zip(_PROBLEM, zip(*problems, strict=True), strict=True)
        different = [name for name, values in by_name if len(set(values)) > 1]
        ways = "; ".join(f"--{name} {_values(runs, name)}" for name in different)
        raise InvalidInput(f"{results} has {len(problems)} problems, but a picture shows one: choose from {ways}")
    if len(runs) > _MOST_CURVES:
        raise InvalidInput(
            f"{results} has {len(runs)} curves of this problem, but a picture shows at most {_MOST_CURVES}: choose "
            f"some with --policy from {_values(runs, 'policy')}"
        )
    draw_regret(out, runs)


def _values(runs: "Runs", name: str) -> str:
    """List what there is to choose from."""
    return ", ".join(map(str, dict.fromkeys(getattr(description, name) for description, _ in runs)))
