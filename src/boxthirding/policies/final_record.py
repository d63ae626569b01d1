"""The record of Adaptive Box Thirding: its boxes, and its final."""

from typing import Any

import numpy as np

from boxthirding._text import counted
from boxthirding.policies.adaptive_box_thirding import recommend
from boxthirding.policies.boxes import KNOWN, PILE, SEEN, WIDTH
from boxthirding.policies.final import ALL_MET, ORIGIN
from boxthirding.policies.records import Arm, BoxRecord, Size
from boxthirding.types import NONE


class FinalRecord(BoxRecord):
    """The record of Adaptive Box Thirding: every arm with a result may be returned, and there is a final."""

    def place(self, state: Any, number: int) -> str:
        """Say where an arm stands now, and how it does in the final."""
        words = [super().place(state, number) + self._since(state, number)]
        if state.scalars[ALL_MET] == 1 and self.level(state, number) is not None:
            words.append("the boxes closed when every arm had been tried")
        if number < state.scalars[KNOWN] and state.finalist[number]:
            finalists = self._finalists(state)
            words.append(f"place {finalists.index(number) + 1} of {len(finalists)} in the final")
        if recommend(state) == number:  # also after it has left the final, whose floor rises
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

    def _since(self, state: Any, number: int) -> str:
        """Say how often an arm was pulled in the final after it was discarded; nothing, where that is not known."""
        if number >= len(self._met) or state.lifter[number] == number or state.amended[number]:
            return ""
        if state.place[number] < 0 or state.place[number] % WIDTH != PILE:
            return ""
        meeting = self._met[number]
        seats = range(self._seats[meeting], self._seats[meeting + 1])
        more = int(state.pulls[number]) - next(self._pulls[seat] for seat in seats if self._who[seat] == number)
        return f", then given {counted(more, 'more pull')} by the final" if more > 0 else ""

    def _finalists(self, state: Any) -> list[int]:
        arms = np.flatnonzero(state.finalist[: int(state.scalars[SEEN])])
        return [int(arm) for arm in arms[np.lexsort((-state.luck[arms], -state.lower[arms]))]]

    def _move(self, box: int, numbers: list[int]) -> None:
        """Follow no candidate sets: everybody is a candidate."""

    def _origin(self, state: Any) -> float:
        return float(state.facts[ORIGIN])
