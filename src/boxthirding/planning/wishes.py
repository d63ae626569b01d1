"""Wishes such as "top 1 % in 9 of 10 runs", and the smallest budget that grants one."""

import math
import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from boxthirding import _compile
from boxthirding._text import cut
from boxthirding.errors import InvalidInput
from boxthirding.planning.outcomes import NINE_IN_TEN, Outcomes, band_of_chance, mean_and_doubt, rising
from boxthirding.types import Floats, Ints

_EXAMPLES: Final = "write 'top 1 % in 9 of 10 runs', 'top 20 in 80 % of runs', 'best in 1 of 2 runs' or 'regret 0.05'"
# The largest share of runs that can be told from all, why, and what to wish for instead.
_COMPILED: Final = (0.99, "a plan of a few hundred simulated runs", "99 of 100 runs")
_INTERPRETED: Final = (
    NINE_IN_TEN,
    "the few runs that are simulated without Numba",
    "9 of 10 runs, or pip install 'boxthirding[sim]'",
)
_SHOWN: Final = 60  # letters of a wish with a number that is too long
_STEPS_A_DECADE: Final = 24
_NEAR: Final = 1.5  # times as large or as small: budgets whose doubts are pooled
_FEWEST_RUNS: Final = 300
_FAILURES: Final = 6  # expected, of all runs

