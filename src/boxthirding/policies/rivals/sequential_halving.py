"""Sequential Halving (SH): pull all arms alike, keep the better half, spend as much on it again; knows the budget.

Karnin, Koren, Somekh 2013, "Almost optimal exploration in multi-armed bandits", algorithm 3, and the two variants with
growing pulls a round that the Box Thirding paper compares with. When the budget is too small for all arms, a random
subset plays, as large as fits. This file makes the plans; rounds.py carries them out.

Doubling Sequential Halving (DSH) is the anytime form: all arms play again and again, each run from scratch with twice
the budget of the one before. The first has N⌈log₂N⌉. The recommendation is the winner of the last complete run.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Final

from boxthirding._checks import one_of, whole
from boxthirding.errors import InvalidInput
from boxthirding.policies.rivals.rounds import HALF, ROUND_ONLY, RoundsPolicy, RoundsState, halved, planned, spent
from boxthirding.schedules import Schedule
from boxthirding.types import NONE

MODES: Final = ("karnin", "paper", "fit")


@dataclass(frozen=True)
class SequentialHalving(RoundsPolicy):
    """Sequential Halving with a known budget.

    `mode` is "karnin" (the original: the same budget for each of ⌈log₂N⌉ rounds), "paper" (⌊log₂N⌋ + 1 rounds of
    t₀⌈r₀^l⌉ pulls, t₀ the largest integer that fits) or "fit" (⌈log₂N⌉ rounds of ⌈t r₀^l⌉ pulls, t the largest real
    that fits, the remainder to the last two). The last two take a growth or a schedule. The budget is too small for N
    when a round would have no pull, or, with a growth, when t₀ or t would be below 1.

    >>> SequentialHalving(budget=896, mode="paper", growth=1.7).plan(128)
    [1, 2, 3, 5, 9, 15, 25, 42]
    """

    budget: int
    mode: str = "karnin"
    growth: float | None = None
    schedule: str | tuple[float, ...] = "geometric"

    name: ClassVar[str] = "sh"
    told: ClassVar[frozenset[str]] = frozenset({"budget"})

    def __post_init__(self) -> None:
        whole("budget", self.budget, least=1)
        one_of("mode", self.mode, MODES)
        if self.mode == "karnin" and (self.growth is not None or self.schedule != "geometric"):
            raise InvalidInput(
                "mode karnin spends alike on every round: for a growth or a schedule say mode=paper or mode=fit"
            )
        self._schedule()

    def new(self, n_arms: int, seed: int, capacity: int) -> RoundsState:  # noqa: ARG002  # it knows what it needs
        """Return a state in which nothing has happened yet."""
        players = self.players(whole("the number of arms", n_arms, least=1))
        plan = self.plan(players)
        sizes = halved(players, len(plan))
        return self.begun(planned(plan, sizes, pace=HALF, memory=ROUND_ONLY, runs=NONE), n_arms, seed)

    def players(self, n_arms: int) -> int:
        """Return how many of the arms can play within the budget."""
        few, many = 1, n_arms
        while few < many:
            half = (few + many + 1) // 2
            few, many = (half, many) if self._fits(half) else (few, half - 1)
        return few

    def plan(self, players: int) -> list[int]:
        """Return the pulls of each arm, round by round."""
        rounds = (players - 1).bit_length()  # ⌈log₂ players⌉
        if self.mode == "karnin":
            sizes = halved(players, max(1, rounds))
            return [self.budget // (size * len(sizes)) for size in sizes]
        if self.mode == "paper":
            sizes = halved(players, players.bit_length())  # ⌊log₂ players⌋ + 1
            pulls = [self._schedule().cost(level) for level in range(len(sizes))]
            times = max(1, self.budget // spent(sizes, pulls))
            return [times * n for n in pulls]
        sizes = halved(players, max(1, rounds))
        pulls = self._fitted(sizes)
        pulls[-1] += (self.budget - spent(sizes, pulls)) // sizes[-1]
        return pulls

    def _schedule(self) -> Schedule:
        return Schedule(self.schedule, self.growth)

    def _fits(self, players: int) -> bool:
        plan = self.plan(players)
        if self.mode == "karnin":
            return plan[0] > 0
        sizes = halved(players, len(plan))
        return spent(sizes, [self._schedule().cost(level) for level in range(len(sizes))]) <= self.budget

    def _fitted(self, sizes: list[int]) -> list[int]:
        """Return ⌈t w_l⌉ pulls for the largest t that fits, by bisection.

        Just below that t the ceilings are the same, and rounding cannot tell apart levels that step up together there.
        """
        weights = [self._schedule().weight(level) for level in range(len(sizes))]
        low, high = 0.0, float(self.budget)
        while (t := (low + high) / 2) not in (low, high):
            low, high = (t, high) if spent(sizes, _ceilings(t, weights)) <= self.budget else (low, t)
        return _ceilings(low * (1 - 1e-10), weights)


def _ceilings(t: float, weights: list[float]) -> list[int]:
    return [max(1, math.ceil(t * weight)) for weight in weights]


@dataclass(frozen=True)
class DoublingSequentialHalving(RoundsPolicy):
    """Doubling Sequential Halving: anytime, but no better than uniform sampling until it has pulled every arm."""

    name: ClassVar[str] = "dsh"

    def new(self, n_arms: int, seed: int, capacity: int) -> RoundsState:  # noqa: ARG002  # it knows what it needs
        """Return a state in which nothing has happened yet."""
        sizes = halved(n_arms, max(1, (whole("the number of arms", n_arms, least=1) - 1).bit_length()))
        plan = [n_arms // size for size in sizes]  # ⌊N⌈log₂N⌉ / (|S| ⌈log₂N⌉)⌋
        return self.begun(planned(plan, sizes, pace=HALF, memory=ROUND_ONLY, runs=0), n_arms, seed)
