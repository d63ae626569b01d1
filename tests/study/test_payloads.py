"""What was given as an arm: stored where it is JSON, known by a digest where not, and noticed when it changes."""

import array
import functools
import json
import os
import re
import runpy
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter, UserList, deque, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keeping import Place, kinds, play

from boxthirding import InvalidInput, StudyDiffers, StudyFinished, UnknownLabel
from boxthirding.session.labels import labelled
from boxthirding.study.arm_payloads import digest, is_json, is_same, kept, kept_all
from boxthirding.study.events import Redefined

plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts),
    max_leaves=6,
)


@pytest.fixture
def place():
    return Place()


@dataclass
class Model:
    depth: int
    rates: tuple


class Opaque:
    def __init__(self, value):
        self.value = value


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def more(self, x):
        return self.value + x


class Tensor:
    """As torch has it: pickle keeps addresses of its memory."""

    dtype = "float32"

    def __init__(self, *values):
        self.values = values

    def __dlpack__(self):
        raise BufferError("it needs a gradient")

    def tolist(self):
        return [*self.values]

    def __reduce_ex__(self, protocol):
        return Tensor, (id(self),)


class Unwilling:
    """Cannot be pickled."""

    def __init__(self, value):
        self.value = value

    def __reduce_ex__(self, protocol):
        raise NotImplementedError


class Colour(Enum):
    RED = 1
    BLUE = 2


Point = namedtuple("Point", "x")  # noqa: PYI024  # as users have them


class Node:
    def __init__(self, parent=None):
        self.parent, self.children = parent, []


def family(children, name="ann"):
    root = Node()
    root.children = [Node(root) for _ in range(children)]
    root.children[-1].name = name
    return root


def double(x):
    return 2 * x


def adding(k):
    return lambda x: x + k


@given(plain, plain)
def test_json_comes_back_and_another_value_is_another(one, other):
    stored = kept(one)
    assert stored == {"json": one}
    assert is_same(stored, "label", one)
    assert is_same(stored, "label", other) == (kept(other) == stored and repr_of(one) == repr_of(other))


def repr_of(value):
    """Return a value with the types of its parts: 1, 1.0 and True are three; the order of keys is none."""
    if isinstance(value, dict):
        return sorted((key, repr_of(part)) for key, part in value.items())
    return [repr_of(part) for part in value] if isinstance(value, list) else repr(value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1, 2), (1, 3)),
        ((1, 2), [1, 2]),
        (np.arange(3), np.arange(4)),
        (np.arange(3), np.arange(3.0)),
        (Model(1, (0.1,)), Model(1, (0.2,))),
        (Opaque(1), Opaque(2)),
        ({1: "a"}, {1: "b"}),
        ({1, 2}, {1, 3}),
        (float("inf"), float("-inf")),
        (b"a", b"b"),
        (double, len),
        ({"model": Model(1, ())}, {"model": Model(2, ())}),
        (np.array([None, (1,)], dtype=object), np.array([None, (2,)], dtype=object)),
        (Path("a.png"), Path("b.png")),
        (date(2020, 1, 1), date(2021, 1, 1)),
        (datetime(2020, 1, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 2, tzinfo=UTC)),
        (timedelta(1), timedelta(2)),
        (Decimal("1.1"), Decimal("1.2")),
        (Fraction(1, 2), Fraction(1, 3)),
        (uuid.UUID(int=1), uuid.UUID(int=2)),
        (Colour.RED, Colour.BLUE),
        (range(1), range(2)),
        (slice(1), slice(2)),
        (bytearray(b"a"), bytearray(b"b")),
        (array.array("d", [1]), array.array("d", [2])),
        (deque([1]), deque([2])),
        (UserList([1]), UserList([2])),
        (Counter("ab"), Counter("abb")),
        (Point(1), Point(2)),
        (re.compile("a"), re.compile("b")),
        (Slotted(1), Slotted(2)),
        (Unwilling(1), Unwilling(2)),
        (Tensor(1.0, 2.0), Tensor(1.0, 3.0)),
        (Model, Opaque),
        ("a".upper, "b".upper),
        ("a".upper, "a".lower),
        (Slotted(1).more, Slotted(2).more),
        (functools.partial(pow, 2), functools.partial(pow, 3)),
        (functools.partial(double, x=2), functools.partial(double, x=3)),
        (functools.lru_cache(adding(1)), functools.lru_cache(adding(2))),
        (lambda x: x + 1, lambda x: x - 1),
        (lambda x: x + 1, lambda x: x + 2),
        (lambda x: x.real, lambda x: x.imag),
        (lambda x=1: x, lambda x=2: x),
        (lambda *, x=1: x, lambda *, x=2: x),
        (lambda: [x + "a" for x in "c"], lambda: [x + "b" for x in "c"]),
        (adding(1), adding(2)),
        (family(3), family(4)),
        (family(3), family(3, "bob")),
    ],
)
def test_what_is_no_json_is_known_by_a_digest(one, other):
    assert not is_json(one)
    assert kept(one) == {"digest": digest(one)}
    assert is_same(kept(one), "label", one)
    assert not is_same(kept(one), "label", other)


