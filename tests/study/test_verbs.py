"""What a study promises beyond a session: holders, leases, pauses, sharing, and one transaction for each decision."""

import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from keeping import Place, kinds, play, reward

from boxthirding import (
    AlreadyTold,
    AskTell,
    InvalidInput,
    JournalBroken,
    StudyClosed,
    StudyUnavailable,
    TicketRefused,
    UnknownLabel,
    UnknownTicket,
)
from boxthirding.storage.memory import MemoryJournal
from boxthirding.study import Asked, Failed, Reissued, Settings, Study, Told


@pytest.fixture
def place():
    return Place()


class TestEvents:
    def test_each_verb_leaves_its_event(self, place):
        study = place.open("me", arms=["a", "b", "c"], seed=1)
        first, second = study.ask(2)
        study.tell(first, 0.5)
        study.fail(second.id)
        study.add({"d": object()})
        study.withdraw("d")
        study.pause()
        study.resume()
        study.close()
        assert kinds(study) == ["Asked", "Told", "Failed", "ArmsAdded", "ArmWithdrawn", "Paused", "Resumed", "Closed"]
        events = [entry.event for entry in study.events()]
        assert events[1] == Asked(100.0, "me", 0, (first.label, second.label))
        assert events[2:4] == [Told(100.0, 0, 0.5), Failed(100.0, 1)]
        assert [entry.seq for entry in study.events(4)] == [5, 6, 7, 8, 9]

    def test_what_is_refused_leaves_none(self, place):
        study = place.open(arms=["a", "b"])
        (ticket,) = study.ask()
        study.tell(ticket, 1)
        before = place.texts()
        for refusal, attempt in [
            (AlreadyTold, lambda: study.tell(ticket, 1)),
            (UnknownTicket, lambda: study.tell(7, 1)),
            (InvalidInput, lambda: study.tell(ticket.id, float("nan"))),
            (InvalidInput, lambda: study.ask(0)),
            (UnknownLabel, lambda: study.withdraw("c")),
            (InvalidInput, lambda: study.add(["a"])),
            (InvalidInput, lambda: study.add("abc")),
        ]:
            with pytest.raises(refusal):
                attempt()
        assert place.texts() == before

    def test_a_rule_that_waits_is_asked_once_and_not_again(self, place):
        study = place.open(arms=["a"], policy="sh:budget=4")
        tickets = study.ask(9)
        assert 0 < len(tickets) < 9
        length = len(place.texts())
        assert [study.ask(3) for _ in range(5)] == [[]] * 5
        assert len(place.texts()) == length
        play_out(study, tickets)

    def test_numbers_of_numpy_are_numbers(self, place):
        study = place.open(arms=np.arange(3), seed=np.int64(1))
        (ticket,) = study.ask(np.int64(1))
        study.tell(np.int64(ticket.id), np.float32(0.5))
        study.withdraw(np.int64(2))
        assert place.open().why(2).place == "withdrawn"


def play_out(study, tickets):
    while tickets:
        for ticket in tickets:
            study.tell(ticket, reward(ticket))
        tickets = study.ask(9)


class TestManyResults:
    def test_they_are_taken_in_one_commit(self):
        journal = Counted()
        study = Study("study", journal, Settings(100))
        tickets, before = study.ask(20), journal.commits
        study.tell_all((ticket, reward(ticket)) for ticket in tickets)
        assert (study.pulls, journal.commits - before) == (20, 1)

    @pytest.mark.parametrize(
        ("refusal", "wrong"),
        [
            (UnknownTicket, (99, 0.5)),
            (AlreadyTold, (0, 0.5)),
            (InvalidInput, (3, float("inf"))),
            (InvalidInput, (3, "good")),
            (AlreadyTold, (2, 0.5)),
        ],
    )
    def test_all_or_none_of_them(self, place, refusal, wrong):
        study = place.open(arms=20)
        tickets = study.ask(4)
        study.tell(tickets[0], 0.5)
        before = study.state(), place.texts()
        with pytest.raises(refusal):
            study.tell_all([(1, 0.5), (tickets[2], 0.5), wrong])
        assert (study.state(), place.texts()) == before
        study.tell_all([(1, 0.5), (tickets[2], 0.5)])
        study.tell_all([])
        assert study.pulls == 3


