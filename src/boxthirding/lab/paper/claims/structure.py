"""What the paper says of the algorithm itself, before any reward: levels, candidate sets, schedules and instances."""

import numpy as np

from boxthirding.lab.paper import printed as paper
from boxthirding.lab.paper.claims import Finding, Measurement, exact_claim, listed, verdict_of
from boxthirding.lab.paper.evidence import Estimate, Evidence

_ENOUGH_ARMS = 100  # a level with fewer has a coarse share
_NEAR_HALF = 0.02
_ABOUT = 2.0  # what "about N" allows
_SAME_POWER = 0.1  # counts are whole numbers, so exponents are not exact
_GRID = 2e-4  # twice the step on which the best growth is looked for


@exact_claim(
    "Half of a level's arms are lifted",
    "Of the arms of a level, 1/3 + 1/9 + 1/27 + … = 1/2 are lifted to the next one.",
    "section 3.2",
    f"Within {_NEAR_HALF} of one half at every level that {_ENOUGH_ARMS} arms or more have entered after "
    f"{paper.BUDGET:,} pulls. It does not depend on the rewards, so it is exact.",
)
def half_is_lifted(evidence: Evidence) -> Finding:
    """Decide whether half of a level's arms are lifted."""
    found = [level for level in evidence.facts.levels if level.entered >= _ENOUGH_ARMS]
    shares = {level.level: level.lifted / level.entered for level in found}
    measured = tuple(Measurement(f"level {level}: lifted", Estimate(share)) for level, share in shares.items())
    reason = (
        f"After {paper.BUDGET:,} pulls, of the {len(found)} levels that {_ENOUGH_ARMS} arms or more have entered, "
        f"{min(shares.values()):.1%} to {max(shares.values()):.1%} of the arms are lifted; a few still wait in boxes."
    )
    return Finding(verdict_of([abs(share - 0.5) < _NEAR_HALF for share in shares.values()]), reason, measured)


@exact_claim(
    "B3 is data-poor only when T is about N or less",
    "B3 meets the data-poor condition only when T ≲ N.",
    "section 1",
    "T/N from which on every arm is a candidate, for three N, to a fifth: alike within a factor of 2, at most 2.",
)
def data_poor_below_n(evidence: Evidence) -> Finding:
    """Decide whether B3 is data-poor only when T is about N or less."""
    covered = evidence.facts.covered
    measured = [
        Measurement(f"N = {n_arms:,}: T/N at which every arm {what}", Estimate(ratio))
        for n_arms, one in covered.items()
        for what, ratio in (("has been met", one.met), ("is a candidate", one.candidates))
    ]
    ratios = [one.candidates for one in covered.values()]
    low, high = min(ratios), max(ratios)
    order, constant = high < _ABOUT * low, high <= _ABOUT
    reason = (
        f"Every arm is a candidate from T = {low:.1f} N to {high:.1f} N on, depending on N"
        f"{': the order is right' if order else ': not in proportion to N'}"
        f"{'.' if constant else ', but B3 stays data-poor long after T = N.'}"
    )
    return Finding(verdict_of([order, constant]), reason, tuple(measured))


@exact_claim(
    "Three candidates after six pulls",
    f"With T = {paper.EXAMPLE_PULLS} and five arms the candidate set of B3 has {paper.EXAMPLE_CANDIDATES} arms.",
    "section 4.1",
    "The candidate set of the rule as it runs.",
)
def worked_example(evidence: Evidence) -> Finding:
    """Decide the paper's worked example of a candidate set."""
    size = evidence.facts.example
    reason = f"After {paper.EXAMPLE_PULLS} pulls of five arms the candidate set of B3 has {size:g} arms."
    measured = (Measurement(f"c₀ at T = {paper.EXAMPLE_PULLS}", Estimate(size)),)
    return Finding(verdict_of([size == paper.EXAMPLE_CANDIDATES]), reason, measured)


