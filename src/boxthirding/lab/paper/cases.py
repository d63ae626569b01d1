"""What is simulated for the figures and tables: captions and other instances, policies and replicates."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from boxthirding._checks import whole
from boxthirding.lab.instances import CONTESTS, Instance, captions, contest_file, equal, from_csv, poly, square
from boxthirding.lab.paper.printed import ANYTIME, BOX_PLOTS, BUDGET, COMPARED, TABLE_SIGMA, TABLES
from boxthirding.lab.plots import log_spaced
from boxthirding.lab.rewards import Gaussian, RewardModel, parse_rewards

SEED: Final = 893

CONTEST: Final = "893"  # the caption contest of the paper's figures

PRECISE: Final = 0.001  # noise low enough for the explicit bounds on the chance to fail to be below 1


@dataclass(frozen=True)
class Captions:
    """The captions of the real contest, in a file, or the embedded ones."""

    path: Path | None = None  # the file; None: the embedded captions

    @classmethod
    def found_in(cls, folder: Path | None) -> "Captions":
        """Return the contest in a folder, or raise if it is not there; without a folder, the embedded captions."""
        way_out = ", or leave --data out and use the embedded captions"
        return cls(None if folder is None else contest_file(folder, CONTEST, way_out))

    def instance(self, top: int | None = None) -> Instance:
        """Return all captions, or the first ones in the file's order."""
        if self.path is None:
            return captions(top)
        means = from_csv(self.path, top).means
        return Instance("captions", means, source=f"contest 893, SHA-256 {CONTESTS[CONTEST][:12]}…")

    @property
    def description(self) -> str:
        """A sentence that says which captions these are."""
        if self.path is None:
            return (
                "The captions are the embedded stand-in for New Yorker caption contest 893: its means at 100 ranks, "
                "interpolated between them."
            )
        return (
            f"The captions are the real New Yorker caption contest {CONTEST}, from {CONTEST}.csv with SHA-256 "
            f"{CONTESTS[CONTEST]}."
        )


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
    """The number of replicates of figures and tables."""

    name: str
    figures: int
    tables: int


FULL: Final = Scale("full", 1_000, 4_000)
QUICK: Final = Scale("quick", 100, 200)


def scale_of(*, quick: bool, replicates: int | None) -> Scale:
    """Return the scale for the options of the command."""
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

GAPS: Final = {"poly": "Polynomial gaps", "equal": "Equal gaps", "square": "Square gaps"}


def cases_of(found: Captions, scale: Scale) -> dict[str, Case]:
    """Return the cases of the figures of regret, of the two tables and of the explicit bounds, by their keys."""
    arms = found.instance()
    checkpoints = tuple(sorted({*log_spaced(BUDGET), *BOX_PLOTS, 10, 100, 1_000}))
    drawn = [(caption_case(spec), title, arms, parse_rewards(spec)) for spec, title in CAPTION_REWARDS.items()]
    drawn += [(make.__name__, GAPS[make.__name__], make(), Gaussian(1.0)) for make in (poly, equal, square)]
    cases = [Case(*case, ANYTIME, BUDGET, checkpoints, scale.figures) for case in drawn]
    for table in TABLES:
        key, title, few = table_case(table.arms), f"The {table.arms:,} first captions", found.instance(table.arms)
        specs, budget = tuple(table.rows), table.budget
        cases.append(Case(key, title, few, Gaussian(TABLE_SIGMA), specs, budget, (budget,), scale.tables))
    quiet, title = Gaussian(PRECISE), f"Captions, hardly any noise (σ = {PRECISE})"
    cases.append(Case(caption_case(quiet.spec), title, arms, quiet, COMPARED, BUDGET, (1_000, BUDGET), scale.figures))
    return {case.key: case for case in cases}


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
