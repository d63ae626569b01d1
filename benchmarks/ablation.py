"""What each rule of chase is worth: the policy beside variants of it that lack or change one rule.

`python -m benchmarks.ablation --data DIR` prints a Markdown table: regret relative to `prose`, which is told σ, as
geometric means over groups of cells, with the half width of the 95 % interval. Only the problems that the rules were
chosen on are looked at. A variant is the text of chase.py and of chase_final.py with some lines replaced, so that it is
compiled like any policy; a line that is no longer there is an error.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from boxthirding.lab import simulate
from boxthirding.lab.leaderboard.board import Ratio, paired
from boxthirding.lab.leaderboard.suites import Cell, Group, Problem, problems_of, suite_named
from boxthirding.policies import chase, chase_final, parse_policy
from boxthirding.types import Floats, Policy

Regrets = dict[Cell, Floats]

_NUMBER = "{}: Final = {}"
_BAR = ">= mean(state.arms, leader)"
_MERIT = "LEAD * deviation / math.sqrt(n)"
_SHRUNK = """\
        known = n + prior_pulls(state)
        shrunk = facts[CENTRE] + (score - facts[CENTRE]) * (n / known)
        score = shrunk - CAUTION * facts[SIGMA] / math.sqrt(known)
"""


@dataclass(frozen=True)
class Variant:
    """The policy with some of its text replaced; each old text must stand in its files exactly once."""

    rule: str
    """The number of the rule in the policy's docstring."""
    name: str
    replaced: tuple[tuple[str, str], ...] = ()


def constant(name: str, before: str, after: str) -> tuple[str, str]:
    """Return the replacement that gives a constant of the file another value."""
    return _NUMBER.format(name, before), _NUMBER.format(name, after)


VARIANTS = (
    Variant("", "full"),
    Variant("2", "keeping up with the leader's score", ((_BAR, ">= state.leader.value[leader]"),)),
    Variant("2", "keeping up with the leader's lower bound", ((_BAR, ">= state.tree.lower[leader]"),)),
    Variant("2", "no lead: mean against mean", (constant("LEAD", "0.3", "0.0"),)),
    Variant("2", "a lead of 0.15 σ ln(n)/√n", ((_MERIT, "0.15 * math.log(n) * deviation / math.sqrt(n)"),)),
    Variant("2", "twice the lead", (constant("LEAD", "0.3", "0.6"),)),
    Variant("2", "as many pulls again as it has had", (("(state.arms.pulls[arm] + 1) // 2", "state.arms.pulls[arm]"),)),
    Variant(
        "3",
        "no pulls for the sake of σ",
        (("too_few_repeats(state.noise.repeats[0], scalars[TOLD], scalars[OUT])", "False"),),
    ),
    Variant("4", "ρ = 5 if there is noise", (("        set_ratio(state)\n", "        facts[RATIO] = 5.0\n"),)),
    Variant("4", "ρ as low as 0.25", (constant("LEAST_RATIO", "2.0", "0.25"),)),
    Variant("5", "no final", (constant("EARNED", "2", "0"),)),
    Variant("5", "a pull of the chase earns one", (constant("EARNED", "2", "3"),)),
    Variant("6", "no rotation", (("min(1 << scalars[TURN], finalists)", "finalists"),)),
    Variant("7", "never clear", (("if tree.upper[boldest] <=", "if False and tree.upper[boldest] <="),)),
    Variant("8", "upper bound + 1σ/√n for all", (constant("UPPER_OF_ALL", "2.0", "1.0"),)),
    Variant("9", "ρ as it is", (constant("FARTHER", "1.8", "1.0"),)),
    Variant("9", "ρ / 3", (constant("FARTHER", "1.8", "3.0"),)),
    Variant("9", "answer by shrunk mean - 1", (constant("CAUTION", "2.0", "1.0"),)),
    Variant(
        "9",
        "answer by lower bound - 2σ/√n",
        ((_SHRUNK, "        score -= 2.0 * facts[SIGMA] / math.sqrt(n)\n"),),
    ),
    Variant("9", "answer by plain mean", ((_SHRUNK, ""),)),
    Variant(
        "10",
        "fits at every quarter",
        (("scalars[TOLD] + max(1, scalars[OWN])", "scalars[TOLD] + max(1, scalars[TOLD] // 4)"),),
    ),
    Variant("11", "no result excluded", (("usual_variance(state.noise, pulls, scalars[KNOWN])", "0.0"),)),
)


