"""What is computed rather than simulated: levels, candidate sets, bounds and complexities.

Figures and claims read the same facts. They follow from the rules and the instances alone, so they have no error.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from boxthirding.lab.instances import named
from boxthirding.lab.paper.cases import PRECISE, Case, caption_case
from boxthirding.lab.paper.levels import Level, levels
from boxthirding.lab.paper.printed import ARMS, BUDGET, COMPARED, EPSILONS, EXAMPLE_PULLS, GAPS_ALPHA, REMEDIAN_BLOCKS
from boxthirding.lab.plots import log_spaced
from boxthirding.lab.theory import (
    Candidates,
    box_thirding_bound,
    bracketing_bound,
    candidates,
    candidates_at,
    comparison_bound,
    complexity_h2,
    good_arms,
    growth_objective,
    remedian,
    uniform_bound,
)
from boxthirding.policies import BoxThirding, parse_policy
from boxthirding.schedules import growth_root
from boxthirding.types import Floats

MANY: Final = 1_000_000
"""Arms of the largest problem: no policy tries all of them, as the paper's orders assume."""

LONGEST: Final = 20_000
"""Pulls up to which the sizes of candidate sets are followed."""

_LEAST = 10  # pulls from which they are; below, logarithms of logarithms are wild
_COVERED = (128, 1_024, ARMS)
_MOST = 10  # no B3 needs more pulls than so many times N until every arm is a candidate
_BOUNDED = (  # a case of the paper, and one in which bounds are below 1
    (caption_case("gaussian:0.2"), BUDGET),
    (caption_case(f"gaussian:{PRECISE}"), 1_000),
    (caption_case(f"gaussian:{PRECISE}"), BUDGET),
)
_GROWTHS = 9_981  # a grid of steps of 0.0001


@dataclass(frozen=True)
class Covered:
    """The T/N, to a fifth, from which on all arms are there."""

    met: float
    """Every arm has been introduced."""
    candidates: float
    """Every arm could be returned."""


@dataclass(frozen=True)
class Shape:
    """How an instance's difficulty grows."""

    good_power: float
    """N_ε grows as ε to this power."""
    hardness_power: float
    """H₂ grows as N to this power."""
    hardness: float
    """H₂."""


@dataclass(frozen=True)
class Comparison:
    """Two arms with normal rewards, each pulled so often: how likely the worse one has the higher mean."""

    gap: float
    pulls: int
    exact: float
    printed: float
    """The paper's bound."""
    corrected: float
    """The same with the factor that it lacks."""


@dataclass(frozen=True)
class Facts:
    """All of them."""

    levels: tuple[Level, ...]
    covered: Mapping[int, Covered]
    """By N: when B3 has met every arm, and when every arm is a candidate."""
    example: float
    """c₀ of the paper's worked example."""
    remedian: float
    growth_root: float
    best_growth: float
    """Where the exponent of the bound on Sequential Halving is largest."""
    shapes: Mapping[str, Shape]
    candidates: Mapping[str, tuple[Candidates, ...]]
    """By policy, with more arms than any policy tries."""
    variances: Mapping[str, Floats]  # [N] of one reward of each caption, by reward model
    comparisons: tuple[Comparison, ...]
    bounds: Mapping[tuple[str, str, int, float], float]
    """By case, policy, pulls and ε: the explicit bound on the chance to fail."""


def compute_facts(cases: Mapping[str, Case]) -> Facts:
    """Compute them; it takes a second or two."""
    pulls = sorted({t for t in log_spaced(LONGEST, 100) if t >= _LEAST} | {100, 1_000, BUDGET})
    grid = np.linspace(1.001, 1.999, _GROWTHS).tolist()
    means = cases[caption_case("bernoulli")].instance.means
    return Facts(
        levels=tuple(levels(ARMS, BUDGET)),
        covered={n_arms: _covered(n_arms) for n_arms in _COVERED},
        example=candidates(BoxThirding(), 5, EXAMPLE_PULLS).size,
        remedian=remedian([value for block in REMEDIAN_BLOCKS for value in block]),
        growth_root=growth_root("geometric"),
        best_growth=max(grid, key=growth_objective),
        shapes={name: _shape(name) for name in GAPS_ALPHA},
        candidates={policy: tuple(candidates_at(parse_policy(policy), MANY, pulls)) for policy in COMPARED},
        variances={"bernoulli": means * (1 - means), "kumaraswamy": means * (1 - means) ** 2 / (2 - means)},
        comparisons=tuple(_comparison(0.5, 2**k) for k in range(8)),
        bounds={
            (case, policy, pulls, eps): _bound(cases[case], policy, pulls, eps)
            for case, pulls in _BOUNDED
            for policy in COMPARED
            for eps in EPSILONS
        },
    )


def _covered(n_arms: int) -> Covered:
    """Return when B3 has met all arms, and has them all as candidates for good."""
    pulls = range(n_arms, _MOST * n_arms, -(-n_arms // 5))
    found = candidates_at(BoxThirding(), n_arms, pulls)
    unmet = sum(one.introduced < n_arms for one in found)
    short = max((k + 1 for k, one in enumerate(found) if one.size < n_arms), default=0)
    times = [t / n_arms for t in (*pulls, _MOST * n_arms)]
    return Covered(times[unmet], times[short])


def _shape(name: str) -> Shape:
    means, more = named(name, ARMS).means, named(name, 2 * ARMS).means
    return Shape(
        math.log2(good_arms(means, 0.8) / good_arms(means, 0.4)),
        math.log2(complexity_h2(more) / complexity_h2(means)),
        complexity_h2(means),
    )


def _comparison(gap: float, pulls: int) -> Comparison:
    """Compare two arms with unit normal rewards: the difference of their means has variance 2/n."""
    exact = math.erfc(gap * math.sqrt(pulls / 2) / math.sqrt(2)) / 2
    return Comparison(gap, pulls, exact, math.exp(-(gap**2) * pulls), comparison_bound(gap, pulls))


def _bound(case: Case, policy: str, pulls: int, eps: float) -> float:
    """Return the explicit bound on the chance that the recommended arm is more than ε from the best."""
    means, sigma = case.instance.means, case.rewards.sigma
    known = (len(means), pulls, good_arms(means, eps / 2), eps)
    if policy == "us":
        return uniform_bound(*known, sigma=sigma)
    if policy == "bsh":
        return bracketing_bound(*known, sigma=sigma)
    return box_thirding_bound(BoxThirding(), *known, sigma=sigma)
