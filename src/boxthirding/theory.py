"""What can be said before a single reward is seen: probabilities that follow from the policies' schedules alone."""

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput


def non_inclusion(n_arms: int, good: int, candidates: int) -> float:
    """Return the chance that a candidate set holds none of the good arms.

    The set is a uniformly random one of its size, so this is hypergeometric: C(N - g, c) / C(N, c), and 0 when the
    set is larger than the number of arms that are not good (the paper's boundary case).

    >>> non_inclusion(5_513, 55, 1_554) < 1e-7
    True
    """
    whole("the number of arms", n_arms, least=1)
    for name, value in {"good": good, "candidates": candidates}.items():
        if whole(name, value, least=0) > n_arms:
            raise InvalidInput(f"{name} is {value}, but there are only {n_arms} arms")
    few, many = sorted((good, candidates))
    if few + many > n_arms:
        return 0.0
    chance = 1.0
    for i in range(few):
        chance *= (n_arms - many - i) / (n_arms - i)
    return chance
