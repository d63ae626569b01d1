"""The story of a run, written beside the rule and never read by it: who met whom, and who could still be returned."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Protocol

from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.boxes import BASE, MET, PILE, WIDTH, WITHDRAWN, State, highest
from boxthirding.types import NONE, Policy


class Arm(NamedTuple):
    """An arm as it stood at some moment."""

    number: int
    mean: float
    pulls: int


class Meeting(NamedTuple):
    """Arms that met in a box, best first; a single arm is one that was introduced there."""

    at: int
    """Pulls of the whole run at that moment."""
    level: int
    deferment: int
    arms: tuple[Arm, ...]


class _Union(NamedTuple):
    """Arms that have one candidate set from now on: the union of what they had."""

    box: int
    """The box that they met in, or NONE for a base update."""
    members: tuple[tuple[int, int], ...]
    """Each of them, and the latest union it was in before, or NONE."""


class Contents(NamedTuple):
    """What stands in a box, or on the pile of a level, earliest entry first."""

    level: int
    deferment: int | None
    """None is the pile: what was discarded at the level."""
    arms: tuple[Arm, ...]


class Record(Protocol):
    """What a session writes down of a rule's decisions."""

    def note(self, state: Any, pulls: int) -> None:
        """Take down what the last `ask` decided."""

    def meetings(self, number: int) -> list[Meeting]:
        """Return the meetings of an arm, earliest first."""

    def place(self, state: Any, number: int) -> str:
        """Say where an arm stands now."""

    def level(self, state: Any, number: int) -> int | None:
        """Return the level of an arm, where the rule has levels."""

    def candidates(self, state: Any, told: Iterable[int]) -> set[int]:
        """Return the arms that could still be returned, whatever the rewards had been; `told` have a result."""

    def boxes(self, state: Any) -> list[Contents]:
        """Return the boxes and piles that hold an arm, from the lowest level up."""


class PlainRecord:
    """The record of a rule without boxes: every arm with a result could be returned."""

    def note(self, state: Any, pulls: int) -> None:
        """Write nothing."""

    def meetings(self, number: int) -> list[Meeting]:  # noqa: ARG002  # the contract's
        """Return nothing."""
        return []

    def place(self, state: Any, number: int) -> str:  # noqa: ARG002
        """Say nothing: there are no boxes."""
        return ""

    def level(self, state: Any, number: int) -> int | None:  # noqa: ARG002
        """Return nothing."""
        return None

    def candidates(self, state: Any, told: Iterable[int]) -> set[int]:  # noqa: ARG002
        """Return the arms with a result."""
        return set(told)

    def boxes(self, state: Any) -> list[Contents]:  # noqa: ARG002
        """Return nothing."""
        return []


