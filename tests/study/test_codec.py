"""Events survive being written down, exactly, and what is no event is refused."""

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boxthirding.errors import JournalBroken, UnreadableData
from boxthirding.study import codec
from boxthirding.study.codec import START, _check, check_of, decode, encode
from boxthirding.study.events import (
    KINDS,
    Added,
    Asked,
    Corrected,
    Created,
    Excluded,
    Failed,
    Finished,
    Given,
    Included,
    Observed,
    Paused,
    Redefined,
    Released,
    Resumed,
    Switched,
    Told,
    Withdrawn,
)

ats = st.floats(0, 2**33)
ids = st.integers(0, 2**53)
labels = st.one_of(st.text(), st.integers())
many = st.lists(labels).map(tuple)
names = st.text(min_size=1)
rewards = st.floats(-1e150, 1e150)
plain = st.recursive(st.none() | st.booleans() | st.integers() | rewards | st.text(), st.lists, max_leaves=4)
objects = st.dictionaries(st.text(), plain, max_size=3)
payloads = st.none() | st.lists(
    st.none() | plain.map(lambda value: {"json": value}) | names.map(lambda text: {"digest": text})
).map(tuple)
maybe = st.none() | objects
events = st.one_of(
    st.builds(
        Created,
        at=ats,
        origin=names,
        arms=st.one_of(st.none(), st.integers(1, 10**9).map(range), many),
        policy=names,
        policy_version=st.integers(1, 9),
        seed=ids,
        direction=st.sampled_from(["maximize", "minimize"]),
        patience=st.integers(1, 9),
        package=names,
        payloads=payloads,
        drawn=many,
        drawn_payloads=payloads,
        lease=st.one_of(st.none(), st.floats(0.1, 1e6)),
        examples=st.none() | ids,
        details=maybe,
    ),
    st.builds(
        Asked,
        at=ats,
        holder=names,
        tickets=st.lists(st.tuples(ids, labels, ids)).map(tuple),
        unseen=st.booleans(),
        short=st.booleans(),
        introduced=many,
        drawn=many,
        drawn_payloads=payloads,
        ended=st.booleans(),
    ),
    st.builds(Given, at=ats, holder=names, tickets=st.lists(ids).map(tuple)),
    st.builds(Told, at=ats, ticket=ids, reward=rewards, holder=st.none() | names, details=maybe),
    st.builds(Failed, at=ats, ticket=ids),
    st.builds(Released, at=ats, tickets=st.lists(ids).map(tuple)),
    st.builds(Observed, at=ats, results=st.lists(st.tuples(labels, rewards, st.none() | ids)).map(tuple)),
    st.builds(Corrected, at=ats, ticket=ids, reward=rewards),
    st.builds(Excluded, at=ats, holder=names),
    st.builds(Included, at=ats, holder=names),
    st.builds(Switched, at=ats, policy=names, policy_version=ids, why=st.text(), package=names),
    st.builds(Added, at=ats, labels=many, payloads=payloads),
    st.builds(Withdrawn, at=ats, label=labels, why=st.text()),
    st.builds(Redefined, at=ats, labels=many, payloads=payloads, details=maybe),
    *(st.builds(kind, at=ats) for kind in (Paused, Resumed, Finished)),
)
BEFORE = "0123456789abcdef"


@given(events, st.integers(1, 9))
def test_an_event_comes_back_as_it_was(event, seq):
    text, check = encode(event, BEFORE)
    assert text.isascii()
    assert check_of(text) == check == json.loads(text)["check"]
    again = decode(text, seq, BEFORE)
    assert again == event
    assert type(again) is type(event)
    assert encode(again, BEFORE).text == text


@given(events, st.data())
def test_a_changed_character_is_noticed(event, data):
    text = encode(event, BEFORE).text
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters(codec="utf-8", exclude_characters=text[place]))
    with pytest.raises((JournalBroken, UnreadableData)):
        decode(text[:place] + other + text[place + 1 :], 1, BEFORE)


def test_an_event_after_another_one_than_it_was_written_after_is_noticed():
    text = encode(Told(1.0, 2, 0.5), BEFORE).text
    with pytest.raises(JournalBroken, match=r"event 7 reads .* not what was written after the event before it"):
        decode(text, 7, "f" * 16)


@given(st.lists(st.tuples(ids, labels, ids)).map(tuple), names, ats)
def test_the_quick_way_to_write_tickets_is_the_common_one(tickets, holder, at):
    quick = encode(Asked(at, holder, tickets), START).text
    common = encode(Asked(at, holder, tickets, short=True), START).text
    assert quick[: -codec._TAIL] == common[: -codec._TAIL].replace(',"short":true', "")


def test_the_quick_way_to_write_a_result_is_the_common_one():
    told = Told(1.5, 2, 0.1)
    assert encode(told, START).text.startswith('{"event":"told","at":1.5,"ticket":2,"reward":0.1,"check":"')
    common = encode(Told(1.5, 2, 0.1, "ann"), START).text
    assert common.startswith('{"event":"told","at":1.5,"ticket":2,"reward":0.1,"holder":"ann","check":"')


def test_every_kind_of_event_has_a_name():
    import boxthirding.study.events as module

    kinds = {kind for kind in vars(module).values() if dataclasses.is_dataclass(kind)} - {module.Event}
    assert kinds == set(KINDS.values())


def test_rewards_come_back_to_the_last_bit():
    for reward in (0.1, -0.0, 5e-324, 1 / 3, 1e149, 0.1 + 0.2):
        again = decode(encode(Told(0.0, 1, reward), "").text, 7, "").reward
        assert (again, math.copysign(1, again)) == (reward, math.copysign(1, reward))


def test_a_journal_of_a_newer_format_says_so():
    with pytest.raises(
        UnreadableData, match=r"format 2, but this version of boxthirding reads formats up to 1: upgrade boxthirding"
    ):
        decode('{"event":"created","format":2,"whatever":"comes then"}', 1, START)


def sealed(text):
    head = text.removesuffix("}")
    return f'{head},"check":"{_check(head, BEFORE)}"}}'


@pytest.mark.parametrize(
    "text",
    [
        *('{"event":"dreamt","at":1.0}', '{"event":"told","at":1.0}', '{"at":1.0}', '{"event":[]}', "[1", "7", '"x"'),
        '{"event":"told","at":1.0,"ticket":2,"reward":3,"tip":4}',
        '{"event":"created","at":1.0}',
        '{"event":"told","at":1.0,',
        "[" * 100_000,
    ],
    ids=range(11),
)
def test_what_is_no_event_is_refused(text):
    with pytest.raises(JournalBroken, match=r"event 7 reads .*newer version, or the journal is damaged"):
        decode(sealed(text), 7, BEFORE)
    with pytest.raises(JournalBroken, match=r"event 7 reads .*the journal is damaged") as broken:
        decode(text, 7, BEFORE)
    assert "restore it from a backup" in broken.value.advice
