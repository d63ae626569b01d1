"""How much one score of an arm varies, learned from the results of a run."""

import math
from typing import NamedTuple, Self

from boxthirding.find.confirm import student
from boxthirding.session import Recommendation, Spread
from boxthirding.types import Label

_ENOUGH = 5  # scores beyond the first of their arm, below which nothing is said of the noise
_PRIOR = 10  # scores that the spread over all arms counts for, beside an arm's own


class _Arm(NamedTuple):
    """The scores of an arm."""

    scores: int = 0
    mean: float = 0.0
    squares: float = 0.0  # of the distances from the mean


_NONE = _Arm()


class Noise:
    """The spread of scores around the mean of their own arm: each arm's own, and over all arms."""

    def __init__(self) -> None:
        self._arms: dict[Label, _Arm] = {}
        self._squares = 0.0  # of all arms
        self._freedom = 0  # scores beyond the first of their arm

    def add(self, label: Label, score: float) -> None:
        """Take a score in (Welford's recurrence)."""
        count, mean, squares = self._arms.get(label, _NONE)
        distance = score - mean
        mean += distance / (count + 1)
        added = distance * (score - mean) if count else 0.0
        self._arms[label] = _Arm(count + 1, mean, squares + added)
        if count:
            self._squares += added
            self._freedom += 1

    @classmethod
    def of(cls, spread: Spread) -> Self:
        """Return the noise of a session or study; intervals are had of the arms that its spread names."""
        noise = cls()
        noise._squares, noise._freedom = spread.squares, spread.freedom
        noise._arms = {label: _Arm(count, 0.0, squares) for label, (count, squares) in spread.arms.items()}
        return noise

    @property
    def is_known(self) -> bool:
        """Whether enough arms were pulled more than once to say anything."""
        return self._freedom >= _ENOUGH

    @property
    def is_none(self) -> bool:
        """Whether enough arms were pulled more than once, and no score differed from others of its arm."""
        return self.is_known and self._squares == 0

    def alike(self) -> str:
        """Say what follows where there is none: rare successes look like that too, so it is no proof."""
        return f"of the same arm did not differ in {self._freedom:,} repeats: if they never do, its mean is exact."

    def half_width(self, arm: Recommendation) -> float:
        """Return half the 95 % interval of an arm's mean.

        The variance is that of its own scores, and of ten more with the spread over all arms: ten scores of 1 in a row
        do not mean that there is no noise.
        """
        count, _, squares = self._arms.get(arm.label, _NONE)
        own = max(0, count - 1)
        variance = (squares + _PRIOR * self._squares / self._freedom) / (own + _PRIOR)
        return student(min(self._freedom, own + _PRIOR)) * math.sqrt(variance / arm.pulls)

    def is_ahead(self, lead: float, arm: Recommendation, other: Recommendation) -> bool:
        """Tell whether an arm leads another by more than noise explains."""
        return lead > math.hypot(self.half_width(arm), self.half_width(other))
