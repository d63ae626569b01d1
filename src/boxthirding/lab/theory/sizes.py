"""Sizes of levels and candidate sets by formula (proposition 4.8 and its proof), and the remedian behind boxes."""

import math
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

from boxthirding._checks import LARGEST_FLOAT, is_finite, positive, whole
from boxthirding.errors import InvalidInput
from boxthirding.lab.theory._checks import growth_below_2, several
from boxthirding.schedules import GEOMETRIC_GROWTH


class Bounds(NamedTuple):
    """A lower and an upper bound."""

    low: float
    high: float


def remedian(values: Sequence[float], block: int = 3) -> float:
    """Return the remedian (Rousseeuw and Bassett 1990; the paper's figure 1): medians of blocks, until one is left.

    Values are cut into blocks in their order; a last block that is not full counts with what it has. With blocks whose
    medians are 2.8, 5.3 and 4.8 it is 4.8. It need not be the median.

    >>> remedian([2.1, 2.8, 6.0, 5.3, 1.9, 7.4, 4.8, 9.2, 3.3])
    4.8
    """
    whole("block", block, least=2)
    level = several("values", values)
    for value in level:
        if not is_finite(value):
            raise InvalidInput(f"a value is {value!r}, but must be a finite number")
    if not level:
        raise InvalidInput("there is no value, but a remedian needs one at least")
    while len(level) > 1:
        level = [median(level[i : i + block]) for i in range(0, len(level), block)]
    return float(level[0])


def promoted(arms: int) -> int:
    """Return how many of n arms a level of boxes lifts: n_{l+1} = Σᵢ ⌊n_l / 3ⁱ⌋ (proof of proposition 4.8).

    >>> promoted(27), promoted(100)
    (13, 48)
    """
    left = whole("arms", arms, least=0)
    lifted = 0
    while left > 0:
        left //= 3
        lifted += left
    return lifted


def promotions(arms: int) -> list[int]:
    """Return n₀, n₁, …, n_L (proof of proposition 4.8): how many arms reach each level, as long as any does.

    >>> promotions(189)
    [189, 93, 45, 21, 9, 4, 1]
    """
    reached = [whole("arms", arms, least=1)]
    while (lifted := promoted(reached[-1])) > 0:
        reached.append(lifted)
    return reached


def level_bounds(candidates: int) -> Bounds:
    """Return the bounds on the highest level L (proof of proposition 4.8): log₂(c₀/12) ≤ L ≤ log₂(c₀ + 1) - 1.

    They hold for `b3` after every number of pulls tried once three arms have met; before that L is 0.

    >>> level_bounds(1_023)
    Bounds(low=6.413627929024172, high=9.0)
    """
    size = whole("candidates", candidates, least=1)
    return Bounds(max(0.0, math.log2(size / 12)), max(0.0, math.log2(size + 1) - 1))


def candidate_bounds(pulls: int, *, growth: float = GEOMETRIC_GROWTH, effort: float = 1.0) -> Bounds:
    """Return the paper's c^U and c^L, a lower and an upper bound on c₀ of `b3` (proof of proposition 4.8).

    With n₀ candidates the pulls spent on them lie between 2n₀/(2-r) - 9x and 2(n₀+1)/(2-r) - x, where
    x = ((n₀+1)^(log₂r) - 1)/(r-1). c^L is the largest n₀ whose lower end is within the budget, c^U the smallest whose
    upper end reaches it. The paper slips three times here. It says that at least c^L and at most c^U arms are tested,
    but the definitions give c^U ≤ c^L, so that c^L bounds from above. Its `c^L ≥ T(2-r)/(2n₀)` should not contain n₀.
    And c^U supposes that costs are not rounded up and that all pulls go to candidates: `c^L` holds at every T tried,
    `c^U` is above c₀ at one T in five.

    >>> candidate_bounds(10_000)
    Bounds(low=1416, high=2047)
    """
    growth_below_2(growth)
    budget = whole("pulls", pulls, least=1) / positive("effort", effort)  # remark D.6: T(t₀) = t₀ T(1)

    if budget > LARGEST_FLOAT / 8:  # the search would leave the floats
        return Bounds(math.inf, math.inf)

    def least_pulls(arms: int) -> float:
        return 2 * arms / (2 - growth) - 9 * _rest(arms, growth)

    def most_pulls(arms: int) -> float:
        return 2 * (arms + 1) / (2 - growth) - _rest(arms, growth)

    turn = _first(lambda arms: least_pulls(arms + 1) > least_pulls(arms), 0)  # it is convex, and falls at first
    high = _first(lambda arms: least_pulls(arms) > budget, turn) - 1
    low = _first(lambda arms: most_pulls(arms) >= budget, 0)
    return Bounds(low, high)


def candidate_share(*, growth: float = GEOMETRIC_GROWTH, effort: float = 1.0) -> float:
    """Return (2 - r) / (2 t₀), the share c₀/T of `b3` that its budget sum has as a limit (remark D.6).

    This is what the paper's `c^L ≥ T(2-r)/(2n₀)` must mean. It is no lower bound on the true share: without ceilings
    the sum gives 0.136 for the paper's growth, while c₀/T swings between .11 and .20 for T from 5,000 to 20,000: c₀
    stands still while the next level fills.

    >>> round(candidate_share(), 3), round(candidate_share(effort=2), 3)
    (0.136, 0.068)
    """
    return (2 - growth_below_2(growth)) / (2 * positive("effort", effort))


def finished_bracket(pulls: int) -> int:
    """Return 𝓑 = max {2^b : (b-1) 2^(b-1) + b² 2^b ≤ T}, or 0 (proof of proposition 4.8, BSH).

    It is to be the size of the largest bracket that has finished a run. The paper counts the b brackets that are open
    when bracket b opens; more open while it runs and take their turns, so a bracket finishes later than that.

    >>> finished_bracket(10_000), finished_bracket(17_280)
    (128, 256)
    """
    whole("pulls", pulls, least=0)
    size = 0
    for b in range(1, 64):
        if (b - 1) * 2 ** (b - 1) + b * b * 2**b <= pulls:
            size = 2**b
    return size


def bracket_candidate_bounds(pulls: int) -> Bounds:
    """Return the paper's bounds on c₀ of `bsh`: 4T/(log₂4T)² and 2T/(log₂T - log₂log₂T)² - 1 (proposition 4.8).

    The order T/(log₂T)² is right, the constants are not: c₀ doubles in steps, and against the rule's own brackets the
    lower bound fails at three T in ten up to 20,000, for instance at 20,000 itself, the upper one at three others.

    >>> bracket_candidate_bounds(65_536)
    Bounds(low=809.0864197530864, high=909.2222222222222)
    """
    if whole("pulls", pulls, least=0) <= 4:  # noqa: PLR2004  # the logarithms need it
        raise InvalidInput(f"pulls is {pulls}, but must be above 4: log₂T - log₂log₂T is too small below")
    log = math.log2(pulls)
    return Bounds(4 * pulls / (log + 2) ** 2, 2 * pulls / (log - math.log2(log)) ** 2 - 1)


def _rest(arms: int, growth: float) -> float:
    return float(((arms + 1) ** math.log2(growth) - 1) / (growth - 1))


def _first(is_true: Callable[[int], bool], start: int) -> int:
    """Return the least number from `start` on for which a test, true from some number on, is true."""
    low, high = start, start
    while not is_true(high):
        low, high = high + 1, 2 * high + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_true(middle) else (middle + 1, high)
    return low
