"""How hard an instance is: its good arms and complexities, and how regret and budget scale with them.

Under the α-parametrisation, gaps follow a power: μ₁ - μᵢ = ((i-1)/N)^α. α = ½ is critical.
"""

import math
import reprlib
from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np

from boxthirding._checks import LARGEST_FLOAT, fraction, is_finite, positive, whole
from boxthirding.errors import InvalidInput
from boxthirding.lab.theory._checks import decay, nearest
from boxthirding.policies.rivals.ucbe import oracle_hardness
from boxthirding.types import Floats

CRITICAL_ALPHA: Final = 0.5  # where both terms of the regret fall alike in T (remark D.2)

_SLACK = 1e-12  # a gap that is ε but for rounding is not below it


class RegretBound(NamedTuple):
    """The two terms of simple regret."""

    screening: float  # from good arms that are no candidates
    estimation: float  # from candidates that are not told apart

    @property
    def total(self) -> float:
        """Return their sum."""
        return self.screening + self.estimation


def good_arms(means: Any, eps: float) -> int:
    """Return N_ε, the number of ε-best arms: μ₁ - μᵢ < ε (definition, section 2.1).

    >>> good_arms([0.9, 0.85, 0.8, 0.1], 0.1)
    2
    """
    return int(np.count_nonzero(_gaps(means) < fraction("eps", eps) - _SLACK))


def complexity_h1(means: Any) -> float:
    """Return H₁ = Σᵢ Δᵢ⁻², the best arm counted at the smallest gap (Audibert, Bubeck, Munos 2010); ∞ for a tied best.

    >>> complexity_h1([0.75, 0.5, 0.25])
    36.0
    """
    gaps = _gaps(means)
    return oracle_hardness(-gaps) if len(gaps) > 1 else 0.0


def complexity_h2(means: Any) -> float:
    """Return H₂ = max over i ≥ 2 of i Δᵢ⁻², arms sorted by mean (the paper's table of instances); ∞ for a tied best.

    The paper's H₂ column is wrong: `poly`, `equal` and `square` have 2N/9, 2N²/9 and 2N⁴/9, of the orders N, N² and N⁴.

    >>> complexity_h2([0.75, 0.5, 0.25])
    32.0
    """
    gaps = _gaps(means)[1:]
    if len(gaps) == 0:
        return 0.0
    with np.errstate(divide="ignore", over="ignore"):
        return float(np.max(np.arange(2, len(gaps) + 2) * gaps**-2.0))


def lower_bound(h2: float, n_arms: int, budget: int, *, constant: float = 1.0) -> float:
    """Return exp(-c T / (H₂ log₂N)), below which no algorithm that does not know the rewards can err (section 2.2).

    The statement has the order only: `constant` is the factor c that its O hides. It speaks of the worst among
    instances of one complexity, not of each one: on a single instance an algorithm may err less.

    >>> lower_bound(100.0, 1_024, 1_000) == math.exp(-1)
    True
    """
    if not ((is_finite(h2) and h2 > 0) or h2 == math.inf):
        raise InvalidInput(f"h2 is {h2!r}, but must be above 0, a float or ∞")
    rounds = math.log2(whole("the number of arms", n_arms, least=2))
    exponent = Fraction(positive("constant", constant)) * whole("budget", budget, least=0) / Fraction(rounds)
    return 1.0 if h2 == math.inf else decay(exponent / Fraction(float(h2)))


def power_gaps(n_arms: int, alpha: float) -> Floats:
    """Return the gaps ((i-1)/N)^α of the α-parametrisation (proof of corollary 4.4), [N].

    >>> power_gaps(4, 2.0).tolist()
    [0.0, 0.0625, 0.25, 0.5625]
    """
    return np.asarray((np.arange(whole("the number of arms", n_arms, least=1)) / n_arms) ** positive("alpha", alpha))


def power_good_arms(n_arms: int, alpha: float, eps: float) -> int:
    """Return N_ε = max {i : i - 1 < N ε^(1/α)} of the α-parametrisation (proof of corollary 4.4).

    >>> power_good_arms(1_000, 0.5, 0.1), power_good_arms(1_000, 2.0, 0.1)
    (10, 317)
    """
    reach = whole("the number of arms", n_arms, least=1) * fraction("eps", eps) ** (1 / positive("alpha", alpha))
    return int(min(n_arms, max(1, math.ceil(reach - 1e-9))))


