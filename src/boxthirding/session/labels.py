"""The caller's arms by label, and the numbers by which a rule knows them.

Number k is drawn uniformly from the arms that have no number yet, and only when it is first needed (S4). So the order
in which the caller lists arms tells a rule nothing, and ten million of them cost nothing until they are tried.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from boxthirding._checks import whole
from boxthirding._text import cut, did_you_mean
from boxthirding.errors import ArmsUnavailable, InvalidInput, UnknownLabel
from boxthirding.rng import below
from boxthirding.types import Ints, Label

_SEARCHED = 20_000  # labels, for one that is like an unknown one
_SHOWN = 200  # letters of a label that is not there


class Dry(Exception):  # no error: raised by an iterator of arms that has none now and may have one later
    """The iterator has no arm at the moment."""


class Labels:
    """The arms of a session: in a pool to draw from, behind an iterator, or numbered.

    A label is a string or an integer. Arms that are neither get their position as label and ride along as payload;
    a mapping gives both.
    """

    def __init__(self, arms: int | Iterable[Any], stream: Ints) -> None:
        self._stream = stream
        self._implicit = range(0)  # the labels of the first arms, where they were given as a number or a range
        self._listed: list[Label] = []  # the labels of the others
        self._index: dict[Label, int] = {}  # label -> arm, for those
        self._payloads: dict[int, Any] = {}
        self._swapped: dict[int, int] = {}  # what is left of the pool: place -> arm, where they differ
        self._place: dict[int, int] = {}  # and its inverse
        self._pool_end = 0  # places len(numbered) … _pool_end - 1 hold the arms without a number
        self.numbered: list[int] = []
        """By number: the arm."""
        self._number: dict[int, int] = {}  # arm -> number
        self.withdrawn: set[int] = set()
        """Numbers of withdrawn arms."""
        self._gone: set[int] = set()  # arms withdrawn before they had a number
        self._coming: Iterator[Any] | None = None
        self._next: list[int] = []  # what the iterator gave and no number was needed for yet
        match sort_out(arms):
            case range() as labels:
                self._implicit, self._pool_end = labels, len(labels)
            case list() as pairs:
                self._add(pairs)
            case coming:
                self._coming = coming
        if self._coming is None and self.count == 0:
            raise InvalidInput("there are no arms, but at least one is needed")
        self._given = self.count  # arms there from the start; labels of those added later are saved

    @property
    def open_ended(self) -> bool:
        """Whether an iterator may still give arms."""
        return self._coming is not None

    def available(self) -> int:
        """Return how many numbers a rule may use: those given, the pool, and one more while the iterator has an arm."""
        self._look_ahead()
        return self.in_sight

    @property
    def in_sight(self) -> int:
        """The same without drawing from the iterator, which may raise."""
        return self._pool_end + len(self._next)

    @property
    def in_race(self) -> int:
        """How many arms in the pool or with a number are not withdrawn."""
        return self._pool_end - len(self.withdrawn)

    def number(self, number: int) -> None:
        """Give numbers up to this one."""
        while len(self.numbered) <= number:
            place = len(self.numbered)
            if place < self._pool_end:
                place += below(self._stream, self._pool_end - place)
            else:
                self._put_into_pool(self._next.pop())
            self._give_number(place)

    def draw_from(self, stream: Ints) -> None:
        """Draw the order of the arms that have no number from a stream."""
        self._stream = stream

    def add_drawn(self, label: Label) -> None:
        """Take in an arm that a journal says an iterator gave."""
        if self.knows(label):
            raise InvalidInput(f"label {label!r} is there already, but must be unique")
        self._next.append(self._append(label, label))

    def end(self) -> None:
        """Note that the iterator has come to its end."""
        self._coming = None

    def claim(self, label: Label) -> int:
        """Return the number of a label; one that has none is given the next, before all that are still in the pool."""
        arm = self._arm(label)
        if arm in self._number:
            return self._number[arm]
        if arm in self._next:
            self._next.remove(arm)
            self._put_into_pool(arm)
        self._give_number(self._place.get(arm, arm))
        return self._number[arm]

    def label(self, number: int) -> Label:
        """Return the label of a number."""
        return self.arm(number)[0]

    def given(self, place: int) -> Label:
        """Return the label of the arm that was given at a place."""
        implicit = len(self._implicit)
        return self._implicit[place] if place < implicit else self._listed[place - implicit]

    def arm(self, number: int) -> tuple[Label, Any]:
        """Return the label of a number, and what was given as the arm: its label, where nothing else was."""
        arm = self.numbered[number]
        implicit = len(self._implicit)
        label = self._implicit[arm] if arm < implicit else self._listed[arm - implicit]  # no call: for every ticket
        return label, self._payloads.get(arm, label) if self._payloads else label

    def knows(self, label: object) -> bool:
        """Return whether there is, or was, an arm of that label."""
        if not is_label(label):
            return False
        return label in self._index or (not isinstance(label, str) and int(label) in self._implicit)  # type: ignore[call-overload]  # it is a label

    def payload_of(self, label: Label) -> Any:
        """Return what was given as an arm, numbered or not; its label, where nothing else was."""
        return self._payloads.get(self._arm(label), label)

    def keep_payload(self, label: Label, payload: Any) -> None:
        """Replace what was given as an arm: another object, or just its label."""
        if payload is label:
            self._payloads.pop(self._arm(label), None)
        else:
            self._payloads[self._arm(label)] = payload

    def find(self, label: Label) -> int | None:
        """Return the number of a label, or None while it has none; raise for a label that does not exist."""
        return self._number.get(self._arm(label))

    def labelled(self, arms: Iterable[Any]) -> list[tuple[Label, Any]]:
        """Return arms that could be added with the labels they would have."""
        arms = rows_of(arms)
        if isinstance(arms, str | bytes) or not isinstance(arms, Iterable):
            raise InvalidInput(f"arms to add is {arms!r}, but must be a sequence, or a mapping of labels to arms")
        return labelled(arms, first=self.count)

    def add(self, arms: Iterable[Any]) -> None:
        """Put more arms into the pool, all or none of them."""
        self._add(self.labelled(arms))

    def _add(self, new: list[tuple[Label, Any]]) -> None:
        seen: dict[Label, int] = {}
        for position, (label, _) in enumerate(new):
            if label in seen:
                raise InvalidInput(
                    f"label {label!r} stands at positions {seen[label]} and {position}, but a label must be unique: "
                    "leave one out, or give a mapping of labels to arms"
                )
            if self.knows(label):
                raise InvalidInput(
                    f"label {label!r} is there already, but a label must be unique, withdrawn or not: leave it out, or "
                    "give the arm another label"
                )
            seen[label] = position
        for label, payload in new:
            self._put_into_pool(self._append(label, payload))

    def withdraw(self, label: Label) -> int | None:
        """Withdraw an arm permanently; return its number, or None if it had none yet."""
        if self.is_withdrawn(label):
            raise InvalidInput(f"label {label!r} is withdrawn already: to try it again, add it under another label")
        number = self.find(label)
        if number is not None:
            self.withdrawn.add(number)
            return number
        arm = self._arm(label)
        self._gone.add(arm)
        if arm in self._next:
            self._next.clear()
            return None
        place = self._place.pop(arm, arm)
        self._pool_end -= 1
        last = self._swapped.pop(self._pool_end, self._pool_end)
        if place != self._pool_end:
            self._put(place, last)
        return None

    def is_withdrawn(self, label: Label) -> bool:
        """Return whether an arm was withdrawn, before it had a number or later."""
        arm = self._arm(label)
        return arm in self._gone or self._number.get(arm) in self.withdrawn

    @property
    def withdrawn_count(self) -> int:
        """How many arms were withdrawn, before they had a number or later."""
        return len(self.withdrawn) + len(self._gone)

    def since(self, count: int) -> list[Label]:
        """Return the labels of arm number `count`, in the order in which they were given, and of those after it."""
        return self._listed[count - len(self._implicit) :]

    def save(self) -> dict[str, Any]:
        """Return as plain values and arrays what has become of the arms, and the labels of those added later."""
        return {
            "labels": self.since(self._given),
            "pool_end": self._pool_end,
            "open_ended": self.open_ended,
            "stream": self._stream,
            "numbered": np.array(self.numbered, np.int64),
            "places": np.array(list(self._swapped), np.int64),
            "swapped": np.array(list(self._swapped.values()), np.int64),
            "withdrawn": np.array(sorted(self.withdrawn), np.int64),
            "gone": np.array(sorted(self._gone), np.int64),
            "next": np.array(self._next, np.int64),
        }

    def load(self, saved: Mapping[str, Any]) -> None:
        """Restore what was saved; the arms from the start must be the same."""
        for label in self.since(self._given):
            del self._index[label]
        del self._listed[self._given - len(self._implicit) :]
        for label in saved["labels"]:
            self._append(label, label)
        self._pool_end = saved["pool_end"]
        self._coming = self._coming if saved["open_ended"] else None
        self._stream[:] = saved["stream"]
        self.numbered = saved["numbered"].tolist()
        self._number = {arm: number for number, arm in enumerate(self.numbered)}
        self._swapped = dict(zip(saved["places"].tolist(), saved["swapped"].tolist(), strict=True))
        self._place = {arm: place for place, arm in self._swapped.items()}
        self.withdrawn, self._gone = set(saved["withdrawn"].tolist()), set(saved["gone"].tolist())
        self._next = saved["next"].tolist()

    @property
    def count(self) -> int:
        """How many arms have been given so far, withdrawn or not."""
        return len(self._implicit) + len(self._listed)

    def _arm(self, label: Label) -> int:
        if not self.knows(label):
            close = did_you_mean(label, self._listed[:_SEARCHED]) if isinstance(label, str) else ""
            advice = close or "labels are texts or whole numbers, as the arms were given"
            raise UnknownLabel(f"label {cut(repr(label), _SHOWN)} does not exist", advice=advice)
        return self._index[label] if label in self._index else self._implicit.index(int(label))

    def _append(self, label: Label, payload: Any) -> int:
        arm = self.count
        self._index[label] = arm
        self._listed.append(label)
        if payload is not label:
            self._payloads[arm] = payload
        return arm

    def _put_into_pool(self, arm: int) -> None:
        """Put an arm into the pool."""
        self._put(self._pool_end, arm)
        self._pool_end += 1

    def _give_number(self, place: int) -> None:
        """Give the next number to the arm at a place of the pool."""
        number, swapped = len(self.numbered), self._swapped
        arm = swapped.get(place, place)
        if place != number:
            self._put(place, swapped.get(number, number))
        swapped.pop(number, None)
        self._place.pop(arm, None)
        self.numbered.append(arm)
        self._number[arm] = number

    def _put(self, place: int, arm: int) -> None:
        if place == arm:
            self._swapped.pop(place, None)
            self._place.pop(arm, None)
        else:
            self._swapped[place] = arm
            self._place[arm] = place

    def _look_ahead(self) -> None:
        """Draw the iterator's next arm, unless one is in hand; its label is taken from now on."""
        if self._next or self._coming is None:
            return
        try:
            arm = next(self._coming)
        except StopIteration:
            self._coming = None
            return
        except Dry:
            return
        except Exception as error:
            raise ArmsUnavailable(
                f"the iterator of arms raised {error!r} at arm {self.count + 1}",
                advice="ask again to continue with the next one",
            ) from error
        label, payload = labelled([arm], first=self.count)[0]
        if self.knows(label):
            raise InvalidInput(
                f"the iterator gave {arm!r}, and label {label!r} is there already but must be unique",
                advice="ask again to continue with the next one",
            )
        self._next.append(self._append(label, payload))


