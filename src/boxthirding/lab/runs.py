"""What replicates of one policy gave, and how a run that was interrupted says what is complete."""

from dataclasses import dataclass

import numpy as np

from boxthirding.types import Floats, Ints


@dataclass(frozen=True)
class Run:
    """What replicates of one policy recommended, and how far that is from the best."""

    checkpoints: Ints  # [C] pulls
    recommended: Ints  # [R, C] arms of the instance
    regret: Floats  # [R, C]
    seconds: float
    """Of the run, by the clock, or, with an executor, of its workers in all; compilation is left out."""
    idle: Ints  # [R] with several workers: results that came in while another worker had nothing to do
    numbers: Ints  # [R] which replicates these are: 0, 1, 2, …, unless the run was interrupted

    @property
    def replicates(self) -> int:
        """How many replicates were run."""
        return len(self.recommended)

    def rows(self) -> list[dict[str, float]]:
        """Return one summary a checkpoint."""
        if not self.replicates:
            return []
        low, high = np.quantile(self.regret, (0.25, 0.75), axis=0)
        return [
            {
                "pulls": int(pulls),
                "replicates": self.replicates,
                "regret_mean": float(self.regret[:, c].mean()),
                "regret_se": float(self.regret[:, c].std(ddof=1) / np.sqrt(self.replicates))
                if self.replicates > 1
                else 0.0,
                "regret_q25": float(low[c]),
                "regret_q75": float(high[c]),
                "error_rate": float(np.mean(self.regret[:, c] > 0)),
                "seconds": self.seconds,
            }
            for c, pulls in enumerate(self.checkpoints)
        ]


class Interrupted(KeyboardInterrupt):
    """The run was interrupted; `partial` holds the replicates that were complete, `runs` those of a sweep."""

    def __init__(self, *runs: Run) -> None:
        super().__init__(f"interrupted after {sum(run.replicates for run in runs)} replicates")
        self.runs = list(runs)

    @property
    def partial(self) -> Run:
        """The run of `simulate`."""
        return self.runs[0]
