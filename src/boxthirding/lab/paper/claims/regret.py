"""Claims on simple regret: in the paper's figures, where it is drawn against pulls, and in its two tables."""

import math
from typing import Final

from boxthirding.lab.paper.cases import GAPS, NOISY, caption_case, table_case
from boxthirding.lab.paper.claims import ENOUGH, Finding, Measurement, Verdict, claim, listed, verdict_of
from boxthirding.lab.paper.evidence import CLEARLY, Estimate, Evidence
from boxthirding.lab.paper.printed import (
    ANYTIME,
    BUDGET,
    FIXED_BUDGET,
    NAMES,
    REPLICATES,
    TABLES,
    UNROUNDED,
    PrintedTable,
)

FEW: Final = 100  # the first pulls, which the paper's claims exclude

EARLY: Final = 10
COMPARABLE: Final = 1.5  # two regrets are comparable if one is at most this many times the other

BRACKETS: Final = ("bucb:delta=0.1", "bsh")
_B3, _US = "b3", "us"

OURS: Final = ("b3", "sh:growth=1.7,mode=paper")  # the rows that specify the policy exactly

BASELINES: Final = ("sh", "ucbe:exploration=oracle", "bsh", "bucb:delta=0.1")
"""The rows of baselines, run here as their own authors define them."""

_TABLES = "appendix B.2"


@claim(
    "B3 has the lowest regret wherever there is noise",
    "Of US, BUCB, BSH and B3, B3 has the lowest simple regret in every noisy setting, beyond the first few pulls.",
    "section 5.2, appendix B.1, the experiments after the end of the document",
    f"In each of {len(NOISY)} noisy cases, at no checkpoint from {FEW} pulls on may another policy be clearly "
    f"below B3 (3 combined standard errors), and B3 must be lowest after {BUDGET:,} pulls.",
)
def lowest_when_noisy(evidence: Evidence) -> Finding:
    """Decide whether B3 has the lowest regret of the four wherever there is noise."""
    behind = {case: _behind(evidence, case, _B3) for case in NOISY}
    measured = []
    for case in NOISY:
        measured.append(_regret(evidence, case, _B3))
        rival = min((policy for policy in ANYTIME if policy != _B3), key=lambda p: _end(evidence, case, p).value)
        measured.append(_regret(evidence, case, rival))
    bad = [evidence.title(case) for case in NOISY if behind[case] or not _lowest_in_the_end(evidence, case)]
    reason = f"B3 is nowhere clearly above another policy from {FEW} pulls on, and lowest after {BUDGET:,}, in "
    if not bad:
        reason += f"all {len(NOISY)} noisy cases."
    else:
        late = [f"{evidence.title(case)}: at {_spanned(pulls)} pulls" for case, pulls in behind.items() if pulls]
        reason += f"{len(NOISY) - len(bad)} of {len(NOISY)} noisy cases; not in {listed(bad)}."
        reason += f" Clearly above another policy in {'; '.join(late)}." if late else ""
    return Finding(verdict_of([evidence.title(case) not in bad for case in NOISY]), reason, tuple(measured))


@claim(
    "Without noise US is best, and B3 comparable",
    "With rewards that have no noise, US has the lowest regret, and B3 performs comparably.",
    "section 5.2",
    f"From {FEW} pulls on no policy may be clearly below US; comparable means at most {COMPARABLE} times its regret.",
)
def best_without_noise(evidence: Evidence) -> Finding:
    """Decide whether US is best without noise, and B3 comparable."""
    case = caption_case("none")
    behind = _behind(evidence, case, _US)
    if behind:
        reason = f"US is clearly above another policy at {_spanned(behind)} pulls."
        return Finding(Verdict.FAILS, reason, tuple(_regret(evidence, case, policy) for policy in ANYTIME))
    ratios = {pulls: _ratio(evidence, case, pulls) for pulls in evidence.pulls(case) if pulls >= FEW}
    apart = [pulls for pulls, ratio in ratios.items() if ratio > COMPARABLE]
    measured = [_regret(evidence, case, policy, pulls) for pulls in (1_000, BUDGET) for policy in ANYTIME]
    reason = f"US is clearly above no other policy from {FEW} pulls on. "
    if apart:
        reason += (
            f"B3's regret is more than {COMPARABLE} times that of US at {_spanned(apart)} pulls "
            f"({ratios[1_000]:.1f} times at 1,000): second to US, but not comparable."
            if _end(evidence, case, _B3).value < min(_end(evidence, case, policy).value for policy in BRACKETS)
            else f"B3's regret is more than {COMPARABLE} times that of US at {_spanned(apart)} pulls, and not second."
        )
    else:
        reason += f"B3's regret is at most {COMPARABLE} times that of US."
    return Finding(verdict_of([True, not apart]), reason, tuple(measured))


