"""A newer version of a rule takes a study over once, when something is written; an older one is told to upgrade."""

import pytest
from keeping import Place, filled, kinds, play, reward, rewritten

from boxthirding import BoxThirding, InvalidInput, JournalBroken, PolicyMissing, UnreadableData, find_best
from boxthirding.policies import SequentialHalving
from boxthirding.study import Entry, Exchange, Study, read_journal, transactions
from boxthirding.study.events import Switched


@pytest.fixture
def place():
    place = Place()
    play(place.open("me", arms=30, policy="b3", seed=2), 20)
    return place


@pytest.fixture
def newer(monkeypatch):
    """Let the rule of b3 be of version 2."""
    monkeypatch.setattr(BoxThirding, "version", 2, raising=False)


def taken_over(study):
    return [entry for entry in study.events() if isinstance(entry.event, Switched)]


class TestNewer:
    @pytest.fixture(autouse=True)
    def _newer(self, place, newer):
        pass

    def test_readers_write_nothing(self, place):
        before = place.texts()
        study = place.open("reader", policy="b3")
        assert (study.pulls, study.spent, study.recommend().label) == (20, 20, study.top(3)[0].label)
        assert study.view().pulls == 20
        assert study.held("me") == []
        assert len([*study.events()]) == len(before)
        study.state()
        assert place.texts() == before

    def test_what_is_refused_writes_nothing(self, place, monkeypatch):
        """No snapshot either: an older process would take it for one of its own rule."""
        monkeypatch.setattr(transactions, "LEAST", 1)
        before = place.texts()
        study = place.open()
        study._transactions._last_snapshot = 0
        with pytest.raises(InvalidInput):
            study.tell(99, 0.5)
        assert (place.texts(), place.shelf.journal("study").snapshots()) == (before, [])

    @pytest.mark.parametrize(
        ("kind", "verb"),
        [
            ("Asked", lambda study: study.ask()),
            ("Observed", lambda study: study.observe(7, 0.5)),
            ("Corrected", lambda study: study.correct(3, 0.5)),
            ("Excluded", lambda study: study.exclude("me")),
            ("Added", lambda study: study.add(["new"])),
            ("Withdrawn", lambda study: study.withdraw(3)),
            ("Paused", lambda study: study.pause()),
        ],
    )
    def test_the_first_that_writes_takes_over_once(self, place, kind, verb):
        one, other = place.open("one"), place.open("other")
        before = len(place.texts())
        verb(one)
        assert kinds(one)[before - 1 :] == ["Switched", kind]
        event = taken_over(one)[0].event
        assert (event.policy, event.policy_version, event.why) == ("b3", 2, "version 2 of b3 instead of 1")
        one.resume()
        play(other, 10)
        play(one, 10)
        assert len(taken_over(other)) == 1
        other.recommend(), one.recommend()
        assert one.state() == other.state()
        again = place.open()
        again.recommend()
        assert again.state() == one.state()

    def test_results_of_tickets_that_were_open_are_taken(self, monkeypatch):
        place = Place()
        with monkeypatch.context() as older:
            older.setattr(BoxThirding, "version", 1, raising=False)
            study = place.open("me", arms=30, policy="b3", seed=2)
            play(study, 5)
            ticket, _ = study.ask(2)
        again = place.open("me")
        again.tell(ticket, 0.5)
        assert (again.pulls, len(again.held())) == (6, 1)
        assert kinds(again)[-2:] == ["Switched", "Told"]
        assert place.open().pulls == 6

    def test_an_older_process_may_write_on_until_then(self, place, monkeypatch):
        new = place.open("new")
        assert new.pulls == 20
        with monkeypatch.context() as older:
            older.setattr(BoxThirding, "version", 1, raising=False)
            old = place.open("old")
            play(old, 7)
            (ticket,) = old.ask()
        assert new.pulls == 27
        before = place.texts()
        play(new, 3)
        assert kinds(new)[len(before) - 1] == "Switched"
        assert place.open().pulls == 30
        with monkeypatch.context() as older:
            older.setattr(BoxThirding, "version", 1, raising=False)
            written = place.texts()
            for attempt in (old.ask, lambda: old.tell(ticket, 0.5)):
                with pytest.raises(UnreadableData, match=r"version 2 of policy b3, but here is version 1: upgrade"):
                    attempt()
            assert place.texts() == written
        new.tell(ticket, 0.5)
        fresh, again = place.open(), place.open()
        assert fresh.state() == again.state()

    def test_a_snapshot_of_before_is_of_use(self, place, monkeypatch):
        with monkeypatch.context() as older:
            older.setattr(BoxThirding, "version", 1, raising=False)
            older.setattr(transactions, "LEAST", 10)
            play(place.open("old"), 20)
        assert place.shelf.journal("study").snapshots()
        new = place.open("new")
        assert new.pulls == 40
        play(new, 5)
        new.recommend()
        without = Study("study", filled(place.texts()))
        for _ in range(10):
            mine, theirs = new.ask(3, holder="x"), without.ask(3, holder="x")
            assert mine == theirs
            new.tell_all([(ticket, reward(ticket)) for ticket in mine])
            without.tell_all([(ticket, reward(ticket)) for ticket in theirs])
        assert new.top(10) == without.top(10)


