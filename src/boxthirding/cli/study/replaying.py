"""`boxthirding study replay`: what each policy would have picked from scores that are known already."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from boxthirding.cli.drawing import counted
from boxthirding.cli.simulate import INTERRUPTED
from boxthirding.cli.study.opening import json_option
from boxthirding.errors import InvalidInput, SimulationFailed

if TYPE_CHECKING:
    from boxthirding.cli.study.matrices import Matrix
    from boxthirding.sim import Run, Setting
    from boxthirding.types import Floats

COMPARED: Final = ("b3auto", "b3", "sh", "prose", "us")
"""Who is compared when nobody says."""
SHARES: Final = (0.01, 0.05, 0.10, 0.25)
"""Of the cost of evaluating everything."""


@dataclass(frozen=True)
class _Part:
    """A setting of the simulator that answers for one policy at some shares of the cost."""

    policy: str  # as it was given
    setting: "Setting"
    shares: tuple[float, ...]
    told: tuple[str, ...]  # what the policy had to be told


@click.command(epilog="For example: boxthirding study replay scores.csv --policy b3auto --policy sh")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--policy",
    "specs",
    multiple=True,
    metavar="SPEC",
    help=f"A policy; repeat it to compare several.  [default: {', '.join(COMPARED)}]",
)
@click.option(
    "--share",
    "shares",
    type=float,
    multiple=True,
    metavar="S",
    help="How much of the cost may be spent, such as 0.1; may be repeated.  [default: 0.01, 0.05, 0.1, 0.25]",
)
@click.option("--replicates", type=int, default=200, show_default=True, metavar="R", help="Random orders of each.")
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="S", help="The same seed gives the same orders."
)
@click.option("--threads", type=int, metavar="K", help="All cores unless given; changes no result.")
@json_option
@click.pass_context
def replay(
    ctx: click.Context,
    *,
    file: Path,
    specs: tuple[str, ...],
    shares: tuple[float, ...],
    replicates: int,
    seed: int,
    threads: int | None,
    as_json: bool,
) -> None:
    """Say what each policy would have picked from FILE, a matrix of scores, for a part of its cost.

    FILE is CSV with a header, or Parquet: a row for each arm, its label in the first column, its scores on the examples
    in the others. A pull of an arm is the score of a random example of its row; the truth is the mean of the row, and
    the cost that of all scores.
    """
    from boxthirding import _compile
    from boxthirding.cli.study.matrices import read_matrix
    from boxthirding.cli.watching import watched
    from boxthirding.sim import Interrupted, sweep

    matrix = read_matrix(file)
    parts = _parts(matrix, specs or COMPARED, _checked(shares or SHARES), replicates, seed)
    if matrix.missing:
        click.echo(f"Note: {counted(matrix.missing, 'cell')} without a score left out", err=True)
    if not _compile.available():
        click.echo("Note: without Numba this is slow: pip install 'boxthirding[sim]'", err=True)
    try:
        with watched() as view:
            runs = sweep([part.setting for part in parts], threads=threads, progress=view)
    except (Interrupted, KeyboardInterrupt):
        click.echo("Interrupted: there is nothing to report yet; fewer --replicates take less time.", err=True)
        ctx.exit(INTERRUPTED)
    except SimulationFailed as failure:
        raise click.ClickException(str(failure)) from failure
    rows = _summaries(matrix, parts, runs)
    if as_json:
        for row in rows:
            click.echo(json.dumps(row))
    else:
        from boxthirding.cli.study.replay_table import print_table

        print_table(matrix, rows, replicates=replicates, seed=seed)


def _checked(shares: Sequence[float]) -> tuple[float, ...]:
    for share in shares:
        if not 0 < share <= 1:
            raise InvalidInput(f"--share is {share:g}, but must lie in (0, 1]: 0.05 for 5 % of the cost")
    return tuple(sorted(set(shares)))


def _parts(
    matrix: "Matrix", specs: Sequence[str], shares: tuple[float, ...], replicates: int, seed: int
) -> list[_Part]:
    """Return what to run: once for all shares, or once for each, where the policy must know the budget."""
    from boxthirding.sim import Setting

    rewards = matrix.rewards()
    instance = rewards.instance()
    parts = []
    refused: InvalidInput | None = None
    for spec in specs:
        if specs.count(spec) > 1:
            raise InvalidInput(f"--policy {spec} is given {specs.count(spec)} times, but counts once: leave one out")
        full, needs = _told(spec, matrix.sigma)
        anew = "budget" in needs
        for group in [(share,) for share in shares] if anew else [shares]:
            pulls = [_pulls(matrix, share) for share in group]
            try:
                setting = Setting(instance, rewards, full, pulls[-1], tuple(pulls), replicates, seed)
            except InvalidInput as problem:
                if not anew:
                    raise
                refused = problem
                click.echo(f"Note: {spec} is left out at {100 * group[0]:g} %: {problem}", err=True)
            else:
                parts.append(_Part(spec, setting, group, needs))
    if not parts and refused is not None:
        raise refused
    return parts


def _pulls(matrix: "Matrix", share: float) -> int:
    """Return how many pulls a share of the cost pays for."""
    return max(1, round(share * matrix.cost))


def _told(spec: str, sigma: float) -> tuple[str, tuple[str, ...]]:
    """Return a SPEC with the noise in it, if the policy must be told that, and what it must be told."""
    from boxthirding.policies import POLICIES

    name, _, rest = spec.partition(":")
    needs = POLICIES[name].told if name in POLICIES else frozenset()
    given = {pair.partition("=")[0] for pair in rest.split(",") if pair}
    wanted = tuple(sorted(needs - given - {"hardness"}))
    if "sigma" not in wanted:
        return spec, wanted
    return f"{name}:{','.join(filter(None, [rest, f'sigma={sigma!r}']))}", wanted


def _summaries(matrix: "Matrix", parts: Iterable[_Part], runs: "Iterable[Run]") -> list[dict[str, Any]]:
    """Return a row for each policy and share: share by share, the policies in the order they were given."""
    rows = []
    for part, run in zip(parts, runs, strict=True):
        means = part.setting.task.source.means
        rows += [_summary(matrix, part, run, means, share) for share in part.shares]
    order = {spec: place for place, spec in enumerate(dict.fromkeys(row["policy"] for row in rows))}
    return sorted(rows, key=lambda row: (row["share"], order[row["policy"]]))


def _summary(matrix: "Matrix", part: _Part, run: "Run", means: "Floats", share: float) -> dict[str, Any]:
    import numpy as np

    pulls = _pulls(matrix, share)
    column = run.checkpoints.tolist().index(pulls)
    picked, regret = run.recommended[:, column], run.regret[:, column]
    ranks = 1 + len(means) - np.searchsorted(np.sort(means), means[picked], side="right")
    return {
        "policy": part.policy,
        "share": share,
        "pulls": pulls,
        "replicates": run.replicates,
        "regret_mean": float(regret.mean()),
        "regret_se": float(regret.std(ddof=1) / np.sqrt(run.replicates)) if run.replicates > 1 else 0.0,
        "rank_mean": float(ranks.mean()),
        "rank_median": float(np.median(ranks)),
        "best_share": float(np.mean(regret <= 0)),
        "most_often": matrix.labels[int(np.bincount(picked).argmax())],
        "told": list(part.told),
    }
