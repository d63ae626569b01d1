"""`boxthirding run`: the best of many arms, each scored by a program that prints a number."""

import errno
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from boxthirding._text import in_one_line
from boxthirding.cli.output import FILE, INTERRUPTED, format_error, say
from boxthirding.cli.run_output import RunOutput
from boxthirding.cli.study_options import direction_option, durable_url
from boxthirding.errors import EvaluationFailed, InvalidInput

if TYPE_CHECKING:
    from boxthirding.client import RemoteStudy
    from boxthirding.find.opening import RunSettings
    from boxthirding.find.programs import Program
    from boxthirding.study import Study

TERMINATED: Final = 143  # the exit code of a program that SIGTERM ended

_PATIENCE: Final = 10.0  # seconds to wait for a locked database, or for a server that does not answer


@click.command(
    epilog="For example: boxthirding run --arms arms.csv --command 'python score.py {arm}' --budget 500 --workers 4"
)
@click.option(
    "--arms",
    "arms_file",
    required=True,
    type=FILE,
    metavar="FILE",
    help="A table, CSV with a header or JSON lines (its column arm, else the first, is the label), or a text file with "
    "one arm per line.",
)
@click.option(
    "--command",
    required=True,
    metavar="COMMAND",
    help="What to run: {arm}, {example}, {pull} and the columns of the table are filled in. The last line it prints "
    "must be a number, or a number and its cost.",
)
@click.option("--shell", is_flag=True, help="Run the command by the shell, for pipes and the like.")
@click.option("--no-header", is_flag=True, help="The CSV files have no header: --arms has arm, 2, 3 … as its columns.")
@click.option("--budget", type=int, metavar="T", help="How many times the command may run.")
@click.option("--cost", type=float, metavar="C", help="Or the total cost, as the command prints it.")
@click.option("--seconds", type=float, metavar="S", help="How long it may take; alone, or beside one of the others.")
@click.option("--workers", type=int, default=1, show_default=True, metavar="K", help="Commands that run side by side.")
@click.option(
    "--examples",
    "examples_file",
    type=FILE,
    metavar="FILE",
    help="Examples, given as arms are: pull k of every arm sees the same one, and an arm sees each once.",
)
@click.option("--repeat", is_flag=True, help="Let an arm see examples again when it has seen them all.")
@click.option(
    "--known",
    "known_file",
    type=FILE,
    metavar="FILE.csv",
    help="Existing results, which do not use up the budget: the columns arm and reward (or score), with "
    "--examples also example. Several rows of an arm are several results.",
)
@click.option(
    "--confirm",
    type=int,
    metavar="P",
    help="Then measure the reported arms again, each by P new runs beyond the budget: winners look better than they "
    "are.",
)
@click.option("--policy", "spec", metavar="SPEC", help="What decides which arm is next.  [default: chase]")
@click.option(
    "--seed", type=int, metavar="S", help="Decides the order of arms and examples.  [default: 0, or the study's own]"
)
@direction_option("Whether large numbers are good or bad.  [default: maximize, or the study's own]")
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
    callback=durable_url,
    help="Keep the run in this database, a file or a URL, or in a study of a server, https://host/#name with the key "
    "in BOXTHIRDING_KEY: the same command resumes after Ctrl-C, a crash or a kill, and may run several times at once. "
    "--budget counts the runs of the whole study.",
)
@click.option("--name", metavar="NAME", help="The study in that database.  [default: main]")
@click.option(
    "--force",
    is_flag=True,
    help="Continue the study although the command, the examples or rows of --arms are others than it was made with.",
)
@click.option("--top", type=int, default=5, show_default=True, metavar="K", help="How many arms to report.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def run(  # noqa: PLR0913  # an argument for each option
    ctx: click.Context,
    /,
    *,
    arms_file: Path,
    command: str,
    shell: bool,
    no_header: bool,
    examples_file: Path | None,
    repeat: bool,
    known_file: Path | None,
    confirm: int | None,
    spec: str | None,
    seed: int | None,
    direction: str | None,
    timeout: float | None,
    study: str | None,
    name: str | None,
    force: bool,
    top: int,
    as_json: bool,
    **limits: Any,
) -> None:
    """Find the best arm by running a command for one arm after the other.

    Ctrl-C waits for the commands that are running and prints the best so far; pressed again, it ends them. SIGTERM and
    the end of the time end them at once.
    """
    from boxthirding._checks import whole
    from boxthirding.find import Budget, find_best
    from boxthirding.find.input_files import as_known, labelled, read_arms, read_examples, read_known
    from boxthirding.find.opening import RunSettings
    from boxthirding.find.programs import Program, Pulls
    from boxthirding.policies.spec import as_policy

    if study is None and (name is not None or force):
        option = "--force" if name is None else f"--name is {name}, but"
        raise InvalidInput(f"{option} belongs to --study: give the database")
    budget, cost, seconds = (limits[name] for name in ("budget", "cost", "seconds"))
    if budget is None and cost is None and seconds is None:
        raise InvalidInput("there is no budget: pass --budget T, --cost C or --seconds S")
    Budget(budget, cost, seconds)  # raises unless it is one, before anything is read
    whole("top", top, least=1)
    if confirm is not None:
        whole("--confirm", confirm, least=2)
    rows = read_arms(arms_file, header=not no_header)
    examples = None if examples_file is None else read_examples(examples_file, header=not no_header)
    if repeat and examples is None:
        raise InvalidInput("--repeat is given, but there are no examples: pass --examples FILE, or leave out --repeat")
    known = None if known_file is None else read_known(known_file, examples=examples, header=not no_header)
    with (
        Program(command, rows, examples=examples is not None, timeout=timeout, shell=shell) as program,
        _sigterm_like_ctrl_c(ctx) as terminated,
        ExitStack() as stack,
    ):
        settings = RunSettings(
            labelled(rows),
            None if spec is None else as_policy(spec, budget=budget),
            seed,
            direction,
            None if known is None else as_known(known),
            Pulls(examples, repeat=repeat),
            {"command": command, **({"shell": "sh"} if shell else {})},
            force,
        )
        opened = None if study is None else _open_study(study, name, settings, program)
        if opened is not None:
            stack.callback(opened.close)
        try:
            found = find_best(
                settings.arms if opened is None else None,
                program,
                examples=settings.examples,
                known=settings.known if opened is None else None,
                policy=settings.policy if opened is None else None,
                seed=seed if opened is None else None,
                direction=direction if opened is None else None,
                study=opened,
                progress=sys.stderr.isatty() or opened is not None,  # a study prints where it resumes
                **limits,
            )
            answer = RunOutput(found, top, examples is not None, interrupted=found.interrupted)
        except EvaluationFailed as error:
            answer = RunOutput(error.found, top, examples is not None, in_one_line(format_error(error)))
        if confirm is not None:
            answer.confirm(confirm)
        if answer.interrupted:
            _ignore_until_the_end(ctx, signal.SIGINT, signal.getsignal(signal.SIGINT))
        text = answer.format(as_json=as_json)
    _print(text, answer.problem)
    if answer.interrupted:
        if study is not None and (answer.found.stopped == "interrupted" or confirm is not None):
            say("The same command resumes from here.", err=True)
        ctx.exit(TERMINATED if terminated else INTERRUPTED)
    if answer.problem is not None or answer.found.recommendation is None:
        ctx.exit(1)


