"""One budget in one unit: pulls, a total cost, or seconds; what has been spent of it, and what is left."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from boxthirding._checks import is_number, whole
from boxthirding._text import counted, written
from boxthirding.errors import InvalidInput

PLENTY: Final = 2**62
"""More evaluations than any run starts."""


@dataclass(frozen=True)
class Limits:
    """When a run ends at the latest: after a number of pulls, at a total cost, or after a number of seconds."""

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
    """Evaluations that ended, the failed ones among them."""
    failures: int
    """Of them, how many failed."""
    abandoned: int
    """Evaluations started and not waited for, when a deadline, Ctrl-C or an error ended the run."""
    cost: float
    """The sum of the costs: 1 for a result that came without one, the mean so far for an evaluation that failed."""
    seconds: float
    limits: Limits
    elsewhere: int = 0
    """Results of the same study that came in before, or from other processes: a budget of pulls counts them too."""

    @property
    def unit(self) -> str:
        """What the budget counts: pulls, cost or seconds."""
        return self.limits.unit

    @property
    def limit(self) -> float:
        """How much of the unit there was."""
        return self.limits.limit

    @property
    def left(self) -> float:
        """How much of the unit is left; never below 0, though the last evaluations may cost more than there was."""
        spent = {"pulls": self.pulls + self.elsewhere, "cost": self.cost, "seconds": self.seconds}
        return max(0, self.limit - spent[self.unit])

    def __str__(self) -> str:
        duration = f"{self.seconds:.1f} s"
        if self.limits.seconds is not None and self.unit != "seconds":
            duration = f"{self.seconds:.1f} of at most {self.limits.seconds:g} s"
        if self.unit == "pulls":
            total = counted(int(self.limit), "pull")
            now = f" ({self.pulls:,} here)" if self.elsewhere else ""
            return f"{self.pulls + self.elsewhere:,} of {total}{now}, {self.left:,} left, in {duration}"
        if self.unit == "cost":
            spent = f"a cost of {written(self.cost)} of {written(self.limit)}, {written(self.left)} left"
            return f"{spent}: {counted(self.pulls, 'pull')} in {duration}"
        return f"{duration} of {self.limit:g} s, {self.left:.1f} s left: {counted(self.pulls, 'pull')}"


class Account:
    """A budget while it is being spent."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.elsewhere = 0
        """Results of the same study from other processes, or from before."""
        self.under_way_elsewhere = 0
        """Evaluations of the same study that others have under way."""
        self.pulls = 0
        self.failures = 0
        self.cost = 0.0
        self._cost_of_results = 0.0
        self._clock = clock
        self._begun = clock()
        self.latest = 0.0
        """Seconds until the last evaluation ended."""

    @property
    def results(self) -> int:
        """How many evaluations gave a result."""
        return self.pulls - self.failures

    @property
    def seconds_left(self) -> float | None:
        """How long until the deadline, or None without one."""
        return None if self.limits.seconds is None else self.limits.seconds - self.seconds

    @property
    def seconds(self) -> float:
        """How long it has taken by now."""
        return self._clock() - self._begun

    @property
    def rest_is_out(self) -> bool:
        """Whether what is left of a budget of pulls, if anything, is under way elsewhere."""
        return self.limits.pulls is not None and self.pulls + self.elsewhere < self.limits.pulls

    def result(self, cost: float) -> None:
        """Pay for an evaluation that gave a result."""
        self.pulls += 1
        self.cost += cost
        self._cost_of_results += cost
        self.latest = self.seconds

    def too_late(self, cost: float) -> None:
        """Pay for a result that others were faster with: a budget of pulls has counted theirs."""
        if self.limits.pulls is None:
            self.result(cost)
        else:
            self.cost += cost

    def failure(self) -> None:
        """Pay for an evaluation that failed: a pull, and what evaluations have cost on the average so far."""
        self.cost += self._mean_cost()
        self.pulls += 1
        self.failures += 1
        self.latest = self.seconds

    def room(self, in_flight: int) -> int:
        """Return how many more evaluations may be started beside those in flight."""
        if self.limits.pulls is not None:
            return self.limits.pulls - self.pulls - in_flight - self.under_way_elsewhere - self.elsewhere
        if self.limits.cost is None:
            return PLENTY
        if self.cost >= self.limits.cost:
            return 0
        mean = self._mean_cost()
        affordable = math.ceil(min((self.limits.cost - self.cost) / mean, PLENTY)) if mean > 0 else PLENTY
        return max(affordable, 1) - in_flight

    def spending(self, abandoned: int) -> Spending:
        """Return what has been spent by now."""
        return Spending(self.pulls, self.failures, abandoned, self.cost, self.seconds, self.limits, self.elsewhere)

    def _mean_cost(self) -> float:
        return self._cost_of_results / self.results if self.results else 0.0
