"""What the commands that write a report share: simulate or go on, then write, and say what to do if that fails."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from boxthirding.cli.output import Failure, say
from boxthirding.cli.simulate import INTERRUPTED
from boxthirding.errors import InvalidInput, SimulationFailed

if TYPE_CHECKING:
    from boxthirding.lab import Run, Setting
    from boxthirding.types import Progress


F = TypeVar("F", bound=Callable[..., Any])


class Report(Protocol):
    """A report whose simulations are saved in its folder."""

    @property
    def settings(self) -> "list[Setting]":
        """Everything that is simulated."""

    def simulated(self, *, progress: "bool | Callable[[Progress], None]" = False) -> "list[Run]":
        """Simulate what the folder does not hold yet."""


def out_option(default: Path) -> Callable[[F], F]:
    """Return the option that says in which folder a report is."""
    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        default=default,
        show_default=True,
        metavar="DIR",
        help="Where everything goes; what was simulated there before is used again.",
    )


def refuse_both(*, quick: bool, replicates: int | None) -> None:
    """Refuse two options that say how many replicates there are."""
    if quick and replicates is not None:
        raise InvalidInput(f"--replicates is {replicates} and --quick says how many, too: leave one out")


def simulated(ctx: click.Context, report: Report) -> "Sequence[Run]":
    """Simulate under a progress bar; stopped by Ctrl-C, say how far it came and leave."""
    from boxthirding import _compile
    from boxthirding.cli.watching import watched
    from boxthirding.lab import Interrupted

    if not _compile.available():
        say("Note: without Numba this takes hours: pip install 'boxthirding[sim]'", err=True)
    try:
        with watched() as view:
            return report.simulated(progress=view)
    except Interrupted as stop:
        done, asked = sum(run.replicates for run in stop.runs), sum(one.replicates for one in report.settings)
        say(f"Interrupted: {done:,} of {asked:,} replicates are saved; run the same command to go on.", err=True)
        ctx.exit(INTERRUPTED)
    except SimulationFailed as failure:
        raise Failure(failure) from failure


@contextmanager
def writing(out: Path) -> Iterator[None]:
    """Say what to do when a report cannot be written to its folder."""
    try:
        yield
    except OSError as problem:
        raise Failure(
            f"{problem.filename or out} could not be written ({problem.strerror or problem}); what was simulated is "
            "saved: make room and run the same command again"
        ) from problem
