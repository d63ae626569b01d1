"""How often no ε-best arm is returned: non-inclusion and misidentification together (theorem 4.3, remark 4.6).

Either no ε/2-best arm is a candidate, or one is and an arm that is ε/2 worse is returned. The paper's statements have
orders only; the factor that their Ω hides is `constant`. Where the proofs have constants, so do the explicit bounds.
"""

import math
from fractions import Fraction

from boxthirding._checks import whole
from boxthirding.errors import InvalidInput
from boxthirding.lab.theory._ranges import capped, decay, fraction, positive, signal
from boxthirding.lab.theory.candidate_sets import candidates, finished_runs
from boxthirding.lab.theory.halving import halving_constant, level_shares, rounds_bound, summed_halving_bound
from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.rivals.bsh import BracketingSequentialHalving
from boxthirding.policies.rivals.sequential_halving import SequentialHalving
from boxthirding.policies.rivals.uniform import Uniform
from boxthirding.schedules import KINDS


def combined_order(policy: str, n_arms: int, budget: int, good: int, eps: float, *, constant: float = 1.0) -> float:
    """Return the combined bound of remark 4.6, for "us", "bsh" or "b3", up to its constant.

    `good` is N_{ε/2}. With x = cT/N for us and b3, x = cT/(N ln²T) for bsh, it is exp(-x N_{ε/2}) + exp(-x ε²), the
    second term times N for us. The paper's theorem and remark have one exponential of the *max* of the two exponents;
    a sum is at least its larger term, so it must be the *min*, as in the appendix. For ε < 1 that is always ε².

    For bsh the proof also leaves out that the winners of several brackets are compared with each other.

    >>> combined_order("b3", 100, 10_000, 1, 0.5) == math.exp(-100) + math.exp(-25)
    True
    """
    if policy not in ("us", "bsh", "b3"):
        raise InvalidInput(f"policy is {policy!r}, but must be one of us, bsh, b3")
    each = Fraction(positive("constant", constant)) * whole("budget", budget, least=2) / _arms(n_arms, good)
    if policy == "bsh":
        each /= Fraction(math.log(budget)) ** 2
    arms = n_arms if policy == "us" else 1
    return capped(decay(each * good) + arms * decay(each * Fraction(fraction("eps", eps)) ** 2))


def uniform_bound(n_arms: int, budget: int, good: int, eps: float, *, sigma: float = 1.0) -> float:
    """Return an explicit bound for `us`: exact non-inclusion plus c₀ exp(-n ε² / 32σ²) (proposition 4.12).

    `good` is N_{ε/2}, n = max(1, ⌊T/N⌋) the pulls that every candidate has. The paper's proof has N exp(-Tε²/8N) for an
    ε-best arm, which supposes T/N pulls of every arm though some have one fewer.

    >>> uniform_bound(10, 5_000, 1, 0.5, sigma=0.5) < 0.01
    True
    """
    found = candidates(Uniform(), _arms(n_arms, good), min(whole("budget", budget, least=1), n_arms))
    exponent = max(1, budget // n_arms) * signal(fraction("eps", eps), positive("sigma", sigma)) / 32
    return capped(found.non_inclusion(good) + found.size * decay(exponent))


def box_thirding_bound(
    policy: BoxThirding, n_arms: int, budget: int, good: int, eps: float, *, sigma: float = 1.0
) -> float:
    """Return an explicit bound for `b3`: exact non-inclusion plus the sum over levels (proof of proposition 4.12).

    `good` is N_{ε/2}. The sum is 3 (1/√a + 1) exp(-a) with a = (1 - r^-½)⁴ t₀ (ε/2)² / 4σ², or with the square instead
    of the fourth power for the linear schedule. It does not fall with T: the proof's step from this sum to
    exp(-Ω(Tε²/N)) is empty while t₀ is fixed, because level 0 always compares means of t₀ pulls. What falls with T is
    non-inclusion. Means must be of fresh pulls, as in the paper (`reuse="none"`).

    >>> box_thirding_bound(BoxThirding(), 1_000, 5_000, 20, 0.5, sigma=0.002) < 0.01
    True
    """
    if getattr(policy, "reuse", None) != "none" or policy.schedule not in KINDS:
        raise InvalidInput(
            f"the policy is {policy!r}, but the statement needs b3 with reuse none and the geometric or the linear "
            "schedule"
        )
    missed = candidates(policy, _arms(n_arms, good), budget).non_inclusion(good)
    constant = 2 * halving_constant(policy.growth, str(policy.schedule))  # a pair is compared: 1/4 instead of 1/8
    pulls = Fraction(constant) * Fraction(policy.effort)
    return capped(missed + rounds_bound(pulls * signal(fraction("eps", eps), positive("sigma", sigma)) / 4))


def bracketing_bound(n_arms: int, budget: int, good: int, eps: float, *, sigma: float = 1.0) -> float:
    """Return an explicit bound for `bsh`: exact non-inclusion plus what its finished runs confuse (proposition 4.12).

    `good` is N_{ε/2}. Half of the other ε/2 may be lost inside the bracket of the best candidate, by the sum of theorem
    4.10 over the rounds of its last run; the other half between the winners of the brackets, whose kept means must all
    be within ε/8 of the truth. The paper's proof has the first part only, and the order exp(-Ω(Tε²/(N ln²T))).

    >>> bracketing_bound(16, 20_000, 4, 0.9, sigma=0.02) < 0.05
    True
    """
    missed = candidates(BracketingSequentialHalving(), _arms(n_arms, good), budget).non_inclusion(good)
    each = fraction("eps", eps) / 4
    exponent = signal(each, positive("sigma", sigma)) / 8
    inside, between = 0.0, 0.0
    for size, spent in finished_runs(n_arms, budget):
        pulls = SequentialHalving(spent).plan(size)
        shares = level_shares(len(pulls), growth=2.0)
        whole_eps = [share / sum(shares) for share in shares]  # so few rounds need not leave any of it unused
        inside = max(inside, summed_halving_bound(each, pulls, whole_eps, sigma=sigma))
        between += 4 * decay(pulls[-1] * exponent)  # two finalists, too high or too low by half of `each`
    return capped(missed + inside + between)


def _arms(n_arms: int, good: int) -> int:
    arms = whole("the number of arms", n_arms, least=1)
    if whole("good", good, least=1) > arms:
        raise InvalidInput(f"good is {good}, but there are only {arms} arms")
    return arms
