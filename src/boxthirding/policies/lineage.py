"""The story of a run, written beside the rule and never read by it: who met whom, and who could still be returned."""

from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from boxthirding._text import counted
from boxthirding.policies.boxes import BASE, MET, NEW, PILE, WIDTH, BoxesState, highest
from boxthirding.policies.roster import KNOWN, LIVE, SEEN, WITHDRAWN
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


class BoxSize(NamedTuple):
    """How many arms stand in a box, or on the pile of a level."""

    level: int
    deferment: int | None
    """None is the pile: what was discarded at the level."""
    arms: int


class Record:
    """Record of a rule's decisions. This base class is for rules without boxes, and records nothing."""

    spent: ClassVar[frozenset[str]] = frozenset()
    """Names of the state's arrays that hold nothing any more once `note` has read them."""

    def note(self, state: Any, pulls: int) -> None:
        """Record what the last `ask` decided; `state` is the one that the rule sees."""

    def meetings(self, number: int) -> list[Meeting]:  # noqa: ARG002  # here and below: of a rule with boxes
        """Return the meetings of an arm, earliest first."""
        return []

    def place(self, state: Any, number: int) -> str:  # noqa: ARG002
        """Describe the current position of an arm; empty if the policy has no boxes."""
        return ""

    def level(self, state: Any, number: int) -> int | None:  # noqa: ARG002
        """Return the level of an arm, or None if the rule has no levels."""
        return None

    def candidates(self, state: Any) -> int | None:  # noqa: ARG002
        """Return how many arms could still be returned, whatever the rewards had been; None: all that have a result."""
        return None

    def candidate_set(self, state: Any) -> set[int] | None:  # noqa: ARG002
        """Return these arms themselves."""
        return None

    def sizes(self, state: Any) -> list[BoxSize]:  # noqa: ARG002
        """Return the boxes and piles that hold an arm, from the lowest level up."""
        return []

    def contents(self, state: Any, level: int, deferment: int | None, first: int, count: int) -> list[Arm]:  # noqa: ARG002
        """Return `count` arms of a box, or of what else `sizes` names, from the one at place `first` on."""
        return []

    def save(self) -> dict[str, NDArray[Any]]:
        """Return the record as arrays."""
        return {}

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Restore a saved record."""


class BoxRecord(Record):
    """The record of Box Thirding: its meetings, and the candidate set of section 4.1 that follows from them.

    Kept in columns: a meeting takes a hundred bytes, and a record of a hundred thousand is saved and loaded in no time.
    A *seat* is one arm in one meeting; seats and members stand in the order of their meetings and unions.
    """

    spent: ClassVar[frozenset[str]] = frozenset({"met"})
    _COLUMNS: Final = (
        *("at", "where", "seats", "who", "mean", "pulls", "earlier"),
        *("union_box", "members", "member", "before", "met", "latest", "box"),
    )

    def __init__(self) -> None:
        self._counted: tuple[object, int] = (None, 0)  # what candidates were last counted for, and how many
        self._read = 0  # rows of the rule that have been taken down
        self._base = 0
        self._at = array("q")  # by meeting: pulls of the whole run at that moment
        self._where = array("q")  # by meeting: the box
        self._seats = array("q", [0])  # by meeting: its first seat, and behind them all where the next one's will be
        self._who = array("q")  # by seat: the arm
        self._mean = array("d")  # by seat: its mean then
        self._pulls = array("q")  # by seat: the pulls behind that
        self._earlier = array("q")  # by seat: the meeting that its arm was in before, or NONE
        self._union_box = array("q")  # by union: the box that its arms met in, or NONE for a base update
        self._members = array("q", [0])  # by union: its first member, like _seats
        self._member = array("q")  # by member: the arm
        self._before = array("q")  # by member: the latest union that it was in before, or NONE
        self._met = array("q")  # by arm: its latest meeting
        self._latest = array("q")  # by arm: the latest union it is in, or NONE
        self._box = array("q")  # by arm: where its latest meeting sends it

    def note(self, state: BoxesState, pulls: int) -> None:
        """Record the rows that the rule has written since the last call."""
        written: int = state.scalars[MET]
        if written == self._read:
            return
        for row in range(max(self._read, written - len(state.met)), written):
            box, *numbers = state.met[row % len(state.met)].tolist()
            numbers = [number for number in numbers if number != NONE]
            origin = self._origin(state)
            for number in numbers:
                self._sit(state, number, origin)
            self._at.append(pulls)
            self._where.append(box)
            self._seats.append(len(self._who))
            self._move(box, numbers)
        self._read = written

    def meetings(self, number: int) -> list[Meeting]:
        """Return the meetings of an arm, earliest first."""
        found = []
        index = self._met[number] if number < len(self._met) else NONE
        while index != NONE:
            seats = range(self._seats[index], self._seats[index + 1])
            arms = tuple(Arm(self._who[seat], self._mean[seat], self._pulls[seat]) for seat in seats)
            found.append(Meeting(self._at[index], *divmod(self._where[index], WIDTH), arms))
            index = next(self._earlier[seat] for seat in seats if self._who[seat] == number)
        return found[::-1]

    def place(self, state: BoxesState, number: int) -> str:
        """Describe the current position of an arm."""
        if number >= state.scalars[KNOWN]:
            return "not tried yet"
        lifts = state.lifts
        place, lifter = int(state.arms.place[number]), int(lifts.lifter[number])
        if place == WITHDRAWN:
            return "withdrawn"
        if lifter == number:
            return f"being pulled for level {lifts.target[number]}, pulls to go: {state.jobs.due[number]}"
        if place == NEW:
            return "not in a box yet"
        if place == NONE:
            return f"waiting to be pulled again at level {state.scalars[BASE]}"
        level, deferment = divmod(place, WIDTH)
        if deferment == PILE:
            return f"discarded at level {level}"
        waited = "new here" if deferment == 0 else f"waited {counted(deferment, 'time')}"
        return f"at level {level}, {waited}" + ("; its box is being arranged" if lifter != NONE else "")

    def level(self, state: BoxesState, number: int) -> int | None:
        """Return the level of the box or pile an arm stands in."""
        is_in_box = number < state.scalars[KNOWN] and state.arms.place[number] >= 0
        return int(state.arms.place[number]) // WIDTH if is_in_box else None

    def candidates(self, state: BoxesState) -> int | None:
        """Return the size of the candidate set; it is counted when Box(L, 0) or the withdrawn arms have changed."""
        if highest(state) == NONE:
            return None
        withdrawn = int(state.scalars[SEEN] - state.scalars[LIVE])
        counted_for = (withdrawn, self._returned(state))
        if self._counted[0] != counted_for:
            self._counted = (counted_for, len(self.candidate_set(state) or ()))
        return self._counted[1]

    def candidate_set(self, state: BoxesState) -> set[int] | None:
        """Return the union of the candidate sets of Box(L, 0), or None if there is no such box: all that have a result.

        A new slot holds its arm; an ARRANGE gives the union of the three sets to all three outcomes, and a base update
        the union of R to all of R, and that of the pile to all of it: each of them may come first.
        """
        if highest(state) == NONE:
            return None
        arms: set[int] = set()
        seen: set[int] = set()
        to_visit = self._returned(state)
        while to_visit:
            number, index = to_visit.pop()
            if index == NONE:
                arms.add(number)
            elif index not in seen:
                seen.add(index)
                to_visit += self._union(index)
        return {number for number in arms if state.arms.place[number] != WITHDRAWN}

    def sizes(self, state: BoxesState) -> list[BoxSize]:
        """Return the boxes and piles that hold an arm."""
        found = []
        for box in map(int, state.boxes.size.nonzero()[0]):
            level, deferment = divmod(box, WIDTH)
            found.append(BoxSize(level, None if deferment == PILE else deferment, int(state.boxes.size[box])))
        return found

    def contents(self, state: BoxesState, level: int, deferment: int | None, first: int, count: int) -> list[Arm]:
        """Follow a box's list of arms, earliest entry first."""
        if level * WIDTH >= len(state.boxes.first):
            return []
        box = level * WIDTH + (PILE if deferment is None else deferment)
        return [self._arm(state, number) for number in islice(_standing_in(state, box), first, first + count)]

    def save(self) -> dict[str, NDArray[Any]]:
        """Return copies of the columns."""
        counters = np.array([self._read, self._base])
        return {"counters": counters} | {name: np.array(getattr(self, f"_{name}")) for name in self._COLUMNS}

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Restore saved columns."""
        self._read, self._base = saved["counters"].tolist()
        for name in self._COLUMNS:
            column: array[Any] = array(getattr(self, f"_{name}").typecode)
            column.frombytes(saved[name].astype(column.typecode).tobytes())
            setattr(self, f"_{name}", column)

    def _returned(self, state: BoxesState) -> list[tuple[int, int]]:
        """Return the arms of Box(L, 0), each with its latest union that counts."""
        return [(number, self._settled(state, number)) for number in _standing_in(state, int(highest(state)))]

    def _union(self, index: int) -> Iterator[tuple[int, int]]:
        """Return the arms of a union, each with the latest one that it was in before."""
        members = slice(self._members[index], self._members[index + 1])
        return zip(self._member[members], self._before[members], strict=True)

    def _settled(self, state: BoxesState, number: int) -> int:
        """Return the latest completed union of an arm: a running ARRANGE does not move it yet."""
        index = self._latest[number] if number < len(self._latest) else NONE
        if index != NONE and self._union_box[index] == state.arms.place[number] >= 0:
            return dict(self._union(index))[number]
        return index

    def _sit(self, state: BoxesState, number: int, origin: float) -> None:
        """Write an arm's part of the meeting that is being taken down."""
        while len(self._met) <= number:
            self._met.append(NONE)
            self._latest.append(NONE)
            self._box.append(NONE)
        pulls = state.arms.pulls[number]
        self._who.append(number)
        self._mean.append(state.arms.total[number] / pulls + origin if pulls else 0.0)
        self._pulls.append(pulls)
        self._earlier.append(self._met[number])
        self._met[number] = len(self._at)

    def _move(self, box: int, numbers: list[int]) -> None:
        """Follow an introduction or an ARRANGE as if it were complete."""
        level = box // WIDTH
        if len(numbers) == 1:
            while self._base < level:
                self._raise_base()
            self._box[numbers[0]] = box
            return
        self._unite(numbers, box)
        for number, place in zip(numbers, ((level + 1) * WIDTH, box + 1, level * WIDTH + PILE), strict=False):
            self._box[number] = place

    def _raise_base(self) -> None:
        """Unite those who wait after a base update: first R, by their means, then the pile, in random order (S9)."""
        there = [number for number, box in enumerate(self._box) if box // WIDTH == self._base]
        self._unite([number for number in there if self._box[number] % WIDTH != PILE], NONE)
        self._unite([number for number in there if self._box[number] % WIDTH == PILE], NONE)
        self._base += 1

    def _unite(self, numbers: list[int], box: int) -> None:
        for number in numbers:
            self._member.append(number)
            self._before.append(self._latest[number])
            self._latest[number] = len(self._union_box)
        self._union_box.append(box)
        self._members.append(len(self._member))

    def _arm(self, state: BoxesState, number: int) -> Arm:
        pulls = int(state.arms.pulls[number])
        return Arm(number, float(state.arms.total[number]) / pulls + self._origin(state) if pulls else 0.0, pulls)

    def _origin(self, state: BoxesState) -> float:  # noqa: ARG002  # a state may have one
        """Return what the totals of a state are counted from."""
        return 0.0


def _standing_in(state: BoxesState, box: int) -> Iterator[int]:
    """Return the arms of a box, earliest entry first."""
    number = int(state.boxes.first[box])
    while number != NONE:
        yield number
        number = int(state.boxes.after[number])


def record_for(policy: Policy) -> Record:
    """Return an empty record that suits a policy."""
    make: Callable[[], Record] = getattr(policy, "box_record", Record)
    return make()