def test_of_what_cannot_be_told_apart_the_kind_counts():
    assert digest(threading.Lock()) == digest(threading.Lock()) != digest(object())
    assert digest(Opaque(threading.Lock())) == digest(Opaque(threading.Lock())) != digest(Opaque(threading.Event()))


def test_parts_that_are_shared_are_as_good_as_equal_ones():
    pair = (1, 2)
    assert digest((pair, pair)) == digest((pair, tuple(range(1, 3))))
    assert digest(Opaque([pair, [pair]])) == digest(Opaque([(1, 2), [(1, 2)]]))


def test_objects_that_know_each_other_take_no_time():
    everyone = [Node() for _ in range(50)]
    for one in everyone:
        one.children = everyone
    assert digest(everyone[0]) == digest(everyone[0])
    assert digest(family(1000)) == digest(family(1000))


def digests():
    """Return digests of what has an address, a random order or the name of a script in it."""
    mutual = Opaque({"a", "b", "c"})
    mutual.me, mutual.by = mutual, {frozenset("xyz"): mutual, Point(2): Slotted({1.5, "q"})}
    values = [mutual, adding({"p", "q"}), double, Model, Colour.RED, lambda x: x in {"a", "b", "c"}, Tensor(1.0)]
    return [digest(value) for value in [*values, Slotted(3).more, np.array([Point(1)], dtype=object), family(3)]]


@pytest.mark.parametrize("seed", ["1", "2"])
def test_digests_are_the_same_in_another_process(seed):
    program = f"import runpy; print(runpy.run_path({__file__!r}, run_name='__main__')['digests']())"
    where = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run([sys.executable, "-c", program], env=where, capture_output=True, text=True, check=True)
    ours = runpy.run_path(__file__, run_name="__main__")["digests"]()
    assert said.stdout.strip() == repr(ours)


