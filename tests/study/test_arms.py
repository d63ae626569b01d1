"""Arms in a study: payloads that are given again, iterators that are moved on, and what differs is said."""

import itertools
import threading
from contextlib import contextmanager

import pytest
from keeping import Place, play, unmarked

from boxthirding import (
    ArmsUnavailable,
    BoxThirding,
    InvalidInput,
    SequentialHalving,
    Session,
    StudyDiffers,
    StudyUnavailable,
    UnknownStudy,
)
from boxthirding.policies import POLICIES
from boxthirding.policies.spec import format_spec
from boxthirding.study import Settings, Study, transactions
from boxthirding.study.arm_source import ArmSource
from boxthirding.study.events import Asked


@pytest.fixture
def place():
    return Place()


class Watched(Place):
    """A place that knows whether its journal is being written."""

    def __init__(self, shelf):
        super().__init__()
        self.shelf, self.is_writing = shelf, False

    def open(self, arms):
        journal = self.shelf.journal("study")
        writing = journal.writing

        @contextmanager
        def watched():
            with writing():
                self.is_writing = True
                try:
                    yield
                finally:
                    self.is_writing = False

        journal.writing = watched
        return Study("study", journal, Settings(arms))


class Skipping:
    """Arms from an iterator that raises once, and goes on with the one after."""

    def __init__(self, place=None, error=None):
        self.next, self.place, self.error = 0, place, error

    def __iter__(self):
        return self

    def __next__(self):
        self.next += 1
        if self.next - 1 == self.place:
            raise self.error
        return {"value": self.next - 1}


def labels_of(study):
    """Return the labels of all tickets ever cut."""
    asked = [entry.event for entry in study.events() if isinstance(entry.event, Asked)]
    return {label for event in asked for _, label, _ in event.tickets}


class TestPayloads:
    def test_they_are_given_again_when_a_study_is_opened(self, place):
        arms = [{"rate": rate} for rate in (0.1, 0.2, 0.3)]
        (ticket,) = place.open("me", arms=arms).ask()
        assert ticket.payload is arms[ticket.label]
        assert place.open("me", arms=arms).held()[0].payload is arms[ticket.label]
        assert place.open("me").held()[0].payload == arms[ticket.label]  # as the journal has it

    def test_those_of_added_arms_too(self, place):
        study = place.open(arms={"a": 1.5})
        study.add({"b": 2.5})
        again = place.open(arms={"a": 1.5, "b": 2.5})
        assert {ticket.payload for ticket in again.ask(2)} == {1.5, 2.5}

    def test_those_of_arms_whose_adding_failed_are_forgotten(self, place):
        one, other = place.open(arms=[{"v": 0}]), place.open(arms=[{"v": 0}])
        journal = one._transactions.journal
        append, journal.append = journal.append, lambda *_: (_ for _ in ()).throw(StudyUnavailable)
        with pytest.raises(StudyUnavailable):
            one.add([{"v": "lost"}])
        journal.append = append
        other.add([{"v": "theirs"}])
        assert {ticket.label: ticket.payload for ticket in one.ask(8)} == {0: {"v": 0}, 1: {"v": "theirs"}}