def sort_out(arms: int | Iterable[Any]) -> range | list[tuple[Label, Any]] | Iterator[Any]:
    """Return arms as a range of labels, as (label, payload) pairs, or as the iterator that they are."""
    arms = rows_of(arms)
    if isinstance(arms, set | frozenset):
        raise InvalidInput("arms is a set, whose order differs from run to run: give sorted(arms) or a list")
    if isinstance(arms, str | bytes):
        raise InvalidInput(f"arms is the text {arms!r}, but must be a sequence, an iterator or a number of arms")
    if isinstance(arms, range):
        if arms:
            whole("the number of arms", (arms[-1] - arms[0]) // arms.step + 1, least=1)  # len() has a limit of its own
        return arms
    if isinstance(arms, Iterator):
        return arms
    if isinstance(arms, Iterable):
        return labelled(arms, first=0)
    return range(whole("the number of arms", arms, least=1))


def labelled(arms: Iterable[Any], first: int) -> list[tuple[Label, Any]]:
    """Return (label, payload) pairs; the payload of an arm that is just its label is that very object."""
    if isinstance(arms, Mapping):
        for label in arms:
            if not is_label(label):
                raise InvalidInput(f"label {label!r} is a {type(label).__name__}, but must be a string or an integer")
        return [_pair(_plain(label), payload) for label, payload in arms.items()]
    listed = list(arms)
    if all(map(is_label, listed)):
        labels = list(map(_plain, listed))
        return list(zip(labels, labels, strict=True))
    return [_pair(first + position, arm) for position, arm in enumerate(listed)]


def _pair(label: Label, payload: Any) -> tuple[Label, Any]:
    """Return both; of two equal objects the first, so that `is` tells whether an arm is just its label."""
    return label, label if type(payload) is type(label) and payload == label else payload


def rows_of(arms: Any, what: str = "arms") -> Any:
    """Return the rows of a pandas or polars DataFrame, or of a pyarrow Table, as dictionaries; anything else as it is.

    A table is known by its methods, as no package is imported for that. An index of texts or integers that was set
    gives the labels of its rows, if they are arms.
    """
    if type(arms).__name__ == "LazyFrame":
        raise InvalidInput(f"{what} is a polars LazyFrame, which has no rows yet: give {what}.collect()")
    if hasattr(arms, "to_dicts"):  # polars, where no two columns have the same name
        return arms.to_dicts()
    is_arrow = hasattr(arms, "to_pylist") and hasattr(arms, "column_names")
    if not is_arrow and not (hasattr(arms, "to_dict") and hasattr(arms, "columns")):
        return arms
    columns = Counter(arms.column_names if is_arrow else arms.columns)
    twice = next((name for name, count in columns.items() if count > 1), None)
    if twice is not None:
        raise InvalidInput(f"the table has more than one column {twice!r}, but each must have a name of its own")
    if is_arrow:
        return arms.to_pylist()
    rows, index = arms.to_dict("records"), arms.index
    if what != "arms" or type(index).__name__ == "RangeIndex" or not all(map(is_label, index)):
        return rows
    if not index.is_unique:
        raise InvalidInput(
            f"the index of the DataFrame has {index[index.duplicated()][0]!r} twice, but labels must be unique: "
            "arms.reset_index() numbers its rows"
        )
    return dict(zip(index, rows, strict=True))


def unlabelled(rows: Iterable[Any]) -> list[Any]:
    """Return what `rows_of` found without the labels of an index."""
    return list(rows.values() if isinstance(rows, Mapping) else rows)


def _plain(label: Label) -> Label:
    """Return a label as a plain int or str; raise for one that JSON would change."""
    if not isinstance(label, str):
        return int(label)
    if not label.isascii() and (whole_one := json.loads(json.dumps(label))) != label:
        raise InvalidInput(f"label {label!r} has a character in two halves, but must have it as one: {whole_one!r}")
    return str(label)


def is_label(value: object) -> bool:
    """Return whether a value can be the label of an arm."""
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)
