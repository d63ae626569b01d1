"""What learning the difficulty of examples is worth: `python -m benchmarks.examples`, a line of JSON for each world.

In a world, arms and examples differ, and a pair of them is scored once. Each line has the mean regret of three ways to
search it, with standard errors over the same replicates:

    learned   each arm sees examples drawn at random, and their difficulty is learned: what a session does
    random    each arm sees examples drawn at random from all of them, and scores are compared as they are
    same      all arms see the examples in the same order, and scores are compared as they are

and the ratios of the first to the others, with the geometric means over all worlds last. `--replicates R`, `--seed S`
and `--only WORD` (worlds whose name contains it) change the 400 replicates, the seed and the worlds.
"""

import argparse
import json
import math
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from unittest.mock import patch

import numpy as np

from boxthirding import Session
from boxthirding.session import effects, examples
from boxthirding.types import Floats

WAYS: Final = ("learned", "random", "same")


@dataclass(frozen=True)
class World:
    """Arms that differ by `apart`, examples that differ by `hard`."""

    arms: int
    examples: int
    calls: int
    apart: float
    hard: float
    noise: float | None = None  # of a score; None for scores of 0 and 1, with differences on the logit scale
    judges: bool = False  # whether scores of 0 and 1 are noisy by themselves, so that regret is that of the chances

    @property
    def name(self) -> str:
        """Return what tells this world from the others."""
        kind = "0/1" if self.noise is None else "additive"
        noise = ", noisy judge" if self.judges else "" if self.noise is None else f", noise {self.noise:g}"
        return f"{kind}, {self.arms:,} × {self.examples}, {self.apart:g} and {self.hard:g}{noise}, {self.calls:,} calls"

    def draw(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Return the scores by arm and example, and the true means of the arms."""
        quality, ease = rng.normal(0, self.apart, self.arms), rng.normal(0, self.hard, self.examples)
        if self.noise is not None:
            scores = quality[:, None] + ease + rng.normal(0, self.noise, (self.arms, self.examples))
            return scores, scores.mean(1)
        chances = 1 / (1 + np.exp(-(quality[:, None] + ease + 0.8)))
        scores = (rng.random((self.arms, self.examples)) < chances).astype(float)
        return scores, (chances if self.judges else scores).mean(1)


WORLDS: Final = (
    World(300, 200, 1_500, 0.5, 1.5),
    World(300, 200, 3_000, 0.5, 1.5),
    World(300, 50, 1_500, 0.5, 1.5),
    World(300, 20, 600, 0.5, 1.5),
    World(300, 5, 400, 0.5, 1.5, judges=True),
    World(300, 200, 1_500, 0.5, 0.0),
    World(300, 50, 1_500, 0.5, 1.5, judges=True),
    World(1_000, 200, 3_000, 0.5, 3.0),
    World(1_000, 50, 1_500, 0.5, 3.0),
    World(100, 5, 100, 1.0, 1.0, noise=0.3),
    World(300, 50, 600, 1.0, 1.0, noise=1.0),
    World(1_000, 20, 400, 1.0, 2.0, noise=1.0),
    World(1_000, 5, 400, 1.0, 0.0, noise=1.0),
    World(1_000, 200, 2_000, 1.0, 3.0, noise=1.0),
)


def answer(way: str, scores: Floats, calls: int, seed: int) -> int:
    """Return the best arm that a search finds with a number of calls."""
    arms, size = scores.shape
    if way == "same":
        return _same_order(scores, calls, seed)
    never = sys.maxsize
    with (
        patch.object(effects, "FIRST_FIT", effects.FIRST_FIT if way == "learned" else never),
        patch.object(examples, "WINDOW", examples.WINDOW if way == "learned" else never),
    ):
        session = Session(arms, seed=seed, examples=size)
        for _ in range(calls):
            for ticket in session.ask():
                session.tell(ticket, float(scores[ticket.label, ticket.pull]))
    return int(session.top(1)[0].label)


def _same_order(scores: Floats, calls: int, seed: int) -> int:
    """Search with pull k of every arm on the same example; pulls beyond the last example give the arm's mean, free."""
    order = np.random.default_rng(seed).permutation(scores.shape[1])
    session = Session(len(scores), seed=seed)
    spent = free = 0
    while spent < calls and free < calls:
        (ticket,) = session.ask()
        if ticket.pull < len(order):
            session.tell(ticket, float(scores[ticket.label, order[ticket.pull]]))
            spent += 1
        else:
            session.tell(ticket, float(scores[ticket.label].mean()))
            free += 1
    return int(session.top(1)[0].label)


def measure(world: World, replicates: int, seed: int) -> dict[str, Any]:
    """Return the regrets of all ways to search a world."""
    regrets: dict[str, list[float]] = {way: [] for way in WAYS}
    for replicate in range(replicates):
        scores, means = world.draw(np.random.default_rng([seed, replicate]))
        for way, found in regrets.items():
            found.append(float(means.max() - means[answer(way, scores, world.calls, replicate)]))
    row: dict[str, Any] = {"world": world.name, "replicates": replicates, "seed": seed}
    for way, found in regrets.items():
        error = statistics.stdev(found) / math.sqrt(replicates)
        row[way] = [round(statistics.fmean(found), 4), round(error, 4)]
    for way in WAYS[1:]:
        other = statistics.fmean(regrets[way])
        row[f"learned / {way}"] = round(statistics.fmean(regrets["learned"]) / other, 3) if other else math.inf
    return row


def main(arguments: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield a row for each world, and one over all of them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.examples", description=__doc__)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--seed", type=int, default=2029)
    parser.add_argument("--only", default="")
    asked = parser.parse_args(arguments)
    rows = []
    for world in WORLDS:
        if asked.only in world.name:
            rows.append(measure(world, asked.replicates, asked.seed))
            yield rows[-1]
    yield {
        "geometric mean over": len(rows),
        **{
            way: round(statistics.geometric_mean(row[way] for row in rows), 3)
            for way in ("learned / random", "learned / same")
        },
    }


if __name__ == "__main__":
    for row in main():
        print(json.dumps(row, ensure_ascii=False), flush=True)
