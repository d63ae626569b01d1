"""Bounds on the chance that no ε-best arm is returned: theorems 4.3 and 4.10, their lemmas and the optimal growth.

effort is t₀, growth is r₀ (or r), `shares[l]` is p_l, the part of ε that round l may lose. Rewards are σ-sub-Gaussian;
the paper has σ = 1.

In the combined bounds (theorem 4.3, remark 4.6), either no ε/2-best arm is a candidate (non-inclusion), or one is and
an arm that is ε/2 worse is returned (misidentification). The paper's statements have orders only; the factor that their
Ω hides is `constant`. Where the proofs have constants, so do the explicit bounds.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from boxthirding._checks import fraction, is_number, one_of, positive, whole
from boxthirding.errors import InvalidInput
from boxthirding.lab.theory._checks import capped, decay, growth_below_2, nearest, several, signal
from boxthirding.lab.theory.candidate_sets import candidates, finished_runs
from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.rivals.bsh import BracketingSequentialHalving
from boxthirding.policies.rivals.sequential_halving import SequentialHalving
from boxthirding.policies.rivals.uniform import Uniform
from boxthirding.schedules import KINDS, Schedule


def comparison_bound(gap: float, pulls: int, *, sigma: float = 1.0) -> float:
    """Return the Chernoff bound that a worse arm's mean exceeds a better one's, exp(-Δ² n / 4σ²) (section C.2, item 3).

    The paper prints exp(-Δ² n). The difference of two means of n pulls has variance 2σ²/n, hence the factor 4, without
    which the bound is false; the same holds for item 1 of theorem C.1.

    >>> comparison_bound(1.0, 8) == math.exp(-2)
    True
    """
    return decay(signal(positive("gap", gap), positive("sigma", sigma)) * whole("pulls", pulls, least=1) / 4)


def round_bound(eps: float, pulls: int, *, sigma: float = 1.0) -> float:
    """Return the bound that a round of halving keeps no ε-best arm: 3 exp(-ε² n / 8σ²) (theorem C.1, item 2).

    The paper's statement lacks the ε², which its proof has.

    >>> round_bound(0.5, 256) == 3 * math.exp(-8)
    True
    """
    exponent = signal(fraction("eps", eps), positive("sigma", sigma)) * whole("pulls", pulls, least=1) / 8
    return capped(3 * decay(exponent))


def halving_constant(growth: float | None = None, schedule: str = "geometric") -> float:
    """Return K = (1 - r^-½)⁴ / 8 of theorem 4.10, or K₂ = (1 - r^-½)² / 8 of lemma D.11 for costs (l+1) r^l.

    >>> round(halving_constant() * 1e4, 3), round(halving_constant(schedule="linear") * 1e4, 3)
    (4.1, 33.981)
    """
    used = _growth(growth, schedule)
    return float((1 - used**-0.5) ** (4 if schedule == "geometric" else 2) / 8)


def halving_bound(
    eps: float, effort: float, *, growth: float | None = None, schedule: str = "geometric", sigma: float = 1.0
) -> float:
    """Return the explicit bound of theorem 4.10 that no ε-best arm is returned: 3 (1/√a + 1) exp(-a).

    Here a = K ε² t₀ / σ², K as in `halving_constant`, and round l pulls each arm at least t₀ r^l times, or t₀ (l+1) r^l
    times with the schedule "linear" (lemma D.11). There the sum over rounds is one of exp(-a l), not of exp(-a l²), and
    gives 1/a instead of 1/√a. It is the larger of the two only for a < 1, where both exceed 1: the form stands.

    >>> round(halving_bound(0.5, 200, sigma=0.05), 5)
    0.00111
    """
    pulls = Fraction(halving_constant(growth, schedule)) * Fraction(positive("effort", effort))
    return capped(_rounds_bound(pulls * signal(fraction("eps", eps), positive("sigma", sigma))))


def _rounds_bound(exponent: Fraction) -> float:
    """Return 3 (1/√a + 1) exp(-a), or 1 if a < 1, as it would be larger."""
    a = nearest(exponent)
    return 1.0 if a < 1 else 3 * (a**-0.5 + 1) * math.exp(-a)


def halving_effort(n_arms: int, budget: int, *, growth: float | None = None, schedule: str = "geometric") -> float:
    """Return a t₀ for a budget (proof of theorem 4.10, part 3): T (1 - r/2) / N - 2, at least 0.

    For costs (l+1) r^l it is T (1 - r/2)² / N - 2, and for r = 2, where each of the ⌊log₂N⌋ + 1 rounds costs alike,
    (T/N - 2) / (⌊log₂N⌋ + 1). The paper's "r ∈ (0,1)" there must read (1, 2). N is taken to be a power of
    two, so that halves are exact.

    >>> halving_effort(128, 896, growth=1.5), halving_effort(128, 10 * 128, growth=2)
    (0, 1.0)
    """
    used = _growth(growth, schedule)
    arms = whole("the number of arms", n_arms, least=1)
    pulls = whole("budget", budget, least=1) / arms
    if used == 2:  # noqa: PLR2004  # the critical growth
        if schedule != "geometric":
            raise InvalidInput(f"growth is {used}, but must lie in (1, 2) for the schedule {schedule}")
        return max(0, (pulls - 2) / arms.bit_length())
    return max(0, pulls * (1 - used / 2) ** (1 if schedule == "geometric" else 2) - 2)


def logarithmic_halving_bound(n_arms: int, budget: int, eps: float, *, sigma: float = 1.0) -> float:
    """Return the older bound on SH with its factor log₂N (section 4.4): 3 log₂N exp(-ε² T / (8 σ² N log₂N)).

    The paper gives it as log₂N exp(-Ω(…)); the constants are those of one `round_bound` a round with T/(N log₂N) pulls
    or more, which is the case in which no other arm is ε-best.

    >>> logarithmic_halving_bound(1_024, 10_240 * 100, 0.5, sigma=0.5) == 30 * math.exp(-12.5)
    True
    """
    arms = whole("the number of arms", n_arms, least=1)
    rounds = math.log2(max(2, arms))
    each = whole("budget", budget, least=1) / (arms * Fraction(rounds))
    return capped(3 * rounds * decay(signal(fraction("eps", eps), positive("sigma", sigma)) * each / 8))


def level_shares(
    levels: int, *, growth: float | None = None, schedule: str = "geometric", eta: float = 1.0
) -> list[float]:
    """Return p_0, p_1, …, the part of ε that each round may lose (theorem 4.10 and its lemmas); they sum to at most 1.

    "geometric" has (1 - r^-½)² (l+1) r^(-l/2), "linear" (1 - r^-½) r^(-l/2), and "polynomial", for costs of at least
    (l+1)^(4+η), (l+1)^-(1+η/3) / ζ(1+η/3). There, in lemma D.12, the paper has ζ in the numerator, so that the shares
    would sum to ζ² > 1, and it divides by l = 0; here ζ divides and rounds count from 1.

    >>> [round(share, 3) for share in level_shares(4)]
    [0.057, 0.087, 0.099, 0.101]
    """
    whole("levels", levels, least=0)
    extra = positive("eta", eta)
    if schedule == "polynomial":
        zeta = _zeta(extra)
        return [(level + 1) ** -(1 + extra / 3) / zeta for level in range(levels)]
    root = _growth(growth, schedule) ** -0.5
    if schedule == "linear":
        return [(1 - root) * root**level for level in range(levels)]
    return [(1 - root) ** 2 * (level + 1) * root**level for level in range(levels)]


def summed_halving_bound(eps: float, pulls: Sequence[int], shares: Sequence[float], *, sigma: float = 1.0) -> float:
    """Return 3 Σ_l exp(-ε² p_l² n_l / 8σ²), the sum over rounds that theorem 4.10 and its lemmas start from.

    It holds for any schedule, n_l the pulls of each arm in round l, and any shares p_l that sum to at most 1.

    >>> summed_halving_bound(0.5, [32, 128], [2 / 3, 1 / 3], sigma=0.25) < 6 * math.exp(-7)
    True
    """
    each = [whole("pulls", times, least=1) for times in several("pulls", pulls)]
    parts = several("shares", shares)
    if len(each) != len(parts):
        raise InvalidInput(f"there are {len(parts)} shares, but must be as many as rounds: {len(each)}")
    if not (all(is_number(part) and part >= 0 for part in parts) and sum(parts) <= 1 + 1e-12):
        raise InvalidInput(f"the shares are {parts}, but must be numbers, none negative, that sum to at most 1")
    scale = signal(fraction("eps", eps), positive("sigma", sigma)) / 8
    return capped(3 * sum(decay(scale * Fraction(float(p)) ** 2 * n) for p, n in zip(parts, each, strict=True)))


def growth_objective(growth: float, schedule: str = "geometric") -> float:
    """Return what the optimal growth maximises, K (1 - r/2): the exponent by pulls an arm (proposition 4.11).

    For costs (l+1) r^l it is K₂ (1 - r/2)²: the paper's constraint in its second proof lacks the square, which its
    Lagrangian has. The maxima are `boxthirding.schedules.GEOMETRIC_GROWTH` and `LINEAR_GROWTH`.

    >>> growth_objective(1.728) > max(growth_objective(1.7), growth_objective(1.76))
    True
    """
    used = growth_below_2(growth)
    return halving_constant(used, schedule) * (1 - used / 2) ** (1 if schedule == "geometric" else 2)


def combined_order(policy: str, n_arms: int, budget: int, good: int, eps: float, *, constant: float = 1.0) -> float:
    """Return the combined bound of remark 4.6, for "us", "bsh" or "b3", up to its constant.

    `good` is N_{ε/2}. With x = cT/N for us and b3, x = cT/(N ln²T) for bsh, it is exp(-x N_{ε/2}) + exp(-x ε²), the
    second term times N for us. The paper's theorem and remark have one exponential of the *max* of the two exponents;
    a sum is at least its larger term, so it must be the *min*, as in the appendix. For ε < 1 that is always ε².

    For bsh the proof also leaves out that the winners of several brackets are compared with each other.

    >>> combined_order("b3", 100, 10_000, 1, 0.5) == math.exp(-100) + math.exp(-25)
    True
    """
    one_of("policy", policy, ("us", "bsh", "b3"))
    each = Fraction(positive("constant", constant)) * whole("budget", budget, least=2) / _checked_arms(n_arms, good)
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
    found = candidates(Uniform(), _checked_arms(n_arms, good), min(whole("budget", budget, least=1), n_arms))
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
    missed = candidates(policy, _checked_arms(n_arms, good), budget).non_inclusion(good)
    constant = 2 * halving_constant(policy.growth, str(policy.schedule))  # a pair is compared: 1/4 instead of 1/8
    pulls = Fraction(constant) * Fraction(policy.effort)
    return capped(missed + _rounds_bound(pulls * signal(fraction("eps", eps), positive("sigma", sigma)) / 4))


def bracketing_bound(n_arms: int, budget: int, good: int, eps: float, *, sigma: float = 1.0) -> float:
    """Return an explicit bound for `bsh`: exact non-inclusion plus what its finished runs confuse (proposition 4.12).

    `good` is N_{ε/2}. Half of the other ε/2 may be lost inside the bracket of the best candidate, by the sum of theorem
    4.10 over the rounds of its last run; the other half between the winners of the brackets, whose kept means must all
    be within ε/8 of the truth. The paper's proof has the first part only, and the order exp(-Ω(Tε²/(N ln²T))).

    >>> bracketing_bound(16, 20_000, 4, 0.9, sigma=0.02) < 0.05
    True
    """
    missed = candidates(BracketingSequentialHalving(), _checked_arms(n_arms, good), budget).non_inclusion(good)
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


def _checked_arms(n_arms: int, good: int) -> int:
    arms = whole("the number of arms", n_arms, least=1)
    if whole("good", good, least=1) > arms:
        raise InvalidInput(f"good is {good}, but there are only {arms} arms")
    return arms


def _growth(growth: float | None, schedule: str) -> float:
    one_of("schedule", schedule, KINDS)
    return Schedule(schedule, growth).growth or 0.0  # never 0: the schedule fills in its own


def _zeta(eta: float) -> float:
    """Return ζ(1 + η/3): the first terms, and Euler and Maclaurin for the rest; ∞ if η is next to nothing."""
    terms, power = 1000, 1 + eta / 3
    rest = 3 * terms ** (-eta / 3) / eta - terms**-power / 2 + power * terms ** (-power - 1) / 12
    return float(sum(n**-power for n in range(1, terms + 1)) + rest)
