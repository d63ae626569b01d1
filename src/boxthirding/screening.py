"""Non-inclusion: the chance that none of the good arms could be returned, before a single reward is seen."""

import math

from boxthirding._checks import is_number, whole
from boxthirding.errors import InvalidInput


def non_inclusion(n_arms: int, good: int, candidates: int) -> float:
    """Return the chance that a candidate set holds none of the good arms (theorem 4.7, exact).

    The set is a uniformly random one of its size, so this is hypergeometric: C(N - g, c) / C(N, c), and 0 when the
    set is larger than the number of arms that are not good (the paper's boundary case).

    >>> non_inclusion(5_513, 55, 1_554) < 1e-7
    True
    """
    n_arms, *both = _checked(n_arms, good, candidates)
    few, many = sorted(both)
    if few + many > n_arms:
        return 0.0
    chance = 1.0
    for i in range(few):
        chance *= (n_arms - many - i) / (n_arms - i)
    return chance


def non_inclusion_bound(n_arms: int, good: int, candidates: int) -> float:
    """Return the bound on non-inclusion of theorem D.4, case by case.

    It is 0 where c₀ + g > N, (g/N)^g where c₀ + g = N, and exp(-c₀ g / N) where c₀ + g < N, the constant that the
    paper's proof gives for its Ω. At the boundary both of the last two hold, and the smaller one is returned.

    >>> non_inclusion_bound(10, 4, 7), non_inclusion_bound(100, 5, 20) == math.exp(-1)
    (0.0, True)
    """
    n_arms, good, candidates = _checked(n_arms, good, candidates)
    if candidates + good > n_arms:
        return 0.0
    bound = math.exp(-candidates * good / n_arms)
    return min(bound, (good / n_arms) ** good) if candidates + good == n_arms else bound


def is_data_poor(n_arms: int, good: int, candidates: float) -> bool:
    """Return whether the data-poor condition holds (definition 4.2): c₀ ≤ N - g, g the number of good arms.

    The paper's sentence says that c₀ is smaller, its formula that it is at most N - g: the formula is taken, because
    exactly there every good arm may be missed. Its case ε = 0, c₀ < N, is g = 1.

    >>> is_data_poor(100, 1, 99), is_data_poor(100, 1, 100)
    (True, False)
    """
    _checked(n_arms, good, 0)
    if not (is_number(candidates) and 0 <= candidates <= n_arms):
        raise InvalidInput(f"candidates is {candidates!r}, but must lie between 0 and the number of arms, {n_arms}")
    return bool(candidates <= n_arms - good)


def _checked(n_arms: int, good: int, candidates: int) -> tuple[int, int, int]:
    arms = whole("the number of arms", n_arms, least=1)
    both = whole("good", good, least=0), whole("candidates", candidates, least=0)
    for name, value in zip(("good", "candidates"), both, strict=True):
        if value > arms:
            raise InvalidInput(f"{name} is {value}, but there are only {arms} arms")
    return arms, *both
