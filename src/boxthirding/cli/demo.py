"""`boxthirding demo`: the ladder of a live session, then the default policy compared with three others."""

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

NOISE: Final = 0.25  # the standard deviation of one rating, against a range of 0.53 of the true means

_DEFAULT_OUT = Path("boxthirding-demo.png")
_FRAMES = 150  # on a logarithmic scale: every one of the first pulls is seen
_FRAME = 0.08  # seconds
_SNAPSHOTS = 3  # where nothing can move
_GOOD = 0.01  # what the screening sentence calls good
_RUNGS = 9  # rows, filled or not, so that nothing jumps; arms with more pulls are on the highest
_SIGNS = 50  # arms of a rung that are drawn
_ANSWERS = 7  # earlier recommendations that are shown

_STARTS: Final = (1, 2, 3, 5, 8, 12, 18, 27, 41, 62)  # the fewest pulls of each rung

_RANKS: Final = (  # up to which share of all arms, by true mean; what for; how it is drawn, in letters if need be
    (0.01, "top 1 %", "★", "*", "bold bright_green"),
    (0.10, "top 10 %", "●", "O", "green"),
    (0.50, "top half", "•", "o", "yellow"),
    (1.00, "the rest", "·", ".", "bright_black"),
)

_COMPARED: Final = ("chase", "b3", "us", "sh")

_COMPARISON = """
One run may be lucky. Now many runs with the same noise, of four policies:

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

The first is your own function, the second any program that prints a number,
the third compares all policies on 52 problems, in about a minute.
"""


@dataclass(frozen=True)
class _Scene:
    """All that one picture of the session shows."""

    pulls: int
    budget: int
    ladder: "list[Rung]"
    pulled: int | None  # the caption that is being pulled
    answer: "Recommendation"
    earlier: tuple[int, ...]  # the recommendations before it
    screening: "Screening | None"


@click.command()
@click.option(
    "--out", type=FILE, metavar="FILE", help=f"Where the picture goes: .png, .svg or .pdf.  [default: {_DEFAULT_OUT}]"
)
@click.option("--seed", type=int, default=1, show_default=True, metavar="S", help="The same seed gives the same demo.")
@click.option("--fast", is_flag=True, help="Fewer pulls and replicates: a few seconds.")
@click.option("--no-animation", is_flag=True, help="Print a few snapshots of the ladder instead of a moving one.")
@click.pass_context
def demo(ctx: click.Context, *, out: Path | None, seed: int, fast: bool, no_animation: bool) -> None:
    """Watch a good caption being found among 5,513, then compare the policy with three others.

    It takes less than a minute. The captions are the embedded ones, so the truth is known.
    """
    from boxthirding import _compile
    from boxthirding._checks import whole
    from boxthirding.lab import Gaussian, Setting, captions
    from boxthirding.lab.precompile import compiled_beside

    whole("seed", seed, least=0)
    plot = _plot_file(out)
    console = plain_console()
    animated = console.is_terminal and not no_animation
    settings = [Setting(captions(), Gaussian(NOISE), spec, budget=1_000, replicates=1) for spec in _COMPARED]
    with compiled_beside(settings) as is_compiling:  # what the comparison runs
        _show(console, _session(500 if fast else 2_000, seed, animated=animated), animated=animated)
        if is_compiling():
            console.print("\nCompiling the policies for the comparison, once on this machine …", soft_wrap=True)
    replicates = 20 if fast or not _compile.available() else 200
    budget = 1_000 if fast else 10_000
    console.print(_COMPARISON, soft_wrap=True)
    ctx.invoke(
        simulate,
        instance="captions",
        rewards=f"gaussian:{NOISE}",
        specs=_COMPARED,
        budget=budget,
        replicates=replicates,
        seed=seed,
        plot=plot,
    )
    if plot is not None:
        console.print(f"\nThe picture, regret against pulls: {plot}", soft_wrap=True)
    console.print()
    python = _called("python", Path(sys.executable))
    board = shlex.quote(str((plot or _DEFAULT_OUT).with_name("leaderboard")))  # beside the picture
    console.print(_NEXT.format(python=python, boxthirding=_program(), board=board), soft_wrap=True, end="")


def _program() -> str:
    return _called("boxthirding", Path(sys.executable).with_name("boxthirding"))


def _called(name: str, path: Path) -> str:
    """Return how a program is called here: by its name, or by its path if another one has that name."""
    known = shutil.which(name)
    if known is not None and Path(known).resolve() == path.resolve() and Path(known).parent == path.parent:
        return name
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)


def _plot_file(out: Path | None) -> Path | None:
    """Return where to draw, refusing a bad place before anything runs; nowhere, if an extra is missing for that."""
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


