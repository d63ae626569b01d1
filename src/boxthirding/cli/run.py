"""`boxthirding run`: the best of many arms, each scored by a program that prints a number."""

import errno
import json
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from boxthirding._text import in_one_line, visible
from boxthirding.cli.output import say
from boxthirding.cli.simulate import INTERRUPTED, TERMINATED
from boxthirding.cli.study.opening import check_new, kept
from boxthirding.errors import EvaluationFailed, InvalidInput

if TYPE_CHECKING:
    from boxthirding.find import Found
    from boxthirding.runs.programs import KnownRow, Program, Row
    from boxthirding.study import Study
    from boxthirding.types import Label

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
    help="A CSV file with a header (its column arm, else the first, is the label), or a text file with one arm per "
    "line.",
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
    help="Examples, given as arms are: pull k of every arm sees the same one, and an arm sees each once.",
)
@click.option("--repeat", is_flag=True, help="Let an arm see examples again when it has seen them all.")
@click.option(
    "--known",
    "known_file",
    type=click.Path(path_type=Path),
    metavar="FILE.csv",
    help="Results that are there already and need not be paid for: the columns arm and reward (or score), with "
    "--examples also example. Several rows of an arm are several results.",
)
@click.option("--policy", "spec", metavar="SPEC", help="What decides which arm is next.  [default: b3auto]")
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
    help="Keep the run in this database, a file or a URL: the same command resumes after Ctrl-C, a crash or a kill, "
    "and may run several times at once. --budget counts the runs of the whole study.",
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
    *,
    arms_file: Path,
    command: str,
    budget: int | None,
    cost: float | None,
    seconds: float | None,
    workers: int,
    examples_file: Path | None,
    repeat: bool,
    known_file: Path | None,
    spec: str | None,
    seed: int | None,
    direction: str | None,
    on_error: str,
    timeout: float | None,
    study: str | None,
    name: str | None,
    force: bool,
    top: int,
    as_json: bool,
) -> None:
    """Find the best arm by running a command for one arm after the other.

    Ctrl-C, SIGTERM or the end of the time prints the best so far.
    """
    from boxthirding._checks import whole
    from boxthirding.find import find_best
    from boxthirding.runs.programs import Program, Pulls, labelled, read_arms, read_examples, read_known

    if study is None and (name is not None or force):
        option = "--force" if name is None else f"--name is {name}, but"
        raise InvalidInput(f"{option} belongs to --study: give the database")
    _check_budget(budget, cost, seconds)
    whole("top", top, least=1)
    rows = read_arms(arms_file)
    examples = None if examples_file is None else read_examples(examples_file)
    if repeat and examples is None:
        raise InvalidInput("--repeat is given, but there are no examples: give --examples FILE, or leave it out")
    known = None if known_file is None else read_known(known_file, examples=examples)
    problem: str | None = None
    with (
        Program(command, rows, examples=examples is not None, timeout=timeout) as program,
        _sigterm_like_ctrl_c() as terminated,
        ExitStack() as stack,
    ):
        plan = _Plan(labelled(rows), command, examples, repeat, known, spec, seed, direction, budget)
        opened = None if study is None else stack.enter_context(plan.opened(study, name, program, force=force))
        try:
            found = find_best(
                plan.arms if opened is None else None,
                program,
                budget=budget,
                cost=cost,
                seconds=seconds,
                examples=Pulls(examples, plan.seed_of(opened), repeat=repeat),
                known=plan.known_results() if opened is None else None,
                workers=workers,
                policy=spec if opened is None else None,
                seed=seed if opened is None else None,
                direction=direction if opened is None else None,
                on_error=on_error,
                study=opened,
                progress=sys.stderr.isatty() or opened is not None,  # a study says from where it resumes
            )
        except EvaluationFailed as error:
            found, problem = error.found, in_one_line(error.problem)
        if found.interrupted:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # the answer is printed, whatever is pressed now
        answer = json.dumps(_as_json(found, top, problem)) if as_json else _report(found, top)
    try:
        say(answer)
    except OSError as error:  # it was paid for
        if error.errno != errno.EPIPE:
            say(answer, err=True)
        raise
    finally:
        if problem is not None:
            say(f"Error: {problem}", err=True)
    if found.interrupted:
        if study is not None:
            say("The same command resumes from here.", err=True)
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


