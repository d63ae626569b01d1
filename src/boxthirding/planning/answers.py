"""What a plan says: rows for budgets, budgets for wishes, and what it was made from."""

from dataclasses import dataclass
from typing import Any

from boxthirding.planning.wishes import Chance


@dataclass(frozen=True)
class Row:
    """What a budget gives, averaged over what is not known and over runs."""

    budget: int
    regret: float
    """How far the answer's true mean is below the best one, in the unit of the scores."""
    regret_low: float
    regret_high: float
    """The 80 % band of the mean regret, for what is not known."""
    rank: float
    """1 is the best arm."""
    percentile: float
    """The rank in per cent of all arms: 0.1 is the top 0.1 %."""
    percentile_9_of_10: float
    """The answer is at least as good as this in 9 of 10 runs."""
    top1_chance: float
    """The chance that the answer is a top-1 % arm (or the best, if there are fewer than 200)."""
    arms_tried: float
    winner_pulls: float
    """Pulls of the arm that is the answer."""
    ratio: float
    """Noise over spread: as given, or as believed."""
    cost: float | None = None
    seconds: float | None = None

    def as_dict(self) -> dict[str, float]:
        """Return the row as `boxthirding plan --json` prints it."""
        shown: dict[str, float] = {
            "budget": self.budget,
            "regret": self.regret,
            "regret_low": self.regret_low,
            "regret_high": self.regret_high,
            "rank": self.rank,
            "percentile": self.percentile,
            "top1_chance": self.top1_chance,
            "arms_tried": self.arms_tried,
            "winner_pulls": self.winner_pulls,
        }
        return shown | {name: value for name in ("cost", "seconds") if (value := getattr(self, name)) is not None}


@dataclass(frozen=True)
class Granted:
    """The smallest budget that grants a wish."""

    want: str
    row: Row
    """What this budget gives besides."""
    found: Chance

    def as_dict(self) -> dict[str, Any]:
        """Return it as `boxthirding plan --want … --json` prints it."""
        found = self.found
        return self.row.as_dict() | {
            "want": self.want,
            "chance": found.chance,
            "chance_low": found.chance_low,
            "chance_high": found.chance_high,
            "budget_low": found.budget_low,
            "budget_high": found.budget_high,
        }


@dataclass(frozen=True)
class Known:
    """What a plan is made from."""

    source: str
    """"nothing", "guesses" or "pilot"."""
    noise: float | None
    """The standard deviation of repeated scores of one arm."""
    spread: float | None
    """How far a good arm, one of the best in ten, is above an ordinary one, the median."""
    spread_high: float | None
    """What the spread exceeds with a chance of one in ten."""
    shows_spread: bool
    """Whether a pilot tells spread from noise; True for guesses."""
    pulls_to_show: int | None
    """How many more pulls of a pilot would."""


@dataclass(frozen=True, repr=False)
class Plan:
    """What `plan` returns; it is shown as a table."""

    arms: int
    known: Known
    rows: tuple[Row, ...]
    """One for each budget; where nothing is known, one for each ratio of noise to spread and budget."""
    granted: tuple[Granted, ...]
    """The smallest budget for the wish; where nothing is known, one for each ratio that has one."""
    notes: tuple[str, ...]
    """What a reader should know about these figures."""
    warning: str = ""
    """Why these figures may be far off, and what to do; empty, if there is no reason."""

    def as_dicts(self) -> list[dict[str, Any]]:
        """Return what `boxthirding plan --json` prints, line by line: the budgets, then what the wish takes."""
        lines: list[tuple[float, dict[str, Any]]] = [(row.ratio, row.as_dict()) for row in self.rows]
        lines += [(one.row.ratio, one.as_dict()) for one in self.granted]
        return [line | ({"ratio": ratio} if self.known.source == "nothing" else {}) for ratio, line in lines]

    def __repr__(self) -> str:
        from boxthirding.planning.words import in_words  # it writes what stands here

        return in_words(self)
