"""The simulator against drawing as many normal numbers as it has pulls."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.clock import best_of
from boxthirding import parse_policy, simulate
from boxthirding.lab import Gaussian, captions

PULLS = 10_000
REPLICATES = 1_000
LIMITS = {
    "b3": 4,
    "chase": 45,
    "us": 12,
    "bsh": 12,
    "ucbe": 20,
    "bucb": 20,
    "asha": 20,
    "prose": 60,
    "sh": None,
    "dsh": None,
    "klucb:subset=doubling": None,
    "lilucb:subset=doubling": None,
    "ebtc:subset=doubling": None,
    "ash:subset=doubling": None,
}
AIMS = {"chase": 8, "us": 5, "bsh": 5, "ucbe": 12}


def measure() -> Iterator[dict[str, Any]]:
    """Run 1,000 replicates of 10,000 pulls with 100 checkpoints on all cores, beside 10,000,000 normals on one."""
    instance, rewards = captions(), Gaussian(0.5)
    checkpoints = np.unique(np.geomspace(1, PULLS, 130).astype(int))[-100:]
    for spec, limit in LIMITS.items():
        policy = parse_policy(spec, budget=PULLS, sigma=rewards.sigma)

        def run(policy: Any = policy) -> None:
            simulate(instance, rewards, policy, budget=PULLS, checkpoints=checkpoints, replicates=REPLICATES, seed=1)

        run()  # compiles
        ours, normals = best_of(5, run, lambda: np.random.default_rng(1).standard_normal(PULLS * REPLICATES))
        yield {
            "what": f"{spec}, {PULLS * REPLICATES:,} pulls to drawing as many normals",
            "ratio": round(ours / normals, 2),
            "limit": limit,
            "aim": AIMS.get(spec),
            "seconds": round(ours, 3),
        }