@claim(
    "US falls fast, then stagnates",
    "US reduces its regret fast at first and stagnates after a few pulls, while BUCB, BSH and B3 go on improving.",
    "the experiments after the end of the document",
    f"After {EARLY} pulls no policy may be clearly below US; from {FEW} pulls to {BUDGET:,} US must lose less than "
    "half of its regret and each other policy more than half. The numbers are these losses.",
)
def uniform_stagnates(evidence: Evidence) -> Finding:
    """Decide whether US falls fast and then stagnates, while the others go on."""
    measured, slow, moving = [], [], []
    for case in NOISY:
        title = evidence.title(case)
        falls = {policy: _fall(evidence, case, policy, FEW) for policy in ANYTIME}
        measured += [Measurement(f"{title}: {NAMES[policy]} loses", fall, "%") for policy, fall in falls.items()]
        early = evidence.regret(case, _US, EARLY)
        if any(early.clearly_above(evidence.regret(case, policy, EARLY)) for policy in ANYTIME):
            slow.append(title)
        if not falls[_US].value < 50 < min(falls[policy].value for policy in ANYTIME if policy != _US):  # noqa: PLR2004  # half
            moving.append(title)
    good = len(NOISY) - len({*slow, *moving})
    reason = (
        f"In {good} of {len(NOISY)} noisy cases no policy is clearly below US after {EARLY} pulls, and from {FEW} "
        f"pulls to {BUDGET:,} US loses less than half of its regret while each of the others loses more than half."
    )
    reason += f" Others are already below US after {EARLY} pulls in {listed(slow)}." if slow else ""
    reason += f" The second part fails in {listed(moving)}." if moving else ""
    parts = [evidence.title(case) not in {*slow, *moving} for case in NOISY]
    return Finding(verdict_of(parts), reason, tuple(measured))


@claim(
    "US hardly improves under power-law rewards",
    "With power-law rewards, the regret of US hardly falls even as the budget grows.",
    "appendix B.1",
    f"From {EARLY} pulls to {BUDGET:,} it must fall by less than a tenth.",
)
def uniform_under_power_law(evidence: Evidence) -> Finding:
    """Decide whether US hardly improves under power-law rewards."""
    case = caption_case("kumaraswamy")
    fall = _fall(evidence, case, _US, EARLY).value
    measured = tuple(_regret(evidence, case, _US, pulls) for pulls in (EARLY, FEW, 1_000, BUDGET))
    little = 10  # per cent
    reason = f"From {EARLY} pulls to {BUDGET:,} the regret of US changes by {-fall:+.1f} %."
    return Finding(verdict_of([fall < little]), reason, measured)


@claim(
    "BUCB and BSH do better under power-law than under Bernoulli rewards",
    "BUCB and BSH have a smaller regret under power-law rewards than under Bernoulli rewards.",
    "appendix B.1",
    f"Clearly smaller, for both policies, after 1,000 and after {BUDGET:,} pulls.",
)
def brackets_under_power_law(evidence: Evidence) -> Finding:
    """Decide whether BUCB and BSH do better under power-law than under Bernoulli rewards."""
    power, votes = caption_case("kumaraswamy"), caption_case("bernoulli")
    measured, better = [], []
    for policy in BRACKETS:
        for pulls in (1_000, BUDGET):
            measured += [_regret(evidence, case, policy, pulls) for case in (power, votes)]
            better.append(evidence.regret(votes, policy, pulls).clearly_above(evidence.regret(power, policy, pulls)))
    reason = (
        f"Of {len(better)} comparisons, BUCB and BSH after 1,000 and {BUDGET:,} pulls, {sum(better)} have a clearly "
        "lower regret under power-law rewards."
    )
    return Finding(verdict_of(better), reason, tuple(measured))


