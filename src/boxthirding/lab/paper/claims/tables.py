"""What the paper's two tables say, and what it says of them."""

import math
from typing import Final

from boxthirding.lab.paper.cases import table_case
from boxthirding.lab.paper.claims.claim import ENOUGH, Claim, Finding, Measurement, listed, verdict_of
from boxthirding.lab.paper.estimates import CLEARLY, Estimate
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.printed import FIXED_BUDGET, NAMES, REPLICATES, TABLES, UNROUNDED, Table

OURS: Final = ("b3", "sh:growth=1.7,mode=paper")
"""The rows that say exactly what was run."""

BASELINES: Final = ("sh", "ucbe:exploration=oracle", "bsh", "bucb:delta=0.1")
"""The rows of baselines, which are run here as their own authors define them."""

CLOSE: Final = 1.5
"""One regret is close to another when it is at most so many times as high."""


def measured_row(evidence: Evidence, table: Table, policy: str) -> Estimate:
    """Return our mean regret of a row."""
    return evidence.regret(table_case(table.arms), policy, table.budget)


def printed_row(evidence: Evidence, table: Table, policy: str, row: str | None = None) -> Estimate | None:
    """Return the paper's mean of a row, the policy's own unless given; it prints no error, so ours is scaled to it."""
    printed = table.rows[row or policy]
    if printed is None:
        return None
    ours = measured_row(evidence, table, policy)
    replicates = evidence.runs[table_case(table.arms), policy].replicates
    return Estimate(printed.mean, ours.error * math.sqrt(replicates / REPLICATES))


def rows_of_the_paper(evidence: Evidence) -> Finding:
    """Decide whether the rows of B3 and of SH with growth 1.7 come out again."""
    found = _compared(evidence, OURS, "B3 and SH with growth 1.7")
    (unrounded, row), *_ = UNROUNDED.items()
    away = [f"{_apart(evidence, table, unrounded, row):+.1f} at N = {table.arms:,}" for table in TABLES]
    more = f" With the growth 1.728, of which 1.7 may be the rounding, SH is {listed(away)} standard errors away."
    return Finding(found.verdict, found.reason + more, found.measured)


def rows_of_baselines(evidence: Evidence) -> Finding:
    """Decide whether the rows of the baselines come out again."""
    found = _compared(evidence, BASELINES, "the baselines")
    better = [
        NAMES[policy]
        for policy in BASELINES
        if all(_apart(evidence, table, policy) < -CLEARLY for table in TABLES if table.rows[policy])
    ]
    more = f" Faithful baselines do clearly better than printed: {listed(better)}, in both tables." if better else ""
    return Finding(found.verdict, found.reason + more, found.measured)


def close_to_fixed_budget(evidence: Evidence) -> Finding:
    """Decide whether B3 comes close to policies that are told the budget."""
    return _ratios(evidence, FIXED_BUDGET, "told the budget", close=True)


def better_than_anytime(evidence: Evidence) -> Finding:
    """Decide whether B3 is clearly better than BSH and BUCB when there is enough budget for all arms."""
    return _ratios(evidence, ("bsh", "bucb:delta=0.1"), "not told the budget", close=False)


def _compared(evidence: Evidence, policies: tuple[str, ...], who: str) -> Finding:
    measured, agree = [], []
    for table in TABLES:
        for policy in policies:
            apart = _apart(evidence, table, policy)
            agree.append(abs(apart) <= CLEARLY)
            printed = table.rows[policy]
            what = (
                f"N = {table.arms:,}: {NAMES[policy]} (paper {printed.mean if printed else 0:.4f}, {apart:+.1f} s.e.)"
            )
            measured.append(Measurement(what, measured_row(evidence, table, policy)))
    reason = f"Of the {len(agree)} rows of {who}, {sum(agree)} are within {CLEARLY:.0f} combined standard errors."
    return Finding(verdict_of(agree), reason, tuple(measured))


def agreement(evidence: Evidence, table: Table) -> str:
    """Say which rows of a table come out as printed, and which better or worse."""
    if evidence.least_replicates < ENOUGH:
        return f"{evidence.least_replicates} replicates are too few to say which rows come out as printed."
    rows = {NAMES[policy]: _apart(evidence, table, policy) for policy, printed in table.rows.items() if printed}
    groups = {
        "as printed (within 3 combined standard errors)": [name for name, z in rows.items() if abs(z) <= CLEARLY],
        "clearly better than printed": [name for name, z in rows.items() if z < -CLEARLY],
        "clearly worse than printed": [name for name, z in rows.items() if z > CLEARLY],
    }
    return " ".join(f"{listed(names)} come out {how}." for how, names in groups.items() if names)


def _apart(evidence: Evidence, table: Table, policy: str, row: str | None = None) -> float:
    """Return how many combined standard errors a policy is above a row of the paper, its own unless given."""
    printed = printed_row(evidence, table, policy, row)
    return measured_row(evidence, table, policy).apart(printed) if printed else 0.0


def _ratios(evidence: Evidence, rivals: tuple[str, ...], who: str, *, close: bool) -> Finding:
    measured, good, words = [], [], []
    for table in TABLES:
        ours = measured_row(evidence, table, "b3")
        measured.append(Measurement(f"N = {table.arms:,}: B3", ours))
        for policy in rivals:
            theirs = measured_row(evidence, table, policy)
            measured.append(Measurement(f"N = {table.arms:,}: {NAMES[policy]}", theirs))
            good.append(ours.value <= CLOSE * theirs.value if close else theirs.clearly_above(ours))
            ratio = ours.value / theirs.value if theirs.value else math.inf
            words.append(f"{ratio:.2f} times that of {NAMES[policy]} at N = {table.arms:,}")
    rule = f"at most {CLOSE} times as high" if close else "clearly lower"
    reason = (
        f"B3's regret is {rule} in {sum(good)} of {len(good)} comparisons with policies that are {who}: "
        f"{listed(words)}."
    )
    return Finding(verdict_of(good), reason, tuple(measured))


_WHERE = "appendix B.2"

CLAIMS: Final = (
    Claim(
        "rows-of-the-paper",
        "The tables' rows of B3 and of SH with growth 1.7",
        "At N = 128 and T = 896 the simple regret of B3 is 0.0490 and of SH 0.0446; at N = 1,024 and T = 10,240 it is "
        "0.0268 and 0.0195.",
        _WHERE,
        "Our mean must be within 3 combined standard errors of the printed one. The paper does not print its noise: σ "
        "= 0.25 is inferred, as the one that reproduces these rows.",
        rows_of_the_paper,
    ),
    Claim(
        "rows-of-baselines",
        "The tables' rows of SH with growth 2, UCB-E, BSH and BUCB",
        "SH with growth 2, UCB-E, BSH and BUCB have the regrets printed in the two tables.",
        _WHERE,
        "Our mean must be within 3 combined standard errors of the printed one. Each baseline is the one its own "
        "authors define; none is tuned to meet a row.",
        rows_of_baselines,
    ),
    Claim(
        "close-to-fixed-budget",
        "B3 is close to policies that know the budget",
        "Without knowing T, B3 has a regret comparable to that of SH and UCB-E, which know it.",
        f"abstract, {_WHERE}",
        f"B3's mean regret must be at most {CLOSE} times theirs, in both tables.",
        close_to_fixed_budget,
    ),
    Claim(
        "better-than-anytime",
        "B3 is better than BSH and BUCB when the budget covers all arms",
        "In the tables B3 is far better than the other anytime policies, BSH and BUCB.",
        _WHERE,
        "Clearly lower (3 combined standard errors), in both tables.",
        better_than_anytime,
    ),
)
