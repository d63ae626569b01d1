"""Events survive being written down, exactly, and what is no event is refused."""

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxthirding.errors import JournalBroken, UnreadableData
from boxthirding.study import (
    ArmsAdded,
    ArmWithdrawn,
    Asked,
    Closed,
    Created,
    Failed,
    Paused,
    Reissued,
    Released,
    Resumed,
    Told,
)
from boxthirding.study.codec import decode, encode

ats = st.floats(0, 2**33)
ids = st.integers(0, 2**53)
labels = st.one_of(st.text(), st.integers())
many = st.lists(labels).map(tuple)
names = st.text(min_size=1)
events = st.one_of(
    st.builds(
        Created,
        at=ats,
        origin=names,
        arms=st.one_of(st.none(), st.integers(1, 10**7), many),
        drawn=many,
        policy=names,
        policy_version=st.integers(1, 9),
        seed=ids,
        direction=st.sampled_from(["maximize", "minimize"]),
        patience=st.integers(1, 9),
        lease=st.one_of(st.none(), st.floats(0.1, 1e6)),
        package=names,
    ),
    st.builds(
        Asked, at=ats, holder=names, first=ids, labels=many, drawn=many, ended=st.booleans(), short=st.booleans()
    ),
    st.builds(Told, at=ats, ticket=ids, reward=st.floats(-1e150, 1e150)),
    st.builds(Failed, at=ats, ticket=ids),
    st.builds(Reissued, at=ats, holder=names, tickets=st.lists(ids).map(tuple)),
    st.builds(Released, at=ats, tickets=st.lists(ids).map(tuple)),
    st.builds(ArmsAdded, at=ats, labels=many),
    st.builds(ArmWithdrawn, at=ats, label=labels),
    *(st.builds(kind, at=ats) for kind in (Paused, Resumed, Closed)),
)


@given(events)
def test_an_event_comes_back_as_it_was(event):
    text = encode(event)
    assert text.isascii()
    assert isinstance(json.loads(text), list)
    again = decode(text, 7)
    assert again == event
    assert type(again) is type(event)


def test_rewards_come_back_to_the_last_bit():
    for reward in (0.1, -0.0, 5e-324, 1 / 3, 1e149, 0.1 + 0.2):
        again = decode(encode(Told(0.0, 1, reward)), 7).reward
        assert (again, math.copysign(1, again)) == (reward, math.copysign(1, reward))


def test_a_journal_of_a_newer_format_says_so():
    with pytest.raises(
        UnreadableData, match=r"format 2, but this version of boxthirding reads formats up to 1: open it"
    ):
        decode('["created",2,"whatever comes then"]', 1)


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '["dreamt",1.0]', '["told",1.0]', '["told",1.0,2,3,4]', '["told"', "7"]
)
def test_what_is_no_event_is_refused(text):
    with pytest.raises(JournalBroken, match=r"event 7 reads .*newer version, or the journal is damaged"):
        decode(text, 7)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('["told","noon",2,0.5]', "(told) has 'noon' in its field at, which must be a finite number"),
        ('["told",1.0,2,1e999]', "(told) has inf in its field reward, which must be a finite number"),
        ('["told",1.0,2,NaN]', "(told) has nan in its field reward, which must be a finite number"),
        ('["told",1.0,"2",0.5]', "(told) has '2' in its field ticket, which must be a whole number"),
        ('["failed",1.0,true]', "(failed) has True in its field ticket, which must be a whole number"),
        ('["asked",1.0,null,2,[]]', "(asked) has None in its field holder, which must be a text"),
        ('["asked",1.0,"me",2,[0.5]]', "(asked) has (0.5,) in its field labels, which must be a list of labels"),
        ('["asked",1.0,"me",2,[],[],1]', "(asked) has 1 in its field ended, which must be true or false"),
        ('["reissued",1.0,"me",["2"]]', "(reissued) has ('2',) in its field tickets, which must be a list of whole"),
        ('["released",1.0,2]', "(released) has 2 in its field tickets, which must be a list of whole numbers"),
        ('["withdrawn",1.0,[]]', "(withdrawn) has () in its field label, which must be a label"),
        ('["paused",null]', "(paused) has None in its field at, which must be a finite number"),
    ],
)
def test_a_field_of_another_type_is_named_with_the_number_of_its_event(text, said):
    with pytest.raises(JournalBroken) as broken:
        decode(text, 7)
    assert f"event 7 {said}" in str(broken.value)
    assert str(broken.value).endswith("the journal is damaged, restore it from a backup")


def test_settings_of_another_type_are_named_too():
    created = Created(1.0, "x", 3, (), "b3", 1, 0, "maximize", 3, None, "1.0")
    for field, value in (("arms", 2.5), ("lease", "long"), ("drawn", None), ("policy", 3)):
        text = encode(dataclasses.replace(created, **{field: value}))
        with pytest.raises(JournalBroken, match=f"event 1 .created. has {value!r} in its field {field}, which must be"):
            decode(text, 1)