class TestOpening:
    def test_without_arms_json_is_handed_out(self, place):
        arms = {"a": {"rate": 0.1, "layers": [1, 2]}, "b": None, "c": (1, 2)}
        place.open(arms=arms)
        again = place.open("me")
        payloads = {ticket.label: ticket.payload for ticket in again.ask(3)}
        assert payloads == {"a": {"rate": 0.1, "layers": [1, 2]}, "b": None, "c": "c"}
        assert again.payload("a") == {"rate": 0.1, "layers": [1, 2]}
        with pytest.raises(UnknownLabel, match=r"label \[\] does not exist"):
            again.payload([])

    @pytest.mark.parametrize(
        ("arms", "said"),
        [
            ([{"v": 1}, {"v": 3}, {"v": 4}], r"arm 1 of study 'study' has 2 as its v, not 3"),
            ([{"v": 3}, {"v": 2}, {"v": 1}], r"arm 0 of study 'study' has 1 as its v, not 3"),
            ([0.5, {"v": 2}, {"v": 3}], r"arm 0 of study 'study' is {'v': 1}, not 0.5"),
            ([{"v": 1.0}, {"v": 2}, {"v": 3}], r"arm 0 of study 'study' is {'v': 1}, not {'v': 1.0}"),
            (3, r"arm 0 of study 'study' is not just its label, as now given"),
        ],
    )
    def test_other_things_under_the_same_labels_are_refused(self, place, arms, said):
        play(place.open(arms=[{"v": 1}, {"v": 2}, {"v": 3}]), 3)
        before = place.texts()
        with pytest.raises(StudyDiffers, match=said):
            place.open(arms=arms)
        assert place.texts() == before

    def test_floats_in_another_order_are_refused(self, place):
        place.open(arms=[0.1, 0.2, 0.3])
        with pytest.raises(StudyDiffers, match=r"arm 0 of study 'study' is 0\.1, not 0\.3"):
            place.open(arms=[0.3, 0.2, 0.1])
        assert place.open(arms=[0.1, 0.2, 0.3]).ask()

    def test_objects_too(self, place):
        place.open(arms={"a": Model(1, (0.1,)), "b": np.arange(3)})
        place.open(arms={"a": Model(1, (0.1,)), "b": np.arange(3)})
        with pytest.raises(StudyDiffers, match="arm 'b' of study 'study' is another object, not array"):
            place.open(arms={"a": Model(1, (0.1,)), "b": np.arange(4)})

    def test_long_details_are_shown_where_they_differ(self, place):
        command = f"/a/{'long/' * 20}python score.py"
        place.open(arms=2, details={"command": command})
        with pytest.raises(StudyDiffers, match=r"with command '?….*score\.py', not '?….*score\.py --fast'"):
            place.open(details={"command": f"{command} --fast"})

    def test_by_force_they_replace_those_that_were(self, place):
        play(place.open(arms=[{"v": 1}, {"v": 2}]), 3)
        forced = place.open(arms=[{"v": 1}, {"v": 5}], details={"command": "new"}, force=True)
        assert kinds(forced)[-1] == "Redefined"
        assert [*forced.events()][-1].event == Redefined(100.0, (1,), ({"json": {"v": 5}},), {"command": "new"})
        place.open(arms=[{"v": 1}, {"v": 5}], details={"command": "new"})
        with pytest.raises(StudyDiffers, match=r"has 5 as its v, not 2"):
            place.open(arms=[{"v": 1}, {"v": 2}])
        with pytest.raises(StudyDiffers, match="was made with command 'new', not 'old'"):
            place.open(details={"command": "old"})
        assert place.open().payload(1) == {"v": 5}
        length = len(place.texts())
        place.open(arms=[{"v": 1}, {"v": 5}], force=True)
        assert len(place.texts()) == length

    def test_by_force_details_of_a_finished_study_are_replaced_and_its_arms_are_not(self, place):
        study = place.open(arms=[{"v": 1}, {"v": 2}])
        play(study, 3)
        study.finish()
        with pytest.raises(StudyFinished, match="nothing changes its answer"):
            place.open(arms=[{"v": 1}, {"v": 5}], force=True)
        place.open(arms=[{"v": 1}, {"v": 2}], details={"command": "new"}, force=True)
        assert place.open(details={"command": "new"}).payload(1) == {"v": 2}

    def test_by_force_an_arm_is_just_its_label(self, place):
        place.open(arms={"a": {"v": 1}, "b": (1, 2), "c": {"v": 3}})
        forced = place.open(arms={"a": "a", "b": "b", "c": {"v": 3}}, force=True)
        assert [*forced.events()][-1].event == Redefined(100.0, ("a", "b"), (None, None))
        again = place.open(arms={"a": "a", "b": "b", "c": {"v": 3}})
        assert [again.payload(label) for label in "abc"] == ["a", "b", {"v": 3}]
        with pytest.raises(StudyDiffers, match=r"arm 'a' of study 'study' is 'a', not {'v': 1}"):
            place.open(arms={"a": {"v": 1}, "b": "b", "c": {"v": 3}})

    def test_by_force_what_was_stored_is_not_handed_out_any_more(self, place):
        place.open(arms={"a": {"v": 1}})
        place.open(arms={"a": (1, 2)}, force=True)
        assert place.open().payload("a") == "a"

    def test_equal_labels_are_the_same_arms(self, place):
        arms = {**{number: number for number in range(1000)}, "ann": "ann"}
        others = dict(zip([*range(1000), "ann"], [*range(1000), *json.loads('["ann"]')], strict=True))
        place.open(arms=arms)
        place.open(arms=others)
        place.open(arms=[*arms])
        place.open().add(json.loads('{"bob": "bob"}'))
        place.open(arms=[*arms, "bob"])
        assert kept_all(labelled([0.5] * 300 + [int("300")], 0))[300] is None
        with pytest.raises(StudyDiffers, match="arm 1 of study 'study' is 1, not True"):
            place.open(arms=arms | {1: True})

    def test_those_of_an_iterator_are_compared_when_they_are_drawn(self, place):
        play(place.open(arms=iter([{"v": 1}, {"v": 2}, {"v": 3}])), 10)
        with pytest.raises(StudyDiffers, match="another arm 2 than the one that the study has as 1"):
            place.open(arms=iter([{"v": 1}, {"v": 7}, {"v": 3}]))
        assert place.open().payload(2) == {"v": 3}

    def test_a_billion_arms_begin_at_once(self, place):
        began = time.process_time()
        study = place.open(arms=range(10**9))
        play(study, 5)
        assert place.open(arms=10**9).pulls == 5
        with pytest.raises(StudyDiffers, match="1,000,000,000 arms, not 1,000,000,001"):
            place.open(arms=10**9 + 1)
        assert len(place.texts()[0]) < 400
        assert time.process_time() - began < 5


