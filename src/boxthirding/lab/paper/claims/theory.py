"""What the paper proves, against what was simulated: candidate sets, non-inclusion and bounds."""

import math

from boxthirding.lab.paper.cases import NOISY
from boxthirding.lab.paper.claims import Finding, Measurement, claim, exact_claim, listed, verdict_of
from boxthirding.lab.paper.evidence import BY_CHANCE, Estimate, Evidence, Share
from boxthirding.lab.paper.exact_facts import LONGEST, MANY
from boxthirding.lab.paper.printed import ARMS, BUDGET, COMPARED, EPSILONS, GAPS_ALPHA, NAMES
from boxthirding.lab.theory import complexity, sizes
from boxthirding.lab.theory.candidate_sets import CandidateSet

_STEADY = 4.0  # a quantity has the order claimed when it stays within this factor
_FROM = 100  # pulls from which orders and rates are looked at


@exact_claim(
    "How many candidates there are",
    "Under the data-poor condition the candidate sets of US and B3 grow as T, that of BSH as T/(log₂T)².",
    "proposition 4.8",
    f"c₀ over its order stays within a factor of {_STEADY:g} from {_FROM} to {LONGEST:,} pulls. It is computed "
    "from the rules, so it is exact (for BSH an expectation: its brackets may share arms); and for a million arms, "
    "so that no policy tries all of them; all else on this page has at most 5,513.",
)
def candidate_orders(evidence: Evidence) -> Finding:
    """Decide the orders of the candidate sets: T, T/log²T and T."""
    measured, steady = [], []
    for policy in COMPARED:
        ratios = [_of_order(policy, found) for found in evidence.facts.candidates[policy] if found.pulls >= _FROM]
        order = "T / (log₂T)²" if policy == "bsh" else "T"
        for word, ratio in (("lowest", min(ratios)), ("highest", max(ratios))):
            measured.append(Measurement(f"{NAMES[policy]}: {word} c₀ / ({order})", Estimate(ratio)))
        steady.append(max(ratios) <= _STEADY * min(ratios))
        size_at = {one.pulls: one.size for one in evidence.facts.candidates[policy]}
        measured += [
            Measurement(f"{NAMES[policy]}: c₀ after {pulls:,} pulls, N = {MANY:,}", Estimate(size_at[pulls]))
            for pulls in (100, 1_000, BUDGET)
            if pulls in size_at
        ]
    limit = sizes.candidate_share()
    measured.append(Measurement("B3: (2 - r₀)/2, the paper's limit of c₀/T", Estimate(limit)))
    below = [
        one.pulls for one in evidence.facts.candidates["b3"] if one.pulls >= _FROM and one.size < limit * one.pulls
    ]
    reason = (
        f"From {_FROM} to {LONGEST:,} pulls, c₀ over its order stays within a factor of {_STEADY:g} for {sum(steady)} "
        f"of {len(steady)} policies."
    )
    if below:
        reason += (
            f" For B3, (2 - r₀)/2 = {limit:.3f} is no lower bound on c₀/T: at T = {below[0]:,}, for one, c₀/T is lower."
        )
    return Finding(verdict_of(steady), reason, tuple(measured))


@exact_claim(
    "Explicit bounds on the candidate sets",
    "c₀ of B3 lies between c^U and c^L, its highest level within two logarithms, and c₀ of BSH between "
    "4T/(log₂4T)² and 2T/(log₂T - log₂log₂T)² - 1.",
    "proof of proposition 4.8",
    f"At every T tried, from 10 to {LONGEST:,}.",
)
def candidate_bounds(evidence: Evidence) -> Finding:
    """Decide the explicit bounds on candidate sets and on the highest level."""
    b3, bsh = evidence.facts.candidates["b3"], evidence.facts.candidates["bsh"]
    edges = sizes.bracket_candidate_bounds
    within = {
        "B3: c₀ at least c^U": {one.pulls: sizes.candidate_bounds(one.pulls).low <= one.size for one in b3},
        "B3: c₀ at most c^L": {one.pulls: one.size <= sizes.candidate_bounds(one.pulls).high for one in b3},
        "B3: bounds on the highest level": {one.pulls: _level_within(one) for one in b3},
        "BSH: c₀ at least its lower bound": {one.pulls: edges(one.pulls).low <= one.size for one in bsh},
        "BSH: c₀ at most its upper bound": {one.pulls: one.size <= edges(one.pulls).high for one in bsh},
    }
    measured = tuple(
        Measurement(f"{name}: holds at", Estimate(100 * sum(good.values()) / len(good)), "% of T")
        for name, good in within.items()
    )
    first = {name: next((pulls for pulls, holds in good.items() if not holds), None) for name, good in within.items()}
    fails = [f"{name} (first at T = {pulls:,})" for name, pulls in first.items() if pulls is not None]
    reason = f"At {len(b3)} values of T from 10 to {LONGEST:,}: "
    reason += f"the paper's constants fail for {'; '.join(fails)}." if fails else "all bounds hold."
    return Finding(verdict_of([pulls is None for pulls in first.values()]), reason, measured)


