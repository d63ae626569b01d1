"""Evidence made up for tests: a world in which the paper is right, and ways to change it."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np

from boxthirding.lab import ErrorSplit, Run
from boxthirding.lab.paper.cases import Captions, Scale, caption_case, cases_of
from boxthirding.lab.paper.evidence import Evidence
from boxthirding.lab.paper.exact_facts import Comparison, Covered, Hardness, Level, compute_facts
from boxthirding.lab.paper.printed import COMPARED, EPSILONS, TABLES
from boxthirding.lab.theory.sizes import bracket_candidate_bounds, candidate_bounds, level_bounds

REPLICATES = 100
SPREAD = np.where(np.arange(REPLICATES) % 2, 1e-6, -1e-6)  # so that a mean has a standard error

SCALE = Scale("test", REPLICATES, REPLICATES)
CASES = cases_of(Captions(), SCALE)


def as_printed(case, policy, pulls):
    """Return the mean regret in the world of the paper."""
    if case.startswith("table"):
        table = next(table for table in TABLES if case == f"table-{table.arms}")
        return table.rows[policy].mean if table.rows[policy] else 0.03
    if case == "captions-none":
        return {"us": 0.9, "b3": 1.0, "bucb:delta=0.1": 1.1, "bsh": 1.2}[policy] * pulls**-0.5
    hard = {"poly": 3.0, "equal": 2.0}.get(case, 1.0)
    if policy == "us":
        return 0.4 * hard
    easier = 0.9 if case == "captions-kumaraswamy" and policy != "b3" else 1.0
    power = 0.5 if policy == "b3" else 0.3
    return 0.45 * hard * easier * (10 / max(10, pulls)) ** power


def run_of(case, policy, regret):
    checkpoints = np.array(sorted({*CASES[case].checkpoints, CASES[case].budget}))
    columns = [np.broadcast_to(regret(case, policy, int(pulls)), REPLICATES) + SPREAD for pulls in checkpoints]
    regrets = np.clip(np.stack(columns, axis=1), 0, None)
    blank = np.zeros(regrets.shape, np.int64)
    return Run(checkpoints, blank, regrets, 0.0, idle=blank[:, 0], numbers=np.arange(REPLICATES))


@cache
def real_facts():
    return compute_facts(CASES)


def printed_facts():
    """Return facts as the paper has them, also where it is wrong."""
    real = real_facts()
    b3 = tuple(replace(one, sizes=(int(candidate_bounds(one.pulls).high),)) for one in real.candidates["b3"])
    b3 = tuple(replace(one, level=int(level_bounds(int(one.size)).high)) for one in b3)
    bsh = tuple(replace(one, sizes=(_between(bracket_candidate_bounds(one.pulls)),)) for one in real.candidates["bsh"])
    wide = [one for one in bsh if bracket_candidate_bounds(one.pulls).low <= one.size]
    return replace(
        real,
        levels=(Level(0, 1_000, (500,)),),
        covered={128: Covered(1.0, 1.0), 1_024: Covered(1.0, 1.1)},
        shapes={"poly": Hardness(2, -0.5, 1), "equal": Hardness(1, 1, 1), "square": Hardness(0.5, 2, 1)},
        candidates={**real.candidates, "b3": b3[-len(wide) :], "bsh": tuple(wide)},
        variances={"bernoulli": np.full(3, 0.1), "kumaraswamy": np.full(3, 0.2)},
        comparisons=(Comparison(0.5, 8, 0.01, 0.1, 0.2),),
    )


def _between(bounds):
    return int(sum(bounds) / 2)


def split_of(share, exact):
    """Return a split with this share of runs that missed every good arm, after 10,000 pulls."""
    missed = np.array([round(share * REPLICATES)])
    return ErrorSplit(0.1, REPLICATES, np.array([10_000]), missed, np.array([10]), np.array([exact]))


def evidence(regret=as_printed, facts=None, splits: Mapping | None = None):
    """Return evidence in which a mean regret, or that of every replicate, is what a function says."""
    runs = {(key, policy): run_of(key, policy, regret) for key, case in CASES.items() for policy in case.policies}
    if splits is None:
        cases = [caption_case(spec) for spec in ("gaussian:0.5", "gaussian:0.2")]
        splits = {(case, policy, eps): split_of(0.3, 0.3) for case in cases for policy in COMPARED for eps in EPSILONS}
    return Evidence(facts or real_facts(), CASES, runs, splits)