def _session(budget: int, seed: int, *, animated: bool) -> Iterator[_Scene]:
    """Run a live session, one pull after the other, and yield what is to be seen of it.

    Captions are numbered 1, 2, 3, … by their true rank. A session takes arms in a random order, so it learns nothing
    from that.
    """
    import numpy as np

    from boxthirding.lab import captions
    from boxthirding.lab.plots import log_spaced
    from boxthirding.session import Session

    means = captions().means
    noise = np.random.default_rng(seed)
    session = Session(range(1, len(means) + 1), policy="chase", seed=seed)
    seen = set(log_spaced(budget, _FRAMES) if animated else log_spaced(budget, _SNAPSHOTS + 1)[1:])
    answers: list[int] = []
    for _ in range(budget):
        (ticket,) = session.ask()
        session.tell(ticket, float(noise.normal(means[int(ticket.label) - 1], NOISE)))
        answer = session.recommend()
        if answer is None:  # not after a result
            continue
        if not answers or answers[-1] != answer.label:
            answers.append(int(answer.label))
        if session.pulls in seen:
            pulled = int(ticket.label) if session.pulls < budget else None
            ladder = session.ladder(count=_SIGNS)
            yield _Scene(session.pulls, budget, ladder, pulled, answer, tuple(answers[:-1]), session.screening(_GOOD))


def _show(console: "Console", scenes: Iterable[_Scene], *, animated: bool) -> None:
    """Draw the scenes over each other, or below each other."""
    from rich.live import Live

    from boxthirding.lab import captions

    means = captions().means
    if not animated:
        for scene in scenes:
            console.print(_picture(console, scene, means))
            console.print()
        return
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        for scene in scenes:
            live.update(_picture(console, scene, means), refresh=True)
            time.sleep(_FRAME)


def _picture(console: "Console", scene: _Scene, means: "Floats") -> "Group":
    """Return one scene, for a screen of 80 by 24."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    plain = console.options.ascii_only
    legend = Text()
    for _, name, sign, letter, style in _RANKS:
        legend.append(letter if plain else sign, style).append(f" {name}   ")
    legend.append("by their hidden true means", "dim")
    head = Table.grid(expand=True)
    head.add_column()
    head.add_column(justify="right")
    head.add_row(
        Text("Live: which caption is funniest?", "bold"), Text(f"pull {scene.pulls:,} of {scene.budget:,}", "bold")
    )
    return Group(
        head,
        Text("A pull is one noisy rating. While a caption keeps up with the leader, which is"),
        Text("in brackets, it is pulled more and climbs. The best also meet in a final."),
        Text(),
        _rungs(scene, len(means), plain=plain),
        Text(),
        legend,
        Text(),
        _describe(scene, means),
    )


def _rungs(scene: _Scene, n_arms: int, *, plain: bool) -> "Table":
    """Return a row for each rung, the most pulls on top: how many captions have as many, and a sign for the best."""
    from rich.text import Text

    table = grid(["pulls", "captions", "the best of them"], right=["pulls", "captions"])
    for column, width in zip(table.columns, (6, 8, 54), strict=True):
        column.min_width = width
    for place in range(_RUNGS - 1, -1, -1):
        is_highest = place == _RUNGS - 1
        rungs = scene.ladder[place:][::-1] if is_highest else scene.ladder[place : place + 1]
        fewest, most = _STARTS[place : place + 2]
        pulls = f"{fewest}+" if is_highest else f"{fewest}" if most - fewest == 1 else f"{fewest}-{most - 1}"
        size = sum(rung.size for rung in rungs)
        row = Text()
        for arm in [arm for rung in rungs for arm in rung.arms][:_SIGNS]:
            _, _, sign, letter, style = next(rank for rank in _RANKS if int(arm.label) <= rank[0] * n_arms)
            style = f"{style} reverse" if arm.label == scene.pulled else style
            drawn = Text(letter if plain else sign, style)
            row.append_text(Text("[", "bold").append_text(drawn).append("]") if arm.standing == "leads" else drawn)
        style = "default" if size else "bright_black"
        table.add_row(Text(pulls, style), Text(f"{size:,}" if size else "", style), row)
    return table


def _describe(scene: _Scene, means: "Floats") -> "Table":
    """Return the answer so far, and how far it is from the best."""
    from rich.table import Table
    from rich.text import Text

    answer = scene.answer
    mine = means[int(answer.label) - 1]
    rank = 1 + int((means > mine).sum())
    earlier = [f"{label:,}" for label in scene.earlier[-_ANSWERS:]]
    more = ["…"] if len(scene.earlier) > _ANSWERS else []
    tried = sum(rung.size for rung in scene.ladder)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    best = f"caption {answer.label}, mean {answer.mean:.3f} of {counted(answer.pulls, 'pull')}"
    table.add_row("so far", f"{counted(tried, 'caption')} pulled")
    table.add_row("answer", Text(best, "bold bright_green"))
    table.add_row(
        "in truth", f"number {rank:,} of {len(means):,}; its mean is {mine:.3f}, that of the best {means.max():.3f}"
    )
    table.add_row("earlier", ", ".join(more + earlier) or "none")
    table.add_row("screening", f"{scene.screening}")
    return table