class TestIterators:
    def names(self, stop=10**6):
        return (f"arm {i}" for i in range(stop))

    def test_a_study_on_an_iterator_is_a_session_on_one(self, place):
        study, session = place.open(arms=self.names(30), seed=3), Session(self.names(30), seed=3)
        for _ in range(200):
            (mine,), (theirs,) = study.ask(), session.ask()
            assert mine == theirs
            study.tell(mine, mine.pull % 3)
            session.tell(theirs, theirs.pull % 3)

    def test_opened_without_one_it_goes_on_with_the_arms_there_are(self, place):
        play(place.open(arms=self.names()), 20)
        again = place.open()
        drawn = {label for entry in again.events(1) for label in getattr(entry.event, "drawn", ())}
        assert drawn
        known = drawn | {"arm 0"}
        play(again, 50)
        assert labels_of(again) <= known

    def test_given_again_it_is_moved_past_what_was_drawn(self, place):
        undisturbed = Place().open("me", arms=self.names(), seed=5)
        play(undisturbed, 60)
        play(place.open("me", arms=self.names(), seed=5), 20)
        play(place.open("me", arms=self.names()), 20)
        play(place.open("me", arms=self.names()), 20)
        assert unmarked(place.open()) == unmarked(undisturbed)

    def test_two_processes_bring_one_each(self, place):
        one, other = place.open(arms=self.names()), place.open(arms=self.names())
        for _ in range(30):
            play(one, 1)
            play(other, 1)
        undisturbed = Place().open(arms=self.names())
        play(undisturbed, 60)
        assert one.recommend() == undisturbed.recommend()
        labels = [label for entry in one.events() for label in getattr(entry.event, "drawn", ())]
        assert labels == [f"arm {i}" for i in range(len(labels))]

    def test_payloads_come_from_the_iterator_of_the_one_who_asks(self, place):
        def made():
            return ({"number": i} for i in itertools.count())

        play(place.open(arms=made()), 20)
        again = place.open(arms=made())
        for _ in range(40):
            for ticket in again.ask():
                assert ticket.payload == {"number": ticket.label}
                again.tell(ticket, 0.5)

    def test_from_a_snapshot_too(self, place, monkeypatch):
        monkeypatch.setattr(transactions, "LEAST", 10)
        study = place.open("me", arms=self.names())
        play(study, 40)
        assert place.shelf.journal("study").snapshots()
        again = place.open("me", arms=self.names())
        play(again, 20)
        undisturbed = Place().open("me", arms=self.names())
        play(undisturbed, 60)
        assert unmarked(again) == unmarked(undisturbed)

    def test_another_one_is_refused_when_it_gives_something_else(self, place):
        play(place.open(arms=self.names()), 10)
        with pytest.raises(StudyDiffers, match="gives 'b' as arm 1, but the study has 'arm 0' there"):
            place.open(arms=iter("bcdefghijklmnopq"))
        with pytest.raises(StudyDiffers, match="ends after 2 of"):
            place.open(arms=self.names(2))

    def test_an_arm_given_twice_is_refused_once_and_passed_over(self, place):
        def twice():
            return iter(["a", "b", "a", "c", "d", "e"])

        study = place.open(arms=twice())
        with pytest.raises(InvalidInput, match="label 'a' is there already"):
            play(study, 30)
        play(study, 30)
        again = place.open(arms=twice())
        play(again, 10)
        assert len(labels_of(again)) == 5

    def test_one_that_raises_gives_what_is_in_hand_and_then_says_so(self, place):
        def flaky():
            yield "a"
            yield "b"
            raise OSError("the list is on fire")

        study = place.open(arms=flaky())
        assert [ticket.label for ticket in study.ask(2)] == ["a", "b"]
        with pytest.raises(
            ArmsUnavailable,
            match=r"iterator of arms raised OSError\('the list is on fire'\) at arm 3; open the study with a new",
        ):
            study.ask(2)
        for ticket in study.held():
            study.tell(ticket, 0.5)
        assert study.pulls == 2
        assert place.open().pulls == 2

    def test_what_was_drawn_in_a_transaction_that_failed_is_not_lost(self, place):
        study = place.open(arms=self.names())
        journal = study._transactions.journal
        append, journal.append = journal.append, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            study.ask(5)
        journal.append = append
        assert [ticket.label for ticket in study.ask(5)] == [f"arm {i}" for i in range(5)]

    def test_what_decisions_drew_that_were_rolled_back_together_is_drawn_again(self):
        source = ArmSource({}, iter("abc"))
        source.draw_ahead(2)
        drawn = [source.draw(), source.draw()]
        assert source.catch_up(drawn, {}, "ab".__contains__) == 0  # the next decision of the same transaction
        assert source.catch_up([], {}, "ab".__contains__) == 0
        assert [source.draw(), source.draw()] == drawn

    def test_an_arm_is_made_while_no_one_has_to_wait_for_it(self, place):
        made = []

        def slow(study):
            for i in range(40):
                made.append(study.is_writing)
                yield f"arm {i}"

        one, other = Watched(place.shelf), Watched(place.shelf)
        study = one.open(slow(one))
        play(study, 5)
        assert len(study.ask(3)) == 3
        again = other.open(slow(other))  # draws what the first one has drawn
        play(study, 10)
        assert len(again.ask(12)) == 12
        assert len(made) > 20
        assert not any(made)

    def test_results_are_taken_while_an_arm_is_made(self, place):
        told = []

        def slow():
            yield "a"
            yield "b"
            for ticket in study.held():
                thread = threading.Thread(target=study.tell, args=(ticket, 0.5))
                thread.start()
                thread.join()
                told.append(ticket.label)
            yield "c"

        study = place.open(arms=slow())
        study.ask(2)
        study.ask()
        assert told == ["a", "b"]

    def test_threads_draw_from_one_iterator_in_turn(self, place):
        study = place.open(arms=self.names())
        threads = [threading.Thread(target=play, args=(study, 30)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert study.pulls == 180
        labels = [label for entry in study.events() for label in getattr(entry.event, "drawn", ())]
        assert labels == [f"arm {i}" for i in range(len(labels))]
        assert place.open().state() == study.state()

    def test_one_that_is_interrupted_leaves_tickets_and_is_not_taken_to_have_ended(self, place):
        def interrupted():
            yield "a"
            yield "b"
            raise KeyboardInterrupt

        study = place.open(arms=interrupted(), holder="me")
        with pytest.raises(KeyboardInterrupt):
            study.ask(3)
        assert [ticket.label for ticket in study.held()] == ["a"]
        assert [ticket.label for ticket in study.ask(3)] == ["b"]
        for _ in range(2):
            with pytest.raises(
                ArmsUnavailable, match=r"interrupted before, and .* an arm; open the study with a new iterator"
            ):
                study.ask()
        again = place.open(arms=self.given("abcd"), holder="me")
        assert [ticket.label for ticket in again.held() + again.ask(2)] == ["a", "b", "c", "d"]

    def test_one_that_raised_is_not_taken_to_have_ended_either(self, place):
        def flaky():
            yield "a"
            raise OSError

        study = place.open(arms=flaky(), holder="me")
        assert len(study.ask(5)) == 1
        with pytest.raises(ArmsUnavailable, match="OSError"):
            study.ask()
        with pytest.raises(ArmsUnavailable, match="open the study with a new iterator"):
            study.ask()
        again = place.open(arms=self.given("abc"))
        assert [ticket.label for ticket in again.ask(2)] == ["b", "c"]

    @pytest.mark.parametrize("error", [OSError("network"), KeyboardInterrupt()], ids=repr)
    def test_one_that_could_skip_an_arm_after_an_error_gives_no_more(self, place, error):
        study = place.open(arms=Skipping(3, error), holder="me")
        given, refused = {}, 0
        for _ in range(20):
            try:
                tickets = study.ask(2)
            except (ArmsUnavailable, KeyboardInterrupt):
                refused += 1
                continue
            for ticket in tickets:
                given[ticket.label] = ticket.payload
                study.tell(ticket, 0.5)
        assert given == {label: {"value": label} for label in range(3)}
        assert refused
        again = place.open(arms=Skipping(), holder="me")
        assert {ticket.payload["value"] - ticket.label for ticket in again.ask(20)} == {0}

    def test_one_that_raises_while_it_catches_up_gives_no_more(self, place):
        one, other = place.open(arms=Skipping()), place.open(arms=Skipping(3, OSError("network")))
        play(one, 20)
        for _ in range(3):
            with pytest.raises(
                ArmsUnavailable, match=r"at arm 4, which the study has; open the study with a new iterator"
            ):
                other.ask()
        other.tell(one.ask()[0].id, 0.5)

    def given(self, labels):
        yield from labels

    def test_it_must_give_an_arm(self, place):
        with pytest.raises(InvalidInput, match="the iterator gave no arm"):
            place.open(arms=iter([]))
        assert place.texts() == []

    def test_a_policy_that_must_know_how_many_refuses_one(self, place):
        with pytest.raises(InvalidInput, match="must know how many arms"):
            place.open(arms=self.names(), policy="sr:budget=50")
        assert place.texts() == []


class TestWhatDiffers:
    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"arms": ["a", "x", "c"]}, "arm 'b' at position 1, not 'x'"),
            ({"arms": ["a", "b"]}, "3 arms, not 2"),
            (
                {"arms": ["a", "d", "b", "c", "e"]},
                "3 arms, not 5 ('d' and 1 more must be added first)",
            ),
            ({"arms": 3}, "arm 'a' at position 0, not 0"),
            ({"arms": iter("abc")}, "a sequence or a number of arms, not an iterator"),
            ({"policy": "us"}, "policy b3:reuse=pool, not us"),
            ({"policy": BoxThirding()}, "policy b3:reuse=pool, not b3"),
            ({"seed": 8}, "seed 7, not 8"),
            ({"direction": "maximize"}, "direction minimize, not maximize"),
            ({"patience": 3}, "patience 2, not 3"),
            ({"lease": 4}, "lease 5.0, not 4.0"),
            ({"seed": 8, "policy": "us"}, "policy b3:reuse=pool, not us; with seed 7, not 8"),
        ],
    )
    def test_it_is_said_and_nothing_is_touched(self, place, given, said):
        made = {
            "arms": list("abc"),
            "policy": "b3:reuse=pool",
            "seed": 7,
            "direction": "minimize",
            "patience": 2,
            "lease": 5,
        }
        play(place.open(**made), 4)
        before = place.texts()
        with pytest.raises(StudyDiffers) as refused:
            place.open(**given)
        assert f"study 'study' was made with {said}; leave out" in str(refused.value)
        assert place.texts() == before
        assert place.open(**made).pulls == 4

    def test_a_study_on_an_iterator_cannot_be_given_a_list(self, place):
        place.open(arms=iter("abc"))
        with pytest.raises(StudyDiffers, match="an iterator of arms, not a sequence or a number"):
            place.open(arms=list("abc"))

    def test_a_number_of_arms_is_as_good_as_its_range(self, place):
        place.open(arms=4)
        assert place.open(arms=range(4)).ask()

    def test_without_arms_there_must_be_a_study(self, place):
        with pytest.raises(UnknownStudy, match="there is no study 'study' here; give arms to make it"):
            place.open()

    @pytest.mark.parametrize(
        "given",
        [
            {"arms": []},
            {"arms": ["a", "a"]},
            {"arms": {1, 2}},
            {"arms": "abc"},
            {"arms": 0},
            {"arms": 3, "policy": "nonsense"},
            {"arms": 3, "seed": -1},
            {"arms": 3, "direction": "up"},
            {"arms": 3, "patience": 0},
            {"arms": 3, "lease": 0},
        ],
        ids=str,
    )
    def test_what_a_session_refuses_makes_no_study(self, place, given):
        with pytest.raises(InvalidInput):
            place.open(**given)
        assert place.texts() == []
        assert place.shelf.names() == []


