"""`boxthirding run`: the best of many arms, each scored by a program that prints a number."""

import errno
import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from boxthirding.cli.simulate import INTERRUPTED, TERMINATED
from boxthirding.cli.study.opening import kept
from boxthirding.errors import EvaluationFailed, InvalidInput

if TYPE_CHECKING:
    from boxthirding.find import Found

_GOOD = 0.01  # the share of arms that the screening speaks of


@click.command(
    epilog="For example: boxthirding run --arms arms.csv --command 'python score.py {arm}' --budget 500 --workers 4"
)
@click.option(
    "--arms",
    "arms_file",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A CSV file with a header (its column arm, else the first, is the label), or a text file with an arm a line.",
)
@click.option(
    "--command",
    required=True,
    metavar="COMMAND",
    help="What to run, without a shell: {arm}, {example}, {pull} and the columns of the CSV file are filled in. "
    "The last line it prints must be a number, or a number and its cost.",
)
@click.option("--budget", type=int, metavar="T", help="How many times the command may run.")
@click.option("--cost", type=float, metavar="C", help="Or the total cost, as the command prints it.")
@click.option("--seconds", type=float, metavar="S", help="How long it may take; alone, or beside one of the others.")
@click.option("--workers", type=int, default=1, show_default=True, metavar="K", help="Commands that run side by side.")
@click.option(
    "--examples",
    "examples_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Examples, given as arms are: pull k of every arm sees the same one.",
)
@click.option("--policy", "spec", metavar="SPEC", help="Who decides what to run next.  [default: b3auto]")
@click.option(
    "--seed", type=int, metavar="S", help="Decides the order of arms and examples.  [default: 0, or the study's own]"
)
@click.option(
    "--direction",
    type=click.Choice(["maximize", "minimize"]),
    help="Whether large numbers are good or bad.  [default: maximize, or the study's own]",
)
@click.option(
    "--on-error",
    type=click.Choice(["raise", "withdraw"]),
    default="raise",
    show_default=True,
    help="When a command fails: stop, or try again and withdraw the arm after three failures in a row.",
)
@click.option(
    "--timeout", type=float, metavar="SECONDS", help="A command that takes longer is stopped, and has failed."
)
@click.option(
    "--study",
    metavar="FILE",
    callback=kept,
    help="Keep the run in this database, a file or a URL: the same command goes on where it was, after Ctrl-C, a crash "
    "or a kill, and may run several times at once. --budget counts the runs of the whole study.",
)
@click.option("--name", metavar="NAME", help="The study in that database.  [default: main]")
@click.option("--top", type=int, default=5, show_default=True, metavar="K", help="How many arms to report.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def run(  # noqa: PLR0913  # an argument for each option
    ctx: click.Context,
    *,
    arms_file: Path,
    command: str,
    budget: int | None,
    cost: float | None,
    seconds: float | None,
    workers: int,
    examples_file: Path | None,
    spec: str | None,
    seed: int | None,
    direction: str | None,
    on_error: str,
    timeout: float | None,
    study: str | None,
    name: str | None,
    top: int,
    as_json: bool,
) -> None:
    """Find the best arm by running a command for one arm after the other.

    Ctrl-C, SIGTERM or the end of the time prints the best so far.
    """
    from boxthirding._checks import whole
    from boxthirding.cli.programs import Program, Pulls, read_arms, read_examples
    from boxthirding.find import find_best
    from boxthirding.find.shared import NAME

    if name is not None and study is None:
        raise InvalidInput(f"--name is {name}, but belongs to --study: give the database")
    _check_budget(budget, cost, seconds)
    whole("top", top, least=1)
    arms = read_arms(arms_file)
    examples = None if examples_file is None else read_examples(examples_file)
    name = NAME if name is None else name
    made = _made(study, name, {arm["arm"] for arm in arms})
    seed = made.seed if seed is None else seed
    direction = made.direction if direction is None else direction
    problem: str | None = None
    with (
        Program(command, arms, examples=examples is not None, timeout=timeout) as program,
        _sigterm_like_ctrl_c() as terminated,
    ):
        try:
            found = find_best(
                {arm["arm"]: arm for arm in arms},
                program,
                budget=budget,
                cost=cost,
                seconds=seconds,
                examples=Pulls(examples, 0 if seed is None else seed),
                workers=workers,
                policy=spec,
                seed=seed,
                direction=direction,
                on_error=on_error,
                study=None if study is None else (study, name),
                progress=sys.stderr.isatty() or study is not None,  # a study says where it goes on
            )
        except EvaluationFailed as error:
            found, problem = error.found, " ".join(str(error).splitlines())
        if found.interrupted:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the answer is printed, whatever is pressed now
    answer = json.dumps(_as_json(found, top, problem)) if as_json else _report(found, top)
    try:
        click.echo(answer)
    except OSError as error:  # it was paid for
        if error.errno != errno.EPIPE:
            click.echo(answer, err=True)
        raise
    finally:
        if problem is not None:
            click.echo(f"Error: {problem}", err=True)
    if found.interrupted:
        if study is not None:
            click.echo("The same command goes on from here.", err=True)
        ctx.exit(TERMINATED if terminated else INTERRUPTED)
    if problem is not None or found.recommendation is None:
        ctx.exit(1)


