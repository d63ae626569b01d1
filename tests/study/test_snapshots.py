"""Snapshots hold everything, are checked, and are never needed: the journal has it all."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from keeping import Place, play

from boxthirding import Session
from boxthirding.errors import JournalBroken
from boxthirding.session.saved import Saved
from boxthirding.study import scribe
from boxthirding.study.snapshot import Unusable, pack, unpack

arrays = st.one_of(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=6)),
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=6)),
)


@given(st.dictionaries(st.text(), arrays, max_size=4), st.dictionaries(st.text(), st.text(), max_size=3))
def test_what_is_packed_comes_back(saved, facts):
    again = unpack(pack(Saved(facts, saved)))
    assert again.facts == facts
    assert list(again.arrays) == list(saved)
    for name, array in saved.items():
        assert again.arrays[name].dtype == array.dtype
        assert again.arrays[name].tobytes() == array.tobytes()
        assert again.arrays[name].shape == array.shape
        assert again.arrays[name].flags.writeable


def test_small_numbers_take_little_room():
    assert len(pack(Saved({}, {"a": np.arange(100_000) % 100}))) < 100_300


DATA = pack(Saved({"a": "b"}, {"numbers": np.arange(1_000), "means": np.linspace(0, 1, 50)}))


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_noticed(place, change):
    damaged = bytearray(DATA)
    damaged[place] ^= change
    with pytest.raises(Unusable):
        unpack(bytes(damaged))


@given(st.integers(0, len(DATA) - 1))
def test_a_snapshot_that_was_cut_off_is_noticed(length):
    with pytest.raises(Unusable):
        unpack(DATA[:length])


@pytest.fixture
def often(monkeypatch):
    """Take a snapshot after every 20 events."""
    monkeypatch.setattr(scribe, "LEAST", 20)


@pytest.mark.usefixtures("often")
class TestOpening:
    def played(self, pulls=100):
        place = Place()
        study = place.open(arms=200, seed=4)
        play(study, pulls)
        return place, study

    def test_a_study_opens_from_its_latest_snapshot_and_the_tail(self, monkeypatch):
        place, study = self.played()
        taken = place.shelf.journal("study").snapshots()
        assert len(taken) == 2
        assert taken[0] > 150
        replayed = []
        monkeypatch.setattr(scribe, "decode", lambda text, decode=scribe.decode: replayed.append(text) or decode(text))
        again = place.open()
        assert len(replayed) == 201 - taken[0]
        assert again.state() == study.state()

    @pytest.mark.parametrize("broken", [b"", b"nonsense", "cut", "newer", "of another policy"])
    @pytest.mark.parametrize("both", [False, True])
    def test_a_snapshot_that_cannot_be_used_is_passed_over(self, broken, both):
        place, study = self.played()
        snapshots = place.shelf.journal("study")._pages.snapshots
        for seq in sorted(snapshots)[0 if both else 1 :]:
            snapshots[seq] = spoilt(snapshots[seq], broken)
        again = place.open()
        assert again.state() == study.state()
        play(again, 10)
        play(study, 0)
        assert again.pulls == study.pulls == 110

    def test_snapshots_are_taken_while_many_ask(self):
        place = Place()
        one, other = place.open(arms=200, holder="one"), place.open(holder="other")
        for _ in range(40):
            play(one, 1)
            play(other, 1)
        assert place.open().state() == one.state() == other.state()


def spoilt(data, how):
    if isinstance(how, bytes):
        return how
    if how == "cut":
        return data[:-1]
    facts, saved = unpack(data)
    if how == "newer":
        head = json.loads(data.split(b"\n", 2)[1])
        assert head["version"] == 1
        return data.replace(b'"version":1', b'"version":2', 1)
    saved = {name: array for name, array in saved.items() if name != "state.place"}
    return pack(Saved(facts, saved))


def test_memory_and_snapshots_go_with_the_arms_touched_not_with_all_of_them():
    sizes = {}
    for n_arms in (1_000, 10_000_000):
        place = Place()
        study = place.open(arms=n_arms)
        play(study, 300)
        sizes[n_arms] = len(study.state())
    assert sizes[10_000_000] < 2 * sizes[1_000]


def test_a_session_goes_on_from_what_was_saved():
    session, twin = Session(["a", "b", "c", "d"], seed=2), Session(["a", "b", "c", "d"], seed=2)
    for _ in range(9):
        (ticket,) = session.ask()
        session.tell(ticket, 1.0 if ticket.label == "c" else 0.0)
    session.ask(2)
    twin.load(session.save())
    for _ in range(20):
        mine, theirs = session.ask(), twin.ask()
        assert mine == theirs
        for ticket in mine:
            session.tell(ticket.id, 0.5)
            twin.tell(ticket.id, 0.5)
    assert session.top(4) == twin.top(4)
    assert str(session.why("c")) == str(twin.why("c"))


def test_a_replay_that_disagrees_with_the_journal_is_a_loud_error():
    place = Place()
    play(place.open(arms=["a", "b", "c"], seed=1), 5)
    texts = place.texts()
    pages = place.shelf.journal("study")._pages
    asked = next(i for i, text in enumerate(texts) if '"asked"' in text)
    was = json.loads(texts[asked])[4][0]
    pages.texts[asked] = texts[asked].replace(f'["{was}"]', '["b"]' if was != "b" else '["a"]')
    with pytest.raises(
        JournalBroken, match=rf"event {asked + 1} \(asked\).*says tickets 0 for .* hands out tickets 0 for '{was}'"
    ):
        place.open()


@pytest.mark.parametrize(
    "wrong",
    ['["told",1.0,99,0.5]', '["withdrawn",1.0,"nobody"]', '["reissued",1.0,"me",[7]]', '["asked",1.0,"me",0,[]]'],
)
def test_an_event_that_cannot_have_happened_is_a_loud_error(wrong):
    place = Place()
    play(place.open(arms=["a", "b", "c"]), 2)
    place.shelf.journal("study")._pages.texts.append(wrong)
    with pytest.raises(JournalBroken, match=r"event 6 \(\w+\) of the journal disagrees"):
        place.open()
