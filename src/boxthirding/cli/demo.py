"""Show a search live, then compare the default policy with three others."""

import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from boxthirding._text import counted
from boxthirding.cli.output import FILE, grid, plain_console, say
from boxthirding.cli.simulate import simulate
from boxthirding.errors import MissingExtra

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.table import Table

    from boxthirding.session import Recommendation, Rung, Screening
    from boxthirding.types import Floats

_NOISE_SD: Final = 0.25  # standard deviation of one rating; the true means span 0.53

_DEFAULT_OUT = Path("boxthirding-demo.png")
_N_FRAMES = 150  # log-spaced, so that each of the first pulls has its own
_FRAME_SECONDS = 0.08
_SNAPSHOTS = 3  # frames printed without animation
_TOP_SHARE = 0.01  # of all arms, for the line "screening"
_RUNGS = 9  # fixed number of rows, so that the display does not jump; the top row has no upper limit
_MAX_SYMBOLS = 50  # arms of a rung that are drawn
_N_EARLIER = 7  # earlier recommendations that are shown

_RUNG_STARTS: Final = (1, 2, 3, 5, 8, 12, 18, 27, 41, 62)  # smallest pull count of each rung

_RANKS: Final = (  # largest share of arms by true rank, name, symbol, ASCII symbol, style
    (0.01, "top 1 %", "★", "*", "bold bright_green"),
    (0.10, "top 10 %", "●", "O", "green"),
    (0.50, "top half", "•", "o", "yellow"),
    (1.00, "the rest", "·", ".", "bright_black"),
)

_POLICIES: Final = ("chase", "b3", "us", "sh")

_COMPARISON = """
A single run can be lucky, so here are many runs of four policies, with the same
noise:

  chase   the default, which you have just watched
  b3      Box Thirding as the paper has it
  us      uniform sampling: every caption in turn
  sh      Sequential Halving, which must be told the budget

Regret is how far the answer is from the best: lower is better.
"""

_NEXT = """\
Three commands to try next:

  {python} -c "import random, boxthirding as b3; print(b3.find_best(
      range(500), lambda x: random.gauss(-abs(x - 321), 50), budget=2_000))"
  seq 500 | {boxthirding} run --arms /dev/stdin --budget 300 \\
      --command 'expr {{arm}} % 97 + 1'
  {boxthirding} leaderboard --quick --out {board}

The first searches with a Python function, the second with any program that
prints a number. The third compares all policies on 52 problems, in a minute.
"""


@dataclass(frozen=True)
class _Frame:
    """Data for one frame."""

    pulls: int
    budget: int
    ladder: "list[Rung]"
    pulled: int | None  # the caption that is being pulled
    answer: "Recommendation"
    earlier: tuple[int, ...]  # the recommendations before it
    screening: "Screening | None"


@click.command()
@click.option("--out", type=FILE, metavar="FILE", help=f"Plot file: .png, .svg or .pdf.  [default: {_DEFAULT_OUT}]")
@click.option("--seed", type=int, default=1, show_default=True, metavar="S", help="Random seed.")
@click.option("--fast", is_flag=True, help="Run fewer pulls and replicates (takes seconds).")
@click.option("--no-animation", is_flag=True, help="Print a few frames instead of an animation.")
@click.pass_context
def demo(ctx: click.Context, *, out: Path | None, seed: int, fast: bool, no_animation: bool) -> None:
    """Watch a search for the funniest of 5,513 captions, then compare four policies.

    It takes less than a minute. It uses the captions shipped with the package, whose true means are known.
    """
    from boxthirding import _compile
    from boxthirding._checks import whole
    from boxthirding.lab import Gaussian, Setting, captions
    from boxthirding.lab.precompile import compiled_beside

    whole("seed", seed, least=0)
    plot = _plot_file(out)
    console = plain_console()
    animated = console.is_terminal and not no_animation
    settings = [Setting(captions(), Gaussian(_NOISE_SD), spec, budget=1_000, replicates=1) for spec in _POLICIES]
    with compiled_beside(settings) as is_compiling:  # what the comparison runs
        _display(console, _frames(500 if fast else 2_000, seed, animated=animated), animated=animated)
        if is_compiling():
            console.print("\nCompiling the policies for the comparison (only needed once) …", soft_wrap=True)
    replicates = 20 if fast or not _compile.available() else 200
    budget = 1_000 if fast else 10_000
    console.print(_COMPARISON, soft_wrap=True)
    ctx.invoke(
        simulate,
        instance="captions",
        rewards=f"gaussian:{_NOISE_SD}",
        specs=_POLICIES,
        budget=budget,
        replicates=replicates,
        seed=seed,
        plot=plot,
    )
    if plot is not None:
        console.print(f"\nPlot of regret against pulls: {plot}", soft_wrap=True)
    console.print()
    python = _command_for("python", Path(sys.executable))
    board = shlex.quote(str((plot or _DEFAULT_OUT).with_name("leaderboard")))  # beside the plot
    console.print(_NEXT.format(python=python, boxthirding=_program(), board=board), soft_wrap=True, end="")


def _program() -> str:
    return _command_for("boxthirding", Path(sys.executable).with_name("boxthirding"))


def _command_for(name: str, path: Path) -> str:
    """Return the program's name if that finds it on PATH, else its path."""
    known = shutil.which(name)
    if known is not None and Path(known).resolve() == path.resolve() and Path(known).parent == path.parent:
        return name
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _plot_file(out: Path | None) -> Path | None:
    """Check and return the plot path. Return None if matplotlib is not installed and no path was given."""
    from boxthirding.lab.plots import check_plot_file

    plot = _DEFAULT_OUT if out is None else out
    try:
        check_plot_file(plot)
    except MissingExtra as missing:
        if out is not None:
            raise
        say(f"Note: {missing}", err=True)
        return None
    return plot