def _check_budget(budget: int | None, cost: float | None, seconds: float | None) -> None:
    if budget is None and cost is None and seconds is None:
        raise InvalidInput("there is no budget: give --budget T, --cost C or --seconds S")
    if budget is not None and cost is not None:
        raise InvalidInput(
            f"--budget is {budget} and --cost is {cost:g}, but a run has one budget in one unit: "
            "leave one out (--seconds may stand beside either)"
        )


class _Made(NamedTuple):
    """What a study was made with, as far as a run must know; None where there is none."""

    seed: int | None = None
    direction: str | None = None


def _made(url: str | None, name: str, labels: set[str]) -> _Made:
    """Look at a study before it is run, and refuse it if arms were added to it that this run could not evaluate."""
    from boxthirding.cli.programs import without_rows
    from boxthirding.storage import list_studies, open_study
    from boxthirding.study import ArmsAdded

    if url is None or name not in list_studies(url):
        return _Made()
    with open_study(url, name) as study:
        events = (entry.event for entry in study.events())
        added = [label for event in events if isinstance(event, ArmsAdded) for label in event.labels]
        missing = [label for label in added if label not in labels and study.why(label).place != "withdrawn"]
        if missing:
            raise without_rows(missing)
        return _Made(study.seed, study.direction)


@contextmanager
def _sigterm_like_ctrl_c() -> Iterator[list[int]]:
    """Let SIGTERM end a search as Ctrl-C does; what is yielded is no longer empty when it has come."""
    from boxthirding.find.workers import Interrupts

    received: list[int] = []

    def receive(number: int, _: object) -> None:
        received.append(number)
        if not Interrupts.press():  # before the search, or after it
            sys.exit(TERMINATED)

    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, receive)
    try:
        yield received
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.SIG_IGN if received else signal.SIG_DFL)  # the answer is printed


def _as_json(found: "Found", top: int, problem: str | None) -> dict[str, Any]:
    spending = found.spending
    screening = found.session.screening(_GOOD)
    best = {"label": None, "mean": None, "pulls": 0, "level": None}
    if found.recommendation is not None:
        best = found.recommendation._asdict()
    return {
        "best": best.pop("label"),
        **best,
        "top": [arm._asdict() for arm in found.top(top)],
        "stopped": found.stopped,
        "error": problem,
        "spending": {
            "pulls": spending.pulls,
            "elsewhere": spending.elsewhere,
            "failures": spending.failures,
            "abandoned": spending.abandoned,
            "cost": spending.cost,
            "seconds": spending.seconds,
            "unit": spending.unit,
            "limit": spending.limit,
            "left": spending.left,
        },
        "screening": {"share": _GOOD, "probability": screening.probability, "candidates": screening.candidates},
        "history": found.history,
    }


def _report(found: "Found", top: int) -> str:
    """Return the answer, the arms that come next, and what it took."""
    lines = []
    if found.recommendation is None:
        lines.append("No arm has a result.")
    else:
        lines += [f"Best arm: {found.label}", ""]
        ranked = found.top(top)
        width = max(len("arm"), *(len(str(arm.label)) for arm in ranked))
        lines.append(f"{'arm':{width}}  {'mean':>10}  {'pulls':>7}")
        lines += [f"{arm.label!s:{width}}  {arm.mean:>10.4g}  {arm.pulls:>7,}" for arm in ranked]
        lines.append("")
    spent, *others = found.account()
    lines += [f"{sentence[0].upper()}{sentence[1:]}." for sentence in (spent, *others)]
    if found.recommendation is not None:
        lines.append(f"{found.session.screening(_GOOD)}.")
    return "\n".join(lines)
