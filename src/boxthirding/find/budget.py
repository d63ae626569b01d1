"""A budget of pulls, cost or seconds, and how much of it is spent."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from boxthirding._checks import is_number, whole
from boxthirding._text import counted, written
from boxthirding.errors import InvalidInput

PLENTY: Final = 2**62  # more evaluations than any run starts


@dataclass(frozen=True)
class Budget:
    """What ends a run at the latest: a number of pulls, a total cost, or a number of seconds."""

    pulls: int | None = None
    cost: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.pulls is not None:
            object.__setattr__(self, "pulls", whole("budget", self.pulls, least=1))
        for name, value in {"cost": self.cost, "seconds": self.seconds}.items():
            if value is not None and not (is_number(value) and 0 < value < math.inf):
                raise InvalidInput(f"{name} is {value!r}, but must be a finite number above 0")
        if self.pulls is not None and self.cost is not None:
            raise InvalidInput(
                f"budget is {self.pulls} pulls and cost is {self.cost:g}, but a run has one budget in one unit: "
                "leave one out (seconds may stand beside either)"
            )

    @property
    def unit(self) -> str:
        """What is counted: pulls, cost or seconds."""
        return "pulls" if self.pulls is not None else "cost" if self.cost is not None else "seconds"

    @property
    def limit(self) -> float:
        """How much of the unit there is."""
        return next((value for value in (self.pulls, self.cost, self.seconds) if value is not None), math.inf)


@dataclass(frozen=True)
class Spending:
    """What a run has spent."""

    pulls: int
    """Evaluations that ended, including those that failed."""
    failures: int
    """Evaluations that failed."""
    abandoned: int
    """Evaluations that were not waited for when a deadline, Ctrl-C or an error ended the run."""
    cost: float
    """The sum of the costs: 1 for a result that came without one, the mean so far for an evaluation that failed."""
    seconds: float
    budget: Budget
    elsewhere: int = 0
    """Earlier results of the same study and results of other processes, which a budget of pulls counts too."""

    @property
    def unit(self) -> str:
        """What the budget counts: pulls, cost or seconds."""
        return self.budget.unit

    @property
    def limit(self) -> float:
        """How much of the unit there was."""
        return self.budget.limit

    @property
    def left(self) -> float:
        """How much of the unit is left; never below 0, though the last evaluations may cost more than there was."""
        spent = {"pulls": self.pulls + self.elsewhere, "cost": self.cost, "seconds": self.seconds}
        return max(0, self.limit - spent[self.unit])

    def __str__(self) -> str:
        duration = f"{self.seconds:.1f} s"
        if self.budget.seconds is not None and self.unit != "seconds":
            duration = f"{self.seconds:.1f} of at most {self.budget.seconds:g} s"
        if self.unit == "pulls":
            total = counted(int(self.limit), "pull")
            now = f" ({self.pulls:,} here)" if self.elsewhere else ""
            return f"{self.pulls + self.elsewhere:,} of {total}{now}, {self.left:,} left, in {duration}"
        if self.unit == "cost":
            spent = f"a cost of {written(self.cost)} of {written(self.limit)}, {written(self.left)} left"
            return f"{spent}: {counted(self.pulls, 'pull')} in {duration}"
        return f"{duration} of {self.limit:g} s, {self.left:.1f} s left: {counted(self.pulls, 'pull')}"


class BudgetTracker:
    """Counts what is spent of a budget."""

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self.elsewhere = 0  # earlier results of the same study, and results of other processes
        self.under_way_elsewhere = 0  # evaluations of the same study that run in other processes
        self.pulls = 0
        self.failures = 0
        self.cost = 0.0
        self._cost_of_results = 0.0
        self._clock = clock
        self._begun = clock()
        self.latest = 0.0  # seconds until the latest evaluation ended

    @property
    def results(self) -> int:
        """How many evaluations gave a result."""
        return self.pulls - self.failures

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._begun

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the deadline; None without one."""
        return None if self.budget.seconds is None else self.budget.seconds - self.seconds

    @property
    def rest_is_out(self) -> bool:
        """Whether all that is left of a budget of pulls, if anything, runs in other processes."""
        return self.budget.pulls is not None and self.pulls + self.elsewhere < self.budget.pulls

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left of a budget of pulls or cost."""
        return self.room(0) <= 0 and not self.rest_is_out

    def result(self, cost: float) -> None:
        """Count an evaluation that gave a result."""
        self.pulls += 1
        self.cost += cost
        self._cost_of_results += cost
        self.latest = self.seconds

    def too_late(self, cost: float) -> None:
        """Count a result that another process was faster with, and that a budget of pulls has counted there."""
        if self.budget.pulls is None:
            self.result(cost)
        else:
            self.cost += cost

    def failure(self) -> None:
        """Count an evaluation that failed: one pull, at the mean cost so far."""
        self.cost += self._mean_cost()
        self.pulls += 1
        self.failures += 1
        self.latest = self.seconds

    def room(self, in_flight: int) -> int:
        """Return how many more evaluations may be started beside those in flight."""
        if self.budget.pulls is not None:
            return self.budget.pulls - self.pulls - in_flight - self.under_way_elsewhere - self.elsewhere
        if self.budget.cost is None:
            return PLENTY
        if self.cost >= self.budget.cost:
            return 0
        mean = self._mean_cost()
        affordable = math.ceil(min((self.budget.cost - self.cost) / mean, PLENTY)) if mean > 0 else PLENTY
        return max(affordable, 1) - in_flight

    def spending(self, abandoned: int) -> Spending:
        """Return what has been spent."""
        return Spending(self.pulls, self.failures, abandoned, self.cost, self.seconds, self.budget, self.elsewhere)

    def _mean_cost(self) -> float:
        return self._cost_of_results / self.results if self.results else 0.0
