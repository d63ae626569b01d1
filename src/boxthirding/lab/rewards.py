"""Reward models: what a pull of an arm gives, as frozen configurations that make the `Source` of `draw`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import ClassVar, Final, Protocol

import numpy as np

from boxthirding._checks import not_negative
from boxthirding._csv import read_sheet
from boxthirding.errors import InvalidInput, UnreadableData
from boxthirding.lab.instances import TOO_LARGE, Instance
from boxthirding.lab.reward_draws import BERNOULLI, DETERMINISTIC, GAUSSIAN, KUMARASWAMY, TABLE, Source
from boxthirding.types import Floats

_VOTES = np.array([0.0, 0.5, 1.0])  # what "not funny", "somewhat funny" and "funny" are worth
_SLACK = 1e-9  # how far an arm's probabilities may be from 1 in sum, as written decimals are
_COLUMNS: Final = ("arm", "value", "probability")


class RewardModel(Protocol):
    """What every reward model has."""

    @property
    def sigma(self) -> float:
        """The noise level given to a policy that must be told one."""

    @property
    def spec(self) -> str:
        """The text that `parse_rewards` reads as this model."""

    def source(self, instance: Instance) -> Source:
        """Return what `draw` needs, or say why this model does not fit the instance."""


@dataclass(frozen=True)
class Gaussian:
    """The mean plus normal noise of standard deviation sigma."""

    sigma: float

    def __post_init__(self) -> None:
        not_negative("sigma", self.sigma)
        if self.sigma >= TOO_LARGE:
            raise InvalidInput(
                f"sigma is {self.sigma!r}, but must be below {TOO_LARGE:g}: scale the means and the noise alike"
            )
        object.__setattr__(self, "sigma", abs(float(self.sigma)))  # not -0.0

    @property
    def spec(self) -> str:
        """The text that `parse_rewards` reads as this model."""
        return f"gaussian:{repr(self.sigma).removesuffix('.0')}"

    def source(self, instance: Instance) -> Source:
        """Return what `draw` needs; every instance fits."""
        return _source(GAUSSIAN, instance.means, sigma=self.sigma)


@dataclass(frozen=True)
class Deterministic:
    """The mean itself, at every pull."""

    sigma: ClassVar[float] = 0.0
    spec: ClassVar[str] = "none"

    def source(self, instance: Instance) -> Source:
        """Return what `draw` needs; every instance fits."""
        return _source(DETERMINISTIC, instance.means)


@dataclass(frozen=True)
class Bernoulli:
    """1 with the mean as its probability, else 0."""

    sigma: ClassVar[float] = 0.5
    spec: ClassVar[str] = "bernoulli"

    def source(self, instance: Instance) -> Source:
        """Return what `draw` needs; means must lie in [0, 1]."""
        return _source(BERNOULLI, _fractions(instance, self.spec))


@dataclass(frozen=True)
class Kumaraswamy:
    """Kumaraswamy(μ / (1 - μ), 1) on [0, 1], a power law with mean μ and variance μ (1 - μ)² / (2 - μ)."""

    sigma: ClassVar[float] = 0.3
    spec: ClassVar[str] = "kumaraswamy"

    def source(self, instance: Instance) -> Source:
        """Return what `draw` needs; means must lie in [0, 1]."""
        return _source(KUMARASWAMY, _fractions(instance, self.spec))


@dataclass(frozen=True)
class Votes:
    """One of the contest's real answers, 0, ½ or 1, with the counted frequencies.

    Its means are the answers' averages: they replace the instance's, which are shares of votes.
    """

    sigma: ClassVar[float] = 0.5
    spec: ClassVar[str] = "votes"

    def source(self, instance: Instance) -> Source:
        """Return what `draw` needs; the instance must have counts of votes."""
        if instance.counts is None:
            raise InvalidInput(
                f"rewards are votes, but the instance {instance.name} has no counts of votes: "
                "use --means with a contest summary (columns votes, somewhat_funny, funny)"
            )
        votes = instance.counts.sum(axis=1, keepdims=True)
        means = (instance.counts * _VOTES).sum(axis=1) / votes[:, 0]
        values = np.tile(_VOTES, (instance.n_arms, 1))
        return _source(TABLE, means, values=values, cumulative=np.cumsum(instance.counts, axis=1) / votes)


@dataclass(frozen=True, eq=False)
class Table:
    """Any values with any probabilities, row by row for each arm; rows may be filled up with probability 0.

    >>> Table([[0, 1], [2, 3]], [[0.5, 0.5], [0.25, 0.75]]).instance().means.tolist()
    [0.5, 2.75]
    """

    values: Floats  # [N, K]
    probabilities: Floats  # [N, K]
    spec: str = "table"

    def __post_init__(self) -> None:
        try:
            values, probabilities = np.array(self.values, np.float64), np.array(self.probabilities, np.float64)
        except (TypeError, ValueError):
            raise InvalidInput(
                f"values and probabilities are {self.values!r} and {self.probabilities!r}, but must be rows of "
                "numbers, all of one length: fill rows up with probability 0"
            ) from None
        if values.ndim != 2 or values.shape != probabilities.shape or not values.size:  # noqa: PLR2004  # rows and columns
            raise InvalidInput(
                f"values and probabilities have the shapes {values.shape} and {probabilities.shape}, "
                "but must have one shape, a row for each arm and at least one column"
            )
        for arm, (law, chances) in enumerate(zip(values, probabilities, strict=True)):
            _check_law(arm, law, chances)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        for name, array in (("values", values), ("probabilities", probabilities)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def n_arms(self) -> int:
        """How many arms it has rows for."""
        return len(self.values)

    @property
    def sigma(self) -> float:
        """Half the largest range of one arm's values: no law on it has a larger standard deviation."""
        possible = self.probabilities > 0
        highest = np.where(possible, self.values, -np.inf).max(axis=1)
        lowest = np.where(possible, self.values, np.inf).min(axis=1)
        return float((highest - lowest).max() / 2)

    def instance(self) -> Instance:
        """Return the table's own arms as an instance."""
        return Instance("table", (self.values * self.probabilities).sum(axis=1), source=self.spec)

    def source(self, instance: Instance) -> Source:
        """Return what `draw` needs; the instance must have as many arms as the table, in the same order."""
        if instance.n_arms != self.n_arms:
            raise InvalidInput(
                f"{self.spec} has {self.n_arms} arms, but the instance {instance.name} has {instance.n_arms}: "
                "give a table with a row set for each arm, numbered in the instance's order"
            )
        cumulative = np.minimum(np.cumsum(self.probabilities, axis=1), 1.0)
        width = self.values.shape[1]
        last = width - 1 - np.argmax(self.probabilities[:, ::-1] > 0, axis=1)  # [N] the last value that can come
        cumulative[np.arange(width) >= last[:, None]] = 1.0  # whatever the rounding of the sum
        return _source(TABLE, self.instance().means, values=self.values, cumulative=cumulative)


