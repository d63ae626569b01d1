from dataclasses import replace

import numpy as np
import pytest
from synthetic import REPLICATES, as_printed, evidence, printed_facts, real_facts, split_of

from boxthirding.lab.paper.claims import Verdict
from boxthirding.lab.paper.exact_facts import Comparison, Covered, Level
from boxthirding.lab.paper.page import CLAIMS

HOLDS, IN_PART, FAILS = Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS
BY_KEY = {claim.key: claim for claim in CLAIMS}
PRINTED = printed_facts()
REAL = real_facts()


def verdict(key, **world):
    finding = BY_KEY[key].finding(evidence(**world))
    assert finding.reason.endswith(".")
    assert finding.measured
    return finding.verdict


def world(rules):
    """Return the paper's world with other regrets by rule: a case, * for all, and the policy's beginning."""

    def regret(case, policy, pulls):
        for (where, who), value in rules.items():
            if where in {case, "*"} and policy.startswith(who):
                return value(pulls) if callable(value) else value
        return as_printed(case, policy, pulls)

    return {"regret": regret}


def failing(share):
    """Return regrets of which this share is beyond every ε."""
    return np.where(np.arange(REPLICATES) < share * REPLICATES, 1.0, 0.0)


WORLDS = [
    # Regret
    ("lowest-when-noisy", {}, HOLDS),
    ("lowest-when-noisy", world({("poly", "bsh"): 0.001}), IN_PART),
    ("lowest-when-noisy", world({("*", "bsh"): 0.001}), FAILS),
    ("best-without-noise", {}, HOLDS),
    ("best-without-noise", world({("captions-none", "us"): lambda t: 0.1 * t**-0.5}), IN_PART),
    ("best-without-noise", world({("captions-none", "b3"): 0.0}), FAILS),
    ("uniform-stagnates", {}, HOLDS),
    ("uniform-stagnates", world({("equal", "us"): lambda t: 0.4 * t**-0.5}), IN_PART),
    ("uniform-stagnates", world({("*", "us"): lambda t: 0.4 * t**-0.5}), FAILS),
    ("uniform-stagnates", world({("*", "us"): 5.0}), FAILS),
    ("uniform-under-power-law", {}, HOLDS),
    ("uniform-under-power-law", world({("captions-kumaraswamy", "us"): lambda t: t**-0.2}), FAILS),
    ("brackets-under-power-law", {}, HOLDS),
    ("brackets-under-power-law", world({("captions-kumaraswamy", "bsh"): 0.4}), IN_PART),
    ("brackets-under-power-law", world({("captions-kumaraswamy", "b"): 0.4}), FAILS),
    ("poly-is-hardest", {}, HOLDS),
    ("poly-is-hardest", world({("poly", "us"): 0.0}), IN_PART),
    ("poly-is-hardest", world({("poly", ""): 0.0}), FAILS),
    ("guideline", {}, HOLDS),
    ("guideline", world({("captions-gaussian-0.5", "bsh"): 0.9}), IN_PART),
    ("guideline", world({("captions-gaussian-0.5", "us"): 0.0, ("captions-none", "b3"): 0.9}), FAILS),
    # Tables
    ("rows-of-the-paper", {}, HOLDS),
    ("rows-of-the-paper", world({("table-128", "b3"): 0.06}), IN_PART),
    ("rows-of-the-paper", world({("table-128", ""): 0.06, ("table-1024", ""): 0.06}), FAILS),
    ("rows-of-baselines", {}, HOLDS),
    ("rows-of-baselines", world({("table-128", "bsh"): 0.06}), IN_PART),
    ("rows-of-baselines", world({("table-128", ""): 0.01, ("table-1024", ""): 0.01}), FAILS),
    ("close-to-fixed-budget", {}, HOLDS),
    ("close-to-fixed-budget", world({("table-1024", "ucbe"): 0.004}), IN_PART),
    ("close-to-fixed-budget", world({("table-128", "b3"): 1.0, ("table-1024", "b3"): 1.0}), FAILS),
    ("better-than-anytime", {}, HOLDS),
    ("better-than-anytime", world({("table-128", "bsh"): 0.01}), IN_PART),
    ("better-than-anytime", world({("table-128", "b3"): 1.0, ("table-1024", "b3"): 1.0}), FAILS),
    # Structure
    ("half-is-lifted", {"facts": PRINTED}, HOLDS),
    ("half-is-lifted", {"facts": replace(PRINTED, levels=(Level(0, 900, (450,)), Level(1, 450, (150,))))}, IN_PART),
    ("half-is-lifted", {"facts": replace(PRINTED, levels=(Level(0, 900, (300,)),))}, FAILS),
    ("data-poor-below-n", {"facts": PRINTED}, HOLDS),
    ("data-poor-below-n", {"facts": replace(PRINTED, covered={128: Covered(4, 5), 1_024: Covered(4, 6)})}, IN_PART),
    ("data-poor-below-n", {"facts": replace(PRINTED, covered={128: Covered(4, 5), 1_024: Covered(4, 50)})}, FAILS),
    ("worked-example", {"facts": PRINTED}, HOLDS),
    ("worked-example", {"facts": replace(PRINTED, example=4)}, FAILS),
    ("remedian", {"facts": PRINTED}, HOLDS),
    ("remedian", {"facts": replace(PRINTED, remedian=5.3)}, FAILS),
    ("optimal-growth", {"facts": PRINTED}, HOLDS),
    ("optimal-growth", {"facts": replace(PRINTED, best_growth=1.9)}, IN_PART),
    ("optimal-growth", {"facts": replace(PRINTED, growth_root=1.9)}, FAILS),
    ("instance-table", {"facts": PRINTED}, HOLDS),
    ("instance-table", {"facts": replace(PRINTED, shapes=REAL.shapes)}, IN_PART),
    ("power-law-variance", {"facts": PRINTED}, HOLDS),
    ("power-law-variance", {"facts": replace(PRINTED, variances=REAL.variances)}, FAILS),
    # Theory
    ("candidate-orders", {"facts": REAL}, HOLDS),
    (
        "candidate-orders",
        {"facts": replace(REAL, candidates={**REAL.candidates, "us": REAL.candidates["bsh"]})},
        IN_PART,
    ),
    ("candidate-bounds", {"facts": PRINTED}, HOLDS),
    ("candidate-bounds", {"facts": replace(PRINTED, candidates=REAL.candidates)}, IN_PART),
    ("exact-non-inclusion", {}, HOLDS),
    ("exact-non-inclusion", {"splits": {("poly", "us", 0.1): split_of(0.3, 0.9)}}, FAILS),
    ("exact-non-inclusion", {"splits": {("poly", "us", 0.1): split_of(0.02, 1e-9)}}, FAILS),
    ("exact-non-inclusion", {"splits": {("poly", "us", 0.1): split_of(0.98, 1.0)}}, FAILS),
    ("exact-non-inclusion", {"splits": {("poly", "us", 0.1): split_of(0.0, 0.0)}}, HOLDS),
    ("one-exponent", world({("*", "b3"): 0.0}), HOLDS),
    ("one-exponent", world({("poly", "b3"): 0.0, ("*", "b3"): failing(0.5)}), IN_PART),
    ("one-exponent", world({("equal", "b3"): failing(0.05), ("*", "b3"): 0.0}), IN_PART),  # five in a hundred
    ("one-exponent", world({("*", "b3"): 1.0}), FAILS),
    ("explicit-bounds", world({("*", ""): 0.0}), HOLDS),
    ("explicit-bounds", world({("*", ""): 1.0}), IN_PART),
    ("chernoff", {"facts": PRINTED}, HOLDS),
    ("chernoff", {"facts": replace(PRINTED, comparisons=(Comparison(0.5, 8, 0.15, 0.1, 0.2),))}, FAILS),
    ("regret-rate", {}, HOLDS),
    ("regret-rate", world({("equal", "b3"): 9.0}), IN_PART),
    ("regret-rate", world({("*", "b3"): 9.0}), FAILS),
    ("lower-bound", {}, HOLDS),
    ("lower-bound", world({("equal", "b3"): failing(0.0)}), IN_PART),
]