class TestKnown:
    def test_they_are_taken_once(self, place):
        known = {"a": [0.5, 0.25], "b": 1.0}
        study = place.open(arms=["a", "b", "c"], known=known)
        assert (study.pulls, study.spent) == (3, 0)
        assert place.open(known=known).pulls == 3
        more = place.open(known={"a": [0.5, 0.25, 0.75], "c": 0.125})
        assert (more.pulls, kinds(more)) == (5, ["Observed", "Observed"])
        assert place.open(known=[("a", 0.5), ("c", 0.125)]).pulls == 5
        assert place.open(known={"a": [0.75, 0.25, 0.5]}).pulls == 5

    @pytest.mark.parametrize(
        "known", [{"a": -50.0}, {"a": [0.5, -50.0]}, {"a": [0.5, 0.5]}, [("b", 1.0), ("a", -50.0)]]
    )
    def test_others_than_those_that_are_there_are_refused(self, place, known):
        place.open(arms=["a", "b"], known={"a": [0.5, 0.25]})
        before = place.texts()
        with pytest.raises(StudyDiffers, match=r"has 0\.2?5 as a known result of 'a', where (-50\.0|0\.5) is given"):
            place.open(known=known)
        assert place.texts() == before

    def test_others_of_a_pull_are_refused_unless_it_was_told(self, place):
        study = place.open(arms=["a"], examples=3, policy="us", known={"a": {2: 0.5}})
        (ticket,) = study.ask()
        study.tell(ticket, 0.25)
        assert place.open(known={"a": {2: 0.5, ticket.pull: 0.75}}).pulls == 2
        with pytest.raises(StudyDiffers, match=r"has 0\.5 as a known result of 'a', where 0\.75 is given"):
            place.open(known={"a": {2: 0.75}})

    def test_with_examples_by_pull(self, place):
        known = {"a": {2: 0.5}, "b": {0: 1.0}}
        place.open(arms=["a", "b"], examples=3, policy="us", known=known)
        assert place.open(known=known).pulls == 2

    def test_wrong_ones_make_no_study(self, place):
        with pytest.raises(InvalidInput):
            place.open(arms=["a", "b"], known={"x": 1.0})
        with pytest.raises(InvalidInput):
            place.open(arms=["a", "b"], known={"a": float("nan")})
        with pytest.raises(InvalidInput, match="cannot take known results"):
            place.open(arms=["a", "b"], known={"a": 1.0}, policy="sh:budget=9")
        assert place.texts() == []
