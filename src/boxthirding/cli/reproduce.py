"""`boxthirding reproduce`: the paper's figures, tables and claims on one page, from simulations of your own."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from boxthirding.cli.output import FILE, say
from boxthirding.cli.simulation_options import check_replicates, out_option, run_report, writing_report

if TYPE_CHECKING:
    from boxthirding.lab.paper.run import ReproductionResult

_DEFAULT_OUT: Final = Path("reproduction")


@click.command()
@out_option(_DEFAULT_OUT)
@click.option("--quick", is_flag=True, help="Fewer replicates, 100 for figures and 200 for tables: coarse, in seconds.")
@click.option(
    "--data",
    type=FILE,
    metavar="DIR",
    help="A folder with 893.csv, the real contest; without it the embedded captions are used.",
)
@click.option(
    "--replicates", type=int, metavar="R", help="Replicates of every figure and table, instead of 1,000 and 4,000."
)
@click.pass_context
def reproduce(ctx: click.Context, *, out: Path, quick: bool, data: Path | None, replicates: int | None) -> None:
    """Repeat the paper's experiments, and check what it says.

    It writes a page, index.html, with every figure, both tables and every claim; the figures also as PNG, SVG and CSV.
    If it is stopped half way, the same command resumes it.
    """
    from rich.console import Console

    from boxthirding.lab.paper.run import Reproduction

    check_replicates(quick=quick, replicates=replicates)
    planned = Reproduction.planned(out, quick=quick, data=data, replicates=replicates)
    runs = run_report(ctx, planned)
    status = Console(stderr=True).status("") if sys.stderr.isatty() else nullcontext()
    with writing_report(out), status as shown:
        outcome = planned.write(runs, (lambda _: None) if shown is None else shown.update)
    _print(outcome)


def _print(outcome: "ReproductionResult") -> None:
    """Print what came out, and where to read it."""
    from boxthirding.lab.paper.claims import Verdict

    width = max(len(verdict.value) for verdict in Verdict)
    for claim, finding in outcome.findings:
        say(f"{finding.verdict.value:<{width}}  {claim.title}")
    told = [verdict for verdict in Verdict if verdict is not Verdict.TOO_FEW or outcome.count(verdict)]
    counts = ", ".join(f"{outcome.count(verdict)} {verdict.of_many}" for verdict in told)
    say(f"\nOf {len(outcome.findings)} claims {counts}.")
    say(f"Report: {outcome.page}")