@pytest.mark.parametrize(("key", "world", "expected"), WORLDS, ids=[f"{key}-{e.name}" for key, _, e in WORLDS])
def test_a_claim_is_decided_by_what_was_measured(key, world, expected):
    assert verdict(key, **world) is expected


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.key)
def test_of_too_few_replicates_there_is_no_verdict_but_on_what_is_computed(claim):
    world = evidence()
    few = replace(world, cases={key: replace(case, replicates=19) for key, case in world.cases.items()})
    enough = replace(world, cases={key: replace(case, replicates=20) for key, case in world.cases.items()})
    assert (claim.finding(few).verdict is Verdict.TOO_FEW) is not claim.exact
    assert claim.finding(enough) == claim.decide(enough)
    assert claim.exact or claim.finding(few).reason.startswith("19 replicates are too few for a verdict")


@pytest.mark.parametrize("claim", [claim for claim in CLAIMS if claim.exact], ids=lambda claim: claim.key)
def test_what_is_computed_does_not_look_at_runs(claim):
    assert claim.decide(replace(evidence(), runs={}, splits={}, cases={})) == claim.decide(evidence())


def test_what_us_loses_has_the_standard_error_of_paired_replicates():
    before, after = np.linspace(0.2, 0.4, REPLICATES), np.linspace(0.1, 0.3, REPLICATES)
    rules = {("poly", "us"): lambda pulls: before if pulls == 100 else after}
    measured = BY_KEY["uniform-stagnates"].decide(evidence(**world(rules))).measured
    loss = next(one for one in measured if one.what == "Polynomial gaps: US loses").estimate
    draw = np.random.default_rng(0)
    shares = [after[rows].mean() / before[rows].mean() for rows in draw.integers(0, REPLICATES, (4_000, REPLICATES))]
    assert loss.value == pytest.approx(100 * (1 - after.mean() / before.mean()), abs=1e-3)
    assert loss.error == pytest.approx(100 * np.std(shares), rel=0.1)


