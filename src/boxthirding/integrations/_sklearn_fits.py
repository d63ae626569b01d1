"""Fits of candidates on folds: those under way, what came of them, and how scikit-learn shows it."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from boxthirding.session import Ticket
from boxthirding.study import Entry, Study
from boxthirding.study.events import Asked, Given, Released, Told, Withdrawn
from boxthirding.types import Label

Out: TypeAlias = dict[str, Any]  # what a fit gave, as scikit-learn returns it

Scores: TypeAlias = dict[str, float]  # what the fit of one fold gave: fit_time, score_time, test_score, …

Place: TypeAlias = tuple[Label, int]  # a candidate and a fold

TIMES: Final = ("fit_time", "score_time")

_NONE: Final = np.iinfo(np.int32).max  # the rank of what has no score
_UNKNOWN: Final = "no finite score in an earlier run, or in another process"


class Futures:
    """Fits under way, each of which can be replaced as soon as it ends."""

    def __init__(self, begin: Callable[[Ticket], "Future[Out]"]) -> None:
        self._begin = begin
        self._tickets: dict[Future[Out], Ticket] = {}

    def __len__(self) -> int:
        return len(self._tickets)

    def submit(self, ticket: Ticket) -> None:
        """Begin a fit."""
        self._tickets[self._begin(ticket)] = ticket

    def finished(self) -> Iterator[tuple[Ticket, Out]]:
        """Wait for a fit; yield those that have ended, and raise what the others raised."""
        done = wait(self._tickets, return_when=FIRST_COMPLETED).done
        for future in sorted(done, key=lambda one: (one.exception() is not None, self._tickets[one].id)):
            yield self._tickets.pop(future), future.result()

    def ended(self) -> Iterator[tuple[Ticket, Out]]:
        """Yield the fits that have ended well, without waiting."""
        for future, ticket in self._tickets.items():
            if future.done() and not future.cancelled() and future.exception() is None:
                yield ticket, future.result()

    def cancel(self) -> None:
        """Give up what is under way."""
        for future in self._tickets:
            future.cancel()


class Blocks:
    """Fits that wait for each other: one at a time in this process, or several as a backend of joblib runs them."""

    def __init__(self, fitted: Callable[[list[Ticket]], list[Out]]) -> None:
        self._fitted = fitted  # those of a block, which are on the same fold
        self._tickets: list[Ticket] = []

    def __len__(self) -> int:
        return len(self._tickets)

    def submit(self, ticket: Ticket) -> None:
        """Put a fit into a block."""
        self._tickets.append(ticket)

    def finished(self) -> Iterator[tuple[Ticket, Out]]:
        """Fit the next block."""
        block = [ticket for ticket in self._tickets if ticket.pull == self._tickets[0].pull]
        self._tickets = [ticket for ticket in self._tickets if ticket not in block]
        yield from zip(block, self._fitted(block), strict=True)

    def ended(self) -> Iterator[tuple[Ticket, Out]]:
        """Yield nothing: a block that was broken off has no results."""
        return iter(())


class Fit(NamedTuple):
    """What came of one candidate on one fold."""

    scores: Scores
    error: str | None = None  # the traceback of a fit that failed, whose score is `error_score`

    def details(self) -> dict[str, Any]:
        """Return what a study keeps of it beside the score."""
        scores = {name: value for name, value in self.scores.items() if np.isfinite(value)}
        return {"scores": scores} if self.error is None else {"scores": scores, "error": self.error}


class Fits(dict[Place, Fit]):
    """All fits, by candidate and fold, in the order in which they ended."""

    def __init__(self) -> None:
        super().__init__()
        self.untold: set[Place] = set()  # those without a finite score, which a study has no result of

    def labels(self) -> list[Label]:
        """Return the candidates that were fitted."""
        return list(dict.fromkeys(label for label, _ in self))

    def recall(self, study: Study) -> None:
        """Take what earlier runs and other processes fitted, as the events tell."""
        places: dict[int, Place] = {}  # by ticket
        held: set[int] = set()
        for entry in study.events():
            event = entry.event if isinstance(entry, Entry) else None
            if isinstance(event, Asked):
                places |= {ticket: (label, pull) for ticket, label, pull in event.tickets}
                held |= {ticket for ticket, _, _ in event.tickets}
            elif isinstance(event, Given):
                held |= set(event.tickets)
            elif isinstance(event, Released):
                held -= set(event.tickets)
            elif isinstance(event, Told):
                held.discard(event.ticket)
                details = event.details or {}
                self.setdefault(places[event.ticket], Fit(dict(details.get("scores", {})), details.get("error")))
            elif isinstance(event, Withdrawn):  # what was under way gave no finite score
                lost = {ticket for ticket in held if places[ticket][0] == event.label}
                held -= lost
                for ticket in sorted(lost):
                    self.untold.add(places[ticket])
                    self.setdefault(places[ticket], Fit({}, _UNKNOWN))


class CvResults:
    """`cv_results_`: a row for each candidate, a column for each fold, and what they come to."""

    def __init__(self, fits: Fits, n_splits: int, error_score: float, deciding: str, order: Sequence[Label]) -> None:
        self._fits, self._error_score = fits, error_score
        self._deciding = deciding  # test_score, or that of the metric that decides
        self._order = {label: place for place, label in enumerate(order)}  # the best first
        self._rows = {label: row for row, label in enumerate(fits.labels())}
        self._is_fitted = np.zeros((len(self._rows), n_splits), dtype=bool)
        for label, pull in fits:
            self._is_fitted[self._rows[label], pull] = True

    def render(self, columns_of_params: Mapping[str, Any]) -> dict[str, Any]:
        """Return the table in scikit-learn's usual form."""
        good = [fit.scores for fit in self._fits.values() if fit.error is None]
        results: dict[str, Any] = {}
        for name in dict.fromkeys(name for scores in good for name in scores):
            table = self._column_by_fold(name)
            if name not in TIMES:
                results |= columns_of_params
                results |= {f"split{fold}_{name}": table[:, fold] for fold in range(table.shape[1])}
            results[f"mean_{name}"], results[f"std_{name}"] = self._moments(table, name)
            if name.startswith("test_"):
                results[f"rank_{name}"] = self._ranks(results[f"mean_{name}"], name)
        results["n_folds"] = self._is_fitted.sum(axis=1)
        return results

    def _column_by_fold(self, name: str) -> Any:
        table = np.full(self._is_fitted.shape, np.nan)
        for (label, pull), fit in self._fits.items():
            is_failed = fit.error is not None and name not in TIMES
            table[self._rows[label], pull] = self._error_score if is_failed else fit.scores.get(name, np.nan)
        return table

    def _moments(self, table: Any, name: str) -> tuple[Any, Any]:
        """Return the means and standard deviations over the folds that were fitted; NaN, if one of them failed."""
        numbers = self._is_fitted.sum(axis=1)
        means = np.where(self._is_fitted, table, 0).sum(axis=1) / numbers
        squares = (np.where(self._is_fitted, table, 0) - means[:, None]) ** 2
        if name not in TIMES and not np.isfinite(means).all():
            warnings.warn(
                f"One or more of the {name.partition('_')[0]} scores are non-finite: {means}",
                UserWarning,
                stacklevel=9,  # where `fit` is called
            )
        return means, np.sqrt(np.where(self._is_fitted, squares, 0).sum(axis=1) / numbers)

    def _ranks(self, means: Any, name: str) -> Any:
        """Return ranks from 1: in the order of the policy for the metric that decides, by the mean for others."""
        if name == self._deciding:
            places = np.array([self._order.get(label, _NONE) for label in self._rows])
        else:
            places = np.where(np.isnan(means), _NONE, -means)
        return (1 + np.searchsorted(np.sort(places), places)).astype(np.int32)
