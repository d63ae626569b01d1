"""The record of Adaptive Box Thirding: its boxes, and its final."""

from typing import Any

import numpy as np

from boxthirding.policies.adaptive_box_thirding import recommend
from boxthirding.policies.boxes import KNOWN, SEEN
from boxthirding.policies.final import ALL_MET, ORIGIN
from boxthirding.policies.records import Arm, BoxRecord, Size
from boxthirding.types import NONE


class FinalRecord(BoxRecord):
    """The record of Adaptive Box Thirding: every arm with a result may be returned, and there is a final."""

    def place(self, state: Any, number: int) -> str:
        """Say where an arm stands now, and how it does in the final."""
        words = [super().place(state, number)]
        if state.scalars[ALL_MET] == 1 and self.level(state, number) is not None:
            words.append("the boxes are closed, as every arm has been tried")
        if number < state.scalars[KNOWN] and state.finalist[number]:
            finalists = self._finalists(state)
            words.append(f"in the final, {finalists.index(number) + 1} of {len(finalists)} by lower bound")
            if recommend(state) == number:
                words.append("the answer")
        return "; ".join(words)

    def candidates(self, state: Any) -> int | None:  # noqa: ARG002  # the contract's
        """Return nothing: all arms with a result."""
        return None

    def candidate_set(self, state: Any) -> set[int] | None:  # noqa: ARG002
        """Return nothing, for the same reason."""
        return None

    def sizes(self, state: Any) -> list[Size]:
        """Return the boxes and piles, and last the final."""
        root = int(state.root[0])
        return super().sizes(state) + ([Size(None, None, int(state.weight[root]))] if root != NONE else [])

    def contents(self, state: Any, level: int | None, deferment: int | None, first: int, count: int) -> list[Arm]:
        """Return the arms of a box, or of the final, the largest lower bound first."""
        if level is not None:
            return super().contents(state, level, deferment, first, count)
        return [self._arm(state, number) for number in self._finalists(state)[first : first + count]]

    def _finalists(self, state: Any) -> list[int]:
        arms = np.flatnonzero(state.finalist[: int(state.scalars[SEEN])])
        return [int(arm) for arm in arms[np.lexsort((-state.luck[arms], -state.lower[arms]))]]

    def _move(self, box: int, numbers: list[int]) -> None:
        """Follow no candidate sets: everybody is a candidate."""

    def _origin(self, state: Any) -> float:
        return float(state.facts[ORIGIN])