class TestOlder:
    def test_it_may_read_and_must_upgrade_to_write(self, place):
        rewritten(place, 0, place.texts()[0].replace('"policy_version":1', '"policy_version":7'))
        before = place.texts()
        study = place.open("me")
        assert (study.pulls, study.spent, study.open) == (20, 20, 0)
        assert len([*study.events()]) == len(before)
        assert all(isinstance(entry, Entry) for entry in read_journal(place.shelf.journal("study")))
        for attempt in (
            *(study.ask, lambda: study.observe(1, 1.0), lambda: study.correct(1, 0.5), lambda: study.exclude("me")),
            *(lambda: study.withdraw(1), lambda: study.add(["x"]), lambda: study.tell(1, 0.5)),
            *(lambda: study.policy, lambda: find_best(None, float, budget=30, study=study)),
        ):
            with pytest.raises(UnreadableData, match=r"version 7 of policy b3, but here is version 1: upgrade boxth"):
                attempt()
        (error,) = study.exchange([Exchange("me", n=1)])
        assert isinstance(error, UnreadableData)
        assert place.texts() == before

    def test_tickets_that_do_not_follow_one_another_are_noticed_without_the_rule_too(self, place):
        rewritten(place, 0, place.texts()[0].replace('"policy_version":1', '"policy_version":7'))
        at, text = next((at, text) for at, text in enumerate(place.texts()) if '"tickets":[[3,' in text)
        rewritten(place, at, text.replace('"tickets":[[3,', '"tickets":[[4,'))
        with pytest.raises(JournalBroken, match="ticket 4 follows 2"):
            place.open("me").view()

    def test_another_policy_can_take_over(self, place):
        rewritten(place, 0, place.texts()[0].replace('"policy_version":1', '"policy_version":7'))
        study = place.open("me")
        study.use("chase")
        play(study, 5)
        assert study.pulls == place.open().pulls == 25
        assert place.open().state() == study.state()


class TestPoliciesThatCannotBeAmended:
    def test_they_say_use(self, monkeypatch):
        place = Place()
        play(place.open("me", arms=8, policy="sh:budget=60"), 10)
        monkeypatch.setattr(SequentialHalving, "version", 2, raising=False)
        study, before = place.open("me"), place.texts()
        assert study.pulls == 10
        with pytest.raises(PolicyMissing, match=r"cannot start from results that are there; .*study\.use\('chase'\)"):
            study.ask()
        assert place.texts() == before
        study.use("chase")
        play(study, 5)
        assert study.pulls == place.open().pulls == 15
        assert [entry.event.why for entry in taken_over(study)] == ["use chase instead of sh:budget=60"]

    def test_a_policy_that_is_not_here_has_no_boxes(self, place):
        study = place.open("me")
        assert study.has_boxes
        study.use("us")
        rewritten(place, len(place.texts()) - 1, place.texts()[-1].replace('"policy":"us"', '"policy":"nonsense"'))
        assert not place.open("me").has_boxes

    def test_a_policy_that_is_not_here_is_named_and_the_journal_can_be_read(self, place):
        rewritten(place, 0, place.texts()[0].replace('"policy":"b3"', '"policy":"nonsense"'))
        study = place.open("me")
        assert study.pulls == 20
        with pytest.raises(UnreadableData, match=r"policy nonsense cannot be made here .*study\.use\('chase'\)"):
            study.ask()
        study.use("us")
        assert study.ask()