@claim(
    "Polynomial gaps give the highest regret, although their best arm is the clearest",
    "Of the three instances made by formula, the one whose best arm stands out most has the highest regret.",
    "the experiments after the end of the document",
    "Clearly higher than on both other instances, for each of the four policies. (Its best arm is the clearest: "
    "its H₂ is the smallest, see the table of instances.)",
)
def poly_is_hardest(evidence: Evidence) -> Finding:
    """Decide whether the polynomial gaps give the highest regret."""
    measured, higher = [], []
    for policy in ANYTIME:
        ends = {case: _end(evidence, case, policy) for case in GAPS}
        measured += [_regret(evidence, case, policy) for case in GAPS]
        higher += [ends["poly"].clearly_above(ends[other]) for other in ("equal", "square")]
    reason = (
        f"After {BUDGET:,} pulls the regret on polynomial gaps is clearly above that on the two other instances in "
        f"{sum(higher)} of {len(higher)} comparisons, two for each of the four policies."
    )
    return Finding(verdict_of(higher), reason, tuple(measured))


@claim(
    "The guideline by noise level",
    "High noise: choose what tells candidates apart. Low noise: choose what screens many arms, US or B3. Unknown "
    "noise: choose B3.",
    "section 5.2",
    f"Captions at σ = 0.5, 0.2 and 0 after {BUDGET:,} pulls: US must be clearly worst at 0.5, US and B3 the two "
    "best at 0, and B3's largest distance from the best of the four the smallest.",
)
def guideline(evidence: Evidence) -> Finding:
    """Decide each line of the guideline by noise level."""
    high, moderate, none = (caption_case(spec) for spec in ("gaussian:0.5", "gaussian:0.2", "none"))
    by_case = {case: {policy: _end(evidence, case, policy) for policy in ANYTIME} for case in (high, moderate, none)}
    discriminating = all(by_case[high][_US].clearly_above(by_case[high][policy]) for policy in ANYTIME if policy != _US)
    order = sorted(ANYTIME, key=lambda policy: by_case[none][policy].value)
    screening = set(order[:2]) == {_US, _B3}
    worst = {
        policy: max(found[policy].value - min(e.value for e in found.values()) for found in by_case.values())
        for policy in ANYTIME
    }
    robust = min(worst, key=worst.__getitem__) == _B3
    measured = [_regret(evidence, case, policy) for case in by_case for policy in ANYTIME]
    measured += [Measurement(f"{NAMES[policy]}: most behind the best", Estimate(gap)) for policy, gap in worst.items()]
    reason = (
        f"High noise: US, which only screens, is {'' if discriminating else 'not '}clearly the worst. "
        f"No noise: US and B3 are {'' if screening else 'not '}the two best ({listed([NAMES[p] for p in order])}). "
        f"Unknown noise: over the three levels B3 is {'' if robust else 'not '}the policy that is least behind the "
        "best."
    )
    return Finding(verdict_of([discriminating, screening, robust]), reason, tuple(measured))


def _end(evidence: Evidence, case: str, policy: str) -> Estimate:
    return evidence.regret(case, policy, BUDGET)


def _regret(evidence: Evidence, case: str, policy: str, pulls: int = BUDGET) -> Measurement:
    what = f"{evidence.title(case)}: {NAMES[policy]} after {pulls:,} pulls"
    return Measurement(what, evidence.regret(case, policy, pulls))


def _behind(evidence: Evidence, case: str, policy: str) -> list[int]:
    """Return the checkpoints, after the first few pulls, at which another policy is clearly below this one."""
    return [
        pulls
        for pulls in evidence.pulls(case)
        if pulls >= FEW
        and any(
            evidence.regret(case, policy, pulls).clearly_above(evidence.regret(case, other, pulls)) for other in ANYTIME
        )
    ]


def _lowest_in_the_end(evidence: Evidence, case: str) -> bool:
    return min(ANYTIME, key=lambda policy: _end(evidence, case, policy).value) == _B3


def _ratio(evidence: Evidence, case: str, pulls: int) -> float:
    """Return how many times the regret of US B3 has; 1 where they do not differ clearly."""
    ours, best = evidence.regret(case, _B3, pulls), evidence.regret(case, _US, pulls)
    if not ours.clearly_above(best):
        return 1.0
    return ours.value / best.value if best.value else float("inf")


