"""Compare this tree with an earlier commit: CPU time of live and durable calls, of simulated runs and of the import.

    python -m benchmarks.against COMMIT [WORD …]

Every row is timed in processes of the two trees by turns, so that a busy moment hits both alike. The ratio is the
median of the ratios of the turns, this tree to the other. A WORD picks the rows whose names contain it.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TURNS = 9
"""An odd number, so that the median is one of the ratios."""

LIVE = """
from boxthirding import Session
import random, time
draw = random.Random(0)
rewards = [draw.gauss(0, 1) for _ in range({pulls})]
session = Session({arms}, {policy!r}, seed=1)
began = time.process_time()
for reward in rewards:
    session.tell(session.ask()[0], reward)
print(time.process_time() - began)
"""

DURABLE = """
import tempfile, time
from boxthirding import open_study
with tempfile.TemporaryDirectory() as folder, open_study(f"{folder}/s.db", arms=1000, durability="normal") as study:
    study.tell(study.ask()[0], 0.5)
    began = time.process_time()
    for k in range(1500):
        study.tell(study.ask()[0], k % 7 / 7)
    print(time.process_time() - began)
"""

IMPORT = """
import time, numpy
began = time.process_time()
import boxthirding
print(time.process_time() - began)
"""

FIND = """
import random, time, boxthirding
draw = random.Random(0)
began = time.process_time()
boxthirding.find_best(1000, lambda arm: arm / 1000 + draw.gauss(0, .3), budget=3000, seed=1, progress=False)
print(time.process_time() - began)
"""

SIMULATE = """
import subprocess, sys, json
command = [sys.executable, "-m", "boxthirding", "simulate", "--instance", "captions", "--rewards", "gaussian:0.5",
           "--json", "--policy", {policy!r}, "--budget", "10000", "--replicates", "60", "--seed", "1", "--threads", "1"]
subprocess.run(command, check=True, capture_output=True)  # compiles
runs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(2)]
print(min(json.loads(run.splitlines()[-1])["seconds"] for run in runs))
"""


def rows() -> dict[str, str]:
    """Return the program of each row, by its name."""
    told = {"prose": "prose:sigma=1", "bucb": "bucb:sigma=1"}
    found = {"import": IMPORT, "find_best": FIND, "durable ask + tell": DURABLE}
    for policy in ("b3", "chase", "us", "prose", "asha", "ash", "bsh", "bucb", "dsh", "ebtc"):
        for arms in (1_000, 10_000_000) if policy in ("b3", "chase") else (1_000,):
            name = f"live ask + tell, {policy}, {arms:,} arms"
            found[name] = LIVE.format(arms=arms, policy=told.get(policy, policy), pulls=4_000)
    for policy in ("us", "b3", "chase", "bsh", "asha"):
        found[f"simulate {policy}"] = SIMULATE.format(policy=policy)
    return found


def seconds(tree: Path, program: str, caches: Path) -> float:
    """Run a program with the package of a tree, and return the seconds that it prints."""
    variables = os.environ | {
        "PYTHONPATH": str(tree / "src"),
        "PYTHONPYCACHEPREFIX": str(caches),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=variables)  # noqa: S603  # our own
    return float(done.stdout)


def main(commit: str, words: list[str]) -> None:
    """Print a line of JSON for each row."""
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder, "tree")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(other), commit], check=True, cwd=ROOT)  # noqa: S603, S607  # our own
        try:
            for name, program in rows().items():
                if words and not any(word in name for word in words):
                    continue
                caches = [Path(folder, "here"), Path(folder, "there")]
                pairs = []
                for turn in range(TURNS + 1):
                    order = [(ROOT, caches[0]), (other, caches[1])]
                    times = dict.fromkeys((ROOT, other), 0.0)
                    for tree, cache in order if turn % 2 else order[::-1]:
                        times[tree] = seconds(tree, program, cache)
                    pairs.append((times[ROOT], times[other]))
                ratios = [here / there for here, there in pairs[1:]]  # the first turn compiles
                row = {
                    "what": name,
                    "ratio": round(statistics.median(ratios), 3),
                    "from": round(min(ratios), 3),
                    "to": round(max(ratios), 3),
                }
                print(
                    json.dumps(row | {"best of each": round(min(a for a, _ in pairs) / min(b for _, b in pairs), 3)}),
                    flush=True,
                )
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(other)], check=True, cwd=ROOT)  # noqa: S603, S607  # our own


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