def from_table(path: str | PathLike[str]) -> Table:
    """Read a table from a CSV file with the columns arm, value, probability: a row for each value that an arm can give.

    Arms are numbered 1 … N in the instance's order.
    """
    sheet = read_sheet(path)
    if not sheet.has(_COLUMNS):
        raise UnreadableData(f"{path} has the columns {sheet.listed}, but must have {', '.join(_COLUMNS)}: rename them")
    laws: dict[int, list[tuple[float, float]]] = {}
    for row in range(len(sheet.rows)):
        chance = sheet.number(row, "probability")
        if chance < 0:
            raise UnreadableData(f"{sheet.place(row)}: probability is {chance}, but must be at least 0")
        laws.setdefault(sheet.whole(row, "arm", 1), []).append((sheet.number(row, "value"), chance))
    n_arms = max(laws)
    missing = next((arm for arm in range(1, n_arms + 1) if arm not in laws), None)
    if missing is not None:
        raise UnreadableData(f"{path} has no row for arm {missing}, but must have some for each arm from 1 to {n_arms}")
    try:
        return _table([laws[arm] for arm in range(1, n_arms + 1)], f"table:{path}")
    except InvalidInput as problem:
        raise UnreadableData(f"{path}: {problem}") from None


def from_scores(path: str | PathLike[str]) -> Table:
    """Read scores from a CSV file: a row for each arm, its label in the first column, a score in each other.

    A pull of an arm is one of the scores in its row, each equally likely. Empty cells are left out.
    """
    sheet = read_sheet(path)
    laws = []
    for row in range(len(sheet.rows)):
        scores = [sheet.number(row, example) for example in sheet.columns[1:] if sheet.cell(row, example).strip()]
        if not scores:
            raise UnreadableData(f"{sheet.place(row)} has no scores, but every arm must have one: leave the row out")
        laws.append([(score, 1 / len(scores)) for score in scores])
    return _table(laws, f"scores:{path}")