def _open_study(url: str, name: str | None, settings: "RunSettings", program: "Program") -> "Study | RemoteStudy":
    """Open the study of a run, or make it; refuse one with arms that the program cannot run."""
    from boxthirding._checks import MOST
    from boxthirding.find.opening import open_or_make
    from boxthirding.find.programs import without_rows

    def check(study: "Study | RemoteStudy") -> None:
        """Raise if arms without a row were added to the study and the program needs more than their labels."""
        if study.examples is not None and not program.takes_examples:
            raise InvalidInput(f"study {study.name!r} was made with examples, and none are given: pass --examples")
        if program.columns <= {"arm"}:
            return
        arms: Any = settings.arms
        missing = [
            arm.label
            for arm in study.arms(count=MOST, order="given")
            if not arm.withdrawn
            and not program.can_run(arms[arm.label] if arm.label in arms else study.payload(arm.label))
        ]
        if missing:
            raise without_rows(missing)

    return open_or_make(url, name, settings, timeout=_PATIENCE, check=check)


def _print(text: str, problem: str | None) -> None:
    """Print the result. If standard output fails, except for a closed pipe, repeat it on stderr."""
    try:
        say(text)
    except OSError as error:
        if error.errno != errno.EPIPE:
            say(text, err=True)
        raise
    finally:
        if problem is not None:
            say(f"Error: {problem}", err=True)


@contextmanager
def _sigterm_like_ctrl_c(ctx: click.Context) -> Iterator[list[int]]:
    """Let SIGTERM end a search as the second Ctrl-C does; yield a list that is not empty once it was received."""
    from boxthirding.find.interrupts import LEAVE, Interrupts

    received: list[int] = []

    def receive(number: int, _: object) -> None:
        received.append(number)
        if not Interrupts.handle_press(LEAVE):  # before the search, or after it
            sys.exit(TERMINATED)

    ours = threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if ours:
        signal.signal(signal.SIGTERM, receive)
    try:
        yield received
    finally:
        if ours and received:
            _ignore_until_the_end(ctx, signal.SIGTERM, signal.SIG_DFL)
        elif ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _ignore_until_the_end(ctx: click.Context, number: int, afterwards: Any) -> None:
    """Ignore a signal while the answer is printed; once the command has ended, it is received as it was before."""
    signal.signal(number, signal.SIG_IGN)
    ctx.find_root().call_on_close(lambda: signal.signal(number, afterwards))
