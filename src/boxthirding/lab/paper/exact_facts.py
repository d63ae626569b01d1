"""Facts that are computed without simulation: levels, candidate sets, bounds and complexities.

Figures and claims use the same facts. They follow from the rules and the instances alone, so they have no error.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from boxthirding.lab.instances import named
from boxthirding.lab.paper.cases import PRECISE, Case, caption_case
from boxthirding.lab.paper.printed import ARMS, BUDGET, COMPARED, EPSILONS, EXAMPLE_PULLS, GAPS_ALPHA, REMEDIAN_BLOCKS
from boxthirding.lab.plots import log_spaced
from boxthirding.lab.theory import bounds
from boxthirding.lab.theory.candidate_sets import CandidateSet, candidates, candidates_at
from boxthirding.lab.theory.complexity import complexity_h2, good_arms
from boxthirding.lab.theory.sizes import remedian
from boxthirding.policies import BoxThirding, parse_policy
from boxthirding.policies.boxes import MET, WIDTH
from boxthirding.policies.rule_runner import LiveState
from boxthirding.schedules import growth_root
from boxthirding.types import NONE, Floats

MANY: Final = 1_000_000  # arms of the largest problem: as the paper's orders assume, no policy tries them all

LONGEST: Final = 20_000  # pulls up to which the sizes of candidate sets are computed

_LEAST = 10  # pulls from which they are; below, logarithms of logarithms are meaningless
_COVERED = (128, 1_024, ARMS)
_MOST = 10  # after this many times N pulls, every arm is a candidate of B3
_BOUNDED = (  # a case of the paper, and one in which bounds are below 1
    (caption_case("gaussian:0.2"), BUDGET),
    (caption_case(f"gaussian:{PRECISE}"), 1_000),
    (caption_case(f"gaussian:{PRECISE}"), BUDGET),
)
_GROWTHS = 9_981  # a grid of steps of 0.0001
_CAPACITY = 1024  # arms; a state grows beyond it if needed


@dataclass(frozen=True)
class Level:
    """The arms that have entered a level, and how often its boxes were arranged.

    Which box acts when does not depend on the rewards, so one run without any determines it.
    """

    level: int
    entered: int
    arranged: tuple[int, ...]
    """How often Box(l, j) was arranged, by deferment count j; each time one arm is lifted, shifted and discarded."""

    @property
    def lifted(self) -> int:
        """How many of its arms were lifted; as many were discarded."""
        return sum(self.arranged)

    @property
    def waiting(self) -> int:
        """How many of its arms are in its boxes, fresh or shifted."""
        return self.entered - 2 * self.lifted

    def lifted_by(self, boxes: int) -> float:
        """Return the share of its arms that was lifted from its first boxes."""
        return sum(self.arranged[:boxes]) / self.entered


def levels(n_arms: int, pulls: int) -> list[Level]:
    """Return the levels that arms have entered after a number of pulls.

    >>> [(level.entered, level.lifted, level.waiting) for level in levels(5_513, 1_000)[:3]]
    [(246, 120, 6), (120, 57, 6), (57, 27, 3)]
    """
    arranged: Counter[tuple[int, int]] = Counter()
    introduced = 0
    for box, arms in _meetings(n_arms, pulls):
        if arms == 1:
            introduced += 1
        else:
            arranged[divmod(box, WIDTH)] += 1
    found: list[Level] = []
    entered = introduced
    while entered:
        boxes = [arranged[len(found), j] for j in range(WIDTH)]
        used = max((j + 1 for j, times in enumerate(boxes) if times), default=0)
        found.append(Level(len(found), entered, tuple(boxes[:used])))
        entered = found[-1].lifted
    return found


def _meetings(n_arms: int, pulls: int) -> Iterator[tuple[int, int]]:
    """Yield the box of every meeting and how many arms met: one for an introduction, three for an ARRANGE."""
    live = LiveState(BoxThirding(), n_arms, seed=0, capacity=min(n_arms, _CAPACITY))
    read = spent = 0
    while True:
        job, _, times = live.ask()
        state = live.arrays
        spent += times
        if spent > pulls:  # a job that is not complete has moved no arm
            return
        for row in range(read, int(state.scalars[MET])):
            box, *arms = state.met[row % len(state.met)].tolist()
            yield box, sum(arm != NONE for arm in arms)
        read = int(state.scalars[MET])
        live.tell(job, times, 0.0, 0.0)


@dataclass(frozen=True)
class Covered:
    """The smallest T/N, to a fifth, from which on all arms are covered."""

    met: float  # every arm has been introduced
    candidates: float  # every arm could be returned


@dataclass(frozen=True)
class Hardness:
    """How the difficulty of an instance scales."""

    good_power: float  # N_ε grows as ε to this power
    hardness_power: float  # H₂ grows as N to this power
    hardness: float  # H₂


@dataclass(frozen=True)
class Comparison:
    """The chance that the worse of two arms with normal rewards has the higher mean after some pulls of each."""

    gap: float
    pulls: int
    exact: float
    printed: float  # the paper's bound
    corrected: float  # the same with the factor that the paper lacks


@dataclass(frozen=True)
class ComputedFacts:
    """All facts that claims and figures use."""

    levels: tuple[Level, ...]
    covered: Mapping[int, Covered]  # by N
    example: float  # c₀ of the paper's worked example
    remedian: float
    growth_root: float
    best_growth: float  # the growth that maximises the exponent of the bound on Sequential Halving
    shapes: Mapping[str, Hardness]
    candidates: Mapping[str, tuple[CandidateSet, ...]]  # by policy, with more arms than any policy tries
    variances: Mapping[str, Floats]  # [N] of one reward of each caption, by reward model
    comparisons: tuple[Comparison, ...]
    bounds: Mapping[tuple[str, str, int, float], float]
    """By case, policy, pulls and ε: the explicit bound on the chance to fail."""


def compute_facts(cases: Mapping[str, Case]) -> ComputedFacts:
    """Compute all facts, which takes a second or two."""
    pulls = sorted({t for t in log_spaced(LONGEST, 100) if t >= _LEAST} | {100, 1_000, BUDGET})
    grid = np.linspace(1.001, 1.999, _GROWTHS).tolist()
    means = cases[caption_case("bernoulli")].instance.means
    return ComputedFacts(
        levels=tuple(levels(ARMS, BUDGET)),
        covered={n_arms: _covered(n_arms) for n_arms in _COVERED},
        example=candidates(BoxThirding(), 5, EXAMPLE_PULLS).size,
        remedian=remedian([value for block in REMEDIAN_BLOCKS for value in block]),
        growth_root=growth_root("geometric"),
        best_growth=max(grid, key=bounds.growth_objective),
        shapes={name: _hardness(name) for name in GAPS_ALPHA},
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
    """Return when B3 has introduced all arms, and when they are all candidates from then on."""
    pulls = range(n_arms, _MOST * n_arms, -(-n_arms // 5))
    found = candidates_at(BoxThirding(), n_arms, pulls)
    unmet = sum(one.introduced < n_arms for one in found)
    short = max((k + 1 for k, one in enumerate(found) if one.size < n_arms), default=0)
    times = [t / n_arms for t in (*pulls, _MOST * n_arms)]
    return Covered(times[unmet], times[short])


def _hardness(name: str) -> Hardness:
    means, more = named(name, ARMS).means, named(name, 2 * ARMS).means
    return Hardness(
        math.log2(good_arms(means, 0.8) / good_arms(means, 0.4)),
        math.log2(complexity_h2(more) / complexity_h2(means)),
        complexity_h2(means),
    )


def _comparison(gap: float, pulls: int) -> Comparison:
    """Compare two arms with unit normal rewards: the difference of their means has variance 2/n."""
    exact = math.erfc(gap * math.sqrt(pulls / 2) / math.sqrt(2)) / 2
    return Comparison(gap, pulls, exact, math.exp(-(gap**2) * pulls), bounds.comparison_bound(gap, pulls))


def _bound(case: Case, policy: str, pulls: int, eps: float) -> float:
    """Return the explicit bound on the chance that the recommended arm is more than ε from the best."""
    means, sigma = case.instance.means, case.rewards.sigma
    known = (len(means), pulls, good_arms(means, eps / 2), eps)
    if policy == "us":
        return bounds.uniform_bound(*known, sigma=sigma)
    if policy == "bsh":
        return bounds.bracketing_bound(*known, sigma=sigma)
    return bounds.box_thirding_bound(BoxThirding(), *known, sigma=sigma)
