"""A pilot: some arms, drawn at random, scored a few times each, and what its scores say of noise and spread."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Final

import numpy as np

from boxthirding._checks import LARGEST_REWARD
from boxthirding._csv import read_sheet
from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.planning.shapes import ONE_IN_TEN
from boxthirding.policies.noise import ENOUGH, SHARE, is_outlier
from boxthirding.session.amendments import listed
from boxthirding.session.labels import rows_of, unlabelled
from boxthirding.types import Floats, Ints

Scores = str | PathLike[str] | Mapping[Any, Any] | Iterable[tuple[Any, Any]]
"""A CSV file or a DataFrame with the columns arm and score, {arm: [score, …]}, or (arm, score) pairs."""

FEWEST_ARMS: Final = 50  # of a pilot that is to show spread

_SMALLEST: Final = 1 / LARGEST_REWARD  # difference between scores: the square of a smaller one is 0
_REPEATED = 30  # arms with a second score tell the noise within 15 %


@dataclass(frozen=True)
class Pilot:
    """What a pilot comes down to; with `minimize`, scores have changed their sign (0 and 1 are exchanged)."""

    counts: Ints  # [K] scores of each arm
    means: Floats  # [K]
    noise: float  # the standard deviation of one arm's scores, pooled over arms
    freedom: int  # scores that are repeats: what the noise is estimated from
    zero_one: bool  # whether every score is 0 or 1, so that the noise follows from the mean
    outlier: tuple[Any, float] | None = None
    """An arm with an outlier among its scores, and that score, or None if there is no outlier."""

    @property
    def arms(self) -> int:
        """How many arms it has."""
        return len(self.counts)

    @property
    def pulls(self) -> int:
        """How many scores it has."""
        return int(self.counts.sum())

    @property
    def centre(self) -> float:
        """The average of the true means; an arm with many scores counts little more than one with some."""
        weights = self.counts / (self.counts + 25.0)  # noise five times the spread, as in `chase` before it knows
        return float(weights @ self.means / weights.sum())

    @property
    def surprise(self) -> float:
        """How far arms differ beyond what noise alone explains, in standard deviations (Paulson's F approximation)."""
        average = float(self.counts @ self.means) / self.pulls
        between = float(self.counts @ (self.means - average) ** 2) / (self.arms - 1)
        if self.noise == 0:
            return math.inf
        root = math.cbrt(between / self.noise**2)
        above, below = 2 / (9 * (self.arms - 1)), 2 / (9 * self.freedom)
        return ((1 - below) * root - (1 - above)) / math.sqrt(below * root**2 + above)

    @property
    def shows_spread(self) -> bool:
        """Whether arms differ by more than chance would make them in 9 of 10 pilots without any spread."""
        return self.surprise >= ONE_IN_TEN

    def pulls_to_show(self, deviation: float) -> int:
        """Return how many more pulls would show, in 9 of 10 pilots, true means of this standard deviation."""
        arms = max(self.arms, FEWEST_ARMS)
        room = 1 / (2 * ONE_IN_TEN * math.sqrt(2 / (arms - 1))) - 1
        each = math.ceil(max(2.0, (self.noise / deviation) ** 2 / room))
        return max(arms * each - self.pulls, self.arms)


def read_pilot(scores: Scores, *, minimize: bool = False) -> Pilot:
    """Read a pilot, or say what it lacks."""
    by_arm: dict[Any, list[float]] = {}
    for arm, score in _rows(scores):
        by_arm.setdefault(arm, []).append(score)
    _check(by_arm)
    values = np.concatenate([np.array(rows) for rows in by_arm.values()])
    zero_one = bool(np.isin(values, (0.0, 1.0)).all())
    if minimize:
        values = 1.0 - values if zero_one else -values
    counts = np.array([len(rows) for rows in by_arm.values()], np.int64)
    owner = np.repeat(np.arange(len(counts)), counts)
    firsts = values[np.cumsum(counts) - counts]
    offsets = values - firsts[owner]  # exactly 0 where scores do not differ, whatever their decimals
    means = np.bincount(owner, offsets) / counts
    squares: Floats = np.bincount(owner, (offsets - means[owner]) ** 2).astype(float)
    freedom = int(counts.sum()) - len(counts)
    noise = math.sqrt(float(squares.sum()) / freedom)
    outlier = None if zero_one else _outlier(by_arm, counts, squares)
    return Pilot(counts, firsts + means, noise, freedom, zero_one, outlier)


def _outlier(by_arm: Mapping[Any, list[float]], counts: Ints, squares: Floats) -> tuple[Any, float] | None:
    """Return an arm and its outlier, by rule 11 of `chase`, or None if there is no outlier."""
    repeated = np.flatnonzero(counts > 1)
    variances = squares[repeated] / (counts[repeated] - 1)
    if len(repeated) < ENOUGH:
        return None
    usual = float(np.quantile(variances, 1 - 1 / SHARE, method="lower"))
    worst = int(np.argmax(squares))
    if usual == 0 or not is_outlier(float(squares[worst]), int(counts[worst]), usual):
        return None
    arm, scores = list(by_arm.items())[worst]
    middle = float(np.median(scores))
    return arm, max(scores, key=lambda score: abs(score - middle))


def _rows(scores: Scores) -> list[tuple[Any, float]]:
    if not isinstance(scores, str | PathLike):
        return [(row.label, row.reward) for row in listed(_by_arm_or_pairs(scores))]
    sheet = read_sheet(scores)
    score = "score" if sheet.has(["score"]) else "reward"
    if not sheet.has(["arm", score]):
        raise sheet.without("arm and score (or reward): rename them")
    rows = []
    for row, cells in enumerate(sheet.rows):
        if any(map(str.strip, cells)):  # spreadsheets add empty rows
            arm = sheet.cell(row, "arm").strip()
            if not arm:
                raise UnreadableData(f"{sheet.place(row)}: arm is empty, but must name the arm that was scored")
            rows.append((arm, sheet.number(row, score)))
    return rows


def _by_arm_or_pairs(scores: Any) -> Any:
    """Return the rows of a DataFrame as pairs, and a mapping or pairs as they are; refuse anything else."""
    table = rows_of(scores)
    if table is not scores:
        rows = unlabelled(table)
        columns = list(rows[0]) if rows else []
        score = "score" if "score" in columns else "reward"
        if not {"arm", score} <= {*columns}:
            given = ", ".join(map(str, columns)) or "no rows"
            raise InvalidInput(
                f"the pilot has {given}, but must have the columns arm and score (or reward): rename them"
            )
        return [(row["arm"], row[score]) for row in rows]
    if isinstance(scores, Mapping):
        return scores
    shape = "must be a file, a DataFrame, {arm: [score, …]} or (arm, score) pairs"
    if isinstance(scores, bytes) or not isinstance(scores, Iterable):
        raise InvalidInput(f"the pilot is {scores!r}, but {shape}")
    pairs = list(scores)
    for pair in pairs:
        if not (isinstance(pair, tuple | list) and len(pair) == 2):  # noqa: PLR2004  # an arm and a score
            raise InvalidInput(f"the pilot has {pair!r}, but {shape}")
    return pairs


def _check(by_arm: Mapping[Any, list[float]]) -> None:
    """Raise if nothing can be learned from a pilot, and describe how to fix it."""
    arms = len(by_arm)
    if arms < 2:  # noqa: PLR2004  # what sets arms apart needs two of them
        raise InvalidInput(
            f"the pilot has scores of {'one arm' if arms else 'no arm'}, but how far arms differ takes several: score "
            f"{_REPEATED} or more arms, chosen at random, three times each"
        )
    repeats = sum(len(rows) - 1 for rows in by_arm.values())
    if repeats == 0:
        raise InvalidInput(
            f"the pilot has one score for each of its {arms} arms, so it cannot tell noise, which more pulls average "
            f"away, from real differences: score at least {min(arms, _REPEATED)} of them two more times, or give "
            "guesses of noise and spread instead"
        )
    values = {score for rows in by_arm.values() for score in rows}
    if len(values) == 1:
        raise InvalidInput(
            f"every score of the pilot is {values.pop():g}, so it shows neither noise nor differences: score other "
            "arms, or on a finer scale"
        )
    if max(values) - min(values) < _SMALLEST:
        raise InvalidInput(
            f"the scores of the pilot differ by {max(values) - min(values):g} at most, but must differ by "
            f"{_SMALLEST:g}: give them in a smaller unit"
        )
