"""What each policy would have picked from scores that are known already, for a part of their cost."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from boxthirding._checks import whole
from boxthirding._progress import listener
from boxthirding.errors import InvalidInput
from boxthirding.policies.spec import as_policy, to_be_told, written
from boxthirding.runs.matrices import Matrix
from boxthirding.runs.rows import RowsUCBE
from boxthirding.sim import Run, Setting, sweep
from boxthirding.types import Floats, Progress

COMPARED: Final = ("chase", "b3", "sh", "prose", "us")
"""The policies that are compared by default."""

SHARES: Final = (0.01, 0.05, 0.10, 0.25)
"""Of the cost of evaluating everything, by default."""


class Pick(NamedTuple):
    """How good the picks of a policy are at a share of the cost."""

    policy: str
    share: float
    pulls: int
    replicates: int
    regret_mean: float
    regret_se: float
    rank_mean: float
    rank_median: float
    best_share: float
    """How often the pick is a best arm."""
    most_often: str
    """The arm picked most often."""
    told: tuple[str, ...]
    """What the policy had to be told."""


@dataclass(frozen=True)
class _Part:
    """A setting of the simulator, or UCB-E over rows, that answers for one policy at some shares of the cost."""

    policy: str
    """As it was given."""
    setting: Setting | RowsUCBE
    shares: tuple[float, ...]
    told: tuple[str, ...]


class Replay:
    """Policies to be replayed over a matrix of scores, checked before anything runs.

    Parameters
    ----------
    matrix : Matrix
        The scores; a pull of an arm is the score of a random example of its row.
    policies : sequence of str
        As SPECs, or `ucbe-rows`, see `RowsUCBE`. One that must be told the budget is run once for each share; one that
        must be told the noise is told the spread within rows.
    shares : sequence of float
        How much of the cost may be spent, each in (0, 1].
    replicates : int, default 200
        Random orders of each policy.
    seed : int, default 0
        The same seed gives the same orders.

    """

    def __init__(
        self,
        matrix: Matrix,
        policies: Sequence[str] = COMPARED,
        shares: Sequence[float] = SHARES,
        *,
        replicates: int = 200,
        seed: int = 0,
    ) -> None:
        for share in shares:
            if not 0 < share <= 1:
                raise InvalidInput(f"share is {share:g}, but must lie in (0, 1]: 0.05 for 5 % of the cost")
        for policy in policies:
            if policies.count(policy) > 1:
                raise InvalidInput(
                    f"policy {policy} is given {policies.count(policy)} times, but counts once: leave one out"
                )
        self.matrix = matrix
        self.replicates = whole("the number of replicates", replicates, least=1)
        self.seed = whole("seed", seed, least=0)
        self.left_out: list[str] = []
        """Which policies are left out at which share, and why."""
        self._parts = self._planned(policies, tuple(sorted(set(shares))))

    def run(self, *, threads: int | None = None, progress: bool | Callable[[Progress], None] = True) -> list[Pick]:
        """Run all of it; return a row for each share and policy, share by share, policies as they were given."""
        if threads is not None:
            whole("threads", threads, least=1)
        tell = listener(progress=progress)
        settings = [part.setting for part in self._parts if isinstance(part.setting, Setting)]
        simulated = iter(sweep(settings, threads=threads, progress=progress) if settings else ())
        runs = [
            next(simulated) if isinstance(part.setting, Setting) else self._over_rows(part.setting, part.shares, tell)
            for part in self._parts
        ]
        return _picks(self.matrix, self._parts, runs)

    def _over_rows(self, policy: RowsUCBE, shares: tuple[float, ...], tell: Callable[[Progress], None] | None) -> Run:
        pulls = sorted({_pulls(self.matrix, share) for share in shares})
        return policy.run(self.matrix.scores, pulls, self.replicates, self.seed, tell)

    def _planned(self, policies: Sequence[str], shares: tuple[float, ...]) -> list[_Part]:
        """Return what to run: once for all shares, or once for each, where the policy must know the budget."""
        rewards = self.matrix.rewards()
        instance = rewards.instance()
        parts = []
        refused: InvalidInput | None = None
        for policy in policies:
            if (over_rows := RowsUCBE.parsed(policy)) is not None:
                parts.append(_Part(policy, over_rows, shares, ()))
                continue
            needs = to_be_told(policy) - {"hardness"}
            groups = [(share,) for share in shares] if "budget" in needs else [shares]
            for group in groups:
                pulls = tuple(_pulls(self.matrix, share) for share in group)
                try:
                    full = self._full(policy, needs, pulls[-1])
                    setting = Setting(instance, rewards, full, pulls[-1], pulls, self.replicates, self.seed)
                except InvalidInput as problem:
                    if "budget" not in needs:
                        raise
                    refused = problem
                    self.left_out.append(f"{policy} is left out at {100 * group[0]:g} %: {problem}")
                else:
                    parts.append(_Part(policy, setting, group, tuple(sorted(needs))))
        if not parts and refused is not None:
            raise refused
        return parts

    def _full(self, policy: str, needs: frozenset[str], budget: int) -> str:
        """Return a SPEC with the noise in it, if the policy must be told that."""
        return written(as_policy(policy, budget=budget, sigma=self.matrix.sigma)) if "sigma" in needs else policy


def _pulls(matrix: Matrix, share: float) -> int:
    """Return how many pulls a share of the cost pays for."""
    return max(1, round(share * matrix.cost))


def _picks(matrix: Matrix, parts: Iterable[_Part], runs: Iterable[Run]) -> list[Pick]:
    rows = []
    means = np.nanmean(matrix.scores, axis=1)
    for part, run in zip(parts, runs, strict=True):
        rows += [_pick(matrix, part, run, means, share) for share in part.shares]
    order = {policy: place for place, policy in enumerate(dict.fromkeys(row.policy for row in rows))}
    return sorted(rows, key=lambda row: (row.share, order[row.policy]))


def _pick(matrix: Matrix, part: _Part, run: Run, means: Floats, share: float) -> Pick:
    pulls = _pulls(matrix, share)
    column = run.checkpoints.tolist().index(pulls)
    picked, regret = run.recommended[:, column], run.regret[:, column]
    ranks = 1 + len(means) - np.searchsorted(np.sort(means), means[picked], side="right")
    error: Any = regret.std(ddof=1) / np.sqrt(run.replicates) if run.replicates > 1 else 0.0
    return Pick(
        policy=part.policy,
        share=share,
        pulls=pulls,
        replicates=run.replicates,
        regret_mean=float(regret.mean()),
        regret_se=float(error),
        rank_mean=float(ranks.mean()),
        rank_median=float(np.median(ranks)),
        best_share=float(np.mean(regret <= 0)),
        most_often=matrix.labels[int(np.bincount(picked).argmax())],
        told=part.told,
    )
