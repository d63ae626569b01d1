"""Events survive being written down, exactly, and what is no event is refused."""

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
    st.builds(ArmsAdded, at=ats, labels=many),
    st.builds(ArmWithdrawn, at=ats, label=labels),
    *(st.builds(kind, at=ats) for kind in (Paused, Resumed, Closed)),
)


@given(events)
def test_an_event_comes_back_as_it_was(event):
    text = encode(event)
    assert text.isascii()
    assert isinstance(json.loads(text), list)
    again = decode(text)
    assert again == event
    assert type(again) is type(event)


def test_rewards_come_back_to_the_last_bit():
    for reward in (0.1, -0.0, 5e-324, 1 / 3, 1e149, 0.1 + 0.2):
        again = decode(encode(Told(0.0, 1, reward))).reward
        assert (again, math.copysign(1, again)) == (reward, math.copysign(1, reward))


def test_a_journal_of_a_newer_format_says_so():
    with pytest.raises(
        UnreadableData, match=r"format 2, but this version of boxthirding reads formats up to 1: open it"
    ):
        decode('["created",2,"whatever comes then"]')


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '["dreamt",1.0]', '["told",1.0]', '["told",1.0,2,3,4]', '["told"', "7"]
)
def test_what_is_no_event_is_refused(text):
    with pytest.raises(JournalBroken, match="newer version, or the journal is damaged"):
        decode(text)
