"""Which pulls of each arm are handed out, told or known: no pull is handed out twice."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Pulls:
    """By arm, the pulls that are taken: all up to one, and some beyond it that are known."""

    def __init__(self) -> None:
        self._next: list[int] = []  # by arm: the first pull that was never taken in order
        self._beyond: dict[int, set[int]] = {}  # by arm: pulls from there on that are taken

    def make_room(self, arms: int) -> None:
        """Have an entry for each of the first `arms` arms."""
        missing = arms - len(self._next)
        if missing > 0:
            self._next.extend([0] * missing)

    def take_next(self, arm: int) -> int:
        """Take the first pull of an arm that is free, and return it."""
        pull = self._next[arm]
        if self._beyond:
            beyond = self._beyond.get(arm, ())
            while pull in beyond:
                pull += 1
            self._pass(arm, pull + 1)
        self._next[arm] = pull + 1
        return pull

    def take(self, arm: int, pull: int) -> None:
        """Take a pull out of order."""
        self._beyond.setdefault(arm, set()).add(pull)

    def take_up_to(self, arm: int, pull: int) -> None:
        """Take all pulls of an arm up to this one."""
        self._next[arm] = max(self._next[arm], pull + 1)
        self._pass(arm, self._next[arm])

    def has(self, arm: int, pull: int) -> bool:
        """Tell whether a pull of an arm is taken."""
        return pull < self._next[arm] or pull in self._beyond.get(arm, ())

    def taken(self, arm: int) -> int:
        """Return how many pulls of an arm are taken."""
        return self._next[arm] + (len(self._beyond.get(arm, ())) if self._beyond else 0)

    def save(self) -> tuple[list[list[Any]], NDArray[Any]]:
        """Return what is taken beyond the first free pull, and that pull, by arm."""
        return [[arm, sorted(pulls)] for arm, pulls in self._beyond.items()], np.array(self._next, np.int64)

    def load(self, beyond: Iterable[tuple[int, list[int]]], following: NDArray[Any]) -> None:
        """Go on from what was saved."""
        self._beyond = {arm: set(pulls) for arm, pulls in beyond}
        self._next = following.tolist()

    def _pass(self, arm: int, first: int) -> None:
        """Let pulls before `first` be taken in order."""
        if arm in self._beyond:
            left = {pull for pull in self._beyond.pop(arm) if pull >= first}
            if left:
                self._beyond[arm] = left