def test_every_claim_can_hold_and_can_fail():
    seen = {(key, expected is HOLDS) for key, _, expected in WORLDS}
    assert seen == {(claim.key, holds) for claim in CLAIMS for holds in (True, False)}


def test_claims_are_told_apart_and_told_in_full():
    assert len(BY_KEY) == len(CLAIMS)
    for claim in CLAIMS:
        assert all(text.strip() for text in (claim.title, claim.says, claim.where, claim.rule))


def test_a_reason_names_where_a_claim_fails():
    finding = BY_KEY["lowest-when-noisy"].decide(evidence(**world({("poly", "bsh"): 0.001})))
    assert "6 of 7 noisy cases; not in Polynomial gaps" in finding.reason


def test_the_reason_for_the_lower_bound_says_where_even_a_guess_beats_it():
    cases = ("equal", "captions-gaussian-0.5")
    finding = BY_KEY["lower-bound"].decide(evidence(**world({(case, "b3"): 0.0 for case in cases})))
    assert "Some are, in Captions, high noise (σ = 0.5) and Equal gaps. In Equal gaps even a guess" in finding.reason


def test_the_reason_for_the_baselines_says_which_do_better_than_printed():
    finding = BY_KEY["rows-of-baselines"].decide(
        evidence(**world({("table-128", "bsh"): 0.06, ("table-1024", "bsh"): 0.05}))
    )
    assert "clearly better than printed: BSH, in both tables" in finding.reason
