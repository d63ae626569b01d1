"""How much one score of an arm varies, learned from the results of a run."""

import math

from boxthirding.find.confirm import student
from boxthirding.types import Label

_ENOUGH = 5  # scores beyond the first of their arm, below which nothing is said of the noise


class Noise:
    """The spread of scores around the mean of their own arm, over all arms."""

    def __init__(self) -> None:
        self._arms: dict[Label, tuple[int, float]] = {}  # by label: scores, and their mean
        self._squares = 0.0  # of the distances from those means
        self._freedom = 0  # scores beyond the first of their arm

    def add(self, label: Label, score: float) -> None:
        """Take a score in (Welford's recurrence, summed over the arms)."""
        count, mean = self._arms.get(label, (0, 0.0))
        distance = score - mean
        mean += distance / (count + 1)
        self._arms[label] = count + 1, mean
        if count:
            self._squares += distance * (score - mean)
            self._freedom += 1

    def spread(self) -> "Spread | None":
        """Return the spread; None while too few arms were pulled twice."""
        if self._freedom < _ENOUGH:
            return None
        return Spread(math.sqrt(self._squares / self._freedom), self._freedom)


class Spread:
    """The standard deviation of one score of an arm, and how many scores it was learned from."""

    def __init__(self, deviation: float, freedom: int) -> None:
        self.deviation = deviation
        self._quantile = student(freedom)

    def half_width(self, pulls: int) -> float:
        """Return half the 95 % interval of a mean of so many pulls."""
        return self._quantile * self.deviation / math.sqrt(pulls)

    def is_ahead(self, lead: float, pulls: int, others: int) -> bool:
        """Tell whether a mean of so many pulls leads another by more than noise explains."""
        return lead > math.hypot(self.half_width(pulls), self.half_width(others))
