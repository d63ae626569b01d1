"""Snapshots hold everything, are checked, and are never needed: the journal has it all."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from keeping import Place, play, reward, rewritten

from boxthirding.errors import JournalBroken, PolicyMissing
from boxthirding.policies import Uniform
from boxthirding.study import transactions
from boxthirding.study.events import Switched
from boxthirding.study.snapshot import VERSION, SnapshotUnusable, pack, unpack

arrays = st.one_of(
    hnp.arrays(np.int64, hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=6)),
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=6)),
)


@given(st.dictionaries(st.text(), arrays, max_size=4), st.dictionaries(st.text(), st.text(), max_size=3))
def test_what_is_packed_comes_back(saved, facts):
    again = unpack(pack({"facts": facts, "inner": {"arrays": saved}}))
    assert again["facts"] == facts
    found = again["inner"]["arrays"]
    assert list(found) == list(saved)
    for name, array in saved.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes()
        assert found[name].shape == array.shape
        assert found[name].flags.writeable


def test_small_numbers_take_little_room():
    assert len(pack({"a": np.arange(100_000) % 100})) < 100_300


DATA = pack({"a": "b", "numbers": np.arange(1_000), "means": np.linspace(0, 1, 50)})


@given(st.integers(0, len(DATA) - 1), st.integers(1, 255))
def test_a_damaged_byte_is_noticed(place, change):
    damaged = bytearray(DATA)
    damaged[place] ^= change
    with pytest.raises(SnapshotUnusable):
        unpack(bytes(damaged))


@given(st.integers(0, len(DATA) - 1))
def test_a_snapshot_that_was_cut_off_is_noticed(length):
    with pytest.raises(SnapshotUnusable):
        unpack(DATA[:length])


@pytest.fixture
def often(monkeypatch):
    """Take a snapshot after every 20 events."""
    monkeypatch.setattr(transactions, "LEAST", 20)


@pytest.mark.usefixtures("often")
class TestOpening:
    def played(self, pulls=100):
        place = Place()
        study = place.open(arms=200, seed=4)
        play(study, pulls)
        return place, study

    def test_a_study_opens_from_its_latest_snapshot_and_the_tail(self, monkeypatch):
        place, study = self.played(103)
        taken = place.shelf.journal("study").snapshots()
        assert len(taken) == 2
        assert 150 < taken[0] < len(place.texts())
        replayed, decode = [], transactions.decode
        monkeypatch.setattr(transactions, "decode", lambda text, *rest: replayed.append(text) or decode(text, *rest))
        again = place.open()
        assert replayed == place.texts()[taken[0] :]
        assert again.pulls == study.pulls == 103
        assert again.state() == study.state()

    def test_one_who_holds_nothing_when_it_is_taken_leaves_no_trace_in_the_state(self):
        place, study = self.played(10)
        study.ask(holder="bob")
        for _ in range(20):
            for ticket in study.ask():
                again = place.open()
                assert again.view().holders == study.view().holders
                assert again.state() == study.state()
                study.tell(ticket, reward(ticket))

    def test_a_snapshot_is_of_the_event_that_it_follows_and_no_other(self):
        """The tail of a journal is lost, another history follows: an old snapshot is not taken for it."""
        place, _ = self.played()
        pages = place.shelf.journal("study")._pages
        (last, text), before = max(pages.snapshots.items()), place.texts()
        del pages.texts[40:]
        pages.snapshots.clear()
        other = place.open()
        for _ in range(100):
            for ticket in other.held() or other.ask():
                other.tell(ticket, -reward(ticket))
        assert len(pages.texts) > last
        assert pages.texts[last - 1] != before[last - 1]
        pages.snapshots = {last: text}
        again = place.open()
        assert again.state() == other.state()
        assert again.recommend().mean < 0

    def test_a_snapshot_of_a_later_event_than_there_is_tells_that_events_are_missing(self):
        place, _ = self.played()
        pages = place.shelf.journal("study")._pages
        last = max(pages.snapshots)
        del pages.texts[last - 1 :]
        with pytest.raises(JournalBroken, match=f"there was an event {last}, but the journal ends before it"):
            place.open()

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
        for _ in range(20):
            play(one, 1)
            play(other, 1)
        assert place.open().state() == one.state() == other.state()


def spoilt(data, how):
    if isinstance(how, bytes):
        return how
    if how == "cut":
        return data[:-1]
    if how == "newer":
        head = json.loads(data.split(b"\n", 2)[1])
        assert head["version"] == VERSION
        return data.replace(b'"version":%d' % VERSION, b'"version":%d' % (VERSION + 1), 1)
    saved = unpack(data)
    del saved["core"]["rule"]["state"]["arrays"]["arms.place"]
    return pack(saved)


def test_memory_and_snapshots_go_with_the_arms_touched_not_with_all_of_them():
    sizes = {}
    for n_arms in (1_000, 10_000_000):
        place = Place()
        study = place.open(arms=n_arms)
        play(study, 300)
        sizes[n_arms] = len(study.state())
    assert sizes[10_000_000] < 2 * sizes[1_000]


def test_a_rule_that_disagrees_with_the_journal_starts_from_the_results():
    place = Place()
    play(place.open(arms=[*"abcdefgh"], seed=1), 20)
    rewritten(place, 0, place.texts()[0].replace('"policy":"chase"', '"policy":"us"'))
    before = place.texts()
    study = place.open()
    assert study.pulls == 20
    assert place.texts() == before  # reading writes nothing
    play(study, 5)
    switched = [entry.event for entry in study.events() if type(entry.event) is Switched]
    assert [event.why for event in switched] == [
        "us as it is installed, because it decides otherwise than before under the same version"
    ]
    again = place.open()
    assert (again.pulls, again.state()) == (25, study.state())
    play(again, 5)
    assert place.open().pulls == study.pulls == 30


@pytest.mark.parametrize("least", [transactions.LEAST, 3])
def test_a_rule_that_disagrees_and_cannot_start_from_results_lets_another_policy_continue(monkeypatch, least):
    monkeypatch.setattr(transactions, "LEAST", least)  # with snapshots, too
    place = Place()
    play(place.open(arms=[*"abcdefgh"], seed=1, policy="us"), 20)
    rewritten(place, 0, place.texts()[0].replace('"policy":"us"', '"policy":"sh:budget=60"'))
    study, before = place.open(), place.texts()
    assert study.pulls == 20
    with pytest.raises(PolicyMissing, match=r"other code of version 1 of policy sh, which .*study\.use\('chase'\)"):
        study.ask()
    assert place.texts() == before
    study.use("chase")
    play(study, 3)
    assert (place.open().pulls, place.open().state()) == (23, study.state())


def test_a_rule_that_fails_at_what_the_journal_says_starts_from_the_results(monkeypatch):
    place = Place()
    play(place.open(arms=[*"abcdefgh"], seed=1, policy="us"), 20)

    def fails(*_):
        raise IndexError("index 9 is out of bounds")

    with monkeypatch.context() as another:
        another.setattr(Uniform, "rule", Uniform.rule._replace(ask=fails))
        assert place.open().pulls == 20
    study = place.open()
    play(study, 5)
    assert place.open().pulls == 25


@pytest.mark.parametrize(
    "wrong",
    [
        '{"event":"told","at":1.0,"ticket":99,"reward":0.5}',
        '{"event":"told","at":1.0,"ticket":0,"reward":0.5}',
        '{"event":"withdrawn","at":1.0,"label":"x"}',
        '{"event":"given","at":1.0,"holder":"me","tickets":[7]}',
        '{"event":"asked","at":1.0,"holder":"me","tickets":[[0,"a",0]]}',
        '{"event":"asked","at":1.0,"holder":"me","tickets":[[2,"a",99]]}',
        '{"event":"asked","at":1.0,"holder":"me","tickets":[],"drawn":["d"]}',
        '{"event":"observed","at":1.0,"results":[["x",1.0,null]]}',
        '{"event":"corrected","at":1.0,"ticket":7,"reward":1.0}',
        '{"event":"excluded","at":1.0,"holder":"x"}',
        '{"event":"included","at":1.0,"holder":"x"}',
        '{"event":"failed","at":1.0,"ticket":7}',
        '{"event":"released","at":1.0,"tickets":[7]}',
        '{"event":"added","at":1.0,"labels":["a"]}',
    ],
)
def test_an_event_that_cannot_have_happened_is_a_loud_error(wrong):
    place = Place()
    play(place.open(arms=["a", "b", "c"]), 2)
    rewritten(place, 5, wrong)
    with pytest.raises(JournalBroken, match=r"event 6 \(\w+\) of the journal disagrees"):
        place.open()