def _fall(evidence: Evidence, case: str, policy: str, since: int) -> Estimate:
    """Return by how many per cent the regret falls from some pulls to the end; its error is the delta method's."""
    before, after = (evidence.regrets(case, policy, pulls) for pulls in (since, BUDGET))
    if not before.any():
        return Estimate(0.0)
    share = float(after.mean() / before.mean())
    moved = (after - share * before) / before.mean()  # what each replicate, which has both regrets, moves the share by
    return Estimate(100 * (1 - share), 100 * Estimate.of(moved).error)


def _spanned(pulls: list[int]) -> str:
    return f"{pulls[0]:,}" if len(pulls) == 1 else f"{len(pulls)} checkpoints from {pulls[0]:,} to {pulls[-1]:,}"


def measured_row(evidence: Evidence, table: PrintedTable, policy: str) -> Estimate:
    """Return our mean regret of a row."""
    return evidence.regret(table_case(table.arms), policy, table.budget)


def printed_row(evidence: Evidence, table: PrintedTable, policy: str, row: str | None = None) -> Estimate | None:
    """Return the paper's mean of a row, the policy's own unless given; it prints no error, so ours is scaled to it."""
    printed = table.rows[row or policy]
    if printed is None:
        return None
    ours = measured_row(evidence, table, policy)
    replicates = evidence.runs[table_case(table.arms), policy].replicates
    return Estimate(printed.mean, ours.error * math.sqrt(replicates / REPLICATES))


@claim(
    "The tables' rows of B3 and of SH with growth 1.7",
    "At N = 128 and T = 896 the simple regret of B3 is 0.0490 and of SH 0.0446; at N = 1,024 and T = 10,240 it is "
    "0.0268 and 0.0195.",
    _TABLES,
    "Our mean must be within 3 combined standard errors of the printed one. The paper does not print its noise: σ "
    "= 0.25 is inferred, as the one that reproduces these rows.",
)
def rows_of_the_paper(evidence: Evidence) -> Finding:
    """Decide whether the rows of B3 and of SH with growth 1.7 come out again."""
    found = _compared(evidence, OURS, "B3 and SH with growth 1.7")
    (unrounded, row), *_ = UNROUNDED.items()
    away = [f"{_apart(evidence, table, unrounded, row):+.1f} at N = {table.arms:,}" for table in TABLES]
    more = f" With the growth 1.728, of which 1.7 may be the rounding, SH is {listed(away)} standard errors away."
    return Finding(found.verdict, found.reason + more, found.measured)


@claim(
    "The tables' rows of SH with growth 2, UCB-E, BSH and BUCB",
    "SH with growth 2, UCB-E, BSH and BUCB have the regrets printed in the two tables.",
    _TABLES,
    "Our mean must be within 3 combined standard errors of the printed one. Each baseline is the one its own "
    "authors define; none is tuned to meet a row.",
)
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


@claim(
    "B3 is close to policies that know the budget",
    "Without knowing T, B3 has a regret comparable to that of SH and UCB-E, which know it.",
    f"abstract, {_TABLES}",
    f"B3's mean regret must be at most {COMPARABLE} times theirs, in both tables.",
)
def close_to_fixed_budget(evidence: Evidence) -> Finding:
    """Decide whether B3 comes close to policies that are told the budget."""
    return _ratios(evidence, FIXED_BUDGET, "told the budget", close=True)


@claim(
    "B3 is better than BSH and BUCB when the budget covers all arms",
    "In the tables B3 is far better than the other anytime policies, BSH and BUCB.",
    _TABLES,
    "Clearly lower (3 combined standard errors), in both tables.",
)
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


def agreement(evidence: Evidence, table: PrintedTable) -> str:
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


def _apart(evidence: Evidence, table: PrintedTable, policy: str, row: str | None = None) -> float:
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
            good.append(ours.value <= COMPARABLE * theirs.value if close else theirs.clearly_above(ours))
            ratio = ours.value / theirs.value if theirs.value else math.inf
            words.append(f"{ratio:.2f} times that of {NAMES[policy]} at N = {table.arms:,}")
    rule = f"at most {COMPARABLE} times as high" if close else "clearly lower"
    reason = (
        f"B3's regret is {rule} in {sum(good)} of {len(good)} comparisons with policies that are {who}: "
        f"{listed(words)}."
    )
    return Finding(verdict_of(good), reason, tuple(measured))