_NUMBER = r"(?:\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?|\.\d+)(?:e[+-]?\d+)?"
_PERCENT = r"(?:%|per\s?cent)"
_AT_MOST = r"(?:(?:of\s+)?at\s+most\s+|of\s+|[<≤]=?\s*)?"
_OF_RUNS = (
    rf"(?P<some>{_NUMBER})\s*(?:/|(?:out\s+)?of)\s*(?P<all>{_NUMBER})|(?P<share>{_NUMBER})\s*{_PERCENT}(?:\s+of)?"
)
_GRAMMAR: Final = re.compile(
    rf"(?:the\s+)?(?:(?P<best>best)|top(?:\s*|-)(?P<top>{_NUMBER})\s*(?P<percent>{_PERCENT})?"
    rf"|regret\s+{_AT_MOST}(?P<regret>{_NUMBER}))(?:\s+in\s+(?:{_OF_RUNS})(?:\s+runs?)?)?\s*\.?",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Wish:
    """An answer of this rank or better, or of at most this regret, in this share of runs."""

    text: str
    share: float
    of_rank: bool  # whether it is about the rank of the answer, or about its regret
    limit: float
    is_best: bool = False  # whether it is for a share of arms that comes down to the best one

    def granted(self, outcomes: Outcomes) -> Floats:
        """Return whether runs grant it: 1, 0, or NaN after the end of a run, [D, R, S]."""
        values = outcomes.rank if self.of_rank else outcomes.regret
        return np.where(np.isnan(values), np.nan, values <= self.limit)


@dataclass(frozen=True)
class Chance:
    """The smallest budget that grants a wish, how likely it does, and bands for what is not known."""

    budget: int
    chance: float
    chance_low: float
    chance_high: float
    budget_low: int
    budget_high: int | None  # None: beyond what was simulated


def parse_wish(text: Any, arms: int) -> Wish:
    """Return the wish that a text names, for so many arms.

    >>> parse_wish("top 1 % in 9 of 10 runs", 5_000).limit
    50
    """
    found = _GRAMMAR.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise InvalidInput(f"the wish is {text!r}, but must be one that can be read: {_EXAMPLES}")
    share = _share(found, text)
    if found["regret"] is not None:
        return Wish(text, share, of_rank=False, limit=_number(found["regret"], text))
    rank = _rank(found, text, arms)
    return Wish(text, share, of_rank=True, limit=rank, is_best=rank == 1 and found["percent"] is not None)


def _number(digits: str, text: str) -> float:
    number = float(digits.replace(",", ""))
    if math.isinf(number):
        raise InvalidInput(f"the wish is {cut(text, _SHOWN)!r}, but has a number beyond all bounds: {_EXAMPLES}")
    return number


def _share(found: re.Match[str], text: str) -> float:
    share = NINE_IN_TEN
    if found["some"] is not None:
        runs = _number(found["all"], text)
        share = _number(found["some"], text) / runs if runs else math.inf
    elif found["share"] is not None:
        share = _number(found["share"], text) / 100
    if not 0 < share < 1:
        raise InvalidInput(
            f"the wish is {text!r}, but runs are noisy and no budget makes them all end alike: wish for more than "
            "none and fewer than all, such as 9 of 10 runs"
        )
    most, few_runs, way_out = _COMPILED if _compile.available() else _INTERPRETED
    if share > most:
        raise InvalidInput(
            f"the wish is {text!r}, but {few_runs} cannot tell that from certainty: wish for at most {way_out}"
        )
    return share


def _rank(found: re.Match[str], text: str, arms: int) -> int:
    size = 1.0 if found["best"] else _number(found["top"], text)
    if found["percent"]:
        rank = max(1, math.floor(size * arms / 100 + 1e-9)) if size > 0 else 0
    elif size.is_integer():
        rank = int(size)
    else:
        raise InvalidInput(f"the wish is {text!r}, but {size:g} arms are no whole number: {_EXAMPLES}")
    if rank < 1:
        raise InvalidInput(f"the wish is {text!r}, but no arm is better than the best one: {_EXAMPLES}")
    if rank >= arms:
        raise InvalidInput(
            f"the wish is {text!r}, but every one of {arms:,} arms is as good as that, at no cost: {_EXAMPLES}"
        )
    return rank


def steps(least: int, most: int) -> list[int]:
    """Return budgets in steps of about a tenth, with two digits that are not 0.

    >>> steps(100, 150)
    [100, 110, 120, 140, 150]
    """
    count = max(2, round(_STEPS_A_DECADE * math.log10(most / least)) + 1)
    return sorted({int(float(f"{budget:.1e}")) for budget in np.geomspace(least, most, count).tolist()})


def runs_to_tell(share: float) -> int:
    """Return how many runs tell a share from certainty: enough for several that do not grant the wish.

    >>> runs_to_tell(0.9), runs_to_tell(0.99)
    (300, 600)
    """
    return max(_FEWEST_RUNS, round(_FAILURES / (1 - share)))


def smallest(wish: Wish, outcomes: Outcomes) -> Chance | None:
    """Return the smallest budget that grants a wish, or None if none does."""
    budgets: list[int] = outcomes.budgets.tolist()
    chances, doubts = _chances(wish.granted(outcomes), outcomes.budgets)
    bands = [band_of_chance(*pair) for pair in zip(chances.tolist(), doubts.tolist(), strict=True)]
    low, high = (np.maximum.accumulate(np.array(edges)) for edges in zip(*bands, strict=True))

    def first(shares: Floats) -> int | None:
        return next((place for place, share in enumerate(shares) if share >= wish.share), None)

    place, place_low, place_high = first(chances), first(high), first(low)
    if place is None:
        return None
    budget_low = budgets[place if place_low is None else place_low]
    budget_high = None if place_high is None else budgets[place_high]
    return Chance(budgets[place], float(chances[place]), *bands[place], budget_low, budget_high)


def _chances(granted: Floats, budgets: Ints) -> tuple[Floats, Floats]:
    """Return the chance at each budget and its doubt, from what runs granted, [D, R, S].

    Chances rise with the budget, but for luck, and are made to. How far beliefs differ, in units of how far runs do, is
    pooled over budgets up to half as large again, or that much smaller: alone, each of them is uncertain.
    """
    runs = (~np.isnan(granted)).sum(axis=(0, 1))
    pairs = np.array([mean_and_doubt(granted[:, :, place]) for place in range(len(budgets))])
    chances = rising(pairs[:, 0])
    scatter = _scatter(pairs[:, 0], runs)
    near = np.abs(np.log(budgets[:, None] / budgets)) <= math.log(_NEAR) + 1e-9
    pooled = near @ (runs * pairs[:, 1] ** 2 / scatter) / (near @ runs)
    return chances, np.sqrt(np.maximum(pooled, 1 / runs) * _scatter(chances, runs))


def _scatter(chances: Floats, runs: Ints) -> Floats:
    """Return the variance of a run that is granted or not; never 0, since the next run may differ from all others."""
    likely = (runs * chances + 1) / (runs + 2)
    return likely * (1 - likely)
