"""Plans checked against simulations of what they did not see: `python -m benchmarks.plan [--data DIR]`.

A pilot is drawn at random from a set of arms, a plan is made from it, and what the plan says of mean regret is compared
with runs on all arms. The first table has the embedded captions and, with `--data`, a folder that has 872.csv and
830.csv, known by their SHA-256, two more contests; then arms with normal and with uniform true means, and the
paper's `poly`, `equal` and `square`. The second table checks the budgets that plans find for a wish.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np

from boxthirding import plan
from boxthirding.errors import BoxThirdingError, InvalidInput
from boxthirding.lab import Instance, Run, captions, equal, from_csv, parse_rewards, poly, simulate, square
from boxthirding.lab.instances import contest_file

REWARDS = ("gaussian:0.2", "gaussian:0.5", "bernoulli")
BUDGETS = (2_000, 10_000)
PILOTS = ((100, 3), (350, 3))  # arms, pulls of each
WISH, TOP, SHARE = "top 1 % in 9 of 10 runs", 0.01, 0.9
FACTOR, WIDEST = 2.0, 6.0
SEED = 2_026
HEADING = (
    "| arms | rewards | pilot | no spread seen | pulls | true regret | plan / truth | within 2 | covered | high/low |",
    "|---|---|---|---|---|---|---|---|---|---|",
)
HEADING_OF_WISHES = (
    "| arms | rewards | pilot | out of reach | budget found | band of chances | chance there | kept |",
    "|---|---|---|---|---|---|---|---|",
)


@dataclass(frozen=True)
class Problem:
    """True means and rewards."""

    name: str
    instance: Instance
    rewards: str

    def pilot(self, arms: int, pulls: int, number: int) -> list[tuple[int, float]]:
        """Return scores of arms drawn at random."""
        random = np.random.default_rng([SEED, arms, pulls, number])
        chosen = random.choice(self.instance.n_arms, arms, replace=False)
        means = np.repeat(self.instance.means[chosen], pulls)
        if self.rewards == "bernoulli":
            scores = (random.random(len(means)) < means).astype(float)
        else:
            scores = means + parse_rewards(self.rewards).sigma * random.standard_normal(len(means))
        return list(zip(np.repeat(chosen, pulls).tolist(), scores.tolist(), strict=True))

    def run(self, budgets: Sequence[int], replicates: int) -> Run:
        """Return runs on all arms."""
        last = max(budgets)
        rewards = parse_rewards(self.rewards)
        return simulate(self.instance, rewards, "chase", budget=last, checkpoints=budgets, replicates=replicates)


@cache
def true_regret(problem: Problem, replicates: int) -> tuple[float, ...]:
    """Return the mean regret at the budgets."""
    return tuple(problem.run(BUDGETS, replicates).regret.mean(axis=0).tolist())


def regret_rows(problem: Problem, arms: int, pulls: int, pilots: int, replicates: int) -> Iterator[str]:
    """Yield a row of the table for each budget."""
    plans = [
        plan(problem.instance.n_arms, pilot=problem.pilot(arms, pulls, k), budgets=BUDGETS, seed=k)
        for k in range(pilots)
    ]
    unseen = sum(not one.known.shows_spread for one in plans)
    for place, (budget, true) in enumerate(zip(BUDGETS, true_regret(problem, replicates), strict=True)):
        rows = [one.rows[place] for one in plans]
        ratios = np.array([row.regret / true for row in rows])
        covered = sum(row.regret_low <= true <= row.regret_high for row in rows)
        widths = np.array([row.regret_high / row.regret_low for row in rows])
        near = int(((ratios <= FACTOR) & (ratios >= 1 / FACTOR)).sum())
        yield (
            f"| {problem.name} | {problem.rewards} | {arms} × {pulls} | {unseen} | {budget:,} | {true:.4f} | "
            f"{np.median(ratios):.2f} ({ratios.min():.2f} – {ratios.max():.2f}) | {near} | {covered} | "
            f"{np.median(widths):.1f} ({widths.max():.1f}) |"
        )


def wish_row(problem: Problem, arms: int, pulls: int, pilots: int, replicates: int) -> str:
    """Return how the budgets that plans find for a wish keep their word."""
    kept, chances, bands, budgets = 0, [], [], []
    for k in range(pilots):
        try:
            found = (
                plan(problem.instance.n_arms, pilot=problem.pilot(arms, pulls, k), want=WISH, seed=k).granted[0].found
            )
        except InvalidInput:  # out of reach, says the plan
            continue
        ranks = problem.instance.n_arms - np.searchsorted(
            np.sort(problem.instance.means), problem.instance.means, side="right"
        )
        answers = problem.run([found.budget], replicates).recommended[:, -1]
        chance = float((ranks[answers] < int(TOP * problem.instance.n_arms)).mean())
        error = np.sqrt(chance * (1 - chance) / replicates)
        kept += found.chance_low - error <= chance <= found.chance_high + error
        chances.append(chance)
        bands.append((found.chance_low, found.chance_high))
        budgets.append(found.budget)
    start = f"| {problem.name} | {problem.rewards} | {arms} × {pulls} | {pilots - len(budgets)}"
    if not budgets:
        return f"{start} | | | | |"
    low, middle, high = np.quantile(chances, (0, 0.5, 1))
    least, most = np.median(bands, axis=0)
    return (
        f"{start} | {np.median(budgets):,.0f} ({min(budgets):,} – {max(budgets):,}) | {least:.0%} – {most:.0%} | "
        f"{middle:.0%} ({low:.0%} – {high:.0%}) | {kept} of {len(budgets)} |"
    )


def normal(arms: int = 5_000) -> Instance:
    """Return arms whose true means are normal, with a standard deviation of 1."""
    return Instance("normal", np.random.default_rng(SEED).standard_normal(arms))


def uniform(arms: int = 5_000) -> Instance:
    """Return arms whose true means are uniform on (0, 1), as those of the README."""
    return Instance("uniform", np.random.default_rng(SEED).random(arms))


def problems_of(data: Path | None, only: Sequence[str]) -> list[Problem]:
    """Return the problems: the captions, contests if they are there, and the paper's instances."""
    instances = {"captions": captions}
    if data is not None:
        instances |= {number: partial(from_csv, contest_file(data, number)) for number in ("872", "830")}
    formulas = {"poly": poly, "equal": equal, "square": square}
    found = [Problem(name, make(), rewards) for name, make in instances.items() for rewards in REWARDS]
    found.append(Problem("normal", normal(), "gaussian:3"))
    found += [Problem("uniform", uniform(), rewards) for rewards in ("gaussian:0.3", "gaussian:1")]
    found += [Problem(name, make(), "gaussian:1") for name, make in formulas.items()]
    return [problem for problem in found if not only or problem.name in only]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print Markdown."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, help="a folder with 872.csv and 830.csv")
    options.add_argument("--only", action="append", default=[], metavar="NAME", help="such as captions")
    options.add_argument("--part", choices=("regret", "wishes", "both"), default="both")
    options.add_argument("--pilots", type=int, default=10)
    options.add_argument("--replicates", type=int, default=400, help="runs that a plan is compared with")
    given = options.parse_args(arguments)
    try:
        problems = problems_of(given.data, given.only)
    except BoxThirdingError as problem:
        options.exit(1, f"{options.prog}: error: {problem}\n")
    if given.part != "wishes":
        print("\n".join(HEADING))
        for arms, pulls in PILOTS:
            for problem in problems:
                for row in regret_rows(problem, arms, pulls, given.pilots, given.replicates):
                    print(row, flush=True)
    if given.part != "regret":
        print("\n".join(HEADING_OF_WISHES))
        for problem in problems:
            print(wish_row(problem, *PILOTS[0], given.pilots, given.replicates), flush=True)


if __name__ == "__main__":
    main()