class TestHolders:
    def test_one_who_comes_back_gets_its_own_tickets_first_and_nothing_else(self, place):
        study = place.open("ann", arms=20)
        tickets = study.ask(3)
        study.tell(tickets[0], 0.5)
        again = place.open("ann")
        assert again.ask(5) == tickets[1:]
        assert kinds(again)[-1] == "Reissued"
        assert again.ask()[0].id == 3

    def test_as_many_as_it_asks_for_at_a_time(self, place):
        tickets = place.open("ann", arms=20).ask(3)
        again = place.open("ann")
        assert again.ask() + again.ask() + again.ask() == tickets
        assert again.ask()[0].id == 3

    def test_tickets_that_were_told_meanwhile_are_not_given_again(self, place):
        study = place.open("ann", arms=20)
        tickets = study.ask(2)
        again = place.open("ann")
        study.tell(tickets[0], 0.5)
        assert again.ask(5) == tickets[1:]

    def test_nobody_else_gets_them(self, place):
        tickets = place.open("ann", arms=20).ask(3)
        assert [ticket.id for ticket in place.open("bob").ask(3)] == [3, 4, 5]
        assert [ticket.id for ticket in place.open().ask(2)] == [6, 7]
        assert place.open("ann").ask(3) == tickets

    def test_a_limit_counts_the_results_and_tickets_of_everybody(self, place):
        ann, bob = place.open("ann", arms=20), place.open("bob")
        tickets = ann.ask(5, limit=3)
        assert (len(tickets), bob.ask(limit=3), len(bob.ask(5, limit=4))) == (3, [], 1)
        ann.tell(tickets[0], 0.5)
        assert bob.ask(limit=4) == []
        ann.withdraw(tickets[1].label)  # its ticket is void, and leaves room for another
        assert len(ann.ask(9, limit=4)) == 1

    def test_a_limit_holds_back_no_ticket_that_is_out_already(self, place):
        tickets = place.open("ann", arms=20).ask(3)
        ann = place.open("ann")
        assert ann.ask(9, limit=0) == tickets
        ann.fail(tickets[2])
        assert place.open("bob").ask(9, limit=0) == tickets[2:]
        with pytest.raises(InvalidInput, match="limit is -1, but must be at least 0"):
            ann.ask(limit=-1)

    def test_without_a_name_everybody_is_somebody_new(self, place):
        place.open(arms=20)
        assert place.open().holder != place.open().holder

    def test_the_tickets_that_are_out_are_listed_with_their_holders(self, place):
        study = place.open("ann", arms={"a": 1.5, "b": 2.5})
        one, two = study.ask(2)
        study.fail(two)
        assert study.lent() == [(one, "ann", 100.0), (two, None, None)]
        assert one.payload in (1.5, 2.5)

    def test_anybody_may_tell_a_ticket(self, place):
        (ticket,) = place.open("ann", arms=20).ask()
        bob = place.open("bob")
        bob.tell(ticket, 0.5)
        assert bob.pulls == 1

    def test_a_ticket_of_another_study_is_refused(self, place):
        study, other = place.open(arms=5), place.open(arms=5, name="other")
        study.ask()
        (theirs,) = other.ask()
        with pytest.raises(UnknownTicket, match="not of this session"):
            study.tell(theirs, 0.5)


class TestLeases:
    def test_a_ticket_whose_lease_ran_out_goes_to_whoever_asks(self, place):
        ann, bob = place.open("ann", arms=20, lease=10), place.open("bob")
        (ticket,) = ann.ask()
        place.now += 9.9
        assert bob.ask()[0].id == 1
        place.now += 0.1
        assert bob.ask(2) == [ticket, place_ticket(bob, 2)]
        assert Reissued(110.0, "bob", (0,)) in [entry.event for entry in bob.events()]
        ann.tell(ticket, 0.5)
        with pytest.raises(AlreadyTold):
            bob.tell(ticket, 0.7)

    def test_a_journal_is_read_without_a_clock(self, place):
        ann = place.open("ann", arms=20, lease=10)
        ann.ask(2)
        place.now += 20
        ann.ask(1)
        place.now = -1e9
        assert place.open("bob").state() == ann.state()

    def test_a_failed_ticket_is_given_again(self, place):
        study = place.open("ann", arms=20)
        (ticket,) = study.ask()
        study.fail(ticket)
        with pytest.raises(TicketRefused, match="waiting to be issued again"):
            study.fail(ticket)
        assert place.open("bob").ask() == [ticket]


def place_ticket(study, ticket_id):
    return next(lent.ticket for lent in study.lent() if lent.ticket.id == ticket_id)


class TestPauses:
    def test_a_paused_study_hands_out_nothing_and_takes_results(self, place):
        study = place.open(arms=20)
        (ticket,) = study.ask()
        study.pause()
        study.pause()
        assert place.open().ask(3) == []
        study.tell(ticket, 0.5)
        assert (study.status, study.pulls) == ("paused", 1)
        study.resume()
        study.resume()
        assert len(study.ask(3)) == 3
        assert kinds(study).count("Paused") == kinds(study).count("Resumed") == 1

    def test_a_closed_study_can_be_read_and_told_and_that_is_all(self, place):
        study = place.open(arms=20)
        tickets = study.ask(2)
        study.close()
        study.close()
        again = place.open()
        for attempt in (again.ask, again.pause, again.resume, lambda: again.add([99]), lambda: again.withdraw(3)):
            with pytest.raises(StudyClosed, match="study 'study' is closed"):
                attempt()
        again.tell(tickets[0], 0.5)
        again.fail(tickets[1])
        assert (again.status, again.recommend().label) == ("closed", tickets[0].label)


