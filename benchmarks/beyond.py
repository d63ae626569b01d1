"""What chase, the default, promises beyond the paper, measured: `python -m benchmarks.beyond --data DIR`.

DIR holds the summaries 893.csv, 872.csv and 830.csv of the public caption-contest data set, known by their SHA-256.
The first table has each promise, what was measured, and whether it is kept. Of these problems only contest 893, poly,
equal and the two data-rich ones were looked at while the rules were chosen; the second table has the others apart. The
third has the rivals that would pull every arm first, each on a random subset that doubles. Last come arms that are far
below all others, and outliers. `--only promises`, `rivals`, `below` or `outliers` measures nothing else.
"""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.outliers import Outliers
from boxthirding.errors import BoxThirdingError
from boxthirding.lab import Instance, Run, Setting, from_csv, named, parse_rewards, simulate, sweep
from boxthirding.lab.instances import contest_file
from boxthirding.policies import parse_policy

CONTESTS = ("893", "872", "830")
QUIET = ("none", "gaussian:0.05")
NOISY = ("gaussian:0.2", "gaussian:0.5", "gaussian:1", "bernoulli", "kumaraswamy")
FORMULAS = ("poly", "equal", "square")
BUDGETS = (500, 1_000, 2_500, 5_000, 10_000)
UNUSED_BUDGETS = (750, 1_500, 3_500, 7_000)
RICH = ((128, 896, 0.0365), (1_024, 10_240, 0.0102))

OURS, TOLD, PAPER = "chase", "prose", "b3"
BELOW = {"none": (0, 0.0), "5 at −100": (5, -100.0), "500 at −10": (500, -10.0), "3,000 at −10": (3_000, -10.0)}
RIVALS = tuple(f"{name}:subset=doubling" for name in ("ebtc", "ash", "lilucb", "klucb"))
Cell = tuple[str, str, int]  # instance, rewards, pulls


@dataclass(frozen=True)
class Lab:
    """Where the problems come from, and how often each is run."""

    data: Path
    replicates: int
    seed: int
    results: Path | None

    @cache  # noqa: B019  # there is one lab
    def instance(self, name: str) -> Instance:
        """Return a contest, its first rows, or an instance by formula."""
        if name in FORMULAS:
            return named(name, None)
        contest, _, top = name.partition(" top ")
        return from_csv(contest_file(self.data, contest), int(top) if top else None)

    def setting(self, name: str, rewards: str, policy: str, workers: int = 1) -> Setting:
        """Return a policy's run up to the largest budget, read at all the others."""
        last = next((budget for top, budget, _ in RICH if name.endswith(f" top {top}")), max(BUDGETS))
        times = tuple(t for t in (*BUDGETS, *UNUSED_BUDGETS, last) if t <= last)
        return Setting(
            self.instance(name),
            parse_rewards(rewards),
            policy,
            budget=last,
            checkpoints=times,
            replicates=self.replicates,
            seed=self.seed,
            workers=workers,
        )

    @cache  # noqa: B019
    def run(self, name: str, rewards: str, policy: str, workers: int = 1) -> Run:
        """Run it, unless it was run before."""
        file = None
        if self.results is not None:
            self.results.mkdir(parents=True, exist_ok=True)
            words = f"{name} {rewards} {policy} {workers}".replace(" ", "-").replace(":", "-")
            file = self.results / f"{words}.jsonl"
        return sweep([self.setting(name, rewards, policy, workers)], results=file)[0]

    def regret(self, cell: Cell, policy: str, workers: int = 1) -> np.ndarray:
        """Return the regret of every replicate in a cell, [R]."""
        name, rewards, pulls = cell
        run = self.run(name, rewards, policy, workers)
        return run.regret[:, list(run.checkpoints).index(pulls)]

    def ratio(self, cell: Cell, rival: str) -> tuple[float, float]:
        """Return our mean regret relative to a rival's, 0.001 added to both, and its relative standard error."""
        ours, theirs = self.regret(cell, OURS) + 0.001, self.regret(cell, rival) + 0.001
        apart = ours / ours.mean() - theirs / theirs.mean()  # replicate k meets the arms in the same order in both
        return float(ours.mean() / theirs.mean()), float(apart.std() / np.sqrt(len(apart)))

    def geometric(self, cells: Iterable[Cell], rival: str) -> float:
        """Return the geometric mean of the ratios over cells."""
        return float(np.exp(np.mean([np.log(self.ratio(cell, rival)[0]) for cell in cells])))


