"""What becomes of the arms of a level: lifted, shifted or discarded, counted in Box Thirding's own meetings.

Which box acts when does not depend on the rewards, so one run without any tells it exactly.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from boxthirding.policies import BoxThirding
from boxthirding.policies.boxes import MET, WIDTH
from boxthirding.policies.rule_runner import LiveState
from boxthirding.types import NONE

_ROOM = 1024  # arms; a state with too little of it grows


@dataclass(frozen=True)
class Level:
    """The arms that have entered a level, and the ARRANGEs of its boxes."""

    level: int
    entered: int
    arranged: tuple[int, ...]
    """By deferment count j: how often Box(l, j) was arranged; each time one arm is lifted, shifted and discarded."""

    @property
    def lifted(self) -> int:
        """Return how many of its arms have been lifted; as many have been discarded."""
        return sum(self.arranged)

    @property
    def waiting(self) -> int:
        """Return how many of its arms stand in its boxes, fresh or shifted."""
        return self.entered - 2 * self.lifted

    def lifted_by(self, boxes: int) -> float:
        """Return the share of its arms that is lifted from its first so many boxes."""
        return sum(self.arranged[:boxes]) / self.entered


def levels(n_arms: int, pulls: int) -> list[Level]:
    """Return what has become of the arms of every level after so many pulls, as long as new arms come in.

    >>> [(level.entered, level.lifted, level.waiting) for level in levels(5_513, 1_000)[:3]]
    [(246, 120, 6), (120, 57, 6), (57, 27, 3)]
    """
    arranged: Counter[tuple[int, int]] = Counter()
    introduced = 0
    for box, arms in _meetings(n_arms, pulls):
        if arms == 1:
            introduced += 1
        else:
            arranged[divmod(box, WIDTH)] += 1
    found: list[Level] = []
    entered = introduced
    while entered:
        boxes = [arranged[len(found), j] for j in range(WIDTH)]
        found.append(Level(len(found), entered, tuple(boxes[: _used(boxes)])))
        entered = found[-1].lifted
    return found


def _meetings(n_arms: int, pulls: int) -> Iterator[tuple[int, int]]:
    """Yield the box of every meeting and how many arms met: one is an introduction, three an ARRANGE."""
    live = LiveState(BoxThirding(), n_arms, seed=0, capacity=min(n_arms, _ROOM))
    read = spent = 0
    while True:
        job, _, times = live.ask()
        state = live.arrays
        spent += times
        if spent > pulls:  # a job that is not complete has moved no arm
            return
        for row in range(read, int(state.scalars[MET])):
            box, *arms = state.met[row % len(state.met)].tolist()
            yield box, sum(arm != NONE for arm in arms)
        read = int(state.scalars[MET])
        live.tell(job, times, 0.0, 0.0)


def _used(boxes: list[int]) -> int:
    return max((j + 1 for j, times in enumerate(boxes) if times), default=0)