@dataclass(frozen=True)
class _Plan:
    """What a run is made of, but for what it may spend."""

    arms: "dict[Label, Row | Label]"
    command: str
    examples: list[str] | None
    repeat: bool
    known: "list[KnownRow] | None"
    spec: str | None
    seed: int | None
    direction: str | None
    budget: int | None

    def seed_of(self, study: "Study | None") -> int:
        """Return what decides the order of the examples."""
        return study.seed if study is not None else 0 if self.seed is None else self.seed

    def known_results(self) -> "dict[Label, Any] | None":
        """Return the known results, those with examples by their index."""
        from boxthirding.runs.programs import as_known

        return None if self.known is None else as_known(self.known)

    def opened(self, url: str, name: str | None, program: "Program", *, force: bool) -> "Study":
        """Open the study of this run, or make it; refuse one with arms that the program cannot run."""
        from boxthirding.policies.spec import as_policy
        from boxthirding.runs.programs import digest_of
        from boxthirding.storage import open_study
        from boxthirding.storage.opening import NAME
        from boxthirding.study import Settings

        details = {"command": self.command}
        if self.examples is not None:
            details["examples"] = digest_of(self.examples)
        settings: dict[str, Any] = {
            "arms": self.arms,
            "policy": None if self.spec is None else as_policy(self.spec, budget=self.budget),
            "seed": self.seed,
            "direction": self.direction,
            "examples": None if self.examples is None or self.repeat else len(self.examples),
            "details": details,
            "force": force,
        }
        wanted = NAME if name is None else name
        check_new(url, wanted, Settings(**settings, known=self._by_pull(self.seed_of(None))))
        study = open_study(url, wanted, **settings)
        try:
            _check_rows(study, program)
            study.add_known(self._by_pull(study.seed))
        except BaseException:
            study.close()
            raise
        return study

    def _by_pull(self, seed: int) -> "dict[Label, Any] | None":
        """Return the known results, those with examples by the pull that sees it."""
        from boxthirding.find import Examples

        known = self.known_results()
        if known is None or self.examples is None:
            return known
        order = Examples(self.examples, seed)
        return {
            label: {order.pull_of(example): reward for example, reward in rewards.items()}
            for label, rewards in known.items()
        }


def _check_rows(study: "Study", program: "Program") -> None:
    """Refuse a study to which arms were added that have no row, if the program needs more of them than the label."""
    from boxthirding.runs.programs import without_rows
    from boxthirding.study import ArmsAdded, Entry

    if program.columns <= {"arm"}:
        return
    events = (entry.event for entry in study.events() if isinstance(entry, Entry))
    added = [label for event in events if isinstance(event, ArmsAdded) for label in event.labels]
    missing = [
        label for label in added if not program.can_run(study.payload(label)) and study.why(label).place != "withdrawn"
    ]
    if missing:
        raise without_rows(missing)


@contextmanager
def _sigterm_like_ctrl_c() -> Iterator[list[int]]:
    """Let SIGTERM end a search as Ctrl-C does; what is yielded is no longer empty when it has come."""
    from boxthirding.find.interrupts import Interrupts

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
        "screening": None if screening is None else asdict(screening),
        "history": found.history,
    }


def _report(found: "Found", top: int) -> str:
    """Return the answer, the arms that come next, and what it took."""
    lines = []
    if found.recommendation is None:
        lines.append("No arm has a result.")
    else:
        lines += [f"Best arm: {visible(found.label)}", ""]
        ranked = found.top(top)
        width = max(len("arm"), *(len(visible(arm.label)) for arm in ranked))
        lines.append(f"{'arm':{width}}  {'mean':>10}  {'pulls':>7}")
        lines += [f"{visible(arm.label):{width}}  {arm.mean:>10.4g}  {arm.pulls:>7,}" for arm in ranked]
        lines.append("")
    spent, *others = found.account()
    lines += [f"{sentence[0].upper()}{sentence[1:]}." for sentence in (spent, *others)]
    screening = found.session.screening(_GOOD)
    if found.recommendation is not None and screening is not None:
        lines.append(f"{screening}.")
    return "\n".join(lines)
