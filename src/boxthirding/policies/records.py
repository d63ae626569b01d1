"""The story of a run, written beside the rule and never read by it: who met whom, and who could still be returned."""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from boxthirding.policies.adaptive_box_thirding import ALL_MET, ORIGIN, AdaptiveBoxThirding, recommend
from boxthirding.policies.box_thirding import BoxThirding
from boxthirding.policies.boxes import BASE, MET, PILE, SEEN, WIDTH, WITHDRAWN, State, highest
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


class Contents(NamedTuple):
    """What stands in a box, or on the pile of a level, earliest entry first."""

    level: int | None
    """None is the final."""
    deferment: int | None
    """None is the pile: what was discarded at the level; or the final."""
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

    def save(self) -> dict[str, NDArray[Any]]:
        """Return what has been written down as arrays."""

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what was saved."""

    @property
    def spent(self) -> frozenset[str]:
        """Names of the state's arrays that hold nothing any more once `note` has read them."""


class PlainRecord:
    """The record of a rule without boxes: every arm with a result could be returned."""

    spent: ClassVar[frozenset[str]] = frozenset()

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

    def save(self) -> dict[str, NDArray[Any]]:
        """Return nothing."""
        return {}

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Read nothing."""


class BoxRecord:
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

    def note(self, state: State, pulls: int) -> None:
        """Take down the rows that the rule has written since the last time."""
        written = int(state.scalars[MET])
        for row in range(max(self._read, written - len(state.met)), written):
            box, *numbers = state.met[row % len(state.met)].tolist()
            numbers = [number for number in numbers if number != NONE]
            for number in numbers:
                self._sit(state, number)
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
                to_visit += self._union(index)
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

    def save(self) -> dict[str, NDArray[Any]]:
        """Return copies of the columns."""
        counters = np.array([self._read, self._base])
        return {"counters": counters} | {name: np.array(getattr(self, f"_{name}")) for name in self._COLUMNS}

    def load(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Go on from columns that were saved."""
        self._read, self._base = saved["counters"].tolist()
        for name in self._COLUMNS:
            column: array[Any] = array(getattr(self, f"_{name}").typecode)
            column.frombytes(saved[name].astype(column.typecode).tobytes())
            setattr(self, f"_{name}", column)

    def _union(self, index: int) -> Iterator[tuple[int, int]]:
        """Return the arms of a union, each with the latest one that it was in before."""
        members = slice(self._members[index], self._members[index + 1])
        return zip(self._member[members], self._before[members], strict=True)

    def _settled(self, state: State, number: int) -> int:
        """Return the latest union of an arm that has been carried out: an ARRANGE under way leaves it where it was."""
        index = self._latest[number] if number < len(self._latest) else NONE
        if index != NONE and self._union_box[index] == state.place[number] >= 0:
            return dict(self._union(index))[number]
        return index

    def _sit(self, state: State, number: int) -> None:
        """Write an arm's part of the meeting that is being taken down."""
        while len(self._met) <= number:
            self._met.append(NONE)
            self._latest.append(NONE)
            self._box.append(NONE)
        _, mean, pulls = self._arm(state, number)
        self._who.append(number)
        self._mean.append(mean)
        self._pulls.append(pulls)
        self._earlier.append(self._met[number])
        self._met[number] = len(self._at)

    def _move(self, box: int, numbers: list[int]) -> None:
        """Follow an introduction, or an ARRANGE, as if it were carried out."""
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

    @staticmethod
    def _arm(state: State, number: int) -> Arm:
        pulls = int(state.pulls[number])
        return Arm(number, float(state.total[number]) / pulls if pulls else 0.0, pulls)


class FinalRecord(BoxRecord):
    """The record of Adaptive Box Thirding: every arm with a result may be returned, and there is a final."""

    def place(self, state: Any, number: int) -> str:
        """Say where an arm stands now, and how it does in the final."""
        words = [super().place(state, number)]
        if state.scalars[ALL_MET] == 1 and state.place[number] >= 0:
            words.append("the boxes are closed, as every arm has been met")
        if state.finalist[number]:
            finalists = self._finalists(state)
            words.append(f"in the final, {finalists.index(number) + 1} of {len(finalists)} by lower bound")
            if recommend(state) == number:
                words.append("the answer")
        return "; ".join(words)

    def candidates(self, state: Any, told: Iterable[int]) -> set[int]:  # noqa: ARG002  # the contract's
        """Return the arms with a result."""
        return set(told)

    def boxes(self, state: Any) -> list[Contents]:
        """Return the boxes and piles, and last the final, the largest lower bound first."""
        finalists = tuple(self._arm(state, number) for number in self._finalists(state))
        return super().boxes(state) + ([Contents(None, None, finalists)] if finalists else [])

    def _finalists(self, state: Any) -> list[int]:
        arms = np.flatnonzero(state.finalist[: int(state.scalars[SEEN])])
        return [int(arm) for arm in arms[np.lexsort((-state.luck[arms], -state.lower[arms]))]]

    def _move(self, box: int, numbers: list[int]) -> None:
        """Follow no candidate sets: everybody is a candidate."""

    @staticmethod
    def _arm(state: Any, number: int) -> Arm:
        pulls = int(state.pulls[number])
        return Arm(number, float(state.total[number] / pulls + state.facts[ORIGIN]) if pulls else 0.0, pulls)


def record_of(policy: Policy) -> Record:
    """Return an empty record that suits a policy."""
    if policy.rule == BoxThirding.rule:
        return BoxRecord()
    return FinalRecord() if policy.rule == AdaptiveBoxThirding.rule else PlainRecord()