def promises(lab: Lab) -> Iterator[tuple[str, float, float]]:
    """Yield each promise, what was measured, and the most it may be."""
    noisy = [(c, r, t) for c in CONTESTS for r in NOISY for t in BUDGETS]
    quiet = [(c, r, t) for c in CONTESTS for r in QUIET for t in BUDGETS]
    yield "noisy cells, relative to prose told sigma", lab.geometric(noisy, TOLD), 0.895
    short = [cell for cell in quiet if cell[2] <= 5_000]  # noqa: PLR2004  # the promise itself
    yield "none and 0.05 up to 5,000 pulls, relative to prose told sigma", lab.geometric(short, TOLD), 0.42
    z_99 = 2.576
    low = {cell: ratio * np.exp(-z_99 * se) for cell in noisy + quiet for ratio, se in [lab.ratio(cell, TOLD)]}
    worst = max(low, key=low.__getitem__)
    yield f"the lower end of a 99 % interval, the worst cell ({', '.join(map(str, worst))})", low[worst], 1.10
    yield "all cells, relative to b3", lab.geometric(noisy + quiet, PAPER), 0.52
    yield "noisy cells, relative to b3", lab.geometric(noisy, PAPER), 0.67
    yield "the worst cell, relative to b3", max(lab.ratio(cell, PAPER)[0] for cell in noisy + quiet), 0.97
    silent = [cell for cell in quiet if cell[1] == "none"]
    above = [float(lab.regret(cell, OURS).mean() - lab.regret(cell, "us").mean()) for cell in silent]
    yield "without noise, above us in the worst cell", max(above), 0.002
    for top, budget, most in RICH:
        cell = (f"893 top {top}", "gaussian:0.25", budget)
        yield f"data-rich, {top} arms and {budget:,} pulls", float(lab.regret(cell, OURS).mean()), most
    formulas = [(f, "gaussian:1", t) for f in FORMULAS for t in BUDGETS]
    yield "poly, equal, square, relative to prose told sigma", lab.geometric(formulas, TOLD), 1.05
    for rewards in ("gaussian:0.2", "gaussian:0.5"):
        cell = ("893", rewards, 10_000)
        many, one = lab.regret(cell, OURS, workers=64).mean(), lab.regret(cell, OURS).mean()
        yield f"64 workers relative to one, {rewards}", float(many / one), 1.15


def blocks() -> Iterator[tuple[str, list[Cell]]]:
    """Yield the problems by how they were used."""
    rewards = (*QUIET, *NOISY)
    yield "chosen on: contest 893", [("893", r, t) for r in rewards for t in BUDGETS]
    yield "chosen on: poly, equal", [(f, "gaussian:1", t) for f in FORMULAS[:2] for t in BUDGETS]
    yield "held out: contest 872", [("872", r, t) for r in rewards for t in BUDGETS]
    yield "held out: contest 830", [("830", r, t) for r in rewards for t in BUDGETS]
    yield "held out: square", [("square", "gaussian:1", t) for t in BUDGETS]
    yield "held out: votes of all three contests", [(c, "votes", t) for c in CONTESTS for t in BUDGETS]
    yield "held out: other budgets, contests", [(c, r, t) for c in CONTESTS for r in rewards for t in UNUSED_BUDGETS]
    yield "held out: other budgets, formulas", [(f, "gaussian:1", t) for f in FORMULAS for t in UNUSED_BUDGETS]


def kinds() -> Iterator[tuple[str, list[Cell]]]:
    """Yield the problems by what they ask for."""
    yield "noisy, contests", [(c, r, t) for c in CONTESTS for r in NOISY for t in BUDGETS]
    yield "quiet, contests", [(c, r, t) for c in CONTESTS for r in QUIET for t in BUDGETS]
    yield "poly, equal, square", [(f, "gaussian:1", t) for f in FORMULAS for t in BUDGETS]