@claim(
    "Non-inclusion, exactly",
    "Candidates are a random subset of the arms, so the chance that no good arm is among them follows from their "
    "number.",
    "theorem 4.7",
    "The share of runs that miss every ε/2-best arm must be neither clearly above nor clearly below the "
    f"hypergeometric chance: that must give one as far off with a probability of at least {BY_CHANCE:.3%}.",
)
def exact_non_inclusion(evidence: Evidence) -> Finding:
    """Decide whether the exact chance of non-inclusion is what is simulated."""
    measured, agree = [], []
    for (case, policy, eps), split in evidence.splits.items():
        for c, pulls in enumerate(split.pulls.tolist()):
            if pulls in {100, 1_000, BUDGET}:
                seen, exact = Share(int(split.missed[c]), split.replicates), float(split.exact[c])
                agree.append(not (seen.clearly_above(exact) or seen.clearly_below(exact)))
                what = f"{evidence.title(case)}: {NAMES[policy]}, ε = {eps:g}, T = {pulls:,} (theory {exact:.4f})"
                measured.append(Measurement(what, seen.estimate))
    reason = f"{sum(agree)} of {len(agree)} simulated shares are neither clearly above nor below the exact chance."
    return Finding(verdict_of(agree), reason, tuple(measured))


@claim(
    "The main theorem's exponent",
    "P(regret > ε) ≤ exp(-Ω(max(N_{ε/2}, ε²) T/N)) for B3. (Its appendix has min for max.)",
    "theorem 4.3",
    "The Ω hides a constant; the proofs give one, c₀/T, for the part that is called non-inclusion. With it the "
    "share of runs that fail on poly, equal and square must not be clearly above the bound: with the bound as the "
    f"chance to fail, as many must come with a probability of at least {BY_CHANCE:.3%}. The min is beside it.",
)
def one_exponent(evidence: Evidence) -> Finding:
    """Decide the main theorem with the one constant that the proofs give, and its max against the min."""
    size = next(one.size for one in evidence.facts.candidates["b3"] if one.pulls == BUDGET)
    measured, printed, proven, allowed = [], {}, [], [math.inf]
    for case in GAPS_ALPHA:
        for eps in EPSILONS:
            failing, good = evidence.failures(case, "b3", BUDGET, eps), evidence.good(case, eps / 2)
            largest, smallest = (math.exp(-size * part(good, eps**2) / ARMS) for part in (max, min))
            what = f"{case}, ε = {eps:g}"
            measured.append(Measurement(f"{what} (max {largest:.2g}, min {smallest:.3g})", failing.estimate))
            printed[what] = not failing.clearly_above(largest)
            proven.append(not failing.clearly_above(smallest))
            if failing.hits > 0:
                allowed.append(-math.log(failing.estimate.value) * ARMS / (BUDGET * max(good, eps**2)))
    broken = [what for what, holds in printed.items() if not holds]
    reason = f"With c₀/T = {size / BUDGET:.3f} for the constant, B3 fails as rarely as the max demands in "
    reason += f"{len(printed) - len(broken)} of {len(printed)} cases, and as the min demands in {sum(proven)}."
    if broken:
        reason += f" The max is broken on {listed(broken)}, where many arms are good and what fails is to tell them "
        reason += f"apart; a constant of at most {min(allowed):.2g} would save it."
    return Finding(verdict_of(list(printed.values())), reason, tuple(measured))


@claim(
    "Bounds on the chance to fail",
    "The sums that the proofs begin with bound P(regret > ε) for US, BSH and B3.",
    "proofs of theorem 4.10 and proposition 4.12",
    "The share of runs that fail must not be clearly above the bound (as for the main theorem), on captions with "
    "moderate noise and with hardly any, at ε = 0.1 and 0.2.",
)
def explicit_bounds(evidence: Evidence) -> Finding:
    """Decide whether the explicit upper bounds hold in simulation, and whether they say anything."""
    measured, hold = [], []
    telling = 0
    for (case, policy, pulls, eps), bound in evidence.facts.bounds.items():
        seen = evidence.failures(case, policy, pulls, eps)
        hold.append(not seen.clearly_above(bound))
        telling += bound < 1
        what = f"{evidence.title(case)}: {NAMES[policy]}, ε = {eps:g}, T = {pulls:,} (bound {bound:.3g})"
        measured.append(Measurement(what, seen.estimate))
    reason = (
        f"The share of runs that fail is within the bound in {sum(hold)} of {len(hold)} comparisons. In "
        f"{len(hold) - telling} of them the bound is 1 and says nothing: its constants are so small that noise must be "
        "next to nothing before it does."
    )
    return Finding(verdict_of(hold), reason, tuple(measured))


