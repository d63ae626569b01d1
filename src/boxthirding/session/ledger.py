"""The ledger: every result that was told or is known, and whether it counts; and the answer over time."""

from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boxthirding.session.values import FEW_ANSWERS, Moment, Moments
from boxthirding.types import NONE, Floats, Ints, Label

_ROW: Final = Struct("=5q2d")
_SIZE: Final = _ROW.size
_ARM, _PULL, _HOLDER, _, _JOB, _REWARD, _EFFECT = _COLUMNS = range(7)  # the fourth is the ticket
_ROOM: Final = 64 * _SIZE
_APART: Final = 100  # moments lie at least a hundredth of the results apart
_PAUSE: Final = 20  # one is due when there are a twentieth more results
_TINY: Final = 1e4  # times smaller than a number whose digits hide it


class LedgerRow(NamedTuple):
    """One result of an arm."""

    arm: int
    pull: int
    holder: str
    """Who told it; empty for a known result."""
    ticket: int
    """NONE for a known result, and for one that came after its ticket was told by another holder."""
    job: int
    """The job that it belongs to, or NONE."""
    reward: float
    effect: float  # what its example adds to the reward, as far as is known


class ResultColumns(NamedTuple):
    """Results as columns."""

    rows: Ints
    arms: Ints
    pulls: Ints
    holders: Ints  # by number: see `Ledger.holders`
    jobs: Ints
    rewards: Floats
    effects: Floats


