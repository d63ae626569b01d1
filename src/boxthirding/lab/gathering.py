"""The replicates of one setting, gathered as their chunks end, in any order."""

from collections.abc import Iterator

import numpy as np

from boxthirding.lab.chunks import Part
from boxthirding.lab.runs import Run
from boxthirding.types import Floats, Ints


class Gathered:
    """Room for a number of replicates, and which of them are there."""

    def __init__(self, means: Floats, checkpoints: Ints, replicates: int) -> None:
        self._means = means
        self._checkpoints = checkpoints
        self._recommended = np.zeros((replicates, len(checkpoints)), np.int64)
        self._idle = np.zeros(replicates, np.int64)
        self._there = np.zeros(replicates, np.bool_)
        self._seconds = 0.0

    @property
    def complete(self) -> bool:
        """Whether no replicate is missing."""
        return bool(self._there.all())

    def lacks(self, part: Part) -> bool:
        """Tell whether some of a chunk's replicates are not there yet."""
        return not self._there[part.first : part.first + len(part.recommended)].all()

    def take(self, part: Part) -> int:
        """Add what a chunk gave; return how many replicates are new: one that is there already stays as it is."""
        stop = min(part.first + len(part.recommended), len(self._there))
        new = part.first + np.flatnonzero(~self._there[part.first : stop])
        self._recommended[new] = part.recommended[new - part.first]
        self._idle[new] = part.idle[new - part.first]
        self._there[new] = True
        if len(new):
            self._seconds += part.seconds * len(new) / len(part.recommended)
        return len(new)

    def missing(self) -> Iterator[tuple[int, int]]:
        """Yield the ranges of replicates that are not there, each with its first and its end."""
        edges = np.flatnonzero(np.diff(np.r_[True, self._there, True].astype(np.int8)))
        yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)

    def run(self, replicates: int | None = None) -> Run:
        """Return what is there of the first `replicates`, or of all."""
        numbers = np.flatnonzero(self._there[:replicates])
        recommended = self._recommended[numbers]
        regret = self._means.max() - self._means[recommended]
        seconds = self._seconds * len(numbers) / max(1, int(self._there.sum()))
        return Run(self._checkpoints, recommended, regret, seconds, self._idle[numbers], numbers)