@exact_claim(
    "The Chernoff bound that the proofs use",
    "The mean of the worse of two arms exceeds the other's with probability at most exp(-Δ²n).",
    "section C.2",
    "The exact chance for unit normal rewards must not exceed it.",
)
def chernoff(evidence: Evidence) -> Finding:
    """Decide the Chernoff bound on the comparison of two means."""
    found = evidence.facts.comparisons
    fails = [one for one in found if one.exact > one.printed]
    measured = tuple(
        Measurement(
            f"gap {one.gap:g}, {one.pulls} pulls (printed {one.printed:.2g}, /4 {one.corrected:.2g})",
            Estimate(one.exact),
        )
        for one in found
    )
    corrected = "holds" if all(one.exact <= one.corrected for one in found) else "does not hold either"
    reason = f"The printed bound holds at {len(found) - len(fails)} of {len(found)} numbers of pulls"
    reason += f", and fails from {fails[0].pulls} on" if fails else ""
    reason += f". With the factor 1/4 in the exponent, the variance of a difference, it {corrected}."
    return Finding(verdict_of([not fails]), reason, measured)


@claim(
    "The rate of B3's simple regret",
    "With gaps ((i-1)/N)^α the simple regret of B3 is of the order max(T^-α, √(N/T)).",
    "corollary 4.4",
    "With the constant 1, after 100, 1,000 and 10,000 pulls.",
)
def regret_rate(evidence: Evidence) -> Finding:
    """Decide the bound on simple regret, of the order max(T^-α, √(N/T))."""
    measured, within = [], []
    for case, alpha in GAPS_ALPHA.items():
        for pulls in (100, 1_000, BUDGET):
            bound = complexity.regret_order(ARMS, pulls, alpha)
            seen = evidence.regret(case, "b3", pulls)
            within.append(seen.value <= bound)
            measured.append(Measurement(f"{case} (α = {alpha:g}) after {pulls:,} (order {bound:.3f})", seen))
    reason = f"B3's regret is within the order, with the constant 1, in {sum(within)} of {len(within)} cases."
    return Finding(verdict_of(within), reason, tuple(measured))


@claim(
    "What no policy can beat",
    "Any algorithm misses the best arm with probability at least exp(-O(T / (H₂ log₂N))).",
    "section 2.2",
    "With the constant 1, and H₂ in units of the noise: no policy may be clearly below, in any noisy case.",
)
def lower_bound(evidence: Evidence) -> Finding:
    """Decide whether no policy errs less often than the lower bound allows."""
    measured, above = [], []
    beaten: dict[str, bool] = {}  # by case: whether a guess beats the bound there, too
    for case in NOISY:
        means, sigma = evidence.cases[case].instance.means, evidence.cases[case].rewards.sigma
        floor = complexity.lower_bound(complexity.complexity_h2(means) * sigma**2, len(means), BUDGET)
        for policy in evidence.cases[case].policies:
            seen = evidence.failures(case, policy, BUDGET, 0.0)
            above.append(not seen.clearly_below(floor))
            if not above[-1]:
                beaten[evidence.title(case)] = floor > 1 - 1 / len(means)
        missing = evidence.failures(case, "b3", BUDGET, 0.0)
        measured.append(Measurement(f"{evidence.title(case)}: B3 (bound {floor:.3g})", missing.estimate))
    reason = (
        f"After {BUDGET:,} pulls, {sum(above)} of {len(above)} shares of runs that miss the best arm are not clearly "
        "below the bound."
    )
    if beaten:
        reason += f" Some are, in {listed(list(beaten))}."
    guessed = [title for title, guess in beaten.items() if guess]
    if guessed:
        reason += (
            f" In {listed(guessed)} even a guess, right once in N times, is: the bound is on the worst of all "
            "instances with this H₂, and its O hides a constant."
        )
    return Finding(verdict_of(above), reason, tuple(measured))


def _of_order(policy: str, found: CandidateSet) -> float:
    order = found.pulls / math.log2(found.pulls) ** 2 if policy == "bsh" else found.pulls
    return found.size / order


def _level_within(found: CandidateSet) -> bool:
    bounds = sizes.level_bounds(int(found.size))
    return found.level is not None and bounds.low <= found.level <= bounds.high