def _table(laws: Sequence[Sequence[tuple[float, float]]], spec: str) -> Table:
    """Return the table of arms, each given by its values with their probabilities."""
    values, probabilities = np.zeros((2, len(laws), max(map(len, laws))))
    for arm, law in enumerate(laws):
        values[arm, : len(law)], probabilities[arm, : len(law)] = zip(*law, strict=True)
    return Table(values, probabilities, spec)


_PLAIN: Final = {model.spec: model for model in (Deterministic, Bernoulli, Kumaraswamy, Votes)}
_FILES: Final = {"table": from_table, "scores": from_scores}
FORMS: Final = ("gaussian:SIGMA", *_PLAIN, "table:FILE.csv", "scores:FILE.csv")  # how a reward model is written


def parse_rewards(spec: str) -> RewardModel:
    """Return the reward model that a text such as `gaussian:0.25` or `bernoulli` names.

    >>> parse_rewards("gaussian:0.25")
    Gaussian(sigma=0.25)
    """
    name, colon, argument = spec.partition(":")
    if name == "gaussian":
        return Gaussian(_sigma(argument, spec))
    if name in _FILES:
        if not argument:
            raise InvalidInput(f"rewards is {spec!r}, but {name} needs a file: write {name}:FILE.csv")
        return _FILES[name](argument)
    if name not in _PLAIN:
        raise InvalidInput(f"rewards is {spec!r}, but must be one of {', '.join(FORMS)}")
    if colon:
        raise InvalidInput(f"rewards is {spec!r}, but {name} takes nothing after a colon: write {name}")
    return _PLAIN[name]()


def _sigma(text: str, spec: str) -> float:
    try:
        sigma = float(text)
    except ValueError:
        sigma = math.nan
    if not 0 <= sigma < math.inf:
        raise InvalidInput(
            f"rewards is {spec!r}, but gaussian needs its sigma, a finite number of at least 0: write gaussian:0.25"
        )
    return sigma


def _fractions(instance: Instance, model: str) -> Floats:
    """Return an instance's means if all are in [0, 1], where a probability or a power law has its mean."""
    outside = np.flatnonzero((instance.means < 0) | (instance.means > 1))
    if len(outside):
        first = outside[0]
        raise InvalidInput(
            f"arm {first + 1} of the instance {instance.name} has mean {float(instance.means[first])!r}, "
            f"but {model} rewards need means in [0, 1]: use gaussian:SIGMA or none, or scale the means"
        )
    return instance.means


def _check_law(arm: int, values: Floats, probabilities: Floats) -> None:
    """Refuse an arm whose values are not finite or whose probabilities are none."""
    for value, chance in zip(values.tolist(), probabilities.tolist(), strict=True):
        if not (math.isfinite(value) and 0 <= chance < math.inf):
            raise InvalidInput(
                f"arm {arm + 1} has value {value} with probability {chance}, "
                "but values must be finite numbers and probabilities finite and at least 0"
            )
        if abs(value) >= TOO_LARGE:
            raise InvalidInput(
                f"arm {arm + 1} has value {value}, but values must be below {TOO_LARGE:g} in size: scale them"
            )
    total = math.fsum(probabilities)
    if abs(total - 1) > _SLACK:
        raise InvalidInput(f"arm {arm + 1} has probabilities that sum to {total}, but they must sum to 1")


def _source(
    code: int, means: Floats, sigma: float = 0.0, values: Floats | None = None, cumulative: Floats | None = None
) -> Source:
    """Return a source of fresh writeable arrays: to Numba a read-only array is another type."""
    return Source(
        code,
        sigma,
        np.array(means, np.float64, order="C"),
        np.zeros((1, 1)) if values is None else np.array(values, np.float64, order="C"),
        np.ones((1, 1)) if cumulative is None else np.array(cumulative, np.float64, order="C"),
        np.zeros(1, np.int64),
    )
