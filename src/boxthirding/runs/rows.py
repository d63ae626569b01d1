"""UCB-E over the rows of a score matrix: the published way to choose a prompt or a model for a part of the cost.

Zhou and others 2024, "On speeding up language model evaluation" (arXiv 2407.06172), algorithm UCB-E, as their program
has it: the row with the largest mean + √(a / n) is evaluated on a batch of examples that it has not had, n being those
that it has had; a row without a score comes first, and a complete one is out. Theirs breaks ties by the number of a
row; here they go by luck. Their other algorithm, which fills in the matrix by a factorization, is left out.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import numpy as np

from boxthirding._checks import not_negative, whole
from boxthirding.errors import InvalidInput
from boxthirding.policies.spec import values_of
from boxthirding.sim import Run
from boxthirding.types import Floats, Ints, Progress


@dataclass(frozen=True)
class RowsUCBE:
    """UCB-E with batches; examples are drawn without replacement, so it is no policy of the simulator."""

    exploration: float = 1.0
    batch: int = 32

    name: ClassVar[str] = "ucbe-rows"

    def __post_init__(self) -> None:
        not_negative("exploration", self.exploration)
        whole("batch", self.batch, least=1)

    @classmethod
    def parsed(cls, spec: str) -> "RowsUCBE | None":
        """Read a SPEC, or return None for one of another name.

        >>> RowsUCBE.parsed("ucbe-rows:batch=8"), RowsUCBE.parsed("ucbe")
        (RowsUCBE(exploration=1.0, batch=8), None)
        """
        name, _, rest = spec.partition(":")
        if name == cls.name:
            return cls(**values_of(spec, name, cls, rest))
        if name.lower() == cls.name:
            raise InvalidInput(f"policy is {name!r}, but is written in small letters: did you mean {cls.name!r}?")
        return None

    def evaluated(self, scores: Floats, rng: np.random.Generator) -> Iterator[tuple[int, Ints]]:
        """Yield rows with the examples on which they are evaluated, batch by batch, until all are complete."""
        luck = rng.permutation(len(scores))  # place k is row luck[k]: of equal bounds the first place wins
        waiting = [np.flatnonzero(np.isfinite(scores[row])) for row in luck]
        counts, totals = np.zeros(len(scores)), np.zeros(len(scores))
        bounds = np.full(len(scores), math.inf)
        while (place := int(bounds.argmax())) >= 0 and bounds[place] > -math.inf:
            if counts[place] == 0:
                rng.shuffle(waiting[place])
            examples, waiting[place] = np.split(waiting[place], [self.batch])
            yield int(luck[place]), examples
            counts[place] += len(examples)
            totals[place] += scores[luck[place], examples].sum()
            done = len(waiting[place]) == 0
            mean = totals[place] / counts[place]
            bounds[place] = -math.inf if done else mean + math.sqrt(self.exploration / counts[place])

    def recommended(self, scores: Floats, checkpoints: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Return the row with the largest mean at each number of scores, checkpoints ascending."""
        counts, totals = np.zeros(len(scores)), np.zeros(len(scores))
        luck = rng.permutation(len(scores))
        found: list[int] = []
        spent = 0
        for row, examples in self.evaluated(scores, rng):
            batch = scores[row, examples]
            while len(found) < len(checkpoints) and checkpoints[len(found)] <= spent + len(batch):
                part = batch[: checkpoints[len(found)] - spent]
                means = np.divide(totals, counts, out=np.full(len(scores), -math.inf), where=counts > 0)
                means[row] = (totals[row] + part.sum()) / (counts[row] + len(part))
                found.append(int(luck[means[luck].argmax()]))
            if len(found) == len(checkpoints):
                break
            spent += len(batch)
            counts[row] += len(batch)
            totals[row] += batch.sum()
        return found

    def run(
        self,
        scores: Floats,
        checkpoints: Sequence[int],
        replicates: int,
        seed: int,
        tell: Callable[[Progress], None] | None = None,
    ) -> Run:
        """Run replicates, each in a random order of its own."""
        began = perf_counter()
        rows = []
        for done in range(replicates):
            if tell:
                spent = perf_counter() - began
                left = spent * (replicates - done) / done if done else None
                tell(Progress(done, replicates, "replicates", spent, left, self.name))
            rows.append(self.recommended(scores, checkpoints, np.random.default_rng((seed, done))))
        if tell:
            tell(Progress(replicates, replicates, "replicates", perf_counter() - began, 0.0, self.name))
        picked = np.array(rows)
        means = np.nanmean(scores, axis=1)
        regret = means.max() - means[picked]
        idle = np.zeros(replicates, np.int64)
        return Run(np.array(checkpoints), picked, regret, perf_counter() - began, idle, np.arange(replicates))
