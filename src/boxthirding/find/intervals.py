"""The 95 % interval of a mean: every interval that is printed, plotted or sent comes from here.

Scores that are one of a few answers, such as 0 and 1, get an interval on their scale (`_on_scale`): of 0/1 scores it is
that of Clopper and Pearson. All others get Student's interval with Hall's correction for skewed scores (`_on_line`).
docs/reference/find.md has the coverage of both, measured by `python -m benchmarks.coverage`.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from boxthirding.session import Moments, Recommendation, Spread
from boxthirding.session.values import FEW_ANSWERS
from boxthirding.types import Label

CONFIDENCE: Final = 0.95
_ENOUGH: Final = 5  # repeats, which are scores beyond the first of their arm; with fewer nothing is said of the noise
_REPEATS: Final = 4  # for each different score, with which a few of them are taken for all that there can be
_OTHERS: Final = 3  # scores a step from the usual answer; with fewer, nearly all scores are that answer
_PRIOR: Final = 4  # scores that the variance within all arms counts for, beside those of an arm
_SYMMETRIC: Final = 1e-6  # skewness, below which scores are symmetric
_PRECISE: Final = 1e-14  # of the incomplete beta function


class MeanInterval(NamedTuple):
    """An estimate and the interval around it; the ends are None where too little is known of the noise."""

    mean: float | None
    low: float | None
    high: float | None


class ScoreNoise:
    """How much one score of an arm varies, and what that leaves open about a mean.

    Parameters
    ----------
    spread : Spread
        How the scores vary: over all arms, and those of the arms whose intervals are wanted.
    scale : sequence of float, optional
        Every score that there can be. Default: not known; a few scores that repeat are taken for a scale.

    """

    def __init__(self, spread: Spread, scale: Sequence[float] = ()) -> None:
        self.spread = spread
        self.scale = scale
        self.ends: tuple[float, float] | None = None
        """The lowest and the highest possible score, if known."""
        self.is_few = False  # whether scores are one of a few answers
        answers = scale or spread.answers or ()
        if answers and {*answers} <= {0, 1}:
            self.ends, self.is_few = (0.0, 1.0), True
        elif scale:
            self.ends, self.is_few = (min(scale), max(scale)), len(scale) <= FEW_ANSWERS
        elif len(answers) > 1 and _REPEATS * len(answers) <= spread.freedom and not self.is_none:
            self.ends, self.is_few = _likely_ends(answers, spread.squares), True

    @property
    def is_known(self) -> bool:
        """Whether enough arms were pulled more than once to say anything."""
        return self.spread.freedom >= _ENOUGH

    @property
    def is_none(self) -> bool:
        """Whether enough arms were pulled more than once, and no score differed from others of its arm."""
        return self.is_known and self.spread.squares == 0

    def of_differences(self, spread: Spread) -> "ScoreNoise":
        """Return the noise of differences of two scores: they are at most as large as the scale is wide."""
        less = ScoreNoise(spread._replace(answers=None))
        if self.ends is not None:
            width = self.ends[1] - self.ends[0]
            less.ends, less.is_few = (-width, width), self.is_few
        return less

    def alike(self) -> str:
        """Describe scores without any noise. Rare successes look the same, so this is no proof."""
        return (
            f"of the same arm did not differ in {self.spread.freedom:,} repeats: if they never do, its mean is exact."
        )

    def interval(self, scores: Moments) -> MeanInterval:
        """Return the mean of scores with its interval, or without one if no scores differ and the scale is unknown."""
        mean, nothing_differs = scores.mean, self.spread.squares == 0
        if scores.pulls == 0:
            return MeanInterval(None, None, None)
        if self.ends is not None and (self.is_few or nothing_differs):
            return MeanInterval(mean, *_on_scale(scores, min(mean, self.ends[0]), max(mean, self.ends[1])))
        if nothing_differs:
            return MeanInterval(mean, None, None)
        low, high = _on_line(scores, self.spread)
        if self.ends is not None:
            low, high = min(mean, max(low, self.ends[0])), max(mean, min(high, self.ends[1]))
        return MeanInterval(mean, low, high)

    def of(self, arm: Recommendation) -> tuple[float, float] | None:
        """Return the interval of an arm's mean, or None where too little is known of the noise.

        Scores that are not in the spread, because others told them, are taken to vary as much as on a scale they can,
        and otherwise as those that are.
        """
        if not self.is_known or not arm.pulls:
            return None
        count, _, squares, skewness = self.spread.arms.get(arm.label, Moments(0, 0.0, 0.0, 0.0))
        if count < arm.pulls:
            within = math.inf if self.is_few else self.spread.squares / self.spread.freedom
            squares += (arm.pulls - count) * within
        _, low, high = self.interval(Moments(arm.pulls, arm.mean, squares, skewness))
        if low is None or high is None:
            return None
        # The mean is over all examples: only those that the arm has not seen leave it open
        open_share = math.sqrt(max(0.0, 1 - arm.pulls / self.spread.examples)) if self.spread.examples else 1.0
        return arm.mean - (arm.mean - low) * open_share, arm.mean + (high - arm.mean) * open_share

    def is_ahead(self, arm: Recommendation, other: Recommendation, sign: int) -> bool:
        """Return whether an arm leads another by more than noise explains; `sign` is -1 if smaller is better."""
        near, far = (0, 1) if sign > 0 else (1, 0)
        mine, theirs = self.of(arm), self.of(other)
        down = arm.mean - mine[near] if mine else 0.0
        up = theirs[far] - other.mean if theirs else 0.0
        return sign * (arm.mean - other.mean) > math.hypot(down, up)  # Zou and Donner (2008), eq. 4


def spread_of(scores: Mapping[Label, Sequence[float]], others: Spread | None = None) -> Spread:
    """Return the spread of scores by arm; `others` are included if it is pooled over all arms."""
    arms = {label: _moments(values) for label, values in scores.items()}
    squares = math.fsum(arm.squares for arm in arms.values())
    freedom = sum(max(0, arm.pulls - 1) for arm in arms.values())
    answers = frozenset(value for values in scores.values() for value in values)
    is_few = True
    if others is not None:
        squares, freedom = squares + others.squares, freedom + others.freedom
        answers, is_few = answers | (others.answers or frozenset()), others.answers is not None
    return Spread(squares, freedom, answers if is_few and len(answers) <= FEW_ANSWERS else None, arms)


def _moments(values: Sequence[float]) -> Moments:
    if not values:
        return Moments(0, 0.0, 0.0, 0.0)
    count, first = len(values), values[0]
    less = math.fsum(value - first for value in values) / count  # 0 for equal scores
    apart = [value - first - less for value in values]
    squares = math.fsum(value**2 for value in apart)
    deviation = math.sqrt(squares / count)
    skewness = math.fsum((value / deviation) ** 3 for value in apart) / count if deviation else 0.0
    return Moments(count, first + less, squares, skewness)


def _likely_ends(answers: Collection[float], squares: float) -> tuple[float, float]:
    """Return where a scale is likely to end of which these answers were seen.

    Where nearly all scores are the same answer, another one may be missing on either side: the scale ends a step
    further, but that of scores between 0 and 1 not beyond these.
    """
    least, most = min(answers), max(answers)
    step = (most - least) / (len(answers) - 1)
    if squares >= _OTHERS * step**2:
        return least, most
    if least >= 0 and most <= 1:
        return max(0.0, least - step), min(1.0, most + step)
    return least - step, most + step


def _on_scale(scores: Moments, least: float, most: float) -> tuple[float, float]:
    """Return the interval of the mean of scores that lie on a scale."""
    count, mean, squares, _ = scores
    width = most - least
    share = (mean - least) / width
    around = min(squares / (count * width * width), share * (1 - share))  # variance, at most that of 0/1 scores
    return least + width * _lower(count, share, around), most - width * _lower(count, 1 - share, around)


def _lower(count: int, mean: float, variance: float) -> float:
    """Return the lower end for scores on a scale from 0 to 1.

    Add one score of 0, give all scores random weights that add up to 1, each division equally likely, and take the
    quantile of the weighted mean (Gaffke 2005). Here the weighted mean has a beta distribution of its own mean and
    variance. For 0/1 scores it is exactly that, and the end is that of Clopper and Pearson (1934).
    """
    centre = count * mean / (count + 1)
    if centre <= 0:
        return 0.0
    square = count * (variance + mean * mean) / (count + 1)
    weight = centre * (1 - centre) * (count + 2) / (square - centre * centre) - 1
    return _beta_quantile((1 - CONFIDENCE) / 2, centre * weight, (1 - centre) * weight)


def _on_line(scores: Moments, spread: Spread) -> tuple[float, float]:
    """Return the interval of the mean of any scores: Student's, with Hall's (1992) correction for skewed ones.

    An arm's variance is its own, or that with four scores more which vary as those of all arms do, if that is larger:
    pulls that happen to agree do not mean that there is no noise.
    """
    count, mean, squares, skewness = scores
    own = count - 1
    within = spread.squares / spread.freedom
    variance = max(squares / own if own else 0.0, (squares + _PRIOR * within) / (own + _PRIOR))
    reach = student(min(spread.freedom, own + _PRIOR)) / math.sqrt(count)
    low, high = (_unskewed(end - skewness / (6 * count), skewness) for end in (reach, -reach))
    return mean - math.sqrt(variance) * low, mean - math.sqrt(variance) * high


def _unskewed(value: float, skewness: float) -> float:
    """Return x where x + skewness x²/3 + skewness² x³/27 is the value: Hall's transformation, inverted."""
    if abs(skewness) < _SYMMETRIC:
        return value
    return 3 * (math.cbrt(1 + skewness * value) - 1) / skewness


@lru_cache(maxsize=4096)
def student(freedom: int) -> float:
    """Return the two-sided quantile of Student's t at the confidence level.

    >>> round(student(1), 3), round(student(9), 3)
    (12.706, 2.262)
    """
    share = _beta_quantile(CONFIDENCE, 0.5, freedom / 2)  # of t²/(freedom + t²)
    return math.sqrt(freedom * share / (1 - share))


@lru_cache(maxsize=4096)
def _beta_quantile(chance: float, a: float, b: float) -> float:
    """Return what a variable with a beta distribution is below with some chance, by bisection."""
    low, high = 0.0, 1.0
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (middle, high) if _incomplete_beta(middle, a, b) < chance else (low, middle)
    return low


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction (DLMF 8.17.22, Lentz's method)."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    upper = lower = 1.0
    fraction = lower = 1 / (1 - (a + b) * x / (a + 1))
    m, change = 0, 0.0
    while abs(change - 1) > _PRECISE:
        m += 1
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            upper, lower = 1 + term / upper, 1 / (1 + term * lower)
            change = upper * lower
            fraction *= change
    return math.exp(log_front) / a * fraction
