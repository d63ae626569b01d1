"""Everything that was measured, as figures, tables and claims read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from boxthirding.lab.error_split import ErrorSplit
from boxthirding.lab.paper.cases import Case
from boxthirding.lab.paper.estimates import Estimate, Share
from boxthirding.lab.paper.facts import Facts
from boxthirding.lab.runs import Run
from boxthirding.lab.theory import good_arms
from boxthirding.types import Floats

_SLACK = 1e-12  # a gap that is ε but for rounding is not above it


@dataclass(frozen=True)
class Evidence:
    """The facts, the runs by case and SPEC, and the split of their errors by case, SPEC and ε."""

    facts: Facts
    cases: Mapping[str, Case]
    runs: Mapping[tuple[str, str], Run]
    splits: Mapping[tuple[str, str, float], ErrorSplit] = field(default_factory=dict)

    def pulls(self, case: str) -> list[int]:
        """Return the checkpoints of a case."""
        return [int(pulls) for pulls in self.runs[case, self.cases[case].policies[0]].checkpoints]

    def replicates(self, case: str) -> int:
        """Return how many replicates a case has."""
        return self.cases[case].replicates

    @property
    def least_replicates(self) -> int:
        """How many replicates the case with the fewest has."""
        return min(case.replicates for case in self.cases.values())

    def regrets(self, case: str, policy: str, pulls: int) -> Floats:
        """Return the regret of every replicate after so many pulls, [R]."""
        run = self.runs[case, policy]
        return np.asarray(run.regret[:, int(np.flatnonzero(run.checkpoints == pulls)[0])])

    def regret(self, case: str, policy: str, pulls: int) -> Estimate:
        """Return the mean regret after so many pulls."""
        return Estimate.of(self.regrets(case, policy, pulls))

    def good(self, case: str, eps: float) -> int:
        """Return how many arms of a case are ε-best."""
        return good_arms(self.cases[case].instance.means, eps)

    def failures(self, case: str, policy: str, pulls: int, eps: float) -> Share:
        """Return how often the recommended arm is more than ε from the best."""
        regrets = self.regrets(case, policy, pulls)
        return Share(int(np.count_nonzero(regrets > eps + _SLACK)), len(regrets))