def test_a_lease_is_the_same_however_many_digits_it_is_given_with(place):
    place.open(arms=3, lease=10**30)
    assert place.open(arms=3, lease=10**30).lease == place.open(lease=1e30).lease == 1e30
    with pytest.raises(StudyDiffers, match=r"lease 1e\+30, not 9e\+29"):
        place.open(lease=9e29)
    for make_or_open in (place.open, lambda lease: Session(3, lease=lease)):
        with pytest.raises(InvalidInput, match=r"lease is 1000+, but must be a finite number above 0"):
            make_or_open(lease=10**400)


class TestPolicies:
    @pytest.mark.parametrize(
        "policy",
        [
            BoxThirding(),
            BoxThirding(growth=2.0, effort=0.3, reuse="topup"),
            BoxThirding(schedule=(3.0, 1.0, 7.5), growth=2.0),
            BoxThirding(schedule="linear"),
            SequentialHalving(budget=500, mode="paper", growth=1.7),
        ],
        ids=str,
    )
    def test_a_policy_is_kept_as_a_spec(self, place, policy):
        assert place.open(arms=9, policy=policy).policy == policy
        assert place.open(policy=policy).policy == policy

    def test_one_that_cannot_be_imported_is_refused_with_a_way_out(self, place):
        class Mine(BoxThirding):
            pass

        with pytest.raises(InvalidInput, match=r"cannot be imported by another process.*run it in a Session"):
            place.open(arms=3, policy=Mine())

    def test_every_policy_has_a_spec(self):
        told = {"budget": 100, "sigma": 0.5}
        for kind in POLICIES.values():
            arguments = {key: told[key] for key in told if key in kind.told}
            assert format_spec(kind(**arguments)).startswith(kind.name)