def _frames(budget: int, seed: int, *, animated: bool) -> Iterator[_Frame]:
    """Run a session pull by pull, and yield the frames.

    Captions are numbered 1, 2, 3, … by their true rank. A session takes arms in a random order, so the numbers tell it
    nothing.
    """
    import numpy as np

    from boxthirding.lab import captions
    from boxthirding.lab.plots import log_spaced
    from boxthirding.session import Session

    means = captions().means
    noise = np.random.default_rng(seed)
    session = Session(range(1, len(means) + 1), policy="chase", seed=seed)
    seen = set(log_spaced(budget, _N_FRAMES) if animated else log_spaced(budget, _SNAPSHOTS + 1)[1:])
    answers: list[int] = []
    for _ in range(budget):
        (ticket,) = session.ask()
        session.tell(ticket, float(noise.normal(means[int(ticket.label) - 1], _NOISE_SD)))
        answer = session.recommend()
        if answer is None:  # never after a result
            continue
        if not answers or answers[-1] != answer.label:
            answers.append(int(answer.label))
        if session.pulls in seen:
            pulled = int(ticket.label) if session.pulls < budget else None
            ladder = session.ladder(count=_MAX_SYMBOLS)
            yield _Frame(
                session.pulls, budget, ladder, pulled, answer, tuple(answers[:-1]), session.screening(_TOP_SHARE)
            )


def _display(console: "Console", frames: Iterable[_Frame], *, animated: bool) -> None:
    """Print the frames over each other if `animated`, else one below the other."""
    from rich.live import Live

    from boxthirding.lab import captions

    means = captions().means
    if not animated:
        for frame in frames:
            console.print(_render_frame(console, frame, means))
            console.print()
        return
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        for frame in frames:
            live.update(_render_frame(console, frame, means), refresh=True)
            time.sleep(_FRAME_SECONDS)


def _render_frame(console: "Console", frame: _Frame, means: "Floats") -> "Group":
    """Return one frame, for a terminal of 80 by 24."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    ascii_only = console.options.ascii_only
    legend = Text()
    for _, name, sign, letter, style in _RANKS:
        legend.append(letter if ascii_only else sign, style).append(f" {name}   ")
    legend.append("by their hidden true means", "dim")
    head = Table.grid(expand=True)
    head.add_column()
    head.add_column(justify="right")
    head.add_row(
        Text("Live: which caption is funniest?", "bold"), Text(f"pull {frame.pulls:,} of {frame.budget:,}", "bold")
    )
    return Group(
        head,
        Text("A pull is one noisy rating. The leader is in brackets. Captions that keep up"),
        Text("with it are pulled more and climb. The best are also compared in a final."),
        Text(),
        _rungs(frame, len(means), ascii_only=ascii_only),
        Text(),
        legend,
        Text(),
        _summary_table(frame, means),
    )


def _rungs(frame: _Frame, n_arms: int, *, ascii_only: bool) -> "Table":
    """Return a table with a row per rung, most pulls first: its number of captions, and symbols for its best."""
    from rich.text import Text

    table = grid(["pulls", "captions", "the best of them"], right=["pulls", "captions"])
    for column, width in zip(table.columns, (6, 8, 54), strict=True):
        column.min_width = width
    for place in range(_RUNGS - 1, -1, -1):
        is_highest = place == _RUNGS - 1
        rungs = frame.ladder[place:][::-1] if is_highest else frame.ladder[place : place + 1]
        fewest, most = _RUNG_STARTS[place : place + 2]
        pulls = f"{fewest}+" if is_highest else f"{fewest}" if most - fewest == 1 else f"{fewest}-{most - 1}"
        size = sum(rung.size for rung in rungs)
        row = Text()
        for arm in [arm for rung in rungs for arm in rung.arms][:_MAX_SYMBOLS]:
            _, _, sign, letter, style = next(rank for rank in _RANKS if int(arm.label) <= rank[0] * n_arms)
            style = f"{style} reverse" if arm.label == frame.pulled else style
            drawn = Text(letter if ascii_only else sign, style)
            row.append_text(Text("[", "bold").append_text(drawn).append("]") if arm.standing == "leads" else drawn)
        style = "default" if size else "bright_black"
        table.add_row(Text(pulls, style), Text(f"{size:,}" if size else "", style), row)
    return table


def _summary_table(frame: _Frame, means: "Floats") -> "Table":
    """Return the current answer, its true rank and mean, and the earlier answers."""
    from rich.table import Table
    from rich.text import Text

    answer = frame.answer
    true_mean = means[int(answer.label) - 1]
    rank = 1 + int((means > true_mean).sum())
    earlier = [f"{label:,}" for label in frame.earlier[-_N_EARLIER:]]
    ellipsis = ["…"] if len(frame.earlier) > _N_EARLIER else []
    tried = sum(rung.size for rung in frame.ladder)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    best = f"caption {answer.label}, mean {answer.mean:.3f} of {counted(answer.pulls, 'pull')}"
    table.add_row("so far", f"{counted(tried, 'caption')} pulled")
    table.add_row("answer", Text(best, "bold bright_green"))
    table.add_row("true rank", f"{rank:,} of {len(means):,}; true mean {true_mean:.3f}, best {means.max():.3f}")
    table.add_row("earlier", ", ".join(ellipsis + earlier) or "none")
    table.add_row("screening", f"{frame.screening}")
    return table
