"""What is simulated for the figures and tables: cases, policies and how many replicates."""

from dataclasses import dataclass
from typing import Final

from boxthirding._checks import whole
from boxthirding.lab.instances import Instance, equal, poly, square
from boxthirding.lab.paper.contest import Contest
from boxthirding.lab.paper.printed import ANYTIME, BOX_PLOTS, BUDGET, COMPARED, TABLE_SIGMA, TABLES
from boxthirding.lab.plots import log_spaced
from boxthirding.lab.rewards import Gaussian, RewardModel, parse_rewards

SEED: Final = 893

PRECISE: Final = 0.001
"""The noise at which the explicit bounds on the chance to fail begin to say something."""


@dataclass(frozen=True)
class Case:
    """An instance with a reward model: one figure of regret, or one table."""

    key: str
    title: str
    instance: Instance
    rewards: RewardModel
    policies: tuple[str, ...]
    budget: int
    checkpoints: tuple[int, ...]
    replicates: int


@dataclass(frozen=True)
class Scale:
    """How many replicates figures and tables have."""

    name: str
    figures: int
    tables: int


FULL: Final = Scale("full", 1_000, 4_000)
QUICK: Final = Scale("quick", 100, 200)


def scale_of(*, quick: bool, replicates: int | None) -> Scale:
    """Return the scale that the options of the command ask for."""
    if replicates is None:
        return QUICK if quick else FULL
    each = whole("the number of replicates", replicates, least=2)  # one has no standard error
    return Scale(f"{each} replicates", each, each)


CAPTION_REWARDS: Final = {
    "gaussian:0.5": "Captions, high noise (σ = 0.5)",
    "gaussian:0.2": "Captions, moderate noise (σ = 0.2)",
    "none": "Captions, no noise",
    "bernoulli": "Captions, yes-or-no votes (Bernoulli)",
    "kumaraswamy": "Captions, power-law rewards",
}
SPLIT_REWARDS: Final = ("gaussian:0.5", "gaussian:0.2")
"""Cases of captions whose errors are split."""

GAPS: Final = {"poly": "Polynomial gaps", "equal": "Equal gaps", "square": "Square gaps"}


def figure_cases(contest: Contest, scale: Scale) -> list[Case]:
    """Return the eight cases whose regret the paper draws against pulls."""
    checkpoints = tuple(sorted({*log_spaced(BUDGET), *BOX_PLOTS, 10, 100, 1_000}))
    captions = contest.captions()
    named = [(caption_case(spec), title, captions, spec) for spec, title in CAPTION_REWARDS.items()]
    named += [(make.__name__, GAPS[make.__name__], make(), "gaussian:1") for make in (poly, equal, square)]
    return [
        Case(key, title, instance, parse_rewards(spec), ANYTIME, BUDGET, checkpoints, scale.figures)
        for key, title, instance, spec in named
    ]


def table_cases(contest: Contest, scale: Scale) -> list[Case]:
    """Return the two cases of the paper's tables."""
    return [
        Case(
            table_case(table.arms),
            f"The {table.arms:,} first captions",
            contest.captions(table.arms),
            Gaussian(TABLE_SIGMA),
            tuple(table.rows),
            table.budget,
            (table.budget,),
            scale.tables,
        )
        for table in TABLES
    ]


def bound_cases(contest: Contest, scale: Scale) -> list[Case]:
    """Return a case with so little noise that the paper's explicit bounds are below 1."""
    title = f"Captions, hardly any noise (σ = {PRECISE})"
    captions, key = contest.captions(), caption_case(f"gaussian:{PRECISE}")
    return [Case(key, title, captions, Gaussian(PRECISE), COMPARED, BUDGET, (1_000, BUDGET), scale.figures)]


def caption_case(rewards: str) -> str:
    """Return the key of a case of captions.

    >>> caption_case("gaussian:0.5")
    'captions-gaussian-0.5'
    """
    return f"captions-{rewards.replace(':', '-')}"


def table_case(arms: int) -> str:
    """Return the key of a table's case."""
    return f"table-{arms}"


NOISY: Final = (*(caption_case(spec) for spec in CAPTION_REWARDS if spec != "none"), *GAPS)
"""The cases whose rewards have noise."""