def relative_to_rivals(lab: Lab) -> Iterator[str]:
    """Yield rows of our regret relative to each rival's; the means of formulas lie outside the range of klucb."""
    yield f"| problems | {' | '.join(f'relative to {rival}' for rival in RIVALS)} | cells |"
    yield "|---" * (len(RIVALS) + 2) + "|"
    for kind, cells in kinds():
        able = [rival for rival in RIVALS if not (rival.startswith("klucb") and cells[0][0] in FORMULAS)]
        ratios = [f"{lab.geometric(cells, rival):.3f}" if rival in able else "–" for rival in RIVALS]
        yield f"| {kind} | {' | '.join(ratios)} | {len(cells)} |"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print Markdown."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--replicates", type=int, default=2_000)
    options.add_argument("--seed", type=int, default=2_026)
    options.add_argument("--results", type=Path, help="a folder: go on where the last run stopped")
    options.add_argument("--only", choices=[*PARTS], help="measure this part alone")
    given = options.parse_args(arguments)
    lab = Lab(given.data, given.replicates, given.seed, given.results)
    try:
        for contest in CONTESTS:  # before anything is simulated
            lab.setting(contest, QUIET[0], OURS)
        print(f"{OURS}, {given.replicates:,} replicates, seed {given.seed}\n")
        for part in PARTS if given.only is None else [given.only]:
            PARTS[part](lab)
    except BoxThirdingError as problem:
        options.exit(1, f"{options.prog}: error: {problem}\n")


def report_promises(lab: Lab) -> None:
    """Print each promise as it is measured, and what it is made of."""
    print("| promise | measured | at most | kept |\n|---|---|---|---|")
    for promise, measured, most in promises(lab):
        print(f"| {promise} | {measured:.4f} | {most:g} | {'yes' if measured <= most else 'NO'} |", flush=True)
    print("\n| problems | relative to prose told sigma | prose, sigma estimated | b3 | cells |\n|---|---|---|---|---|")
    for block, cells in blocks():
        ratios = [lab.geometric(cells, rival) for rival in (TOLD, "prose:sigma=estimated", PAPER)]
        print(f"| {block} | {' | '.join(f'{ratio:.3f}' for ratio in ratios)} | {len(cells)} |", flush=True)
    for rewards in (*QUIET, *NOISY, "votes"):
        print(f"\n{rewards}: relative to prose told sigma, at {', '.join(f'{t:,}' for t in BUDGETS)} pulls")
        for contest in CONTESTS:
            ratios = [lab.ratio((contest, rewards, t), TOLD) for t in BUDGETS]
            print(f"- {contest}:", ", ".join(f"{ratio:.2f} ± {ratio * se:.2f}" for ratio, se in ratios), flush=True)


def report_rivals(lab: Lab) -> None:
    """Print the regret relative to the rivals on a subset that doubles."""
    print()
    for row in relative_to_rivals(lab):
        print(row, flush=True)


def report_below(lab: Lab) -> None:
    """Print the regret at 5,000 pulls of 5,000 arms, uniform on (0, 1) but for some far below, with noise of 0.3."""
    pulls = arms = 5_000
    rng = np.random.default_rng(lab.seed)
    means = {words: np.append(rng.random(arms - few), np.full(few, low)) for words, (few, low) in BELOW.items()}
    means["all means −lognormal(0, 2)"] = -np.exp(2 * rng.standard_normal(arms))
    policies = (OURS, PAPER, TOLD)
    print("\nMean regret ± half of the 95 % interval")
    print(f"\n| arms far below | {' | '.join(policies)} |\n|---{'|---' * len(policies)}|")
    model = parse_rewards("gaussian:0.3")
    for words, of_arms in means.items():
        cells = []
        for name in policies:
            policy = parse_policy(name, sigma=model.sigma)
            run = simulate(
                Instance(words, of_arms), model, policy, budget=pulls, replicates=lab.replicates, seed=lab.seed
            )
            regret = run.regret[:, -1]
            cells.append(f"{regret.mean():.4f} ± {1.96 * regret.std() / np.sqrt(len(regret)):.4f}")
        print(f"| {words} | {' | '.join(cells)} |", flush=True)


def report_outliers(lab: Lab) -> None:
    """Print what outliers do; only the first contest was looked at while the rule was chosen."""
    for row in Outliers(tuple(lab.instance(contest) for contest in CONTESTS), lab.replicates, lab.seed).rows():
        print(row, flush=True)


PARTS = {"promises": report_promises, "rivals": report_rivals, "below": report_below, "outliers": report_outliers}


if __name__ == "__main__":
    main()
