"""How hard an instance is: its good arms and its complexities, and what no algorithm can do better."""

import math
import reprlib
from fractions import Fraction
from typing import Any

import numpy as np

from boxthirding._checks import is_finite, whole
from boxthirding.errors import InvalidInput
from boxthirding.lab.theory._ranges import decay, fraction, positive
from boxthirding.types import Floats

_SLACK = 1e-12  # a gap that is ε but for rounding is not below it


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
    gaps = _gaps(means)[1:]
    if len(gaps) == 0:
        return 0.0
    with np.errstate(divide="ignore", over="ignore"):
        return float(gaps[0] ** -2.0 + np.sum(gaps**-2.0))


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


def _gaps(means: Any) -> Floats:
    """Return the gaps to the best arm, smallest first; the first is 0."""
    values = _numbers(means)
    if values is None or len(values) == 0 or not np.isfinite(values).all():
        raise InvalidInput(f"the means are {reprlib.repr(means)}, but the means must be finite numbers, at least one")
    values = np.sort(values)[::-1]
    with np.errstate(over="ignore"):
        return np.asarray(values[0] - values, float)


def _numbers(means: Any) -> Floats | None:
    """Return the numbers that were given, or None where there is something else among them."""
    try:
        given = np.asarray(means)
        return given.astype(float).ravel() if given.dtype.kind in "iufO" else None  # no strings, True or complex ones
    except (TypeError, ValueError, OverflowError):
        return None
