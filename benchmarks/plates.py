"""What deciding 96 pulls at a time costs, on the captions: `python -m benchmarks.plates [--replicates R] [SPEC …]`.

A session fills plates of 96 wells and reads each before it fills the next, until 1,920 wells are used: 20 plates, or
more where a policy must wait for results and leaves wells empty. One JSON object a line, for each noise and policy: the
simple regret of the answer with its standard error, and the plates. `boxthirding simulate --budget 1920` has the same
policies one pull at a time.
"""

import argparse
import json
import math
import sys

import numpy as np

from boxthirding.lab import captions
from boxthirding.session import Session

WELLS, BUDGET = 96, 1_920
MEANS = captions().means
NOISES = (0.25, 0.5)
POLICIES = ("chase", "b3", "b3:reuse=topup", f"sh:budget={BUDGET}", "us")


def screened(policy: str, noise: float, seed: int) -> tuple[float, int]:
    """Return how far the answer after the last plate is below the best caption, and how many plates it took."""
    draw = np.random.default_rng(seed)
    session = Session(len(MEANS), policy, seed=seed)
    plates = 0
    while session.pulls < BUDGET:
        plates += 1
        tickets = session.ask(min(WELLS, BUDGET - session.pulls))
        for ticket, error in zip(tickets, draw.normal(0, noise, len(tickets)), strict=True):
            session.tell(ticket, float(MEANS[ticket.label] + error))
    best = session.recommend()
    if best is None:
        raise RuntimeError(f"{policy} has no answer after {session.pulls} pulls")
    return float(MEANS.max() - MEANS[best.label]), plates


def main(arguments: list[str]) -> None:
    """Measure the policies that were asked for, or all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plates")
    parser.add_argument("policies", nargs="*", default=POLICIES, metavar="SPEC")
    parser.add_argument("--replicates", type=int, default=400)
    asked = parser.parse_args(arguments)
    for noise in NOISES:
        for policy in asked.policies:
            regret, plates = np.array([screened(policy, noise, seed) for seed in range(asked.replicates)]).T
            row = {
                "noise": noise,
                "policy": policy,
                "regret": round(float(regret.mean()), 4),
                "error": round(float(regret.std(ddof=1)) / math.sqrt(len(regret)), 4),
                "plates": float(plates.mean()),
            }
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