class BoxRecord:
    """The record of Box Thirding: its meetings, and the candidate set of section 4.1 that follows from them."""

    def __init__(self) -> None:
        self._read = 0
        self._meetings: list[Meeting] = []
        self._of: dict[int, list[int]] = {}  # by arm: its meetings
        self._unions: list[_Union] = []
        self._latest: dict[int, int] = {}  # by arm: the latest union it is in
        self._box: dict[int, int] = {}  # by arm: where its latest meeting sends it
        self._base = 0

    def note(self, state: State, pulls: int) -> None:
        """Take down the rows that the rule has written since the last time."""
        written = int(state.scalars[MET])
        for row in range(max(self._read, written - len(state.met)), written):
            box, *numbers = state.met[row % len(state.met)].tolist()
            arms = tuple(self._arm(state, number) for number in numbers if number != NONE)
            for arm in arms:
                self._of.setdefault(arm.number, []).append(len(self._meetings))
            self._meetings.append(Meeting(pulls, box // WIDTH, box % WIDTH, arms))
            self._move(box, [arm.number for arm in arms])
        self._read = written

    def meetings(self, number: int) -> list[Meeting]:
        """Return the meetings of an arm, earliest first."""
        return [self._meetings[index] for index in self._of.get(number, [])]

    def place(self, state: State, number: int) -> str:
        """Say where an arm stands now."""
        place, lifter = int(state.place[number]), int(state.lifter[number])
        if place == WITHDRAWN:
            return "withdrawn"
        if lifter == number:
            return f"being pulled for level {state.target[number]}, pulls to go: {state.due[number]}"
        if place == NONE:
            return f"waiting to be pulled again at level {state.scalars[BASE]}"
        level, deferment = divmod(place, WIDTH)
        if deferment == PILE:
            return f"discarded at level {level}"
        return f"in box ({level}, {deferment})" + (", which is being arranged" if lifter != NONE else "")

    def level(self, state: State, number: int) -> int | None:
        """Return the level of the box or pile an arm stands in."""
        return int(state.place[number]) // WIDTH if state.place[number] >= 0 else None

    def candidates(self, state: State, told: Iterable[int]) -> set[int]:
        """Return the union of the candidate sets of Box(L, 0).

        A new slot holds its arm; an ARRANGE gives the union of the three sets to all three outcomes, and a base update
        the union of R to all of R, and that of the pile to all of it: each of them may come first.
        """
        box = int(highest(state))
        if box == NONE:
            return set(told)
        arms: set[int] = set()
        seen: set[int] = set()
        to_visit: list[tuple[int, int]] = []  # an arm, and its latest union that counts
        number = int(state.first[box])
        while number != NONE:
            to_visit.append((number, self._settled(state, number)))
            number = int(state.after[number])
        while to_visit:
            number, index = to_visit.pop()
            if index == NONE:
                arms.add(number)
            elif index not in seen:
                seen.add(index)
                to_visit += self._unions[index].members
        return {number for number in arms if state.place[number] != WITHDRAWN}

    def boxes(self, state: State) -> list[Contents]:
        """Follow every box's list of arms."""
        found = []
        for box in map(int, state.size.nonzero()[0]):
            arms = []
            number = int(state.first[box])
            while number != NONE:
                arms.append(self._arm(state, number))
                number = int(state.after[number])
            level, deferment = divmod(box, WIDTH)
            found.append(Contents(level, None if deferment == PILE else deferment, tuple(arms)))
        return found

    def _settled(self, state: State, number: int) -> int:
        """Return the latest union of an arm that has been carried out: an ARRANGE under way leaves it where it was."""
        index = self._latest.get(number, NONE)
        if index != NONE and self._unions[index].box == state.place[number] >= 0:
            return dict(self._unions[index].members)[number]
        return index

    def _move(self, box: int, numbers: list[int]) -> None:
        """Follow an introduction, or an ARRANGE, as if it were carried out."""
        level = box // WIDTH
        if len(numbers) == 1:
            while self._base < level:
                self._raise_base()
            self._box[numbers[0]] = box
            return
        self._unite(numbers, box)
        self._box |= zip(numbers, ((level + 1) * WIDTH, box + 1, level * WIDTH + PILE), strict=False)

    def _raise_base(self) -> None:
        """Unite those who wait after a base update: first R, by their means, then the pile, in random order (S9)."""
        there = [number for number, box in self._box.items() if box // WIDTH == self._base]
        pile = {number for number in there if self._box[number] % WIDTH == PILE}
        self._unite([number for number in there if number not in pile], NONE)
        self._unite(sorted(pile), NONE)
        self._base += 1

    def _unite(self, numbers: list[int], box: int) -> None:
        members = tuple((number, self._latest.get(number, NONE)) for number in numbers)
        self._latest |= dict.fromkeys(numbers, len(self._unions))
        self._unions.append(_Union(box, members))

    @staticmethod
    def _arm(state: State, number: int) -> Arm:
        pulls = int(state.pulls[number])
        return Arm(number, float(state.total[number]) / pulls if pulls else 0.0, pulls)


def record_of(policy: Policy) -> Record:
    """Return an empty record that suits a policy."""
    return BoxRecord() if policy.rule == BoxThirding.rule else PlainRecord()