class TestSharing:
    def test_each_sees_what_the_others_did(self, place):
        one, other = place.open(arms=["a", "b", "c"]), place.open()
        (ticket,) = one.ask()
        other.tell(ticket, 0.5)
        assert one.pulls == one.recommend().pulls == 1
        other.add(["d"])
        one.withdraw("d")
        assert other.why("d").place == "withdrawn"
        assert one.state() == other.state()

    def test_it_satisfies_the_protocol(self, place):
        study: AskTell = place.open(arms=3)
        play(study, 3)
        assert study.top(2)[0] == study.recommend()
        assert study.boxes()
        assert 0 < float(study.screening(0.5)) <= 1
        assert repr(study) == "<Study 'study' of policy b3auto>"
        assert (study.seed, study.direction, study.patience, study.lease) == (0, "maximize", 3, None)

    def test_threads_share_a_study(self, place):
        study = place.open(arms=500)
        threads = [threading.Thread(target=play, args=(study, 50)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert study.pulls == 400
        assert study.waiting == 0
        assert place.open().state() == study.state()

    def test_after_disconnecting_it_says_so(self, place):
        with place.open(arms=3) as study:
            study.ask()
        with pytest.raises(StudyUnavailable, match="disconnected"):
            study.ask()


class Counted(MemoryJournal):
    """A journal that counts its commits and can be held up in one."""

    def __init__(self):
        super().__init__()
        self.commits = 0
        self.gate = threading.Event()
        self.gate.set()
        self.reached = threading.Event()

    @contextmanager
    def writing(self):
        with super().writing():
            yield
            self.reached.set()
            self.gate.wait()
        self.commits += 1


class TestOneTransaction:
    def test_threads_that_wait_for_a_commit_share_the_next_one(self):
        journal = Counted()
        study = Study("study", journal, Settings(100))
        tickets = study.ask(8)
        journal.gate.clear()
        journal.reached.clear()
        before = journal.commits
        threads = [threading.Thread(target=study.tell, args=(ticket, 0.5)) for ticket in tickets]
        threads[0].start()
        journal.reached.wait()
        for thread in threads[1:]:
            thread.start()
        while len(study._scribe.turns) < 7:
            time.sleep(0.001)
        journal.gate.set()
        for thread in threads:
            thread.join()
        assert study.pulls == 8
        assert journal.commits - before == 2

    def test_one_refusal_in_a_shared_commit_is_nobody_elses(self):
        journal = Counted()
        study = Study("study", journal, Settings(100))
        one, two, three = study.ask(3)
        journal.gate.clear()
        journal.reached.clear()
        refused = []

        def tell(ticket):
            try:
                study.tell(ticket, 0.5)
            except AlreadyTold as error:
                refused.append(error)

        threads = [threading.Thread(target=tell, args=(ticket,)) for ticket in (one, two, two, three)]
        threads[0].start()
        journal.reached.wait()
        for thread in threads[1:]:
            thread.start()
        while len(study._scribe.turns) < 3:
            time.sleep(0.001)
        journal.gate.set()
        for thread in threads:
            thread.join()
        assert study.pulls == 3
        assert len(refused) == 1


class Failing(MemoryJournal):
    """A journal that fails when it is told to, before or after it has committed."""

    def __init__(self):
        super().__init__()
        self.failure = None
        self.moment = ""

    @contextmanager
    def writing(self):
        with super().writing():
            yield
            self._fail_if("before")
        self._fail_if("after")

    def _fail_if(self, moment):
        if self.failure is not None and self.moment == moment:
            failure, self.failure = self.failure, None
            raise failure


@pytest.mark.parametrize("failure", [StudyUnavailable("gone"), KeyboardInterrupt(), JournalBroken("torn")], ids=repr)
class TestFailingCommits:
    def study(self):
        journal = Failing()
        study = Study("study", journal, Settings(50), holder="me")
        play(study, 5)
        return journal, study

    def test_what_was_not_committed_has_not_happened(self, failure):
        journal, study = self.study()
        (ticket,) = study.ask()
        state, length = study.state(), len(journal.read(0, 999))
        for verb in (lambda: study.tell(ticket, 0.5), study.ask, lambda: study.add([77]), study.pause):
            journal.failure, journal.moment = failure, "before"
            with pytest.raises(type(failure)):
                verb()
            assert study.state() == state
            assert len(journal.read(0, 999)) == length
        study.tell(ticket, 0.5)
        assert study.pulls == 6

    def test_what_was_committed_and_not_acknowledged_is_there(self, failure):
        journal, study = self.study()
        journal.failure, journal.moment = failure, "after"
        with pytest.raises(type(failure)):
            study.ask(2)
        tickets = study.ask(2)
        assert [ticket.id for ticket in tickets] == [5, 6]
        assert kinds(study)[-1] == "Reissued"
        journal.failure = failure
        with pytest.raises(type(failure)):
            study.tell(tickets[0], 0.5)
        with pytest.raises(AlreadyTold):
            study.tell(tickets[0], 0.5)
        assert study.pulls == 6
        assert study.ask()[0].id == 7  # the other one is in hand