def main(arguments: Sequence[str]) -> str | None:
    """Print the table, a row when it is measured; return what is wrong, or None."""
    asked = _options(arguments)
    chosen = [one for one in VARIANTS if asked.only in one.name]
    if not chosen:
        return f"no variant is named like {asked.only}: there are {', '.join(one.name for one in VARIANTS)}"
    problems = problems_of(suite_named("selection"), asked.data)
    reference = measured(problems, asked, None)
    columns: dict[str, list[Cell]] = {}
    for cell in reference:
        rich = cell.group is Group.RICH
        columns.setdefault(f"{cell.arms}, T = {cell.budget:,}" if rich else cell.group.value, []).append(cell)
    print(
        f"Relative to prose told σ; {asked.replicates:,} replicates, seed {asked.seed}; ± half of the 95 % interval.\n"
    )
    print(f"| rule | variant | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}", flush=True)
    for variant in chosen:
        regrets = measured(problems, asked, policy_of(variant))
        ratios = (_ratio(regrets, reference, cells) for cells in columns.values())
        print(f"| {variant.rule} | {variant.name} | {' | '.join(map(_in_words, ratios))} |", flush=True)
    return None


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ablation", description="What each rule of chase is worth."
    )
    parser.add_argument("--data", type=Path, metavar="DIR", help="a folder with 893.csv; else the embedded captions")
    parser.add_argument("--replicates", type=int, default=1_000, metavar="R")
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("--only", default="", metavar="WORD", help="only variants whose name contains this")
    return parser.parse_args(arguments)


def policy_of(variant: Variant) -> Policy:
    """Return the policy of a variant, from the text of the file with its replacements."""
    texts = {one: Path(str(one.__file__)).read_text(encoding="utf-8") for one in (chase_final, chase)}
    for old, new in variant.replaced:
        places = [one for one, text in texts.items() for _ in range(text.count(old))]
        if len(places) != 1:
            raise ValueError(f"{variant.name!r} replaces {old!r}, which the policy's files have {len(places)} times")
        texts[places[0]] = texts[places[0]].replace(old, new)
    name = f"{__name__}: {variant.name}".replace(".", ",")  # a dot would make it a package's
    # Only for the import in the policy's own text.
    sys.modules[chase_final.__name__] = _module(f"{name}, final", texts[chase_final])
    try:
        module = _module(name, texts[chase])
    finally:
        sys.modules[chase_final.__name__] = chase_final
    policy: Policy = module.Chase()
    return policy


def _module(name: str, text: str) -> ModuleType:
    module = ModuleType(name)
    sys.modules[name] = module  # where a dataclass looks its annotations up
    exec(compile(text, f"<{name}>", "exec"), module.__dict__)  # noqa: S102  # our own text
    return module


def measured(problems: Sequence[Problem], asked: argparse.Namespace, policy: Policy | None) -> Regrets:
    """Run a policy, or else PROSE told σ, on every problem; return its regrets by cell, [R] each."""
    found: Regrets = {}
    for problem in problems:
        run = simulate(
            problem.instance,
            problem.model,
            policy or parse_policy("prose", sigma=problem.model.sigma),
            budget=max(problem.budgets),
            checkpoints=problem.budgets,
            replicates=asked.replicates,
            seed=asked.seed,
        )
        found |= {cell: run.regret[:, place] for place, cell in enumerate(problem.cells)}
    return found


def _ratio(regrets: Regrets, reference: Regrets, cells: Sequence[Cell]) -> Ratio:
    ours, theirs = (np.stack([one[cell] for cell in cells], axis=1) for one in (regrets, reference))
    return paired(ours, theirs)


def _in_words(ratio: Ratio) -> str:
    low, high = ratio.interval(0.95)
    return f"{ratio.value:.3f} ± {(high - low) / 2:.3f}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