class Ledger:
    """All results, in the order in which they came: a row of 56 bytes each.

    Rewards are stored as they were told. An arm's results count with their values: the reward less the effect of its
    example, with a sign that makes larger ones better.
    """

    def __init__(self, sign: float) -> None:
        self.sign = sign
        """1, or -1 if smaller rewards are better."""
        self._table = bytearray(_ROOM)  # of rows, and room for more
        self.holders: list[str] = [""]
        """By number; the first is that of known results."""
        self._number_of: dict[str, int] = {"": 0}
        self.excluded: set[str] = set()
        """Holders whose results do not count, told already or still to come."""
        self.outliers: set[int] = set()
        """Rows of results that are excluded as outliers."""
        self.corrected: set[int] = set()
        """Rows whose reward was replaced."""
        self.counts: list[int] = []
        """By arm: results that count."""
        self.totals: list[float] = []
        """By arm: the sum of their values."""
        self.rows = 0
        """Results, whether they count or not."""
        self.pulls = 0
        """Results that count."""
        self.spent = 0
        """Results that were told through tickets, excluded ones too."""
        self.tried = 0
        """Arms with a result that counts."""

    def make_room(self, arms: int) -> None:
        """Have an entry for each of the first `arms` arms."""
        missing = arms - len(self.counts)
        self.counts.extend([0] * missing)
        self.totals.extend([0.0] * missing)

    def add(self, arm: int, pull: int, reward: float, holder: str, ticket: int, job: int, effect: float = 0.0) -> bool:
        """Take a result; return whether it counts."""
        number = self._number_of.get(holder)
        if number is None:
            number = self._number_of[holder] = len(self.holders)
            self.holders.append(holder)
        start = self.rows * _SIZE
        if start == len(self._table):
            self._table.extend(bytes(_ROOM + start // 4 // _ROOM * _ROOM))
        _ROW.pack_into(self._table, start, arm, pull, number, ticket, job, reward, effect)
        self.rows += 1
        if number != 0:
            self.spent += 1
            if holder in self.excluded:
                return False
        self.pulls += 1
        count = self.counts[arm]
        if count == 0:
            self.tried += 1
        self.counts[arm] = count + 1
        self.totals[arm] += self.sign * (reward - effect)
        return True

    def result(self, row: int) -> LedgerRow:
        """Return a result."""
        arm, pull, holder, ticket, job, reward, effect = _ROW.unpack_from(self._table, row * _SIZE)
        return LedgerRow(arm, pull, self.holders[holder], ticket, job, reward, effect)

    def correct(self, row: int, reward: float) -> float:
        """Replace the reward of a result; return by how much its arm's total has changed, 0 if it does not count.

        An outlier counts from now on, and the whole of it is the change.
        """
        result = self.result(row)
        self.corrected.add(row)
        self._columns(np.float64)[row, _REWARD] = reward
        if result.holder in self.excluded:
            self.outliers.discard(row)
            return 0.0
        if row in self.outliers:
            self.outliers.discard(row)
            self._count_again([result.arm])
            return self.sign * (reward - result.effect)
        change = self.sign * (reward - result.reward)
        self.totals[result.arm] += change
        if self.dwarfs(result.arm, result.reward):
            self._count_again([result.arm])
        return change

    def dwarfs(self, arm: int, reward: float) -> bool:
        """Return whether sums may be rounded because a reward was taken out of them that dwarfs the rest of the arm."""
        if self.counts[arm] == 0 or abs(reward) * self.counts[arm] <= _TINY * abs(self.totals[arm]):
            return False
        largest = float(np.max(np.abs(self._values[self.counting_of(arm)])))
        return 0 < _TINY * largest < abs(reward)  # sums of zeros are exact

    def adjust(self, rows: Ints, effects: Floats) -> None:
        """Replace the effects of results."""
        self._columns(np.float64)[rows, _EFFECT] = effects
        self._count_again(self._column(_ARM)[rows])

    def table(self, rows: Ints) -> "ResultColumns":
        """Return results as columns."""
        arm, pull, holder, job = (self._column(column)[rows] for column in (_ARM, _PULL, _HOLDER, _JOB))
        return ResultColumns(rows, arm, pull, holder, job, self._rewards[rows], self._effects[rows])

    def rows_of(self, holder: str) -> Ints:
        """Return the rows of a holder, earliest first."""
        number = self._number_of.get(holder, NONE)
        return np.flatnonzero(self._column(_HOLDER) == number)

    def count_holder(self, holder: str, *, counts: bool) -> Ints:
        """Include or exclude the results of a holder; return their rows."""
        (self.excluded.discard if counts else self.excluded.add)(holder)
        rows = self.rows_of(holder)
        self._count_again(self._column(_ARM)[rows])
        return rows

    def exclude_outlier(self, row: int) -> None:
        """Exclude a result as an outlier."""
        self.outliers.add(row)
        self._count_again([self.result(row).arm])

    def include_outliers(self) -> None:
        """Include all outliers again."""
        arms = [self.result(row).arm for row in self.outliers]
        self.outliers.clear()
        if arms:
            self._count_again(arms)

    def outlier(self, arm: int, value: float) -> int:
        """Return the result of an arm nearest to what its rule excluded; NONE if that is another or was corrected."""
        rows = self.counting_of(arm)
        if len(rows) == 0:
            return NONE
        distances = np.abs(self._values[rows] - value)
        row = int(rows[np.argmin(distances)])
        is_near = distances.min() <= abs(value - self.totals[arm] / self.counts[arm]) / 2
        return row if is_near and row not in self.corrected else NONE

    def sums(self, rows: Ints) -> Iterator[tuple[int, int, float, float]]:
        """Return what rows add up to, larger is better: each arm by number, its results, their sum, and of squares."""
        arms, place = np.unique(self._column(_ARM)[rows], return_inverse=True)
        values = self._values[rows]
        columns = (np.bincount(place, weights, len(arms)).tolist() for weights in (None, values, values * values))
        return zip(arms.tolist(), *columns, strict=True)

    def spread(self, arms: Iterable[int]) -> tuple[float, int, frozenset[float] | None, dict[int, Moments]]:
        """Return how far results, less their effects, lie from the mean of their arm: squares of all, and repeats.

        Repeats are results beyond each arm's first. Then the different rewards, if they are few, and some of the arms.
        """
        rows = self.counting()
        of, values = self._column(_ARM)[rows], (self._rewards - self._effects)[rows]
        size = len(self.counts)
        counts = np.bincount(of, minlength=size)
        first = np.zeros(size)
        first[of[::-1]] = values[::-1]
        less = values - first[of]  # 0 for equal rewards, and large means take no digits from small differences
        means = np.bincount(of, less, minlength=size) / np.maximum(counts, 1)
        apart = less - means[of]
        squares = np.bincount(of, apart**2, minlength=size)
        deviations = np.sqrt(squares / np.maximum(counts, 1))
        deviations[deviations == 0] = np.inf
        skewness = np.bincount(of, (apart / deviations[of]) ** 3, minlength=size) / np.maximum(counts, 1)
        means += first
        own = {
            arm: Moments(int(counts[arm]), float(means[arm]), float(squares[arm]), float(skewness[arm])) for arm in arms
        }
        freedom = int(counts.sum() - np.count_nonzero(counts))
        return float(squares.sum()), freedom, _few(self._rewards[rows]), own

    def counting(self, *, outliers: bool = False) -> Ints:
        """Return the rows that count, earliest first; with `outliers`, also those of outliers."""
        counts = np.ones(self.rows, np.bool_)
        if self.excluded:
            out = [self._number_of[holder] for holder in self.excluded if holder in self._number_of]
            counts = ~np.isin(self._column(_HOLDER), out)
        if self.outliers and not outliers:
            counts[sorted(self.outliers)] = False
        return np.flatnonzero(counts)

    def counting_of(self, arm: int) -> Ints:
        """Return the rows of an arm that count, earliest first."""
        rows = self.counting()
        found: Ints = rows[self._column(_ARM)[rows] == arm]
        return found

    def rows_of_arm(self, arm: int) -> Ints:
        """Return the rows of an arm, earliest first, excluded ones too."""
        return np.flatnonzero(self._column(_ARM) == arm)

    def last_rows(self) -> Ints:
        """Return by arm the row of its last result that counts, NONE where there is none."""
        rows, last = self.counting(), np.full(len(self.counts), NONE, np.int64)
        last[self._column(_ARM)[rows]] = rows
        return last

    def known_by_arm(self) -> dict[int, dict[int, float]]:
        """Return the results without a ticket: by arm and pull, their rewards."""
        known: dict[int, dict[int, float]] = {}
        for row in self.rows_of("").tolist():
            result = self.result(row)
            known.setdefault(result.arm, {})[result.pull] = result.reward
        return known

    def arms_by_holder(self) -> dict[str, set[int]]:
        """Return the arms that each holder has told a result of, excluded holders too."""
        pairs = np.unique(np.stack([self._column(_HOLDER), self._column(_ARM)]), axis=1)
        arms: dict[str, set[int]] = {}
        for holder, arm in pairs.T.tolist():
            if holder:
                arms.setdefault(self.holders[holder], set()).add(arm)
        return arms

    def save(self) -> dict[str, Any]:
        """Return everything as plain values and arrays."""
        return {
            "holders": self.holders,
            "excluded": sorted(self.excluded),
            "outliers": sorted(self.outliers),
            "corrected": sorted(self.corrected),
            "rewards": self._rewards,
            "effects": self._effects,
            "facts": self._columns(np.int64)[:, :_REWARD].copy(),
            "totals": np.array(self.totals, np.float64),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what was saved."""
        self.holders = list(saved["holders"])
        self._number_of = {holder: number for number, holder in enumerate(self.holders)}
        self.excluded, self.outliers = set(saved["excluded"]), set(saved["outliers"])
        self.corrected = set(saved["corrected"])
        self.rows = len(saved["rewards"])
        columns = np.empty((self.rows, len(_COLUMNS)), np.int64)
        columns[:, :_REWARD] = saved["facts"]
        columns[:, _REWARD] = saved["rewards"].astype(np.float64).view(np.int64)
        columns[:, _EFFECT] = saved["effects"].astype(np.float64).view(np.int64)
        self._table = bytearray(columns)
        self.totals = saved["totals"].tolist()
        counting = self.counting()
        self.counts = np.bincount(self._column(_ARM)[counting], minlength=len(self.totals)).tolist()
        self.pulls, self.tried = len(counting), int(np.count_nonzero(self.counts))
        self.spent = int(np.count_nonzero(self._column(_HOLDER)))

    @property
    def _rewards(self) -> Floats:
        return self._columns(np.float64)[:, _REWARD].copy()

    @property
    def _effects(self) -> Floats:
        return self._columns(np.float64)[:, _EFFECT].copy()

    @property
    def _values(self) -> Floats:
        return self.sign * (self._rewards - self._effects)

    def _column(self, which: int) -> Ints:
        return self._columns(np.int64)[:, which].copy()

    def _columns(self, kind: type) -> NDArray[Any]:
        """Return the table in place; copy what is kept, as a table that is looked at cannot grow."""
        return np.frombuffer(self._table, kind, self.rows * len(_COLUMNS)).reshape(-1, len(_COLUMNS))

    def _count_again(self, arms: Ints | list[int]) -> None:
        """Add up arms again: the same results give the same sums, to the last bit."""
        concerned = np.unique(arms)
        counting = self.counting()
        sums = self.sums(counting[np.isin(self._column(_ARM)[counting], concerned)])
        counted = {arm: (times, total) for arm, times, total, _ in sums}
        for arm in concerned.tolist():
            before = self.counts[arm]
            self.counts[arm], self.totals[arm] = counted.get(arm, (0, 0.0))
            self.pulls += self.counts[arm] - before
            self.tried += (self.counts[arm] > 0) - (before > 0)


class History:
    """The answer over time, thinned: at most 900 for 100,000 results, and seventy more for twice as many."""

    def __init__(self) -> None:
        self.moments: list[Moment] = []
        self.due = 1
        """The number of results at which the next moment is kept, even if the answer is the same."""
        self.since: Moment | None = None
        """The moment at which the present answer became that."""

    def add(self, results: int, label: Label, mean: float, tried: int, at: float | None) -> None:
        """Keep a moment if its answer or mean differs from the last one's, or if one is due.

        It replaces the last one, if that is close to the one before it.
        """
        moments = self.moments
        if results < self.due and moments[-1].label == label and moments[-1].mean == mean:
            return
        moment = Moment(results, label, mean, tried, at)
        if self.since is None or self.since.label != label:
            self.since = moment
        if moments and (moments[-1].results == results or self._is_last_close()):
            moments.pop()
        moments.append(moment)
        self.due = results + max(1, results // (_APART if self._is_last_close() else _PAUSE))  # a close one may go

    def save(self) -> dict[str, Any]:
        """Return everything as JSON has it."""
        return {"moments": self.moments, "due": self.due, "since": self.since}

    def load(self, saved: dict[str, Any]) -> None:
        """Restore what was saved."""
        self.moments = [Moment(*moment) for moment in saved["moments"]]
        self.due = saved["due"]
        self.since = None if saved["since"] is None else Moment(*saved["since"])

    def _is_last_close(self) -> bool:
        """Return whether the last moment is so close to the one before it that the next may replace it."""
        if len(self.moments) < 2:  # noqa: PLR2004  # a last one and the one before
            return False
        before, last = self.moments[-2].results, self.moments[-1].results
        return last - before < last // _APART


def _few(values: Floats) -> frozenset[float] | None:
    """Return the distinct values; None, if there are more than five."""
    found: list[float] = []
    while len(values) and len(found) < FEW_ANSWERS:
        found.append(float(values[0]))
        values = values[values != values[0]]
    return None if len(values) else frozenset(found)