@exact_claim(
    "The toy example of the remedian",
    f"The remedian of three blocks with the medians 2.8, 5.3 and 4.8 is {paper.REMEDIAN}.",
    "figure 1",
    "Computed.",
)
def remedian(evidence: Evidence) -> Finding:
    """Decide the paper's toy example of the remedian."""
    value = evidence.facts.remedian
    measured = (Measurement("remedian", Estimate(value)),)
    return Finding(verdict_of([value == paper.REMEDIAN]), f"The median of the three medians is {value:g}.", measured)


@exact_claim(
    "Costs should grow by 1.728 a level",
    f"The bound on Sequential Halving is best for the growth that solves r + r^1.5 = 4, about {paper.GROWTH}.",
    "proposition 4.11",
    "The exponent of the bound on a fine grid of growths, and the root.",
)
def optimal_growth(evidence: Evidence) -> Finding:
    """Decide whether the bound is best at the growth that the paper gives."""
    root, best = evidence.facts.growth_root, evidence.facts.best_growth
    measured = (Measurement("root of r + r^1.5 = 4", Estimate(root)), Measurement("best on a grid", Estimate(best)))
    reason = f"The exponent of the bound is largest at {best:.4f}, and the root is {root:.6f}."
    return Finding(verdict_of([abs(best - root) < _GRID, round(root, 3) == paper.GROWTH]), reason, measured)


@exact_claim(
    "N_ε and H₂ of the three instances",
    "N_ε grows as ε^2, ε and ε^½ on poly, equal and square; H₂ grows as N^-½, N and N².",
    "the experiments after the end of the document, its table",
    "Exponents between ε = 0.4 and 0.8, and between N and 2 N, must agree to 0.1.",
)
def instance_table(evidence: Evidence) -> Finding:
    """Decide the table of instances: how N_ε grows with ε, and H₂ with N."""
    measured, found = [], []
    counts = hardness = True
    for name, shape in evidence.facts.shapes.items():
        counts &= abs(shape.good_power - 1 / paper.GAPS_ALPHA[name]) < _SAME_POWER
        hardness &= abs(shape.hardness_power - paper.H2_EXPONENTS[name]) < _SAME_POWER
        found.append(f"N^{shape.hardness_power:.2g} on {name} (paper N^{paper.H2_EXPONENTS[name]:g})")
        measured += [
            Measurement(f"{name}: N_ε grows as ε to the power", Estimate(shape.good_power)),
            Measurement(f"{name}: H₂ grows as N to the power", Estimate(shape.hardness_power)),
            Measurement(f"{name}: H₂", Estimate(shape.hardness)),
        ]
    reason = (
        f"The column N_ε is {'right' if counts else 'wrong'}, the column H₂ {'right' if hardness else 'wrong'}: "
        f"H₂ grows as {listed(found)}."
    )
    return Finding(verdict_of([counts, hardness]), reason, tuple(measured))


@exact_claim(
    "Power-law rewards have a larger variance than Bernoulli rewards",
    "The power-law rewards have a substantially larger variance than Bernoulli rewards of the same mean.",
    "appendix B.1",
    "Both variances by formula, for every caption.",
)
def power_law_variance(evidence: Evidence) -> Finding:
    """Decide whether power-law rewards have a larger variance than Bernoulli rewards of the same mean."""
    power, votes = evidence.facts.variances["kumaraswamy"], evidence.facts.variances["bernoulli"]
    larger = int(np.count_nonzero(power > votes))
    measured = (
        Measurement("largest variance, power law", Estimate(float(power.max()))),
        Measurement("largest variance, Bernoulli", Estimate(float(votes.max()))),
    )
    reason = f"The variance of one reward is larger for {larger:,} of {len(power):,} captions."
    if not larger:
        reason += " It is (1 - μ)/(2 - μ) times Bernoulli's, so it never can be."
    return Finding(verdict_of([larger > 0, larger == len(power)]), reason, measured)
