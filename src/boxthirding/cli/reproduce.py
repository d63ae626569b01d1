"""`boxthirding reproduce`: the paper's figures, tables and claims on one page, from simulations of your own."""

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from boxthirding.cli.output import say
from boxthirding.cli.reporting import out_option, refuse_both, simulated, writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from boxthirding.lab.paper.run import ReproductionResult

_DEFAULT_OUT: Final = Path("reproduction")


@click.command()
@out_option(_DEFAULT_OUT)
@click.option("--quick", is_flag=True, help="Fewer replicates, 100 for figures and 200 for tables: coarse, in seconds.")
@click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A folder with 893.csv, the real contest; without it the embedded captions are used.",
)
@click.option(
    "--replicates",
    type=int,
    metavar="R",
    help="Replicates of every figure and table, instead of 1,000 and 4,000.",
)
@click.pass_context
def reproduce(ctx: click.Context, *, out: Path, quick: bool, data: Path | None, replicates: int | None) -> None:
    """Repeat the paper's experiments, and check what it says.

    It writes a page, index.html, with every figure, both tables and every claim; the figures also as PNG, SVG and CSV.
    If it is stopped half way, the same command resumes it.
    """
    from boxthirding.lab.paper.run import Reproduction

    refuse_both(quick=quick, replicates=replicates)
    planned = Reproduction.planned(out, quick=quick, data=data, replicates=replicates)
    runs = simulated(ctx, planned)
    with writing(out), _telling() as tell:
        outcome = planned.written(runs, tell)
    _report(outcome)


@contextmanager
def _telling() -> "Iterator[Callable[[str], None]]":
    """Show what is being done on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return

    from rich.console import Console

    with Console(stderr=True).status("") as status:
        yield status.update


def _report(outcome: "ReproductionResult") -> None:
    """Print what came out, and where to read it."""
    from boxthirding.lab.paper.claims import Verdict

    width = max(len(verdict.value) for verdict in Verdict)
    for claim, finding in outcome.findings:
        say(f"{finding.verdict.value:<{width}}  {claim.title}")
    told = [verdict for verdict in Verdict if verdict is not Verdict.TOO_FEW or outcome.count(verdict)]
    counts = ", ".join(f"{outcome.count(verdict)} {verdict.of_many}" for verdict in told)
    say(f"\nOf {len(outcome.findings)} claims {counts}.")
    say(f"The page: {outcome.page}")
