"""How often the 95 % intervals of `found.confirm` cover the true mean: `python -m benchmarks.coverage`.

Each run is a search over four arms and a confirmation of all four; a row counts the intervals of all its runs. If all
scores of a run are equal, its arms have no interval; their share follows the table. It fails when a row covers less
than 93 %. `--runs R` and `--seed S` change the number of runs, 2,000, and the seed.
"""

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from boxthirding import find_best

ARMS, BUDGET = 4, 40
PULLS = (20, 50)
LEAST = 0.93
ANSWERS = (0.0, 0.5, 1.0)
MIXTURES = (
    (1 / 3, 1 / 3, 1 / 3),
    (0.05, 0.9, 0.05),
    (0.45, 0.1, 0.45),
    (0.8, 0.15, 0.05),
    (0.02, 0.08, 0.9),
    (0, 0.04, 0.96),
    (0.01, 0.98, 0.01),
    (0.01, 0.01, 0.98),
)

Draw = Callable[[np.random.Generator, float], float]
"""One score of an arm with a true mean."""


@dataclass(frozen=True)
class Row:
    """A kind of scores."""

    scores: str
    means: tuple[float, float]
    """The true means of arms are uniform between these."""
    draw: Draw


def bernoulli(rng: np.random.Generator, mean: float) -> float:
    """Return 1 with the chance `mean`, otherwise 0."""
    return float(rng.random() < mean)


def gaussian(rng: np.random.Generator, mean: float) -> float:
    """Return a mean with Gaussian noise of deviation 0.5."""
    return rng.normal(mean, 0.5)


def lognormal(sigma: float) -> Draw:
    """Return noise that is lognormal and has deviation 0.5; the deviation of its logarithm is `sigma`."""
    centre, deviation = math.exp(sigma**2 / 2), math.sqrt(math.expm1(sigma**2)) * math.exp(sigma**2 / 2)
    return lambda rng, mean: mean + 0.5 * (rng.lognormal(0, sigma) - centre) / deviation


def factor(rng: np.random.Generator, mean: float) -> float:
    """Return a mean times a lognormal factor: noise in proportion to the mean."""
    return mean * rng.lognormal(-0.125, 0.5)


def mixture(chances: tuple[float, ...]) -> Row:
    """Return answers of 0, ½ and 1 with given chances."""
    mean = float(np.dot(ANSWERS, chances))
    ends = np.cumsum(chances)
    name = " ".join(f"{chance:.2g}" for chance in chances)
    draw: Draw = lambda rng, _: ANSWERS[min(2, int(np.searchsorted(ends, rng.random(), side="right")))]  # noqa: E731
    return Row(f"0, ½, 1 with chances {name}", (mean, mean), draw)


def rows() -> Iterator[Row]:
    """Yield the kinds of scores that the documentation promises."""
    for p in (0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98):
        yield Row(f"0/1, p = {p:g}", (p, p), bernoulli)
    yield Row("0/1, uniform means", (0, 1), bernoulli)
    yield from map(mixture, MIXTURES)
    yield Row("Gaussian", (0, 1), gaussian)
    yield Row("lognormal noise, σ = 0.5", (0, 1), lognormal(0.5))
    yield Row("lognormal noise, σ = 1", (0, 1), lognormal(1.0))
    yield Row("lognormal factor, σ = 0.5", (1, 10), factor)


def measured(row: Row, pulls: int, runs: int, seed: int) -> tuple[float, float, float]:
    """Return the share of intervals that cover, their mean width, and the share of arms that have none."""
    count, covered, width = 0, 0, 0.0
    for run in range(runs):
        rng = np.random.default_rng((seed, pulls, run))
        means = rng.uniform(*row.means, ARMS)
        found = find_best(
            ARMS,
            lambda arm, rng=rng, means=means: row.draw(rng, means[arm]),
            budget=BUDGET,
            policy="chase",
            seed=run,
            progress=False,
        )
        for arm in found.confirm(ARMS, pulls).arms:
            if arm.low is None:
                continue
            count += 1
            covered += arm.low <= means[arm.label] <= arm.high
            width += arm.high - arm.low
    return covered / count, width / count, 1 - count / (runs * ARMS)


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=2026)
    given = parser.parse_args()
    print("| scores |" + "".join(f" {pulls} pulls: covered | width |" for pulls in PULLS))
    print("|---|" + "---|---|" * len(PULLS))
    worst, without = 1.0, []
    for row in rows():
        cells = [measured(row, pulls, given.runs, given.seed) for pulls in PULLS]
        worst = min(worst, *(covered for covered, *_ in cells))
        numbers = "".join(f" {100 * covered:.1f} % | {width:.3f} |" for covered, width, _ in cells)
        print(f"| {row.scores} |{numbers}", flush=True)
        without += [
            f"{row.scores}, {pulls} pulls: {100 * none:.1f} % of arms without an interval"
            for pulls, (*_, none) in zip(PULLS, cells, strict=True)
            if none
        ]
    print("", *without, sep="\n")
    if worst < LEAST:
        sys.exit(f"the worst row covers {100 * worst:.1f} %, but must cover {100 * LEAST:g} %")


if __name__ == "__main__":
    main()