def regret_bound(n_arms: int, budget: int, alpha: float, *, constant: float = 1.0) -> RegretBound:
    """Return corollary 4.4 on the simple regret of `b3`: Γ(1+α) (cT)^-α and ½ √(πN/cT), the integrals of its proof.

    The paper has their order, max(T^-α, √(N/T)); `constant` is the factor c that the Ω of theorem 4.3 hides. In
    remark D.2, √(T/N) should be √(N/T), and it is for α ≥ ½, not ≤ ½, that T^-α is always the smaller one. For
    α < ½ it is so up to T = N^(1/(1-2α)), and from there on the term that depends on α dominates. A term beyond
    floats is ∞.

    >>> regret_bound(1, 100, 0.5)
    RegretBound(screening=0.0886..., estimation=0.0886...)
    """
    pulls, factor = whole("budget", budget, least=1), positive("constant", constant)
    arms = whole("the number of arms", n_arms, least=1)
    screening = _screening(positive("alpha", alpha), math.log(factor) + math.log(pulls))
    return RegretBound(screening, math.sqrt(math.pi * arms / pulls) / math.sqrt(factor) / 2)


def regret_order(n_arms: int, budget: int, alpha: float) -> float:
    """Return max(T^-α, √(N/T)), the order of the simple regret of `b3` (corollary 4.4).

    >>> regret_order(100, 10_000, 1.0)
    0.1
    """
    pulls = whole("budget", budget, least=1)
    arms = whole("the number of arms", n_arms, least=1)
    return max(float(pulls ** -positive("alpha", alpha)), math.sqrt(arms / pulls))


def critical_budget(n_arms: int, alpha: float) -> float:
    """Return N^(1/(1-2α)), the T from which T^-α is the larger term (remark D.2); ∞ from α = ½ on.

    >>> critical_budget(100, 0.25), critical_budget(100, CRITICAL_ALPHA)
    (10000.0, inf)
    """
    arms = whole("the number of arms", n_arms, least=1)
    if positive("alpha", alpha) >= CRITICAL_ALPHA:
        return math.inf
    try:
        return math.pow(arms, 1 / (1 - 2 * alpha))
    except OverflowError:
        return math.inf


def sample_complexity(n_arms: int, good: int, eps: float, delta: float, *, constant: float = 1.0) -> float:
    """Return the pulls that suffice for an ε-best arm with probability 1 - δ (corollary 4.5).

    It is max(N / N_{ε/2}, N / ε²) ln(2/δ) / c, `good` being N_{ε/2} (under the α-parametrisation `power_good_arms` of
    ε/2) and c the factor that the Ω of theorem 4.3 hides. The paper prints ln(1/δ), its proof needs ln(2/δ). For
    ε < 1 the second term is always the larger one, as N_{ε/2} ≥ 1 > ε².

    >>> round(sample_complexity(1_000, 10, 0.1, 0.1)), round(1_000 / 0.1**2 * math.log(20))
    (299573, 299573)
    """
    arms = whole("the number of arms", n_arms, least=1)
    good = whole("good", good, least=1)
    if good > arms:
        raise InvalidInput(f"good is {good}, but there are only {arms} arms")
    pulls = max(Fraction(arms, good), arms / Fraction(fraction("eps", eps)) ** 2)
    doubt = math.log(2) - math.log(fraction("delta", delta))
    return nearest(pulls * Fraction(doubt) / Fraction(positive("constant", constant)))


def _gaps(means: Any) -> Floats:
    """Return the gaps to the best arm, smallest first; the first is 0."""
    values = _numbers(means)
    if values is None or len(values) == 0 or not np.isfinite(values).all():
        raise InvalidInput(f"the means are {reprlib.repr(means)}, but the means must be finite numbers, at least one")
    values = np.sort(values)[::-1]
    with np.errstate(over="ignore"):
        return np.asarray(values[0] - values, float)


def _numbers(means: Any) -> Floats | None:
    """Return the given numbers, or None if one of them is not a number."""
    try:
        given = np.asarray(means)
        is_numbers = given.dtype.kind in "iufO"  # no strings, booleans or complex numbers
        return given.astype(float).ravel() if is_numbers else None
    except (TypeError, ValueError, OverflowError):
        return None


def _screening(alpha: float, log_pulls: float) -> float:
    """Return Γ(1+α) T^-α, by logarithms: either factor alone may be beyond floats."""
    stirling = alpha * (math.log(alpha) - 1 - log_pulls)  # of a large α nothing else counts, and lgamma overflows
    log = stirling if alpha > 1e100 else math.lgamma(1 + alpha) - alpha * log_pulls  # noqa: PLR2004
    return math.exp(log) if log < math.log(LARGEST_FLOAT) else math.inf
